"""Killed between any two effects, the next controller comes to the same board (design 4)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller.effects import Effect, Publish
from shared.task import Task
from tests.support.core_story import NOW, SETTINGS, Story, effects
from tests.support.paper_server import PaperServer

Told = Callable[[Story], list[Effect]]


def whole_life(story: Story) -> list[Effect]:
    """From `!new` to `done`, with a question, a change of title, a reopening and costs."""
    told = [
        story.sweep(after=0),
        story.say("!new Write a haiku\nabout autumn 🍁"),
        story.say("!desc +It must rhyme.", "#task-1"),
        story.say("!ready", "#task-1"),
        story.spawned(),
        story.join("HAL-9000"),
        story.report("[status] in_progress", 1),
        story.report("[meta] title=Haiku", 2),
        story.report("[meta] cost_usd=0.25", 3),
        story.report("[status] blocked question: Which season?", 4),
        story.say("Autumn", "#task-1"),
        story.report("[status] for_review", 5),
        story.say("!reopen once more", "#task-1"),
        story.report("[meta] pr=https://x.example/1 open", 6),
        story.report("[status] for_review", 7),
        story.say("!complete", "#task-1"),
        story.report("[bye] completed -", 8),
        story.ended("completed"),
        story.say("!archive", "#task-1"),
    ]
    return [effect for jobs in told for effect in effects(jobs)]


def a_hard_life(story: Story) -> list[Effect]:
    """Refused starts, a lost worker, a kill, another attempt."""
    told = [
        story.sweep(after=0),
        story.say("!new Write a haiku"),
        story.say("!ready", "#task-1"),
        story.spawn_failed(transient=True),
        story.sweep(after=20),
        story.spawned(),
        story.join("HAL-9000"),
        story.ended("evicted"),
        story.spawned(attempt=2),
        story.join("HAL-9000"),
        story.say("!kill", "#task-1"),
        story.ended("killed", attempt=2),
        story.say("!reopen", "#task-1"),
        story.spawn_failed(transient=False, attempt=3),
        story.say("!archive", "#task-1"),
    ]
    return [effect for jobs in told for effect in effects(jobs)]


def logged(story_effects: list[Effect]) -> tuple[str, int]:
    """Status and rev that the log says; a task that is only made is pending, 0."""
    status, rev = "pending", 0
    for effect in story_effects:
        if isinstance(effect, Publish) and effect.event.kind == "status":
            status, rev = effect.event.fields["status"], effect.event.fields["rev"]
    return status, rev


@pytest.mark.parametrize("life", [whole_life, a_hard_life])
def test_every_gap_is_healed_from_the_log(life: Told) -> None:
    all_effects = life(Story())
    assert len(all_effects) > 60
    for count in range(1, len(all_effects) + 1):
        done = all_effects[:count]
        server = PaperServer()
        server.take(done, NOW)
        rebuilt = server.read(SETTINGS, NOW)
        if not any(isinstance(effect, Publish) for effect in done):
            continue
        (task,) = rebuilt.board
        assert (str(task.status), task.times.rev) == logged(done)
        assert rebuilt.problems == ()
        server.take(effects(rebuilt.repairs), NOW)
        again = server.read(SETTINGS, NOW)
        assert (list(again.board), again.repairs) == ([task], ())


@pytest.mark.parametrize("life", [whole_life, a_hard_life])
def test_a_life_without_a_gap_is_read_back_as_it_was(life: Told) -> None:
    story = Story()
    server = PaperServer()
    server.take(life(story), NOW)
    rebuilt = server.read(SETTINGS, NOW)
    assert (list(rebuilt.board), rebuilt.repairs, rebuilt.needs) == ([story.task()], (), ())


@pytest.mark.parametrize("life", [whole_life, a_hard_life])
def test_the_log_alone_tells_the_same_life(life: Told) -> None:
    """Everything but #firehose and the channel itself is lost."""
    story = Story()
    server = PaperServer()
    server.take(life(story), NOW)
    server.metadata["#task-1"].clear()
    (task,) = server.read(SETTINGS, NOW).board
    assert facts(task) == facts(story.task())


def facts(task: Task) -> tuple[object, ...]:
    run = task.run
    return (
        task.status, task.reason, task.requester, task.assignee, task.times.rev, task.pr,
        run.attempt, run.worker, run.exited, task.usage,
    )  # fmt: skip
