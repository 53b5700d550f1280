"""The records of a topic: what is stored, what was asked and answered, and the effects of each subscription."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, NamedTuple

from gcom.audit.applications.rule import ApplicationCase, place
from gcom.audit.input.applications import Record
from gcom.audit.rules.rule import Example

SequenceKey = tuple[str, int]  # a producer, and a sequence of it
ShardKey = tuple[str, int, int]  # a subscription, a shard of it, the number of shards


class StoredMessage(NamedTuple):
    """A message as the store's dump has it; without a producer its sequence is -1."""

    offset: int
    slot: int
    producer: str
    seq: int
    digest: int
    process: str
    record: Record

    def where(self, **more: Any) -> Example:
        return place(self.process, self.record, offset=self.offset, producer=self.producer, seq=self.seq, **more)


class TopicHistory:
    """All records of a topic. `dumped` tells whether a dump is among them; offsets from `first` to `next` are kept."""

    def __init__(self, case: ApplicationCase) -> None:
        bounds = [record for _, record in case.records("bounds")]
        self.dumped = bool(bounds)
        self.first = max((record["first"] for record in bounds), default=0)
        self.next = max((record["next"] for record in bounds), default=0)
        self.stored: list[StoredMessage] = sorted(self._stored(case), key=lambda it: it.offset)
        self.effects = self._effects(case)
        self.floors: dict[ShardKey, int] = {}
        for _, record in case.records("floor"):
            self.floors[_shard(record)] = max(record["last"], self.floors.get(_shard(record), 0))
        self.puts: dict[SequenceKey, Counter[int]] = defaultdict(Counter)  # by digest, less those that were refused
        for _, record in case.records("put", "abort"):
            for seq, digest in zip(record["seqs"], record["digests"], strict=False):
                self.puts[record["producer"], seq][digest] += 1 if record["type"] == "put" else -1

    @staticmethod
    def _stored(case: ApplicationCase) -> list[StoredMessage]:
        found: dict[tuple[int, str, int], StoredMessage] = {}  # once, however many dumps have it
        for process, record in case.records("stored"):
            for nth, slot in enumerate(record["slots"]):
                named = nth < min(len(record["seqs"]), len(record["digests"]))
                seq, digest = (record["seqs"][nth], record["digests"][nth]) if named else (-1, 0)
                each = StoredMessage(record["offset"] + nth, slot, record["producer"], seq, digest, process, record)
                found.setdefault((each.offset, each.producer, each.seq), each)
        return [*found.values()]

    @staticmethod
    def _effects(case: ApplicationCase) -> dict[ShardKey, list[tuple[str, Record]]]:
        """Return the effects of each shard in the order of their commits; of two dumps of one database the longer."""
        dumps: dict[ShardKey, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
        for process, record in case.records("effect"):
            dumps[_shard(record)][process].append(record)
        found: dict[ShardKey, list[tuple[str, Record]]] = {}
        for shard, each in dumps.items():
            kept: list[tuple[str, list[Record]]] = []
            for process, records in sorted(each.items(), key=lambda it: -len(it[1])):
                ranges = [_range(record) for record in records]
                if not any([_range(it) for it in other[: len(ranges)]] == ranges for _, other in kept):
                    kept.append((process, records))
            found[shard] = [(process, record) for process, records in kept for record in records]
        return found


def _shard(record: Record) -> ShardKey:
    return record["sub"], record["shard"], max(record["shards"], 1)


def _range(record: Record) -> tuple[int, int]:
    return record["first"], record["last"]
