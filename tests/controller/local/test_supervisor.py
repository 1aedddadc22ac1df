from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controller.home import Home
from controller.local.ergo_process import free_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.support.ergo_server import ErgoServer

STOP_SECONDS = 10
CHECKOUT = Path(__file__).parents[3]


@dataclass
class Run:
    """One supervisor process."""

    process: asyncio.subprocess.Process
    home: Home
    port: int
    lines: list[str]

    async def line(self, wanted: Callable[[str], bool]) -> str:
        assert self.process.stdout is not None
        while raw := await self.process.stdout.readline():
            self.lines.append(raw.decode().rstrip("\n"))
            if wanted(self.lines[-1]):
                return self.lines[-1]
        raise AssertionError(f"ended: {self.lines}")

    async def until_ready(self) -> None:
        await self.line(lambda line: line == f"ready irc://127.0.0.1:{self.port}")

    async def signal(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        async with asyncio.timeout(STOP_SECONDS):
            return await self.process.wait()

    def pid(self, part: str) -> int:
        return int(self.home.pid_file(part).read_text())

    def pids(self) -> dict[str, int]:
        return {file.stem: int(file.read_text()) for file in self.home.run.glob("*.pid")}


class Supervisors:
    """Starts runs on one home, and ends those that a failed test leaves."""

    def __init__(self, home: Home, ergo_binary: Path) -> None:
        self.home = home
        self.port = free_port()
        self._ergo_binary = ergo_binary
        self._runs: list[Run] = []

    async def start(self, **env: str) -> Run:
        settings = {
            "PATH": os.environ["PATH"],
            "ERGO_BIN": str(self._ergo_binary),
            "ERGONAUT_HOME": str(self.home.root),
            "IRC_PORT": str(self.port),
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.supervised",
            cwd=CHECKOUT,
            env={**settings, **env},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._runs.append(Run(process, self.home, self.port, []))
        return self._runs[-1]

    async def refused(self, **env: str) -> str:
        """What a start that must fail says on stderr."""
        run = await self.start(**env)
        _, stderr = await run.process.communicate()
        assert run.process.returncode not in {0, None}
        [line] = stderr.decode().splitlines()
        return line

    async def close(self) -> None:
        for run in self._runs:
            if run.process.returncode is None:
                await run.signal(signal.SIGTERM)
            await run.process.communicate()


@asynccontextmanager
async def _supervisors(home: Home, ergo_binary: Path) -> AsyncIterator[Supervisors]:
    supervisors = Supervisors(home, ergo_binary)
    try:
        yield supervisors
    finally:
        await supervisors.close()


@pytest.fixture
async def supervisors(tmp_path: Path, ergo_binary: Path) -> AsyncIterator[Supervisors]:
    async with _supervisors(Home(tmp_path / "home"), ergo_binary) as supervisors:
        yield supervisors


def _lives(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def _argv(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


async def test_it_tells_how_to_connect_before_it_says_ready(supervisors: Supervisors) -> None:
    run = await supervisors.start()
    await run.until_ready()

    text = "\n".join(run.lines)
    assert supervisors.home.credentials().you in text
    assert all(client in text for client in ("WeeChat", "irssi", "The Lounge"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_every_part_with_exit_code_0(
    supervisors: Supervisors, number: signal.Signals
) -> None:
    run = await supervisors.start(STAND_IN="worker")
    await run.until_ready()
    pids = run.pids()
    assert set(pids) == {"supervisor", "ergo", "controller", "task-1"}

    assert await run.signal(number) == 0

    assert not [pid for pid in pids.values() if _lives(pid)]
    assert run.pids() == {}


async def test_a_controller_that_ignores_the_signal_is_ended_all_the_same(
    supervisors: Supervisors,
) -> None:
    run = await supervisors.start(STAND_IN="deaf")
    await run.until_ready()
    pids = run.pids()

    assert await run.signal(signal.SIGTERM) == 0
    assert not [pid for pid in pids.values() if _lives(pid)]


@pytest.mark.parametrize("part", ["ergo", "controller"])
async def test_a_part_that_dies_is_started_again_with_a_line_why(
    supervisors: Supervisors, part: str
) -> None:
    run = await supervisors.start()
    await run.until_ready()
    before = run.pid(part)

    os.kill(before, signal.SIGKILL)

    assert "signal 9" in await run.line(lambda line: line.startswith(f"{part} ended"))
    await run.line(lambda line: line == f"{part} runs again")
    assert run.pid(part) != before
    assert _lives(run.pid(part))


async def test_nothing_but_workers_survives_a_killed_supervisor_and_the_next_start_works(
    supervisors: Supervisors,
) -> None:
    first = await supervisors.start(STAND_IN="worker")
    await first.until_ready()
    pids = first.pids()
    credentials = supervisors.home.credentials()

    await first.signal(signal.SIGKILL)
    second = await supervisors.start()
    await second.until_ready()

    assert not _lives(pids["ergo"])
    assert not _lives(pids["controller"])
    assert supervisors.home.credentials() == credentials
    assert await second.signal(signal.SIGTERM) == 0
    assert not _lives(pids["task-1"])


async def test_a_start_beside_a_running_one_is_refused_and_leaves_it_alone(
    supervisors: Supervisors,
) -> None:
    run = await supervisors.start()
    await run.until_ready()
    pids = run.pids()

    line = await supervisors.refused()

    assert line.startswith(
        f"Ergonaut already runs on {supervisors.home.root} (pid {pids['supervisor']})"
    )
    assert run.pids() == pids
    assert all(map(_lives, pids.values()))


async def test_a_taken_port_is_one_line(supervisors: Supervisors, ergo: ErgoServer) -> None:
    line = await supervisors.refused(IRC_PORT=str(ergo.port))

    assert line == f"port {ergo.port} on 127.0.0.1 is taken; set IRC_PORT to another one"
    assert supervisors.home.pid_file("supervisor").exists() is False


async def test_an_unwritable_home_is_one_line(supervisors: Supervisors, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    line = await supervisors.refused(ERGONAUT_HOME=str(file / "home"))

    assert line.startswith(f"ERGONAUT_HOME={file}/home cannot be written")


async def test_a_controller_that_refuses_is_told_in_its_own_last_line(
    supervisors: Supervisors,
) -> None:
    line = await supervisors.refused(STAND_IN="refuse")

    assert line == "the account controller has no rights"
    assert not list(supervisors.home.run.glob("*.pid"))


async def test_an_unusable_ergo_is_one_line(supervisors: Supervisors) -> None:
    line = await supervisors.refused(ERGO_BIN="/nonexistent/ergo")

    assert line.startswith("ERGO_BIN: /nonexistent/ergo cannot be run")


async def test_credentials_are_for_their_owner_alone(supervisors: Supervisors) -> None:
    run = await supervisors.start()
    await run.until_ready()

    assert supervisors.home.credentials_file.stat().st_mode & 0o777 == 0o600
    assert (supervisors.home.ergo / "ircd.yaml").stat().st_mode & 0o777 == 0o600
    secret = supervisors.home.credentials().oper
    assert not [part for part, pid in run.pids().items() if secret in _argv(pid)]
