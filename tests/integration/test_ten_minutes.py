"""A worker that has lost the controller for ten minutes goes on, and delivers when it is back.

The worker's lane and the controller's core, with a server on paper and the time as an argument.
"""

from __future__ import annotations

from controller.core import Core
from controller.effects import Confirm, Job, Publish, Refuse
from controller.spawner import WorkerList
from shared.directives import CONTROL_TAG, Bye, ControlTag, Meta, StatusReport
from shared.task import Status
from tests.support.core_story import Story, effects
from tests.support.paper_server import PaperServer
from worker.lane import Lane

MINUTES = 10
TURN_SECONDS = 20


class Both:
    """Their lines reach each other at once while the controller is there."""

    def __init__(self) -> None:
        self.story = Story()
        self.server = PaperServer()
        self.lane = Lane()
        self.present = True
        self.sent = 0
        for jobs in (
            self.story.sweep(after=0),
            self.story.say("!new Write a haiku"),
            self.story.say("!ready", "#task-1"),
            self.story.spawned(),
            self.story.join("HAL-9000"),
        ):
            self.take(jobs)

    def take(self, jobs: list[Job]) -> None:
        for effect in effects(jobs):
            self.server.take([effect], self.story.now)
            if isinstance(effect, Confirm | Refuse):
                self.lane.confirmed(effect.msgid)

    def exchange(self) -> None:
        """All that is due now."""
        while (entry := self.lane.due(self.story.now)) is not None:
            self.sent += 1
            tags = {CONTROL_TAG: str(ControlTag(1, 1, entry.seq))}
            line = self.story.line(entry.text, "#task-1", nick="HAL-9000", tags=tags)
            self.lane.sent(entry, line.msgid)
            if self.present:
                self.take(self.story.feed(line))

    def come_back(self) -> None:
        """A new controller, which the worker sees join."""
        workers = WorkerList(tuple(self.story.alive.values()), complete=True)
        rebuilt = self.server.read(self.story.settings, self.story.now, workers)
        self.story.core = Core(self.story.settings, rebuilt)
        self.present = True
        self.take(self.story.core.begin(self.story.now))
        self.take(self.story.join("HAL-9000", live=False))
        self.lane.hurry()


def told(server: PaperServer) -> list[tuple[str, object]]:
    """(kind, status or cost) of all that a worker caused."""
    return [
        (r.event.kind, r.event.fields.get("status") or r.event.fields.get("cost_usd"))
        for r in server.records
        if r.event.fields.get("seq") or r.event.kind == "cost"
    ]


def test_ten_minutes_of_work_arrive_whole_in_order_and_once() -> None:
    both = Both()
    both.lane.put(StatusReport(Status.IN_PROGRESS))
    both.exchange()
    both.present = False
    for turn in range(MINUTES * 60 // TURN_SECONDS):
        both.story.now += TURN_SECONDS
        both.lane.put(StatusReport(Status.IN_PROGRESS))
        both.lane.put(Meta("cost_usd", f"{turn / 100:.2f}"))
        both.exchange()
    both.lane.put(StatusReport(Status.FOR_REVIEW))
    both.exchange()
    assert both.sent < 40
    both.come_back()
    both.exchange()
    assert both.lane.empty
    assert told(both.server) == [
        *[("status", "in_progress")] * 3,  # before, in flight, and one for all that waited
        ("cost", 0.29),
        ("status", "for_review"),
    ]
    task = both.story.task()
    assert (task.status, task.usage.cost_usd, task.run.attempt) == ("for_review", 0.29, 1)


def test_what_was_confirmed_just_before_is_not_done_again() -> None:
    both = Both()
    both.lane.put(StatusReport(Status.FOR_REVIEW))
    both.exchange()
    again = both.story.line(
        "[status] for_review", "#task-1", nick="HAL-9000", tags={CONTROL_TAG: "1.1.1"}
    )
    both.story.now += MINUTES * 60
    both.come_back()
    jobs = both.story.feed(again)
    assert [type(effect) for effect in effects(jobs)] == [Confirm]
    assert not any(isinstance(effect, Publish) for effect in effects(jobs))


def test_a_worker_that_finished_and_left_meanwhile_is_no_lost_one() -> None:
    both = Both()
    both.present = False
    both.story.now += MINUTES * 60
    both.lane.put(StatusReport(Status.FOR_REVIEW))
    both.lane.put(Bye("idle", "-"))
    both.come_back()
    both.exchange()
    both.take(both.story.ended("completed"))
    task = both.story.task()
    assert (task.status, task.run.exited) == ("for_review", "idle")
