"""Batches: lines that belong together, from opener to end, nested; and multiline texts in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shared.ircv3.message import Message, ProtocolError
from shared.ircv3.split import clean, split_text

MULTILINE = "draft/multiline"
_CONCAT = "draft/multiline-concat"
_LINE_ONLY_TAGS = frozenset({"batch", _CONCAT})


@dataclass(frozen=True, slots=True)
class Batch:
    """A closed batch: `BATCH +reference type params`, its items in order, `BATCH -reference`."""

    reference: str
    type: str
    params: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The opener's tags; label, msgid, time and account of the whole stand here."""
    items: tuple[Message | Batch, ...] = ()

    def messages(self) -> tuple[Message, ...]:
        """All lines in order, nested batches opened, each multiline text joined into one."""
        if self.type == MULTILINE:
            return (join_multiline(self),) if self.items else ()
        found: list[Message] = []
        for item in self.items:
            found.extend(item.messages() if isinstance(item, Batch) else (item,))
        return tuple(found)


@dataclass(slots=True)
class _OpenBatch:
    opener: Message
    parent: str | None
    items: list[Message | Batch] = field(default_factory=list)

    def close(self) -> Batch:
        reference, kind, *params = (*self.opener.params, "", "")[: max(2, len(self.opener.params))]
        tags = {key: value for key, value in self.opener.tags.items() if key != "batch"}
        return Batch(reference[1:], kind, tuple(params), tags, tuple(self.items))


class BatchAssembler:
    """Turns the lines of one connection into single lines and whole, outermost batches."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenBatch] = {}

    def feed(self, message: Message) -> Message | Batch | None:
        """The line itself if it stands alone, a batch that it completes, or None."""
        reference = message.params[0] if message.params else ""
        if message.command == "BATCH" and reference.startswith("+"):
            self._open[reference[1:]] = _OpenBatch(message, message.tags.get("batch"))
            return None
        if message.command == "BATCH":
            return self._close(reference[1:])
        return self._place(message, message.tags.get("batch"))

    def _close(self, reference: str) -> Message | Batch | None:
        closed = self._open.pop(reference, None)
        if closed is None:  # the end of a batch that we never saw open
            return None
        return self._place(closed.close(), closed.parent)

    def _place(self, item: Message | Batch, parent: str | None) -> Message | Batch | None:
        holder = self._open.get(parent) if parent is not None else None
        if holder is None:
            return item
        holder.items.append(item)
        return None


@dataclass(frozen=True, slots=True)
class MultilineLimits:
    """What the server allows in one multiline batch, and what fits on a line of it."""

    max_bytes: int = 4096
    """UTF-8 bytes of the whole text, newlines included."""
    max_lines: int = 100
    line_bytes: int = 400
    """UTF-8 bytes of one line's text, so that a relayed line stays within 512."""


def parse_multiline_limits(value: str, line_bytes: int = 400) -> MultilineLimits:
    """Read the value of the capability: `max-bytes=4096,max-lines=100`."""
    pairs = dict(item.partition("=")[::2] for item in value.split(","))
    found = {key: int(number) for key, number in pairs.items() if number.isdecimal()}
    default = MultilineLimits()
    return MultilineLimits(
        found.get("max-bytes", default.max_bytes),
        found.get("max-lines", default.max_lines),
        line_bytes,
    )


def multiline_lines(
    target: str,
    text: str,
    tags: Mapping[str, str],
    reference: str,
    limits: MultilineLimits,
) -> list[Message]:
    """Write `text` as one PRIVMSG of several lines; `tags` go on the opener, where servers look.

    `BATCH +ref draft/multiline target`, `@batch=ref PRIVMSG target :line` for each line, with
    `draft/multiline-concat` where a line continues the one before, `BATCH -ref`.
    """
    lines = _encode_lines(target, text, reference, limits.line_bytes)
    size = len(text.encode())
    if not text.strip("\n"):
        raise ProtocolError("a multiline text needs at least one line that is not empty")
    if size > limits.max_bytes or len(lines) > limits.max_lines:
        raise ProtocolError(
            f"text of {size} bytes in {len(lines)} lines is over the server's limit "
            f"of {limits.max_bytes} bytes in {limits.max_lines} lines; cut it first"
        )
    opener = Message("BATCH", (f"+{reference}", MULTILINE, target), dict(tags))
    return [opener, *lines, Message("BATCH", (f"-{reference}",))]


def _encode_lines(target: str, text: str, reference: str, line_bytes: int) -> list[Message]:
    messages: list[Message] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        # an empty line is a line of its own; only continuations may not be empty
        first, *others = split_text(clean(line), line_bytes) or [""]
        messages.append(Message("PRIVMSG", (target, first), {"batch": reference}))
        continued = {"batch": reference, _CONCAT: ""}
        messages.extend(Message("PRIVMSG", (target, piece), continued) for piece in others)
    return messages


def join_multiline(batch: Batch) -> Message:
    """The one message that a multiline batch stands for, with the opener's tags."""
    lines = [item for item in batch.items if isinstance(item, Message)]
    if not lines:
        raise ProtocolError(f"multiline batch {batch.reference} holds no line")
    text = lines[0].text
    for line in lines[1:]:
        text += line.text if _CONCAT in line.tags else f"\n{line.text}"
    tags = {key: value for key, value in lines[0].tags.items() if key not in _LINE_ONLY_TAGS}
    return replace(lines[0], params=(*lines[0].params[:-1], text), tags=tags | dict(batch.tags))
