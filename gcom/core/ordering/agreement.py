"""A member's part in the order of a view: the log, its agreed part, and where it comes from (ARCHITECTURE 6, 7).

The order comes from one sequencer per view. In the registry it is asked: a member that sends says WANT and is answered
with the order, which it puts to its peers. At the leader it orders what the leader receives. Either way the log goes to
each member that says in its status that it has less, and is *agreed* as far as a majority holds it; only that is passed
on for delivery.

A promise to a view change wedges the log like a stream: the log is one more stream of the cut, under the name ORDER.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

from gcom.core.messages.frames import ORDER, Decision, Status
from gcom.core.messages.orders import Orders, Span
from gcom.core.messages.sequencer import Open, Opened, SequencerAnswer, SequencerRequest, Want
from gcom.core.ordering.order_log import OrderLog
from gcom.core.quorum import held_by_majority
from gcom.values import limits
from gcom.values.detection import LAN, Detection
from gcom.values.names import Process
from gcom.values.view import View

PIECE_SPANS = 120  # in one frame; beside an INSTALL they fit FRAME_HEADER_BYTES, however long the names


class Service(Enum):
    """The source of the order in this member's view, and the state of the registry's service."""

    AT_LEADER = "at leader"  # the leader orders; the registry is asked only whether it could again
    OPENING = "opening"  # the leader's OPEN may be under way: UNKNOWN is no evidence for OPEN_GRACE_MS
    SERVED = "served"  # the sequencer has answered in this view
    DOUBTED = "doubted"  # a request was not answered; asked again, for SEQUENCER_GRACE_MS or until refused twice
    CUT_OFF = "cut off"  # the sequencer does not serve this member: the view must change


_BEGUN = (Service.AT_LEADER, Service.OPENING)  # by an install, from everywhere

# Every state and what may follow it.
SERVICES: dict[Service, tuple[Service, ...]] = {
    Service.AT_LEADER: _BEGUN,
    Service.OPENING: (*_BEGUN, Service.SERVED, Service.DOUBTED, Service.CUT_OFF),
    Service.SERVED: (*_BEGUN, Service.SERVED, Service.DOUBTED, Service.CUT_OFF),
    Service.DOUBTED: (*_BEGUN, Service.SERVED, Service.CUT_OFF),
    Service.CUT_OFF: _BEGUN,
}


class OrderAgreement:
    """A member's order. `agreed` <= `log.end`; what is agreed and not yet passed on is after `_passed`."""

    def __init__(self, process: Process, group: str, instance: str, detection: Detection = LAN) -> None:
        self.process = process
        self.service = Service.OPENING
        self.at_registry = True  # whether the view's sequencer is in the registry; follows from the service
        self.cut_off = False  # whether it does not serve this process; follows from the service
        self.waiting = False  # a request is to be repeated soon: it was not answered, or before the leader's OPEN came
        self.served = False  # whether the registry's sequencer has answered in this view; follows from the service
        self.restless = True  # a request may be due for another reason than the place of own messages
        self.sequences = False  # whether this process is the sequencer; follows from the service and the view's leader
        self.view = View(0, ("",), ("",))  # until a view is installed
        self._leads = False
        self.wedged = False
        self.log = OrderLog(0, {})
        self.agreed = 0
        self._group, self._instance = group, instance
        self._grace_ms = detection.extended_ms(limits.SEQUENCER_GRACE_MS)
        self._passed = 0
        self._agreed_told = 0  # agreed, as others say
        self._agreed_by: dict[Process, int] = {}  # and by whom
        self._places: deque[tuple[int, int]] = deque()  # own messages up to this one have places up to this serial
        self.placed = 0  # up to this own message all have places that are passed on here
        self.aware = 0  # up to this own message all members know the places, as far as is known here
        self._wedged_at = 0  # the end of the log at the promise
        self._wanted: int | None = None  # the end of the cut, once that is known
        self._held: dict[Process, int] = {}  # the log, by the other members, as they say
        self._put: dict[Process, int] = {}  # how far it was put to each of them
        self._previous: OrderLog | None = None
        self.asking = False  # a request to the registry's sequencer is under way
        self._opened = False
        self._retry_ms = 0
        self._refusals = 0  # in a row: nobody listens at the registry's port
        self._doubted_until_ms = 0
        self._unknown_until_ms: int | None = None  # from the first UNKNOWN on, while that is no evidence
        self.reaches = False  # the registry has answered this process for so long that it may order again
        self._reached_since_ms: int | None = None

    def install(self, decision: Decision, serial: int) -> None:
        """Begin a view after `serial`, with the sequencer where the decision says."""
        view = self.view = decision.view
        self._leads = view.leader == self.process
        # A member that is one view behind still fetches this log's end as a part of its cut.
        self._previous = self.log
        ordered = {member: decision.cut.get(member, 0) for member in view.members}
        self.log = OrderLog(serial, ordered)
        self.agreed = self._passed = self._agreed_told = serial
        # All have installed the cut, and with it the whole order of before: nobody lacks anything yet.
        self._held = {member: serial for member in view.members if member != self.process}
        self._agreed_by = dict(self._held)
        self._places.clear()
        self.aware = self.placed = decision.cut.get(self.process, 0)
        self._put = dict(self._held)
        self._wanted = self._unknown_until_ms = None
        self.wedged = self.asking = self._opened = False
        self._refusals = 0
        self._become(Service.OPENING if decision.at_registry else Service.AT_LEADER)

    def _become(self, service: Service) -> None:
        assert service in SERVICES[self.service], f"{self.service} to {service}"
        self.service = service
        self.at_registry, self.cut_off = service is not Service.AT_LEADER, service is Service.CUT_OFF
        self.sequences = not self.at_registry and self._leads
        self.waiting = service is Service.DOUBTED
        self.served = service is Service.SERVED
        self.restless = not self.served

    def wedge(self) -> None:
        """Hold, agree and order nothing new: a promise was made."""
        if not self.wedged:
            # The mark of the first promise stays: what a flush brings later was promised to nobody.
            self.wedged, self._wedged_at = True, self.log.end
        self._wanted = None

    @property
    def held(self) -> int:
        """The end of the log held here, for a status."""
        return self._wedged_at if self.wedged else self.log.end

    # where the order comes from

    def sequence(self, sender: Process, upto: int) -> bool:
        """Order, as the sequencer, what came of a sender; return whether that is news."""
        # A wedged leader orders nothing, so no serial is without a payload: it orders what it has stored.
        return self.sequences and not self.wedged and self.log.append(sender, upto)

    def extend(self, orders: Orders) -> bool:
        """Take a piece of the order; return whether the log grew."""
        if orders.view != self.view.number:
            return False
        if not self.wedged:
            return self.log.extend(orders)
        # Wedged: only the cut's part is taken. More would be delivered here alone, and contradicted by the next view.
        if self._wanted is None or self.log.end >= self._wanted:
            return False
        grown = self.log.extend(orders)
        if self.log.end > self._wanted:
            self.log.truncate(self._wanted)
        return grown

    def due(self, number: int, now_ms: int) -> list[SequencerRequest]:
        """Return the request to the registry's sequencer now, if any; `number` is this process's last."""
        # One request at a time: WANT is cumulative, so the next one says all that waited for this answer.
        if self.asking or self.wedged or self.cut_off or now_ms < self._retry_ms:
            return []
        settled = self.service is not Service.DOUBTED and number <= self.log.ordered.get(self.process, 0)
        if settled and self.at_registry and (self._opened or not self._leads):
            return []
        self.asking = True
        return [self._question(number, now_ms)]

    def _question(self, number: int, now_ms: int) -> SequencerRequest:
        view = self.view
        if self.at_registry and self._leads and not self._opened:
            # Once only, over a connection that does not outlive the registry's process. 1. The registry starts again.
            # 2. An OPEN put again would open it with old serials. 3. It would give serials a second time.
            self._opened = True
            return Open(self._group, self._instance, view.number, self.log.end, dict(self.log.ordered))
        if not self.at_registry:
            self._retry_ms = now_ms + limits.RENEW_MS  # only to know whether it could serve again
        # What all hold is never asked for again, so the sequencer may forget it.
        stable = min([self.held, *self._held.values()])
        return Want(self._group, self._instance, view.number, self.process, number, self.log.end, stable)

    def on_answer(
        self, request: SequencerRequest, answer: SequencerAnswer | None, now_ms: int, refused: bool = False
    ) -> Orders | None:
        """Take the registry's answer, or None: there was none, perhaps since nobody listens there (`refused`).

        Return what it says of the order.
        """
        self._on_reached(answer is not None, now_ms)
        # A sequencer that wakes from a pause answers for a view that is over: it orders for nobody.
        if isinstance(request, Open | Want) and request.view != self.view.number:
            return None
        self.asking = False
        # Its answer counted above: where the leader orders, the registry is asked only whether it could serve
        # again.
        if not self.at_registry or self.cut_off:
            return None
        self._refusals = self._refusals + 1 if refused else 0
        if isinstance(answer, Orders | Opened):
            self._unknown_until_ms = now_ms  # it knows the view: if it says UNKNOWN after that, it has forgotten it
            self._become(Service.SERVED)
            return answer if isinstance(answer, Orders) else None
        self._on_unserved(request, answer, now_ms)
        return None

    def _on_reached(self, reached: bool, now_ms: int) -> None:
        """Record whether the registry answered, with any answer."""
        if not reached:
            self._reached_since_ms, self.reaches = None, False
        elif self._reached_since_ms is None:
            self._reached_since_ms = now_ms
        else:
            # 10 s: a link to the registry that works now and then must not cost view changes all the time.
            self.reaches = now_ms - self._reached_since_ms >= limits.RETURN_MS

    def _on_unserved(self, request: SequencerRequest, answer: SequencerAnswer | None, now_ms: int) -> None:
        """Decide, after a request that was not served, whether to ask again or to have the view changed."""
        # Soon, but not at once: a registry that refuses its port would be asked thousands of times per
        # second.
        self._retry_ms = now_ms + limits.JOIN_GATHER_MS
        # No answer. One lost call is no outage. An OPEN that was not answered may have arrived: a WANT finds out.
        if answer is None:
            if self.service is not Service.DOUBTED:
                self._doubted_until_ms = now_ms + self._grace_ms
                self._become(Service.DOUBTED)
            # Two refusals in a row: nobody listens there. Silence is given 1 s of asking.
            given_up = self._refusals > 1 or now_ms >= self._doubted_until_ms
        else:
            # UNKNOWN is usual just after a view began, since the leader's OPEN is under way. After an answer in this
            # view, or to an OPEN, it means that the registry has forgotten the view.
            if self._unknown_until_ms is None:
                self._unknown_until_ms = now_ms + limits.OPEN_GRACE_MS
            given_up = isinstance(request, Open) or now_ms >= self._unknown_until_ms
        if given_up:
            self._become(Service.CUT_OFF)
        self.waiting = self.service in (Service.OPENING, Service.DOUBTED)

    # how far it is agreed

    def on_status(self, peer: Process, status: Status) -> bool:
        """Record how much of the order a peer holds, and knows to be agreed; return whether more may be agreed now."""
        held = self._held.get(peer)
        if held is not None and status.agreed > self._agreed_by[peer]:
            self._agreed_by[peer] = status.agreed
            self._look_who_is_aware()
        # Not after the promise: the order that is agreed by later words might be in no union, and is settled
        # by the cut.
        if held is None or self.wedged or (status.ordered <= held and status.agreed <= self._agreed_told):
            return False
        self._held[peer] = max(held, status.ordered)
        # It may have the order from another member, and needs it from nobody else.
        self._put[peer] = max(self._put[peer], status.ordered)
        self._agreed_told = max(self._agreed_told, status.agreed)
        return self._passed < self.log.end

    def advance(self) -> list[Span]:
        """Return the order that is agreed and not yet passed on."""
        if self.wedged or self._passed == self.log.end:
            return []
        # A majority of members, never the registry: every quorum of promises then meets one that holds the log so far,
        # so no view change can contradict what was delivered.
        known = held_by_majority(self.view, {**self._held, self.process: self.log.end})
        # Others may know of more that is agreed than is here: only what is here can be passed on.
        self.agreed = max(self.agreed, min(max(known, self._agreed_told), self.log.end))
        spans = self.log.between(self._passed, self.agreed)
        serial = self._passed
        for sender, first, last in spans:
            serial += last - first + 1
            if sender == self.process:
                self._places.append((last, serial))
                self.placed = last
        self._look_who_is_aware()
        self._passed = self.agreed
        # All hold it: no view change will ask for it.
        stable = min([self._passed, *self._held.values()])
        if stable > self.log.floor:
            self.log.drop(stable)
        return spans

    def _look_who_is_aware(self) -> None:
        by_all = min(self._agreed_by.values(), default=self.agreed)
        while self._places and self._places[0][1] <= by_all:
            self.aware = self._places.popleft()[0]

    def unaware(self, number: int) -> list[Process]:
        """Return the other members that are not known to know the places of own messages up to `number`."""
        # First: the nearest place that is still kept may be a later message's.
        if number <= self.aware:
            return []
        serial = next((serial for last, serial in self._places if last >= number), None)
        if serial is None:
            return list(self._agreed_by)
        return [peer for peer, agreed in self._agreed_by.items() if agreed < serial]

    @property
    def doubted(self) -> bool:
        """Return whether the registry's sequencer did not answer, or does not serve this process."""
        return self.service in (Service.DOUBTED, Service.CUT_OFF)

    @property
    def counted(self) -> bool:
        """Return whether this process has counted more as agreed than any member has told it."""
        return self.agreed > self._agreed_told

    def lacks(self, peer: Process) -> bool:
        """Return whether a peer lacks a part of the order that is not on its way to it."""
        return not self.wedged and self._put.get(peer, self.log.end) < self.log.end

    def put_to(self, peer: Process) -> Orders | None:
        """Return the part that a peer lacks; it counts as put to the peer."""
        if not self.lacks(peer):
            return None
        orders = self.log.piece(self.view.number, self._put[peer], PIECE_SPANS)
        self._put[peer] = orders.end
        return orders

    def go_back(self, peer: Process) -> None:
        """Go back to what a peer acknowledges of the order: the rest is put again, since it may be lost."""
        if peer in self._held:
            self._put[peer] = self._held[peer]

    # the end of the view

    def missing(self, end: int) -> tuple[int, int] | None:
        """Return the serials of the cut that are not yet here."""
        self._wanted = end
        return (self.log.end + 1, end) if self.log.end < end else None

    def fetched(self, view: int, after: int) -> Orders | None:
        """Return a piece for a member that asks for the order of a view after a serial."""
        log = self.log if view == self.view.number else self._previous if view == self.view.number - 1 else None
        if log is None or not log.floor <= after < log.end:
            return None
        return log.piece(view, after, PIECE_SPANS)

    def serial_after(self, decision: Decision) -> int:
        """Return the last serial of this view, once it has ended with a decision; its part of the log must be here."""
        end = decision.cut.get(ORDER, 0)
        if decision.succession:
            # What has no agreed serial gets none, so nothing follows the log.
            return end
        # The log may go beyond the cut; serials there are given anew, so their messages count as unordered.
        beyond = dict.fromkeys(self.view.members, 0)
        for sender, first, last in self.log.between(end, self.log.end):
            beyond[sender] += last - first + 1
        ordered = {sender: self.log.ordered.get(sender, 0) - beyond[sender] for sender in self.view.members}
        # Everybody computes the same number from the decision alone; joiners, who cannot, are told it by INSTALL.
        return end + sum(max(0, decision.cut.get(sender, 0) - ordered[sender]) for sender in ordered)

    def within(self, end: int) -> bool:
        """Return whether nothing was passed on here that a cut of the log leaves out."""
        return self._passed <= end

    def close(self, decision: Decision) -> list[Span]:
        """Return the rest of the view's order: the log up to the cut, then what has no serial by rank and number."""
        end = decision.cut.get(ORDER, 0)
        self.log.truncate(end)
        spans = self.log.between(self._passed, end)
        # Before a succession what has no agreed serial is given none: the dead may have decided on serials of their
        # own, and have delivered by them (docs/protocols/continuity.md, story 9).
        if decision.succession:
            return spans
        # No message of this tail depends on another but through its own sender: a dependency would have been agreed
        # before the later message was sent. So any order that all compute alike is causal.
        for member in self.view.members:
            first, last = self.log.ordered.get(member, 0) + 1, decision.cut.get(member, 0)
            if first <= last:
                spans.append((member, first, last))
        return spans

    def release_previous(self) -> None:
        """Forget the last view's log: all who stay have installed."""
        self._previous = None
