from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from worker.agent.events import (
    AgentEnd,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Retrying,
    RunEnd,
    RunReason,
    ToolExecutionEnd,
    ToolExecutionStart,
)
from worker.agent.messages import (
    AssistantMessage,
    StopReason,
    TextBlock,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from worker.effects import Say
from worker.narration import ARGS_BYTES, BEAT, Narrator, Telemetry


def reply(text: str, *calls: str, stop: StopReason = StopReason.TOOL_USE) -> MessageEnd:
    blocks = (*((TextBlock(text),) if text else ()), *(ToolCall(c, "bash", {}) for c in calls))
    return MessageEnd(AssistantMessage(blocks, stop, "m"))


def test_text_before_tools_is_said_and_silent_turns_collapse_into_one_beat() -> None:
    narrator = Narrator()
    said = [
        narrator.feed(event, now)
        for now, event in [
            (0.0, reply("I look around.", "1")),
            (1.0, reply("", "2")),
            (2.0, reply("", "3")),
            (62.0, reply("", "4")),
            (63.0, reply("Now the tests.", "5")),
            (64.0, reply("", "6")),
        ]
    ]
    assert said == [
        [Say("I look around.")],
        [Say(BEAT)],
        [],
        [Say(BEAT)],
        [Say("Now the tests.")],
        [Say(BEAT)],
    ]


def test_the_last_text_is_left_to_the_session() -> None:
    narrator = Narrator()
    assert narrator.feed(reply("done", stop=StopReason.END_TURN), 0) == []
    assert narrator.feed(AgentEnd((), RunEnd(RunReason.COMPLETED, "done")), 0) == []


def test_a_text_that_proves_not_to_be_the_last_is_said() -> None:
    narrator = Narrator()
    narrator.feed(reply("done", stop=StopReason.END_TURN), 0)
    assert narrator.feed(MessageStart("user"), 0) == [Say("done")]
    assert narrator.feed(MessageEnd(UserMessage("more")), 0) == []


def test_a_reply_that_failed_is_not_said() -> None:
    assert Narrator().feed(reply("half a sen", stop=StopReason.ABORTED), 0) == []


def test_tools_are_told_to_the_controller() -> None:
    narrator = Narrator()
    result = ToolResultMessage("1", "bash", "out", is_error=True)
    assert [
        *narrator.feed(ToolExecutionStart("1", "bash", {"command": "ls\n-l"}), 0),
        *narrator.feed(ToolExecutionEnd("1", "bash", result, 0.25), 0),
        *narrator.feed(ToolExecutionEnd("1", "bash", result, None), 0),
    ] == [
        Telemetry({"kind": "tool_call_start", "tool": "bash", "args": "ls -l"}),
        Telemetry({"kind": "tool_call_end", "tool": "bash", "ok": False, "duration_ms": 250}),
        Telemetry({"kind": "tool_call_end", "tool": "bash", "ok": False}),
    ]


@given(st.dictionaries(st.text(), st.text() | st.integers()))
def test_arguments_are_short(args: dict[str, object]) -> None:
    [told] = Narrator().feed(ToolExecutionStart("1", "bash", args), 0)
    assert isinstance(told, Telemetry)
    assert len(told.payload["args"].encode()) <= ARGS_BYTES


def test_a_model_that_does_not_answer_is_said_once_per_reply() -> None:
    narrator = Narrator()
    tries = [MessageUpdate(Retrying(n, 0.9 * n, "the API answered 529")) for n in (1, 2, 3)]
    told = [told for event in tries for told in narrator.feed(event, 0.0)]
    assert told == [Say("the API answered 529; trying again in 1 s", urgent=True)]
