"""What the server would not do, in one line; a job ends there and its asker is told."""

from __future__ import annotations

from controller.errors import ControllerError
from shared.irc_client import Reply


class Refused(ControllerError):
    """An effect that was not carried out, and why."""


def require(reply: Reply, what: str, *accepted: str) -> None:
    """Raise Refused unless the reply is no error and, if words are given, says one of them.

    Services answer in words alone, so for them the words decide.
    """
    if reply.error is not None:
        raise Refused(f"{what}: the server says: {reply.error.text}")
    if accepted and not says(reply, *accepted):
        said = " / ".join(message.text for message in reply.messages if message.text)
        raise Refused(f"{what}: the server says: {said or 'nothing'}")


def says(reply: Reply, *words: str) -> bool:
    return any(word in message.text for message in reply.messages for word in words)
