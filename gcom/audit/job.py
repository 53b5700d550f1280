"""The audit as a Spark job, in three stages that move accounts of logs, never the logs themselves.

1. scan: one task a chain of segments, each judged by itself as columns (scanner.py).
2. judge: one task a (group, instance), over its processes' accounts (judging.py).
3. look: where fingerprints differ, the messages of just these buckets are read once more (tape.py, closer.py).

A segment that is not its log's first is scanned from what its `open` says; the driver then holds each chain's end
against the beginning of the next, and a process of which they differ, or that has gaps, is gone through once more from
its first line.
"""

from __future__ import annotations

import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from gcom.audit.catalogue import Catalogue, Chain, Scanned, scan
from gcom.audit.closer import MOST, look
from gcom.audit.judging import Group, Judgement, Look, judge
from gcom.audit.place import Key, Tally
from gcom.audit.tape import Tape
from gcom.audit.wire import pack, unpack

CHAIN_BYTES = 128 << 20  # of a process's segments that one task goes through

ACCOUNTS = "group string, instance string, process string, chain long, payload binary"
_ACCOUNTS = pa.schema(
    [("group", pa.string()), ("instance", pa.string()), ("process", pa.string()), ("chain", pa.int64())]
    + [("payload", pa.binary())]
)
JUDGEMENTS = "group string, instance string, payload binary"
_JUDGEMENTS = pa.schema([("group", pa.string()), ("instance", pa.string()), ("payload", pa.binary())])
_OF_CHAIN = "\0"  # the group of the row that tells of the chain itself


@dataclass(slots=True)
class Outcome:
    """What a plan found: a judgement for each (group, instance), and what the logs themselves are like."""

    judgements: list[Judgement]
    coverage: dict[str, str]
    positions: dict[str, int]
    notes: list[str]
    unknown_types: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Summary:
    """What the driver learns of a chain."""

    process: str
    chain: int
    gaps: int
    torn: bool
    exited: bool
    records: int
    ends_at: int
    begins_at: int
    notes: list[str]
    unknown_types: dict[str, int]
    begins: dict[Key, tuple[object, ...]]
    ends: dict[Key, tuple[object, ...]]
    doubtful: bool  # it found something that it could not judge from the middle of the log


def run(spark: Any, catalogue: Catalogue, chain_bytes: int = CHAIN_BYTES) -> Outcome:
    """The quick plan: certificates first, messages only where they differ."""
    seeds = (secrets.randbits(64), secrets.randbits(64))
    chains = _chains(catalogue, chain_bytes)
    accounts = _scan(spark, chains, seeds).persist()
    summaries = _summaries(accounts)
    again = _to_repeat(summaries)
    if again:
        whole = [Chain(process, tuple(catalogue.paths[process])) for process in again]
        repeated = _scan(spark, whole, seeds).persist()
        summaries = {**summaries, **_summaries(repeated)}
        accounts = accounts.where(~accounts.process.isin(again)).unionByName(repeated)
    coverage = {process: _coverage(parts) for process, parts in summaries.items()}
    judgements = _judge(accounts, coverage)
    _look_closer(spark, judgements, catalogue, coverage, seeds)
    notes = [*catalogue.notes, *(note for parts in summaries.values() for part in parts for note in part.notes)]
    unknown: dict[str, int] = defaultdict(int)
    for parts in summaries.values():
        for part in parts:
            for kind, count in part.unknown_types.items():
                unknown[kind] += count
    positions = {process: parts[-1].ends_at - 1 for process, parts in summaries.items()}
    return Outcome(judgements, coverage, positions, notes, dict(unknown))


def _chains(catalogue: Catalogue, chain_bytes: int) -> list[Chain]:
    chains: list[Chain] = []
    for process, paths in catalogue.paths.items():
        chain: list[str] = []
        size, first = 0, True
        for path in paths:
            if chain and size >= chain_bytes and catalogue.openings[path].state is not None:
                chains.append(Chain(process, tuple(chain), first))
                chain, size, first = [], 0, False
            chain.append(path)
            size += os.path.getsize(path)
        chains.append(Chain(process, tuple(chain), first))
    return chains


# Stage 1


def _scan(spark: Any, chains: list[Chain], seeds: tuple[int, int]) -> Any:
    def scanned(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield _account_rows(chains[index], index, scan(chains[index], seeds))

    return spark.range(0, len(chains), 1, len(chains)).mapInArrow(scanned, ACCOUNTS)


def _account_rows(chain: Chain, index: int, scanned: Scanned) -> pa.RecordBatch:
    scanner = scanned.scanner
    rows = [(key[0], key[1], chain.process, index, pack(account)) for key, account in scanner.accounts.items()]
    summary = (
        *(chain.process, index, scanner.gaps, scanned.torn, scanned.exited, scanned.records, scanned.ends_at),
        *(scanned.begins_at, scanner.notes, scanner.unknown_types, scanned.begins, scanned.ends),
        not chain.first and any(a.tally("CLOCK").violations for a in scanner.accounts.values()),
    )
    rows.append((_OF_CHAIN, "", chain.process, index, pack(summary)))
    return _batch(rows, _ACCOUNTS)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [[]] * len(schema)
    arrays = [pa.array(list(each), kind) for each, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _summaries(accounts: Any) -> dict[str, list[_Summary]]:
    found: dict[str, list[_Summary]] = defaultdict(list)
    for row in accounts.where(accounts.group == _OF_CHAIN).select("payload").collect():
        summary = _Summary(*unpack(bytes(row.payload)))
        found[summary.process].append(summary)
    return {process: sorted(parts, key=lambda part: part.chain) for process, parts in sorted(found.items())}


def _to_repeat(summaries: dict[str, list[_Summary]]) -> list[str]:
    """The processes of which a later chain began with another state than the one before it ended with."""
    again = []
    for process, parts in summaries.items():
        fits = all(
            one.ends == other.begins and one.ends_at == other.begins_at
            for one, other in zip(parts, parts[1:], strict=False)
        )
        if len(parts) > 1 and (not fits or any(part.gaps or part.notes or part.doubtful for part in parts)):
            again.append(process)
    return again


def _coverage(parts: list[_Summary]) -> str:
    if any(part.gaps for part in parts):
        return "lost"
    if parts[-1].torn:
        return "torn"
    return "closed" if parts[-1].exited else "open"


# Stage 2


def _judge(accounts: Any, coverage: dict[str, str]) -> list[Judgement]:
    def judged(table: pa.Table) -> pa.Table:
        rows = sorted(table.select(["process", "chain", "payload"]).to_pylist(), key=lambda row: row["chain"])
        key = (table["group"][0].as_py(), table["instance"][0].as_py())
        group = Group.of(key, [unpack(row["payload"]) for row in rows], coverage)
        return pa.Table.from_batches([_batch([(*key, pack(judge(group)))], _JUDGEMENTS)])

    of_groups = accounts.where(accounts.group != _OF_CHAIN).groupBy("group", "instance")
    rows = of_groups.applyInArrow(judged, JUDGEMENTS).collect()
    return sorted((unpack(bytes(row.payload)) for row in rows), key=lambda each: each.key)


# Stage 3


def _look_closer(
    spark: Any,
    judgements: list[Judgement],
    catalogue: Catalogue,
    coverage: dict[str, str],
    seeds: tuple[int, int],
) -> None:
    looks: dict[Key, list[Look]] = {}
    wanted: dict[str, list[Key]] = defaultdict(list)
    for judgement in judgements:
        looks[judgement.key] = _within_reach(judgement)
        for process in judgement.processes if looks[judgement.key] else ():
            if process in catalogue.paths:
                wanted[process].append(judgement.key)
    if not wanted:
        return
    tapes = _tape(spark, catalogue, wanted, looks, seeds)
    closer = tapes.groupBy("group", "instance").applyInArrow(_looking(looks, coverage), JUDGEMENTS)
    found = {(row.group, row.instance): unpack(bytes(row.payload)) for row in closer.collect()}
    for judgement in judgements:
        for rule, tally in found.get(judgement.key, {}).items():
            judgement.tallies[rule].add(tally)


def _within_reach(judgement: Judgement) -> list[Look]:
    """The looks that can be taken; the others leave their rule unknown, and say so."""
    kept = []
    for each in judgement.looks:
        if each.buckets is None and judgement.deliveries > MOST:
            reason = (
                f"{judgement.deliveries:,} deliveries are too many for the quick plan to compare one by one: --exact"
            )
            judgement.tallies[each.rule].doubt(1, reason)
        else:
            kept.append(each)
    return kept


def _tape(
    spark: Any,
    catalogue: Catalogue,
    wanted: dict[str, list[Key]],
    looks: dict[Key, list[Look]],
    seeds: tuple[int, int],
) -> Any:
    chains = [Chain(process, tuple(catalogue.paths[process])) for process in sorted(wanted)]

    def taped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                process = chains[index].process
                tapes = {key: _empty_tape(process, looks[key]) for key in wanted[process]}
                scanner = scan(chains[index], seeds, tapes).scanner
                rows = [
                    (*key, process, index, pack((scanner.accounts[key], tape)))
                    for key, tape in tapes.items()
                    if key in scanner.accounts
                ]
                yield _batch(rows, _ACCOUNTS)

    return spark.range(0, len(chains), 1, len(chains)).mapInArrow(taped, ACCOUNTS)


def _empty_tape(process: str, looks: list[Look]) -> Tape:
    """All that is asked for: everything if one look asks for that."""
    if any(each.buckets is None for each in looks):
        return Tape(process, None, None)
    serials = sorted({bucket for each in looks if each.rule == "SERIAL_UNIQUE" for bucket in each.buckets or ()})
    places = sorted({place for each in looks if each.rule != "SERIAL_UNIQUE" for place in each.buckets or ()})
    return Tape(process, serials, places)


def _looking(looks: dict[Key, list[Look]], coverage: dict[str, str]) -> Callable[[pa.Table], pa.Table]:
    def looked(table: pa.Table) -> pa.Table:
        key = (table["group"][0].as_py(), table["instance"][0].as_py())
        rows = sorted(table.select(["process", "payload"]).to_pylist(), key=lambda row: row["process"])
        pairs = [unpack(row["payload"]) for row in rows]
        group = Group.of(key, [account for account, _ in pairs], coverage)
        tallies: dict[str, Tally] = look(group, [tape for _, tape in pairs], looks[key])
        return pa.Table.from_batches([_batch([(*key, pack(tallies))], _JUDGEMENTS)])

    return looked
