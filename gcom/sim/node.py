"""One simulated operating-system process under a member's name: its clock, pauses, death, and stays in the group.

A process that was put out of its group, or could not get in, enters again by itself as another incarnation, at the same
address; one that is started again after a crash does so at another, or at the same port.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from gcom.core.codec import frames as codec
from gcom.core.machine import Stage
from gcom.core.messages.frames import Frame, Refused, Reply
from gcom.core.messages.registry import Answer, Request
from gcom.sim.clock import Clock
from gcom.sim.stay import Stay
from gcom.values.names import Address, Process, life_of

if TYPE_CHECKING:
    from gcom.sim.network import ReplyTo
    from gcom.sim.world import World


class Node:
    """`crashed` is for ever; `paused` holds back everything that happens to it. `away`: it left, and means it."""

    def __init__(self, world: World, name: str, address: Address, clock: Clock, rng: Random) -> None:
        self.world = world
        self.name = name
        self.address = address
        self.clock = clock
        self.crashed = False
        self.refuses = True  # once it has crashed; a machine that is gone answers nothing
        self.paused = False
        self.away = False
        self.intrudes = False  # another process has its name
        self.reads_slowly = ""  # how: stalls or crawls
        self.stays: dict[Process, Stay] = {}
        self._succeeded: list[Stay] = []  # whose process goes on in a successor of their instance
        self._rng = rng
        self._held: list[Callable[[], None]] = []  # what happened to it while it was paused
        self._requests: deque[tuple[Stay, Request]] = deque()

    @property
    def stay(self) -> Stay:
        """The present one."""
        return next(reversed(self.stays.values()))

    @property
    def is_running(self) -> bool:
        return not self.crashed and not self.paused

    @property
    def is_member(self) -> bool:
        return bool(self.stays) and self.stay.is_member

    def describe(self) -> str:
        state = "crashed, " if self.crashed else "paused, " if self.paused else "away, " if self.away else ""
        return state + (self.stay.describe() if self.stays else f"{self.name} not started")

    # what happens to it

    def run(self, action: Callable[[], None]) -> None:
        """Do something as this node: now, when it runs again, or never."""
        if self.paused:
            self._held.append(action)
        elif not self.crashed:
            action()

    def enter(self) -> None:
        """Enter the group, as a new incarnation."""
        process = self.world.next_process(self.name)
        stay = self.stays[process] = Stay(self, process, Random(self._rng.random()), self._former)
        stay.start()

    @property
    def _former(self) -> Stay | None:
        """The stay that a process goes on from: one that it lost."""
        return self.stay if self.stays and self.stay.lost else None

    def crash(self) -> None:
        self.crashed = True
        self.paused = False
        self._held.clear()
        whole = self._rng.random() < 0.5
        for stay in self.stays.values():
            stay.lose_log(whole)
        self.world.on_crash(self)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        """Run again; what has come meanwhile is met by several threads, in no certain order."""
        self.paused = False
        for stay in self.stays.values():
            stay.forgive()
        held, self._held = self._held, []
        self._rng.shuffle(held)
        for action in held:
            self.run(action)

    def receive(self, data: bytes, answer: ReplyTo) -> None:
        """The exposed endpoint; answers None if it crashes over the call."""
        frame = codec.decode(data)
        stay = self.stay if frame.hail and self.stays else self._stay_of(frame)
        if stay is None:
            text = f"{frame.target} is not in group {frame.group!r} here"
            answer(codec.encode(Refused("unknown", text, life=life_of(self.address))))
        else:
            stay.receive(frame, answer)

    def unless_returning(self, reply: Reply) -> Reply:
        """Say of a process whose stay is over whether it is on its way back, as another one."""
        stay = self.stay
        back = stay.lost or (stay.machine.stage is Stage.ENTERING and stay.machine.returns)
        if not isinstance(reply, Refused) or reply.code != "ended" or self.away or self.intrudes or not back:
            return reply
        return replace(reply, code="returning", settled=stay.machine.last_view)

    def _stay_of(self, frame: Frame) -> Stay | None:
        """That of the frame's instance; else the present one of the process that it is for."""
        for stay in self._succeeded:
            if (stay.process, stay.machine.instance) == (frame.target, frame.instance):
                return stay
        return self.stays.get(frame.target)

    # what its stays need

    def on_failed(self) -> None:
        """It could not get in: try again soon, unless the name is another's."""
        if self.intrudes:
            return
        self._enter_again(self._rng.randint(100, 800))

    def on_entered(self) -> None:
        """It is in; whose name it took is no more, and its machine, if not the group, knows that."""
        if self.intrudes:
            self.intrudes = False
            self.world.replace(self)

    def on_ended(self, reason: str) -> None:
        """A stay is over; unless its application wants it so, another begins."""
        if reason == "succession":
            self._go_on()
        elif reason != "exit":
            self._enter_again(self._rng.randint(20, 1_500))

    def _go_on(self) -> None:
        """Its instance is succeeded: the same process goes on, with what it has."""
        former = self.stay
        self._succeeded.append(former)
        del self.stays[former.process]
        stay = self.stays[former.process] = Stay(self, former.process, Random(self._rng.random()), former)
        if former.machine.leaving:
            stay.checker.calls.leave(stay.process)
        stay.start()

    def leave(self) -> None:
        """The application leaves the group, and stays away until it comes back."""
        self.away = True
        self.stay.leave()

    def come_back(self) -> None:
        """It wants to be in again: at once, or when it is out."""
        self.away = False
        if self.stay.is_over:
            self._enter_again(1)

    def _enter_again(self, delay_ms: int) -> None:
        self.world.at(delay_ms, lambda: self.run(self._enter_if_out))

    def _enter_if_out(self) -> None:
        if not self.away and self.stay.is_over:
            self.enter()

    def ask_registry(self, stay: Stay, request: Request) -> None:
        """One request at a time, as the shell's registry thread puts them."""
        self._requests.append((stay, request))
        if len(self._requests) == 1:
            self._ask_next()

    def _ask_next(self) -> None:
        stay, request = self._requests[0]
        self.world.registry.ask(self, request, lambda answer: self.run(lambda: self._on_answer(stay, request, answer)))

    def _on_answer(self, stay: Stay, request: Request, answer: Answer | None) -> None:
        self._requests.popleft()
        if self._requests:
            self._ask_next()
        stay.on_registry(request, answer)
