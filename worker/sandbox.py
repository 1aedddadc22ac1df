"""The walls around the tool host: bubblewrap, or none where the pod is the sandbox.

What tools see in bubblewrap:
- `/` read-only, with a private `/proc` and `/dev`, and the network (git needs it);
- empty folders of memory instead of `/tmp`, `/var/tmp`, `/run` (sockets of docker, dbus, keyrings),
  `/home`, `/root`, the user's home and `ERGONAUT_HOME`;
- within those, read-only: the Python that runs the host and our `worker` package; read and write:
  the workspace;
- their own processes alone, no capabilities, and a clean environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worker.tools.environment import clean_environment
from worker.tools.prctl import set_undumpable

_PROBE_SECONDS = 10.0
ALWAYS_HIDDEN = ("/tmp", "/var/tmp", "/run", "/home", "/root")


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one attempt, all of them real paths."""

    workspace: Path
    hidden: tuple[Path, ...]
    """Existing folders that tools find empty."""
    shown: tuple[Path, ...]
    """Existing paths that are needed even if they lie in a hidden folder."""
    python: str
    """The interpreter that runs the host."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Tools run behind it."""

    program: str


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Tools run as plain children of the worker, and may do what its user may."""


@dataclass(frozen=True, slots=True)
class Refused:
    """No tool may run; the reason says what to do."""

    reason: str


Sandbox = Bubblewrap | NoSandbox | Refused


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Whether bubblewrap works here."""

    program: str
    problem: str = ""
    """Empty: it works."""


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """How to start a tool host."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    working_directory: Path


def protect_self() -> None:
    """Close this process's memory and environment to the tools; call it before reading secrets."""
    set_undumpable()


def survey(workspace: Path, ergonaut_home: Path | None, environ: Mapping[str, str]) -> Layout:
    """Look where things are on this machine."""
    package = Path(__file__).resolve().parent
    homes = [environ.get("HOME"), _home_on_record()]
    # the checkout's default home may hold another instance's passwords
    ours = [ergonaut_home, package.parent / ".ergonaut"]
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), package}
    needed = {*prefixes, *(path.resolve() for path in prefixes), Path("/etc/resolv.conf").resolve()}
    return Layout(
        workspace.resolve(),
        tuple(_folders([*ALWAYS_HIDDEN, *homes, *ours])),
        tuple(sorted(path for path in needed if path.exists())),
        sys.executable,
    )


def choose(setting: Literal["auto", "none"], probed: ProbeResult) -> Sandbox:
    """Unprotected tools only if somebody said so."""
    if setting == "none":
        return NoSandbox()
    if not probed.problem:
        return Bubblewrap(probed.program)
    return Refused(
        f"no sandbox for tools: {probed.problem}. Make bubblewrap work, or start Ergonaut with"
        " SANDBOX=none to run tools unprotected"
    )


def host_launch(
    sandbox: Bubblewrap | NoSandbox, layout: Layout, environ: Mapping[str, str]
) -> HostLaunch:
    """The command line of the tool host, and its environment: bubblewrap is PID 1 in there."""
    host = _python(layout, "-m", "worker.tools.host", str(layout.workspace))
    environment = clean_environment(environ)
    match sandbox:
        case Bubblewrap(program):
            argv = (*bubblewrap_argv(program, layout), "--", *host)
            return HostLaunch(argv, environment, Path("/"))
        case NoSandbox():
            return HostLaunch(host, environment, layout.workspace)


def bubblewrap_argv(program: str, layout: Layout) -> tuple[str, ...]:
    """Everything before the command."""
    mounts: dict[Path, tuple[str, ...]] = {}
    for path in layout.shown:
        if any(path.is_relative_to(folder) for folder in layout.hidden):
            mounts[path] = ("--ro-bind", str(path), str(path))
    for path in layout.hidden:
        mounts[path] = ("--tmpfs", str(path))
    mounts[layout.workspace] = ("--bind", str(layout.workspace), str(layout.workspace))
    # outer before inner, or the outer mount would cover the inner one
    ordered = sorted(mounts, key=lambda path: len(path.parts))
    return (
        program,
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *("--die-with-parent", "--new-session"),
        # root keeps its capabilities otherwise, and could unmount what hides the secrets
        *("--cap-drop", "ALL"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *(part for path in ordered for part in mounts[path]),
        *("--chdir", str(layout.workspace)),
    )


async def probe(layout: Layout, environ: Mapping[str, str]) -> ProbeResult:
    """Run the interpreter inside, as the host will; says why that does not work."""
    program = shutil.which("bwrap", path=environ.get("PATH"))
    if program is None:
        return ProbeResult("bwrap", "bwrap (bubblewrap) is not on PATH")
    argv = (*bubblewrap_argv(program, layout), "--", *_python(layout, "-c", "import worker.tools"))
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=clean_environment(environ),
        cwd="/",
    )
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            _, errors = await process.communicate()
    except TimeoutError:
        return ProbeResult(program, f"{program} did not answer within {_PROBE_SECONDS:g} s")
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode == 0:
        return ProbeResult(program)
    last_line = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return ProbeResult(program, f"{program} fails here ({last_line or 'no reason given'})")


def _python(layout: Layout, *args: str) -> tuple[str, ...]:
    # -I: neither the workspace nor the environment can put code of theirs into the host
    return (layout.python, "-X", "utf8", "-I", *args)


def _home_on_record() -> str | None:
    """None for a user id without a name, as containers have it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None


def _folders(paths: Iterable[str | Path | None]) -> Iterator[Path]:
    for path in dict.fromkeys(Path(path).resolve() for path in paths if path):
        if path.is_dir() and path != Path("/"):
            yield path
