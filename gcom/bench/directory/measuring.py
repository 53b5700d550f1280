"""The measurement: renewals alone, lookups beside them, serials, a restart; the registry is a process of its own."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from threading import Event
from time import monotonic
from typing import Annotated

from gcom.bench.benchmark import MEBIBYTE, BenchSetup, Between, Bounded, Tell, verdict
from gcom.bench.directory.members import PROCESSES
from gcom.bench.directory.restart import listed_again
from gcom.bench.processes import usage
from gcom.bench.processes.children import START_S, Children
from gcom.values import limits

LOOKUPS_LEAST = 2_000.0  # a second, from all clients together
PROCESSOR_MOST = 0.10  # of a core, for the renewals alone
RESIDENT_MIB_MOST = 150.0
SEQUENCED_LEAST = 0.8  # of one group's rate, for many groups together
SEQUENCED = 100  # groups that are ordered
# Of one group and of many, by turns. Within a turn the threads settle into one of two rhythms, whose rates differ by
# more than twice: of three turns the ratio was 0.5 to 1.4 from run to run, of fifteen 0.8 to 1.0.
SEQUENCE_TURNS = 15
RESTARTED = 50  # groups with members, whose registry is killed and started again
LISTED_S_MOST = 2.0  # from its first listening until all of them are listed again, and none is doubted
REGISTER_S = 120.0  # each group's first registration goes to the disk
QUIET_S = 60.0  # a limit for what hangs, not a figure


@dataclass(frozen=True, slots=True)
class DirectoryBenchSetup(BenchSetup):
    """`members` are the processes that look groups up. `seconds`: for each of the first three phases."""

    groups: Annotated[int, Between(1, limits.DIRECTORY_GROUPS_MAX)]
    seconds: Annotated[float, Between(1.0, 3600.0)]

    @property
    def restarted(self) -> int:
        """Return the number of groups that have members when their registry is killed."""
        return min(self.groups, RESTARTED)


@dataclass(frozen=True, slots=True)
class DirectoryBenchResult:
    """Lookups of all clients, renewals of all groups, and the registry's processor time and memory for them.

    `processor`: its share of a core while groups are renewed and nobody asks. `longest_s`: of any lookup.
    """

    setup: DirectoryBenchSetup
    lookups_per_s: float
    longest_s: float
    renewals_per_s: float
    refused: int
    processor: float
    resident_mib: float
    serials_per_s: tuple[tuple[float, ...], tuple[float, ...]]  # of one group, and of many together, by turn
    listed_s: tuple[float, ...]  # of each restart

    @property
    def sequenced(self) -> float:
        """Return the rate of many groups ÷ that of one, means over all turns: a median would be of one rhythm alone."""
        one, many = map(fmean, self.serials_per_s)
        return many / one

    @property
    def figures(self) -> list[Bounded]:
        groups = self.setup.restarted
        again = f"s until {groups * PROCESSES} members in {groups} groups are listed again"
        return [
            Bounded("lookups_per_s", "lookups a second", self.lookups_per_s, LOOKUPS_LEAST, least=True),
            Bounded("processor", "% of a core for renewals", self.processor * 100, PROCESSOR_MOST * 100),
            Bounded("resident_mib", "resident MiB", self.resident_mib, RESIDENT_MIB_MOST),
            Bounded("sequenced", f"serials, {SEQUENCED} groups ÷ one", self.sequenced, SEQUENCED_LEAST, least=True),
            Bounded("listed_s", again, max(self.listed_s), LISTED_S_MOST),
        ]

    def row(self) -> dict[str, object]:
        return {
            "type": "registry",
            "clients": self.setup.members,
            "groups": self.setup.groups,
            "lookups_per_s": round(self.lookups_per_s, 1),
            "longest_lookup_ms": round(self.longest_s * 1000, 2),
            "renewals_per_s": round(self.renewals_per_s, 1),
            "refused": self.refused,
            "processor": round(self.processor, 4),
            "resident_mib": round(self.resident_mib, 1),
            "sequenced": round(self.sequenced, 3),
            "serials_per_s": {
                groups: [round(rate) for rate in rates]
                for groups, rates in zip(("1", str(SEQUENCED)), self.serials_per_s, strict=True)
            },
            "restart": {
                "groups": self.setup.restarted,
                "members": self.setup.restarted * PROCESSES,
                "listed_s": [round(seconds, 3) for seconds in self.listed_s],
            },
            **verdict(self.figures, processor=PROCESSOR_MOST),  # a share, as `processor` above
        }


def measure(setup: DirectoryBenchSetup, tell: Tell) -> DirectoryBenchResult:
    """Renew the groups, then look them up as well. Raises Unavailable or GComTimeout if a process fails."""
    names, groups = setup.names, str(setup.groups)
    with tempfile.TemporaryDirectory(prefix="gcom-bench-") as folder, Children() as children:
        registry = children.start_registry(data=Path(folder))
        process = children.process_id("registry")
        children.start("renewer", "gcom.bench.directory.renewer", registry, groups)
        # Each group's first registration must be on the disk before it is answered. They are over by then, so that
        # none of them is measured as a renewal.
        children.gather("ready", ["renewer"], REGISTER_S)
        tell(f"{setup.groups:,} groups are registered; they are renewed for {setup.seconds:g} s")
        renewals_per_s, processor, refused = _renewals(children, process, setup.seconds)
        for name in names:
            children.start(name, "gcom.bench.directory.asker", registry, groups)
        children.gather("ready", names, START_S)
        tell(f"{setup.members} clients look them up for {setup.seconds:g} s")
        children.tell_all(names, "ask", seconds=setup.seconds)
        asked = children.gather("asked", names, setup.seconds + QUIET_S).values()
        # While the clients are connected: their connections are a part of the cost.
        resident_mib = usage.resident_bytes(process) / MEBIBYTE
    # With processes of its own, when those above have ended: nothing of ours runs beside it.
    serials_per_s = _serials(setup.seconds / (2 * SEQUENCE_TURNS), tell)
    lookups_per_s = sum(report["count"] / report["seconds"] for report in asked)
    longest_s = max(report["longest_s"] for report in asked)
    listed_s = listed_again(setup.restarted, tell)
    return DirectoryBenchResult(
        setup, lookups_per_s, longest_s, renewals_per_s, refused, processor, resident_mib, serials_per_s, listed_s
    )


def _renewals(children: Children, process: int, seconds: float) -> tuple[float, float, int]:
    """Return renewals a second, the registry's share of a core meanwhile, and how many were refused."""
    before, began, used = _renewed(children), monotonic(), usage.cpu_s_of(process)
    Event().wait(seconds)
    after, ended = _renewed(children), monotonic()
    share = (usage.cpu_s_of(process) - used) / (ended - began)
    return (after["count"] - before["count"]) / (ended - began), share, after["refused"]


def _serials(seconds: float, tell: Tell) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return serials a second of one group and of many, in turns; nothing else is asked of that registry meanwhile."""
    rates: dict[int, list[float]] = {1: [], SEQUENCED: []}
    with Children() as children:
        registry = children.start_registry()
        children.start("wanter", "gcom.bench.directory.wanter", registry, str(SEQUENCED))
        children.gather("ready", ["wanter"], START_S)
        # In turns, so that what else the machine does falls on both sides.
        for _ in range(SEQUENCE_TURNS):
            for groups, found in rates.items():
                children.tell("wanter", "want", groups=groups, seconds=seconds)
                found.append(children.gather("wanted", ["wanter"], seconds + QUIET_S)["wanter"]["rate"])
                tell(f"{groups} groups: {found[-1]:,.0f} serials a second")
    return tuple(rates[1]), tuple(rates[SEQUENCED])


def _renewed(children: Children) -> dict[str, int]:
    children.tell("renewer", "renewed")
    report = children.gather("renewed", ["renewer"], QUIET_S)["renewer"]
    return {"count": report["count"], "refused": report["refused"]}
