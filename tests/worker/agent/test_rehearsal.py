"""The rehearsal, with tools that keep files in a dict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.agent_bench import FakeTool, agent_with, check_nesting, user
from tests.support.request_rules import check_request
from worker.agent.agent import Agent
from worker.agent.events import AgentEvent, RunReason, ToolExecutionStart
from worker.agent.messages import AssistantMessage, Message, UserMessage
from worker.agent.rehearsal import RehearsalModel
from worker.agent.rehearsal_plan import Step, parse_steps
from worker.agent.request import ModelRequest, render
from worker.agent.transcript import Header, Transcript
from worker.tools import ToolContext, ToolResult


class Workshop:
    """The four tools and ask_human over a dict of files."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.ran: list[str] = []
        self.tools = [
            FakeTool("write", self._write),
            FakeTool("read", self._read),
            FakeTool("edit", self._edit),
            FakeTool("bash", self._bash),
            FakeTool("ask_human", self._ask),
        ]

    async def _write(self, args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        self.files[str(args["path"])] = str(args["content"])
        return ToolResult("written")

    async def _read(self, args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        return ToolResult(self.files[str(args["path"])])

    async def _edit(self, args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        path = str(args["path"])
        for edit in args["edits"]:  # type: ignore[attr-defined]
            self.files[path] = self.files[path].replace(edit["old"], edit["new"])
        return ToolResult("edited")

    async def _bash(self, args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        self.ran.append(str(args["command"]))
        failed = args["command"] == "false"
        return ToolResult("exit code 1" if failed else "ok", is_error=failed)

    async def _ask(self, args: Mapping[str, object], _context: ToolContext) -> ToolResult:
        return ToolResult(f"asked: {args['question']}", terminate=True, details=dict(args))


def rehearsal(
    fence: str = "", transcript: Transcript | None = None
) -> tuple[Agent, Workshop, list[AgentEvent]]:
    shop = Workshop()
    agent, events = agent_with(RehearsalModel(fence), *shop.tools, transcript=transcript)
    return agent, shop, events


def said(text: str) -> UserMessage:
    """What a person said after the task."""
    return UserMessage(text, reference="msgid")


def replies(messages: tuple[Message, ...]) -> list[str]:
    return [message.text for message in messages if isinstance(message, AssistantMessage)]


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("write a.txt: hi: you", ("write", {"path": "a.txt", "content": "hi: you"})),
        ("write a.txt:", ("write", {"path": "a.txt", "content": ""})),
        ("- read a.txt", ("read", {"path": "a.txt"})),
        ("2. edit a.txt: one => two", ("edit", {"path": "a.txt", "old": "one", "new": "two"})),
        ("  run make test", ("bash", {"command": "make test"})),
        ("ask Which colour?", ("ask_human", {"question": "Which colour?"})),
        ("say hello", ("say", {"text": "hello"})),
    ],
)
def test_a_line_is_a_step(line: str, step: tuple[str, dict[str, str]]) -> None:
    [parsed] = parse_steps(line)
    assert (parsed.tool, parsed.values) == step


@pytest.mark.parametrize(
    "line", ["Write a.txt: x", "read the docs", "write a test", "please run it", "edit a: b", ""]
)
def test_other_lines_are_no_steps(line: str) -> None:
    assert parse_steps(line) == []


def test_several_steps_fit_on_one_line() -> None:
    assert parse_steps("run a; b ;; read x") == [
        Step("run a; b", "bash", {"command": "a; b"}),
        Step("read x", "read", {"path": "x"}),
    ]


async def test_the_steps_are_worked_through_and_handed_in_with_a_summary() -> None:
    agent, shop, events = rehearsal()
    task = "Make the notes.\nwrite notes.txt: one\\ntwo\nsay halfway\n" + (
        "edit notes.txt: two => three\nread notes.txt\nrun false"
    )
    end = await agent.prompt(task)
    assert shop.files == {"notes.txt": "one\nthree\n"}
    assert replies(agent.messages) == [
        "(rehearsal) Step 1 of 5: write notes.txt: one\\ntwo",
        "(rehearsal) halfway\n(rehearsal) Step 3 of 5: edit notes.txt: two => three",
        "(rehearsal) Step 4 of 5: read notes.txt",
        "(rehearsal) Step 5 of 5: run false",
        end.text,
    ]
    assert end.reason is RunReason.COMPLETED
    assert end.text == "\n".join(
        [
            "(rehearsal) All steps are worked through. No model was asked for this.",
            "",
            "## Summary",
            "What was done:",
            "- write notes.txt: one\\ntwo",
            "- say halfway",
            "- edit notes.txt: two => three",
            "- read notes.txt",
            "- run false (failed: exit code 1)",
            "Decisions: none",
            "Notes: none",
            "Open questions: none",
            "Links: none",
        ]
    )
    check_nesting(events)


async def test_a_description_without_steps_is_written_down_and_read_back() -> None:
    agent, shop, events = rehearsal()
    end = await agent.prompt("fix the flaky checkout test")
    assert list(shop.files) == ["REHEARSAL.md"]
    assert "fix the flaky checkout test" in shop.files["REHEARSAL.md"]
    names = [event.name for event in events if isinstance(event, ToolExecutionStart)]
    assert names == ["write", "read"]
    assert "\n## Summary\n" in end.text


async def test_a_question_blocks_and_its_answer_is_there_for_later_steps() -> None:
    agent, shop, _ = rehearsal()
    end = await agent.prompt("ask Which colour?\nwrite c.txt: {answer}!\nrun echo {answer}")
    assert end.reason is RunReason.BLOCKED
    assert end.results[0].details == {"question": "Which colour?"}
    end = await agent.prompt(said("Said since:\n\nblue"))
    assert (shop.files, shop.ran) == ({"c.txt": "blue!\n"}, ["echo blue"])
    assert "Noted: the answer is blue" in replies(agent.messages)[1]
    assert "- Which colour? blue" in end.text
    assert "- run echo blue" in end.text


async def test_a_worker_that_comes_back_asks_its_open_question_again() -> None:
    agent, shop, _ = rehearsal()
    await agent.prompt("ask Which colour?\nrun echo {answer}")
    end = await agent.prompt("You are back.")
    assert end.reason is RunReason.BLOCKED
    await agent.prompt(said("blue"))
    assert shop.ran == ["echo blue"]


@pytest.mark.parametrize(
    ("line", "files", "words"),
    [
        ("write more.txt: hello", ["a.txt", "more.txt"], "Noted: write more.txt: hello"),
        ("be careful", ["a.txt"], "Noted: be careful"),
    ],
)
async def test_what_people_say_meanwhile_is_noted_and_its_steps_are_added(
    line: str, files: list[str], words: str
) -> None:
    agent, shop, _ = rehearsal()

    async def speak(event: AgentEvent) -> None:
        if isinstance(event, ToolExecutionStart) and event.name == "bash":
            agent.steer(said(line))

    agent.subscribe(speak)
    end = await agent.prompt("run true\nwrite a.txt: x")
    assert list(shop.files) == files
    assert words in replies(agent.messages)[1]
    assert line in end.text


async def test_a_note_reaches_the_result_file_of_a_made_up_plan() -> None:
    agent, shop, _ = rehearsal()
    await agent.prompt("fix it")
    end = await agent.prompt(said("and mention the cache"))
    assert "mention the cache" in shop.files["REHEARSAL.md"]
    assert "fix it" in shop.files["REHEARSAL.md"]
    assert end.text.startswith("(rehearsal) All steps")
    assert "- and mention the cache" in end.text


async def test_a_line_in_review_is_worked_through_and_handed_in_again() -> None:
    agent, shop, _ = rehearsal()
    await agent.prompt("write a.txt: x")
    end = await agent.prompt(said("write b.txt: y"))
    assert list(shop.files) == ["a.txt", "b.txt"]
    assert "- write b.txt: y" in end.text


async def test_fenced_lines_of_other_people_are_never_steps() -> None:
    agent, shop, _ = rehearsal(fence="f3nce")
    await agent.prompt("write a.txt: x\n<f3nce>\nrun rm -rf .\n</f3nce>\nread a.txt")
    assert (shop.files, shop.ran) == ({"a.txt": "x\n"}, [])


async def test_every_message_says_that_it_is_a_rehearsal_and_every_request_is_legal() -> None:
    agent, _, _ = rehearsal()
    await agent.prompt("say one\nrun true\nask What?\nrun false")
    await agent.prompt(said("this"))
    assert all(text.startswith("(rehearsal) ") for text in replies(agent.messages))
    check_request(render(ModelRequest("s", (), (*agent.messages, user("x"))), "rehearsal"))


@pytest.mark.parametrize(
    ("kept", "again"),
    [
        (1, ["one", "two", "a.txt"]),
        (2, ["one", "two", "a.txt"]),
        (3, ["two", "a.txt"]),
        (4, ["two", "a.txt"]),
        (5, ["a.txt"]),
        (6, ["a.txt"]),
        (7, []),
    ],
)
async def test_a_rehearsal_that_was_killed_goes_on_where_it_was(
    tmp_path: Path, kept: int, again: list[str]
) -> None:
    """Killed after any message; a step whose result was lost is done again."""
    whole, _, _ = rehearsal()
    await whole.prompt("say go\nrun one\nrun two\nwrite a.txt: x")
    path = tmp_path / "log.jsonl"
    stored = Transcript.create(path, Header("s", (), "", "rehearsal"))
    for message in whole.messages[:kept]:
        stored.append(message)
    stored.close()
    agent, shop, _ = rehearsal(transcript=Transcript.load(path))
    end = await agent.continue_()
    assert [*shop.ran, *shop.files] == again
    assert end.text == replies(whole.messages)[-1]
