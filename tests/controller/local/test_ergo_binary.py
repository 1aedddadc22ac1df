from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import pytest

from controller.errors import LocalError
from controller.local.ergo_binary import find_or_build

if TYPE_CHECKING:
    from pathlib import Path


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def _too_old(path: Path) -> Path:
    return _program(path, "echo ergo-2.17.0")


def _without_sqlite(path: Path, ergo: Path) -> Path:
    complaint = (
        "Config file did not load successfully: SQLite is enabled in the config, but this binary "
        "was not built with SQLite support. Rebuild with `make build_full` to enable"
    )
    refuse = f"echo {shlex.quote(complaint)} >&2; exit 1"
    return _program(path, f'[ "$1" = initdb ] && {{ {refuse}; }}\nexec {ergo} "$@"')


class _Talk(list[str]):
    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        pytest.param("echo ergo-2.17.9", "is ergo 2.17.9, too old: 2.18.0 or newer", id="too old"),
        pytest.param("echo hello", "does not tell its version", id="no ergo"),
        pytest.param("exit 3", "it said nothing", id="broken"),
    ],
)
def test_an_unusable_ERGO_BIN_is_an_error_and_nothing_else_is_tried(  # noqa: N802
    tmp_path: Path, script: str, complaint: str
) -> None:
    chosen = _program(tmp_path / "ergo", script)

    with pytest.raises(LocalError, match=complaint) as error:
        find_or_build({"ERGO_BIN": str(chosen)}, _Talk())
    assert str(chosen) in str(error.value)


def test_a_binary_without_sqlite_is_told_apart_by_trying(tmp_path: Path, ergo_binary: Path) -> None:
    chosen = _without_sqlite(tmp_path / "ergo", ergo_binary)

    with pytest.raises(LocalError, match="was built without sqlite history"):
        find_or_build({"ERGO_BIN": str(chosen)}, _Talk())


def test_a_good_ERGO_BIN_is_taken(ergo_binary: Path) -> None:  # noqa: N802
    assert find_or_build({"ERGO_BIN": str(ergo_binary)}, _Talk()) == ergo_binary


def test_unusable_programs_on_path_are_passed_over_aloud(tmp_path: Path, ergo_binary: Path) -> None:
    folder = tmp_path / "bin"
    old = _too_old(folder / "ergo")
    good = _program(folder / "ergochat", f'exec {ergo_binary} "$@"')
    talk = _Talk()

    assert find_or_build({"PATH": f"{folder}:{os.defpath}"}, talk) == good
    assert talk == [line for line in talk if line.startswith(f"passed over: {old} is ergo 2.17.0")]


def test_the_newest_usable_cached_build_is_taken(tmp_path: Path, ergo_binary: Path) -> None:
    cache = tmp_path / "ergonaut"
    _program(cache / "ergo-2.20.0" / "ergo", "exit 1")
    newest = _program(cache / "ergo-2.19.10" / "ergo", f'exec {ergo_binary} "$@"')
    _program(cache / "ergo-2.19.9" / "ergo", f'exec {ergo_binary} "$@"')

    assert find_or_build({"XDG_CACHE_HOME": str(tmp_path), "PATH": "/nowhere"}, _Talk()) == newest


def test_a_system_without_apt_is_told_both_ways_out(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"ERGO_BIN.*or install one as `ergo` on PATH") as error:
        find_or_build({"XDG_CACHE_HOME": str(tmp_path), "PATH": "/nowhere"}, _Talk())
    assert "only a Debian-like system" in str(error.value)


def test_an_unwritable_cache_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(LocalError, match="set XDG_CACHE_HOME"):
        find_or_build({"XDG_CACHE_HOME": str(tmp_path / "file"), "PATH": "/nowhere"}, _Talk())


def test_leftovers_of_a_killed_builder_are_removed(tmp_path: Path) -> None:
    leftover = tmp_path / "ergonaut" / "build-old" / "ergo"
    _program(leftover, "exit 1")

    with pytest.raises(LocalError):
        find_or_build({"XDG_CACHE_HOME": str(tmp_path), "PATH": "/nowhere"}, _Talk())
    assert not leftover.parent.exists()
