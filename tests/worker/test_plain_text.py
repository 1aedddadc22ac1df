from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ircv3.batch import MultilineLimits, multiline_lines
from worker.plain_text import chunks, plain


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\r\n\n\tb  \rc", "a\n    b\nc", id="line breaks, blank lines, tabs"),
        pytest.param("\x1b[31mred\x1b[0m \x1b]0;title\x07x", "red x", id="escape sequences"),
        pytest.param("\x01ACTION waves\x01", "ACTION waves", id="CTCP"),
        pytest.param("\x02bold\x0304red\x00", "bold04red", id="formatting codes and NUL"),
        pytest.param("a\u202eb\u2066c\ufeff", "abc", id="bidi marks"),
        pytest.param("héllo 👩‍👩‍👧 – “ok”", "héllo 👩‍👩‍👧 – “ok”", id="ordinary text"),
        pytest.param("\n \n", "", id="nothing"),
    ],
)
def test_text_is_left_readable_and_harmless(text: str, expected: str) -> None:
    assert plain(text) == expected


@given(st.text())
def test_nothing_that_ends_or_steers_a_line_is_left(text: str) -> None:
    assert not set(plain(text)) & {"\0", "\r", "\x1b", "\x01", "\x02"}
    assert plain(plain(text)) == plain(text)


@given(st.text(min_size=1))
def test_each_chunk_fits_one_multiline_message(text: str) -> None:
    tidy = plain(text)
    limits = MultilineLimits(max_bytes=200, max_lines=6, line_bytes=20)
    parts = chunks(tidy, limits.max_bytes, limits.max_lines, limits.line_bytes)
    assert "\n".join(parts) == tidy
    for part in parts:
        fits = len(part.encode()) <= 200 and part.count("\n") < 5
        if part and fits and all(len(line.encode()) <= 20 for line in part.split("\n")):
            assert multiline_lines("#c", part, {}, "r", limits)
