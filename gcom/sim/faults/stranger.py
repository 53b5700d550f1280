"""A process that holds a certificate, is in no group, and lies to the registries about one (docs/SECURITY.md).

It speaks for itself alone, as a registry holds it to its certificate. Each lie is one by which a name could be taken
from those who have it. Whatever it says, honest members must keep every promise, and come together after the heal.
"""

from __future__ import annotations

from random import Random

from gcom.core.codec import frames as frames_codec
from gcom.core.codec.registry import decode_request, encode_request
from gcom.core.messages import frames
from gcom.core.messages.registry import (
    Claim,
    Fork,
    GroupInfo,
    Lookup,
    Note,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.witness import WitnessPrepare
from gcom.sim.clock import Clock
from gcom.sim.network import ReplyTo
from gcom.sim.plan.events import Move
from gcom.sim.registry import Registry
from gcom.sim.simulation import Simulation
from gcom.values import lineage
from gcom.values.definition import Definition
from gcom.values.names import Address, Process, life_of
from gcom.values.view import View

EVERY_MS = (50, 800)  # from one lie to the next; at last more often than any lease
OLDER = "0000"  # the id of an instance that would be older than all


class Stranger:
    """The process, and its lies; `is_dead` once the faulty phase is over."""

    name = "mallory"
    process: Process = "mallory#1"
    address: Address = "mallory:1@sim.mallory"
    refuses = True
    paused = False

    def __init__(self, simulation: Simulation, registries: tuple[Registry, ...], rng: Random) -> None:
        self._simulation, self._registries, self._rng = simulation, registries, rng
        self._group = simulation.plan.definition.group
        self._latest: dict[str, GroupInfo] = {}  # by instance, what it has seen of the group
        self.clock = Clock(lambda: simulation.now_ms, 1000, 0)
        self.crashed = False

    def begin(self) -> None:
        """Lie until the faulty phase is over; its kernel then says that it is dead."""
        if self._simulation.faults_over:
            self.crashed = True
            return
        for registry in self._registries:
            if not registry.down:
                self._lie_to(registry)
        self._simulation.at(self._rng.randint(*EVERY_MS), self.begin)

    def run(self, action: object) -> None:
        """Do nothing: it calls nobody, so no reply is for it."""

    def receive(self, data: bytes, answer: ReplyTo) -> None:
        """Answer as a node that has not heard of the group, which proves nothing."""
        frame = frames_codec.decode(data)
        text = f"{frame.target} is not in group {frame.group!r} here"
        answer(frames_codec.encode(frames.Refused("unknown", text, life=life_of(self.address))))

    def _lie_to(self, registry: Registry) -> None:
        now_ms = self._simulation.now_ms
        found = registry.directory.ask(Lookup(self._group), now_ms)
        if not isinstance(found, GroupInfo):
            return
        # Of an empty group it could rightly be the first member.
        if found.view:
            self._latest[found.instance] = found
        if not self._latest:
            return
        for request in self._lies(self._rng.choice(list(self._latest.values()))):
            askers = registry.directory.askers(request)
            # The registry's driver compares this with the certificate (registry/gcom_registry/rights.py).
            if askers is None or self.process in askers:
                registry.directory.ask(decode_request(encode_request(request)), now_ms)
                self._simulation.count_move(Move.LIE)

    def _lies(self, found: GroupInfo) -> list[Request]:
        """Return some requests, each true in form."""
        group, instance, view, definition = self._group, found.instance, found.view, found.definition
        seats = dict([*zip(found.members, found.addresses, strict=True), *found.others])
        ahead = view + self._rng.randint(0, 5)
        mine, others = (
            View(ahead, (self.process,), (self.address,)),
            tuple(who for who in found.members if who != self.process)[: self._rng.randint(0, 9)],
        )
        # The real members among them, at the address of the liar: they are asked for what they do not have.
        with_others = View(ahead, (self.process, *others), (self.address,) * (1 + len(others)))
        later = lineage.successor(instance, self.name)
        registers = [
            self._register(definition, instance, mine),
            self._register(definition, instance, with_others),
            self._register(definition, OLDER, mine),
            self._register(definition, later, with_others),
        ]
        leaves: Request = Unregister(group, self._rng.choice((instance, later, OLDER)), ahead, self.process)
        claim = Claim(group, instance, view, self.process, self.address, tuple(seats)[:256])
        rest: list[Request] = [
            Note(group, instance, view, ((self.process, self.address),)),
            Fork(group, instance),
            Remove(group),
            WitnessPrepare(instance, view, (9, 0), group, self.process),
        ]
        return [self._rng.choice([*registers, claim, *rest]), leaves]

    def _register(self, definition: Definition, instance: str, view: View) -> Register:
        return Register(definition, instance, view, self.process, detached=self._rng.random() < 0.2)
