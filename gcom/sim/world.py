"""A whole group in one process, one loop and one seed (TigerBeetle's VOPR: a phase with faults, then a healed one).

The machines are the ones that run on Pyro5; frames pass through the same codec. One heap of (time, sequence) decides
what happens next, so a seed is a run. Safety is checked at every step; after the heal the group must make progress.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable
from pathlib import Path
from random import Random

from gcom.core.directory import Directory
from gcom.core.group import Stage
from gcom.errors import Unavailable
from gcom.sim.actor import Actor
from gcom.sim.checkers import Checker, Violation
from gcom.sim.network import Network
from gcom.sim.plan import Plan

HEALED_MS = 20_000  # the healed phase must be over by then


class World:
    """One run of a plan. `run` returns nothing and raises Violation with what went wrong."""

    def __init__(self, plan: Plan, log_dir: Path | None = None) -> None:
        self.plan = plan
        self.rng = Random(plan.seed)
        self.now_ms = 0
        self.network = Network(plan, Random(self.rng.random()))
        self.checkers: dict[str, Checker] = {}  # by instance: no promise spans two
        self.directory = Directory(self._mint)
        self.actors: dict[str, Actor] = {}  # by process
        self.log_dir = log_dir
        self.faults: dict[str, int] = {}
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._minted = 0
        self._digest = hashlib.sha256()

    def _mint(self) -> str:
        self._minted += 1
        return f"i{self._minted}"

    def at(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Do something later; equal times happen in the order in which they were asked for."""
        self._sequence += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._sequence, action))

    def note(self, *what: object) -> None:
        """Put something into the digest that identifies the run."""
        self._digest.update(repr((self.now_ms, *what)).encode())

    def count(self, fault: str) -> None:
        self.faults[fault] = self.faults.get(fault, 0) + 1

    def checker(self, instance: str) -> Checker:
        return self.checkers.setdefault(instance, Checker(self.plan.definition))

    def trouble(self, text: str) -> None:
        """A log could not be written: a simulated run without its logs proves nothing."""
        raise Unavailable(text)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def run(self) -> None:
        """Everything that the plan says, then the healed phase."""
        self._schedule()
        self._until(self.plan.fault_ms, lambda: False)
        self.network.healed = True
        for actor in list(self.actors.values()):
            actor.resume()
        self._until(self.now_ms + 4_000, lambda: False)
        self._must_progress()
        self.close_logs()

    def close_logs(self) -> None:
        """Every process that did not crash ends, and its log with it."""
        for actor in self.actors.values():
            actor.close_log()

    def _until(self, end_ms: int, done: Callable[[], bool]) -> bool:
        while self._heap and self._heap[0][0] <= end_ms and not done():
            self.now_ms, _, action = heapq.heappop(self._heap)
            action()
        if not done():
            self.now_ms = max(self.now_ms, end_ms)
        return done()

    def _schedule(self) -> None:
        plan, rng = self.plan, self.rng
        for index in range(plan.members):
            late = rng.randint(500, plan.fault_ms) if index >= plan.members - plan.late else rng.randint(0, 40)
            self._start(f"m{index}", "1", late)
        names = [f"m{index}" for index in range(plan.members)]
        for name in rng.sample(names, plan.crashes):
            self.at(rng.randint(300, plan.fault_ms), lambda name=name: self._crash(name))  # type: ignore[misc]
        for name in rng.sample(names, plan.leaves):
            self.at(rng.randint(300, plan.fault_ms), lambda name=name: self._leave(name))  # type: ignore[misc]
        for name in rng.sample(names, plan.pauses):
            self.at(rng.randint(300, plan.fault_ms), lambda name=name: self._pause(name))  # type: ignore[misc]

    def _start(self, name: str, incarnation: str, delay_ms: int) -> None:
        process = f"{name}#{incarnation}"
        actor = Actor(self, process, f"{name}-{incarnation}:1", self.rng.random())
        self.actors[process] = actor
        self.at(delay_ms, actor.start)

    def _crash(self, name: str) -> None:
        actor = self._alive(name)
        if actor and self.plan.at_install:
            actor.doomed = True
        elif actor:
            self.count("crash")
            actor.crash()
            if self.rng.random() < 0.5:
                self._start(name, f"{len(self.actors)}x", self.rng.randint(50, 3_000))

    def _leave(self, name: str) -> None:
        actor = self._alive(name)
        if actor:
            self.count("leave")
            actor.leave()

    def _pause(self, name: str) -> None:
        actor = self._alive(name)
        if actor:
            self.count("pause")
            actor.pause()
            self.at(self.rng.randint(200, 6_000), actor.resume)

    def _alive(self, name: str) -> Actor | None:
        return next((a for a in self.actors.values() if a.name == name and a.is_member and not a.crashed), None)

    @property
    def members(self) -> list[Actor]:
        return [actor for actor in self.actors.values() if actor.is_member]

    def _must_progress(self) -> None:
        """Everybody still in the group agrees on the view, and what they now send reaches all of them."""
        settled = self._until(self.now_ms + HEALED_MS, self._is_settled)
        if not settled:
            raise Violation(
                f"STUCK: the members do not agree on a view: {[a.describe() for a in self.actors.values()]}"
            )
        if not all(actor.machine.view and actor.machine.view.started for actor in self.members):
            return  # a static group that never had all its members
        sent = [actor.send_marker() for actor in self.members]
        arrived = self._until(
            self.now_ms + HEALED_MS,
            lambda: all(
                self.checker(actor.machine.instance).delivered_by(actor.process, m)
                for actor in self.members
                for m in sent
            ),
        )
        if not arrived:
            raise Violation(
                f"STUCK: what is sent after the heal does not arrive: {[a.describe() for a in self.actors.values()]}"
            )

    def _is_settled(self) -> bool:
        if any(actor.machine.stage is Stage.ENTERING and not actor.crashed for actor in self.actors.values()):
            return False  # it is still on its way in
        views = {actor.machine.view for actor in self.members}
        return len(views) <= 1 and all({a.process for a in self.members} == set(v.members) for v in views if v)
