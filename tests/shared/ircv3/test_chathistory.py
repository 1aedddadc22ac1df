from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ircv3 import chathistory
from shared.ircv3.batch import Batch
from shared.ircv3.chathistory import HistoryPager, is_history_noise
from shared.ircv3.message import Message, format_message


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (chathistory.latest("#t", 50), "CHATHISTORY LATEST #t * 50"),
        (chathistory.latest("#t", 50, "m1"), "CHATHISTORY LATEST #t msgid=m1 50"),
        (chathistory.before("#t", "msgid=m1", 5), "CHATHISTORY BEFORE #t msgid=m1 5"),
        (chathistory.after("#t", "timestamp=T", 5), "CHATHISTORY AFTER #t timestamp=T 5"),
        (chathistory.between("#t", "a", "b", 5), "CHATHISTORY BETWEEN #t msgid=a msgid=b 5"),
        (
            chathistory.targets("timestamp=A", "timestamp=B", 5),
            "CHATHISTORY TARGETS timestamp=A timestamp=B 5",
        ),
    ],
)
def test_requests_are_written(message: Message, line: str) -> None:
    assert format_message(message) == line


def row(number: int, event: bool = False) -> Message:
    source = "HistServ!HistServ@localhost" if event else "bob!~u@host"
    return Message("PRIVMSG", ("#t", str(number)), {"msgid": f"m{number}"}, source)


class History:
    """A server's side of paging, over rows that never change."""

    def __init__(self, rows: list[Message], end_tag: bool) -> None:
        self.rows = rows
        self.end_tag = end_tag

    def answer(self, request: Message) -> Batch:
        verb, _, *anchors, limit = request.params
        first, last = self._bounds(verb, anchors)
        wanted = self.rows[first:last]
        page = wanted[: int(limit)] if verb in ("AFTER", "BETWEEN") else wanted[-int(limit) :]
        at_end = self.end_tag and len(page) == len(wanted)
        tags = {chathistory.END_TAG: ""} if at_end else {}
        return Batch("1", "chathistory", ("#t",), tags, tuple(page))

    def _bounds(self, verb: str, anchors: list[str]) -> tuple[int, int]:
        places = [self._place(anchor) for anchor in anchors]
        match verb:
            case "AFTER":
                return places[0] + 1, len(self.rows)
            case "BEFORE":
                return 0, places[0]
            case "BETWEEN":
                return places[0] + 1, places[1]
            case _:
                return 0, len(self.rows)

    def _place(self, anchor: str) -> int:
        if anchor.startswith("timestamp=") or anchor == "*":
            return -1
        return [f"msgid={row.tags['msgid']}" for row in self.rows].index(anchor)


def walk(history: History, pager: HistoryPager) -> tuple[list[int], int]:
    found: list[int] = []
    pages = 0
    while not pager.finished:
        found += [int(m.text) for m in pager.feed(history.answer(pager.request()))]
        pages += 1
    return found, pages


ROWS = st.lists(st.booleans(), max_size=40).map(
    lambda events: [row(number, event) for number, event in enumerate(events)]
)
PAGE_SIZES = st.integers(min_value=1, max_value=9)


@given(ROWS, PAGE_SIZES, st.booleans())
def test_every_message_is_found_once_backward_and_forward(
    rows: list[Message], page_size: int, end_tag: bool
) -> None:
    history = History(rows, end_tag)
    talk = [int(r.text) for r in rows if not is_history_noise(r)]
    backward, _ = walk(history, HistoryPager("#t", page_size))
    forward, _ = walk(history, HistoryPager("#t", page_size, after="timestamp=1970"))
    assert (backward, forward) == (talk[::-1], talk)


def test_pages_of_nothing_but_events_do_not_end_the_walk() -> None:
    rows = [row(0), *[row(n, event=True) for n in range(1, 50)], row(50)]
    assert walk(History(rows, end_tag=False), HistoryPager("#t", 5)) == ([50, 0], 12)


def test_the_end_tag_spares_the_empty_page() -> None:
    rows = [row(number) for number in range(10)]
    assert walk(History(rows, end_tag=True), HistoryPager("#t", 5))[1] == 2
    assert walk(History(rows, end_tag=False), HistoryPager("#t", 5))[1] == 3


def test_both_anchors_bound_the_walk() -> None:
    rows = [row(number) for number in range(10)]
    pager = HistoryPager("#t", 3, after="m2", before="msgid=m8")
    assert walk(History(rows, end_tag=False), pager)[0] == [3, 4, 5, 6, 7]


def test_an_acknowledgement_instead_of_a_page_ends_the_walk() -> None:
    pager = HistoryPager("#t", 5)
    assert (pager.feed(None), pager.finished) == ([], True)


def test_a_server_that_repeats_itself_does_not_hold_us_for_ever() -> None:
    pager = HistoryPager("#t", 5)
    page = Batch("1", "chathistory", ("#t",), {}, (row(1), row(2)))
    assert [m.text for m in pager.feed(page)] == ["2", "1"]
    assert (pager.feed(page), pager.finished) == ([], True)
