from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shared.ircv3.message import Message, ProtocolError, format_message, parse

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def vectors(name: str) -> list[Any]:
    cases = yaml.safe_load((VECTORS / name).read_text())["tests"]
    return [pytest.param(case, id=case["desc"]) for case in cases]


def message_of(atoms: dict[str, Any]) -> Message:
    params = tuple(atoms.get("params", ()))
    return Message(atoms["verb"], params, atoms.get("tags", {}), atoms.get("source"))


@pytest.mark.parametrize("case", vectors("msg-split.yaml"))
def test_a_line_is_split_into_its_atoms(case: dict[str, Any]) -> None:
    assert parse(case["input"]) == message_of(case["atoms"])


@pytest.mark.parametrize("case", vectors("msg-join.yaml"))
def test_atoms_are_joined_into_one_of_the_allowed_lines(case: dict[str, Any]) -> None:
    assert format_message(message_of(case["atoms"])) in case["matches"]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"))
WORDS = TEXT.filter(lambda text: text and " " not in text and not text.startswith(":"))
KEYS = st.from_regex(r"\+?[a-z0-9./-]+", fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
COMMANDS = st.from_regex(r"[A-Z]{1,12}|[0-9]{3}", fullmatch=True)
MESSAGES = st.builds(
    Message,
    COMMANDS,
    st.one_of(
        st.just(()),
        st.builds(lambda middles, last: (*middles, last), st.lists(WORDS, max_size=5), TEXT),
    ),
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.none() | WORDS,
)


@given(MESSAGES)
def test_what_is_written_reads_back_as_the_same_message(message: Message) -> None:
    assert parse(format_message(message)) == message


@given(st.text())
def test_no_line_whatever_raises_anything_but_a_protocol_error(line: str) -> None:
    try:
        assert parse(line).command
    except ProtocolError:
        assert not line.strip("\r\n ") or line.lstrip(" ")[0] in "@:"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(Message("PRIVMSG", ("#t", "one\r\ntwo")), id="crlf in the text"),
        pytest.param(Message("PRIVMSG", ("#t", "one\rtwo")), id="lone CR, at which ergo hangs up"),
        pytest.param(Message("PRIVMSG", ("#t", "nul\0")), id="NUL, at which ergo hangs up"),
        pytest.param(Message("PRIVMSG", ("#t", "\ud83d")), id="half an emoji"),
        pytest.param(Message("PRIVMSG", ("#t x", "text")), id="space in a middle parameter"),
        pytest.param(Message("PRIVMSG", ("", "text")), id="empty middle parameter"),
        pytest.param(Message("PRIVMSG", (":t", "text")), id="colon before a middle parameter"),
        pytest.param(Message("", ()), id="no command"),
        pytest.param(Message("FOO BAR", ()), id="space in the command"),
        pytest.param(Message("FOO", (), {"a b": ""}), id="space in a tag name"),
        pytest.param(Message("FOO", (), {"": "x"}), id="empty tag name"),
        pytest.param(Message("FOO", (), {"a": "\0"}), id="NUL in a tag value"),
        pytest.param(Message("FOO", (), {}, ""), id="empty source"),
        pytest.param(Message("FOO", (), {}, "a\nQUIT"), id="newline in the source"),
    ],
)
def test_a_message_that_would_arrive_as_something_else_is_not_written(message: Message) -> None:
    with pytest.raises(ProtocolError):
        format_message(message)


@pytest.mark.parametrize(
    ("source", "nick"),
    [("HAL-9000!~u@host", "HAL-9000"), ("irc.example", "irc.example"), (None, "")],
)
def test_the_nick_is_the_source_up_to_the_user(source: str | None, nick: str) -> None:
    assert Message("PING", source=source).nick == nick


def test_the_text_is_the_last_parameter() -> None:
    assert [Message("A", ("b", "c d")).text, Message("A").text] == ["c d", ""]


@pytest.mark.parametrize(
    "message",
    [
        Message("AUTHENTICATE", ("hunter2pass",)),
        Message("PASS", ("bob:hunter2pass",)),
        Message("OPER", ("controller", "hunter2pass")),
        Message("NS", ("SAREGISTER", "bob", "hunter2pass")),
        Message("NS", ("PASSWD", "bob", "hunter2pass")),
        Message("NICKSERV", ("identify bob hunter2pass",)),
        Message("PRIVMSG", ("NickServ", "identify bob hunter2pass")),
    ],
    ids=lambda message: message.command,
)
def test_a_password_is_not_shown_in_the_representation(message: Message) -> None:
    assert "hunter2pass" not in repr(message)


def test_ordinary_talk_is_shown_in_the_representation() -> None:
    assert "register now" in repr(Message("PRIVMSG", ("#t", "register now")))
