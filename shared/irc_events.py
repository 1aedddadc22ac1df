"""What goes into and comes out of the IRC client, as values.

Errors: IrcError -> ConnectionLost, RequestTimeout, RequestRefused, LoginRefused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.ircv3.batch import Batch
from shared.ircv3.message import Message
from shared.send_queue import Pacing


class IrcError(Exception):
    """Something on the connection did not go as asked."""


class ConnectionLost(IrcError):
    """There is no connection now; what was under way may or may not have been carried out."""


class RequestTimeout(IrcError):
    """The server did not answer in time; it may still carry the request out."""


class RequestRefused(IrcError):
    """The server answered with an error."""

    def __init__(self, answer: Message) -> None:
        super().__init__(" ".join((answer.command, *answer.params)))
        self.answer = answer


class LoginRefused(IrcError):
    """The server will not let us in with these words; never tried again."""

    def __init__(self, account: str | None, code: str, text: str) -> None:
        who = f"account {account!r}" if account else "an anonymous connection"
        super().__init__(f"login refused for {who}: {code} {text}")
        self.account = account
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Where to connect, as whom, and how patiently."""

    host: str
    port: int
    nick: str
    realname: str = "Ergonaut"
    tls: bool = False
    account: str | None = None
    """None connects anonymously."""
    password: str | None = field(default=None, repr=False)
    bot: bool = False
    """Mark ourselves as a bot, where the server has a mode for it."""
    pacing: Pacing | None = None
    """None sends everything at once."""
    connect_timeout_seconds: float = 20
    """For the connection to open, and again for the login to end."""
    ping_after_seconds: float = 30
    """Silence of the server after which we ask whether it is there."""
    ping_timeout_seconds: float = 15
    """How long it may take to say so."""
    retry_max_seconds: float = 30
    """The longest wait between two attempts to connect."""
    stable_after_seconds: float = 2
    """A connection that lived so long was no failed attempt: the waits begin anew."""
    nick_retry_seconds: float = 30
    """How often a nick that was taken is asked for again."""


@dataclass(frozen=True, slots=True)
class Connected:
    """Logged in and welcomed; nothing is joined yet."""

    connection: int
    """Counts the connections of this client from 1."""
    nick: str
    caps: Mapping[str, str]
    isupport: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A connection that was announced by `Connected` is gone."""

    connection: int
    reason: str


@dataclass(frozen=True, slots=True)
class Received:
    """One message that nobody asked for; a multiline text counts as one, with the batch's tags."""

    message: Message


@dataclass(frozen=True, slots=True)
class ReceivedBatch:
    """A whole batch that nobody asked for, such as `metadata` at login."""

    batch: Batch


Event = Connected | Disconnected | Received | ReceivedBatch


@dataclass(frozen=True, slots=True)
class Reply:
    """The server's whole answer to one request."""

    messages: tuple[Message, ...]
    """Flattened, without BATCH lines; empty when the server just acknowledged."""
    batch: Batch | None = None

    @property
    def error(self) -> Message | None:
        """The first FAIL or numeric of the 400s and 500s in it."""
        return next(filter(_is_error, self.messages), None)


def reply_of(item: Message | Batch) -> Reply:
    """The reply that a labelled line, ACK or batch is."""
    if isinstance(item, Batch):
        return Reply(item.messages(), item)
    return Reply(() if item.command == "ACK" else (item,))


def _is_error(message: Message) -> bool:
    return message.command == "FAIL" or (
        message.command.isdecimal() and message.command[0] in ("4", "5")
    )
