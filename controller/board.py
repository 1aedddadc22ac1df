"""All tasks in memory: a cache of what IRC holds, with what is only known now. Pure.

Keys are folded channel names. Nothing here is stored; `rebuild` makes it again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from controller.effects import Spoken
from controller.nicks import Pool
from controller.spawner import WorkerList, WorkerRef, WorkerSeen, WorkerState
from shared.ircv3.casemap import Folded, fold
from shared.outbox import Inbox
from shared.task import Status, Task

OPEN = frozenset(Status) - {Status.DONE, Status.ARCHIVED}
_REMEMBERED_LINES = 20


@dataclass(slots=True)
class Live:
    """What is known of a task now and stands in no store; times are unix seconds."""

    present_since: float | None = None
    """The worker of this attempt is in the task's channel since; None = it is not."""
    absent_since: float | None = None
    """It is alive and not in its channel since."""
    started_at: float = 0.0
    """Last start that we asked for; lists asked before it prove nothing."""
    spawning: bool = False
    """A start is on its way to the engine."""
    leaving: str = ""
    """Why the worker of this attempt is to leave, in a word of `worker_exited.reason`."""
    dismissed: bool = False
    """It was told to leave, by us in this life."""
    ending_at: float | None = None
    """Its end was asked of the engine at; None = it was not."""
    nicks: dict[Folded, str | None] = field(default_factory=dict)
    """Who is in the channel: folded nick -> account."""
    spelling: dict[Folded, str] = field(default_factory=dict)
    """Folded nick -> nick as it is written."""
    question: str = ""
    last_activity: float = 0.0
    notes: int = 0
    """Lines of people before pick-up, as far as we heard them."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_LINES))
    """msgids of the last plain lines of people who may wake its worker."""
    unheard: deque[Spoken] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_LINES))
    """Lines of people since the worker's last words: if it blocks now, one may be the answer."""
    inbox: Inbox = field(default_factory=Inbox)
    """Of the current attempt."""
    refused: dict[int, str] = field(default_factory=dict)
    """seq -> why that directive was refused."""
    hinted_at: float = 0.0
    retry_at: float = 0.0
    """Not started again before."""
    refusals: int = 0
    """Transient refusals of a start in a row."""
    stuck_since: float | None = None
    """An earlier attempt is not proven gone since."""
    stuck_said: bool = False


class Board:
    """Tasks by channel, with the queries that commands and dispatch need."""

    def __init__(self) -> None:
        self._tasks: dict[Folded, Task] = {}
        self._live: dict[Folded, Live] = {}
        self._by_status: dict[Status, set[Folded]] = {status: set() for status in Status}
        self._by_number: dict[int, Folded] = {}
        self._names: Counter[Folded] = Counter()
        self.next_number = 1
        self.watermark = 0.0
        """Server time up to which every line is dealt with."""
        self.pool = Pool()
        self.workers: WorkerList | None = None
        """The last list; None = none yet."""
        self.workers_asked_at = 0.0
        self._rows: dict[int, list[WorkerSeen]] = {}
        self.failed_starts = 0
        """In a row, over all tasks."""
        self.dispatch_after = 0.0
        self.orphans: dict[WorkerRef, float] = {}
        """Workers without a task, and since when they are known."""
        self.snapshot_at = 0.0

    def put(self, task: Task) -> None:
        key = fold(task.channel)
        old = self._tasks.get(key)
        if old is not None:
            self._by_status[old.status].discard(key)
            self._names[_name(old)] -= 1
        self._names[_name(task)] += 1
        self._tasks[key] = task
        self._by_status[task.status].add(key)
        self._by_number[task.number] = key
        self.next_number = max(self.next_number, task.number + 1)

    def drop(self, channel: str) -> None:
        """Its channel is gone; its number stays used."""
        key = fold(channel)
        task = self._tasks.pop(key, None)
        if task is not None:
            self._by_status[task.status].discard(key)
            self._names[_name(task)] -= 1
            del self._by_number[task.number]

    def get(self, channel: str) -> Task | None:
        return self._tasks.get(fold(channel))

    def by_number(self, number: int) -> Task | None:
        key = self._by_number.get(number)
        return None if key is None else self._tasks[key]

    def live(self, channel: str) -> Live:
        return self._live.setdefault(fold(channel), Live())

    def oldest_unheard(self) -> float | None:
        """Server time of the first line that may still turn out to be an answer."""
        lines = [line for task in self.active() for line in self.live(task.channel).unheard]
        return min((line.at for line in lines), default=None)

    def last_activity(self, task: Task) -> float:
        """When something last happened to it, as far as we know."""
        live = self._live.get(fold(task.channel))
        entered = max(task.times.entered.values(), default=task.created)
        return entered if live is None else max(live.last_activity, entered)

    def take_number(self) -> int:
        number = self.next_number
        self.next_number += 1
        return number

    def __iter__(self) -> Iterator[Task]:
        """Oldest first; what goes on meanwhile does not disturb it."""
        return iter(list(self._tasks.values()))

    def __len__(self) -> int:
        return len(self._tasks)

    def having(self, *statuses: Status) -> list[Task]:
        """Tasks in one of these states, by N."""
        keys = [key for status in statuses for key in self._by_status[status]]
        return sorted((self._tasks[key] for key in keys), key=lambda task: task.number)

    def active(self) -> list[Task]:
        """Tasks that hold a slot: an agent has them in progress."""
        return [t for t in self.having(Status.IN_PROGRESS) if t.run.spawned != "human"]

    def queue(self) -> list[Task]:
        """Ready tasks in the order in which they start (design 10)."""
        return sorted(self.having(Status.READY), key=_place)

    def is_worker(self, account: str | None) -> bool:
        """A worker's account: it has no role and its text is no command."""
        return bool(account) and (
            self.pool.lists(account or "") or self._names[fold(account or "")] > 0
        )

    def names_taken(self) -> set[Folded]:
        """Names that unarchived tasks hold."""
        return {name for name, tasks in self._names.items() if name and tasks > 0}

    def listed(self, found: WorkerList, asked_at: float) -> None:
        """Keep a new list of the engine's workers."""
        self.workers, self.workers_asked_at = found, asked_at
        self._rows = {}
        for row in found.workers:
            self._rows.setdefault(row.ref.task, []).append(row)
        self.next_number = max(self.next_number, found.highest_task + 1)

    def rows(self, task: Task) -> list[WorkerSeen]:
        """What the last list says of this task's workers, of any attempt."""
        return self._rows.get(task.number, [])

    def seen(self, task: Task) -> list[WorkerRef]:
        """Its workers that the last list shows as not ended."""
        return [row.ref for row in self.rows(task) if row.state is not WorkerState.ENDED]

    def proven_gone(self, task: Task) -> bool:
        """A complete list, asked after the last start, shows no worker of this task."""
        live = self.live(task.channel)
        return (
            self.workers is not None
            and self.workers.complete
            and not live.spawning
            and self.workers_asked_at > live.started_at
            and not self.seen(task)
        )

    def worker_stays(self, task: Task) -> bool:
        """A live worker of the current attempt is there and is not about to leave."""
        live = self.live(task.channel)
        if task.run.attempt == 0 or task.run.exited is not None or live.leaving:
            return False
        if live.present_since is not None:
            return True
        return live.spawning or not self.proven_gone(task)

    def nick_of(self, channel: str, account: str) -> str:
        """How this account is called in the channel; its own name where it is not there."""
        live = self.live(channel)
        wanted = fold(account)
        for nick, owner in live.nicks.items():
            if owner is not None and fold(owner) == wanted:
                return live.spelling[nick]
        return account


def _place(task: Task) -> tuple[float, int, int, int]:
    front = task.run.front
    return (
        float("inf") if front is None else front,
        -task.priority,
        task.times.entered.get(Status.READY, 0),
        task.number,
    )


def _name(task: Task) -> Folded:
    """The worker's name that a task holds; "" = none."""
    return fold(task.run.worker or "") if task.status is not Status.ARCHIVED else fold("")
