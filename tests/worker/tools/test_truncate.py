from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.tools.truncate import (
    MAX_BYTES,
    MAX_LINES,
    HeadWindow,
    Tail,
    TailBuffer,
    human_size,
)

# by name, so that hypothesis need not print them
TEXTS = {"x": "x" * 20_000, "€": "€" * 9_000, "lines": "y\n" * 900, "newline": "\n", "z": "z"}
PARTS = st.lists(st.sampled_from(sorted(TEXTS)), max_size=30)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0B"), (1023, "1023B"), (51_200, "50.0KB"), (1_572_864, "1.5MB")],
)
def test_sizes_are_shown_with_one_decimal(size: int, text: str) -> None:
    assert human_size(size) == text


def tail_of(*chunks: bytes) -> Tail:
    buffer = TailBuffer()
    for chunk in chunks:
        buffer.feed(chunk)
    buffer.feed(b"", final=True)
    return buffer.tail()


def test_short_output_is_kept_whole_and_its_last_newline_is_not_a_line() -> None:
    assert tail_of(b"a\nb\n") == Tail("a\nb", 1, 2, 4, 1, is_cut=False)


def test_t65_of_4000_lines_the_last_2000_are_kept() -> None:
    tail = tail_of(*(f"{n}\n".encode() for n in range(1, 4001)))
    assert tail.text == "\n".join(str(n) for n in range(2001, 4001))
    assert (tail.first_line, tail.total_lines, tail.is_cut) == (2001, 4000, True)


def test_t66_of_one_huge_line_its_end_is_kept() -> None:
    tail = tail_of(b"first\n" + b"x" * 61_000 + b"y\n")
    assert tail.is_partial_line
    assert (tail.first_line, tail.last_line_bytes) == (2, 61_001)
    assert tail.text == "x" * (MAX_BYTES - 1) + "y"


def test_t68_a_sign_split_over_chunks_stays_whole() -> None:
    assert tail_of(b"\xe2", b"\x82", b"\xac").text == "€"


def test_t69_bytes_that_are_not_utf8_become_replacement_signs() -> None:
    assert tail_of(b"a\xff\x00b\xe2").text == "a\ufffd\x00b\ufffd"


@given(st.lists(st.text(max_size=40)), st.integers(1, 7))
def test_any_chunking_of_short_output_gives_the_same_text(lines: list[str], size: int) -> None:
    data = "\n".join(lines).encode()
    chunks = [data[start : start + size] for start in range(0, len(data), size)]
    assert tail_of(*chunks) == tail_of(data)
    assert tail_of(data).text == data.decode().removesuffix("\n")


@given(PARTS)
def test_a_tail_keeps_the_caps_and_is_the_end_of_the_output(parts: list[str]) -> None:
    data = "".join(TEXTS[part] for part in parts)
    tail = tail_of(*(TEXTS[part].encode() for part in parts))
    body = data.removesuffix("\n")
    assert body.endswith(tail.text)
    assert len(tail.text.encode()) <= MAX_BYTES
    assert tail.text.count("\n") < MAX_LINES
    assert tail.is_cut == (len(data.encode()) > MAX_BYTES or tail.total_lines > MAX_LINES)
    assert tail.last_line_bytes == len(body.rsplit("\n", 1)[-1].encode())


@given(
    PARTS,
    st.integers(1, 50),
    st.integers(1, 3_000),
    st.integers(2_000, 70_000),
)
def test_a_head_is_whole_lines_and_counts_all(
    parts: list[str], first: int, limit: int, size: int
) -> None:
    data = "".join(TEXTS[part] for part in parts).encode()
    window = HeadWindow(first, limit)
    for start in range(0, len(data), size):
        window.feed(data[start : start + size])
    head = window.finish()
    lines = data.decode().split("\n")
    total = len(lines) - (lines[-1] == "")
    assert head.total_lines == total
    assert len(head.text.encode()) <= MAX_BYTES + 1
    last = first - 1 + head.shown_lines
    ends_file = head.shown_lines > 0 and last == total and data.endswith(b"\n")
    assert head.text == "\n".join(lines[first - 1 : last]) + ("\n" if ends_file else "")
    assert head.shown_lines <= min(limit, MAX_LINES)
