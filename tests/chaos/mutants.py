"""The controller with one bug put in on purpose: the test of the test.

python -m tests.chaos.mutants <name> runs `agent-controller run` with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from controller.__main__ import main
from controller.effects import Effect, Job, Publish, SetMetadata
from controller.engine import Engine
from controller.fence import ANSWER_SECONDS, Fence
from controller.intake import Intake
from controller.runner import Runner


def log_after_metadata() -> None:
    """State first, then the event: what a crash in between leaves is not in the log."""

    def late(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
        states = [i for i, effect in enumerate(effects) if isinstance(effect, SetMetadata)]
        if not states:
            return effects
        before, after = effects[: states[-1] + 1], effects[states[-1] + 1 :]
        events = tuple(effect for effect in before if isinstance(effect, Publish))
        rest = tuple(effect for effect in before if not isinstance(effect, Publish))
        return (*rest, *events, *after)

    submit = Runner.submit

    def changed(self: Runner, job: Job) -> None:
        submit(self, Job(job.lane, late(job.effects)))

    Runner.submit = changed  # type: ignore[method-assign]


def watermark_before_handling() -> None:
    """It passes what was read, whether or not that is dealt with."""

    def pass_watermark(self: Intake, bound: float | None) -> float | None:
        del bound
        if self._newest <= self._watermark:
            return None
        self._watermark = self._newest
        return self._watermark

    Intake.pass_watermark = pass_watermark  # type: ignore[method-assign]


def no_fence() -> None:
    """Nobody is asked and nobody logged out; an old connection counts as good."""

    async def claim(self: Fence, answer_seconds: float = ANSWER_SECONDS) -> None:
        del self, answer_seconds

    async def prove(self: Engine) -> None:
        del self

    Fence.claim = claim  # type: ignore[method-assign]
    Engine._prove_connection = prove  # type: ignore[method-assign]


MUTANTS: Mapping[str, Callable[[], None]] = {
    mutate.__name__: mutate for mutate in (log_after_metadata, watermark_before_handling, no_fence)
}


if __name__ == "__main__":
    MUTANTS[sys.argv[1]]()
    sys.exit(main(["run"]))
