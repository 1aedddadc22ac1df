"""CHATHISTORY: requests, and paging by msgid until the server has no more.

Joins, parts and topics are rows of history too, told by `HistServ`: they count towards a page and
serve as anchors, and are dropped from what a reader gets.
"""

from __future__ import annotations

from shared.ircv3.batch import Batch
from shared.ircv3.message import Message

END_TAG = "draft/chathistory-end"


def anchor(position: str) -> str:
    """`msgid=<id>` or `timestamp=<time>` as given; a bare msgid gets its prefix."""
    return position if position.startswith(("msgid=", "timestamp=")) else f"msgid={position}"


def latest(target: str, limit: int, after: str | None = None) -> Message:
    """`CHATHISTORY LATEST target *|anchor limit`: the newest rows, oldest of them first."""
    return _request("LATEST", target, anchor(after) if after else "*", str(limit))


def before(target: str, position: str, limit: int) -> Message:
    """`CHATHISTORY BEFORE target anchor limit`: the rows just before it."""
    return _request("BEFORE", target, anchor(position), str(limit))


def after(target: str, position: str, limit: int) -> Message:
    """`CHATHISTORY AFTER target anchor limit`: the rows just after it."""
    return _request("AFTER", target, anchor(position), str(limit))


def between(target: str, start: str, end: str, limit: int) -> Message:
    """`CHATHISTORY BETWEEN target anchor anchor limit`: from the first on, both ends left out."""
    return _request("BETWEEN", target, anchor(start), anchor(end), str(limit))


def targets(start: str, end: str, limit: int) -> Message:
    """`CHATHISTORY TARGETS timestamp=... timestamp=... limit`: who had traffic in that time."""
    return _request("TARGETS", start, end, str(limit))


def _request(*params: str) -> Message:
    return Message("CHATHISTORY", params)


def is_history_noise(message: Message) -> bool:
    """Whether a row of history tells of a JOIN, PART, TOPIC or the like."""
    return message.nick == "HistServ"


class HistoryPager:
    """Walks one target's history page by page: forward from `after`, else backward to the start."""

    def __init__(
        self, target: str, page_size: int, *, after: str | None = None, before: str | None = None
    ) -> None:
        self._target = target
        self._page_size = page_size
        self._forward = after is not None
        self._after = after
        self._before = before
        self._seen: set[str] = set()
        self.finished = False

    def request(self) -> Message:
        """The line that asks for the next page."""
        if self._after is not None and self._before is not None:
            return between(self._target, self._after, self._before, self._page_size)
        if self._after is not None:
            return after(self._target, self._after, self._page_size)
        if self._before is not None:
            return before(self._target, self._before, self._page_size)
        return latest(self._target, self._page_size)

    def feed(self, page: Batch | None) -> list[Message]:
        """The new messages of a page, in walking order; only an empty page or the tag ends it.

        A page shorter than asked for proves nothing, and may hold event rows alone.
        """
        rows = page.messages() if page else ()
        fresh = [row for row in rows if row.tags.get("msgid") not in self._seen]
        identifiers = [row.tags["msgid"] for row in fresh if row.tags.get("msgid")]
        self._seen.update(identifiers)
        self.finished = not identifiers or page is None or END_TAG in page.tags
        if identifiers:
            self._advance(identifiers)
        found = [row for row in fresh if not is_history_noise(row)]
        return found if self._forward else found[::-1]

    def _advance(self, identifiers: list[str]) -> None:
        if self._forward:
            self._after = identifiers[-1]
        else:
            self._before = identifiers[0]
