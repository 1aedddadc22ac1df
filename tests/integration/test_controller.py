"""The controller as a process on a real ergo: alone, beside another, away and back, under load."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller.errors import LocalError
from controller.local import ergo_config
from controller.local.ergo_config import OPER_CAPABILITIES
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_set
from tests.support.controller_run import ControllerRun, Network, make_network
from tests.support.ergo_server import ErgoServer
from tests.support.irc_peer import Peer


@pytest.fixture
async def network(private_ergo: Callable[[], Awaitable[ErgoServer]]) -> Network:
    return await make_network(await private_ergo())


@pytest.fixture
async def controller(network: Network, tmp_path: Path) -> AsyncIterator[ControllerRun]:
    run = ControllerRun(network, tmp_path / "home")
    await run.start()
    yield run
    await run.stop()


async def _new(peer: Peer, text: str) -> str:
    """Say `!new` in #tasks; the channel of the answer."""
    msgid = await peer.say("#tasks", f"!new {text}")
    return _channel_in(await peer.hears(lambda m: m.tags.get("+draft/reply") == msgid))


def _channel_in(answer: Message) -> str:
    found = re.search(r"#task-\d+", answer.text)
    assert found is not None, answer.text
    return found[0]


async def _topics(peer: Peer) -> dict[str, str]:
    reply = await peer.client.request(Message("LIST"))
    rows = [m.params for m in reply.messages if m.command == "322"]
    return {channel: topic for _, channel, _, topic in rows if "task-" in channel}


async def test_a_second_controller_is_refused_and_the_first_keeps_working(
    network: Network, controller: ControllerRun, tmp_path: Path
) -> None:
    second = ControllerRun(network, tmp_path / "second")
    with pytest.raises(LocalError, match="another controller is logged in as controller"):
        await second.start()
    assert await second.exit_code() == 3
    async with network.person("alice") as alice:
        assert await _new(alice, "still at work") == "#task-1"


async def test_a_frozen_controller_is_fenced_off_and_does_not_come_back(
    network: Network, controller: ControllerRun, tmp_path: Path
) -> None:
    controller.signal(signal.SIGSTOP)
    second = ControllerRun(network, tmp_path / "second")
    try:
        await second.start()
        controller.signal(signal.SIGCONT)
        assert await controller.exit_code() == 3
        async with network.person("alice") as alice:
            assert await _new(alice, "taken over") == "#task-1"
    finally:
        await second.stop()


async def _is_up(run: ControllerRun) -> bool:
    try:
        await run.start()
    except LocalError:
        return False
    return True


async def test_of_controllers_that_start_in_the_same_moment_one_stays(
    network: Network, tmp_path: Path
) -> None:
    runs = [ControllerRun(network, tmp_path / f"{n}") for n in range(3)]
    try:
        async with asyncio.TaskGroup() as group:
            starts = [group.create_task(_is_up(run)) for run in runs]
        refused = [run for run, start in zip(runs, starts, strict=True) if not start.result()]
        assert [await run.exit_code() for run in refused] == [3, 3]
        async with network.person("alice") as alice:
            assert await _new(alice, "of the one") == "#task-1"
            assert await _topics(alice) == {"#task-1": "[pending] of the one"}
    finally:
        for run in runs:
            await run.stop()


async def test_a_signal_ends_it_cleanly_within_seconds(
    network: Network, controller: ControllerRun
) -> None:
    async with network.person("alice") as alice:
        async with asyncio.timeout(5):
            controller.signal(signal.SIGTERM)
            assert await controller.exit_code() == 0
            left = await alice.hears(lambda m: m.command == "QUIT")
    assert left.nick == "controller"


async def test_a_command_of_its_absence_is_carried_out_once(
    network: Network, controller: ControllerRun
) -> None:
    async with network.person("alice") as alice:
        assert await _new(alice, "before") == "#task-1"
        await controller.stop()
        msgid = await alice.say("#tasks", "!new while nobody listens")
        await controller.start()
        answer = await alice.hears(lambda m: m.tags.get("+draft/reply") == msgid)
        assert _channel_in(answer) == "#task-2"
        await controller.stop()
        await controller.start()
        assert await _new(alice, "after") == "#task-3"
        assert await _topics(alice) == {
            "#task-1": "[pending] before",
            "#task-2": "[pending] while nobody listens",
            "#task-3": "[pending] after",
        }


async def test_a_command_that_a_frozen_controller_was_told_alone_is_carried_out_by_the_next(
    network: Network, controller: ControllerRun
) -> None:
    """The server took it, so the asker was told of no failure."""
    async with network.person("alice") as alice, network.person("bob") as bob:
        await alice.say("controller", "!new before")
        await alice.hears_text("is a draft")
        controller.signal(signal.SIGSTOP)
        msgid = await alice.say("controller", "new while it was frozen")
        await bob.say("controller", "ping")
        controller.signal(signal.SIGKILL)
        await controller.exit_code()
        await controller.start()
        answer = await alice.hears(lambda m: m.tags.get("+draft/reply") == msgid)
        assert _channel_in(answer) == "#task-2"
        await bob.hears_text("pong")
        await controller.stop()
        await controller.start()
        assert await _new(bob, "no more than once") == "#task-3"


async def test_two_commands_in_the_same_moment_are_two_tasks(
    network: Network, controller: ControllerRun
) -> None:
    async with network.person("alice") as alice, network.person("bob") as bob:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(_new(alice, "of alice"))
            second = group.create_task(_new(bob, "of bob"))
        assert {first.result(), second.result()} == {"#task-1", "#task-2"}


async def test_it_finds_everything_again_after_a_crash_of_the_server(
    network: Network, controller: ControllerRun
) -> None:
    async with network.person("alice") as alice:
        channel = await _new(alice, "survives")
    await network.ergo.kill()
    await network.ergo.start()
    async with network.person("alice") as alice:
        await alice.hears(lambda m: m.command == "JOIN" and m.nick == "controller", seconds=20)
        await alice.ask("JOIN", channel)
        msgid = await alice.say(channel, "!status")
        answer = await alice.hears(lambda m: m.tags.get("+draft/reply") == msgid, seconds=20)
        assert "!ready" in answer.text


async def test_a_refused_write_is_answered_and_then_all_is_read_anew_but_not_in_a_loop(
    network: Network, controller: ControllerRun
) -> None:
    async with network.person("alice") as alice:
        await alice.ask("OPER", network.ergo.oper_name, network.ergo.oper_password)
        for number in range(100):  # as many keys as a channel can have
            await alice.client.request(metadata_set("#tasks", f"full.{number}", "x"))
            await asyncio.sleep(0.02)  # see write_schedule: the server can die of a burst

        async def refused(text: str) -> None:
            msgid = await alice.say("#tasks", f"!new {text}")
            answer = await alice.hears(lambda m: m.tags.get("+draft/reply") == msgid)
            assert answer.text.startswith("that did not work: #tasks metadata next_task: ")

        await refused("one")
        left = await alice.hears(lambda m: m.command in ("QUIT", "JOIN"))
        assert (left.command, left.nick) == ("QUIT", "controller")
        await alice.hears(lambda m: m.command == "JOIN" and m.params[0] == "#tasks")
        warning = await alice.hears_text("the server refuses what I write")
        assert warning.params[0] == "#tasks"
        assert re.search(r"all is read anew in (5\d s|1 min)", warning.text)
        await refused("two")
        for number in range(3):  # for the number, the watermark and the snapshot
            await alice.client.request(metadata_set("#tasks", f"full.{number}", None))
        assert await _new(alice, "three") == "#task-3"
        assert set(await _topics(alice)) == {"#task-1", "#task-2", "#task-3"}


async def test_two_hundred_tasks_in_one_go_leave_the_server_alive(
    network: Network, controller: ControllerRun
) -> None:
    async with network.person("alice") as alice:
        await alice.ask("OPER", network.ergo.oper_name, network.ergo.oper_password)
        async with asyncio.TaskGroup() as group:
            said = [group.create_task(alice.say("#tasks", f"!new number {n}")) for n in range(200)]
        asked = {task.result() for task in said}
        channels = set()
        while asked:
            answer = await alice.hears(lambda m: m.tags.get("+draft/reply") in asked, seconds=20)
            asked.discard(answer.tags["+draft/reply"])
            channels.add(_channel_in(answer))
        assert channels == {f"#task-{n}" for n in range(1, 201)}
        assert len(await _topics(alice)) == 200


@pytest.mark.parametrize(
    ("more", "line", "code"),
    [
        pytest.param(
            {"IRC_SASL_PASSWORD": "wrong-password"},
            "login refused for account 'controller'.*check IRC_NICK and IRC_SASL_PASSWORD",
            1,
            id="password",
        ),
        pytest.param(
            {"IRC_OPER_PASSWORD": "wrong-password"}, "check IRC_OPER_PASSWORD", 1, id="oper"
        ),
        pytest.param({"IRC_OPER_PASSWORD": ""}, "IRC_OPER_PASSWORD is not set", 2, id="unset"),
        pytest.param({"MODEL": "anthropic"}, "needs ANTHROPIC_API_KEY", 2, id="no key"),
        pytest.param({"IRC_PORT": "no"}, "IRC_PORT=no: Input should be a valid", 2, id="setting"),
        pytest.param(
            {"ERGONAUT_HOME": "/proc/x"}, "ERGONAUT_HOME=.*cannot be written", 1, id="home"
        ),
    ],
)
async def test_what_is_wrong_at_the_start_is_one_clear_line(
    network: Network, tmp_path: Path, more: dict[str, str], line: str, code: int
) -> None:
    run = ControllerRun(network, tmp_path / "home", **more)
    with pytest.raises(LocalError, match=line):
        await run.start()
    assert await run.exit_code() == code
    assert "Traceback" not in run.log.read_text()
    assert "wrong-password" not in run.log.read_text()


@pytest.mark.parametrize(
    "right", ["accreg", "chanreg", "kill", "metadata", "nofakelag", "sajoin", "samode"]
)
async def test_a_missing_right_ends_the_start_with_its_name(
    private_ergo: Callable[[], Awaitable[ErgoServer]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    right: str,
) -> None:
    """`history` is the one right of the class that nothing of ours needs yet."""
    assert right in OPER_CAPABILITIES
    ergo = await private_ergo()
    network = await make_network(ergo)
    rights = [name for name in OPER_CAPABILITIES if name != right]
    value = {"title": "x", "capabilities": rights}
    changed = [
        replace(c, value=value) if c.path == "oper-classes.controller" else c
        for c in ergo_config.CHANGES
    ]
    monkeypatch.setattr(ergo_config, "CHANGES", tuple(changed))
    await ergo.stop()
    await ergo.start()
    run = ControllerRun(network, tmp_path / "home")
    with pytest.raises(LocalError, match=f"lacks the right `{right}`"):
        await run.start()
    assert await run.exit_code() == 1


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        pytest.param("metadata.enabled", False, "does not offer draft/metadata-2", id="METADATA"),
        pytest.param(
            "history.persistent.enabled", False, "keeps no lasting history.*sqlite", id="sqlite"
        ),
    ],
)
async def test_a_server_without_what_we_store_in_is_refused_in_one_line(
    private_ergo: Callable[[], Awaitable[ErgoServer]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    path: str,
    value: object,
    line: str,
) -> None:
    monkeypatch.setattr(
        ergo_config, "CHANGES", (*ergo_config.CHANGES, ergo_config.Change(path, value, "test"))
    )
    run = ControllerRun(await make_network(await private_ergo()), tmp_path / "home")
    with pytest.raises(LocalError, match=line):
        await run.start()
    assert await run.exit_code() == 1
