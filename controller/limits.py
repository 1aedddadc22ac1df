"""What an operator decides, as the core sees it: plain values, no environment. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from shared.worker_env import WorkerEnv


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreSettings:
    """Given to the core at the start; never changed."""

    account: str = "controller"
    """Our own account and nick."""
    maintainers: tuple[str, ...] = ()
    """Accounts; empty = nobody."""
    worker: WorkerEnv
    """What every worker gets; the fields of its task are replaced at each start."""
    version: str = ""
    max_active_total: int = 3
    max_active_per_requester: int = 5
    command_max_age_seconds: int = 300
    continuation_seconds: float = 3
    line_max_bytes: int = 350
    blocked_moderated: bool = True
    worker_start_seconds: int = 300
    worker_absent_seconds: int = 900
    orphan_grace_seconds: int = 300
    firehose_args: str = "short"
    """`none` leaves arguments out of tool events."""
    snapshot_seconds: int = 6 * 3600
    """Between two snapshots of all open tasks on #firehose."""

    @property
    def steer(self) -> str:
        return self.worker.steer

    @property
    def model(self) -> str:
        """The model of a task that names none."""
        return "rehearsal" if self.worker.model == "rehearsal" else self.worker.worker_model
