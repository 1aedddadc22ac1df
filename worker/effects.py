"""What happens to a worker (Input) and what it does about it (Action). Pure values.

`Session.feed(input, now) -> list[Action]` decides; `bridge.py` carries the actions out, in order.
No action carries message tags: the control tag is set where directives are sent, nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from shared.directives import FromWorker, ToWorker
from shared.task import Usage
from worker.agent.events import RunEnd
from worker.errors import ExitCode


class Role(StrEnum):
    """What a person is to this task."""

    REQUESTER = "requester"
    MAINTAINER = "maintainer"
    MEMBER = "member"

    @property
    def owns(self) -> bool:
        """Whose text is the user's own words; everybody else's is content."""
        return self is not Role.MEMBER


@dataclass(frozen=True, slots=True)
class RoomLine:
    """What a person said to the worker, wherever it was said."""

    account: str
    role: Role
    text: str
    msgid: str


# Inputs.


@dataclass(frozen=True, slots=True)
class Heard:
    """A person's line for the agent."""

    line: RoomLine


@dataclass(frozen=True, slots=True)
class Directed:
    """A directive of the controller, not carried out before."""

    directive: ToWorker
    nick: str
    """Whom to confirm to."""
    msgid: str
    cause: str | None = None
    """msgid of the command behind it."""


@dataclass(frozen=True, slots=True)
class DirectiveRefused:
    """The controller does not accept a directive of ours."""

    directive: FromWorker
    why: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """Agent and tools are there."""

    first_message: str
    fence: str
    """The transcript's mark around other people's text."""
    included: frozenset[str] = frozenset()
    """msgids of the lines that it holds."""
    newest: str = ""
    """The last of them."""


@dataclass(frozen=True, slots=True)
class PreparationFailed:
    """The work cannot begin."""

    why: str


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """The agent asks its model."""


@dataclass(frozen=True, slots=True)
class Entered:
    """A message of ours is in the conversation now."""

    reference: str


@dataclass(frozen=True, slots=True)
class TurnOver:
    """A turn has ended; totals of the task, earlier attempts included."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class RunOver:
    """The agent is idle again."""

    end: RunEnd


@dataclass(frozen=True, slots=True)
class LineFound:
    """The answer to FindLine; None: the room's history has no such line of a person."""

    msgid: str
    line: RoomLine | None


@dataclass(frozen=True, slots=True)
class Terminate:
    """SIGTERM."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed; see Session.wake_at."""


AgentNews: TypeAlias = TurnBegan | TurnOver | Entered | DirectiveRefused

Input: TypeAlias = (
    Heard
    | Directed
    | DirectiveRefused
    | Prepared
    | PreparationFailed
    | TurnBegan
    | Entered
    | TurnOver
    | RunOver
    | LineFound
    | Terminate
    | Tick
)


# Actions.


@dataclass(frozen=True, slots=True)
class Say:
    """A PRIVMSG to the task's channel, of one or more lines."""

    text: str
    urgent: bool = False
    """Goes at once, with everything that waits before it."""


@dataclass(frozen=True, slots=True)
class Note:
    """A NOTICE to the task's channel: a receipt, nothing to act on. At once, past what waits."""

    text: str


@dataclass(frozen=True, slots=True)
class Direct:
    """A directive to the controller, repeated until it is confirmed."""

    directive: FromWorker


@dataclass(frozen=True, slots=True)
class Confirm:
    """The directive of this msgid was carried out."""

    nick: str
    msgid: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The directive of this msgid cannot be carried out."""

    nick: str
    msgid: str
    why: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Start a run."""

    text: str
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Steer:
    """Into the running conversation, before its next request."""

    text: str
    reference: str


@dataclass(frozen=True, slots=True)
class Continue:
    """Start a run with what was steered too late for the last one."""


@dataclass(frozen=True, slots=True)
class Abort:
    """Stop the run; a RunOver follows."""


@dataclass(frozen=True, slots=True)
class FindLine:
    """Look in the room's history; a LineFound follows."""

    msgid: str


@dataclass(frozen=True, slots=True)
class Leave:
    """PART and end, once every directive is confirmed or patience is over."""

    farewell: str
    """Goes with PART and QUIT."""
    code: ExitCode
    patience_seconds: float = 10.0


Action: TypeAlias = (
    Say | Note | Direct | Confirm | Refuse | Prompt | Steer | Continue | Abort | FindLine | Leave
)
