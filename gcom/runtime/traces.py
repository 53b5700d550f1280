"""Times and places of messages, recorded per run while somebody watches (`Group.watch`).

A `TraceRecorder` is there only while a watch is open: the sessions of a membership tell it of sends, frames and
effects, and it tells each watch of every run that is delivered. Traces of single messages are made when they are taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import TypeVar

from gcom.core.machine import GroupMachine
from gcom.core.messages.effects import Deliver, Effect, Installed, Sent
from gcom.core.messages.frames import Frame
from gcom.values.clock import VectorClock
from gcom.values.names import Process
from gcom.values.run import Run, StateToMerge

K = TypeVar("K")
KEPT_MAX = 64 * 1024  # times of runs, or of own messages, that are not delivered yet; the oldest go


@dataclass(frozen=True, slots=True)
class Trace:
    """The times and the place of one delivered message; times are monotonic seconds, as of `time.monotonic`.

    `sent_s`: when `send` took it, of an own message that was sent while the watch was open; else None. `received_s`:
    when its frame came, or, of an own one, when it got its number; no earlier than the watch was opened. `ordered_s`:
    when its serial was known here, which may be before the message came (None: before the watch, or no total order).
    `delivered_s`: when it went into the queue that the application reads. `serial`: its place in a total order.
    `clock`: the vector clock of its sending, with its own number, so that one message happened before another exactly
    if its clock is less; None if it came before the watch was opened.
    """

    sender: str
    number: int
    view: int
    sent_s: float | None
    received_s: float
    ordered_s: float | None
    delivered_s: float
    serial: int | None
    clock: VectorClock | None


@dataclass(frozen=True, slots=True)
class RunTrace:
    """The part that traces of messages `first` … `last` share; `sent_s` has one entry for each, or none."""

    sender: Process
    first: int
    last: int
    view: int
    sent_s: tuple[float | None, ...]
    received_s: float
    ordered_s: float | None
    delivered_s: float
    serial: int
    clock: dict[Process, int] | None

    def __len__(self) -> int:
        return self.last - self.first + 1

    def after(self, count: int) -> RunTrace:
        """Return what is left without the first messages."""
        serial = self.serial + count if self.serial else 0
        return replace(self, first=self.first + count, serial=serial, sent_s=self.sent_s[count:])

    def traces(self) -> Iterator[Trace]:
        for number in range(self.first, self.last + 1):
            yield self.of(number)

    def of(self, number: int) -> Trace:
        """Return the trace of one of the messages."""
        at = number - self.first
        return Trace(
            self.sender,
            number,
            self.view,
            self.sent_s[at] if self.sent_s else None,
            self.received_s,
            self.ordered_s,
            self.delivered_s,
            self.serial + at if self.serial else None,
            None if self.clock is None else VectorClock({**self.clock, self.sender: number}),
        )


class TraceBuffer:
    """The last `capacity` messages that were delivered, as runs, oldest first. Guarded by the host's lock."""

    def __init__(self, capacity: int) -> None:
        self.dropped = 0  # messages that went before they were taken
        self._capacity = capacity
        self._count = 0
        self._kept: deque[RunTrace] = deque()
        self._fresh = 0  # runs at the end that were not taken

    def add(self, run: RunTrace) -> None:
        """Keep a run; at the bound the oldest messages go."""
        self._kept.append(run)
        self._fresh += 1
        self._count += len(run)
        while (excess := self._count - self._capacity) > 0:
            oldest = self._kept.popleft()
            gone = min(excess, len(oldest))
            self._count -= gone
            # The oldest run had not been taken yet: what goes of it is missing for whoever watches.
            if self._fresh > len(self._kept):
                self.dropped += gone
            if gone < len(oldest):
                self._kept.appendleft(oldest.after(gone))
        self._fresh = min(self._fresh, len(self._kept))

    def take(self) -> list[RunTrace]:
        """Return the runs since the last time; they are kept for `find`."""
        fresh, self._fresh = self._fresh, 0
        return [self._kept[index] for index in range(len(self._kept) - fresh, len(self._kept))]

    def find(self, sender: Process, number: int) -> RunTrace | None:
        """Return the newest run that has a message."""
        # The newest: in a successor the numbers of the same process begin again.
        return next((it for it in reversed(self._kept) if it.sender == sender and it.first <= number <= it.last), None)


class TraceRecorder:
    """The times of what is on its way, and the watches that are told of deliveries. Guarded by the host's lock."""

    def __init__(self, machine: GroupMachine) -> None:
        self.buffers: list[TraceBuffer] = []
        self._since_s = monotonic()
        self._begin({}, _order_end(machine))
        self._clocks.update(machine.clocks)

    def _begin(self, base: dict[Process, int], order_end: int) -> None:
        self._sent: dict[int, float] = {}  # own messages: when `send` took them
        self._received: dict[tuple[Process, int], float] = {}  # by sender and first number
        self._last_received: dict[Process, float] = {}  # of each sender's latest delivery
        self._delivered: dict[Process, int] = {}
        self._clocks: dict[Process, dict[Process, int]] = {}
        self._base = base  # what every member had delivered
        self._order_end = order_end
        self._orders: deque[tuple[int, float | None]] = deque(maxlen=KEPT_MAX)  # the last known serial, and since when
        self._orders.append((order_end, None))

    def on_put(self, first: int, last: int) -> None:
        # Here and not where it gets its number: the time that it waits for its turn is part of what a user sees.
        self._sent.update(dict.fromkeys(range(first, last + 1), monotonic()))
        _forget_oldest(self._sent)

    def on_frame(self, frame: Frame) -> None:
        """Note when runs, or fragments of one, came from a peer."""
        now = monotonic()
        for run in frame.runs:
            if run.last > self._delivered.get(run.sender, 0):
                # The first time that it came: what is sent again was here before.
                self._received.setdefault((run.sender, run.first), now)
        for fragment in frame.fragments:
            self._received[fragment.sender, fragment.first] = now  # the last fragment makes it whole
        _forget_oldest(self._received)

    def record(self, machine: GroupMachine, effects: Iterable[Effect]) -> None:
        """Take the effects of a step; each delivered run goes to the watches."""
        now = monotonic()
        if (end := _order_end(machine)) != self._order_end:
            self._on_order(end, now)
        for effect in effects:
            match effect:
                case Sent(run):
                    self._received[run.sender, run.first] = now
                case Deliver(run) if type(run.payloads[0]) is not StateToMerge:
                    self._on_delivered(machine.process, effect, now)
                case Installed(base=base, base_serial=serial) if base is not None:
                    self._begin(base, serial)  # another session: numbers may begin anew
                case _:
                    pass

    def _on_order(self, end: int, now: float) -> None:
        # A view change may take serials back, which nobody has delivered; they are given anew. Those that it leaves
        # were known before.
        since: float | None = now
        while self._orders and self._orders[-1][0] > end:
            since = self._orders.pop()[1]
        self._orders.append((end, since))
        self._order_end = end

    def _on_delivered(self, process: Process, effect: Deliver, now: float) -> None:
        run = effect.run
        # Of a run that the order splits, the rest came with the part that went before it.
        received = self._received.pop((run.sender, run.first), self._last_received.get(run.sender))
        if received is not None:
            self._last_received[run.sender] = received
        self._delivered[run.sender] = max(run.last, self._delivered.get(run.sender, 0))
        sent: tuple[float | None, ...] = ()
        if run.sender == process:
            sent = tuple(self._sent.pop(number, None) for number in range(run.first, run.last + 1))
        trace = RunTrace(
            run.sender,
            run.first,
            run.last,
            effect.view,
            sent,
            self._since_s if received is None else received,
            self._ordered_s(effect.serial),
            now,
            effect.serial,
            None if received is None else self._clock(run),
        )
        for buffer in self.buffers:
            buffer.add(trace)

    def _ordered_s(self, serial: int) -> float | None:
        """Return when a serial became known; deliveries are in their order, so what is before it goes."""
        # Ranges, and not a time per serial: one entry tells of all serials that became known in one step.
        while self._orders and self._orders[0][0] < serial:
            self._orders.popleft()
        return self._orders[0][1] if serial and self._orders else None

    def _clock(self, run: Run) -> dict[Process, int]:
        """Return the whole clock of a run, which itself says only what changed."""
        known = self._clocks.get(run.sender)
        if known is None or run.clock:
            known = self._clocks[run.sender] = {**(known or self._base), **run.clock}
        return known


def _order_end(machine: GroupMachine) -> int:
    log = machine.order_log
    return log.end if log is not None else 0


def _forget_oldest(times: dict[K, float]) -> None:
    # A dictionary is in the order in which its keys came, so the first one is the oldest.
    while len(times) > KEPT_MAX:
        del times[next(iter(times))]
