"""The parent's side of gcom/bench/failover/probe.py: a registry, its members, their reports, and faults in them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import TracebackType
from typing import Self

from gcom.bench.processes.children import START_S, Children, Report
from gcom.errors import GComTimeout
from gcom.runtime import fault_injection
from gcom.values import names
from gcom.values.definition import Definition

SETTLE_S = 30.0  # for all to be in one view and to hear each other
EVERY_S = 0.002  # between two messages of the group; a sender's interval is this times the members
REGISTRY = "registry"


@dataclass(slots=True)
class Reporter:
    """A member process and its reports since it was told to join."""

    name: str
    process: str = ""  # its identity in the group
    reports: list[Report] = field(default_factory=list)

    def said(self, kind: str, **fields: object) -> Report | None:
        """Return the first report of that kind with those fields."""
        return next((it for it in self.reports if it["say"] == kind and fields.items() <= it.items()), None)

    @property
    def view(self) -> Report | None:
        """Return the last view that it reported."""
        return next((report for report in reversed(self.reports) if report["say"] == "view"), None)

    def _after(self, kind: str, since: float) -> Iterator[Report]:
        return (it for it in self.reports if it["say"] == kind and it["at"] > since)

    def state_after(self, since: float) -> Report | None:
        """Return its report of the first state that it was given after that time."""
        return next(self._after("state", since), None)

    def view_without(self, process: str, since: float) -> Report | None:
        """Return the first view after that time that a process is not in."""
        return next((view for view in self._after("view", since) if process not in view["members"]), None)

    def view_with_names(self, wanted: Iterable[str], since: float) -> Report | None:
        """Return the first view after that time with just these names."""
        views = self._after("view", since)
        return next((it for it in views if set(map(names.name_of, it["members"])) == set(wanted)), None)


class Scenario:
    """A registry and its members; none is left when the `with` block ends. With `network`, `set_faults` works."""

    def __init__(self, network: bool = False) -> None:
        self._data = TemporaryDirectory(prefix="gcom-bench-")  # of the registry, for when it starts again
        self._faults = Path(self._data.name) / "faults"
        self._faults.touch()
        self.children = Children({fault_injection.VARIABLE: f"@{self._faults}"} if network else None)
        self.registry = ""
        self.members: dict[str, Reporter] = {}
        self._tokens = itertools.count(1)
        self._groups = itertools.count(1)

    def ensure(self, count: int) -> None:
        """Have a registry, and members m0, m1, … ready; those that are there already stay."""
        if REGISTRY not in self.children:
            # A registry that starts again takes its old port and folder: that is what members look for.
            port = names.split_address(self.registry)[1] if self.registry else 0
            self.registry = self.children.start_registry(port, self._file, Path(self._data.name) / "registry")
        for name in [f"m{place}" for place in range(count)]:
            if name not in self.members:
                self.members[name] = Reporter(name)
                self.children.run(name, "gcom.bench.failover.probe:probe", name=name, registry=self.registry)
        self.until_all(self.members.values(), lambda it: it.said("ready"), START_S, "it is ready")

    def form_group(self, kind: Definition, at: float | None = None, state: bool = False) -> list[Reporter]:
        """Have all join a fresh group, at one instant if given; return when it is one view of them.

        With `state` they hand over what they have counted to whoever joins.
        """
        members = list(self.members.values())
        # A fresh group per round, so that no round begins with what the last one left behind.
        group = f"{kind.group}-{next(self._groups)}"
        for member in members:
            # `ready` is said once in a process's life, and `ensure` asks for it in each round.
            member.reports = [report for report in member.reports if report["say"] == "ready"]
        for place, member in enumerate(members):
            self.join(member, kind, group, at, state)
            if place == 0 and at is None:  # it leads; the others come after it
                self.until_all([member], lambda it: it.said("joined"), SETTLE_S, "it is in")
        wanted = [member.name for member in members]
        self.until_all(members, lambda it: it.view_with_names(wanted, 0.0), SETTLE_S, "it is in one view with all")
        for member in members:
            joined = member.said("joined")
            assert joined is not None, "one that is in a view has joined"
            member.process = joined["process"]
        return members

    def join(self, one: Reporter, kind: Definition, group: str, at: float | None = None, state: bool = False) -> None:
        definition = {"group": group, "ordering": kind.ordering, "multicast": kind.multicast, "safe": kind.safe}
        self.children.tell(one.name, "join", definition=definition, at=at, state=state)

    def flow(self, members: list[Reporter], every_s: float | None = None) -> None:
        """Have each of them send a message every so often, until each hears all."""
        since = monotonic()
        for member in members:
            self.children.tell(member.name, "flow", every_s=every_s or EVERY_S * len(members))
        # Flowing means that each hears all: a kill before that would be measured as the group's start.
        self.watch(members, since)

    def watch(self, members: list[Reporter], since: float, gone: str = "", limit_s: float = SETTLE_S) -> list[Report]:
        """Wait until each delivered a message of each, sent after `since`, in a view without `gone`."""
        # A token per wait: a late report about the last one must not end this one.
        token = next(self._tokens)
        senders = [member.process for member in members]
        for member in members:
            self.children.tell(member.name, "watch", token=token, since=since, senders=senders, gone=gone)
        return self.until_all(members, lambda it: it.said("seen", token=token), limit_s, "it hears all who are left")

    def leave(self, members: Iterable[Reporter]) -> None:
        for member in members:
            self.children.tell(member.name, "leave")
        self.until_all(members, lambda it: it.said("leave"), SETTLE_S, "it has left")

    def kill(self, name: str) -> float:
        """Kill a member or the registry; return the time."""
        at = monotonic()
        self.children.kill_one(name)
        # The time was taken before the signal: what it takes to reap the process is no part of the failover.
        self.members.pop(name, None)
        return at

    def pause(self, member: Reporter, limit_s: float) -> float:
        """Pause one, for `limit_s` seconds at most; return the time."""
        name = f"pauser of {member.name}"
        # By a process of its own: whoever stops another with SIGSTOP must live to let it go on (probe.py).
        paused = self.children.process_id(member.name)
        self.children.run(name, "gcom.bench.failover.probe:pause", process=paused, seconds=limit_s)
        return float(self.children.gather("stopped", [name], START_S, self._file)[name]["at"])

    def go_on(self, member: Reporter) -> float:
        """Have a paused one go on; return the time."""
        name = f"pauser of {member.name}"
        self.children.release(name)
        at = float(self.children.gather("continued", [name], START_S, self._file)[name]["at"])
        self.children.kill_one(name)
        return at

    def set_faults(self, text: str) -> float:
        """Put these faults into all calls (gcom/runtime/fault_injection.py), at one instant; return the time."""
        # The time is taken after the rename: before it nobody can have read these faults.
        fresh = self._faults.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        # A rename, so that all members read either the old faults or the new ones.
        fresh.rename(self._faults)
        return monotonic()

    def until_all(
        self, members: Iterable[Reporter], found: Callable[[Reporter], Report | None], limit_s: float, what: str
    ) -> list[Report]:
        """Return what `found` returns for each, once it does for all. Raises GComTimeout naming the missing members."""
        members = list(members)
        if not self.until(lambda: all(found(member) for member in members), limit_s):
            missing = ", ".join(member.name for member in members if not found(member))
            raise GComTimeout(f"{missing} did not say within {limit_s:g} s that {what}")
        return [report for member in members if (report := found(member))]

    def until(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Take reports until a condition holds; return whether it did in time."""
        deadline = monotonic() + limit_s
        while not condition():
            left = deadline - monotonic()
            if left <= 0:
                return False
            # Every report is filed: a later wait may need one that comes now.
            heard = self.children.hear(left)
            if heard is not None:
                self._file(*heard)
        return True

    def pass_time(self, seconds: float) -> None:
        self.until(lambda: False, seconds)

    def _file(self, name: str, report: Report) -> None:
        if name in self.members:
            self.members[name].reports.append(report)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The processes first: the registry among them writes into the folder.
        self.children.__exit__(kind, error, trace)
        self._data.cleanup()
