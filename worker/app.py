"""The composition root: makes the parts of a worker, connects them, and ends them."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack

from shared.irc_client import ClientConfig, IrcClient, IrcError, LoginRefused, Pacing
from shared.logs import set_up_logging
from shared.task import title_from
from shared.worker_env import WorkerEnv, WorkerSecrets
from worker import preparation
from worker.agent.errors import AgentError
from worker.allowance import Allowances
from worker.bridge import Bridge, Lines
from worker.conversation import Conversation
from worker.effects import PreparationFailed
from worker.errors import ExitCode, RoomClosed, StartFailed
from worker.inbound import Room
from worker.post import Post
from worker.presence import Presence
from worker.redaction import Redactor
from worker.runs import Runs
from worker.session import Session, SessionConfig
from worker.settings import Settings
from worker.voice import Voice
from worker.workspace import open_workspace

_log = logging.getLogger(__name__)

_PACING = Pacing(burst=18, per_second=10)
"""About what our ergo lets a client send (20 lines, then 10 a second) before it slows it down."""
_LOOK_AGAIN_SECONDS = 0.5


async def run(settings: Settings) -> ExitCode:
    """Work on the task until told to leave, left alone, or ended."""
    set_up_logging(secrets=_known(settings.secrets))
    code = ExitCode.FAILED
    async with AsyncExitStack() as stack:
        app = App(settings, stack)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, app.bridge.terminate)
        try:
            code = await app.bridge.run()
        except* (LoginRefused, RoomClosed) as refused:
            _log.error("%s", refused.exceptions[0], extra={"task": settings.env.task_id})
            code = ExitCode.LOGIN_REFUSED
    return code


class App:
    """The parts of one worker; what has to be closed is on the stack."""

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        env = settings.env
        self._settings = settings
        self._stack = stack
        self._redactor = Redactor(_known(settings.secrets))
        client = IrcClient(_client_config(env, settings.secrets.irc_password))
        self._presence = Presence(client, _room(env))
        redact = self._redactor.redact
        self._voice = Voice(client, self._presence, env.line_max_bytes, redact)
        post = Post(client, self._presence, redact)
        now = asyncio.get_running_loop().time()
        session = Session(_session_config(env), Conversation(env.task_channel, env.steer), now)
        lines = Lines(client, self._presence, self._voice, post)
        self.bridge = Bridge(lines, session, self._prepare)

    async def _prepare(self, title: str) -> None:
        """First a line in the room; then everything that takes time."""
        env = self._settings.env
        title = title or title_from(env.task_description)
        self._voice.say(_starting(env, title), urgent=True)
        await self._voice.flushed()
        try:
            await self._equip(title)
        except (StartFailed, AgentError) as error:
            self.bridge.feed(PreparationFailed(str(error)))

    async def _equip(self, title: str) -> None:
        env = self._settings.env
        workspace = await asyncio.to_thread(open_workspace, env.workspace, env.state)
        kit = preparation.Kit(self._settings, workspace, self._redactor, self._stack)
        host = await preparation.start_tools(kit)
        told = await self._look_around(title)
        made = await preparation.equip(kit, told, host)
        if env.budget_usd and not made.price_is_known:
            self._voice.note(f"the price of {env.worker_model} is unknown: no budget can hold it")
        self.bridge.use(
            lambda start: Runs(made.agent, env.usage, start, self.bridge.feed, self.bridge.tell)
        )
        self.bridge.feed(made.first)

    async def _look_around(self, title: str) -> preparation.Told:
        """Until it succeeds: a connection that is lost comes back."""
        while True:
            await self._presence.online.wait()
            try:
                await self._presence.meet_peers()
                history = await self._presence.history()
            except IrcError as error:
                _log.warning("the room cannot be read yet: %s", error)
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
                continue
            self.bridge.remember(history)
            return preparation.Told(title, history, self._presence.room)


def _known(secrets: WorkerSecrets) -> list[str]:
    values = (secrets.irc_password, secrets.anthropic_api_key, secrets.git_token)
    return [value for value in values if value]


def _client_config(env: WorkerEnv, password: str) -> ClientConfig:
    return ClientConfig(
        host=env.irc_host,
        port=env.irc_port,
        nick=env.irc_account,
        tls=env.irc_tls,
        account=env.irc_account,
        password=password,
        bot=True,
        pacing=_PACING,
    )


def _room(env: WorkerEnv) -> Room:
    return Room(
        channel=env.task_channel,
        task=env.task_id,
        attempt=env.attempt,
        account=env.irc_account,
        controller=env.controller_account,
        requester=env.requester,
        maintainers=env.maintainers,
    )


def _session_config(env: WorkerEnv) -> SessionConfig:
    allowances = Allowances(env.job_active_deadline_seconds, env.budget_usd, env.agent_max_turns)
    return SessionConfig(env.requester, env.agent_idle_exit_seconds, allowances, env.usage)


def _starting(env: WorkerEnv, title: str) -> str:
    attempt = f", attempt {env.attempt}" if env.attempt > 1 else ""
    rehearsal = ["a rehearsal: no model is asked"] if env.model == preparation.REHEARSAL else []
    unprotected = ["its tools run without a sandbox"] if env.sandbox == "none" else []
    remarks = "; ".join(rehearsal + unprotected)
    return f"starting on {env.task_channel}{attempt}{f' ({remarks})' if remarks else ''}: {title}"
