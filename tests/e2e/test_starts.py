"""How the program ends where it cannot start: one clear line, an exit code, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path

import pytest

from controller.local.ergo_process import free_port
from tests.support.ergo_server import ErgoServer
from tests.support.until import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


async def _program(command: str, env: Mapping[str, str], cwd: Path) -> Process:
    bare = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "ERGO_BIN")}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller", command, env=bare | dict(env), cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip


async def _refusal(command: str, env: Mapping[str, str], cwd: Path) -> str:
    """The line that a start ends with; AssertionError if it is not one line, or exits with 0."""
    process = await _program(command, env, cwd)
    _, told = await process.communicate()
    assert process.returncode not in (0, None)
    lines = told.decode().strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def _server(ergo: ErgoServer, **changed: str) -> dict[str, str]:
    return {
        "IRC_HOST": ergo.host,
        "IRC_PORT": str(ergo.port),
        "IRC_OPER_PASSWORD": ergo.oper_password,
    } | changed


async def test_a_wrong_password_is_named(ergo: ErgoServer, tmp_path: Path, unique: str) -> None:
    await ergo.add_account(unique)
    env = _server(ergo, IRC_NICK=unique, IRC_SASL_PASSWORD="wrong")
    line = await _refusal("run", env, tmp_path)
    assert unique in line
    assert "904" in line or "password" in line


async def test_a_missing_oper_right_is_named(ergo: ErgoServer, tmp_path: Path, unique: str) -> None:
    password = await ergo.add_account(unique)
    env = _server(ergo, IRC_NICK=unique, IRC_SASL_PASSWORD=password, IRC_OPER_PASSWORD="wrong")
    assert "oper" in (await _refusal("run", env, tmp_path)).lower()


async def test_a_taken_port_is_named(tmp_path: Path, ergo_binary: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        env = {"IRC_PORT": port, "ERGONAUT_HOME": str(tmp_path / "h"), "ERGO_BIN": str(ergo_binary)}
        line = await _refusal("local", env, tmp_path)
    assert port in line
    assert "IRC_PORT" in line


async def test_a_missing_key_is_named(tmp_path: Path, ergo_binary: Path) -> None:
    env = {
        "MODEL": "anthropic",
        "ERGONAUT_HOME": str(tmp_path / "h"),
        "IRC_PORT": str(free_port()),
        "ERGO_BIN": str(ergo_binary),
    }
    assert "ANTHROPIC_API_KEY" in await _refusal("local", env, tmp_path)


async def test_a_home_that_cannot_be_written_is_named(tmp_path: Path, ergo_binary: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    env = {"ERGONAUT_HOME": str(tmp_path / "file" / "h"), "ERGO_BIN": str(ergo_binary)}
    assert "ERGONAUT_HOME" in await _refusal("local", env, tmp_path)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param('echo "ergo-2.10.0"', "2.18.0", id="too old"),
        pytest.param("exit 1", "ERGO_BIN", id="no ergo at all"),
    ],
)
async def test_an_unfit_binary_is_named(tmp_path: Path, answer: str, told: str) -> None:
    binary = tmp_path / "ergo"
    binary.write_text(f"#!/bin/sh\n{answer}\n")
    binary.chmod(0o755)
    env = {"ERGO_BIN": str(binary), "ERGONAUT_HOME": str(tmp_path / "h")}
    assert told in await _refusal("local", env, tmp_path)


async def test_run_says_ready_and_ends_everything_at_an_interrupt(
    tmp_path: Path, ergo_binary: Path
) -> None:
    home = tmp_path / "home"
    env = {
        "IRC_PORT": str(free_port()),
        "ERGONAUT_HOME": str(home),
        "ERGO_BIN": str(ergo_binary),
        "SANDBOX": "none",
    }
    process = await _program("local", env, tmp_path)
    assert process.stdout is not None
    said = await _until_line(process.stdout, f"ready irc://127.0.0.1:{env['IRC_PORT']}")
    assert any("/server add" in line for line in said)
    pids = [int((home / "run" / f"{p}.pid").read_text()) for p in ("ergo", "controller")]
    second = await _refusal("local", env, tmp_path)
    assert "already runs" in second
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(10):
        await process.communicate()
    assert process.returncode == 0
    await until(lambda: not any(_alive(pid) for pid in pids))
    assert not list((home / "run").glob("*.pid"))


async def _until_line(stream: asyncio.StreamReader, wanted: str) -> list[str]:
    said: list[str] = []
    async with asyncio.timeout(60):
        while wanted not in said:
            line = await stream.readline()
            assert line, said
            said.append(line.decode().rstrip("\n"))
    return said


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_an_account_password_stands_alone_on_standard_output(
    tmp_path: Path, ergo_binary: Path
) -> None:
    env = {
        "IRC_PORT": str(free_port()),
        "ERGONAUT_HOME": str(tmp_path / "home"),
        "ERGO_BIN": str(ergo_binary),
        "SANDBOX": "none",
    }
    process = await _program("local", env, tmp_path)
    assert process.stdout is not None
    await _until_line(process.stdout, f"ready irc://127.0.0.1:{env['IRC_PORT']}")
    adding = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "controller", "account", "add", "carol",
        env=env | {"PATH": os.environ["PATH"]}, cwd=tmp_path, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    out, told = await adding.communicate()
    assert adding.returncode == 0, told
    assert out.decode() == out.decode().strip() + "\n"
    assert len(out.decode().split()) == 1
    process.terminate()
    async with asyncio.timeout(10):
        await process.communicate()
    assert process.returncode == 0


async def test_the_demo_ends_well(tmp_path: Path, ergo_binary: Path) -> None:
    process = await _program("demo", {"ERGO_BIN": str(ergo_binary)}, tmp_path)
    out, told = await process.communicate()
    assert process.returncode == 0, (out.decode(), told.decode())
    assert "is done" in out.decode()
    assert "(rehearsal)" in out.decode()
