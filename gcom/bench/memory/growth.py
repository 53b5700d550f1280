"""Whether memory grows with what was sent: resident memory after all messages, minus that after a tenth of them.

Real processes, the registry too; small messages in large runs, since it is the number of messages that may leak.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gcom.bench.processes.children import START_S, Children, Report
from gcom.errors import BadValue, Unavailable
from gcom.values import limits
from gcom.values.definition import Definition

MESSAGES_MIN, MESSAGES_MAX = 1_000, 10**9
QUIET_S = 60.0  # a member tells once a second that it goes on
MEBIBYTE = 1024 * 1024
GROWTH_MAX_MIB = 10.0  # the figure to reach


@dataclass(frozen=True, slots=True)
class MemorySetup:
    """What to measure; raises BadValue for what cannot be. `messages` are those of all senders together."""

    definition: Definition
    members: int
    messages: int

    def __post_init__(self) -> None:
        if not 1 <= self.members <= limits.MEMBERS_MAX:
            raise BadValue(f"members {self.members} is not 1 to {limits.MEMBERS_MAX}")
        if not MESSAGES_MIN <= self.messages <= MESSAGES_MAX:
            raise BadValue(f"messages {self.messages} is not {MESSAGES_MIN} to {MESSAGES_MAX}")


@dataclass(frozen=True, slots=True)
class MemoryResult:
    """Resident bytes of each process at either time."""

    setup: MemorySetup
    early: dict[str, int]
    late: dict[str, int]
    wrong: int

    @property
    def growth_mib(self) -> float:
        """Of the process that grew most."""
        return max(self.late[name] - self.early[name] for name in self.late) / MEBIBYTE

    @property
    def met(self) -> bool:
        return self.growth_mib < GROWTH_MAX_MIB

    def row(self) -> dict[str, object]:
        """The result as one object of plain values."""
        definition = self.setup.definition
        return {
            "type": "memory",
            "ordering": str(definition.ordering),
            "multicast": str(definition.multicast),
            "safe": definition.safe,
            "members": self.setup.members,
            "messages": self.setup.messages,
            "wrong": self.wrong,
            "growth_mib": round(self.growth_mib, 2),
            "to_reach_mib": GROWTH_MAX_MIB,
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


def measure(setup: MemorySetup, told: Callable[[str], None]) -> MemoryResult:
    """Send a tenth, then the rest; `told` hears how far it is. Raises Unavailable or GComTimeout if a process fails."""
    names = [f"m{place}" for place in range(setup.members)]
    tenth = setup.messages // 10 // setup.members
    rest = setup.messages // setup.members - tenth
    with Children() as children:
        registry = children.start_registry()
        group = setup.definition
        for name in names:
            words = (registry, group.group, group.ordering, group.multicast, str(group.safe))
            children.start(name, "gcom.bench.memory.filler", name, *words)
        children.gather("joined", names, START_S)
        _fill(children, names, tenth, tenth * setup.members, told)
        early = _resident(children, names)
        filled = _fill(children, names, rest, (tenth + rest) * setup.members, told)
        late = _resident(children, names)
    return MemoryResult(setup, early, late, sum(int(report["wrong"]) for report in filled.values()))


def _fill(
    children: Children, names: list[str], each: int, total: int, told: Callable[[str], None]
) -> dict[str, Report]:
    def heard(name: str, report: Report) -> None:
        if name == names[0] and report["say"] == "delivered":
            told(f"{report['count']:,} of {total:,} messages delivered")

    for name in names:
        children.tell(name, "fill", send=each, total=total)
    return children.gather("filled", names, QUIET_S, heard)


def _resident(children: Children, names: list[str]) -> dict[str, int]:
    try:
        import psutil
    except ImportError as error:
        raise Unavailable(
            "memory is measured with psutil, which is not installed: pip install 'gcom[bench]'"
        ) from error
    return {name: psutil.Process(children.process_id(name)).memory_info().rss for name in [*names, "registry"]}
