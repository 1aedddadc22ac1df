"""What people say, from a seed: stories of tasks, and commands that only look. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from shared.task import Status

OWNERS = ("alice", "bob", "carol", "dave")
BOSS = "boss"
STRANGER = "mallory"
"""Has an account, owns nothing, and tries."""
PEOPLE = (*OWNERS, BOSS, STRANGER)
ANSWER = "the night shift"

ROOM, CONTROL, PRIVATE = "room", "#tasks", "controller"
"""Where something is said: in the task's room, in #tasks, to the controller alone."""

ANY = frozenset(Status)
_P, _I, _B, _V = Status.PENDING, Status.IN_PROGRESS, Status.BLOCKED, Status.FOR_REVIEW


@dataclass(frozen=True, slots=True)
class New:
    """`!new`, and the room that it makes."""

    who: str
    text: str
    where: str = CONTROL


@dataclass(frozen=True, slots=True)
class Say:
    """Once, and on to the next act without waiting for an answer."""

    who: str
    text: str
    where: str = ROOM
    when: frozenset[Status] = ANY


@dataclass(frozen=True, slots=True)
class Insist:
    """In one of these states; again where it was refused because the state had just changed."""

    who: str
    text: str
    when: frozenset[Status]


@dataclass(frozen=True, slots=True)
class Finish:
    """Until it is handed in with these files: answer its questions, bring it back when lost."""

    who: str


Act: TypeAlias = New | Say | Insist | Finish


@dataclass(frozen=True, slots=True)
class Story:
    """One task, from its `!new` on."""

    name: str
    owner: str
    acts: tuple[Act, ...]
    end: Status
    files: Mapping[str, str] = field(default_factory=dict)
    """What must stand in its workspace at the end."""
    once: tuple[str, ...] = ()
    """Files to which each run of a step adds a line."""
    heard: tuple[str, ...] = ()
    """Plain lines that must reach the worker."""

    @property
    def size(self) -> int:
        """Lines that people say at least."""
        return sum(not isinstance(act, Finish) for act in self.acts)


def make_script(seed: int, size: int) -> list[Story]:
    """Stories of about `size` lines together; those of one seed are always the same."""
    rng = Random(seed)
    stories: list[Story] = []
    while size > sum(story.size for story in stories):
        number = len(stories) + 1
        # each kind once before any comes again: the short form has them all
        kind = _KINDS[number - 1] if number <= len(_KINDS) else rng.choice(_KINDS)
        stories.append(_with_looks(kind(rng, f"s{number}"), rng))
    return stories


def _plain(rng: Random, name: str) -> Story:
    draft = _Draft(rng, name)
    owner = draft.owner
    acts: list[Act] = [draft.new()]
    extra = tuple(f"more-{i}.txt" for i in range(rng.randint(0, 2)))
    acts += [Say(owner, f"!desc +write {path}: {name}") for path in extra]
    draft.files |= dict.fromkeys(extra, f"{name}\n")
    acts += [_ready(owner), Finish(owner), _complete(owner, rng)]
    if rng.random() < 0.5:
        return draft.story([*acts, _archive(owner)], Status.ARCHIVED)
    return draft.story(acts, Status.DONE)


def _hesitant(rng: Random, name: str) -> Story:
    """Back and forth at once: whether !unready is in time is for the controller to say."""
    draft = _Draft(rng, name)
    owner = draft.owner
    note = f"note of {name}: keep it short"
    back = Say(owner, "!unready")
    return draft.story(
        [draft.new(), Say(owner, note), _ready(owner), back, Finish(owner)], _V, heard=(note,)
    )


def _asking(rng: Random, name: str) -> Story:
    draft = _Draft(rng, name, "ask Whom shall it name?", "write answer.txt: {answer}")
    draft.files["answer.txt"] = f"{ANSWER}\n"
    owner = draft.owner
    return draft.story(
        [draft.new(), _ready(owner), Finish(owner), _complete(owner, rng)], Status.DONE
    )


def _killed(rng: Random, name: str) -> Story:
    draft = _Draft(rng, name, "run sleep 2")
    owner = draft.owner
    kill = Insist(rng.choice((owner, BOSS)), "!kill", frozenset({_I, _V}))
    back = Insist(owner, "!reopen go on", frozenset({_B}))
    return draft.story([draft.new(), _ready(owner), kill, back, Finish(owner)], _V)


def _stopped(rng: Random, name: str) -> Story:
    draft = _Draft(rng, name, "run sleep 3")
    owner = draft.owner
    stop = Say(owner, "!stop", when=frozenset({_I, _V}))
    return draft.story(
        [draft.new(), _ready(owner), stop, Finish(owner), _complete(owner, rng)], Status.DONE
    )


def _reworked(rng: Random, name: str) -> Story:
    draft = _Draft(rng, name)
    owner = draft.owner
    start = rng.choice((_V, Status.DONE))
    acts: list[Act] = [draft.new(), _ready(owner), Finish(owner)]
    if start is Status.DONE:
        acts.append(_complete(owner, rng))
    back = Insist(owner, "!reopen it needs another look", frozenset({start}))
    return draft.story([*acts, back, Finish(owner), _complete(owner, rng)], Status.DONE)


def _steered(rng: Random, name: str) -> Story:
    draft = _Draft(rng, name, "run sleep 1.5")
    owner = draft.owner
    line = f"write steer-{name}.txt: {name}"
    draft.files[f"steer-{name}.txt"] = f"{name}\n"
    steer = Say(owner, line, when=frozenset({_I, _V}))
    return draft.story(
        [draft.new(), _ready(owner), steer, Finish(owner), _complete(owner, rng)],
        Status.DONE,
        heard=(line,),
    )


def _left(rng: Random, name: str) -> Story:
    """A long draft that is written anew and never started."""
    draft = _Draft(rng, name)
    owner = draft.owner
    long = "\n".join(f"{name} line {i}: Prüfe den 🛒 im «Checkout»" for i in range(60))
    acts: list[Act] = [draft.new(), Say(owner, f"!desc {long}"), Say(owner, "!desc +and the end")]
    if rng.random() < 0.5:
        acts.append(_archive(owner))
    end = Status.ARCHIVED if len(acts) == 4 else _P
    return Story(name, owner, tuple(acts), end)


def _abandoned(rng: Random, name: str) -> Story:
    draft = _Draft(rng, name, "run sleep 2")
    owner = draft.owner
    away = Insist(owner, "!archive", frozenset({_I, _V}))
    return Story(name, owner, (draft.new(), _ready(owner), away), Status.ARCHIVED)


_KINDS: tuple[Callable[[Random, str], Story], ...] = (
    _plain, _asking, _killed, _steered, _left, _reworked, _stopped, _hesitant, _abandoned,
)  # fmt: skip


class _Draft:
    """A description with steps, and what they leave behind."""

    def __init__(self, rng: Random, name: str, *steps: str) -> None:
        self.owner = rng.choice(OWNERS)
        self.name = name
        self.files = {"out.txt": f"{name}\n"}
        self._where = PRIVATE if rng.random() < 0.15 else CONTROL
        lines = (f"story {name}", f"write out.txt: {name}", "run echo x >> once.txt", *steps)
        self._text = "\n".join(lines)

    def new(self) -> New:
        return New(self.owner, f"!new {self._text}", self._where)

    def story(self, acts: list[Act], end: Status, heard: tuple[str, ...] = ()) -> Story:
        return Story(self.name, self.owner, tuple(acts), end, self.files, ("once.txt",), heard)


def _ready(owner: str) -> Insist:
    return Insist(owner, "!ready", frozenset({_P}))


def _complete(owner: str, rng: Random) -> Insist:
    return Insist(rng.choice((owner, BOSS)), "!complete", frozenset({_V}))


def _archive(owner: str) -> Insist:
    return Insist(owner, "!archive", ANY)


_LOOKS = (
    ("!tasks", CONTROL), ("!tasks mine", ROOM), ("!status", ROOM), ("!ping", CONTROL),
    ("!tasks all", PRIVATE), ("!help new", ROOM), ("!ping", PRIVATE), ("!version", CONTROL),
    ("!desc", ROOM), ("!status 1", CONTROL), ("!frobnicate", ROOM),
)  # fmt: skip
_TRIES = ("!complete", "!kill", "!archive", "!desc all mine")


def _with_looks(story: Story, rng: Random) -> Story:
    """Others ask in between, and try what they may not; none of it changes anything."""
    acts: list[Act] = [story.acts[0]]
    for act in story.acts[1:]:
        if rng.random() < 0.35:
            acts.append(Say(STRANGER, rng.choice(_TRIES)))
        if rng.random() < 0.55:
            text, where = rng.choice(_LOOKS)
            acts.append(Say(rng.choice(PEOPLE), text, where))
        acts.append(act)
    return Story(
        story.name, story.owner, tuple(acts), story.end, story.files, story.once, story.heard
    )
