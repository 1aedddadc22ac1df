from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ircv3.batch import (
    Batch,
    BatchAssembler,
    MultilineLimits,
    join_multiline,
    multiline_lines,
    parse_multiline_limits,
)
from shared.ircv3.message import Message, ProtocolError, format_message, parse


def assemble(*lines: str) -> list[Message | Batch]:
    assembler = BatchAssembler()
    found = (assembler.feed(parse(line)) for line in lines)
    return [item for item in found if item is not None]


def test_a_line_without_a_batch_stands_alone() -> None:
    assert assemble("PING x") == [Message("PING", ("x",))]


def test_a_batch_comes_whole_when_it_closes() -> None:
    assert assemble(
        "@label=7 :s BATCH +4 metadata #t",
        "@batch=4 :s 761 me #t status * pending",
        ":w!u@h PRIVMSG #t :meanwhile",
        ":s BATCH -4",
    ) == [
        Message("PRIVMSG", ("#t", "meanwhile"), {}, "w!u@h"),
        Batch(
            "4",
            "metadata",
            ("#t",),
            {"label": "7"},
            (Message("761", ("me", "#t", "status", "*", "pending"), {"batch": "4"}, "s"),),
        ),
    ]


def test_nested_batches_come_with_the_outermost_and_flatten_in_order() -> None:
    [batch] = assemble(
        "@label=1 :s BATCH +1 labeled-response",
        "@batch=1 :me JOIN #t",
        "@batch=1 :s BATCH +2 metadata #t",
        "@batch=2 :s 761 * #t status * pending",
        ":s BATCH -2",
        "@batch=1 :s 332 me #t topic",
        ":s BATCH -1",
    )
    assert isinstance(batch, Batch)
    assert [message.command for message in batch.messages()] == ["JOIN", "761", "332"]
    inner = batch.items[1]
    assert isinstance(inner, Batch)
    assert (inner.type, inner.params, inner.tags) == ("metadata", ("#t",), {})


def test_two_open_batches_do_not_mix() -> None:
    batches = assemble(
        "BATCH +a x", "BATCH +b y", "@batch=b TWO", "@batch=a ONE", "BATCH -a", "BATCH -b"
    )
    assert [[m.command for m in b.messages()] for b in batches if isinstance(b, Batch)] == [
        ["ONE"],
        ["TWO"],
    ]


def test_an_empty_batch_is_a_batch() -> None:
    assert assemble("BATCH +1 chathistory #t", "BATCH -1") == [Batch("1", "chathistory", ("#t",))]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(["BATCH -9"], id="end without a start"),
        pytest.param(["BATCH"], id="no reference"),
        pytest.param(["BATCH +"], id="nothing but a plus"),
        pytest.param(["BATCH +1", "BATCH -1"], id="no type"),
    ],
)
def test_a_malformed_batch_line_does_no_harm(lines: list[str]) -> None:
    assert [item for item in assemble(*lines) if isinstance(item, Message)] == []


def test_a_line_of_an_unknown_batch_is_not_lost() -> None:
    assert assemble("@batch=9 PING x") == [Message("PING", ("x",), {"batch": "9"})]


def test_a_multiline_text_within_history_becomes_one_message() -> None:
    [batch] = assemble(
        ":s BATCH +1 chathistory #t",
        "@batch=1;msgid=m1;account=bob;+x=y;time=T :bob!u@h BATCH +2 draft/multiline #t",
        "@batch=2 :bob!u@h PRIVMSG #t :one",
        "@batch=2;draft/multiline-concat :bob!u@h PRIVMSG #t : more",
        "@batch=2 :bob!u@h PRIVMSG #t :",
        "@batch=2 :bob!u@h PRIVMSG #t :three",
        ":s BATCH -2",
        ":s BATCH -1",
    )
    assert isinstance(batch, Batch)
    tags = {"msgid": "m1", "account": "bob", "+x": "y", "time": "T"}
    assert batch.messages() == (Message("PRIVMSG", ("#t", "one more\n\nthree"), tags, "bob!u@h"),)


def test_an_empty_multiline_batch_is_no_message() -> None:
    batch = Batch("1", "draft/multiline", ("#t",))
    assert batch.messages() == ()
    with pytest.raises(ProtocolError):
        join_multiline(batch)


def test_a_multiline_text_is_written_with_its_tags_on_the_opener() -> None:
    limits = MultilineLimits(line_bytes=8)
    lines = multiline_lines("#t", "one two three\n\nend", {"+x": "y"}, "r1", limits)
    assert [format_message(line) for line in lines] == [
        "@+x=y BATCH +r1 draft/multiline #t",
        "@batch=r1 PRIVMSG #t :one two ",
        "@batch=r1;draft/multiline-concat PRIVMSG #t three",
        "@batch=r1 PRIVMSG #t :",
        "@batch=r1 PRIVMSG #t end",
        "BATCH -r1",
    ]


TEXTS = st.text(st.sampled_from("ab \n\té日🚀👩\u200d💻:"), min_size=1, max_size=300).filter(
    lambda text: text.strip("\n") != ""
)


@given(TEXTS, st.integers(min_value=4, max_value=40))
def test_a_multiline_text_comes_back_byte_for_byte(text: str, line_bytes: int) -> None:
    limits = MultilineLimits(100_000, 100_000, line_bytes)
    lines = multiline_lines("#t", text, {"+x": "y"}, "r1", limits)
    assert all(len(line.text.encode()) <= line_bytes for line in lines[1:-1])
    [batch] = assemble(*map(format_message, lines))
    assert isinstance(batch, Batch)
    assert join_multiline(batch) == Message("PRIVMSG", ("#t", text), {"+x": "y"})


def test_carriage_returns_and_nul_are_cleaned_from_a_multiline_text() -> None:
    lines = multiline_lines("#t", "one\r\ntwo\rthree\0", {}, "r1", MultilineLimits())
    assert [line.text for line in lines[1:-1]] == ["one", "two", "three"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("\n\n", id="empty lines only"),
        pytest.param("x" * 101, id="too many bytes"),
        pytest.param("x\n" * 6, id="too many lines"),
    ],
)
def test_a_text_that_the_server_would_refuse_is_not_written(text: str) -> None:
    with pytest.raises(ProtocolError):
        multiline_lines("#t", text, {}, "r1", MultilineLimits(100, 5))


@pytest.mark.parametrize(
    ("value", "limits"),
    [
        ("max-bytes=4096,max-lines=100", MultilineLimits(4096, 100)),
        ("max-bytes=9000", MultilineLimits(9000, 100)),
        ("", MultilineLimits()),
        ("max-bytes=lots,new=1", MultilineLimits()),
    ],
)
def test_limits_are_read_from_the_capability(value: str, limits: MultilineLimits) -> None:
    assert parse_multiline_limits(value) == limits
