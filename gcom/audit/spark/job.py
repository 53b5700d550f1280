"""The audit as a Spark job, in stages that move summaries of logs, never the logs themselves.

1. scan: one task per chain of segments, each judged by itself as columns (scanner.py).
2. judge: one task per (group, instance), over its processes' summaries (judging.py).
3. look: where fingerprints differ, the messages of just these buckets are read once more (messages.py,
detail_check.py); of a large group the first of them (partial.py). 4. causality: CAUSAL of a large group that no serials
certify, one task a sender and bucket of its numbers (causal.py).

A segment that is not its log's first is scanned from what its `open` says; the driver then holds each chain's end
against the beginning of the next, and a process of which they differ, or that has gaps, is gone through once more from
its first line.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.plan import stages
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.rows import Row, cached, keep, rows_of, scan_chain
from gcom.audit.plan.stages import CHAIN_BYTES, ChainSummary, PlanResult
from gcom.audit.plan.wire import pack, unpack
from gcom.audit.rules.causal import judge_causality
from gcom.audit.rules.judging import MOST, Judgement, Look
from gcom.audit.rules.partial import Part, look_at_part, part_of
from gcom.audit.summary.dependencies import packed, unpacked
from gcom.audit.summary.position import Key

TASKS = 256  # of one stage, at most: more cost more to start than they share

SUMMARIES = "group string, instance string, process string, chain long, payload binary"
_NAMES = [(name, pa.string()) for name in ("group", "instance", "process")]
_SUMMARIES = pa.schema([*_NAMES, ("chain", pa.int64()), ("payload", pa.binary())])
BLOCKS = "group string, instance string, sender string, bucket long, kind string, payload binary"
_BLOCKS = pa.schema(
    [*_NAMES[:2], ("sender", pa.string()), ("bucket", pa.int64()), ("kind", pa.string()), ("payload", pa.binary())]
)
JUDGEMENTS = "group string, instance string, payload binary"
_JUDGEMENTS = pa.schema([*_NAMES[:2], ("payload", pa.binary())])
# A row without a group tells of the chain itself.


def run(
    spark: Any,
    catalogue: Catalogue,
    chain_bytes: int = CHAIN_BYTES,
    cache: IncrementalCache | None = None,
    most: int = MOST,
    tell: Callable[[str], object] = str,
    *,
    all_rules: bool = False,
) -> PlanResult:
    """The quick plan: certificates first, messages only where they differ. With `kept`, only new segments are read.

    A chain has about `chain_bytes`; a group of up to `most` deliveries is looked at message by message, in one task.
    `tell` hears what begins. With `all_rules` messages are looked at for what a group does not promise, too.
    """
    seeds = (secrets.randbits(64), secrets.randbits(64)) if cache is None else cache.seeds
    chains = stages.chains_of(catalogue, chain_bytes if cache is None else 1)
    if cache is None:
        summaries = _scan(spark, chains, range(len(chains)), seeds).persist()
    else:
        summaries = _scan_new(spark, chains, catalogue, cache).persist()
    tell(f"reading {len(catalogue.sizes):,} segments of {len(catalogue.paths):,} processes")
    chain_summaries = _chain_summaries(summaries)
    again = stages.to_repeat(chain_summaries)
    if again:
        tell(f"reading {len(again):,} processes once more, from their first lines")
        repeated = range(len(chains), len(chains) + len(again))
        chains += stages.whole_chains(catalogue, again)
        whole = _scan(spark, chains, repeated, seeds).persist()
        chain_summaries = {**chain_summaries, **_chain_summaries(whole)}
        summaries = summaries.where(~summaries.process.isin(again)).unionByName(whole)
    coverage = stages.coverages(catalogue, chain_summaries)
    tell("comparing what the processes say")
    judgements = _judge(summaries, coverage, most, all_rules=all_rules)
    tell("looking at messages where summaries differ")
    small = [each for each in judgements if each.deliveries <= most]
    _look_closer(spark, small, catalogue, coverage, seeds)
    _look_at_parts(spark, [each for each in judgements if each.deliveries > most], chains, coverage, seeds, most)
    believed = [chain for index, chain in enumerate(chains) if chain.process not in again or index in repeated]
    _judge_causality(spark, [each for each in judgements if stages.needs_causality(each, most)], believed, coverage)
    return stages.outcome_of(judgements, catalogue, chain_summaries, coverage)


# Stage 1


def _scan(spark: Any, chains: list[Chain], which: Sequence[int], seeds: tuple[int, int]) -> Any:
    """The summaries of the chains `which`, an index each."""

    def scanned(place: int) -> Iterator[pa.RecordBatch]:
        index = which[place]
        rows = rows_of(scan_chain(chains[index], index, seeds))
        yield _batch([(*names, index, payload) for *names, payload in rows], _SUMMARIES)

    return _spread(spark, len(which), scanned, SUMMARIES)


def _spread(spark: Any, count: int, rows_of: Callable[[int], Iterator[pa.RecordBatch]], schema: str) -> Any:
    """The rows of each index below `count`, in so many tasks if they are not too many."""

    def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from rows_of(index)

    return spark.range(0, count, 1, min(count, TASKS)).mapInArrow(of_task, schema)


def _scan_new(spark: Any, chains: list[Chain], catalogue: Catalogue, cache: IncrementalCache) -> Any:
    """As `_scan` of chains of one segment each, of which those that are kept are not read."""
    rows: list[tuple[Any, ...]] = []
    new = []
    for index, chain in enumerate(chains):
        known = cached(cache, catalogue, chain)
        if known is None:
            new.append(index)
        else:
            rows += [(*names, index, payload) for *names, payload in known]
    for index, found in _collected(_scan(spark, chains, new, cache.seeds) if new else None):
        rows += [(*names, index, payload) for *names, payload in found]
        keep(cache, catalogue, chains[index], found)
    return spark.createDataFrame(rows, SUMMARIES)


def _collected(summaries: Any) -> Iterator[tuple[int, list[Row]]]:
    """The rows of each chain, without its index."""
    by_chain: dict[int, list[Row]] = defaultdict(list)
    for row in summaries.collect() if summaries is not None else ():
        by_chain[row.chain].append((row.group, row.instance, row.process, bytes(row.payload)))
    yield from sorted(by_chain.items())


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [[]] * len(schema)
    arrays = [pa.array(list(each), kind) for each, kind in zip(columns, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _chain_summaries(summaries: Any) -> dict[str, list[ChainSummary]]:
    found: dict[str, list[ChainSummary]] = defaultdict(list)
    for row in summaries.where(summaries.group.isNull()).select("chain", "payload").collect():
        chain_summary = unpack(bytes(row.payload))
        chain_summary.chain = row.chain
        found[chain_summary.process].append(chain_summary)
    return {process: sorted(parts, key=lambda part: part.chain) for process, parts in sorted(found.items())}


# Stage 2


def _judge(summaries: Any, coverage: dict[str, str], most: int, *, all_rules: bool) -> list[Judgement]:
    def judge_group(table: pa.Table) -> pa.Table:
        rows = sorted(table.select(["chain", "payload"]).to_pylist(), key=lambda row: row["chain"])
        key = _key_of(table)
        of = {row["chain"]: unpack(row["payload"]) for row in rows}
        found = stages.judged(key, of, coverage, most, all_rules=all_rules)
        return _judgement_row(key, found)

    of_groups = summaries.where(summaries.group.isNotNull()).groupBy("group", "instance")
    rows = of_groups.applyInArrow(judge_group, JUDGEMENTS).collect()
    return sorted((unpack(bytes(row.payload)) for row in rows), key=lambda each: each.key)


def _key_of(table: pa.Table) -> Key:
    """The group that all rows of a table are of."""
    return table["group"][0].as_py(), table["instance"][0].as_py()


def _judgement_row(key: Key, found: object) -> pa.Table:
    return pa.Table.from_batches([_batch([(*key, pack(found))], _JUDGEMENTS)])


# Stage 3


def _look_closer(
    spark: Any,
    judgements: list[Judgement],
    catalogue: Catalogue,
    coverage: dict[str, str],
    seeds: tuple[int, int],
) -> None:
    looks = {judgement.key: judgement.looks for judgement in judgements if judgement.looks}
    wanted: dict[str, list[Key]] = defaultdict(list)
    for judgement in judgements:
        for process in judgement.processes if judgement.looks else ():
            wanted[process].append(judgement.key)
    chains = stages.whole_chains(catalogue, sorted(wanted))
    if not chains:
        return

    def read_again(index: int) -> Iterator[pa.RecordBatch]:
        chain = chains[index]
        found = stages.seen(chain, seeds, {key: looks[key] for key in wanted[chain.process]})
        yield _batch([(*key, chain.process, index, pack(of)) for key, of in found], _SUMMARIES)

    run_tables = _spread(spark, len(chains), read_again, SUMMARIES)
    _add(judgements, run_tables.groupBy("group", "instance").applyInArrow(_looking(looks, coverage), JUDGEMENTS))


def _looking(looks: dict[Key, list[Look]], coverage: dict[str, str]) -> Callable[[pa.Table], pa.Table]:
    def look_at_group(table: pa.Table) -> pa.Table:
        key = _key_of(table)
        rows = sorted(table.select(["process", "payload"]).to_pylist(), key=lambda row: row["process"])
        return _judgement_row(key, stages.looked(key, [unpack(row["payload"]) for row in rows], coverage, looks[key]))

    return look_at_group


def _add(judgements: list[Judgement], found: Any) -> None:
    """Take over what JUDGEMENTS' rows have: tallies by rule. Sorted, so that which examples are kept is no chance."""
    by_key = {judgement.key: judgement for judgement in judgements}
    for row in sorted(found.collect(), key=lambda row: bytes(row.payload)):
        by_key[row.group, row.instance].add(unpack(bytes(row.payload)))


def _look_at_parts(
    spark: Any,
    judgements: list[Judgement],
    chains: list[Chain],
    coverage: dict[str, str],
    seeds: tuple[int, int],
    most: int,
) -> None:
    """Of large groups the first buckets that differ, from those chains that have some of them."""
    parts = {judgement.key: part_of(judgement, most, coverage) for judgement in judgements}
    parts = {key: part for key, part in parts.items() if part.looks}
    which = sorted({index for part in parts.values() for index in part.chains})
    if not which:
        return

    def read_again(place: int) -> Iterator[pa.RecordBatch]:
        index = which[place]
        looks = {key: part.looks for key, part in parts.items() if index in part.chains}
        found = stages.seen(chains[index], seeds, looks)
        yield _batch(
            [(*key, chains[index].process, index, pack(run_table)) for key, (_, run_table, _) in found], _SUMMARIES
        )

    run_tables = _spread(spark, len(which), read_again, SUMMARIES)
    _add(judgements, run_tables.groupBy("group", "instance").applyInArrow(_looking_at_part(parts), JUDGEMENTS))


def _looking_at_part(parts: dict[Key, Part]) -> Callable[[pa.Table], pa.Table]:
    def look_at_group(table: pa.Table) -> pa.Table:
        key = _key_of(table)
        rows = table.select(["process", "chain", "payload"]).to_pylist()
        run_tables = [unpack(row["payload"]) for row in sorted(rows, key=lambda row: (row["process"], row["chain"]))]
        return _judgement_row(key, look_at_part(run_tables, parts[key]))

    return look_at_group


# Stage 4


def _judge_causality(spark: Any, judgements: list[Judgement], chains: list[Chain], coverage: dict[str, str]) -> None:
    """CAUSAL of large groups: what senders had heard meets what receivers had settled, a bucket of numbers a task."""
    if not judgements:
        return
    members = {judgement.key: judgement.members for judgement in judgements}
    chains = [chain for chain in chains if any(chain.process in judgement.processes for judgement in judgements)]

    def read_again(index: int) -> Iterator[pa.RecordBatch]:
        for key, (*place, block) in stages.dependencies_of(chains[index], members):
            yield _batch([(*key, *place, packed(block))], _BLOCKS)

    def judge_blocks(table: pa.Table) -> pa.Table:
        key = _key_of(table)
        rows = table.select(["sender", "bucket", "kind", "payload"]).to_pylist()
        blocks = [(row["sender"], row["bucket"], row["kind"], unpacked(row["payload"])) for row in rows]
        return _judgement_row(key, {"CAUSAL": judge_causality(blocks, members[key], coverage)})

    blocks = _spread(spark, len(chains), read_again, BLOCKS)
    _add(judgements, blocks.groupBy("group", "instance", "sender", "bucket").applyInArrow(judge_blocks, JUDGEMENTS))
