"""Whatever happens in whatever order, some things hold."""

from __future__ import annotations

import itertools
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from shared import directives as orders
from shared.task import Status, Usage
from worker.agent.events import RunEnd, RunReason
from worker.allowance import Allowances
from worker.conversation import NOTED, READ, Conversation
from worker.effects import (
    Abort,
    Action,
    Confirm,
    Continue,
    Direct,
    Directed,
    Entered,
    FindLine,
    Heard,
    Input,
    Leave,
    LineFound,
    Note,
    Prepared,
    Prompt,
    Refuse,
    Role,
    RoomLine,
    RunOver,
    Say,
    Steer,
    Terminate,
    Tick,
    TurnBegan,
    TurnOver,
)
from worker.session import Phase, Session, SessionConfig

MSGIDS = [f"{n:020d}" for n in range(4)]
LINES = st.builds(
    RoomLine,
    account=st.sampled_from(["alice", "maud", "bob"]),
    role=st.sampled_from(Role),
    text=st.sampled_from(["yes", "no", "[status] done"]),
    msgid=st.sampled_from(MSGIDS),
)
DIRECTIVES = st.one_of(
    st.just(orders.Stop("alice")),
    st.builds(orders.Resume, st.sampled_from([*MSGIDS, "a note", ""])),
    st.builds(
        orders.Say, st.just("alice"), st.just("requester"), st.sampled_from(MSGIDS), st.just("x")
    ),
    st.builds(orders.Budget, st.just(20.0)),
    st.builds(orders.Leave, st.just("done")),
    st.just(orders.UnknownDirective("[x]")),
)
HAPPENINGS = st.one_of(
    st.builds(Heard, LINES),
    st.builds(Directed, DIRECTIVES, st.just("controller"), st.just("")),
    st.just(Prepared("do it", "ROOM-1")),
    st.just(TurnBegan()),
    st.builds(Entered, st.sampled_from(MSGIDS)),
    st.builds(TurnOver, st.builds(Usage, cost_usd=st.floats(0, 30), turns=st.integers(0, 9))),
    st.builds(
        RunOver,
        st.builds(
            RunEnd, st.sampled_from(RunReason), st.sampled_from(["", "[[BLOCKED]] why?", "done"])
        ),
    ),
    st.builds(LineFound, st.sampled_from(MSGIDS), st.none() | LINES),
    st.just(Tick()),
    st.just(Terminate()),
)


class World:
    """What the bridge and the agent would look like from outside."""

    def __init__(self) -> None:
        config = SessionConfig("alice", 100.0, Allowances(50.0, 10.0, 20), Usage())
        self.session = Session(config, Conversation("#task-1", "members"), 0.0)
        self.prepared = False
        self.running = False
        self.aborted = False
        self.left = False
        self.open: set[str] = set()

    def can_happen(self, happening: Input) -> bool:
        if isinstance(happening, Prepared):
            return not self.prepared
        if isinstance(happening, RunOver):
            return self.running and (happening.end.reason is not RunReason.ABORTED or self.aborted)
        return self.running or not isinstance(happening, TurnBegan | TurnOver | Entered)

    def happens(self, happening: Input, now: float) -> None:
        if isinstance(happening, Directed):
            self.open.add(happening.msgid)
        if isinstance(happening, Prepared):
            self.prepared = True
        if isinstance(happening, RunOver):
            self.running = self.aborted = False
        for action in self.session.feed(happening, now):
            self.check(action)

    def check(self, action: Action) -> None:
        match action:
            case Prompt(text):
                assert (self.prepared, self.running, self.left) == (True, False, False)
                assert text.strip()
                self.running = True
            case Continue():
                assert (self.prepared, self.running, self.left) == (True, False, False)
                self.running = True
            case Steer(text):
                assert self.running
                assert text.strip()
            case Abort():
                assert self.running
                self.aborted = True
            case Confirm(_, msgid) | Refuse(_, msgid):
                assert msgid in self.open
                self.open.remove(msgid)
            case Say(text):
                assert text.strip()
            case Direct(orders.StatusReport(status)):
                assert status in (Status.IN_PROGRESS, Status.BLOCKED, Status.FOR_REVIEW)
                assert self.running or status is not Status.IN_PROGRESS
            case Leave():
                assert not self.running
                self.left = True
            case FindLine():
                assert not self.running
            case _:
                pass


@settings(max_examples=300)
@given(st.booleans(), st.lists(st.tuples(HAPPENINGS, st.floats(0, 60)), max_size=40))
def test_one_run_at_a_time_and_every_directive_is_answered_once(
    at_work: bool, story: list[tuple[Input, float]]
) -> None:
    world, now = World(), 0.0
    if at_work:
        world.happens(Prepared("do it", "ROOM-1"), now)
    for number, (happening, pause) in enumerate(story):
        now += pause
        if isinstance(happening, Directed):
            happening = Directed(happening.directive, "controller", f"d{number}")
        if world.can_happen(happening):
            world.happens(happening, now)
    if world.running:
        world.aborted = True
        world.happens(RunOver(RunEnd(RunReason.ABORTED)), now)
    assert world.open == set()


class People:
    """The agent behind a session as a queue and a log: what was said, and what got to the model."""

    def __init__(self, steer: str) -> None:
        config = SessionConfig("alice", 1e9, Allowances(1e9, 0.0, 20), Usage())
        self.session = Session(config, Conversation("#task-1", steer), 0.0)
        self.said: list[str] = []
        self.read: list[str] = []
        """Texts of messages in the conversation."""
        self.pending: list[Steer] = []
        self.receipts: list[Action] = []
        self.running = False
        self.numbers = itertools.count(1)

    def feed(self, happening: Input) -> None:
        for action in self.session.feed(happening, 0.0):
            match action:
                case Prompt(text, reference):
                    assert not self.running
                    self.running = True
                    self.take_turn()
                    self.read.append(text)
                    self.feed(Entered(reference))
                case Continue():
                    assert not self.running
                    assert self.pending
                    self.running = True
                    self.take_turn()
                case Steer():
                    self.pending.append(action)
                case Note("↪ noted") | Note("↪ read"):
                    self.receipts.append(action)
                case _:
                    pass

    def take_turn(self) -> None:
        taken, self.pending = self.pending, []
        for steered in taken:
            self.read.append(steered.text)
            self.feed(Entered(steered.reference))

    def say(self, role: Role, *, elsewhere: bool = False) -> str:
        number = next(self.numbers)
        text, msgid = f"<{number}>", f"{number:020d}"
        self.said.append(text)
        account = "alice" if role is Role.REQUESTER else role.value
        if elsewhere:
            self.direct(orders.Say(account, role.value, msgid, text))
        else:
            self.feed(Heard(RoomLine(account, role, text, msgid)))
        return msgid

    def direct(self, directive: orders.ToWorker) -> None:
        self.feed(Directed(directive, "controller", f"d{next(self.numbers)}"))

    def step(self, name: str) -> None:
        match name:
            case "requester" | "maintainer" | "member":
                self.say(Role(name))
            case "elsewhere":
                self.say(Role.REQUESTER, elsewhere=True)
            case "answer":
                self.direct(orders.Resume(self.say(Role.REQUESTER)))
            case "answer unheard":
                self.answer_unheard()
            case "note" if self.session.phase is not Phase.STARTING:
                self.said.append(f"<{next(self.numbers)}>")
                self.direct(orders.Resume(self.said[-1]))
            case "old answer" if self.said:
                self.direct(orders.Resume(f"{int(self.said[0][1:-1]):020d}"))
            case "stop":
                self.direct(orders.Stop("alice"))
            case _:
                self.agent_step(name)

    def agent_step(self, name: str) -> None:
        match name:
            case "turn" if self.running:
                self.take_turn()
            case "prepared" if self.session._prepared is None:
                self.feed(Prepared("do it", "ROOM-1"))
            case _ if name in set(RunReason) and self.running:
                self.running = False
                self.feed(RunOver(RunEnd(RunReason(name), "text")))
            case _:
                pass

    def answer_unheard(self) -> None:
        """It was said while we were away, and something else is said while it is looked up."""
        number = next(self.numbers)
        line = RoomLine("alice", Role.REQUESTER, f"<{number}>", f"{number:020d}")
        self.direct(orders.Resume(line.msgid))
        self.step("requester")
        found = self.session.phase is Phase.BLOCKED
        self.said += [line.text] * found
        self.feed(LineFound(line.msgid, line if found else None))

    def settle(self) -> None:
        for name in ("prepared", "completed", "answer", "maintainer", "turn", "completed"):
            self.step(name)
        self.step("answer")
        self.step("turn")


STEPS = st.sampled_from(
    [
        *(
            "requester",
            "maintainer",
            "member",
            "elsewhere",
            "answer",
            "answer unheard",
            "note",
            "old answer",
        ),
        *("stop", "turn", "turn", "prepared", "completed", "blocked", "aborted", "error"),
    ]
)


@settings(max_examples=500)
@given(st.sampled_from(["members", "requester"]), st.lists(STEPS, max_size=25))
def test_what_people_say_reaches_the_model_once_and_in_order(steer: str, story: list[str]) -> None:
    people = People(steer)
    for name in story:
        people.step(name)
    people.settle()
    found = re.findall(r"<\d+>", "\n".join(people.read))
    assert sorted(found) == sorted(people.said)
    if "member" not in story and "note" not in story:
        assert found == people.said
    noted = [receipt for receipt in people.receipts if receipt == NOTED]
    read = [receipt for receipt in people.receipts if receipt == READ]
    assert len(noted) == len(read)
