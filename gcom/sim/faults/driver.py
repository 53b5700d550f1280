"""What goes wrong, when its time comes: carries out the events of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gcom.sim.faults.trouble import DISSOLVES, LISTENS, Fault, Move, TroubleEvent

if TYPE_CHECKING:
    from gcom.sim.node import SimNode
    from gcom.sim.world import World

AGAIN_MS = 150  # an event that finds nobody it can happen to is tried again


class FaultDriver:
    """Looks for somebody whom an event can happen to, until the faulty phase is over."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.over = False

    def schedule(self) -> None:
        for event in self._world.plan.events:
            self._world.at(event.at_ms, lambda event=event: self._happen(event))  # type: ignore[misc]

    def _happen(self, event: TroubleEvent) -> None:
        if self.over:
            return
        world = self._world
        match event.kind:
            case Fault.CUT:
                self._cut(event)
            case Fault.PARTITION:
                world.network.split(event)
            case Fault.OUTAGE:
                world.registry.fail(event)
            case Fault.AMNESIA:
                world.registry.arm(event)
            case Fault.EFFECT | Fault.FRAME | Fault.STALL | Fault.ECHO:
                world.failpoints.arm(event)
            case Move.JOIN:
                world.join(event.order[0], event.order[1] if event.detail == LISTENS else "")
            case Move.GATHER:
                world.gather()
            case Move.INTRUDE:
                world.intrude(event.order[0])
            case _:
                self._happen_to_somebody(event)

    def _happen_to_somebody(self, event: TroubleEvent) -> None:
        world = self._world
        allowed, action = self._actions(event)[event.kind]
        for name in event.order:
            node = world.node(name)
            if node is not None and node.is_running and allowed(node):
                action(node, event)
                return
        world.at(AGAIN_MS, lambda: self._happen(event))

    def _actions(
        self, event: TroubleEvent
    ) -> dict[Fault | Move, tuple[Callable[[SimNode], bool], Callable[[SimNode, TroubleEvent], None]]]:
        """Of each kind: whom it can happen to, and what it does."""
        return {
            Fault.CRASH: (lambda node: self._world.may_crash and node.is_member, self._crash),
            Fault.PAUSE: (lambda node: node.is_member, self._pause),
            Fault.SLOW_MEMBER: (
                lambda node: node.is_member,
                lambda node, event: self._world.network.slow(node.name, event),
            ),
            Fault.SLOW_READER: (lambda node: node.is_member and not node.reads_slowly, self._read_slowly),
            Move.LEAVE: (
                lambda node: (self._world.may_leave or event.detail == DISSOLVES) and node.is_member,
                self._leave,
            ),
        }

    def _cut(self, event: TroubleEvent) -> None:
        """Between two members, so that there is something to lose."""
        nodes = [node for name in event.order if (node := self._world.node(name)) is not None and node.is_member]
        if len(nodes) < 2:
            self._world.at(AGAIN_MS, lambda: self._happen(event))
        else:
            self._world.network.cut(event, nodes[0].name, nodes[1].name)

    def _crash(self, node: SimNode, event: TroubleEvent) -> None:
        self._world.count(Fault.CRASH)
        node.refuses = event.detail != "machine"
        node.crash()
        self.restart_later(node, event)

    def restart_later(self, node: SimNode, event: TroubleEvent) -> None:
        """Start a node again that crashed, or crashes now; 0: not before all is healed."""
        if event.for_ms:
            self._world.at(event.for_ms, lambda: self._world.restart(node, same_port=event.detail == "same port"))

    def _pause(self, node: SimNode, event: TroubleEvent) -> None:
        self._world.count(Fault.PAUSE)
        self.pause(node, event)

    def pause(self, node: SimNode, event: TroubleEvent) -> None:
        """Let a node stand still for a while."""
        node.pause()
        self._world.at(event.for_ms, node.resume)

    def _read_slowly(self, node: SimNode, event: TroubleEvent) -> None:
        node.reads_slowly = event.detail

        def recover() -> None:
            node.reads_slowly = ""

        self._world.at(event.for_ms, recover)

    def _leave(self, node: SimNode, event: TroubleEvent) -> None:
        node.leave()
        self._world.count_move(Move.LEAVE)
        if event.for_ms:
            self._world.at(event.for_ms, lambda: self._world.come_back(node))
