"""Crashes and pauses at a chosen place: between two effects of a step, or with some peers told and others not.

A failpoint hits the first process that reaches it, be it leader, proposer or joiner. An echo is armed likewise: a call
of one view change comes again in the middle of the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from gcom.core.messages.effects import Effect
from gcom.core.messages.frames import Frame, Install, StateChunk
from gcom.sim.faults.population import Population
from gcom.sim.network import LATE_MS_MAX, Network
from gcom.sim.node import SimNode
from gcom.sim.plan.events import ACCEPTED, CHUNK, HEIR, LATE_RUNS, LEAVER, RUNS, Fault, TroubleEvent
from gcom.sim.session import SessionNode, SimSession
from gcom.sim.simulation import Simulation
from gcom.values.names import Process

ECHOED = TroubleEvent(Fault.SLOW_MEMBER, 0, 300, count=200)  # slows the caller of an echo: for 300 ms, by 200 at most
CHUNKS_MIN = 4  # chunks of a state that are sent before the crash that interrupts it


@dataclass(slots=True)
class _Armed:
    event: TroubleEvent
    victim: Process = ""  # of calls and replies: the first that made one of the kind
    cause: Process = ""  # fires only over runs that depend on a message of this process
    informed: set[Process] = field(default_factory=set)  # the peers to which the victim sent such a frame


@dataclass(slots=True)
class _Stalled:
    """A process that is paused over a call, until another one sends an item of the kind `event.until`.

    `rival`: a rival has proposed meanwhile. A proposer sleeps until then; for others it is true from the start.
    """

    event: TroubleEvent
    node: SessionNode
    rival: bool


@dataclass(slots=True)
class _ArmedEcho:
    """The last call of the event's kind, with its view, its time and its caller."""

    event: TroubleEvent
    view: int = 0
    made_ms: int = 0
    again: Callable[[], None] | None = None
    caller: str = ""


class Failpoints:
    """The failpoints that are armed; each fires once."""

    def __init__(self, simulation: Simulation, network: Network, population: Population) -> None:
        self._simulation, self._network, self._population = simulation, network, population
        self._effects: list[_Armed] = []
        self._calls: list[_Armed] = []
        self._stalled: list[_Stalled] = []
        self._echoes: list[_ArmedEcho] = []
        self._accepts: list[TroubleEvent] = []  # hit the proposer of a succession when the registry has accepted it
        self._heirs: dict[Process, tuple[TroubleEvent, set[Process]]] = {}  # by dead process: event and heirs
        self._deciders: dict[tuple[str, int], Process] = {}  # by instance and view: the first sender of its Install

    def arm(self, event: TroubleEvent) -> None:
        if event.kind is Fault.ECHO:
            self._echoes.append(_ArmedEcho(event))
        elif event.detail == ACCEPTED:
            self._accepts.append(event)
        else:
            (self._effects if event.kind is Fault.EFFECT else self._calls).append(_Armed(event))

    def disarm(self) -> None:
        for armed in (self._effects, self._calls, self._stalled, self._echoes, self._accepts, self._heirs):
            armed.clear()

    def accepted(self, node: SimNode) -> None:
        """Pause or crash a proposer whose succession the registry has accepted, before it knows."""
        if self._accepts and self._accepts[0].kind is Fault.STALL and node.is_running:
            self._simulation.count(Fault.STALL)
            node.pause_for(self._accepts.pop(0).for_ms)
        elif self._accepts and self._population.may_crash and node.is_running:
            self._fire(node, self._accepts.pop(0))
            node.crash()

    def last_effect(self, session: SimSession, effects: list[Effect]) -> int | None:
        """Return how many effects of a step are carried out before its process crashes; None if it does not."""
        for armed in self._effects:
            if self._population.may_crash and any(type(effect).__name__ == armed.event.detail for effect in effects):
                # Before it fires: what the crash itself leads to must not find the failpoint armed.
                self._effects.remove(armed)
                self._fire(session.node, armed.event)
                # At most all effects: then the process dies after the step, before any frame leaves.
                return min(armed.event.count, len(effects))
        return None

    def at_call(self, session: SimSession, frame: Frame) -> TroubleEvent | None:
        """Return the event by which a process crashes or pauses over the frame that it is about to send, or None."""
        self._wake(session, frame)
        first = self._is_decider(session, frame)
        for armed in self._calls:
            # Only the decider's crash leaves a decision in doubt: once another process has sent the Install too, the
            # decision is known.
            if not _carries(frame, armed.event.detail) or (armed.event.detail == "Install" and not first):
                continue
            # Only a leaver: the others wait for its promise, and go on without it while it sleeps.
            if armed.event.whom == LEAVER and not frame.status.leaving:
                continue
            # The heir dies over a run that depends on the dead one's message: an earlier run of it would leave no
            # message without a past.
            if armed.cause and not any(armed.cause in run.clock for run in frame.runs):
                continue
            if len(armed.informed) < self._count(armed, session):
                if not armed.victim:
                    # The first that makes such a call: it may be leader, proposer or joiner, whoever
                    # the protocol brings there.
                    armed.victim = session.process
                    # All that it sends is late from now on, so that the runs arrive when its end is long known.
                    if armed.event.detail == LATE_RUNS:
                        self._network.delay_packets_of(session.node.name)
                if armed.victim == session.process:
                    armed.informed.add(frame.target)
            elif armed.victim in ("", session.process) and frame.target not in armed.informed:
                if armed.event.kind is Fault.STALL:
                    self._calls.remove(armed)
                    self._simulation.count(Fault.STALL)
                    # The answers to a proposer's own calls must not wake it: it sleeps until a rival has proposed.
                    rival = not any(_carries(frame, item) for item in ("Prepare", "Cut", "Install"))
                    self._stalled.append(_Stalled(armed.event, session.node, rival))
                    return armed.event
                if self._population.may_crash:
                    self._calls.remove(armed)
                    self._fire(session.node, armed.event)
                    if armed.event.whom == HEIR:  # its machine stays silent, so that its heirs have time to act
                        session.node.refuses = False
                        self._heirs[session.process] = (armed.event, armed.informed)
                    return armed.event
        return None

    def arrived(self, session: SimSession, frame: Frame) -> None:
        """Move the failpoint to the first process that was informed."""
        # 1. A tells B alone, and dies. 2. B has what only A had, and answers it. 3. B tells one more, and dies as
        #    well. Now a message is alive whose past nobody holds.
        event, heirs = self._heirs.get(frame.source, (None, set[Process]()))
        if event and frame.runs and session.process in heirs:
            heirs.remove(session.process)
            self._calls.append(_Armed(replace(event, whom=""), session.process, frame.source))

    def _wake(self, session: SimSession, frame: Frame) -> None:
        """Resume the processes that were to pause until this frame."""
        for stalled in [stalled for stalled in self._stalled if stalled.node is not session.node]:
            stalled.rival = stalled.rival or _carries(frame, "Prepare")
            if stalled.rival and _carries(frame, stalled.event.until):
                self._stalled.remove(stalled)
                self._simulation.at(0, stalled.node.resume)

    def echo(self, session: SimSession, frame: Frame, again: Callable[[], None]) -> None:
        """Note a call to echo later, or put again one noted in an earlier view: `again` puts the frame once more."""
        now_ms, view = self._simulation.now_ms, frame.status.view
        for echo in list(self._echoes):
            # A call that comes later than LATE_MS_MAX after it was made cannot be on any network (network.py): an
            # echo of it would be a fault that does not exist.
            in_time = now_ms - echo.made_ms < LATE_MS_MAX // 2
            if echo.again and in_time and view > echo.view and _carries(frame, echo.event.until):
                self._echoes.remove(echo)
                self._simulation.count(Fault.ECHO)
                self._network.slow(echo.caller, ECHOED)  # so that its calls of now come after the echo
                echo.again()
            # Not the time for it yet, and a newer one of the kind: the last of the earlier view is kept.
            elif _carries(frame, echo.event.detail):
                echo.view, echo.made_ms, echo.again, echo.caller = view, now_ms, again, session.node.name

    def _is_decider(self, session: SimSession, frame: Frame) -> bool:
        """Tell whether the frame has an Install that its sender was the first of all to send."""
        numbers = [item.decision.view.number for item in frame.control if isinstance(item, Install)]
        return any(self._deciders.setdefault((frame.instance, n), session.process) == session.process for n in numbers)

    def _count(self, armed: _Armed, session: SimSession) -> int:
        """Return how many peers are told before the failpoint fires; at least one peer is not."""
        if armed.event.detail in ("Promise", "CutOk", CHUNK):
            return 0  # each of these goes to one peer: there are no others to tell first
        # At least one peer gets the late runs, or is the heir: with none the fault would leave no trace.
        least = 1 if armed.event.detail == LATE_RUNS or armed.event.whom == HEIR else 0
        return min(max(least, armed.event.count), len(session.machine.peers) - 1)

    def _fire(self, node: SessionNode, event: TroubleEvent) -> None:
        assert isinstance(event.kind, Fault), "a failpoint is a fault"
        self._simulation.count(event.kind)
        self._population.restart_later(node, event)


def _carries(frame: Frame, what: str) -> bool:
    """Tell whether a frame has runs, or an item of a kind; of a state, not its first chunks."""
    if what in (RUNS, LATE_RUNS):
        return bool(frame.runs)
    # After a few chunks: a donor that dies before the first one is an ordinary crash.
    if what == CHUNK:
        return any(isinstance(item, StateChunk) and item.index >= CHUNKS_MIN for item in frame.control)
    return any(type(item).__name__ == what for item in frame.control)
