"""What the controller says: cut to lines, in order, the last one acknowledged."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import count

from controller.description_posts import to_posts
from shared.description import checksum
from shared.directives import DESCRIPTION_TAG
from shared.irc_client import IrcClient, Reply
from shared.ircv3.batch import MULTILINE, multiline_lines, parse_multiline_limits
from shared.ircv3.message import Message, ProtocolError
from shared.ircv3.split import clean, harmless, split_text

_log = logging.getLogger(__name__)


class Speech:
    """Over one connection."""

    def __init__(self, client: IrcClient, line_max_bytes: int) -> None:
        self._client = client
        self._line_max_bytes = line_max_bytes
        self._references = count(1)

    async def say(
        self,
        target: str,
        lines: tuple[str, ...],
        *,
        notice: bool = False,
        tags: Mapping[str, str] | None = None,
        last_tags: Mapping[str, str] | None = None,
    ) -> None:
        """Send all lines at once; `last_tags` go on the last. Returns when that one is stored.

        Somebody who has gone meanwhile hears nothing, which is no failure.
        """
        command = "NOTICE" if notice else "PRIVMSG"
        shown = [harmless(clean(line)) for line in lines]
        pieces = [p for line in shown for p in split_text(line, self._line_max_bytes)]
        messages = [Message(command, (target, piece), dict(tags or {})) for piece in pieces]
        if not messages:
            return
        for message in messages[:-1]:
            self._client.send(message)
        last = messages[-1]
        both = {**last.tags, **(last_tags or {})}
        reply = await self._client.request(Message(command, last.params, both))
        _tell_refusal(target, reply)

    async def post_description(self, channel: str, text: str) -> None:
        """As multiline messages tagged with the checksum, whole or cut into several.

        METADATA holds the description too, so a post that fails is logged and no more.
        """
        limits = parse_multiline_limits(self._client.caps.get(MULTILINE, ""))
        tags = {DESCRIPTION_TAG: checksum(text)}
        try:
            for post in to_posts(text, limits):
                reference = f"d{next(self._references)}"
                lines = multiline_lines(channel, post, tags, reference, limits)
                _tell_refusal(channel, await self._client.request_lines(lines))
        except ProtocolError as error:
            _log.warning("the description of %s cannot be posted: %s", channel, error)


def _tell_refusal(target: str, reply: Reply) -> None:
    if reply.error is not None:
        _log.warning("not heard by %s: %s", target, reply.error.text)
