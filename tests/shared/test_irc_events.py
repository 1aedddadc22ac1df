from __future__ import annotations

import pytest

from shared.irc_events import ClientConfig, LoginRefused, Reply, RequestRefused, reply_of
from shared.ircv3.batch import Batch
from shared.ircv3.message import Message, parse


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        (":s 404 me #t :Cannot send to channel", True),
        (":s 524 me :No help", True),
        (":s FAIL METADATA FORBIDDEN #t :No", True),
        (":s 381 me :You are now an IRC operator", False),
        (":s WARN JOIN SLOW :Take care", False),
        (":s 766 me #t key :Key is not set", False),
        (":bob PRIVMSG #t :404 is no error here", False),
    ],
)
def test_a_fail_or_a_numeric_of_the_400s_and_500s_is_an_error(line: str, is_error: bool) -> None:
    message = parse(line)
    assert reply_of(message).error == (message if is_error else None)


def test_the_first_error_of_a_batch_counts() -> None:
    lines = tuple(map(parse, (":s 329 me #t 1", ":s 442 me #t :Not there", ":s 403 me #u :None")))
    reply = reply_of(Batch("1", "labeled-response", (), {"label": "7"}, lines))
    assert (reply.messages, reply.error) == (lines, lines[1])


def test_an_acknowledgement_is_an_empty_reply() -> None:
    assert reply_of(parse("@label=7 :s ACK")) == Reply(())


def test_errors_name_what_was_refused_and_why() -> None:
    answer = Message("FAIL", ("CHATHISTORY", "INVALID_TARGET", "#t", "No such channel"))
    assert str(RequestRefused(answer)) == "FAIL CHATHISTORY INVALID_TARGET #t No such channel"
    assert str(LoginRefused("bob", "904", "wrong")) == "login refused for account 'bob': 904 wrong"
    assert str(LoginRefused(None, "465", "banned")).startswith("login refused for an anonymous")


def test_a_password_is_not_shown_in_the_representation() -> None:
    assert "s3cret" not in repr(ClientConfig("h", 1, "n", password="s3cret"))
