"""Whatever happens in whatever order, some things hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from shared import directives as orders
from shared.task import Status, Usage
from worker.agent.events import RunEnd, RunReason
from worker.allowance import Allowances
from worker.conversation import Conversation
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
from worker.session import Session, SessionConfig

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
@given(st.lists(st.tuples(HAPPENINGS, st.floats(0, 60)), max_size=40))
def test_one_run_at_a_time_and_every_directive_is_answered_once(
    story: list[tuple[Input, float]],
) -> None:
    world, now = World(), 0.0
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
