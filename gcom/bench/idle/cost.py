"""The idle benchmark: what heartbeats and leases cost members while nothing is sent.

Real processes. Each member is in all groups, as nodes are that serve several: what a node shares between its groups
shows as the groups become more.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from threading import Event
from time import monotonic
from typing import Annotated

from gcom.bench.benchmark import BenchSetup, Between, Bounded, Tell, figure_fields
from gcom.bench.processes import usage
from gcom.bench.processes.children import START_S, Children, Report

SETTLE_S = 2.0  # after the last join: views, leases and the sequencers' first answers are no idle time
GROUPS_MAX = 1_000
# A share of a core, in hundredths, for one group; and for each group more of the same members.
FIRST, FURTHER = 0.4, 0.085


@dataclass(frozen=True, slots=True)
class IdleSetup(BenchSetup):
    """The groups, with the same members each, and for how long to look."""

    groups: Annotated[int, Between(1, GROUPS_MAX)]
    seconds: Annotated[float, Between(1.0, 3600.0)]


@dataclass(frozen=True, slots=True)
class IdleResult:
    """Processor time of each member and of the registry, and switches of the members' threads, per second."""

    setup: IdleSetup
    percent: dict[str, float]  # of a core
    switches: dict[str, float]  # of threads, of the members

    @property
    def figures(self) -> tuple[Bounded, ...]:
        bound = FIRST + FURTHER * (self.setup.groups - 1)
        used = median(self.percent[name] for name in self.setup.names)
        return (Bounded("percent_per_member", "percent of a core per member", used, round(bound, 2)),)

    def row(self) -> dict[str, object]:
        return {
            **self.setup.row("idle"),
            "groups": self.setup.groups,
            "seconds": self.setup.seconds,
            "percent": {name: round(value, 3) for name, value in self.percent.items()},
            "switches_per_s": {name: round(value, 1) for name, value in self.switches.items()},
            **figure_fields(self.figures),
        }


def measure(setup: IdleSetup, tell: Tell = lambda _text: None) -> IdleResult:
    """Look for `seconds` at groups in which nothing is sent. Raises Unavailable or GComTimeout if a process fails."""
    usage.require()
    names, pause = setup.names, Event()
    with Children() as children:
        registry = children.start_registry()
        for name in names:
            children.start(name, "gcom.bench.idle.member", name, str(setup.groups), *setup.words(registry))
        children.gather("joined", names, START_S)
        tell(f"{setup.members} members are in {setup.groups} groups")
        pause.wait(SETTLE_S)
        early, before, began = _used(children, names), usage.cpu_s_of(children.process_id("registry")), monotonic()
        pause.wait(setup.seconds)
        late, after, ended = _used(children, names), usage.cpu_s_of(children.process_id("registry")), monotonic()
    length = ended - began
    used = {name: float(late[name]["cpu_s"]) - float(early[name]["cpu_s"]) for name in names}
    switches = {name: (int(late[name]["switches"]) - int(early[name]["switches"])) / length for name in names}
    used["registry"] = after - before
    return IdleResult(setup, {name: 100 * each / length for name, each in used.items()}, switches)


def _used(children: Children, names: list[str]) -> dict[str, Report]:
    children.tell_all(names, "use")
    return children.gather("used", names, START_S)
