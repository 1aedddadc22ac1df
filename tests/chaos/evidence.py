"""Reads back all that a run has left: on the server, in the workspaces, among the processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.spawner.locks import LockState
from shared.channels import FIREHOSE, TASKS, parse_task_channel
from shared.firehose import Record, decode
from shared.irc_client import IrcClient, RequestRefused, history_pages
from shared.ircv3.message import Message
from shared.ircv3.metadata import metadata_list, parse_metadata
from tests.chaos.parts import Parts
from tests.chaos.people import Person
from tests.chaos.watch import Watch

CONTROLLER = "controller"
_BEGINNING = "timestamp=2020-01-01T00:00:00.000Z"


@dataclass(frozen=True, slots=True)
class Room:
    """A task's channel as the server has it."""

    topic: str
    metadata: Mapping[str, str]
    modes: str
    lines: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything at one moment."""

    rooms: Mapping[str, Room]
    records: tuple[Record, ...]
    control: tuple[Message, ...]
    """#tasks."""
    private: Mapping[str, tuple[Message, ...]]
    """Person -> their lines with the controller, both ways."""
    tasks_metadata: Mapping[str, str]
    workers: Mapping[int, LockState]
    files: Mapping[str, Mapping[str, str]]
    """Room -> name -> content of its workspace."""
    transcripts: Mapping[str, str]


async def gather(parts: Parts, watch: Watch, people: Iterable[Person]) -> Evidence:
    """Asks as an operator; nothing is changed."""
    client = watch.client
    listed = await client.request(Message("LIST"))
    topics = {m.params[1]: m.text for m in listed.messages if m.command == "322"}
    names = [name for name in topics if parse_task_channel(name)]
    rooms = {name: await _room(client, name, topics[name]) for name in names}
    log = await _history(client, FIREHOSE)
    return Evidence(
        rooms=rooms,
        records=tuple(decode(m.text) for m in log if m.command == "PRIVMSG"),
        control=await _history(client, TASKS),
        private={p.name: await _history(p.client, CONTROLLER) for p in people},
        tasks_metadata=await _metadata(client, TASKS),
        workers=parts.live_workers(),
        files={name: _texts(_folder(parts.home.workspaces, name)) for name in names},
        transcripts={
            name: "\n".join(_texts(_folder(parts.home.root / "state", name)).values())
            for name in names
        },
    )


async def _room(client: IrcClient, name: str, topic: str) -> Room:
    await client.request(Message("JOIN", (name,)))
    modes = await client.request(Message("MODE", (name,)))
    flags = "".join(m.params[2] for m in modes.messages if m.command == "324")
    return Room(topic, await _metadata(client, name), flags, await _history(client, name))


async def _metadata(client: IrcClient, channel: str) -> dict[str, str]:
    reply = await client.request(metadata_list(channel))
    changes = (parse_metadata(message) for message in reply.messages)
    return {c.key: c.value for c in changes if c is not None and c.value is not None}


async def _history(client: IrcClient, target: str) -> tuple[Message, ...]:
    try:
        return tuple([m async for m in history_pages(client, target, after=_BEGINNING)])
    except RequestRefused:
        return ()


def _folder(root: Path, room: str) -> Path:
    return root / room.removeprefix("#")


def _texts(folder: Path) -> dict[str, str]:
    found = (path for path in folder.glob("*") if path.is_file())
    return {path.name: path.read_text(errors="replace") for path in found}
