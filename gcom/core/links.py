"""The links to peers: what is owed to each, and when it may be put to it (ARCHITECTURE 3, decision 0010).

Several frames may be in flight to a peer: the connection carries them in order, each at most once, and their replies
come in that order. Where it breaks, all that are unanswered have an unknown fate, at once. Control items go at least
once: what unanswered frames carried is put again, before what came later. A failure is followed by one redial at once,
then by one every REDIAL_MS. A call and its reply carry both statuses, so one exchange per heartbeat serves both sides
of an idle link: a frame that comes puts this side's own heartbeat off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from gcom.core.messages.frames import (
    Control,
    Cut,
    CutOk,
    Fetch,
    IndirectAck,
    Join,
    Nack,
    Prepare,
    Probe,
    Promise,
    Status,
)
from gcom.values import limits
from gcom.values.names import Address, Process, life_of

# Belong to one change; owed to nobody once its view is over.
_OF_A_CHANGE = (Join, Prepare, Promise, Nack, Cut, CutOk, Fetch, Probe, IndirectAck)
# Answers to the proposer of a change, which asks again for those that do not come. One that is ready when the
# question's call ends goes with the reply: so a view change takes three calls to each, one after the other, not five.
# (A reply may also carry an INSTALL: `succession.told_of_successor` makes that, and no link owes it.)
ANSWERS = (Promise, Nack, CutOk)


class Readiness(StrEnum):  # as text it is looked up in the table below without a call
    """The readiness of a peer for the next call."""

    FREE = "free"  # every frame was answered
    IN_FLIGHT = "in flight"  # some frames are unanswered
    WAITING = "waiting"  # the last call failed: none before `due_ms`


# Every state and what may follow it: any, as a link that was closed and opened again hears how the old one's calls end.
READINESS: dict[Readiness, tuple[Readiness, ...]] = {
    Readiness.FREE: (Readiness.FREE, Readiness.IN_FLIGHT, Readiness.WAITING),
    Readiness.IN_FLIGHT: (Readiness.FREE, Readiness.IN_FLIGHT, Readiness.WAITING),
    Readiness.WAITING: (Readiness.FREE, Readiness.IN_FLIGHT, Readiness.WAITING),
}


@dataclass(slots=True)
class Relay:
    """A FETCH to serve: messages after `after` up to `last`; the peer has `at_byte` bytes of the next run."""

    view: int
    after: int
    last: int
    at_byte: int = 0


@dataclass(slots=True)
class Flight:
    """A frame that is not answered yet: its control items, and how many bytes of data it has."""

    items: list[Control]
    load: int
    status: Status | None = None  # that it tells, in a large view


@dataclass(slots=True)
class PeerLink:
    """A peer. `unanswered` are the frames in flight, in the order in which they were put."""

    address: Address
    due_ms: int  # a heartbeat, or a redial after a failure
    lead_ms: int = 0  # so much sooner this process calls than the peer would
    control: list[Control] = field(default_factory=list)
    unanswered: deque[Flight] = field(default_factory=deque)
    loads: int = 0  # unanswered frames with data
    last_load: int = 0  # bytes of data of the last frame that had any
    loaded_ms: int = 0  # when that frame was put
    later: Control | None = None  # goes with the next heartbeat
    repeated: Control | None = None  # was said last by `repeat`
    relays: dict[Process, Relay] = field(default_factory=dict)  # by sender; asked again, it replaces itself
    readiness: Readiness = Readiness.FREE
    owed: bool = False  # a status is due at once
    failures: int = 0
    told: Status | None = None  # what the peer was told last; in a large view, what it has answered that it was told
    seen: int = -1  # the version of this process's word at which that was all (`Heartbeats.version`)
    # When an exchange put this heartbeat off last, in this group; and when a sign of life did, in any.
    exchanged_ms: int = -limits.OWN_EXCHANGE_MS
    heard_ms: int = -limits.OWN_EXCHANGE_MS
    envelopes_first: bool = False  # the last frame had runs, and envelopes wait: it is their turn

    def become(self, readiness: Readiness) -> None:
        assert readiness in READINESS[self.readiness], f"{self.readiness} to {readiness}"
        self.readiness = readiness

    def callable(self, now_ms: int, pipelined: bool = False) -> bool:
        """Return whether a call to the peer may begin; `pipelined`: also while others are unanswered."""
        if self.readiness is Readiness.IN_FLIGHT:
            # After a failure one frame goes alone: it says whether the connection holds.
            return pipelined and not self.failures and len(self.unanswered) < limits.FRAMES_IN_FLIGHT_MAX
        return self.readiness is Readiness.FREE or now_ms >= self.due_ms

    def takes_load(self, paced: bool, now_ms: int) -> bool:
        """Return whether a frame with data may go: so few are under way that nothing waits for long behind them.

        `paced`: the answers of the registry's sequencer already pace what this process sends (`Streams.paced`).
        """
        # After a large load there is enough for another, and the peer should not wait for it.
        if not self.loads or paced or self.last_load >= limits.LARGE_LOAD_BYTES:
            return self.loads < limits.LOADS_IN_FLIGHT_MAX
        # Behind a tiny one too: single messages that come one by one have little to collect.
        if self.last_load < limits.TINY_LOAD_BYTES and self.loads < limits.TINY_LOADS_IN_FLIGHT_MAX:
            return True
        # After a smaller one the next waits for the answer, and collects meanwhile (Nagle 1984): a frame costs as much
        # as hundreds of messages. After a small one it waits for a millisecond: then the next look at the link may put
        # one all the same, as a driver may read an answer late if nobody waits for it.
        waited = self.last_load < limits.SMALL_LOAD_BYTES and now_ms > self.loaded_ms
        return waited and self.loads < limits.SMALL_LOADS_IN_FLIGHT_MAX

    def due(self, now_ms: int, loads: bool = True) -> bool:
        """Return whether something other than data is to be said now; `loads`: data may go."""
        # No heartbeat beside a frame that is unanswered: a peer that is paused would find one for each period.
        beats = now_ms >= self.due_ms and self.readiness is not Readiness.IN_FLIGHT
        return bool(self.control or self.owed or beats or (self.relays and loads))

    def drop(self, wanted: Callable[[Control], bool]) -> None:
        """Forget the items that are not wanted; of those in flight too, which a failure would make owed again."""
        self.control = [item for item in self.control if wanted(item)]
        for flight in self.unanswered:
            flight.items = [item for item in flight.items if wanted(item)]

    @property
    def fills_frame(self) -> bool:
        """Return whether an item is owed that, in a full group, leaves no room for runs: they go next."""
        return any(isinstance(item, Cut | Promise) for item in self.control)


class Links(dict[Process, PeerLink]):
    """The links of one group's process, by peer; `open` and `close` alone add and remove."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self.woken_peers: dict[Process, None] = {}  # in order; peers for which something became due

    @property
    def peers(self) -> list[Process]:
        return list(self)

    def woken(self) -> list[Process]:
        """Return the peers with something due since the last time this was asked."""
        woken = list(self.woken_peers)
        self.woken_peers.clear()
        return woken

    def open(self, peer: Process, address: Address, now_ms: int) -> None:
        # One that is open keeps what it owes, and its frames in flight: most peers stay from view to view.
        if peer not in self:
            # Of two idle ones the greater id calls, 25 ms before the other would: else both would call, and pay twice.
            lead_ms = limits.HEARTBEAT_LEAD_MS if self._process > peer else 0
            self[peer] = PeerLink(address, now_ms + limits.HEARTBEAT_MS, lead_ms)
            self.wake(peer)

    def close(self, peer: Process) -> None:
        # Calls under way go on, and their ends change nothing: they find no link.
        if self.pop(peer, None):
            self.wake(peer)

    def wake(self, peer: Process) -> None:
        self.woken_peers[peer] = None

    def wake_all(self, but: Process = "") -> None:
        for peer in self:
            if peer != but:
                self.woken_peers[peer] = None

    def say(self, peer: Process, item: Control) -> None:
        """Owe a peer a control item, in place of an older one of its kind: so a queue has a bound, the kinds."""
        link = self.get(peer)
        if link:
            # At the end, also where an older one stood further in front: a CUT must not overtake the PREPARE
            # that came after its predecessor.
            link.control = [old for old in link.control if not _replaces(item, old)] + [item]
            self.wake(peer)

    def answers(self, peer: Process) -> tuple[Control, ...]:
        """Return the items that the reply to a peer's call carries; they are not owed any more."""
        link = self.get(peer)
        if link is None or not link.control:
            return ()
        # Only answers, whose question is put again: the callee never learns whether its reply arrived.
        found = tuple(item for item in link.control if isinstance(item, ANSWERS))
        link.control = [item for item in link.control if item not in found]
        return found

    def rewire(self, members: dict[Process, Address], kept: Collection[Process], now_ms: int) -> None:
        """Begin a view: have links to its members and those that are kept, no others; what its change was about is
        over.
        """
        for peer in [peer for peer in self if peer not in members and peer not in kept]:
            self.close(peer)
        for peer, address in members.items():
            self.open(peer, address, now_ms)
        for link in self.values():
            link.drop(lambda item: not isinstance(item, _OF_A_CHANGE))
            link.later = None  # a Join: this process is in

    def keep_only(self, kind: type[Control]) -> None:
        """Owe nothing but this kind any more."""
        for link in self.values():
            link.drop(lambda item: isinstance(item, kind))

    def repeat(self, peer: Process, item: Control) -> None:
        """Owe a peer an item: at once where that is the first time, else with its next heartbeat."""
        link = self[peer]
        if link.repeated is item:
            link.later = item
        else:
            link.repeated = item
            self.say(peer, item)

    def say_later(self, peer: Process, item: Control) -> None:
        """Owe a peer an item with its next heartbeat."""
        self[peer].later = item

    def owe_status(self, peers: Iterable[Process]) -> None:
        for peer in peers:
            link = self.get(peer)
            if link:
                link.owed, link.seen = True, -1
                self.wake(peer)

    def relay(self, peer: Process, fetch: Fetch) -> None:
        link = self.get(peer)
        if link:
            link.relays[fetch.sender] = Relay(fetch.view, fetch.first - 1, fetch.last, fetch.at_byte)
            self.wake(peer)

    def served(self, peers: Iterable[Process]) -> list[Process]:
        """Return the peers that have been sent all that they fetch from this process."""
        # A proposer asks nobody else again. 1. A link is slow, or many groups share it: of this group it carries a call
        # every 700 ms. 2. A member has the CUT, and fetches from the proposer. 3. If the CUT were put again every
        # RESEND_MS it would be in each frame to that member, and no runs go beside a CUT. 4. The member would never get
        # what it fetches, and never accept.
        return [peer for peer in peers if not self[peer].relays]

    def begin(self, peer: Process, now_ms: int, load: int = 0) -> tuple[Control, ...]:
        """Begin a call at `now_ms` with so many bytes of data; return the control items that it carries."""
        link = self[peer]
        link.become(Readiness.IN_FLIGHT)
        link.owed = False
        link.due_ms = now_ms + limits.HEARTBEAT_MS  # its answer or its failure says when the next is due
        # A newer item of its kind stands; `later` would only repeat an older one.
        if link.later and not any(_replaces(item, link.later) for item in link.control):
            link.control.append(link.later)
        link.later = None
        # 16 per frame, so that a status and the items always fit beside the data.
        items = link.control[: limits.CONTROL_ITEMS_TAKEN]
        del link.control[: limits.CONTROL_ITEMS_TAKEN]
        link.unanswered.append(Flight(items, load))
        if load:
            link.loads, link.last_load, link.loaded_ms = link.loads + 1, load, now_ms
        return tuple(items)

    def replied(self, peer: Process, now_ms: int, calls: int = 1) -> None:
        """Record that so many frames were answered, of those that have been unanswered for longest."""
        link = self.get(peer)
        if link:
            for _ in range(min(calls, len(link.unanswered))):
                flight = link.unanswered.popleft()
                link.loads -= flight.load > 0
                link.told = flight.status or link.told
            link.become(Readiness.IN_FLIGHT if link.unanswered else Readiness.FREE)
            link.failures = 0
            link.exchanged_ms = link.heard_ms = now_ms
            link.due_ms = now_ms + limits.HEARTBEAT_MS - link.lead_ms
            # A driver looks again only at links that are woken, and this one could not be put to until now.
            if link.control or link.owed or link.relays:
                self.woken_peers[peer] = None

    def heard(self, peer: Process, now_ms: int) -> None:
        """Put the own heartbeat off: a call of the peer came, and its reply says what a heartbeat would."""
        link = self.get(peer)
        # Not where calls to the peer fail: redials go on, or what is owed to it later would find a broken link.
        if link and link.readiness is Readiness.FREE and not link.later:
            link.due_ms = now_ms + limits.HEARTBEAT_MS
            link.exchanged_ms = link.heard_ms = now_ms

    def bring_forward(self, peer: Process, now_ms: int, within_ms: int = limits.HEARTBEATS_TOGETHER_MS) -> None:
        """Have a heartbeat that is due soon go now, beside one of another group to the same node."""
        link = self.get(peer)
        # Not a redial, which waits on purpose.
        if link and link.readiness is Readiness.FREE and link.due_ms <= now_ms + within_ms:
            link.due_ms = min(link.due_ms, now_ms)

    def failed(self, peer: Process, now_ms: int) -> None:
        """Record that the connection broke: the fate of every unanswered frame is unknown."""
        link = self.get(peer)
        if link:
            # A newer item of a kind has been owed meanwhile; the old one would contradict it.
            for flight in reversed(link.unanswered):
                kept = [old for old in flight.items if not any(_replaces(new, old) for new in link.control)]
                link.control[:0] = kept
            link.become(Readiness.WAITING)
            link.unanswered.clear()
            # Relays end with the connection: who fetches asks again, from what it has by then, and perhaps
            # somebody else.
            link.loads, link.relays = 0, {}
            link.failures += 1
            # One redial at once: a refusal may be a restart, and a second refusal is what makes a suspicion.
            link.due_ms = now_ms if link.failures == 1 else now_ms + limits.REDIAL_MS
            self.wake(peer)

    def is_other_life(self, peer: Process, life: str) -> bool:
        """Return whether another life than the peer's answers at the peer's address, which no two have at a time."""
        expected = life_of(self[peer].address) if peer in self else ""
        return bool(life and expected) and life != expected

    def settled(self, peer: Process) -> bool:
        """Return whether no frame to a peer is unanswered."""
        link = self.get(peer)
        return link is None or not link.unanswered

    @property
    def idle(self) -> bool:
        """Return whether no control item is owed or under way."""
        return not any(link.control or any(flight.items for flight in link.unanswered) for link in self.values())


def _replaces(new: Control, old: Control) -> bool:
    # One stream each: fetches of several senders stand beside each other.
    if isinstance(new, Fetch) and isinstance(old, Fetch):
        return new.sender == old.sender
    return type(new) is type(old)
