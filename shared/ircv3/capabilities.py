"""Capability negotiation as a ledger: what is offered, asked for and granted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shared.ircv3.message import Message

WANTED_CAPS = (
    "account-notify",
    "account-tag",
    "batch",
    "draft/chathistory",
    "draft/metadata-2",
    "draft/multiline",
    "draft/no-implicit-names",
    "echo-message",
    "extended-join",
    "labeled-response",
    "message-tags",
    "no-implicit-names",
    "server-time",
    "standard-replies",
)
"""Asked for where offered. Never draft/event-playback: history must stay lines of talk."""

_REQUEST_BYTES = 400  # names in one CAP REQ, so that its ACK fits on a line


class Capabilities:
    """Only what is offered is asked for, since one unknown name refuses a whole CAP REQ."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        self._requested: set[str] = set()
        self.offered: dict[str, str] = {}
        self.granted: dict[str, str] = {}
        """Acknowledged names, with the values that the server offered."""

    @property
    def settled(self) -> bool:
        """Whether everything asked for was answered."""
        return not self._requested

    def add_offer(self, message: Message) -> bool:
        """Read one `CAP * LS [*] :a b=c` line; True if it is the last one."""
        self.offered |= _parse_names(message.text)
        return message.params[2:3] != ("*",) or len(message.params) < 4

    def request_wanted(self) -> list[Message]:
        """`CAP REQ :a b c`, as many lines as needed."""
        return self._request(self._wanted.intersection(self.offered))

    def acknowledge(self, message: Message) -> None:
        """Read `CAP * ACK :a -b`; a long REQ may be answered by several of them."""
        for name in message.text.split():
            self._requested.discard(name.removeprefix("-"))
            if name.startswith("-"):
                self.granted.pop(name[1:], None)
            else:
                self.granted[name] = self.offered.get(name, "")

    def reject(self, message: Message) -> list[Message]:
        """Read `CAP * NAK :a b`: of several names one is bad, so each is asked for alone."""
        names = message.text.split()
        self._requested.difference_update(names)
        return [line for name in names for line in self._request((name,))] if names[1:] else []

    def add_new(self, message: Message) -> list[Message]:
        """Read `CAP * NEW :a b`, and ask for what is wanted of it."""
        offered = _parse_names(message.text)
        self.offered |= offered
        return self._request(self._wanted.intersection(offered))

    def withdraw(self, message: Message) -> None:
        """Read `CAP * DEL :a b`."""
        for name in message.text.split():
            self.offered.pop(name, None)
            self.granted.pop(name, None)
            self._requested.discard(name)

    def _request(self, names: Iterable[str]) -> list[Message]:
        missing = sorted(set(names) - self.granted.keys() - self._requested)
        self._requested.update(missing)
        return [Message("CAP", ("REQ", part)) for part in _pack(missing)]


def _parse_names(text: str) -> dict[str, str]:
    pairs = (name.partition("=") for name in text.split())
    return {name: value for name, _, value in pairs}


def _pack(names: Iterable[str]) -> Iterator[str]:
    line = ""
    for name in names:
        if line and len(line) + 1 + len(name) > _REQUEST_BYTES:
            yield line
            line = ""
        line = f"{line} {name}".strip()
    if line:
        yield line
