"""The growth of memory with messages sent: resident memory after all of them, minus that after a tenth.

Real processes, the registry too; small messages in large runs, since it is the number of messages that may leak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gcom.bench.benchmark import MEBIBYTE, BenchSetup, Between, Figure, Goal, Tell
from gcom.bench.processes import usage
from gcom.bench.processes.children import START_S, Children, Report

QUIET_S = 60.0  # a member tells once a second that it goes on
GROWTH = Goal("growth", "memory of the process that grew most", "MiB", 10.0)


@dataclass(frozen=True, slots=True)
class MemorySetup(BenchSetup):
    """The messages to send, of all senders together."""

    messages: Annotated[int, Between(1_000, 10**9)]


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """Resident bytes of each process at either time."""

    setup: MemorySetup
    early: dict[str, int]
    late: dict[str, int]
    wrong: int

    @property
    def growth_mib(self) -> float:
        """Return the growth of the process that grew most: in a sum one that shrank would hide one that leaks."""
        return max(self.late[name] - self.early[name] for name in self.late) / MEBIBYTE

    @property
    def met(self) -> bool:
        return Figure(GROWTH, (self.growth_mib,)).met

    def row(self) -> dict[str, object]:
        return {
            **self.setup.row("memory"),
            "messages": self.setup.messages,
            "wrong": self.wrong,
            "growth_mib": round(self.growth_mib, 2),
            "to_reach_mib": GROWTH.most,
            "met": self.met,
            "processes": [
                {
                    "name": name,
                    "after_a_tenth_mib": round(self.early[name] / MEBIBYTE, 1),
                    "after_all_mib": round(late / MEBIBYTE, 1),
                }
                for name, late in sorted(self.late.items())
            ],
        }


def measure(setup: MemorySetup, tell: Tell) -> MemoryResult:
    """Send a tenth, then the rest; `tell` hears the progress. Raises Unavailable or GComTimeout if a process fails."""
    names = setup.names
    tenth = setup.messages // 10 // setup.members
    rest = setup.messages // setup.members - tenth
    with Children() as children:
        registry = children.start_registry()
        for name in names:
            children.start(name, "gcom.bench.memory.filler", name, *setup.words(registry))
        children.gather("joined", names, START_S)
        # 1. A tenth of the messages fills every buffer, pool and cache to its usual size. 2. What grows after that
        #    grows with the number of messages, and would grow for ever.
        _fill(children, names, tenth, tenth * setup.members, tell)
        early = _resident(children, names)
        filled = _fill(children, names, rest, (tenth + rest) * setup.members, tell)
        late = _resident(children, names)
    return MemoryResult(setup, early, late, sum(int(report["wrong"]) for report in filled.values()))


def _fill(children: Children, names: list[str], each: int, total: int, tell: Tell) -> dict[str, Report]:
    def heard(name: str, report: Report) -> None:
        if name == names[0] and report["say"] == "delivered":
            tell(f"{report['count']:,} of {total:,} messages delivered")

    children.tell_all(names, "fill", send=each, total=total)
    return children.gather("filled", names, QUIET_S, heard)


def _resident(children: Children, names: list[str]) -> dict[str, int]:
    # The registry too: it gives the serials of a total order, and may leak as well as a member.
    return {name: usage.resident_bytes(children.process_id(name)) for name in [*names, "registry"]}
