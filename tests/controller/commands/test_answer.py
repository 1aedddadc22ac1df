from __future__ import annotations

import itertools
from typing import Any

import pytest

from controller.commands.request import Role, Scope
from controller.commands.table import COMMANDS
from controller.effects import Answer, Handled, Job, Say
from shared.task import Status
from tests.support.core_story import Story, answers, effects, only, said

PEOPLE: dict[Role, dict[str, Any]] = {
    Role.ANYONE: {"nick": "guest", "account": None},
    Role.MEMBER: {"nick": "bob"},
    Role.REQUESTER: {"nick": "alice"},
    Role.MAINTAINER: {"nick": "mia"},
}
STATE_FOR = {
    "unready": "queued",
    "stop": "running",
    "kill": "running",
    "complete": "in_review",
    "reopen": "in_review",
}
"""Where a command makes sense; the others do in a draft."""


def story_for(name: str) -> Story:
    story: Story = getattr(Story(), STATE_FOR.get(name, "drafted"))()
    return story


def place_for(name: str) -> str:
    scope = COMMANDS[name].scope
    return "#task-1" if scope in (Scope.TASK, Scope.TASK_OR_NUMBER) else "#tasks"


@pytest.mark.parametrize(
    ("name", "role"),
    list(itertools.product(COMMANDS, PEOPLE)),
    ids=lambda value: value.name if isinstance(value, Role) else value,
)
def test_each_command_is_for_those_who_have_the_right(name: str, role: Role) -> None:
    story = story_for(name)
    command = COMMANDS[name]
    needed = command.role_with_args or command.role
    jobs = story.say(command.example, place_for(name), **PEOPLE[role])
    refusal = [line for line in answers(jobs) if "needs the right" in line]
    assert bool(refusal) == (role < needed)
    if refusal and role is Role.ANYONE:
        assert refusal == [f"guest: !{name} needs the right “member”: log in to an account first"]
    elif refusal:
        who = "“requester” (a\u200blice) or “maintainer” (m\u200bia)"
        assert refusal == [f"bob: !{name} needs the right {who} of #task-1"]
    if refusal:
        assert len(effects(jobs)) == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_each_example_is_carried_out_and_answered_once(name: str) -> None:
    story = story_for(name)
    if name == "status":
        story.board.next_number = 12
        story.say("!new The twelfth")
    line = story.line(COMMANDS[name].example, place_for(name))
    jobs = story.feed(line)
    answered = [job for job in jobs if only([job], Answer)]
    assert len(answered) == 1
    answer, handled = answered[0].effects[-2:]
    assert isinstance(answer, Answer)
    assert (answer.cause, answer.notice) == (line.msgid, True)
    assert handled == Handled(line.msgid, line.at)
    assert story.feed(line) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_explains_each_command(name: str) -> None:
    command = COMMANDS[name]
    lines = answers(Story().say(f"!help {name}"))
    assert lines[0] == f"\x02{command.usage}\x02 - {command.help}"
    assert lines[1].startswith(f"example: {command.example} | for ")


@pytest.mark.parametrize(
    "text",
    ["!ready", "!READY", "controller: ready", "Controller, !Ready", "\x02!ready\x0f", "  !ready  "],
)
def test_a_command_may_be_written_in_these_ways(text: str) -> None:
    story = Story().drafted()
    story.say(text, "#task-1")
    assert story.task().status is Status.READY


@pytest.mark.parametrize("text", ["tasks", "!tasks", "controller: tasks"])
def test_a_dm_takes_bare_commands(text: str) -> None:
    (job,) = Story().drafted().say(text, place="controller")
    assert job.effects[0] == Answer(
        "alice",
        ("\x02#task-1\x02 [pending] 0 s | a\u200blice | Write a haiku",),
        "m2",
        notice=False,
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("!compelte", "there is no !compelte; did you mean !complete?"),
        ("!redy", "there is no !redy; did you mean !ready or !unready?"),
        ("!xyzzy", "there is no !xyzzy; !help lists what there is"),
    ],
)
def test_an_unknown_command_gets_one_private_line(text: str, line: str) -> None:
    assert Story().drafted().say(text, "#task-1") == [
        Job("answers alice", (Say("alice", (line,)),))
    ]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"account": None}, id="a stranger"),
        pytest.param({"tags": {"bot": ""}}, id="a bot"),
        pytest.param({"account": "controller"}, id="ourselves"),
        pytest.param({"live": False}, id="the past"),
    ],
)
def test_an_unknown_command_is_met_with_silence_from(more: dict[str, Any]) -> None:
    assert Story().drafted().say("!xyzzy", "#task-1", **more) == []
    assert Story().drafted().say("?!", "controller", **more) == []


@pytest.mark.parametrize("text", ["12", "?", "помощь", "!täsks"])
def test_words_to_the_controller_alone_are_never_met_with_silence(text: str) -> None:
    assert said(Story().say(text, "controller")) == ["that is no command; help lists what there is"]
    assert Story().say(text, "#tasks") == []


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"tags": {"bot": ""}}, id="a bot"),
        pytest.param({"account": "controller"}, id="ourselves"),
        pytest.param({"nick": "HAL-9000"}, id="a worker"),
        pytest.param({"nick": "HAL-9000", "place": "controller"}, id="a worker in a DM"),
        pytest.param({"tags": {"+ergonaut/control": "1.1.1"}}, id="a person with the control tag"),
    ],
)
def test_no_command_is_taken_from(more: dict[str, Any]) -> None:
    story = Story().running()
    more.setdefault("place", "#task-1")
    for text in ("!archive", "!tasks", "controller: tasks"):
        assert story.say(text, **more) == []
    assert story.task().status is Status.IN_PROGRESS


@pytest.mark.parametrize(
    ("text", "place", "line"),
    [
        ("!ready", "#tasks", "!ready belongs in its task's channel, such as #task-12"),
        ("!reopen #task-1", "#tasks", "!reopen belongs in its task's channel, such as #task-1"),
        ("!new x", "#task-1", "say !new in #tasks, or to me alone"),
        ("!new", "#tasks", "usage: !new <description> | example: "
         "!new Write a haiku about autumn to haiku.txt"),
        ("!ready now", "#task-1", "usage: !ready | example: !ready"),
        ("!status 99", "#tasks", "no task “99”; usage: !status [N] | example: !status 12"),
        ("!status", "#tasks", "usage: !status [N] | example: !status 12"),
        ("!tasks weird", "#tasks", "“weird” is no state; usage: !tasks [mine] [<state>] [all]"),
        ("!help weird", "#tasks", "there is no !weird; !help lists all commands"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(text: str, place: str, line: str) -> None:
    (job,) = Story().drafted().say(text, place)
    assert job == Job(
        f"answers {place}",
        (Answer(place, (f"alice: {line}",), "m2", notice=False), Handled("m2", Story().now)),
    )


@pytest.mark.parametrize(
    ("state", "text", "why"),
    [
        ("drafted", "!complete", "it is a draft; what helps now: !ready, !desc, !archive"),
        ("queued", "!ready", "it is ready; what helps now: !unready, !archive"),
        ("running", "!unready", "it is in progress; what helps now: !stop, !kill, !archive"),
        ("blocked", "!complete",
         "it is blocked; what helps now: !reopen, !archive"),
        ("in_review", "!stop", "it is for review; what helps now: !complete, !reopen, !archive"),
        ("drafted", "!reopen", "it is a draft; what helps now: !ready, !desc, !archive"),
        ("queued", "!reopen", "it is ready; what helps now: !unready, !archive"),
        ("running", "!reopen", "it is in progress; what helps now: !stop, !kill, !archive"),
        ("running", "!ready", "it is in progress; what helps now: !stop, !kill, !archive"),
        ("blocked", "!ready", "it is blocked; what helps now: !reopen, !archive"),
        ("in_review", "!ready", "it is for review; what helps now: !complete, !reopen, !archive"),
    ],
)  # fmt: skip
def test_an_illegal_command_names_the_state_and_what_helps(state: str, text: str, why: str) -> None:
    story: Story = getattr(Story(), state)()
    before = story.task()
    line = f"alice: {text} does nothing to #task-1: {why}"
    assert answers(story.say(text, "#task-1")) == [line]
    assert story.task() == before


def test_what_is_done_comes_back_by_reopen_alone() -> None:
    story = Story().in_review()
    story.say("!complete", "#task-1")
    (line,) = answers(story.say("!ready", "#task-1"))
    assert line.endswith("it is done; what helps now: !reopen, !archive")
    story.say("!reopen", "#task-1")
    assert story.task().status is not Status.DONE


def test_a_long_answer_comes_in_pages() -> None:
    story = Story()
    for number in range(1, 13):
        story.say(f"!new Task {number}")
    first = answers(story.say("!tasks"))
    assert len(first) == 8
    assert first[-1] == "… 5 more lines: !more"
    second = answers(story.say("!more"))
    assert [line.partition(" [")[0] for line in (*first[:-1], *second)] == [
        f"\x02#task-{number}\x02" for number in range(12, 0, -1)
    ]
    assert answers(story.say("!more")) == ["there is no more"]


def test_help_says_one_line_in_the_room_and_the_list_in_private() -> None:
    (job,) = Story().say("!help")
    assert len(answers([job])) == 1
    assert [say.target for say in only([job], Say)] == ["alice"]
    assert len(said([job])) == len(COMMANDS)


def test_no_answer_is_longer_than_a_line() -> None:
    story = Story()
    story.say(f"!new {'wörd ' * 60}")
    story.say("!desc " + "long " * 60 + "\nand " * 30, "#task-1")
    for text in ("!desc", "!status", "!tasks", "!more"):
        for line in answers(story.say(text, "#task-1")):
            assert len(line.encode()) <= story.settings.line_max_bytes


def test_only_maintainers_are_named_where_there_are_none() -> None:
    story = Story(maintainers=()).drafted()
    (line,) = answers(story.say("!ready", "#task-1", nick="bob"))
    assert line.endswith("“maintainer” (nobody has it) of #task-1")
