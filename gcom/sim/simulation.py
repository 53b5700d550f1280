"""The event loop of one run under virtual time, and what the run has shown so far: counts, checkers, digest.

One heap of (time, sequence) decides what happens next, so that a seed is a run. Every part of the world holds the
Simulation, which knows none of these parts.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable
from pathlib import Path

from gcom.core.messages.effects import Deliver, Effect, Installed, Sent, Skip
from gcom.errors import Unavailable
from gcom.sim.checkers import Checker
from gcom.sim.checks.continuity import Continuity
from gcom.sim.plan.events import Fault, Move
from gcom.sim.plan.plan import MESSAGES_MIN, Plan
from gcom.values.names import Process

CATCH_UP = 40  # messages to send as soon as possible, where faults let too few through
LOOK_MS = 5  # between two checks of an awaited condition


class Simulation:
    """The time and the record of one run of a plan."""

    def __init__(self, plan: Plan, log_dir: Path | None = None) -> None:
        self.plan = plan
        self.log_dir = log_dir
        self.now_ms = 0
        self.submitted = 0  # messages handed over by all applications
        self.silent = False  # no application sends
        self.faults_over = False
        self.happened: dict[str, int] = {}  # faults, by kind
        self.moves: dict[str, int] = {}
        self.checkers: dict[str, Checker] = {}  # by instance
        self.continuity = Continuity(plan.definition, plan.registries)  # the one promise that spans instances
        self._once: set[tuple[Fault, str]] = set()
        self._faulty_since_ms: int | None = None
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._digest = hashlib.sha256()

    # the loop

    def at(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Schedule an action; equal times run in the order in which they were asked for."""
        # The number breaks ties, so the heap never compares two actions, and equal times keep their order: a
        # seed is a run.
        self._sequence += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._sequence, action))

    def until(self, end_ms: int, done: Callable[[], bool] | None = None) -> bool:
        """Run events until a time, or until `done`; return whether it is."""
        heap = self._heap
        look_ms = 0
        while heap and heap[0][0] <= end_ms:
            # Conditions look at all members, so they are asked every 5 ms of virtual time and not after each event.
            if done is not None and self.now_ms >= look_ms:
                if done():
                    return True
                look_ms = self.now_ms + LOOK_MS
            self.now_ms, _, action = heapq.heappop(heap)
            action()
        if done is not None and done():
            return True
        # Also where nothing happens any more: time passes all the same.
        self.now_ms = max(self.now_ms, end_ms)
        return False

    # digest

    def note(self, who: Process, effect: Effect) -> None:
        match effect:
            # Without payloads and clocks: they follow from what is here, and are most of the bytes.
            case Sent(run) | Deliver(run):
                what: object = (run.sender, run.view, run.first, run.last)
            case Skip(sender, first, count):
                what = (sender, first, count)
            case Installed(view):
                what = (view.number, view.members)
            case _:
                what = effect
        self._digest.update(f"{self.now_ms} {who} {type(effect).__name__} {what}\n".encode())

    def note_crash(self, name: str) -> None:
        self._digest.update(f"{self.now_ms} {name} crashes\n".encode())

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    # counts

    def count(self, fault: Fault) -> None:
        self.happened[fault.value] = self.happened.get(fault.value, 0) + 1

    def count_once(self, fault: Fault, what: str) -> None:
        """Count a fault that lasts when it first does harm."""
        if (fault, what) not in self._once:
            self._once.add((fault, what))
            self.count(fault)

    def count_move(self, move: Move) -> None:
        self.moves[move.value] = self.moves.get(move.value, 0) + 1

    def checker(self, instance: str) -> Checker:
        # One checker per instance: numbers and views begin again in the next one, and only CONTINUITY looks across.
        known = self.checkers.get(instance)
        if known is None:
            known = Checker(self.plan.definition, calls=True, before=self.checkers)
            self.checkers[instance] = known
        return known

    def on_trouble(self, text: str) -> None:
        """Raise Unavailable as a log could not be written: a simulated run without its logs proves nothing."""
        raise Unavailable(text)

    @property
    def messages(self) -> int:
        return sum(checker.messages for checker in self.checkers.values())

    @property
    def deliveries(self) -> int:
        return sum(checker.deliveries for checker in self.checkers.values())

    @property
    def views(self) -> int:
        return sum(checker.views for checker in self.checkers.values())

    def begin_faults(self) -> None:
        """Begin the faulty phase: the messages of the plan are due, evenly over its time."""
        self._faulty_since_ms = self.now_ms

    @property
    def behind(self) -> int:
        """Return the number of messages that should have been sent by now and were not."""
        if self._faulty_since_ms is None:
            return 0
        # Faults may have let too little through for the run to show anything (MESSAGES_MIN): the rest
        # is sent in peace.
        if self.faults_over:
            return 0 if self.has_enough else CATCH_UP
        passed_ms = min(self.plan.fault_ms, self.now_ms - self._faulty_since_ms)
        return self.plan.messages * passed_ms // self.plan.fault_ms - self.submitted

    @property
    def has_enough(self) -> bool:
        """Tell whether enough was sent and delivered for the run to show something."""
        return self.messages >= MESSAGES_MIN and self.deliveries >= MESSAGES_MIN
