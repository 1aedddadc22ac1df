from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.tools import ToolError, ToolResult
from worker.tools.wire import (
    Abort,
    Ready,
    Request,
    Result,
    Update,
    decode_answer,
    decode_request,
    encode_abort,
    encode_answer,
    encode_request,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.text(), st.text(), st.dictionaries(st.text(), JSON))
def test_requests_survive_the_line(call_id: str, tool: str, args: dict[str, object]) -> None:
    line = encode_request(Request(call_id, tool, args))
    assert line.count(b"\n") == 1
    assert decode_request(line) == Request(call_id, tool, args)
    assert decode_request(encode_abort(Abort(call_id))) == Abort(call_id)


@given(st.text(), st.text(), st.booleans(), st.none() | st.dictionaries(st.text(), JSON))
def test_answers_survive_the_line(
    call_id: str, text: str, is_error: bool, details: dict[str, object] | None
) -> None:
    result = ToolResult(text, is_error=is_error, details=details)
    answers: list[Ready | Update | Result] = [
        Ready(),
        Update(call_id, text),
        Result(call_id, result),
    ]
    for answer in answers:
        line = encode_answer(answer)
        assert line.count(b"\n") == 1
        assert decode_answer(line) == answer


def test_the_wire_form() -> None:
    assert encode_request(Request("1", "bash", {"command": "ls"})) == (
        b'{"id":"1","tool":"bash","args":{"command":"ls"}}\n'
    )
    assert encode_abort(Abort("1")) == b'{"abort":"1"}\n'
    assert encode_answer(Update("1", "€")) == b'{"id":"1","update":"\\u20ac"}\n'


def test_a_call_too_large_for_a_line_is_refused() -> None:
    with pytest.raises(ToolError, match="split it"):
        encode_request(Request("1", "write", {"content": "x" * 34_000_000}))
