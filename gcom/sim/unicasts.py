"""Unicasts and group calls of one simulated application, and its answers to calls."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol

from gcom.core.machine import GroupMachine
from gcom.core.messages import events
from gcom.core.messages.effects import Answered, DeliverUnicast, Ended, GroupCallOver, OfUnicast, Serve, UnicastLost
from gcom.sim.checkers import Checker
from gcom.sim.clock import Clock
from gcom.sim.simulation import Simulation
from gcom.values.names import Process

SERVE_MS = 60  # a handler takes up to so long
CALLS_OPEN_MAX = 8  # at the bound nothing more is asked for now
CALL_MS = (None, None, 100, 1_000)  # how long a call may take


class ApplicationHost(Protocol):
    """The process in which an application runs. `reads_slowly` is "stalls", "crawls" or empty."""

    name: str
    clock: Clock
    reads_slowly: str

    def run(self, action: Callable[[], None]) -> None: ...


class MemberSession(Protocol):
    """The session that an application uses."""

    simulation: Simulation
    process: Process
    machine: GroupMachine

    @property
    def node(self) -> ApplicationHost: ...

    @property
    def checker(self) -> Checker: ...

    @property
    def is_member(self) -> bool: ...

    @property
    def is_over(self) -> bool: ...

    def handle(self, event: events.Event) -> None: ...

    def confirm(self, number: int) -> None: ...


class UnicastTraffic:
    """The unicasts and calls of one session. `is_ready` tells whether it has its state: before, it answers nothing."""

    def __init__(self, session: MemberSession, rng: Random, is_ready: Callable[[], bool]) -> None:
        self._session = session
        self._rng = rng
        self._is_ready = is_ready
        self._known: list[str] = []  # members, departed ones too
        self._made = 0
        self._open: dict[int, int] = {}  # of each call, how many results are to come

    def write(self) -> None:
        """Post a unicast or call some members, by chance."""
        view, rng = self._session.machine.view, self._rng
        if view is None or not self._session.is_member or rng.random() >= self._session.simulation.plan.posting:
            return
        self._known += [member for member in view.members if member not in self._known]
        # Now and then also to one that has left: UnicastLost must say so.
        members = self._known if rng.random() < 0.1 else list(view.members)
        self._made += 1
        text = f"{self._session.process} {self._made}"
        if rng.random() < 0.6:
            for part in range(rng.choice((1, 1, 3))):
                self._post(rng.choice(members), f"{text}.{part}")
        elif len(self._open) < CALLS_OPEN_MAX:
            self._call(tuple(rng.sample(members, rng.randint(1, len(members)))), text)

    def _post(self, target: str, text: str) -> None:
        view = self._session.machine.view
        # Without room `send` would block, which a simulated application cannot; to one that is out nothing
        # is sent at all.
        if (
            self._session.is_member
            and view
            and (target not in view.members or self._session.machine.has_room_for(target))
        ):
            self._session.checker.envelopes.post(self._session.process, target, text)
            self._session.handle(events.SendUnicast(target, text))

    def _call(self, targets: tuple[str, ...], text: str) -> None:
        call, time_ms = self._made, self._rng.choice(CALL_MS)
        until_ms = None if time_ms is None else self._session.node.clock.now_ms + time_ms
        self._open[call] = len(targets)
        self._session.checker.envelopes.call(self._session.process, call, targets, text, until_ms)
        self._session.handle(events.GroupCall(call, targets, text, until_ms))

    def arrived(self, effect: OfUnicast | Ended) -> None:
        """Take an arrival that is not read in turn with the messages."""
        match effect:
            case Serve():
                self._later(effect)
            case Answered(call):
                self._open[call] -= 1
                if not self._open[call]:
                    del self._open[call]
            case GroupCallOver(call):
                del self._open[call]
            case Ended():
                self._session.checker.envelopes.end(self._session.process)
            case DeliverUnicast() | UnicastLost():
                pass

    def _later(self, request: Serve) -> None:
        node = self._session.node
        self._session.simulation.at(self._rng.randint(0, SERVE_MS), lambda: node.run(lambda: self._serve(request)))

    def _serve(self, request: Serve) -> None:
        if self._session.is_over:
            return
        # A handler needs the state, as in the runtime: requests wait until it has come.
        if not self._is_ready():
            self._later(request)
            return
        # A handler that raises is an answer, too: ERROR.
        failed = self._rng.random() < 0.2
        # The answer names who gives it, and the question: a wrong pairing shows.
        text = f"{self._session.process} to {request.payload!s}"
        self._session.checker.envelopes.answer(self._session.process, request.caller, request.call, text, failed)
        self._session.handle(events.Served(request.caller, request.call, text, failed))

    def read(self, unicast: DeliverUnicast) -> None:
        """Take a unicast that the application has read."""
        self._session.handle(events.UnicastRead(unicast.sender))
