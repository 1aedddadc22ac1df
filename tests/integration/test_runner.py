"""Jobs on a real ergo: effects in order, and a truthful answer when one is refused."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from controller.amends import Amends, FreshStarts, StartOver
from controller.board import Board
from controller.core import Core
from controller.deciding import Deciding
from controller.directive_desk import DirectiveDesk
from controller.effects import (
    AccountTaken,
    Answer,
    Effect,
    Handled,
    Input,
    Job,
    MintAccount,
    Publish,
    Say,
    SetMetadata,
    SetModerated,
    Spawn,
    SpawnFailed,
    Spoken,
    Tick,
)
from controller.engine import Engine
from controller.firehose_log import FirehoseLog
from controller.limits import CoreSettings
from controller.rebuild import Rebuilt
from controller.rooms import Rooms
from controller.runner import Hands, Runner
from controller.spawner.local import LocalSpawner, LocalWorkers
from controller.speech import Speech
from controller.writes import PacedWrites
from shared.directives import REPLY_TAG
from shared.firehose import Event
from shared.worker_env import WorkerEnv
from tests.support.ergo_server import ErgoServer
from tests.support.irc_peer import Peer, on_irc

_ENV = WorkerEnv(
    task_id=7, task_channel="#task-7", attempt=2, protocol=1, workspace="", state="",
    worker_model="m", irc_host="localhost", irc_port=1, irc_account="HAL-9000",
    controller_account="c", agent_idle_exit_seconds=1, agent_memory_lines=1, agent_max_turns=1,
    budget_usd=1, job_active_deadline_seconds=1, requester="you",
)  # fmt: skip


@dataclass
class Desk:
    """A runner on the server, a listener in its channel, and what was fed back."""

    runner: Runner
    room: str
    listener: Peer
    fed: asyncio.Queue[Input]

    def do(self, *effects: Effect) -> None:
        self.runner.submit(Job(self.room, effects))


class _Over(Exception):
    """The test is: what goes on ends too."""


@asynccontextmanager
async def _desk(
    ergo: ErgoServer, unique: str, folder: Path, *, fresh_start: bool = False
) -> AsyncIterator[Desk]:
    """`fresh_start` = a refused write ends all of it; else that has just happened."""
    starts = FreshStarts()
    if not fresh_start:
        starts.took(asyncio.get_running_loop().time())
    password, room = await ergo.add_account(unique), f"#{unique}"
    missing = (str(folder / "no-such-program"),)
    spawner = LocalSpawner(LocalWorkers(folder, {}, missing))
    fed: asyncio.Queue[Input] = asyncio.Queue()
    try:
        async with (
            on_irc(ergo, unique, password, oper=True) as peer,
            on_irc(ergo, f"{unique}l") as listener,
            asyncio.TaskGroup() as group,
        ):
            request = peer.client.request
            writes = PacedWrites(request, group)
            rooms = Rooms(request, writes)
            speech = Speech(peer.client, 80)
            await rooms.make(room)
            await listener.ask("JOIN", room)
            hands = Hands(
                client=peer.client,
                writes=writes,
                log=FirehoseLog(request, count(1), time.time),
                rooms=rooms,
                speech=speech,
                desk=DirectiveDesk(request, group, fed.put_nowait, time.time),
                engine=Engine(spawner, peer.client, "secret"),
                amends=Amends(starts, speech, group),
                feed=fed.put_nowait,
            )
            yield Desk(Runner(hands, group), room, listener, fed)
            raise _Over
    except* _Over:
        pass
    finally:
        spawner.close()


async def test_effects_follow_each_other_and_the_last_line_names_the_command(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with _desk(ergo, unique, tmp_path) as desk:
        desk.do(
            SetMetadata(desk.room, {"status": "ready", "reason": None}),
            SetModerated(desk.room, on=True),
            Answer(desk.room, ("first", "word " * 30), cause="m1"),
            Handled("m1", 5.0),
        )
        desk.do(Say(desk.room, ("afterwards",)))
        lines = [await desk.listener.hears_text("") for _ in range(4)]
        assert [line.text.strip() for line in lines] == [
            "first", ("word " * 16).strip(), ("word " * 14).strip(), "afterwards",
        ]  # fmt: skip
        assert [line.tags.get(REPLY_TAG) for line in lines] == [None, None, "m1", None]
        assert await desk.fed.get() == Handled("m1", 5.0)


async def test_whoever_asked_hears_what_the_server_refused(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with _desk(ergo, unique, tmp_path) as desk:
        desk.do(
            SetMetadata("#nowhere", {"status": "ready"}),
            Say(desk.room, ("never said",)),
            Answer(desk.room, ("done",), cause="m1"),
            Handled("m1", 5.0),
        )
        first = await desk.listener.hears_text("")
        assert first.text.startswith("that did not work: #nowhere metadata status: the server says")
        assert (await desk.listener.hears_text("")).tags[REPLY_TAG] == "m1"
        assert await desk.fed.get() == Handled("m1", 5.0)


async def _until_over(ergo: ErgoServer, unique: str, folder: Path) -> None:
    async with _desk(ergo, unique, folder, fresh_start=True) as desk:
        desk.do(SetMetadata("#nowhere", {"status": "ready"}), Answer(desk.room, ("done",), "m1"))
        desk.do(Say(desk.room, ("of what is in no store",)))
        while True:
            line = await desk.listener.hears_text("")
            assert line.text != "of what is in no store"


async def test_a_refused_write_ends_the_connection_once_it_is_answered(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    with pytest.raises(ExceptionGroup) as ended:
        await _until_over(ergo, unique, tmp_path)
    assert ended.group_contains(StartOver, match="#nowhere metadata status")


async def test_nothing_follows_a_log_that_was_refused(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with _desk(ergo, unique, tmp_path) as desk:  # which is not in #firehose
        event = Event("task_completed", desk.room, None, {"by": "you"})
        desk.do(Publish(event), Say(desk.room, ("never said",)))
        desk.do(Say(desk.room, ("the next job",)))
        assert (await desk.listener.hears_text("")).text == "the next job"


async def test_a_name_of_a_person_drops_the_start(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    await ergo.add_account(f"{unique}p")
    async with _desk(ergo, unique, tmp_path) as desk:
        desk.do(MintAccount(f"{unique}p", 7, 2, listed=False), Spawn("#task-7", _ENV))
        assert await desk.fed.get() == AccountTaken("#task-7", 2, f"{unique}p")


async def test_a_start_that_fails_is_told_to_the_core(
    ergo: ErgoServer, unique: str, tmp_path: Path
) -> None:
    async with _desk(ergo, unique, tmp_path) as desk:
        desk.do(Spawn("#task-7", _ENV))
        failed = await desk.fed.get()
    assert isinstance(failed, SpawnFailed)
    assert (failed.channel, failed.attempt, failed.transient) == ("#task-7", 2, False)
    assert failed.message.startswith("the worker of task 7 cannot be started")


class Defective(Core):
    def feed(self, input: Input, now: float) -> list[Job]:
        raise ZeroDivisionError


async def test_a_line_that_hits_a_defect_is_answered_and_left(
    ergo: ErgoServer, unique: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with _desk(ergo, unique, tmp_path) as desk:
        core = Defective(CoreSettings(worker=_ENV), Rebuilt(Board()))
        deciding = Deciding(core, desk.runner, time.time)
        deciding.decide(Spoken(desk.room, "alice", "alice", "!oops", "m1", 5.0))
        line = await desk.listener.hears_text("hit a defect")
        assert line.tags[REPLY_TAG] == "m1"
        assert await desk.fed.get() == Handled("m1", 5.0)
        assert "ZeroDivisionError" in caplog.text
        with pytest.raises(ZeroDivisionError):
            deciding.decide(Tick())
