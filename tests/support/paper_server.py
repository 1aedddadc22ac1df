"""What ergo would hold after some effects: METADATA, topics and #firehose, on paper."""

from __future__ import annotations

from collections.abc import Iterable

from controller.effects import (
    Effect,
    MakeChannel,
    Publish,
    SetMetadata,
    SetModerated,
    SetTopic,
)
from controller.limits import CoreSettings
from controller.rebuild import Listed, Rebuilt, Snapshot, rebuild
from controller.spawner import WorkerList
from controller.write_schedule import STANDARD_MODES
from shared.firehose import Record, decode, encode


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

    def read(self, settings: CoreSettings, now: float) -> Rebuilt:
        channels = tuple(
            Listed(channel, topic, frozenset(self.modes[channel]))
            for channel, topic in self.topics.items()
        )
        workers = WorkerList((), complete=False)
        records = tuple(self.records)
        return rebuild(Snapshot(channels, self.metadata, records, workers, now), settings, now)
