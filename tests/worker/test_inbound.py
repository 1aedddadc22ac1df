from __future__ import annotations

import pytest

from shared.directives import Resume, Stop, UnknownDirective
from shared.ircv3.message import Message, parse
from worker.effects import Role, RoomLine
from worker.inbound import (
    Confirmation,
    ControllerHere,
    Decision,
    Directive,
    Ignore,
    Line,
    Refusal,
    Room,
    decide,
)

ROOM = Room(
    channel="#task-12",
    task=12,
    attempt=2,
    account="HAL-9000",
    controller="controller",
    requester="alice",
    maintainers=("maud",),
    pool=frozenset({"GLaDOS"}),
)


def said(account: str, role: Role, text: str) -> Line:
    return Line(RoomLine(account, role, text, "m1"))


CASES: list[tuple[str, str, Decision]] = [
    (
        "the requester's line is the requester's",
        "@account=alice;msgid=m1 :alice!a@h PRIVMSG #task-12 :use tabs",
        said("alice", Role.REQUESTER, "use tabs"),
    ),
    (
        "accounts and channels fold",
        "@account=Alice;msgid=m1 :x!a@h PRIVMSG #TASK-12 :use tabs",
        said("Alice", Role.REQUESTER, "use tabs"),
    ),
    (
        "a maintainer is known by account",
        "@account=maud;msgid=m1 :m!a@h PRIVMSG #task-12 :no",
        said("maud", Role.MAINTAINER, "no"),
    ),
    (
        "anybody with an account is a member",
        "@account=bob;msgid=m1 :bob!a@h PRIVMSG #task-12 :\x02hi\x02 ",
        said("bob", Role.MEMBER, "hi"),
    ),
    ("a nick is no authority", "@msgid=m1 :alice!a@h PRIVMSG #task-12 :use tabs", Ignore()),
    (
        "a control tag of a person is just a tag",
        "@account=bob;msgid=m1;+ergonaut/control=12.2.9 :bob!a@h PRIVMSG #task-12 :[status] done",
        said("bob", Role.MEMBER, "[status] done"),
    ),
    ("commands are not ours", "@account=alice :alice!a@h PRIVMSG #task-12 :!complete", Ignore()),
    (
        "nor in the other form",
        "@account=alice :alice!a@h PRIVMSG #task-12 :Controller: complete",
        Ignore(),
    ),
    ("the controller's chat", "@account=controller :c!a@h PRIVMSG #task-12 :done", Ignore()),
    ("our own echo", "@account=HAL-9000 :HAL-9000!a@h PRIVMSG #task-12 :x", Ignore()),
    ("a worker of the pool", "@account=glados :GLaDOS!a@h PRIVMSG #task-12 :do it", Ignore()),
    ("a numbered worker", "@account=agent-7 :agent-7!a@h PRIVMSG #task-12 :do it", Ignore()),
    ("a bot", "@account=newbot;bot :newbot!a@h PRIVMSG #task-12 :do it", Ignore()),
    ("a notice", "@account=alice :alice!a@h NOTICE #task-12 :x", Ignore()),
    ("another channel", "@account=alice :alice!a@h PRIVMSG #agents :x", Ignore()),
    ("a DM of a person", "@account=alice :alice!a@h PRIVMSG HAL-9000 :x", Ignore()),
    (
        "a directive",
        "@account=controller;msgid=d1;+ergonaut/control=12.2.170;+draft/reply=c1"
        " :controller!a@h PRIVMSG HAL-9000 :[stop] alice",
        Directive(Stop("alice"), 170, "controller", "d1", "c1"),
    ),
    (
        "an unknown directive is still one",
        "@account=controller;msgid=d1;+ergonaut/control=12.2.170"
        " :controller!a@h PRIVMSG HAL-9000 :[dance]",
        Directive(UnknownDirective("[dance]"), 170, "controller", "d1", None),
    ),
    (
        "a directive for an earlier attempt",
        "@account=controller;msgid=d1;+ergonaut/control=12.1.170"
        " :controller!a@h PRIVMSG HAL-9000 :[stop] alice",
        Ignore(),
    ),
    (
        "a directive for another task",
        "@account=controller;msgid=d1;+ergonaut/control=11.2.170"
        " :controller!a@h PRIVMSG HAL-9000 :[stop] alice",
        Ignore(),
    ),
    (
        "a directive without the tag",
        "@account=controller;msgid=d1 :controller!a@h PRIVMSG HAL-9000 :[stop] alice",
        Ignore(),
    ),
    (
        "a directive of somebody else",
        "@account=maud;msgid=d1;+ergonaut/control=12.2.170"
        " :controller!a@h PRIVMSG HAL-9000 :[stop] alice",
        Ignore(),
    ),
    (
        "a directive in the room",
        "@account=controller;msgid=d1;+ergonaut/control=12.2.170"
        " :controller!a@h PRIVMSG #task-12 :[stop] alice",
        Ignore(),
    ),
    (
        "a confirmation",
        "@account=controller;+draft/reply=m7 :controller!a@h TAGMSG HAL-9000",
        Confirmation("m7"),
    ),
    (
        "a confirmation of somebody else",
        "@account=bob;+draft/reply=m7 :bob!a@h TAGMSG HAL-9000",
        Ignore(),
    ),
    (
        "a refusal",
        "@account=controller;+draft/reply=m7 :controller!a@h NOTICE HAL-9000 :not from blocked",
        Refusal("m7", "not from blocked"),
    ),
    (
        "the controller arrives",
        "@account=controller :controller!a@h JOIN #task-12 controller :Ergonaut",
        ControllerHere(),
    ),
    ("somebody else arrives", "@account=bob :bob!a@h JOIN #task-12 bob :Bob", Ignore()),
    ("a numeric", ":irc.example 401 HAL-9000 controller :No such nick", Ignore()),
]


@pytest.mark.parametrize(
    ("line", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_line_means_what_its_account_may(line: str, expected: Decision) -> None:
    assert decide(parse(line), ROOM) == expected


def test_a_resume_names_the_line_that_woke_the_task() -> None:
    message = Message(
        "PRIVMSG",
        ("HAL-9000", "[resume] k3x"),
        {"account": "controller", "msgid": "d", "+ergonaut/control": "12.2.1"},
        "controller!a@h",
    )
    assert decide(message, ROOM) == Directive(Resume("k3x"), 1, "controller", "d", None)
