"""What lines of the server mean: who speaks where, and what is nobody's word to us."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.effects import Spoken, Telemetry
from controller.inputs import server_time, spoken, telemetry, unix_time
from shared.directives import CONTROL_TAG, TOOL_TAG
from shared.ircv3.message import parse

_HEAD = "@account=Alice;msgid=m1;time=2026-01-01T00:00:00.500Z"
_AT = 1767225600.5


def _heard(line: str) -> Spoken | None:
    return spoken(parse(line), "controller", 7.0)


@pytest.mark.parametrize(
    ("line", "place", "text"),
    [
        pytest.param(":alice!u@h PRIVMSG #tasks :!new x", "#tasks", "!new x", id="channel"),
        pytest.param(":alice!u@h PRIVMSG @#tasks :!new x", "#tasks", "!new x", id="to ops"),
        pytest.param(":alice!u@h PRIVMSG controller :tasks", "alice", "tasks", id="DM"),
        pytest.param(":alice!u@h PRIVMSG #t :\x02!new\x0f \x0304red", "#t", "!new red", id="codes"),
        pytest.param(":alice!u@h PRIVMSG #t :\x01ACTION waves\x01", "#t", "waves", id="action"),
    ],
)
def test_a_line_of_a_person_is_heard(line: str, place: str, text: str) -> None:
    message = parse(f"{_HEAD} {line}")
    assert spoken(message, "controller", 7.0) == Spoken(
        place, "alice", "Alice", text, "m1", _AT, live=True, tags=message.tags
    )


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(":alice!u@h NOTICE #tasks :!new x", id="notice"),
        pytest.param("@account=Controller :controller!u@h PRIVMSG #tasks :x", id="ourselves"),
        pytest.param("@bot;account=b :b!u@h PRIVMSG #tasks :!new x", id="a bot"),
        pytest.param(":HistServ!HistServ@localhost PRIVMSG #tasks :a joined", id="history"),
        pytest.param(":alice!u@h PRIVMSG controller :\x01VERSION\x01", id="CTCP"),
        pytest.param(":alice!u@h JOIN #tasks", id="no talk"),
    ],
)
def test_what_is_not_said_to_us_is_not_heard(line: str) -> None:
    assert _heard(line) is None


def test_a_directive_is_heard_although_its_worker_is_a_bot() -> None:
    line = f"@bot;account=HAL-9000;{CONTROL_TAG}=7.1.1 :HAL-9000!u@h PRIVMSG #task-7 :[bye] idle -"
    heard = _heard(line)
    assert heard is not None
    assert heard.tags[CONTROL_TAG] == "7.1.1"


def test_a_line_without_account_and_time_has_our_time_and_no_account() -> None:
    heard = _heard(":anon!u@h PRIVMSG #tasks :hi")
    assert heard is not None
    assert (heard.account, heard.at) == (None, 7.0)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        pytest.param(
            f'@account=HAL-9000;{CONTROL_TAG}=7.1.0;{TOOL_TAG}={{"tool":"bash"}} :h TAGMSG c',
            Telemetry("HAL-9000", "7.1.0", {"tool": "bash"}),
            id="telemetry",
        ),
        pytest.param(f"@{CONTROL_TAG}=7.1.0;{TOOL_TAG}={{}} :h TAGMSG c", None, id="no account"),
        pytest.param(f"@account=a;{TOOL_TAG}={{}} :h TAGMSG c", None, id="no control tag"),
        pytest.param(f"@account=a;{CONTROL_TAG}=7.1.0;{TOOL_TAG}=[1] :h TAGMSG c", None, id="list"),
        pytest.param(
            f"@account=a;{CONTROL_TAG}=7.1.0;{TOOL_TAG}=x :h TAGMSG c", None, id="no json"
        ),
    ],
)
def test_telemetry_needs_an_account_and_an_attempt(line: str, seen: Telemetry | None) -> None:
    assert telemetry(parse(line)) == seen


@given(st.integers(0, 4_000_000_000_000))
def test_server_times_come_back_to_the_millisecond(milliseconds: int) -> None:
    back = unix_time(server_time(milliseconds / 1000))
    assert back is not None
    assert abs(back * 1000 - milliseconds) < 1.5
