"""What the core does while the server stores no history (design 4): it takes nothing on, and says
so. What was published meanwhile is sent again by the edge, before `log_lost` ends. Pure.
"""

from __future__ import annotations

from controller.effects import Job, Say
from controller.world import World
from shared.channels import TASKS

CAUSE = "the server cannot store history (disk full?)"


def log_turns(world: World, *, lost: bool) -> list[Job]:
    """Said once when it begins, and once when it is over."""
    if lost == world.log_lost:
        return []
    world.log_lost = lost
    text = (
        f"{CAUSE}: no command is taken and no task is started until it can"
        if lost
        else "the server stores history again, and has all that it missed; work goes on"
    )
    return [Job(TASKS, (Say(TASKS, (text,)),))]
