"""What a directive of the controller holds for the session, in the session's own terms. Pure."""

from __future__ import annotations

import re

from shared.directives import Say
from worker.effects import Directed, Role, RoomLine

_MSGID = re.compile(r"[a-z0-9]{20,40}")


def named_line(order: Directed, note: str) -> str | None:
    """The msgid that a `[resume]` names; None where it brings a note in words, or nothing."""
    if note and (note == order.cause or _MSGID.fullmatch(note)):
        return note
    return None


def note_preface(note: str) -> str:
    """How the note of a `!reopen` reaches the model; it comes from who may reopen."""
    return f"The task was reopened with this note:\n{note}" if note else "Go on with the task."


def said_line(order: Say) -> RoomLine:
    """An answer given elsewhere counts as that account's line; the controller knows the role."""
    known = order.role in set(Role)
    return RoomLine(
        order.account, Role(order.role) if known else Role.MEMBER, order.text, order.msgid
    )


def by_whom(order: Directed | None) -> str:
    return getattr(order.directive, "by", "") if order else ""
