from __future__ import annotations

import pytest

from shared.ircv3.message import Message, ProtocolError, format_message, parse
from shared.ircv3.metadata import (
    MetadataChange,
    means_absent,
    metadata_get,
    metadata_list,
    metadata_set,
    metadata_subscribe,
    parse_metadata,
)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (metadata_set("#t", "status", "in progress"), "METADATA #t SET status :in progress"),
        (metadata_set("#t", "status", None), "METADATA #t SET status"),
        (metadata_set("#t", "status", ""), "METADATA #t SET status"),
        (metadata_set("#t", "note", ":)"), "METADATA #t SET note ::)"),
        (metadata_get("#t", "a", "b"), "METADATA #t GET a b"),
        (metadata_list("#t"), "METADATA #t LIST"),
        (metadata_subscribe("status", "run"), "METADATA * SUB status run"),
    ],
)
def test_requests_are_written(message: Message, line: str) -> None:
    assert format_message(message) == line


@pytest.mark.parametrize(
    ("line", "change"),
    [
        pytest.param(
            ":s 761 me #t status * :in progress",
            MetadataChange("#t", "status", "in progress"),
            id="reply in both",
        ),
        pytest.param(
            ":s 761 * #t status * pending",
            MetadataChange("#t", "status", "pending"),
            id="pushed by 2.19",
        ),
        pytest.param(
            ":a!u@h METADATA #t status * pending",
            MetadataChange("#t", "status", "pending"),
            id="pushed by 2.18",
        ),
        pytest.param(
            ":s 766 * #t status :Key deleted",
            MetadataChange("#t", "status", None),
            id="deletion pushed by 2.19",
        ),
        pytest.param(
            ":a!u@h METADATA #t status *",
            MetadataChange("#t", "status", None),
            id="deletion pushed by 2.18",
        ),
        pytest.param(
            ":s 766 me #t nokey :Key is not set",
            MetadataChange("#t", "nokey", None),
            id="asked for and not there",
        ),
        pytest.param(
            ":s 761 me #t status * :", MetadataChange("#t", "status", None), id="stored empty"
        ),
        pytest.param(":s 770 me status", None, id="subscription"),
        pytest.param(":s 761 me", None, id="cut short"),
        pytest.param("PRIVMSG #t :761 me #t status * x", None, id="talk"),
    ],
)
def test_both_dialects_are_read(line: str, change: MetadataChange | None) -> None:
    assert parse_metadata(parse(line)) == change


@pytest.mark.parametrize(
    ("line", "absent"),
    [
        (":s 766 me #t status :Key deleted", True),
        (":s FAIL METADATA KEY_NOT_SET status :Metadata key not set", True),
        (":s FAIL METADATA KEY_INVALID Status :Invalid key", False),
        (":s 761 me #t status * x", False),
    ],
)
def test_deleting_what_is_not_there_is_no_failure(line: str, absent: bool) -> None:
    assert means_absent(parse(line)) == absent


def test_key_and_value_share_350_bytes() -> None:
    assert metadata_set("#t", "k" * 10, "é" * 170).text == "é" * 170
    with pytest.raises(ProtocolError, match="351 bytes"):
        metadata_set("#t", "k" * 11, "é" * 170)


@pytest.mark.parametrize("key", ["Status", "a:b", "", "a b", "ä"])
def test_a_key_outside_the_grammar_is_refused(key: str) -> None:
    with pytest.raises(ProtocolError):
        metadata_set("#t", key, "x")


@pytest.mark.parametrize("value", ["one\ntwo", "nul\0", "\r"])
def test_a_value_that_is_no_line_is_refused(value: str) -> None:
    with pytest.raises(ProtocolError):
        metadata_set("#t", "key", value)
