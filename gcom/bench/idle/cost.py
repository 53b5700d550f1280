"""The idle benchmark: what heartbeats and leases cost members while nothing is sent.

Real processes. Each member is in all groups, as nodes are that serve several: what a node shares between its groups
shows as the groups become more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from threading import Event
from time import monotonic

import gcom
from gcom.bench.frame import BenchResult, BenchTable, Figure, JsonRow, Tell, figure_fields, judgement
from gcom.bench.processes import child, usage
from gcom.bench.processes.children import START_S, Children
from gcom.bench.settings import IdleSetup

SETTLE_S = 2.0  # after the last join: views, leases and the sequencers' first answers are no idle time
# A share of a core, in hundredths, for one group; and for each group more of the same members.
FIRST, FURTHER = 0.4, 0.085


def measure(setup: IdleSetup, tell: Tell) -> Iterator[BenchResult]:
    """Look for `seconds` at groups in which nothing is sent. Raises Unavailable or GComTimeout if a process fails."""
    names, pause = setup.names, Event()
    with Children() as children:
        registry = children.start_registry()
        children.run_members("gcom.bench.idle.cost:member", setup, registry=registry)
        children.gather("ready", names, START_S)
        tell(f"{setup.members} members are in {setup.groups} groups")
        pause.wait(SETTLE_S)
        looks = []
        for _ in range(2):
            used = children.ask(names, "use", START_S)
            looks.append((used, usage.cpu_s_of(children.process_id("registry")), monotonic()))
            pause.wait(0 if len(looks) == 2 else setup.seconds)
    (early, registry_s, began), (late, registry_end_s, ended) = looks
    length = ended - began
    percent = {name: 100 * (late[name]["cpu_s"] - early[name]["cpu_s"]) / length for name in names}
    switches = {name: (late[name]["switches"] - early[name]["switches"]) / length for name in names}
    percent["registry"] = 100 * (registry_end_s - registry_s) / length
    yield result(setup, percent, switches)


def result(setup: IdleSetup, percent: dict[str, float], switches: dict[str, float]) -> BenchResult:
    """Return what each process used, in hundredths of a core, and switches of the members' threads per second."""
    bound = round(FIRST + FURTHER * (setup.groups - 1), 2)
    used = median(percent[name] for name in setup.names)
    figure = Figure("percent_per_member", "median member", used, bound)
    row = {
        **setup.row(),
        "percent": {name: round(value, 3) for name, value in percent.items()},
        "switches_per_s": {name: round(value, 1) for name, value in switches.items()},
        **figure_fields([figure]),
    }
    cells = [
        (name, f"{value:.2f}", "", f"{switches[name]:.0f}" if name in switches else "", "")
        for name, value in percent.items()
    ]
    cells.append((figure.name, f"{used:.2f}", f"{bound:.2f}", "", judgement(figure.met)))
    title = f"Nothing is sent: {setup.members} members, {setup.groups} groups, {setup.promises}"
    columns = ("", "percent of a core", "to reach", "switches per s", "judgement")
    return BenchResult(row, [BenchTable(title, columns, cells)])


class IdleMember:
    """A member whose method is the parent's order."""

    def use(self) -> JsonRow:
        return {"cpu_s": usage.cpu_s(), "switches": usage.switches()}


@contextmanager
def member(name: str, setup: JsonRow, registry: str) -> Iterator[IdleMember]:
    wanted = IdleSetup(**setup)
    with gcom.connect(name, registry) as node:
        for number in range(wanted.groups):
            each = replace(wanted.definition, group=f"{wanted.definition.group}{number}")
            node.join(each.group, create=each, timeout_s=child.JOIN_S)
            child.say("in", group=each.group)  # its parent gives up on a child that says nothing for long
        yield IdleMember()
