from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest

from shared.ircv3.message import Message
from shared.logs import set_up_logging

log = logging.getLogger("tests.logs")


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_says_when_how_bad_and_where() -> None:
    stream = io.StringIO()
    set_up_logging("info", stream=stream)
    log.warning("cannot reach %s", "irc.example", extra={"task": 7})
    assert stream.getvalue().endswith("WARNING tests.logs: cannot reach irc.example [task 7]\n")


def test_secrets_are_masked_in_arguments_and_tracebacks() -> None:
    stream = io.StringIO()
    formatter = set_up_logging(secrets=["first-secret"], stream=stream)
    formatter.add("second-secret")
    try:
        raise ValueError("bad key second-secret")
    except ValueError:
        log.exception("with %s", "first-secret")
    assert "first-secret" not in stream.getvalue()
    assert "second-secret" not in stream.getvalue()
    assert "bad key ***" in stream.getvalue()


def test_a_short_word_is_no_secret() -> None:
    stream = io.StringIO()
    set_up_logging(secrets=["", "the"], stream=stream)
    log.warning("the line")
    assert "the line" in stream.getvalue()


def test_what_is_below_the_level_is_not_shown() -> None:
    stream = io.StringIO()
    set_up_logging("warning", stream=stream)
    log.info("quiet")
    assert stream.getvalue() == ""


def test_a_logged_message_shows_no_password() -> None:
    stream = io.StringIO()
    set_up_logging(stream=stream)
    log.warning("%r", Message("OPER", ("controller", "hunter2pass")))
    assert "hunter2pass" not in stream.getvalue()
