"""Rows that hold the results of a chain's scan: they travel between Spark's tasks, and `--incremental` keeps them."""

from __future__ import annotations

from collections.abc import Iterable

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.stages import ChainSummary, summarized
from gcom.audit.plan.wire import pack, unpack
from gcom.audit.scan.chain import scan
from gcom.audit.summary.position import Key
from gcom.audit.summary.process import ProcessSummary

Row = tuple[str | None, str | None, str, bytes]  # group, instance, process, what was packed; no group: of the chain
ScannedChain = tuple[dict[Key, ProcessSummary], ChainSummary]


def scan_chain(chain: Chain, index: int, seeds: tuple[int, int]) -> ScannedChain:
    """Return a chain's summaries; `index` is the chain's among all."""
    scanned = scan(chain, seeds)
    return scanned.scanner.summaries, summarized(chain, index, scanned)


def rows_of(found: ScannedChain) -> list[Row]:
    """Return the results of a chain as rows, which travel and are kept."""
    summaries, of_chain = found
    rows: list[Row] = [(*key, of_chain.process, pack(summary)) for key, summary in summaries.items()]
    return [*rows, (None, None, of_chain.process, pack(of_chain))]


def of_rows(rows: Iterable[Row], index: int) -> ScannedChain:
    """Return the results that `rows_of` was given, with the index that the chain has by now."""
    summaries: dict[Key, ProcessSummary] = {}
    for group, instance, _, payload in rows:
        if group is None or instance is None:
            of_chain: ChainSummary = unpack(payload)
        else:
            summaries[group, instance] = unpack(payload)
    of_chain.chain = index
    return summaries, of_chain


def cached(cache: IncrementalCache | None, catalogue: Catalogue, chain: Chain) -> list[Row] | None:
    """Return the kept rows of a chain, None if there are none. Only a chain of one segment is kept, as a later segment
    changes no other's.
    """
    if cache is None or len(chain.paths) > 1:
        return None
    (path,) = chain.paths
    rows: list[Row] | None = cache.get(path, catalogue.sizes[path], last=chain.last)
    return rows


def keep(cache: IncrementalCache | None, catalogue: Catalogue, chain: Chain, rows: list[Row]) -> None:
    """Keep the rows of a chain, for `cached`."""
    if cache is not None and len(chain.paths) == 1:
        cache.put(chain.paths[0], catalogue.sizes[chain.paths[0]], rows, last=chain.last)
