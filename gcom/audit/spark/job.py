"""The plan as a Spark job, in stages that move summaries of logs, never the logs themselves.

1. scan: one task per chain of segments, each judged by itself as columns (scan/).
2. judge: one task per (group, instance), over its processes' summaries (rules/judging.py).
3. read again, where summaries leave a rule open: one task per chain gives excerpts of columns, and one per bucket of
   numbers, serials or indexes judges these; TOTAL is judged by one task per group, to which deliveries come in order,
   so that it holds no more than a few buckets of them.

A segment that is not its log's first is scanned from what its `open` says; the driver then holds each chain's end
against the beginning of the next, and a process of which they differ, or that has gaps, is gone through once more from
its first line.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.plan import stages
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.rows import Row, cached, keep, rows_of, scan_chain
from gcom.audit.plan.stages import CHAIN_BYTES, ChainSummary, PlanResult, Reading
from gcom.audit.plan.wire import pack, unpack
from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.judging import add_found
from gcom.audit.summary.excerpts import packed, unpacked
from gcom.audit.summary.position import Key
from gcom.audit.summary.tally import Tally

TASKS = 256  # of one stage, at most: more cost more to start than they share

SUMMARIES = "group string, instance string, process string, chain long, payload binary"
_NAMES = [(name, pa.string()) for name in ("group", "instance", "process")]
_SUMMARIES = pa.schema([*_NAMES, ("chain", pa.int64()), ("payload", pa.binary())])
EXCERPTS = "group string, instance string, rule string, of string, bucket long, chain long, nth long, payload binary"
_PLACED = [*_NAMES[:2], ("rule", pa.string()), ("of", pa.string()), ("bucket", pa.int64())]
_EXCERPTS = pa.schema([*_PLACED, ("chain", pa.int64()), ("nth", pa.int64()), ("payload", pa.binary())])
EXCERPTS_AT_ONCE = 64  # that a task has in memory where it goes through them in order
FOUND = "group string, instance string, rule string, of string, bucket long, payload binary"
_FOUND = pa.schema([*_PLACED, ("payload", pa.binary())])
JUDGEMENTS = "group string, instance string, payload binary"
_JUDGEMENTS = pa.schema([*_NAMES[:2], ("payload", pa.binary())])
# A row without a group tells of the chain itself.


def run(
    spark: Any,
    catalogue: Catalogue,
    chain_bytes: int = CHAIN_BYTES,
    cache: IncrementalCache | None = None,
    tell: Callable[[str], object] = str,
    *,
    all_rules: bool = False,
) -> PlanResult:
    """Judge all logs of a catalogue; with `cache`, only segments that are new since then are read.

    A chain, which one task goes through, has about `chain_bytes`. `tell` gets a sentence about each stage that begins.
    With `all_rules` messages are also read for rules that a group does not promise.
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
    judgements = _judge(summaries, coverage, all_rules=all_rules)
    tell("looking at messages where summaries differ")
    believed = range(len(chains)) if not again else repeated
    # Of a process that was gone through once more only the whole chain counts.
    told = {index: chain for index, chain in enumerate(chains) if chain.process not in again or index in believed}
    _judge_messages(spark, judgements, told, coverage)
    return stages.outcome_of(judgements, catalogue, chain_summaries, coverage)


# Stage 1


def _scan(spark: Any, chains: list[Chain], which: Sequence[int], seeds: tuple[int, int]) -> Any:
    """Return the summaries of the chains whose indexes are in `which`."""

    def scanned(place: int) -> Iterator[pa.RecordBatch]:
        index = which[place]
        rows = rows_of(scan_chain(chains[index], index, seeds))
        yield _batch([(*names, index, payload) for *names, payload in rows], _SUMMARIES)

    return _spread(spark, len(which), scanned, SUMMARIES)


def _spread(spark: Any, count: int, rows_of: Callable[[int], Iterator[pa.RecordBatch]], schema: str) -> Any:
    """Return the rows of each index below `count`, in `count` tasks if they are not too many."""

    def of_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from rows_of(index)

    return spark.range(0, count, 1, min(count, TASKS)).mapInArrow(of_task, schema)


def _scan_new(spark: Any, chains: list[Chain], catalogue: Catalogue, cache: IncrementalCache) -> Any:
    """Return the same as `_scan` for chains of one segment each, without reading those that are kept."""
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
    """Return the rows of each chain, without its index."""
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


def _judge(summaries: Any, coverage: dict[str, str], *, all_rules: bool) -> list[Judgement]:
    def judge_group(table: pa.Table) -> pa.Table:
        rows = sorted(table.select(["chain", "payload"]).to_pylist(), key=lambda row: row["chain"])
        key = _key_of(table)
        of = {row["chain"]: unpack(row["payload"]) for row in rows}
        found = stages.judged(key, of, coverage, all_rules=all_rules)
        return _judgement_row(key, found)

    of_groups = summaries.where(summaries.group.isNotNull()).groupBy("group", "instance")
    rows = of_groups.applyInArrow(judge_group, JUDGEMENTS).collect()
    return sorted((unpack(bytes(row.payload)) for row in rows), key=lambda each: each.key)


def _key_of(table: pa.Table) -> Key:
    return table["group"][0].as_py(), table["instance"][0].as_py()


def _judgement_row(key: Key, found: object) -> pa.Table:
    return pa.Table.from_batches([_batch([(*key, pack(found))], _JUDGEMENTS)])


# Stage 3


def _judge_messages(
    spark: Any, judgements: list[Judgement], chains: dict[int, Chain], coverage: dict[str, str]
) -> None:
    """Judge over messages the cases that the summaries leave open: bucket by bucket, then rules that need a whole group
    in order.
    """
    readings = stages.readings_of(judgements)
    if not readings:
        return
    streams = stages.streamed(readings)
    excerpts = _read_again(spark, judgements, chains, readings)
    excerpts = excerpts.persist() if streams else excerpts  # else the logs would be read twice
    judge = _judging_bucket(readings, stages.closed_in(coverage))
    of_buckets = excerpts.where(~excerpts.rule.isin(streams)) if streams else excerpts
    _add(judgements, of_buckets.groupBy("group", "instance", "rule", "of", "bucket").applyInArrow(judge, FOUND))
    if streams:
        # By default a task would be handed 10,000 rows at once; an excerpt may have a megabyte.
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(EXCERPTS_AT_ONCE))
        # Rows of one group go to one task, sorted on disk if they are many, and are judged as they come.
        of_streams = excerpts.where(excerpts.rule.isin(streams)).repartition(len(readings), "group", "instance", "rule")
        ordered = of_streams.sortWithinPartitions("group", "instance", "rule", "bucket", "chain", "nth")
        _add(judgements, ordered.mapInArrow(_judging_stream(readings), FOUND))
        excerpts.unpersist()


def _read_again(spark: Any, judgements: list[Judgement], chains: dict[int, Chain], readings: dict[Key, Reading]) -> Any:
    chosen = stages.chains_for(judgements, readings, chains)

    def read(place: int) -> Iterator[pa.RecordBatch]:
        index = chosen[place]
        for nth, (key, (rule, of, bucket, excerpt)) in enumerate(stages.read_again(chains[index], index, readings)):
            yield _batch([(*key, rule, of, bucket, index, nth, packed(excerpt))], _EXCERPTS)

    return _spread(spark, len(chosen), read, EXCERPTS)


def _judging_bucket(readings: dict[Key, Reading], closed: frozenset[str]) -> Callable[[pa.Table], pa.Table]:
    def judge(table: pa.Table) -> pa.Table:
        rows = sorted(table.to_pylist(), key=lambda row: (row["chain"], row["nth"]))
        rule, of, bucket = (rows[0][name] for name in ("rule", "of", "bucket"))
        key = rows[0]["group"], rows[0]["instance"]
        tally = stages.judge_bucket(readings[key], rule, of, [unpacked(row["payload"]) for row in rows], closed)
        return pa.Table.from_batches([_batch([(*key, rule, of, bucket, pack(tally))], _FOUND)])

    return judge


def _judging_stream(readings: dict[Key, Reading]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        for (*names, rule), of_rule in groupby(rows, key=itemgetter("group", "instance", "rule")):
            key = names[0], names[1]
            excerpts = ((row["bucket"], unpacked(row["payload"])) for row in of_rule)
            tally = stages.judge_stream(readings[key], rule, excerpts)
            yield _batch([(*key, rule, "", 0, pack(tally))], _FOUND)

    return judge


def _add(judgements: list[Judgement], found: Any) -> None:
    """Add results, in the order of buckets, so that the choice of examples is deterministic."""
    tallies: dict[Key, dict[str, list[Tally]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(found.collect(), key=lambda row: (row.group, row.instance, row.rule, row.of, row.bucket)):
        tallies[row.group, row.instance][row.rule].append(unpack(bytes(row.payload)))
    for judgement in judgements:
        for rule, each in tallies[judgement.key].items():
            add_found(judgement, rule, each)
