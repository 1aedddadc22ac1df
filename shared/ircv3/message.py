"""One IRC line as a value: the type that stands on every seam between the wire and the programs.

`ProtocolError` is the root of what can be wrong with a line that we read or were asked to write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_ESCAPES = {";": r"\:", " ": r"\s", "\\": r"\\", "\r": r"\r", "\n": r"\n"}
_UNESCAPES = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}
_ESCAPED = re.compile(r"[; \\\r\n]")
_UNESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_COMMAND = re.compile(r"[A-Za-z]+|[0-9]{3}")
_TAG_KEY = re.compile(r"[^\x00\r\n; =]+")
_UNSENDABLE = re.compile(r"[\x00\r\n\ud800-\udfff]")

_SECRET_COMMANDS = frozenset({"AUTHENTICATE", "PASS", "OPER"})
_SERVICE_COMMANDS = frozenset({"NS", "NICKSERV"})
_SECRET_VERBS = frozenset({"IDENTIFY", "REGISTER", "SAREGISTER", "PASSWD", "GHOST"})


class ProtocolError(Exception):
    """A line cannot be read, or cannot be written without changing its meaning."""


@dataclass(frozen=True, slots=True, repr=False)
class Message:
    """`[@tags] [:source] command [params]`, decoded; equal messages are equal lines."""

    command: str
    """Upper-case verb, or three digits."""
    params: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Unescaped values; "" for a tag without one."""
    source: str | None = None
    """`nick!user@host` or a server's name; None on lines that we send."""

    @property
    def nick(self) -> str:
        """The source up to `!`; "" without a source."""
        return (self.source or "").partition("!")[0]

    @property
    def text(self) -> str:
        """The last parameter; "" without parameters."""
        return self.params[-1] if self.params else ""

    def __repr__(self) -> str:
        params = ("***",) if _holds_a_secret(self) else self.params
        tags = dict(self.tags)
        return f"Message({self.command!r}, {params!r}, tags={tags!r}, source={self.source!r})"


def _holds_a_secret(message: Message) -> bool:
    """Passwords travel in few commands; naming them here keeps them out of every log."""
    if message.command in _SECRET_COMMANDS:
        return True
    words = message.params
    if message.command == "PRIVMSG" and words and words[0].upper() == "NICKSERV":
        words = words[1:]
    elif message.command not in _SERVICE_COMMANDS:
        return False
    return bool(_SECRET_VERBS.intersection(" ".join(words).upper().split()[:1]))


def parse(line: str) -> Message:
    """Read `[@a=b;c ][:source ]COMMAND[ middle]*[ :trailing]`, with or without CRLF.

    Lenient as a client must be: runs of spaces, unknown escapes and empty tags are tolerated.
    """
    rest = line.rstrip("\r\n").lstrip(" ")
    tags: dict[str, str] = {}
    source: str | None = None
    if rest.startswith("@"):
        head, _, rest = rest.partition(" ")
        tags, rest = _parse_tags(head[1:]), rest.lstrip(" ")
    if rest.startswith(":"):
        head, _, rest = rest.partition(" ")
        source, rest = head[1:], rest.lstrip(" ")
    command, _, rest = rest.partition(" ")
    if not command:
        raise ProtocolError(f"line without a command: {line[:80]!r}")
    return Message(command.upper(), _parse_params(rest), tags, source)


def _parse_params(rest: str) -> tuple[str, ...]:
    middle, colon, trailing = f" {rest}".partition(" :")
    params = tuple(middle.split(" "))
    return tuple(filter(None, params)) + ((trailing,) if colon else ())


def _parse_tags(text: str) -> dict[str, str]:
    pairs = (item.partition("=") for item in text.split(";"))
    return {key: _unescape(value) for key, _, value in pairs if key}


def _unescape(value: str) -> str:
    r"""`\:` is `;`, `\s` a space; of an unknown escape the letter stays, a last lone `\` goes."""
    return _UNESCAPED.sub(lambda found: _UNESCAPES.get(found[1], found[1]), value)


def _escape(value: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], value)


def format_message(message: Message) -> str:
    """Write the line without CRLF. Refuses what would arrive as another line, or cut in two."""
    words = [_format_tags(message.tags)] if message.tags else []
    if message.source is not None:
        words.append(f":{_word(message.source, 'source')}")
    if not _COMMAND.fullmatch(message.command):
        raise ProtocolError(f"not a command: {message.command!r}")
    words.append(message.command)
    words.extend(_word(param, "middle parameter") for param in message.params[:-1])
    if message.params:
        words.append(_last_param(message.params[-1]))
    line = " ".join(words)
    if _UNSENDABLE.search(line):
        raise ProtocolError(
            f"{message.command}: CR, LF, NUL and lone surrogates cannot be sent; clean the text"
        )
    return line


def _word(text: str, role: str) -> str:
    if not text or " " in text or text.startswith(":"):
        raise ProtocolError(f"{role} may not be empty, hold a space or begin with ':': {text!r}")
    return text


def _last_param(text: str) -> str:
    return f":{text}" if not text or " " in text or text.startswith(":") else text


def _format_tags(tags: Mapping[str, str]) -> str:
    return "@" + ";".join(_format_tag(key, value) for key, value in tags.items())


def _format_tag(key: str, value: str) -> str:
    if not _TAG_KEY.fullmatch(key):
        raise ProtocolError(f"not a tag name: {key!r}")
    return f"{key}={_escape(value)}" if value else key
