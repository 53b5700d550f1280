"""The driver of a plan's events: it carries out each when its time comes."""

from __future__ import annotations

from collections.abc import Callable

from gcom.sim.faults.failpoints import Failpoints
from gcom.sim.faults.population import Population
from gcom.sim.network import Network
from gcom.sim.node import SimNode
from gcom.sim.plan.events import DISSOLVES, LISTENS, Fault, Move, TroubleEvent
from gcom.sim.registries import Registries
from gcom.sim.simulation import Simulation

AGAIN_MS = 150  # until an event that found no node is tried again


class FaultDriver:
    """The timed faults and moves of a plan: each event hits the first node of its order that it can hit."""

    def __init__(
        self,
        simulation: Simulation,
        network: Network,
        registries: Registries,
        failpoints: Failpoints,
        population: Population,
    ) -> None:
        self._simulation, self._network, self._registries = simulation, network, registries
        self._failpoints, self._population = failpoints, population

    def schedule(self) -> None:
        for event in self._simulation.plan.events:
            self._simulation.at(event.at_ms, lambda event=event: self._happen(event))  # type: ignore[misc]

    def _happen(self, event: TroubleEvent) -> None:
        # An event that was put off until now has missed the faulty phase; healing must not meet a new fault.
        if self._simulation.faults_over:
            return
        match event.kind:
            case Fault.CUT:
                self._cut(event)
            case Fault.PARTITION:
                self._network.split(event)
            case Fault.OUTAGE:
                self._registries.each[event.registry].fail(event)
            case Fault.AMNESIA:
                self._registries.each[event.registry].arm(event)
            case Fault.EFFECT | Fault.FRAME | Fault.STALL | Fault.ECHO:
                self._failpoints.arm(event)
            case Move.JOIN:
                self._population.join(event.order[0], event.order[1] if event.detail == LISTENS else "")
            case Move.GATHER:
                self._population.gather()
            case Move.INTRUDE:
                self._population.intrude(event.order[0])
            case Move.FORK:
                self._registries.home_of(self._simulation.plan.definition).fork()
            case _:
                self._happen_to_somebody(event)

    def _happen_to_somebody(self, event: TroubleEvent) -> None:
        allowed, action = self._actions(event)[event.kind]
        # The order was drawn with the plan, and the first to whom it can happen is hit: so no draw depends on the
        # run.
        for name in event.order:
            node = self._population.node(name)
            # A process that stands still, or is dead, has nothing to leave, crash or read.
            if node is not None and node.is_running and allowed(node):
                action(node, event)
                return
        # Nobody was there that it could happen to, in a view change say; the event waits for its occasion.
        self._simulation.at(AGAIN_MS, lambda: self._happen(event))

    def _actions(
        self, event: TroubleEvent
    ) -> dict[Fault | Move, tuple[Callable[[SimNode], bool], Callable[[SimNode, TroubleEvent], None]]]:
        """Return for each kind the condition on a node and the action."""
        return {
            Fault.CRASH: (lambda node: self._population.may_crash and node.is_member, self._crash),
            Fault.PAUSE: (lambda node: node.is_member, self._pause),
            Fault.SLOW_MEMBER: (lambda node: node.is_member, lambda node, event: self._network.slow(node.name, event)),
            Fault.SLOW_READER: (lambda node: node.is_member and not node.reads_slowly, self._read_slowly),
            Move.LEAVE: (
                lambda node: (self._population.may_leave or event.detail == DISSOLVES) and node.is_member,
                self._leave,
            ),
        }

    def _cut(self, event: TroubleEvent) -> None:
        """Cut a link between two members, so that there is something to lose."""
        nodes = [node for name in event.order if (node := self._population.node(name)) is not None and node.is_member]
        if len(nodes) < 2:
            self._simulation.at(AGAIN_MS, lambda: self._happen(event))
        else:
            self._network.cut(event, nodes[0].name, nodes[1].name)

    def _crash(self, node: SimNode, event: TroubleEvent) -> None:
        self._simulation.count(Fault.CRASH)
        # A crashed process leaves a kernel that refuses calls, which is proof; a machine that is gone leaves nothing.
        node.refuses = event.detail != "machine"
        node.crash()
        self._population.restart_later(node, event)

    def _pause(self, node: SimNode, event: TroubleEvent) -> None:
        self._simulation.count(Fault.PAUSE)
        node.pause_for(event.for_ms)

    def _read_slowly(self, node: SimNode, event: TroubleEvent) -> None:
        node.reads_slowly = event.detail

        def recover() -> None:
            node.reads_slowly = ""

        self._simulation.at(event.for_ms, recover)

    def _leave(self, node: SimNode, event: TroubleEvent) -> None:
        node.leave()
        self._simulation.count_move(Move.LEAVE)
        if event.for_ms:
            self._simulation.at(event.for_ms, lambda: self._population.come_back(node))
