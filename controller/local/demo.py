"""`make demo`: the whole system in a throw-away home, and a requester who takes a task to done."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.errors import ControllerError
from controller.home import Home
from controller.local.bubblewrap import bubblewrap_works
from controller.local.demo_story import FILES, LIVE, REHEARSAL, Story
from controller.local.ending import signals_interrupt, until_signalled
from controller.local.ergo_binary import find_or_build, say_on_stderr
from controller.local.ergo_process import LOOPBACK, free_port
from controller.local.spectator import Spectator
from controller.local.supervisor import say
from controller.local.system import PERSON, LocalLaunch, LocalSystem
from controller.settings import Settings
from shared.irc_client import ClientConfig, Connected, IrcClient

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of every part at the end."""

    channel: str
    ergo_alive: bool
    controller_alive: bool
    files: Mapping[str, str | None]
    """Name -> content; None = it is not there."""

    @property
    def good(self) -> bool:
        return (
            self.ergo_alive
            and self.controller_alive
            and all(content is not None for content in self.files.values())
        )


def run_demo(settings: Settings, env: Mapping[str, str]) -> int:
    """Exit code: 0 only if the task reached done and its files are there."""
    try:
        with signals_interrupt(), tempfile.TemporaryDirectory(prefix="ergonaut-demo-") as folder:
            home = Home(Path(folder))
            home.prepare()
            launch = LocalLaunch(
                home=home,
                port=free_port(),
                ergo_binary=find_or_build(env, say_on_stderr),
                env={**env, **_sandbox(settings)},
            )
            with home.supervised():
                outcome = asyncio.run(_play(launch, settings.agent_model))
    except ControllerError as error:
        sys.stderr.write(f"demo failed: {error}\n")
        return error.exit_code
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED
    _report(outcome)
    return 0 if outcome.good else 1


def _sandbox(settings: Settings) -> dict[str, str]:
    """The demo alone goes on without a sandbox: its home and its task are its own."""
    if settings.sandbox == "none" or bubblewrap_works():
        return {}
    say("bubblewrap is not usable here: this demo runs its tools without a sandbox (SANDBOX=none)")
    return {"SANDBOX": "none"}


async def _play(launch: LocalLaunch, model: str) -> Outcome:
    live = model == "anthropic"
    say(f"model: {'the real one, over the API' if live else 'rehearsal (no key, no network)'}")
    system = LocalSystem(launch, say)
    async with until_signalled(system.stop):
        await system.start()
        channel = await _as_requester(launch, system.credentials.you, live=live)
        return _outcome(launch, system, channel)


async def _as_requester(launch: LocalLaunch, password: str, *, live: bool) -> str:
    client = IrcClient(
        ClientConfig(LOOPBACK, launch.port, PERSON, account=PERSON, password=password)
    )
    person = Spectator(client, say)
    ended: str | ControllerError
    async with asyncio.TaskGroup() as group:
        connection = group.create_task(client.run())
        while not isinstance(await client.events.get(), Connected):
            pass
        watching = group.create_task(person.watch())
        try:
            ended = await Story(person, PERSON, LIVE if live else REHEARSAL).play()
        except ControllerError as error:  # raised below: a group would wrap it
            ended = error
        watching.cancel()
        await client.close("the demo is over")
        connection.cancel()
    if isinstance(ended, ControllerError):
        raise ended
    return ended


def _outcome(launch: LocalLaunch, system: LocalSystem, channel: str) -> Outcome:
    workspace = launch.home.workspaces / channel.removeprefix("#")
    paths = {name: workspace / name for name in FILES}
    return Outcome(
        channel=channel,
        ergo_alive=system.ergo.child.running,
        controller_alive=system.controller.running,
        files={n: p.read_text() if p.is_file() else None for n, p in paths.items()},
    )


def _report(outcome: Outcome) -> None:
    alive = {True: "up", False: "DEAD"}
    say("")
    say(f"ergo          {alive[outcome.ergo_alive]}")
    say(f"controller    {alive[outcome.controller_alive]}")
    say("worker        left")
    say(f"task          {outcome.channel} is done")
    for name, content in outcome.files.items():
        state = "MISSING" if content is None else " / ".join(content.split("\n")).rstrip(" /")
        say(f"{name:<14}{state}")
