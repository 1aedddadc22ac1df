"""From an open connection to a ready one: CAP LS 302, SASL PLAIN, nick and ISUPPORT as a table.

`TRANSITIONS` says what each line does in each phase; whatever is not listed changes nothing. The
table keeps running after registration for CAP NEW and DEL, nick changes and later ISUPPORT.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from shared.ircv3.capabilities import WANTED_CAPS, Capabilities
from shared.ircv3.casemap import fold
from shared.ircv3.message import Message

_SASL_CHUNK = 400  # bytes of one AUTHENTICATE line, by the SASL specification
_NICK_BYTES = 28  # leaves room for a suffix within ergo's 32
_NICK_ATTEMPTS = 20  # a nick that the server dislikes for its letters never gets better


class Phase(StrEnum):
    """Where the connection stands."""

    LISTING = "listing"
    """CAP LS was sent; the offer is still coming."""
    REQUESTING = "requesting"
    AUTHENTICATING = "authenticating"
    """Waiting for the server's go-ahead."""
    PROVING = "proving"
    """The credentials are out."""
    WELCOMING = "welcoming"
    """CAP END was sent; 001, 005 and the end of the MOTD are to come."""
    READY = "ready"
    REFUSED = "refused"
    """The server will not have us as we are; trying again with the same words is no use."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we ask to be."""

    nick: str
    realname: str = "Ergonaut"
    account: str | None = None
    """None connects anonymously."""
    password: str | None = field(default=None, repr=False)
    bot: bool = False
    """Mark ourselves with the mode that ISUPPORT BOT names."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why registration cannot succeed: a numeric or a word, and what the server said."""

    code: str
    text: str


def alternative_nick(nick: str, attempt: int) -> str:
    """The nick to ask for when `nick` is taken: `nick_`, then `nick_2`, `nick_3` ..."""
    return nick[:_NICK_BYTES] + ("_" if attempt == 1 else f"_{attempt}")


def sasl_plain(account: str, password: str) -> list[Message]:
    """`AUTHENTICATE <base64>` in pieces of 400 bytes; when the last is full, `+` ends it."""
    proof = base64.b64encode(f"\0{account}\0{password}".encode()).decode()
    pieces = [proof[at : at + _SASL_CHUNK] for at in range(0, len(proof), _SASL_CHUNK)]
    if len(proof) % _SASL_CHUNK == 0:
        pieces.append("+")
    return [Message("AUTHENTICATE", (piece,)) for piece in pieces]


class Registration:
    """One connection's capabilities, nick and ISUPPORT; `feed` every line of the server."""

    def __init__(self, identity: Identity, wanted: Iterable[str] = WANTED_CAPS) -> None:
        self._identity = identity
        self._nick_attempts = 0
        self._caps = Capabilities((*wanted, "sasl") if identity.account else wanted)
        self.phase = Phase.LISTING
        self.nick = identity.nick
        self.isupport: dict[str, str] = {}
        self.refusal: Refusal | None = None

    @property
    def caps(self) -> Mapping[str, str]:
        """What the server granted, with its values."""
        return self._caps.granted

    def start(self) -> list[Message]:
        """The first lines of the connection."""
        return [
            Message("CAP", ("LS", "302")),
            Message("NICK", (self.nick,)),
            Message("USER", (_username(self.nick), "0", "*", self._identity.realname)),
        ]

    def feed(self, message: Message) -> list[Message]:
        """Apply one line of the server; the lines to send in return."""
        transition = TRANSITIONS.get((self.phase, _trigger(message)))
        return transition.action(self, message) if transition else []

    def require(self, names: Iterable[str]) -> None:
        """Refuse a server that lacks one of these capabilities; called when ready."""
        if missing := sorted(set(names) - self.caps.keys()):
            self._refuse("CAP", f"the server lacks {', '.join(missing)}; is it ergo >= 2.18?")

    def _list(self, message: Message) -> list[Message]:
        if not self._caps.add_offer(message):
            return []
        if self._identity.account and not self._offers_plain():
            return self._refuse("SASL", "the server does not offer SASL PLAIN")
        self.phase = Phase.REQUESTING
        return self._caps.request_wanted() or self._after_caps()

    def _offers_plain(self) -> bool:
        mechanisms = self._caps.offered.get("sasl")
        return mechanisms == "" or "PLAIN" in (mechanisms or "").upper().split(",")

    def _acknowledge(self, message: Message) -> list[Message]:
        self._caps.acknowledge(message)
        return self._after_caps() if self._has_requested() else []

    def _reject(self, message: Message) -> list[Message]:
        lines = self._caps.reject(message)
        return self._after_caps() if self._has_requested() else lines

    def _has_requested(self) -> bool:
        return self.phase is Phase.REQUESTING and self._caps.settled

    def _after_caps(self) -> list[Message]:
        if not self._identity.account:
            return self._end_negotiation()
        if "sasl" not in self.caps:
            return self._refuse("SASL", "the server refused the capability sasl")
        self.phase = Phase.AUTHENTICATING
        return [Message("AUTHENTICATE", ("PLAIN",))]

    def _end_negotiation(self, _: Message | None = None) -> list[Message]:
        self.phase = Phase.WELCOMING
        return [Message("CAP", ("END",))]

    def _offer_more(self, message: Message) -> list[Message]:
        return self._caps.add_new(message)

    def _withdraw(self, message: Message) -> list[Message]:
        self._caps.withdraw(message)
        return []

    def _prove(self, message: Message) -> list[Message]:
        if message.text != "+":
            return self._refuse("SASL", "the server's SASL challenge is not PLAIN's")
        self.phase = Phase.PROVING
        return sasl_plain(self._identity.account or "", self._identity.password or "")

    def _deny(self, message: Message) -> list[Message]:
        return self._refuse(message.command, message.text)

    def _refuse(self, code: str, text: str) -> list[Message]:
        self.phase = Phase.REFUSED
        self.refusal = Refusal(code, text)
        return []

    def _try_another_nick(self, message: Message) -> list[Message]:
        self._nick_attempts += 1
        if self._nick_attempts > _NICK_ATTEMPTS:
            return self._deny(message)
        self.nick = alternative_nick(self._identity.nick, self._nick_attempts)
        return [Message("NICK", (self.nick,))]

    def _welcome(self, message: Message) -> list[Message]:
        if self.phase is Phase.LISTING and self._identity.account:
            return self._refuse("SASL", "the server does not know capabilities, so no SASL")
        self.phase = Phase.WELCOMING
        self.nick = message.params[0] if message.params else self.nick
        return []

    def _read_isupport(self, message: Message) -> list[Message]:
        for token in message.params[1:-1]:
            key, _, value = token.partition("=")
            if key.startswith("-"):
                self.isupport.pop(key[1:], None)
            else:
                self.isupport[key] = value.replace("\\x20", " ").replace("\\x5C", "\\")
        return []

    def _finish(self, _: Message) -> list[Message]:
        self.phase = Phase.READY
        mode = self.isupport.get("BOT", "")
        return [Message("MODE", (self.nick, f"+{mode}"))] if self._identity.bot and mode else []

    def _rename(self, message: Message) -> list[Message]:
        mapping = self.isupport.get("CASEMAPPING", "ascii")
        if message.params and fold(message.nick, mapping) == fold(self.nick, mapping):
            self.nick = message.params[0]
        return []


Action = Callable[[Registration, Message], list[Message]]


class Transition(NamedTuple):
    """What a line does in a phase, and the phases in which that may leave us."""

    action: Action
    leads_to: tuple[Phase, ...]


def _trigger(message: Message) -> str:
    """The table's name for a line: its command, with the subcommand or code where that decides."""
    if message.command in ("CAP", "FAIL"):
        return " ".join((message.command, *message.params[1:2])).upper()
    return message.command


def _username(nick: str) -> str:
    letters = (letter for letter in nick.lower() if letter.isascii() and letter.isalnum())
    return "".join(letters)[:10] or "ergonaut"


def _rows(
    phases: Iterable[Phase], triggers: str, action: Action, *leads_to: Phase
) -> dict[tuple[Phase, str], Transition]:
    """Rows for each phase and each of the comma-separated triggers; without `leads_to` it stays."""
    return {
        (phase, trigger): Transition(action, leads_to or (phase,))
        for phase in phases
        for trigger in triggers.split(",")
    }


_P = Phase
_R = Registration
_REGISTERING = (_P.LISTING, _P.REQUESTING, _P.AUTHENTICATING, _P.PROVING, _P.WELCOMING)
_TRIED = (*_REGISTERING, _P.REFUSED)
_REQUESTED = (_P.REQUESTING, _P.AUTHENTICATING, _P.WELCOMING, _P.REFUSED)
_LATER = (_P.AUTHENTICATING, _P.PROVING, _P.WELCOMING, _P.READY)

TRANSITIONS: Mapping[tuple[Phase, str], Transition] = {
    **_rows((_P.LISTING,), "CAP LS", _R._list, _P.LISTING, *_REQUESTED),
    **_rows((_P.REQUESTING,), "CAP ACK", _R._acknowledge, *_REQUESTED),
    **_rows((_P.REQUESTING,), "CAP NAK", _R._reject, *_REQUESTED),
    **_rows(_LATER, "CAP ACK", _R._acknowledge),
    **_rows(_LATER, "CAP NAK", _R._reject),
    **_rows((_P.REQUESTING, *_LATER), "CAP NEW", _R._offer_more),
    **_rows((_P.REQUESTING, *_LATER), "CAP DEL", _R._withdraw),
    **_rows((_P.AUTHENTICATING,), "AUTHENTICATE", _R._prove, _P.PROVING, _P.REFUSED),
    **_rows((_P.PROVING,), "903,907", _R._end_negotiation, _P.WELCOMING),
    **_rows((_P.AUTHENTICATING, _P.PROVING), "902,904,905,906,908", _R._deny, _P.REFUSED),
    **_rows(_REGISTERING, "464,465,FAIL ACCOUNT_REQUIRED", _R._deny, _P.REFUSED),
    **_rows(_REGISTERING, "432,433,436,437", _R._try_another_nick, *_TRIED),
    **_rows((_P.LISTING, _P.WELCOMING), "001", _R._welcome, _P.WELCOMING, _P.REFUSED),
    **_rows((_P.WELCOMING, _P.READY), "005", _R._read_isupport),
    **_rows((_P.WELCOMING,), "376,422", _R._finish, _P.READY),
    **_rows((*_REGISTERING, _P.READY), "NICK", _R._rename),
}
"""(phase, trigger) -> what happens; `_trigger` names lines."""
