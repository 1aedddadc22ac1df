"""What a worker of a task is started with: the operator's template and the task's facts. Pure."""

from __future__ import annotations

from dataclasses import replace

from controller.limits import CoreSettings
from shared.task import Task
from shared.worker_env import WorkerEnv


def worker_env(settings: CoreSettings, task: Task) -> WorkerEnv:
    """`workspace` and `state` stay as in the template: the engine knows its folders."""
    template = settings.worker
    return replace(
        template,
        task_id=task.number,
        task_channel=task.channel,
        task_description=task.description,
        task_repo=task.repo or "",
        task_repo_url=task.repo_url or "",
        task_branch=task.default_branch or "",
        attempt=task.run.attempt,
        worker_model=task.model or template.worker_model,
        irc_account=task.run.worker or "",
        controller_account=settings.account,
        budget_usd=template.budget_usd if task.budget is None else task.budget,
        usage=task.usage,
        requester=task.requester or "",
        maintainers=settings.maintainers,
    )


def model_name(settings: CoreSettings, task: Task) -> str:
    """The model that works on it, in words for people and events."""
    return settings.model if settings.worker.model == "rehearsal" else task.model or settings.model
