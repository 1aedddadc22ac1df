"""What is decided about the sandbox, and what the real one keeps tools from."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pytest
import pytest_asyncio

from tests.support.tool_calls import Call, is_running
from tests.support.until import until
from worker.sandbox import (
    ALWAYS_HIDDEN,
    Bubblewrap,
    Layout,
    NoSandbox,
    ProbeResult,
    Refused,
    Sandbox,
    bubblewrap_argv,
    choose,
    host_launch,
    probe,
    survey,
)
from worker.tool_host import ToolHost
from worker.tools import ToolResult

CHECKOUT = Path(__file__).parents[2]
CACHE = CHECKOUT / ".pytest_cache"
WORKS = ProbeResult("/usr/bin/bwrap")
BROKEN = ProbeResult("/usr/bin/bwrap", "bwrap fails here (no namespaces)")


@pytest.mark.parametrize(
    ("setting", "probed", "decision"),
    [
        ("auto", WORKS, Bubblewrap("/usr/bin/bwrap")),
        (
            "auto",
            BROKEN,
            Refused(
                "no sandbox for tools: bwrap fails here (no namespaces). Make bubblewrap work, or"
                " start Ergonaut with SANDBOX=none to run tools unprotected"
            ),
        ),
        ("none", WORKS, NoSandbox()),
        ("none", BROKEN, NoSandbox()),
    ],
)
def test_tools_run_unprotected_only_if_somebody_said_so(
    setting: Literal["auto", "none"], probed: ProbeResult, decision: Sandbox
) -> None:
    assert choose(setting, probed) == decision


def mounts(argv: tuple[str, ...]) -> list[tuple[str, str]]:
    kinds = ("--tmpfs", "--bind", "--ro-bind")
    return [(argv[n], argv[n + 1]) for n, word in enumerate(argv) if word in kinds]


def test_inner_folders_are_mounted_after_outer_ones() -> None:
    layout = Layout(
        workspace=Path("/home/me/code/.ergonaut/workspaces/task-1"),
        hidden=(Path("/home"), Path("/home/me/code/.ergonaut"), Path("/home/me"), Path("/tmp")),
        shown=(Path("/home/me/code/.venv"), Path("/home/me/code/worker"), Path("/usr")),
        python="/home/me/code/.venv/bin/python",
    )
    assert mounts(bubblewrap_argv("bwrap", layout)) == [
        ("--ro-bind", "/"),
        ("--tmpfs", "/home"),
        ("--tmpfs", "/tmp"),
        ("--tmpfs", "/home/me"),
        ("--ro-bind", "/home/me/code/.venv"),
        ("--ro-bind", "/home/me/code/worker"),
        ("--tmpfs", "/home/me/code/.ergonaut"),
        ("--bind", "/home/me/code/.ergonaut/workspaces/task-1"),
    ]


def test_a_folder_that_is_both_needed_and_secret_stays_hidden() -> None:
    both = Path("/home/me")
    layout = Layout(Path("/work"), hidden=(both,), shown=(both,), python="python")
    assert ("--tmpfs", "/home/me") in mounts(bubblewrap_argv("bwrap", layout))
    assert ("--ro-bind", "/home/me") not in mounts(bubblewrap_argv("bwrap", layout))


def test_the_survey_hides_homes_and_shows_the_interpreter(tmp_path: Path) -> None:
    home = tmp_path / "me"
    (home / "ergonaut/workspaces/task-1").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    layout = survey(
        tmp_path / "link/ergonaut/workspaces/task-1",
        tmp_path / "link/ergonaut",
        {"HOME": str(tmp_path / "link")},
    )
    assert layout.workspace == home / "ergonaut/workspaces/task-1"
    assert {home, home / "ergonaut", Path("/tmp")} <= set(layout.hidden)
    assert Path(sys.prefix) in layout.shown
    assert layout.python == sys.executable


def test_a_user_id_without_a_name_has_no_home_to_hide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2**31)
    assert tmp_path / "me" not in survey(tmp_path, None, {}).hidden


def test_a_root_folder_as_home_is_not_hidden(tmp_path: Path) -> None:
    assert Path("/") not in survey(tmp_path, None, {"HOME": "/"}).hidden


@dataclass
class Site:
    """A user's machine in miniature."""

    home: Path
    ergonaut: Path
    workspace: Path
    environ: dict[str, str]

    def layout(self) -> Layout:
        return survey(self.workspace, self.ergonaut, self.environ)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where tools see what is not hidden on purpose: /tmp, with pytest's own folders, is hidden as
    a whole, and so is a checkout below it."""
    with tempfile.TemporaryDirectory(dir=_open_ground()) as name:
        yield Path(name)


def _open_ground() -> Path:
    CACHE.mkdir(exist_ok=True)
    hidden = tuple(Path(name) for name in ALWAYS_HIDDEN)
    for ground in (CACHE, Path("/var/lib"), Path("/opt"), Path("/srv")):
        if os.access(ground, os.W_OK) and not any(map(ground.is_relative_to, hidden)):
            return ground
    pytest.fail("these tests need a checkout outside of /tmp and /home, or root")


@pytest.fixture
def site(folder: Path) -> Site:
    (folder / "seen").write_text("not hidden")
    home = folder / "me"
    ergonaut = folder / "ergonaut"
    workspace = ergonaut / "workspaces/task-1"
    for folder in (home / ".ssh", home / ".config", workspace, ergonaut / "credentials"):
        folder.mkdir(parents=True)
    (home / ".ssh/id_ed25519").write_text("the-ssh-key")
    (ergonaut / "credentials/controller").write_text("the-password")
    (workspace.parent / "task-2").mkdir()
    (workspace.parent / "task-2/notes").write_text("another-task")
    (ergonaut / "state.jsonl").write_text("the-transcript")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ANTHROPIC_API_KEY": "the-key",
        "IRC_SASL_PASSWORD": "the-irc-password",
    }
    return Site(home, ergonaut, workspace, environ)


@pytest_asyncio.fixture
async def host(site: Site) -> AsyncIterator[ToolHost]:
    layout = site.layout()
    sandbox = choose("auto", await probe(layout, site.environ))
    assert isinstance(sandbox, Bubblewrap)
    host = await ToolHost.start(host_launch(sandbox, layout, site.environ))
    yield host
    await host.close()


async def call(host: ToolHost, tool: str, **args: object) -> ToolResult:
    tools = {tool.spec.name: tool for tool in host.tools}
    return await tools[tool].run(args, Call().context())


async def bash(host: ToolHost, command: str) -> ToolResult:
    return await call(host, "bash", command=command)


@pytest.mark.sandbox
async def test_the_probe_says_why_bubblewrap_is_not_usable(site: Site, tmp_path: Path) -> None:
    layout = site.layout()
    assert (await probe(layout, {"PATH": str(tmp_path)})).problem == (
        "bwrap (bubblewrap) is not on PATH"
    )
    missing = replace(layout, python=str(tmp_path / "python"))
    problem = (await probe(missing, site.environ)).problem
    assert "fails here (bwrap: execvp" in problem
    assert "No such file or directory" in problem


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "path",
    [
        "me/.ssh/id_ed25519",
        "ergonaut/credentials/controller",
        "ergonaut/state.jsonl",
        "ergonaut/workspaces/task-2/notes",
    ],
)
async def test_secrets_and_other_tasks_are_not_there(
    host: ToolHost, folder: Path, path: str
) -> None:
    assert (await call(host, "read", path=str(folder / "seen"))).text == "not hidden"
    assert "ENOENT" in (await call(host, "read", path=str(folder / path))).text
    assert "No such file" in (await bash(host, f"cat {folder / path}")).text


@pytest.mark.sandbox
async def test_nothing_hidden_comes_to_light_by_unmounting(host: ToolHost, site: Site) -> None:
    target = site.ergonaut
    await bash(host, f"umount {target}; umount -l {target}; unshare -Urm umount {target}")
    assert (await bash(host, f"ls {target}; unshare -Urm ls {target}")).text.startswith(
        "workspaces"
    )
    assert "0000000000000000" in (await bash(host, "grep CapEff /proc/self/status")).text


@pytest.mark.sandbox
async def test_no_environment_holds_a_secret(host: ToolHost) -> None:
    text = (await bash(host, "env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'")).text
    assert "GIT_EDITOR=false" in text
    assert "the-key" not in text
    assert "the-irc-password" not in text


@pytest.mark.sandbox
async def test_tools_see_their_own_processes_alone(host: ToolHost) -> None:
    # bubblewrap, the host, the shell, ls
    lines = (await bash(host, "ls -d /proc/[0-9]*")).text.split("\n")
    assert len(lines) <= 4
    assert f"/proc/{os.getpid()}" not in lines or os.getpid() < 10


@pytest.mark.sandbox
async def test_the_hosts_memory_and_pipes_are_closed_to_tools(host: ToolHost) -> None:
    result = await bash(
        host, "cat /proc/$PPID/environ; ls -l /proc/$PPID/fd/; echo x >/proc/$PPID/mem"
    )
    assert result.text.count("Permission denied") >= 2


@pytest.mark.sandbox
async def test_the_workspace_alone_is_writable(host: ToolHost, site: Site) -> None:
    assert not (await call(host, "write", path="sub/a.txt", content="x")).is_error
    assert text_of(site.workspace / "sub/a.txt") == "x"
    for path in (
        CHECKOUT / "worker/new",
        Path("/etc/new"),
        Path("/usr/new"),
        Path("/proc/sys/kernel/x"),
    ):
        assert (await bash(host, f"echo x >{path}")).is_error
        assert (await call(host, "write", path=str(path), content="x")).is_error
    assert (await bash(host, f"touch {Path(sys.prefix)}/new")).is_error


def text_of(path: Path) -> str:
    return path.read_text()


@pytest.mark.sandbox
async def test_what_tools_write_elsewhere_stays_inside(host: ToolHost, site: Site) -> None:
    inside = [Path(f"/tmp/inside-{os.getpid()}"), site.home / "inside"]
    result = await bash(host, f"touch {inside[0]} {inside[1]} && echo $HOME")
    assert result.text.startswith("/tmp/")
    assert [path for path in inside if exists(path)] == []


def exists(path: Path) -> bool:
    return path.exists()


@pytest.mark.sandbox
async def test_sockets_of_the_system_are_hidden(host: ToolHost) -> None:
    assert (await bash(host, "find /run /var/run/ -type s")).text == "(no output)"


@pytest.mark.sandbox
async def test_t22_and_t54_mode_bits_hold_for_root_too(host: ToolHost) -> None:
    await bash(host, "echo x >secret; chmod 0 secret; echo x >fixed; chmod 444 fixed")
    assert "EACCES" in (await call(host, "read", path="secret")).text
    edits = [{"old": "x", "new": "y"}]
    assert "EACCES" in (await call(host, "edit", path="fixed", edits=edits)).text
    assert "EACCES" in (await call(host, "write", path="fixed", content="y")).text


@pytest.mark.sandbox
async def test_t75_a_daemon_ends_with_the_host(host: ToolHost, site: Site) -> None:
    marker = f"sleep 61{os.getpid()}"
    await bash(host, f"setsid {marker} >/dev/null 2>&1 &")
    await until(lambda: bool(pids_of(marker)))
    await host.close()
    await until(lambda: not pids_of(marker))


@pytest.mark.sandbox
async def test_a_killed_host_leaves_nothing(host: ToolHost) -> None:
    marker = f"sleep 62{os.getpid()}"
    await bash(host, f"setsid {marker} >/dev/null 2>&1 &")
    await until(lambda: bool(pids_of(marker)))
    assert (await bash(host, "kill -9 $PPID; sleep 60")).text.startswith("the tool host has died")
    await host.close()
    await until(lambda: not pids_of(marker))


def pids_of(command: str) -> list[int]:
    """Seen from outside, where the sandbox's processes have other numbers."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and is_running(int(entry.name)):
            try:
                if (entry / "cmdline").read_bytes() == wanted:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


PROTECTED = """
import sys, time
from worker.sandbox import protect_self
protect_self()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.sandbox
def test_a_protected_worker_cannot_be_read_by_its_own_user() -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", PROTECTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        # without capabilities root is an ordinary user; here in the worker's own PID namespace
        spy = [
            "bwrap",
            "--bind",
            "/",
            "/",
            "--cap-drop",
            "ALL",
            "cat",
            f"/proc/{worker.pid}/environ",
        ]
        done = subprocess.run(spy, capture_output=True, check=False)
        worker.communicate()
    assert b"Permission denied" in done.stderr
