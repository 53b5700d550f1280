"""A round: what replicas say after any start, and what follows from it. Pure.

A new instance of the group knows nothing, and each replica has a log of its own. All say HELLO; once a majority of the
configured names has said it, the replica whose last entry is the latest (term, then index) is the *source*. Terms are
unique as in Raft (Ongaro and Ousterhout 2014, §5.2): a majority has the new term on disk before any entry of it exists.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple


# A tuple, as all that is made for each command.
class LogEntry(NamedTuple):
    """A message of the group with its place; a payload without bytes only begins a term."""

    term: int
    index: int  # type: ignore[assignment]  # of a tuple
    process: str
    payload: bytes


class Configuration(NamedTuple):
    """The configured names, and the version of that configuration: the index of the entry that made it."""

    version: int
    names: tuple[str, ...]

    @property
    def majority(self) -> int:
        """Return how many of the names are a majority."""
        return len(self.names) // 2 + 1


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """The facts that a replica's disk holds, synced."""

    promised: int  # no log of a lower term is taken
    term: int  # of the last entry
    index: int
    configuration: Configuration
    lost: bool = False  # it was empty in a round that was not the first, and has been given no log since

    @property
    def known(self) -> bool:
        """Tell whether the disk has all that was ever synced to it: an empty one may stand for one that was lost."""
        return bool(self.promised) and not self.lost

    @property
    def place(self) -> tuple[int, int, int]:
        """Return the place of this disk: it only rises."""
        return self.promised, self.term, self.index

    @property
    def last(self) -> tuple[int, int]:
        """Return the place of the last entry; of two logs the one with the greater has all that was answered."""
        return self.term, self.index


class RoundPlan(NamedTuple):
    """The outcome of a round's HELLOs: a new term, and the process whose log is taken."""

    term: int
    source: str
    configuration: Configuration
    first: bool  # the very first start


def decide(hellos: Mapping[str, tuple[str, DiskFacts]], floor: int) -> RoundPlan | None:
    """Return what HELLOs decide, given as process: (name, facts); None while too few have said it.

    A replica whose disk is new does not count: it may have lost one that held what was answered. Only at the very first
    start, where all names are there, and none has more than the first entry, nothing can have been lost.
    """
    if not hellos:
        return None
    configuration = max(facts.configuration for _, facts in hellos.values())
    voters = {process: facts for process, (name, facts) in hellos.items() if name in configuration.names}
    known = [process for process, facts in voters.items() if facts.known]
    first = len(voters) == len(configuration.names) and all(facts.index <= 1 for facts in voters.values())
    if len(known) < configuration.majority and not first:
        return None
    term = max([floor, *(facts.promised for facts in voters.values())]) + 1
    return RoundPlan(term, max(voters, key=lambda it: (voters[it].last, it)), configuration, first)


def waits_for(hellos: Mapping[str, tuple[str, DiskFacts]], configuration: Configuration) -> str:
    """Return the reason why a round is not decided, for people."""
    here = {name for name, _ in hellos.values()}
    missing = [name for name in configuration.names if name not in here]
    lost = sorted(name for name, facts in hellos.values() if not facts.known and name in configuration.names)
    if not missing and lost:
        return (
            f"disks that are lost ({', '.join(lost)}): a majority needs them; gcom replicated recover can give them up"
        )
    if len(lost) == len(here):
        return f"{', '.join(missing)}: the first start needs all of {', '.join(configuration.names)}"
    without = f"; {', '.join(lost)} without a log do not count" if lost else ""
    return f"{configuration.majority} of {', '.join(configuration.names)}: {', '.join(missing)} not here{without}"


def committed(synced: Mapping[str, int], names: Collection[str]) -> int:
    """Return the index up to which a majority of the names has synced."""
    found = sorted((synced.get(name, 0) for name in names), reverse=True)
    return found[len(found) // 2]
