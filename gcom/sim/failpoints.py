"""Crashes at a chosen place: between two effects of a step, or with some peers told and others not.

A failpoint waits for the first process that comes by: whoever is leader then, or proposes, or is being admitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gcom.core.effects import Effect
from gcom.core.frames import Frame, Install, StateChunk
from gcom.sim.plan import CHUNK, LATE_RUNS, RUNS, Event, Fault
from gcom.values.names import Process

if TYPE_CHECKING:
    from gcom.sim.node import Node
    from gcom.sim.stay import Stay
    from gcom.sim.world import World


CHUNKS_MIN = 4  # put before the crash that interrupts a state


@dataclass(slots=True)
class _Armed:
    event: Event
    victim: Process = ""  # of calls: the first that made one of the kind
    told: set[Process] = field(default_factory=set)


class Failpoints:
    """Those that are armed; each fires once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._effects: list[_Armed] = []
        self._calls: list[_Armed] = []
        self._told: dict[tuple[str, int], Process] = {}  # of each view, who first told of it

    def arm(self, event: Event) -> None:
        (self._effects if event.kind is Fault.EFFECT else self._calls).append(_Armed(event))

    def disarm(self) -> None:
        self._effects.clear()
        self._calls.clear()

    def last_effect(self, stay: Stay, effects: list[Effect]) -> int | None:
        """Before which effect of a step its process crashes, counted from 0; None: it does not."""
        for armed in self._effects:
            if self._world.may_crash and any(type(effect).__name__ == armed.event.detail for effect in effects):
                self._effects.remove(armed)
                self._fire(stay.node, armed.event)
                return min(armed.event.count, len(effects))
        return None

    def is_last_call(self, stay: Stay, frame: Frame) -> bool:
        """Whether its process crashes with this frame taken and not put."""
        first = self._tells_first(stay, frame)
        for armed in self._calls:
            if not _carries(frame, armed.event.detail) or (armed.event.detail == "Install" and not first):
                continue
            if len(armed.told) < self._count(armed, stay):
                if not armed.victim:
                    armed.victim = stay.process
                    if armed.event.detail == LATE_RUNS:
                        self._world.network.hold_up(stay.node.name)
                if armed.victim == stay.process:
                    armed.told.add(frame.target)
            elif armed.victim in ("", stay.process) and frame.target not in armed.told and self._world.may_crash:
                self._calls.remove(armed)
                self._fire(stay.node, armed.event)
                return True
        return False

    def _tells_first(self, stay: Stay, frame: Frame) -> bool:
        """Whether a frame tells of a decision that nobody else has told of: its sender has made it."""
        numbers = [item.decision.view.number for item in frame.control if isinstance(item, Install)]
        return any(self._told.setdefault((frame.instance, n), stay.process) == stay.process for n in numbers)

    def _count(self, armed: _Armed, stay: Stay) -> int:
        """How many are told; fewer than there are to tell."""
        if armed.event.detail in ("Promise", "CutOk", CHUNK):
            return 0
        least = 1 if armed.event.detail == LATE_RUNS else 0
        return min(max(least, armed.event.count), len(stay.machine.peers) - 1)

    def _fire(self, node: Node, event: Event) -> None:
        assert isinstance(event.kind, Fault), "a failpoint is a fault"
        self._world.count(event.kind)
        self._world.faults.restart_later(node, event)


def _carries(frame: Frame, what: str) -> bool:
    """Whether a frame has runs, or an item of a kind; of a state, not its first chunks."""
    if what in (RUNS, LATE_RUNS):
        return bool(frame.runs)
    if what == CHUNK:
        return any(isinstance(item, StateChunk) and item.index >= CHUNKS_MIN for item in frame.control)
    return any(type(item).__name__ == what for item in frame.control)
