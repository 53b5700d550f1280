"""The channel between two members: envelopes, reliable, FIFO, exactly once, whatever multicasts do
(docs/protocols/unicast.md).

The rules are those of a sliding window over lossy calls (Cerf and Kahn 1974; JGroups' UNICAST3). Each pair of processes
has numbers without gaps, and every status a cumulative acknowledgement. The sender goes back to it when a call has
failed, or its reply does not acknowledge what was put. A receiver takes the envelope that follows what it holds, and
nothing else.

Credit is apart from the acknowledgement. A unicast waits, without a number, while too many are unread by the receiving
application; a request while too many of this caller's are unserved. An answer waits for nothing: its room was reserved
by the request. So an application that does not read can hold up neither calls nor the answers to others' calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import islice
from typing import NamedTuple

from gcom.values import limits
from gcom.values.envelope import Envelope, EnvelopeReceipt, Kind, size_of
from gcom.values.names import Process
from gcom.values.run import Payload


class Pace(Enum):
    """The pace at which frames go for the sake of envelopes to one member."""

    FLOWING = "flowing"  # whenever there are envelopes to put
    STALLED = "stalled"  # a reply did not acknowledge what was put: none before a heartbeat, which carries them again


# Every state and what may follow it: a receipt may come, and a reply acknowledge nothing, in both.
PACES: dict[Pace, tuple[Pace, ...]] = {
    Pace.FLOWING: (Pace.FLOWING, Pace.STALLED),
    Pace.STALLED: (Pace.FLOWING, Pace.STALLED),
}


class UnicastEnd(NamedTuple):
    """The end of what has been sent to one member, by what it will have acknowledged then."""

    number: int  # the last that was given
    unicasts: int  # all, also those that have no number yet
    answers: int


class Unread:
    """The unicasts that an application has not read: as many as are known here, at the sender or at the receiver."""

    def __init__(self) -> None:
        self.read = 0
        self._sizes: deque[int] = deque()
        self._bytes = 0

    def add(self, size: int) -> None:
        self._sizes.append(size)
        self._bytes += size

    def on_read(self, count: int) -> int:
        """Record the cumulative read count, the own one or a peer's; return the bytes of the newly read ones."""
        before = self._bytes
        # A peer may claim more than was sent: only what is here is counted.
        while self.read < count and self._sizes:
            self._bytes -= self._sizes.popleft()
            self.read += 1
        return before - self._bytes

    @property
    def room(self) -> bool:
        """Return whether one more may be put in front of the application."""
        return len(self._sizes) < limits.UNICASTS_UNREAD_MAX and self._bytes < limits.UNICASTS_UNREAD_BYTES_MAX


class Outbox:
    """The envelopes from this process to one member.

    `held` <= `cursor` <= `number`: acknowledged, put, numbered. `_kept` are the envelopes after `held`. `_answers`,
    `_requests` and `_unicasts` have no number yet; the first two give (kind, call, payload).
    """

    def __init__(self) -> None:
        self.number = 0
        self.held = 0
        self.cursor = 0
        self.served = 0  # answers that have a number: the served requests of the member
        self.pace = Pace.FLOWING
        self._view = 0  # the member's, by its last status
        self._kept: deque[Envelope] = deque()
        self._answers: deque[tuple[Kind, int, Payload]] = deque()
        self._requests: deque[tuple[Kind, int, Payload]] = deque()
        self._unicasts: deque[Payload] = deque()
        self._unicast_bytes = 0
        self._unread = Unread()
        self._asked = 0  # requests that have a number
        self._answered = 0  # of those, by the member's count
        self._held_unicasts = 0
        self._held_answers = 0

    def _become(self, pace: Pace) -> None:
        assert pace in PACES[self.pace], f"{self.pace} to {pace}"
        self.pace = pace

    # what waits

    def add_unicast(self, payload: Payload) -> None:
        self._unicasts.append(payload)
        self._unicast_bytes += size_of(payload)

    def add_request(self, call: int, payload: Payload) -> None:
        self._requests.append((Kind.REQUEST, call, payload))

    def add_answer(self, kind: Kind, call: int, payload: Payload) -> None:
        self._answers.append((kind, call, payload))

    def withdraw(self, call: int) -> None:
        """Forget the request of a call if it has not been put to the member yet."""
        # One that was put has a number, and without it the member would take no later envelope.
        self._requests = deque(request for request in self._requests if request[1] != call)

    @property
    def room(self) -> bool:
        """Return whether one more unicast may wait."""
        few = len(self._unicasts) < limits.UNICASTS_WAITING_MAX
        return few and self._unicast_bytes < limits.UNICASTS_WAITING_BYTES_MAX

    @property
    def end(self) -> UnicastEnd:
        """The end of what has been sent to the member."""
        # Requests without a number do not count: the calls of a process that leaves are over.
        kept = [envelope.kind for envelope in self._kept]
        unicasts = kept.count(Kind.UNICAST)
        answers = len(kept) - unicasts - kept.count(Kind.REQUEST)
        return UnicastEnd(
            self.number,
            self._held_unicasts + unicasts + len(self._unicasts),
            self._held_answers + answers + len(self._answers),
        )

    def holds(self, end: UnicastEnd) -> bool:
        """Return whether the member holds all up to an end."""
        held = UnicastEnd(self.held, self._held_unicasts, self._held_answers)
        return all(here >= there for here, there in zip(held, end, strict=True))

    @property
    def undelivered(self) -> tuple[Payload, ...]:
        """The unicasts, oldest first, that the member is not known to hold."""
        return (*[envelope.payload for envelope in self._kept if envelope.kind is Kind.UNICAST], *self._unicasts)

    # putting

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is to be put to the member."""
        return self.cursor == self.number and not (self._answers or self._requests or self._unicasts)

    @property
    def has_more(self) -> bool:
        """Return whether a frame should go for the sake of envelopes."""
        waits = self._answers or self._requests or self._unicasts
        return self.pace is Pace.FLOWING and (self.cursor < self.number or bool(waits and self._next))

    def take(self, bytes_max: int) -> list[Envelope]:
        """Return the next envelopes, in the order of their numbers, as many as fit; they count as put to the member."""
        taken: list[Envelope] = []
        if self.is_idle:
            return taken  # as with nearly every frame
        for envelope in islice(self._kept, self.cursor - self.held, None):
            bytes_max -= envelope.taken
            if bytes_max < 0 or len(taken) == limits.ENVELOPES_TAKEN:
                return taken
            taken.append(envelope)
            self.cursor = envelope.number
        # Numbers are given only now, and last to unicasts. Unicasts that nobody reads must not stand before calls: an
        # application that waits for a call reads nothing.
        while len(taken) < limits.ENVELOPES_TAKEN and (following := self._next):
            kind, call, payload = following
            bytes_max -= size_of(payload) + limits.ENVELOPE_HEADER_BYTES
            if bytes_max < 0:
                return taken
            taken.append(self._give_number(kind, call, payload))
        return taken

    @property
    def _next(self) -> tuple[Kind, int, Payload] | None:
        """The next payload that can have a number."""
        # Answers first, since somebody waits for them; then requests: both are few. An answer needs no credit, the
        # request of its caller reserved its place.
        if self._answers:
            return self._answers[0]
        # 16 unserved: as many as can step aside for each other at the member (docs/protocols/unicast.md, "Handlers").
        if self._requests and self._asked - self._answered < limits.REQUESTS_UNSERVED_MAX:
            return self._requests[0]
        return (Kind.UNICAST, 0, self._unicasts[0]) if self._unicasts and self._unread.room else None

    def _give_number(self, kind: Kind, call: int, payload: Payload) -> Envelope:
        self.number += 1
        envelope = Envelope(self.number, kind, call, payload)
        if kind is Kind.UNICAST:
            self._unicasts.popleft()
            self._unicast_bytes -= envelope.size
            self._unread.add(envelope.size)
        elif kind is Kind.REQUEST:
            self._requests.popleft()
            self._asked += 1
        else:
            self._answers.popleft()
            self.served += 1
        self._kept.append(envelope)
        self.cursor = self.number
        return envelope

    # acknowledgement and credit

    def on_receipt(self, receipt: EnvelopeReceipt, view: int) -> None:
        """Take the member's acknowledgement and credit from its status in a view."""
        # A peer cannot have what was not put; without the bound a liar would empty a queue that it never
        # read.
        held = min(receipt.held, self.number)
        # A member takes envelopes once it is in a view with their sender, so a new view may end a stall.
        if held > self.held or view != self._view:
            self._become(Pace.FLOWING)
        self._view = view
        while self.held < held:
            kind = self._kept.popleft().kind
            self.held += 1
            if kind is Kind.UNICAST:
                self._held_unicasts += 1
            elif kind is not Kind.REQUEST:
                self._held_answers += 1
        # It may hold more than was known to be put: 1. A call fails, and the cursor goes back. 2. The frame
        # had arrived after all.
        self.cursor = max(self.cursor, self.held)
        if receipt.read > self._unread.read:
            self._unread.on_read(receipt.read)
        self._answered = max(self._answered, min(receipt.served, self._asked))

    def on_replied(self) -> None:
        """Go back to what is held: all that was put is answered, and the last receipt was taken."""
        # Not taken: it is not yet in a view with this process, or has no room. Frames for envelopes alone would be lost
        # the same way, so they wait for a heartbeat.
        if self.held < self.cursor:
            self._become(Pace.STALLED)
        self.cursor = self.held

    def on_failed(self) -> None:
        """Go back to what is held: what the failed call carried may not have arrived."""
        self.cursor = self.held


class Inbox:
    """The envelopes of one member that have arrived here."""

    def __init__(self) -> None:
        self.held = 0
        self.requests = 0
        self.unread = Unread()
        self.told = 0  # read, by the last status
        self.untold_bytes = 0  # read since

    def takes(self, envelope: Envelope, served: int) -> bool:
        """Return whether the envelope follows what is held, and there is room for it."""
        # Number n only after n-1, counted in the step that hands it over: so a copy, from a call put again, is dropped.
        if envelope.number != self.held + 1:
            return False
        if envelope.kind is Kind.UNICAST:
            # An honest sender's idea of the room is never more than this, so it loses nothing.
            return self.unread.room
        return envelope.kind is not Kind.REQUEST or self.requests - served < limits.REQUESTS_UNSERVED_MAX

    def add(self, envelope: Envelope) -> None:
        self.held = envelope.number
        if envelope.kind is Kind.UNICAST:
            self.unread.add(envelope.size)
        elif envelope.kind is Kind.REQUEST:
            self.requests += 1

    def on_read(self) -> bool:
        """Count one more as read; return whether so many are untold that the sender should hear at once."""
        self.untold_bytes += self.unread.on_read(self.unread.read + 1)
        # A quarter of the bound. Told much later, the sender would stand still meanwhile; told of each, every read
        # would cost a call.
        many = self.unread.read - self.told >= limits.UNICASTS_UNREAD_MAX // 4
        return many or self.untold_bytes >= limits.UNICASTS_UNREAD_BYTES_MAX // 4


class Channels:
    """This process's envelopes to and from each member, itself included."""

    def __init__(self, process: Process, members: Iterable[Process]) -> None:
        self.process = process
        self.outboxes: dict[Process, Outbox] = {member: Outbox() for member in members}
        self._inboxes: dict[Process, Inbox] = {member: Inbox() for member in members}

    def install(self, members: tuple[Process, ...]) -> list[tuple[Process, tuple[Payload, ...]]]:
        """Begin a view; return the unicasts that departed members are not known to hold."""
        gone = [member for member in self.outboxes if member not in members]
        for member in members:
            self.outboxes.setdefault(member, Outbox())
            self._inboxes.setdefault(member, Inbox())
        lost = [(member, self.outboxes[member].undelivered) for member in gone]
        # A process never comes back under its id once it was in. One that never heard that it was takes no envelope of
        # then (`UnicastEndpoint.receive`), so a new box never meets numbers of an old one.
        for member in gone:
            del self.outboxes[member], self._inboxes[member]
        return [(member, payloads) for member, payloads in lost if payloads]

    def receive(self, sender: Process, envelopes: Iterable[Envelope]) -> list[Envelope]:
        """Take envelopes that a member put to this process; return the new ones."""
        inbox, outbox = self._inboxes[sender], self.outboxes[sender]
        taken: list[Envelope] = []
        for envelope in envelopes:
            if inbox.takes(envelope, outbox.served):
                inbox.add(envelope)
                taken.append(envelope)
        return taken

    def to_self(self) -> list[Envelope]:
        """Take what this process has sent to itself and has room for: it needs no network."""
        outbox, taken = self.outboxes[self.process], list[Envelope]()
        # In rounds, since one is bounded, and with a receipt after each: no status ever comes from oneself.
        while envelopes := outbox.take(limits.FRAME_BYTES_MAX):
            taken += self.receive(self.process, envelopes)
            outbox.on_receipt(self.receipt(self.process), 0)
        return taken

    def receipt(self, peer: Process) -> EnvelopeReceipt:
        """Return the receipt that a status for a peer carries; a stranger has none."""
        inbox = self._inboxes.get(peer)
        if inbox is None:
            return EnvelopeReceipt()
        return EnvelopeReceipt(inbox.held, inbox.unread.read, self.outboxes[peer].served)

    def on_told(self, peer: Process) -> None:
        """Record that a status with the receipt goes to a peer."""
        if inbox := self._inboxes.get(peer):
            inbox.told, inbox.untold_bytes = inbox.unread.read, 0

    def on_read(self, sender: Process) -> bool:
        """Record that one more unicast was read; return whether its sender should hear of it at once."""
        inbox = self._inboxes.get(sender)
        urgent = inbox is not None and inbox.on_read()
        if sender == self.process and inbox is not None:
            self.outboxes[sender].on_receipt(self.receipt(sender), 0)
            self.on_told(sender)
        return urgent

    def ends(self) -> dict[Process, UnicastEnd]:
        """Return, per other member, the end of what has been sent to it."""
        return {peer: outbox.end for peer, outbox in self.outboxes.items() if peer != self.process}

    def held(self, ends: Mapping[Process, UnicastEnd] | None = None) -> bool:
        """Return whether the members hold all sent to them; up to an end each, for those named that are still there."""
        ends = self.ends() if ends is None else ends
        return all(self.outboxes[peer].holds(end) for peer, end in ends.items() if peer in self.outboxes)

    @property
    def undelivered(self) -> int:
        """The number of unicasts that some member is not known to hold."""
        return sum(len(outbox.undelivered) for outbox in self.outboxes.values())
