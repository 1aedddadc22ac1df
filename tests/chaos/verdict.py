"""Compares what a run has left with what was said: design 4 to 6 once more, over records. Pure.

Nothing of `controller` decides here but the words of the formats: what is checked is the ledger.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from shared import description
from shared.channels import parse_task_channel
from shared.directives import REPLY_TAG
from shared.firehose import Event, Record
from shared.ircv3.message import Message
from shared.task import Status, Task, format_topic, title_from
from shared.task_metadata import Problems, from_metadata
from tests.chaos.evidence import CONTROLLER, Evidence
from tests.chaos.script import PEOPLE
from tests.chaos.stories import Played, is_refusal

MOVES: Mapping[str, Status | None] = {
    "!ready": Status.READY,
    "!unready": Status.PENDING,
    "!complete": Status.DONE,
    "!kill": Status.BLOCKED,
    "!archive": Status.ARCHIVED,
    "!reopen": None,
}
"""Command -> the state that it leads to; None = in progress or ready."""
UNKNOWN = "!frobnicate"
"""Asks for nothing that there is: it may stay without an answer."""
GONE = (Status.PENDING, Status.READY, Status.DONE, Status.ARCHIVED)
"""No worker lives in these states."""


@dataclass
class Verdict:
    """What is wrong, in words."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    drifted: list[str] = field(default_factory=list)
    commands: int = 0
    """That the server stored."""
    directives: int = 0
    """Of workers, carried out."""

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.drifted)

    def lines(self) -> list[str]:
        kinds = (("lost", self.lost), ("doubled", self.doubled), ("drifted", self.drifted))
        return [f"{kind}: {text}" for kind, texts in kinds for text in texts]


@dataclass(frozen=True, slots=True)
class Asked:
    """A command that the server stored."""

    place: str
    by: str
    text: str
    msgid: str
    at: float
    answers: tuple[Message, ...]

    @property
    def word(self) -> str:
        return self.text.split()[0]

    @property
    def refused(self) -> bool:
        return any(is_refusal(answer.text) for answer in self.answers)

    def __str__(self) -> str:
        return f"{self.text.splitlines()[0][:50]!r} of {self.by} in {self.place}"


def judge(evidence: Evidence, played: Sequence[Played]) -> Verdict:
    """All checks."""
    verdict = Verdict()
    caused: dict[str, list[Record]] = defaultdict(list)
    for record in evidence.records:
        caused[record.event.cause or ""].append(record)
    asked = list(_commands(evidence))
    verdict.commands = len(asked)
    for command in asked:
        _judge_command(verdict, command, [r.event for r in caused[command.msgid]])
    _judge_log(verdict, evidence.records)
    for room in evidence.rooms:
        _judge_room(verdict, evidence, room, asked)
    _judge_numbers(verdict, evidence, asked)
    for one in played:
        _judge_story(verdict, evidence, one)
    return verdict


# Commands


def _commands(evidence: Evidence) -> Iterator[Asked]:
    places = {name: room.lines for name, room in evidence.rooms.items()}
    everywhere = {"#tasks": evidence.control, **places}
    answers: dict[str, list[Message]] = defaultdict(list)
    for lines in (*everywhere.values(), *evidence.private.values()):
        for line in lines:
            if line.tags.get("account") == CONTROLLER and REPLY_TAG in line.tags:
                answers[line.tags[REPLY_TAG]].append(line)
    for place, lines in (*everywhere.items(), *evidence.private.items()):
        for line in lines:
            by = line.tags.get("account", "")
            if by in PEOPLE and line.command == "PRIVMSG" and line.text.startswith("!"):
                msgid = line.tags["msgid"]
                at = datetime.fromisoformat(line.tags["time"]).timestamp()
                yield Asked(place, by, line.text, msgid, at, tuple(answers[msgid]))


def _judge_command(verdict: Verdict, asked: Asked, events: list[Event]) -> None:
    if asked.word == UNKNOWN:
        return
    if not asked.answers:
        verdict.lost.append(f"no answer to {asked}")
    if len({m.tags["msgid"] for m in asked.answers}) > 1:
        verdict.doubled.append(f"{len(asked.answers)} answers to {asked}")
    if any("expired" in m.text or "did not work" in m.text for m in asked.answers):
        verdict.lost.append(f"{asked}: {asked.answers[0].text}")
    done = _done(asked, events)
    if done is None or not asked.answers:
        return
    if len(done) > 1:
        verdict.doubled.append(f"{len(done)} effects of {asked}")
    if asked.refused and done:
        verdict.lost.append(f"{asked} was refused and carried out: {asked.answers[0].text}")
    if not asked.refused and not done:
        verdict.lost.append(f"{asked} was answered and not carried out: {asked.answers[0].text}")


def _done(asked: Asked, events: list[Event]) -> list[Event] | None:
    """Its effect in the log; None = it has none there."""
    if asked.word == "!new":
        return [event for event in events if event.kind == "task_created"]
    if asked.word == "!desc" and len(asked.text.split()) > 1:
        if any("frozen" in answer.text for answer in asked.answers):
            return None
        return [event for event in events if event.fields.get("field") == "description"]
    if asked.word in MOVES:
        wanted = MOVES[asked.word]
        moves = [event for event in events if event.kind == "status"]
        return [e for e in moves if wanted is None or e.fields["status"] == wanted]
    return None


# The log


def _judge_log(verdict: Verdict, records: Sequence[Record]) -> None:
    """Each transition once and after the one before; each directive and each worker once."""
    revs: dict[str, int] = defaultdict(int)
    states: dict[str, str] = {}
    once: Counter[tuple[object, ...]] = Counter()
    for record in records:
        event, fields = record.event, record.event.fields
        task = event.task or ""
        if event.kind == "task_created":
            states[task] = "pending"
            once["created", task] += 1
        if event.kind == "worker_spawned":
            once["spawned", task, fields["attempt"]] += 1
        if event.kind == "worker_exited":
            once["exited", task, revs[task], fields["worker"]] += 1
        if event.kind == "status" and (seq := fields.get("seq")):
            once["directive", task, fields["attempt"], seq] += 1
            verdict.directives += 1
        if event.kind == "status" and event.cause:
            once["moved by", event.cause, task, fields["status"]] += 1
        if _is_move(event):
            _judge_step(verdict, event, revs, states)
    verdict.doubled += [f"{count} x {what}" for what, count in once.items() if count > 1]


def _is_move(event: Event) -> bool:
    return event.kind == "status" and event.fields["status"] != event.fields["prev_status"]


def _judge_step(
    verdict: Verdict, event: Event, revs: dict[str, int], states: dict[str, str]
) -> None:
    task, rev, fields = event.task or "", event.fields["rev"], event.fields
    if rev <= revs[task]:
        verdict.doubled.append(f"rev {rev} of {task} after {revs[task]}")
    elif rev > revs[task] + 1:
        verdict.lost.append(f"the log of {task} goes from rev {revs[task]} to {rev}")
    elif fields["prev_status"] != states.get(task):
        verdict.lost.append(f"{task} leaves {fields['prev_status']}, it was {states.get(task)}")
    revs[task] = max(rev, revs[task])
    states[task] = fields["status"]


# Rooms


def _judge_room(verdict: Verdict, evidence: Evidence, name: str, asked: Sequence[Asked]) -> None:
    room, problems = evidence.rooms[name], Problems()
    task = from_metadata(name, room.metadata, "", problems)
    wrong = [f"{name}: {problem}" for problem in problems]
    wrong += _differences(evidence, task)
    wrong += _text_differences(evidence, task, asked)
    expected = format_topic(task.status, title_from(_description(room.metadata)))
    if room.topic != expected:
        wrong.append(f"{name}: topic {room.topic!r} for {expected!r}")
    if ("M" in room.modes) != (task.status is Status.BLOCKED):
        wrong.append(f"{name}: modes {room.modes} while {task.status}")
    verdict.drifted += [*wrong, *_worker_differences(evidence, task)]


def _differences(evidence: Evidence, task: Task) -> Iterator[str]:
    """METADATA and the newest transition of the log."""
    mine = [r.event for r in evidence.records if r.event.task == task.channel]
    moves = [
        e for e in mine if e.kind == "status" and e.fields["status"] != e.fields["prev_status"]
    ]
    created = [e for e in mine if e.kind == "task_created"]
    if not created:
        yield f"{task.channel} is not in the log"
        return
    if task.requester != created[0].fields.get("requester"):
        yield f"{task.channel}: requester {task.requester}"
    logged = (moves[-1].fields["status"], moves[-1].fields["rev"]) if moves else ("pending", 0)
    if (str(task.status), task.times.rev) != logged:
        yield f"{task.channel}: METADATA {task.status} rev {task.times.rev}, log {logged}"
    attempts = [e.fields["attempt"] for e in moves if e.fields.get("attempt")]
    if task.run.attempt != max(attempts, default=0):
        yield f"{task.channel}: attempt {task.run.attempt}, log {max(attempts, default=0)}"
    exits = sum(e.kind == "worker_exited" for e in mine)
    if exits > task.run.attempt:
        yield f"{task.channel}: {exits} workers left in {task.run.attempt} attempts"


def _text_differences(evidence: Evidence, task: Task, asked: Sequence[Asked]) -> Iterator[str]:
    """The description is what the accepted commands make of it, in the order of the log."""
    by_msgid = {command.msgid: command for command in asked}
    text = ""
    for record in evidence.records:
        event = record.event
        changes = event.kind == "task_created" or event.fields.get("field") == "description"
        if event.task == task.channel and changes and event.cause in by_msgid:
            said = by_msgid[event.cause].text.partition(" ")[2].strip()
            text = f"{text}\n{said[1:].strip()}".strip() if said.startswith("+") else said
    stored = _description(evidence.rooms[task.channel].metadata)
    if stored != text:
        yield f"{task.channel}: description {stored[-60:]!r} for {text[-60:]!r}"


def _description(metadata: Mapping[str, str]) -> str:
    try:
        return description.from_pieces(metadata)
    except description.DescriptionDamaged as error:
        return f"(damaged: {error})"


def _worker_differences(evidence: Evidence, task: Task) -> Iterator[str]:
    worker = evidence.workers.get(task.number)
    if worker is None and task.status is Status.IN_PROGRESS:
        yield f"{task.channel} is in progress without a worker"
    if worker is not None and worker.attempt != task.run.attempt:
        yield f"{task.channel}: worker of attempt {worker.attempt}, run {task.run.attempt}"
    if worker is not None and task.status in GONE:
        yield f"{task.channel} is {task.status}, and its worker lives"


def _judge_numbers(verdict: Verdict, evidence: Evidence, asked: Sequence[Asked]) -> None:
    numbers = [c.number for name in evidence.rooms if (c := parse_task_channel(name))]
    if len(set(numbers)) != len(numbers):
        verdict.doubled.append("a number of a task was given twice")
    following = int(evidence.tasks_metadata.get("next_task", "1"))
    if following != max(numbers, default=0) + 1:
        verdict.drifted.append(f"next_task {following} after task {max(numbers, default=0)}")
    heard = max((c.at for c in asked if c.place.startswith("#")), default=0.0)
    watermark = float(evidence.tasks_metadata.get("watermark", "0"))
    if watermark + 0.002 < heard:
        verdict.drifted.append(f"the watermark is {heard - watermark:.3f} s behind the last line")


# Stories


def _judge_story(verdict: Verdict, evidence: Evidence, played: Played) -> None:
    story, name = played.story, played.room
    if played.stalled:
        verdict.lost.append(f"{story.name} {name}: {played.stalled}")
        return
    room = evidence.rooms.get(name)
    if room is None:
        verdict.lost.append(f"{name} of {story.name} is gone")
        return
    if room.metadata.get("status") != story.end:
        verdict.lost.append(f"{name}: {room.metadata.get('status')} for {story.end}")
    files = evidence.files.get(name, {})
    for path, content in story.files.items():
        if files.get(path) != content:
            verdict.lost.append(f"{name}: {path} holds {files.get(path)!r} for {content!r}")
    transcript = evidence.transcripts.get(name, "")
    verdict.lost += [f"{name}: {line!r} was not heard" for line in story.heard
                     if line not in transcript]  # fmt: skip
    _judge_once(verdict, evidence, played, files)


def _judge_once(
    verdict: Verdict, evidence: Evidence, played: Played, files: Mapping[str, str]
) -> None:
    """A step runs once; only a worker that died in it leaves doubt whether it was run."""
    name = played.room
    task = from_metadata(name, evidence.rooms[name].metadata, "", Problems())
    for path in played.story.once:
        runs = len(files.get(path, "").splitlines())
        if runs == 0 or (runs > 1 and task.run.attempt == 1):
            kind = verdict.doubled if runs else verdict.lost
            kind.append(f"{name}: the step of {path} ran {runs} times")
