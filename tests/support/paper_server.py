"""What ergo would hold after some effects: METADATA, topics and #firehose, on paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from controller.effects import (
    Effect,
    MakeChannel,
    Publish,
    SetMetadata,
    SetModerated,
    SetTopic,
)
from controller.limits import CoreSettings
from controller.rebuild import Listed, Rebuilt, Snapshot, read_back_to, rebuild
from controller.spawner import WorkerList
from controller.write_schedule import STANDARD_MODES
from shared.firehose import Record, decode, encode

NOBODY = WorkerList((), complete=False)


@dataclass(frozen=True, slots=True)
class Held:
    """What can be lost of a channel when the server dies."""

    channel: str
    metadata: Mapping[str, str]
    topic: str | None


class PaperServer:
    """Takes effects, and is read back by `rebuild`."""

    def __init__(self) -> None:
        self.metadata: dict[str, dict[str, str]] = {"#tasks": {}, "#agents": {}}
        self.topics: dict[str, str] = {}
        self.modes: dict[str, set[str]] = {}
        self.records: list[Record] = []

    def take(self, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case Publish(event):
                    line = encode(event, len(self.records) + 1, now)
                    self.records.append(decode(line))
                case MakeChannel(channel):
                    self.topics.setdefault(channel, "")
                    self.metadata.setdefault(channel, {})
                    self.modes.setdefault(channel, set(STANDARD_MODES))
                case SetModerated(channel, on):
                    self.modes[channel] -= {"M"}
                    self.modes[channel] |= {"M"} if on else set()
                case SetMetadata(channel, values):
                    stored = self.metadata[channel]
                    for key, value in values.items():
                        stored.pop(key, None)
                        if value is not None:
                            stored[key] = value
                case SetTopic(channel, topic):
                    self.topics[channel] = topic
                case _:
                    pass

    def copy_of(self, channel: str) -> Held:
        return Held(channel, dict(self.metadata[channel]), self.topics.get(channel))

    def put_back(self, held: Held) -> None:
        """As if nothing had been written since."""
        self.metadata[held.channel] = dict(held.metadata)
        if held.topic is not None:
            self.topics[held.channel] = held.topic

    def read(
        self,
        settings: CoreSettings,
        now: float,
        workers: WorkerList = NOBODY,
        answered: frozenset[str] = frozenset(),
    ) -> Rebuilt:
        """As a controller finds it that starts now."""
        channels = tuple(
            Listed(channel, topic, frozenset(self.modes[channel]))
            for channel, topic in self.topics.items()
        )
        since = read_back_to(self.metadata, now)
        records = tuple(record for record in self.records if record.t >= since)
        snapshot = Snapshot(channels, self.metadata, records, workers, now, answered)
        return rebuild(snapshot, settings, now)
