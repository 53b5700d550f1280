"""Applications that keep state, on the network of network.py: the state of each is what it has read.

What is promised is checked at every step: the state of an application is a history, and at the barrier of a view all
that have one of the same origin have the same (per sender; message by message where the order is total).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from gcom.core.delivery_queue import DeliveryQueue, Handed
from gcom.core.machine import GroupMachine
from gcom.core.messages import events
from gcom.core.messages.effects import (
    Deliver,
    Effect,
    Ended,
    Installed,
    OfState,
    SetState,
    Skip,
    StateUnavailable,
    TakeState,
)
from gcom.core.messages.frames import StateChunk
from gcom.values.names import Process
from tests.core.making import address
from tests.core.network import Network

History = list[tuple[Process, int]]
Origin = tuple[int, str]  # the view at which a history begins, and why there


@dataclass
class Application:
    """`origin` says of which history this is a part; `starts` where its own reading began."""

    queue: DeliveryQueue[Ended] = field(default_factory=DeliveryQueue)
    entered: int = 0  # the view from which on it has all, though it may not have read it
    origin: Origin = (0, "")
    history: History = field(default_factory=list)
    events: list[Handed | Ended] = field(default_factory=list)  # all that was handed over but deliveries
    own: list[tuple[Process, int]] = field(default_factory=list)  # what was handed over here

    def state(self) -> bytes:
        return json.dumps([self.origin, self.history]).encode()

    def set(self, data: bytes) -> None:
        origin, history = json.loads(data)
        self.origin = (origin[0], origin[1])
        self.history = [(sender, number) for sender, number in history]


class Replicas(Network):
    """Every process gives and takes state, unless its name is in `apart`, `gives_only` or `takes_only`."""

    def __init__(
        self,
        *args: object,
        apart: tuple[str, ...] = (),
        gives_only: tuple[str, ...] = (),
        takes_only: tuple[str, ...] = (),
    ) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.apart = apart
        self.gives_only = gives_only
        self.takes_only = takes_only
        self.applications: dict[Process, Application] = {}
        self.broken: dict[Process, str] = {}  # their get_state raises
        self._at: dict[tuple[int, Origin], tuple[Process, object]] = {}  # what was seen at a barrier

    def machine(self, process: Process) -> GroupMachine:
        name = process.partition("#")[0]
        gives, takes = name not in (*self.apart, *self.takes_only), name not in (*self.apart, *self.gives_only)
        self.applications[process] = Application()
        return GroupMachine(
            self.definition.group,
            process,
            address(process),
            self.definition,
            gives_state=gives,
            takes_state=takes,
        )

    def hand_over(self, who: Process, effect: Effect) -> None:
        application = self.applications[who]
        if isinstance(effect, Ended):
            application.queue.end(effect)
        elif isinstance(effect, Deliver | Skip | Installed | OfState):
            if isinstance(effect, Installed):
                application.entered = application.entered or effect.view.number
            for covered in application.queue.put(effect):
                self._consumed(who, covered)

    def _consumed(self, who: Process, done: Deliver | Skip) -> None:
        match done:
            case Deliver(run):
                self.later(who, events.Consumed(run.sender, run.last, len(run.encoded)))
            case Skip(sender, first, count):
                self.later(who, events.Consumed(sender, first + count - 1, 0))

    def step(self) -> None:
        super().step()
        for who in self.applications:
            if self.alive(who) and who not in self.slow:
                self.read(who)

    def read(self, who: Process, count: int = 1_000_000) -> None:
        """An application reads what is there, so many things at most."""
        queued = self.applications[who].queue.queued
        while queued and count:
            count -= 1
            self._read(who, self.applications[who], queued.popleft())

    def _read(self, who: Process, application: Application, item: Handed | Ended) -> None:
        if not isinstance(item, Deliver):
            application.events.append(item)
        match item:
            case Deliver(run):
                read = [(run.sender, number) for number in range(run.first, run.last + 1)]
                application.history += read
                application.own += read
                self._consumed(who, item)
            case Skip():
                self._consumed(who, item)
            case TakeState(view) if self.machines[who].transfer.asks(view):
                error = self.broken.get(who, "")
                self.later(who, events.StateTaken(view, None if error else application.state(), error))
            case SetState(_, data):
                application.set(data)
            case StateUnavailable(view, reason):
                self._check_loss(who, view, reason)
                application.origin, application.history = (application.entered or view, "lost"), []
            case Installed():
                self._check(who, application, item)
            case _:
                pass

    def _check(self, who: Process, application: Application, installed: Installed) -> None:
        """Two applications whose histories have one origin have the same state at the same barrier."""
        if who.partition("#")[0] in (*self.apart, *self.gives_only):
            return
        mine = self.seen(who)
        key = (installed.view.number, application.origin)
        other, theirs = self._at.setdefault(key, (who, mine))
        assert mine == theirs, f"at the barrier of {key}: {who} has {mine}, and {other} {theirs}"

    def _check_loss(self, who: Process, view: int, reason: str) -> None:
        """A state is lost only where every member of the view that had it has failed.

        Who got it while the view changed did not have it when it promised, which is what the decision knows.
        """
        (members,) = [it.view.members for it in self.of(who, Installed) if it.view.number == view]
        for member in members:
            before = self.effects[member]
            ends = [
                index for index, it in enumerate(before) if isinstance(it, Installed) and it.view.number == view - 1
            ]
            given = any(isinstance(effect, SetState) for effect in before[: ends[0] if ends else 0])
            assert not given or member in reason, f"{member} has the state that {who} lost in view {view}: {reason}"

    def seen(self, who: Process) -> object:
        """The state in the form in which two must agree."""
        history = self.applications[who].history
        if self.definition.total:
            return list(history)
        streams: dict[Process, list[int]] = {}
        for sender, number in history:
            streams.setdefault(sender, []).append(number)
        return streams

    def carried_chunks(self, who: Process) -> list[StateChunk]:
        """The chunks of state that reached a process."""
        items = [item for frame in self.carried if frame.target == who for item in frame.control]
        return [item for item in items if isinstance(item, StateChunk)]

    def told(self, who: Process, kind: type[Handed | Ended]) -> list[Handed | Ended]:
        """Return what the application was handed of one kind, deliveries left out."""
        return [it for it in self.applications[who].events if isinstance(it, kind)]

    def same(self, *members: Process) -> bool:
        """Whether these have the same state now, and nothing waits for any."""
        waits = any(self.applications[who].queue.tail for who in members)
        return not waits and all(self.seen(who) == self.seen(members[0]) for who in members)
