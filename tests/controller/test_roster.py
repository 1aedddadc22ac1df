"""The roster: what each line of the server says about who is where."""

from __future__ import annotations

import pytest

from controller.effects import Joined, Left
from controller.roster import Roster
from shared.ircv3.message import parse

_THERE = (
    "@account=Alice :alice!u@h JOIN #task-1 Alice :A",
    ":alice!u@h JOIN #task-2 Alice :A",
    ":bob!u@h JOIN #task-1 * :B",
)


@pytest.fixture
def roster() -> Roster:
    known = Roster("controller")
    for line in _THERE:
        known.feed(parse(line))
    return known


@pytest.mark.parametrize(
    ("line", "inputs"),
    [
        pytest.param(":x!u@h JOIN #task-1 X :x", [Joined("#task-1", "x", "X")], id="join"),
        pytest.param(":x!u@h JOIN #task-1 * :x", [Joined("#task-1", "x", None)], id="stranger"),
        pytest.param(":controller!u@h JOIN #task-1 controller :c", [], id="ourselves"),
        pytest.param(":alice!u@h PART #task-1 :bye", [Left("#task-1", "alice")], id="part"),
        pytest.param(":op!u@h KICK #task-1 alice :out", [Left("#task-1", "alice")], id="kick"),
        pytest.param(
            ":alice!u@h QUIT :gone", [Left("#task-1", "alice"), Left("#task-2", "alice")], id="quit"
        ),
        pytest.param(
            ":bob!u@h NICK bobby",
            [Left("#task-1", "bob"), Joined("#task-1", "bobby", None)],
            id="nick",
        ),
        pytest.param(":bob!u@h ACCOUNT Bob", [Joined("#task-1", "bob", "Bob")], id="login"),
        pytest.param(":bob!u@h ACCOUNT *", [Joined("#task-1", "bob", None)], id="logout"),
        pytest.param(
            ":irc 354 controller 7 #task-3 HAL-9000 H@ HAL-9000",
            [Joined("#task-3", "HAL-9000", "HAL-9000", live=False)],
            id="who",
        ),
        pytest.param(
            ":irc 354 controller 7 #task-3 anon H 0",
            [Joined("#task-3", "anon", None, live=False)],
            id="who of a stranger",
        ),
        pytest.param(":irc 354 controller 7 #task-3 controller H~ controller", [], id="who of us"),
        pytest.param(":nobody!u@h PART #task-1", [], id="part of one who was not there"),
        pytest.param(":alice!u@h PRIVMSG #task-1 :hi", [], id="talk"),
    ],
)
def test_a_line_says_who_came_and_went(
    roster: Roster, line: str, inputs: list[Joined | Left]
) -> None:
    assert roster.feed(parse(line)) == inputs
