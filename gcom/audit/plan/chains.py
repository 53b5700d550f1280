"""Chains: the cutting of logs into what one task goes through, and how the pieces fit together afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from gcom.audit.input.catalogue import Catalogue, Chain
from gcom.audit.scan.chain import ChainSummary
from gcom.audit.summary.position import Key
from gcom.audit.summary.process import ProcessSummary


def chains_of(catalogue: Catalogue, chain_bytes: int) -> list[Chain]:
    """Return all logs in chains of about `chain_bytes`, cut only where an opening has a state."""
    chains: list[Chain] = []
    for process, paths in catalogue.paths.items():
        chain: list[str] = []
        size, first = 0, True
        for path in paths:
            # Without a state a chain could not begin there: who is in which group, and what was
            # settled, would be unknown.
            if chain and size >= chain_bytes and catalogue.openings[path].state is not None:
                chains.append(_chain(catalogue, process, chain, first, last=False))
                chain, size, first = [], 0, False
            chain.append(path)
            size += catalogue.sizes[path]
        if chain:
            chains.append(_chain(catalogue, process, chain, first))
    return chains


def _chain(catalogue: Catalogue, process: str, paths: list[str], first: bool = True, last: bool = True) -> Chain:
    # With the sizes that were listed: a log may grow, and a second reading must not see more than the first.
    return Chain(process, tuple(paths), first, last, tuple(catalogue.sizes[path] for path in paths))


def whole_chains(catalogue: Catalogue, processes: Iterable[str]) -> list[Chain]:
    """Return one chain per process, of those that have a segment which can be believed."""
    return [_chain(catalogue, who, catalogue.paths[who]) for who in processes if catalogue.paths.get(who)]


def to_repeat(chains: dict[str, list[ChainSummary]]) -> list[str]:
    """Return the processes to scan again in one chain, of those that were cut into several.

    Three reasons: a chain began with another state than the one before it ended with; a chain goes on in a group that
    an earlier one left; a chain has a gap, a note, or a message outside of any session.
    """
    again = []
    for process, parts in chains.items():
        fits = all(_fit(one, other) for one, other in pairwise(parts))
        left: set[Key] = set()
        for part in parts:
            fits &= left.isdisjoint(part.groups)
            left |= part.left
        # A gap, a note or messages outside of sessions: no state tells of these, so later
        # chains began without knowing.
        if len(parts) > 1 and (not fits or any(_is_odd(part) for part in parts)):
            again.append(process)
    return again


def _is_odd(part: ChainSummary) -> bool:
    return bool(part.gaps or part.notes or part.contradictions or part.outside)


def _fit(one: ChainSummary, other: ChainSummary) -> bool:
    """Tell whether a chain begins as the one before it ends."""
    # A position that jumps between two segments is a gap, which neither chain could see.
    if one.ends_at != other.begins_at or one.ends.keys() != other.begins.keys():
        return False
    return all(end.leads_to(other.begins[key]) for key, end in one.ends.items())


def coverage_of(parts: list[ChainSummary]) -> str:
    """Return the coverage of a process (DELIVERY_LOG.md, Files): closed, open, torn or lost.

    `parts` are its chains in the log's order; without any it is lost.
    """
    # A gap in any chain is a gap in the log; how the log ends only its last chain tells.
    if not parts or any(part.gaps for part in parts):
        return "lost"
    if parts[-1].torn:
        return "torn"
    return "closed" if parts[-1].exited else "open"


def starts_of(summaries: dict[int, ProcessSummary]) -> dict[int, tuple[int, int]]:
    """Return, per chain, the section it begins in, and the number of deliveries of that section that came before.

    `summaries` are by chain, each process's in its log's order.
    """
    starts: dict[int, tuple[int, int]] = {}
    known: dict[str, tuple[int, int, bool]] = {}  # sections, deliveries in the last of them, whether that goes on
    for chain, summary in summaries.items():
        sections, inside, goes_on = known.get(summary.process, (0, 0, False))
        # The first section of a chain that begins inside a log is the last one of the chain before, which goes on:
        # one index for both, and deliveries are counted on.
        if goes_on and summary.sections and not summary.sections[0].installed:
            sections -= 1
        elif summary.sections:
            inside = 0
        starts[chain] = sections, inside
        # Fingerprints of places count every delivery, also a message's second one; so does the second reading.
        counts = [sum(n for n, _, _ in section.order.values()) for section in summary.sections]
        if counts:
            inside = counts[-1] + (inside if len(counts) == 1 else 0)
            goes_on = summary.sections[-1].next == "open"
        known[summary.process] = sections + len(counts), inside, goes_on
    return starts
