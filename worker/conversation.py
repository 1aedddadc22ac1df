"""What people said and how far it got: noted, on its way into the conversation, read. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from worker.effects import Action, Note, Prompt, RoomLine, Steer
from worker.trust import user_text

NOTED = Note("↪ noted")
READ = Note("↪ read")


class Conversation:
    """The lines of one attempt. `steer` is `members` or `requester`: whose line interrupts."""

    def __init__(self, channel: str, steer: str) -> None:
        self._channel = channel
        self._fence = ""
        """The transcript's; nothing is composed before it is known."""
        self._members_steer = steer == "members"
        self._notes: list[RoomLine] = []
        self._held: list[RoomLine] = []
        self._unread: dict[str, str] = {}
        self._given: set[str] = set()
        """msgids of lines that went to the agent, read or not."""
        self.last_taken = "-"
        """msgid of the newest line that was heard; "-" = none yet."""

    @property
    def unread(self) -> bool:
        """Something was steered that no turn has taken yet."""
        return bool(self._unread)

    @property
    def waiting(self) -> bool:
        """Something was said that the agent has not seen, by somebody whose line interrupts."""
        return bool(self._unread) or any(map(self.interrupts, self._held))

    def is_given(self, msgid: str) -> bool:
        return msgid in self._given

    def heard(self, line: RoomLine) -> None:
        self.last_taken = line.msgid or self.last_taken

    def interrupts(self, line: RoomLine) -> bool:
        """Whose line goes in at once, or starts a turn in review."""
        return line.role.owns or self._members_steer

    def note(self, line: RoomLine) -> None:
        """For the next message of somebody who interrupts."""
        self._notes.append(line)

    def hold(self, line: RoomLine) -> None:
        """Until the agent is there, or the controller says who may wake it."""
        if line not in self._held:
            self._held.append(line)

    def steer(self, line: RoomLine) -> list[Action]:
        """Into the running conversation; one receipt for all that is unread of one person."""
        first = line.account not in self._unread.values()
        reference = line.msgid or f"{line.account} {len(self._unread)}"
        self._unread[reference] = line.account
        text = self._text([*self._take_notes(), line])
        receipt: list[Action] = [NOTED] if first else []
        return [Steer(text, reference), *receipt]

    def steer_note(self, text: str, reference: str) -> list[Action]:
        """Words that the controller passes on into the running conversation."""
        self._unread[reference] = ""
        return [Steer(text, reference)]

    def entered(self, reference: str) -> list[Action]:
        """A turn took the message; the receipt comes with the last of a person's messages."""
        account = self._unread.pop(reference, None)
        if not account or account in self._unread.values():
            return []
        return [READ]

    def held_line(self, msgid: str) -> RoomLine | None:
        return next((line for line in self._held if line.msgid == msgid), None)

    def adopt(self, fence: str, msgids: Iterable[str], newest: str) -> None:
        """Lines that the first message holds, `newest` the last of them; "" = none."""
        self._fence = fence
        known = set(msgids)
        self._given |= known
        self._held = [line for line in self._held if line.msgid not in known]
        if self.last_taken == "-":
            self.last_taken = newest or "-"

    def prompt(
        self, lines: Sequence[RoomLine] = (), preface: str = "", *, spoken_to: bool = True
    ) -> Prompt:
        """The message that starts a run: all that was noted or held, and these lines.

        Without a reference nobody has spoken: it is no answer to a question that is still open.
        """
        waiting = [*self._take_notes(), *self._held]
        self._held = []
        everything = (*waiting, *(line for line in lines if line not in waiting))
        nobody = "" if self.last_taken == "-" and not spoken_to else self.last_taken
        reference = everything[-1].msgid if everything else nobody
        return Prompt(self._text(everything, preface), reference)

    def _text(self, lines: Sequence[RoomLine], preface: str = "") -> str:
        self._given.update(line.msgid for line in lines if line.msgid)
        return user_text(lines, self._channel, self._fence, preface)

    def _take_notes(self) -> list[RoomLine]:
        notes, self._notes = self._notes, []
        return notes
