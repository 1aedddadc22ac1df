from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from controller.errors import LocalError
from controller.home import Home, home_from, new_password, write_atomically


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.prepare()
    return home


def test_the_default_home_lies_below_the_current_folder() -> None:
    assert home_from({}) == Home(Path.cwd() / ".ergonaut")


def test_only_the_owner_gets_into_a_home(home: Home) -> None:
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700


def test_credentials_are_made_once(home: Home) -> None:
    first = home.credentials_or_new()

    assert home.credentials_or_new() == first
    assert len({first.controller, first.oper, first.you}) == 3
    assert stat.S_IMODE(home.credentials_file.stat().st_mode) == 0o600


def test_a_password_is_letters_and_digits_and_so_never_looks_like_an_option() -> None:
    assert all(new_password().isalnum() for _ in range(100))


def test_credentials_do_not_show_in_a_traceback(home: Home) -> None:
    credentials = home.credentials_or_new()

    assert credentials.oper not in repr(credentials)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        pytest.param(None, "holds no credentials", id="none"),
        pytest.param("{", "is damaged", id="no JSON"),
        pytest.param('{"you": "x"}', "is damaged", id="a part is missing"),
    ],
)
def test_unusable_credentials_are_one_line(home: Home, content: str | None, complaint: str) -> None:
    if content is not None:
        home.credentials_file.write_text(content)

    with pytest.raises(LocalError, match=complaint):
        home.credentials()


def test_a_home_has_one_supervisor_at_a_time(home: Home) -> None:
    with home.supervised():
        assert home.pid_file("supervisor").read_text() == f"{os.getpid()}\n"
        refusal = rf"already runs on {home.root} \(pid {os.getpid()}\)"
        with pytest.raises(LocalError, match=refusal), home.supervised():
            pass
    assert not home.pid_file("supervisor").exists()
    with home.supervised():
        pass


def test_a_stale_pid_file_does_not_hold_the_home(home: Home) -> None:
    home.pid_file("supervisor").write_text("1\n")

    with home.supervised():
        assert home.pid_file("supervisor").read_text() == f"{os.getpid()}\n"


def test_a_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", "one")
    write_atomically(tmp_path / "file", "two")

    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file": "two"}
