"""What can go wrong in the agent for its caller; all the rest ends a run with a reason.

AgentError
├── AgentBusy            a run is active; steer or follow up instead
├── NothingToContinue    there is no message that a request could answer
├── MessageFormatError   a stored message cannot be read
└── TranscriptError      the transcript file cannot be read or written
"""


class AgentError(Exception):
    """Root of the errors of worker.agent."""


class AgentBusy(AgentError):
    """A run is active: use steer() to get a message in now, follow_up() for afterwards."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class NothingToContinue(AgentError):
    """There is nothing that a request could answer."""


class MessageFormatError(AgentError):
    """A stored message does not have the form that messages.py writes."""


class TranscriptError(AgentError):
    """The transcript file cannot be read or written."""
