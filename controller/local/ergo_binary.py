"""Find an ergo that we can use, or have one built; run as a program it prints the path.

Order: ERGO_BIN; `ergo` or `ergochat` on PATH; the cached build; a build from Debian's source
package. What a binary can do is found out by trying it with our own configuration.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from controller.errors import LocalError
from controller.local import ergo_build
from controller.local.ergo_command import ErgoCommand
from controller.local.ergo_config import ErgoSettings, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MINIMUM = (2, 18, 0)
WAYS_OUT = (
    "set ERGO_BIN to an ergo >= 2.18.0 built with sqlite, or install one as `ergo` on PATH "
    "(https://ergo.chat, `make build_full`)"
)


def find_or_build(env: Mapping[str, str], say: Callable[[str], None]) -> Path:
    """The path of a usable ergo; `say` hears what takes time and what is passed over."""
    chosen = env.get("ERGO_BIN")
    if chosen:
        path = Path(chosen).expanduser().absolute()
        try:
            require_usable(path)
        except LocalError as error:
            raise LocalError(f"ERGO_BIN: {error}") from error
        return path
    return _on_path(env, say) or _cached_or_built(env, say)


def require_usable(binary: Path) -> None:
    """LocalError unless the binary is new enough and takes our configuration, sqlite included."""
    command = ErgoCommand(binary)
    version = command.version()
    if version < MINIMUM:
        raise LocalError(
            f"{binary} is ergo {_dotted(version)}, too old: "
            f"{_dotted(MINIMUM)} or newer is needed; {WAYS_OUT}"
        )
    with tempfile.TemporaryDirectory(prefix="ergonaut-check-") as scratch:
        config = Path(scratch) / "ircd.yaml"
        settings = ErgoSettings(oper_hash=command.hash_password("only tried"))
        config.write_text(render(command.default_config(), settings))
        command.make_database(config)


def cache_folder(env: Mapping[str, str]) -> Path:
    """The user's cache folder for us, made and writable."""
    base = env.get("XDG_CACHE_HOME") or str(_home(env) / ".cache")
    folder = Path(base) / "ergonaut"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise LocalError(
            f"the cache folder {folder} cannot be written ({error.strerror}); "
            f"set XDG_CACHE_HOME, or {WAYS_OUT}"
        ) from error


def _home(env: Mapping[str, str]) -> Path:
    home = env.get("HOME")
    return Path(home) if home else Path(os.path.expanduser("~"))  # noqa: PTH111  (Path raises where there is none)


def _on_path(env: Mapping[str, str], say: Callable[[str], None]) -> Path | None:
    for name in ("ergo", "ergochat"):
        found = shutil.which(name, path=env.get("PATH"))
        if found is None:
            continue
        try:
            require_usable(Path(found))
        except LocalError as refusal:
            say(f"passed over: {refusal}")
            continue
        return Path(found).absolute()
    return None


def _cached_or_built(env: Mapping[str, str], say: Callable[[str], None]) -> Path:
    cache = cache_folder(env)
    return _cached(cache) or _build_once(cache, env, say)


def _build_once(cache: Path, env: Mapping[str, str], say: Callable[[str], None]) -> Path:
    with _builder_lock(cache, say):
        built_meanwhile = _cached(cache)
        if built_meanwhile is not None:
            return built_meanwhile
        for leftover in cache.glob("build-*"):  # of a builder that was killed: we hold its lock
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix="build-", dir=cache) as scratch:
            try:
                binary = ergo_build.build(Path(scratch), env, say)
                require_usable(binary)
            except LocalError as error:
                raise LocalError(f"no ergo: {error}; {WAYS_OUT}") from error
            return _keep(binary, cache)


def _keep(binary: Path, cache: Path) -> Path:
    folder = cache / f"ergo-{_dotted(ErgoCommand(binary).version())}"
    folder.mkdir(exist_ok=True)
    kept = folder / "ergo"
    binary.replace(kept)
    return kept


def _cached(cache: Path) -> Path | None:
    for candidate in sorted(cache.glob("ergo-*/ergo"), key=_release, reverse=True):
        try:
            require_usable(candidate)
        except LocalError:
            continue
        return candidate
    return None


def _release(binary: Path) -> list[int]:
    return [int(part) for part in binary.parent.name.split("-")[-1].split(".") if part.isdigit()]


@contextmanager
def _builder_lock(cache: Path, say: Callable[[str], None]) -> Iterator[None]:
    with (cache / "build.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building ergo; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in version)


def say_on_stderr(line: str) -> None:
    """Progress for people; stdout is for the answer."""
    sys.stderr.write(f"ergo: {line}\n")
    sys.stderr.flush()


def main() -> int:
    """Print the path of a usable ergo."""
    try:
        path = find_or_build(os.environ, say_on_stderr)
    except LocalError as error:
        say_on_stderr(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
