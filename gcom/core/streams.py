"""The data path of one member: numbers, clock, delivery. Composes a multicast and an ordering; work is per run.

A run gets its numbers, its clock and its place in the log when it is formed for a frame, not when the application
sends: so what was sent while a call was in flight travels together, without a timer.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from gcom.core import codec
from gcom.core.effects import Deliver, Effect, Sent, Skip
from gcom.core.frames import Decision, Status
from gcom.core.multicast import Range, multicast
from gcom.core.ordering import orderer
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View


class Streams:
    """All streams of a group at one process. Methods return the effects that follow."""

    def __init__(self, process: Process, definition: Definition, view: View, base: dict[Process, int]) -> None:
        self.process = process
        self.multicast = multicast(definition.multicast, process)
        self._ordering = orderer(definition.ordering)
        self._view = view
        self._pending: list[Payload] = []
        # Entries of the vector clock since the last run: the highest number delivered from each other member.
        self._clock = {sender: number for sender, number in base.items() if number and sender in view.members}
        self._highest = dict(self._clock)  # delivered, of each other member
        self._untold: dict[Process, tuple[int, int]] = {}  # consumed and not yet told: messages, bytes
        self._enter_all(view, base)
        self.multicast.install(view, base)

    def _enter_all(self, view: View, base: dict[Process, int]) -> None:
        for member in view.members:
            self._ordering.enter(member, base.get(member, 0))

    @property
    def pending(self) -> int:
        """Messages that have no number yet."""
        return len(self._pending)

    def submit(self, payloads: list[Payload]) -> None:
        self._pending += payloads

    @property
    def may_form(self) -> bool:
        """Whether a run can be formed now."""
        flows = self._view.started and not self.multicast.frozen
        return bool(self._pending) and flows and self.multicast.out.flow.room > 0

    def form(self, bytes_max: int) -> list[Effect]:
        """Give numbers to what is pending, as much as fits one run and the window; delivers it here."""
        run = self._form_run(bytes_max) if self.may_form else None
        if run is None:
            return []
        self._clock = {}
        self.multicast.submit(run)
        return [Sent(run), *self._deliver(self._ordering.receive(run))]

    def _form_run(self, bytes_max: int) -> Run | None:
        """The next run, at most `bytes_max` encoded; None if the first message alone is larger."""
        count = self._count(bytes_max)
        first = self.multicast.out.number + 1
        while count:
            payloads = self._pending[:count]
            encoded = codec.encode_run(self.process, self._view.number, first, self._clock, payloads)
            if len(encoded) <= bytes_max:
                del self._pending[:count]
                return Run(self.process, self._view.number, first, self._clock, payloads, encoded)
            count //= 2  # text beyond ASCII is longer than it has characters
        return None

    def _count(self, bytes_max: int) -> int:
        """How many pending messages to try: bounded by run, window, and bytes with their msgpack headers."""
        count = min(len(self._pending), limits.RUN_MESSAGES_MAX, self.multicast.out.flow.room)
        lengths = list(accumulate(map(len, self._pending[:count])))
        budget = bytes_max - 5 * count - 64 * (len(self._clock) + 2)
        return max(1, bisect_right(lengths, budget))

    def receive(self, run: Run, now_ms: int) -> list[Effect]:
        """A run of another member."""
        effects: list[Effect] = []
        for stored in self.multicast.receive(run, now_ms):
            effects += self._deliver(self._ordering.receive(stored))
        return effects

    def on_sent(self, sender: Process, sent: int, now_ms: int) -> None:
        self.multicast.on_sent(sender, sent, now_ms)

    def give_up_overdue(self, now_ms: int) -> list[Effect]:
        return self._lose(self.multicast.overdue(now_ms))

    def _lose(self, ranges: list[Range]) -> list[Effect]:
        effects: list[Effect] = []
        for lost in ranges:
            effects.append(Skip(lost.sender, lost.first, lost.last - lost.first + 1, self._view.number))
            effects += self._deliver(self._ordering.pass_over(lost.sender, lost.last))
        return effects

    def _deliver(self, runs: list[Run]) -> list[Effect]:
        for run in runs:
            if run.sender != self.process and run.last > self._highest.get(run.sender, 0):
                self._highest[run.sender] = self._clock[run.sender] = run.last
        return [Deliver(run, self._view.number) for run in runs]

    def close(self, decision: Decision) -> list[Effect]:
        """End the view at its cut: what remains of it is delivered or given up."""
        effects: list[Effect] = []
        runs, lost = self.multicast.close(decision.cut)
        for run in runs:
            effects += self._deliver(self._ordering.receive(run))
        return effects + self._lose(lost)

    def install(self, decision: Decision) -> None:
        """Go on in the next view."""
        old, view = self._view, decision.view
        self._view = view
        self._ordering.install(view.members)
        for member in [member for member in view.members if member not in old.members]:
            self._ordering.enter(member, decision.cut.get(member, 0))
        self._clock = {sender: number for sender, number in self._clock.items() if sender in view.members}
        self._highest = {sender: number for sender, number in self._highest.items() if sender in view.members}
        self._untold = {sender: told for sender, told in self._untold.items() if sender in view.members}
        self.multicast.install(view, decision.cut)

    def on_consumed(self, sender: Process, number: int, size: int) -> bool:
        """Credit; whether so much of it is untold that the sender should hear at once."""
        self.multicast.on_consumed(sender, number)
        if sender not in self.multicast.consumed:
            return False
        told, waiting = self._untold.get(sender, (number, 0))
        self._untold[sender] = (told, waiting + size)
        return number - told >= limits.WINDOW_MESSAGES_MAX // 4 or waiting + size >= limits.WINDOW_BYTES_MAX // 4

    def status(self, peer: Process, leaving: bool, suspects: tuple[Process, ...]) -> Status:
        """What a frame or reply to a peer says."""
        known = self.multicast.out.peers.get(peer)
        consumed = self.multicast.consumed.get(peer, 0)
        if known:
            self._untold[peer] = (consumed, 0)
        return Status(
            self._view.number,
            self.multicast.held(peer),
            consumed,
            self.multicast.out.stable,
            known.cursor if known else 0,
            self.multicast.frozen,
            leaving,
            suspects,
        )

    @property
    def unconfirmed(self) -> tuple[int, int] | None:
        """First and last of this process's messages that some member may not hold."""
        out = self.multicast.out
        return (out.stable + 1, out.number) if out.stable < out.number else None

    @property
    def waits_for(self) -> str:
        """Why nothing can be numbered now, in words; empty if it can."""
        if not self._view.started:
            return "the static group to have all its members"
        if self.multicast.frozen:
            return "a view change"
        out = self.multicast.out
        if out.flow.room:
            return ""
        consumed = {self.process: out.self_consumed, **{peer: known.consumed for peer, known in out.peers.items()}}
        slowest = min(consumed, key=lambda peer: consumed[peer])
        if slowest == self.process:
            return "this process to read its own deliveries"
        return f"{slowest} to read its deliveries"
