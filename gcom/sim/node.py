"""A simulated operating-system process under a member's name: its clock, pauses, death, and sessions in the group.

A process that was put out of its group, or could not get in, enters again by itself as another incarnation, at the same
address; one that is started again after a crash does so at another, or at the same port.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Protocol

from gcom.core.codec import frames as codec
from gcom.core.directory.several import Homes
from gcom.core.ended import answer_for_ended
from gcom.core.messages.frames import Frame, Refused, Reply, Status
from gcom.core.messages.registry import Answer, Request
from gcom.sim.clock import Clock
from gcom.sim.network import ReplyTo
from gcom.sim.run_keys import SimRunKey
from gcom.sim.session import OTHER_GROUP, SessionWorld, SimSession
from gcom.values.names import Address, Process, life_of


class NodeWorld(SessionWorld, Protocol):
    """The part of the world that a process needs: which node has which name."""

    def next_process(self, name: str) -> Process: ...

    def replace(self, node: SimNode) -> None: ...


class SimNode:
    """A process. `crashed` is final; `paused` holds back all that happens to it; `away`: it left on purpose."""

    def __init__(self, world: NodeWorld, name: str, address: Address, clock: Clock, rng: Random) -> None:
        self.world = world
        self.name = name
        self.address = address
        self.clock = clock
        self.crashed = False
        self.refuses = True  # once it has crashed; a machine that is gone answers nothing
        self.paused = False
        self.away = False
        self.intrudes = False  # another process has its name
        self.run_key = SimRunKey(address)
        self.reads_slowly = ""  # how: stalls or crawls
        self.sessions: dict[Process, SimSession] = {}
        self._succeeded: list[SimSession] = []  # the sessions in instances that were succeeded by one with this process
        self._rng = rng
        self._held: list[Callable[[], None]] = []  # actions that came while it was paused
        self._requests: deque[tuple[SimSession, Request]] = deque()
        self._homes = Homes()

    @property
    def session(self) -> SimSession:
        """Return the session that began last."""
        return next(reversed(self.sessions.values()))

    @property
    def is_running(self) -> bool:
        return not self.crashed and not self.paused

    @property
    def is_member(self) -> bool:
        return bool(self.sessions) and self.session.is_member

    def describe(self) -> str:
        state = "crashed, " if self.crashed else "paused, " if self.paused else "away, " if self.away else ""
        return state + (self.session.describe() if self.sessions else f"{self.name} not started")

    # its pauses and its end

    def run(self, action: Callable[[], None]) -> None:
        """Run an action as this node: now, after its pause, or never if it crashed."""
        if self.paused:
            self._held.append(action)
        elif not self.crashed:
            action()

    def enter(self) -> None:
        """Enter the group, as a new incarnation."""
        process = self.world.next_process(self.name)
        session = self.sessions[process] = SimSession(self, process, Random(self._rng.random()), self._former)
        session.start()

    @property
    def _former(self) -> SimSession | None:
        """Return the session that this process lost, and whose state it goes on with."""
        return self.session if self.sessions and self.session.lost else None

    def crash(self) -> None:
        self.crashed = True
        self.paused = False
        # What the paused process would have done dies with it.
        self._held.clear()
        # What a process had written and not flushed is lost with it, or not: both must leave a log
        # that is judged rightly.
        whole = self._rng.random() < 0.5
        for session in self.sessions.values():
            session.lose_log(whole)
        self.world.simulation.note_crash(self.name)

    def pause(self) -> None:
        self.paused = True

    def pause_for(self, for_ms: int) -> None:
        self.pause()
        self.world.simulation.at(for_ms, self.resume)

    def resume(self) -> None:
        """Run again; several threads take up what has come meanwhile, in no certain order."""
        self.paused = False
        for session in self.sessions.values():
            session.forget_silence()
        held, self._held = self._held, []
        # 1. A stopped process wakes up. 2. Its timer, its callers and the answers to its calls are all due. 3. Their
        #    threads race, so every order must be right.
        self._rng.shuffle(held)
        for action in held:
            self.run(action)

    def receive(self, data: bytes, answer: ReplyTo) -> None:
        """Answer a frame, as the exposed endpoint does; None if the node crashes over the call."""
        frame = codec.decode(data)
        # A discovery message asks whoever lives at the address, under whichever incarnation.
        session = self.session if frame.discovery and self.sessions else self._session_of(frame)
        if session is None:
            text = f"{frame.target} is not in group {frame.group!r} here"
            answer(codec.encode(Refused("unknown", text, life=life_of(self.address))))
        elif frame.group == OTHER_GROUP:
            session.heard_in_other_group(frame.source)
            answer(codec.encode(Frame(OTHER_GROUP, OTHER_GROUP, frame.target, frame.source, Status(1))))
        else:
            session.receive(frame, answer)

    def answer_for_ended(self, frame: Frame, reply: Reply) -> Reply:
        """Return the answer to a frame: `reply`, but where that says `ended`, and this process is back, or coming."""
        if self.intrudes or (self.away and not self.is_member):
            return reply
        # A process that founds or enters the next instance knows by this that the member will be back with its state.
        if self.session.lost and isinstance(reply, Refused) and reply.code == "ended":
            return replace(reply, code="returning", reach=self.session.machine.reach)
        return answer_for_ended(frame, reply, self.session.machine)

    def _session_of(self, frame: Frame) -> SimSession | None:
        """Return the session of the frame's instance, else the latest one of the process that the frame is for."""
        for session in self._succeeded:
            # Two sessions of one process: the succeeded one still answers for its instance.
            if (session.process, session.machine.instance) == (frame.target, frame.instance):
                return session
        return self.sessions.get(frame.target)

    # services for its sessions

    def on_failed(self) -> None:
        """Try again soon after a failed join; a second process under a name gives up."""
        if self.intrudes:
            return
        self._enter_again(self._rng.randint(100, 800))

    def on_entered(self) -> None:
        """Replace the process that had the name before, if this is a second one under it."""
        if self.intrudes:
            self.intrudes = False
            self.world.replace(self)

    def on_ended(self, reason: str) -> None:
        """Begin another session after one that ended, unless the process left."""
        if reason == "succession":
            self._go_on()
        elif reason != "exit":
            self._enter_again(self._rng.randint(20, 1_500))

    def _go_on(self) -> None:
        """Go on as the same process, with its state, in the instance that succeeds its own."""
        former = self.session
        self._succeeded.append(former)
        # The key is the process, and that is the same in the successor.
        del self.sessions[former.process]
        session = self.sessions[former.process] = SimSession(self, former.process, Random(self._rng.random()), former)
        # Who asked to leave before the succession leaves in the successor, and LEAVE must know that it asked.
        if former.machine.leaving:
            session.checker.calls.leave(session.process)
            session.leaving = former.leaving
        session.start()

    def leave(self) -> None:
        """Leave the group on the application's wish, until `come_back`."""
        self.away = True
        self.session.leave()

    def come_back(self) -> None:
        """Enter the group again: at once, or when the leave is over."""
        self.away = False
        if self.session.is_over:
            self._enter_again(1)

    def _enter_again(self, delay_ms: int) -> None:
        self.world.simulation.at(delay_ms, lambda: self.run(self._enter_if_out))

    def _enter_if_out(self) -> None:
        # Asked again when the time has come: it may have left on purpose, or be in already.
        if not self.away and self.session.is_over:
            self.enter()

    def ask_registry(self, session: SimSession, request: Request) -> None:
        """Put requests one at a time, as the runtime's registry thread does."""
        self._requests.append((session, request))
        # One at a time: an answer that came after a later request's would be of an older state of the directory.
        if len(self._requests) == 1:
            self._ask_next()

    def _ask_next(self) -> None:
        session, request = self._requests[0]
        self.world.registries.ask(
            self, request, self._homes, lambda answer: self.run(lambda: self._on_answer(session, request, answer))
        )

    def _on_answer(self, session: SimSession, request: Request, answer: Answer | None) -> None:
        # Before the session hears of it: its next request may come from within.
        self._requests.popleft()
        if self._requests:
            self._ask_next()
        session.on_registry(request, answer)
