"""The data path of one member: numbers, clock, delivery. Composes a multicast and an ordering; work is per run.

A run gets its numbers, its clock and its place in the log when it is formed for a frame, not when the application
sends: so what was sent while a call was in flight travels together, without a timer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, chain

from gcom.core.codec import frames as codec
from gcom.core.hold_back import MAJORITY, PLACE, VIEW, HeldRun, HoldTimes
from gcom.core.holders import Holders
from gcom.core.messages.effects import Deliver, Delivery, Effect, Sent, Skip
from gcom.core.messages.frames import NO_MISSES, NO_RECEIPT, ORDER, Decision, Misses, Status
from gcom.core.messages.orders import Orders
from gcom.core.multicast.basic import Basic
from gcom.core.multicast.reliable import Range, Reliable
from gcom.core.multicast.safe import Safe
from gcom.core.multicast.signing import RunSigner, Signatures
from gcom.core.ordering.agreement import OrderAgreement
from gcom.core.ordering.orderer import orderer
from gcom.core.quorum import held_by_majority
from gcom.values import limits
from gcom.values.definition import Definition, Multicast, Netsplit
from gcom.values.envelope import EnvelopeReceipt
from gcom.values.lineage import Extent, rank
from gcom.values.names import InstanceId, Process
from gcom.values.run import Fragment, Payload, Run, StateToMerge


class Streams:
    """All streams of a group at one process. Methods return the effects that follow."""

    def __init__(
        self,
        process: Process,
        group: str,
        instance: str,
        definition: Definition,
        entry: Decision,
        serial: int,
        signer: RunSigner | None = None,
    ) -> None:
        view = entry.view
        self.process = process
        kind = Basic if definition.multicast is Multicast.BASIC else Safe if definition.safe else Reliable
        self.multicast: Reliable | Basic = kind(process)
        self.serials = OrderAgreement(process, group, instance, definition.detection) if definition.total else None
        # delivered in this view: sender, number, state
        self.states_to_merge: list[tuple[Process, int, StateToMerge]] = []
        self.delivered = 0  # of this process's own messages
        self.news = False  # the others wait for a status of this process
        self._merges = definition.netsplit is Netsplit.PARTITIONABLE
        self._safe = definition.safe
        self._basic = definition.multicast is Multicast.BASIC
        self._signatures: Signatures | None = None
        if definition.signed:
            assert signer is not None, "a process without a key enters no signed group"
            self._signatures = Signatures(signer, process, group, instance, may_lose=self._basic)
        self._ordering = orderer(definition.ordering)
        self.holders = Holders(self.multicast, self.serials, definition.ordering.is_causal and not self._basic)
        self._view = view
        self.unsent: list[Payload] = []  # messages that have no number yet
        # The vector clock (BSS §5.1): the highest number delivered from each other member; what of it changed since the
        # last run; over BASIC, where a run may be lost, what the view's runs have told (ARCHITECTURE 6).
        self._highest = {sender: entry.cut[sender] for sender in entry.cut if sender in view.members}
        self._clock = {sender: number for sender, number in self._highest.items() if number}
        self._clock_told: dict[Process, int] = {}
        self._credit_untold: dict[Process, tuple[int, int]] = {}  # consumed and not yet told: messages, bytes
        self._clock_changes: dict[Process, dict[Process, int]] = {}  # what changed of each sender's clock in this view
        self.hold_times = HoldTimes()
        self._last_size = 0  # bytes of the last run
        self._sent_before_order_upto = 0  # runs up to this number wait for no order
        self._begin(entry, serial)

    def _begin(self, decision: Decision, serial: int) -> None:
        """Begin a view: every stream stands at the cut."""
        view = self._view = decision.view
        # Over BASIC a run repeats what the view's runs have told. Each member has delivered the cut, so a new
        # view starts empty.
        self._clock_told = {}
        self._base = decision.cut  # what every member has delivered as the view begins
        self._clock_changes = {member: {} for member in view.members}
        if self._signatures:
            self._signatures.install()
        self._ordering.install(view.number, view.members, decision.cut, serial)
        if self.serials:
            self.serials.install(decision, serial)
        self.multicast.install(view, decision.cut)
        self.holders.install()

    def submit(self, payloads: list[Payload]) -> None:
        self.unsent += payloads

    @property
    def may_form(self) -> bool:
        """Return whether a run can be formed now."""
        flows = self._view.started and not self.multicast.wedged
        return bool(self.unsent) and flows and self.multicast.out.flow.opens_for(len(self.unsent))

    @property
    def unplaced(self) -> bool:
        """Return whether a message of this process has a number and no place in the order yet."""
        return self.serials is not None and self.serials.log.ordered.get(self.process, 0) < self.multicast.out.number

    @property
    def paced(self) -> bool:
        """Return whether the answers of the registry's sequencer pace what is sent."""
        return self.serials is not None and self.serials.served

    @property
    def awaits_order(self) -> bool:
        """Return whether runs of this process wait for their order, to go in one frame with it."""
        # Nobody can deliver them sooner: a payload that goes ahead costs a frame, and its answer, for nothing. A large
        # one goes at once, since it takes longer than the order.
        if self.serials is None or not self.serials.served or self._last_size > limits.LARGE_LOAD_BYTES:
            return False
        return self.unplaced and self._sent_before_order_upto < self.multicast.out.number

    def stop_waiting(self) -> bool:
        """Have nothing wait any more for its order, or for a larger part of the window. Return whether anything did."""
        # 1. The sequencer is paused. 2. A sender of which all runs wait dies. 3. Nobody has them.
        waits = self.awaits_order
        self._sent_before_order_upto = self.multicast.out.number
        # 1. A reader stops. 2. This process has more to send than there is room for, and leaves. 3. The messages that
        # there is room for would never be sent.
        return (self.multicast.out.flow.stop_waiting() and self.may_form) or waits

    def form(self, bytes_max: int) -> list[Effect]:
        """Give numbers to what is pending, as much as fits one run and the window; deliver it here."""
        if not self.may_form:
            return []
        run = self._form_run(bytes_max)
        self._last_size = len(run.encoded)
        self.holders.on_formed(run)
        if self._basic:
            self._clock_told |= self._clock
        # The next run tells only what is delivered from now on: runs of a sender are released in order.
        self._clock = {}
        effects = [Sent(run), *self._pass_up(self.multicast.submit(run))]
        return effects + self._sequence(self.process) if self.serials and self.serials.sequences else effects

    def _form_run(self, bytes_max: int) -> Run:
        """Return the next run, at most `bytes_max` encoded; a message that alone is larger is a run of its own."""
        bytes_max -= self._signatures.overhead if self._signatures else 0
        count = self._count(bytes_max)
        first = self.multicast.out.number + 1
        clock = {**self._clock_told, **self._clock} if self._clock_told else self._clock
        while True:
            payloads = self.unsent[:count]
            encoded = codec.encode_run(self.process, self._view.number, first, clock, payloads)
            if len(encoded) <= bytes_max or count == 1:
                del self.unsent[:count]
                encoded, seal = self._signatures.seal(encoded) if self._signatures else (encoded, None)
                return Run(self.process, self._view.number, first, clock, payloads, encoded, seal)
            # The estimate was by characters; text beyond ASCII has more bytes. Halving ends after 11 tries.
            count //= 2

    def _count(self, bytes_max: int) -> int:
        """Return how many pending messages to try: bounded by run, window, and bytes with their msgpack headers."""
        count = min(len(self.unsent), limits.RUN_MESSAGES_MAX, self.multicast.out.flow.room)
        # A brought state is alone in its run: the barrier merges it by its sender and number.
        if StateToMerge in set(map(type, self.unsent[:count])):
            count = max(1, next(at for at, it in enumerate(self.unsent) if type(it) is StateToMerge))
        lengths = list(accumulate(map(len, self.unsent[:count])))
        budget = bytes_max - 5 * count - 64 * (len(self._clock) + len(self._clock_told) + 2)
        return max(1, bisect_right(lengths, budget))

    def receive(self, run: Run, now_ms: int) -> list[Effect]:
        """Take a run of another member."""
        effects = self._pass_up(self.multicast.receive(run, now_ms))
        return effects + self._sequence(run.sender) if self.serials and self.serials.sequences else effects

    def _pass_up(self, runs: list[Run]) -> list[Effect]:
        effects: list[Effect] = []
        for run in runs:
            # As it comes up, not as it is delivered: a held-back run shows in a snapshot what it waits for.
            self._clock_changes[run.sender].update(run.clock)
            if ups := self._ordering.receive(run):
                effects += self._hand_over(ups)
        return effects

    def may_bring(self, by: set[Process], item: Run | Fragment) -> bool:
        """Return whether the peers in `by` may bring this: its sender alone, or any in a view change, which fetches."""
        return by == {item.sender} or self.multicast.wedged

    def is_forged(self, run: Run) -> bool:
        """Return whether a run that would be taken is not of its sender, in a signed group."""
        return bool(self._signatures and self.multicast.awaits(run) and self._signatures.is_forged(run))

    def on_status(self, peer: Process, status: Status) -> list[Effect]:
        """Take the acknowledgements in a peer's status, and its word on stability and order."""
        self.multicast.on_status(peer, status)
        # A member behind counts in another order and by other stores: its words on stability and order are of
        # that view.
        if status.view != self._view.number:
            return []
        effects: list[Effect] = []
        # Data first, then its order: a serial that is agreed by the same status finds its payload here.
        if self._safe and (released := self.multicast.release_safe()):
            self.news |= self.multicast.awaited(released)
            effects += self._pass_up(released)
        if self.serials and self.serials.on_status(peer, status):
            effects += self._advance()
        return effects

    def on_installed(self, peer: Process) -> None:
        """Take the leader's word that a peer is in the view, which lets data go to it."""
        self.multicast.on_status(peer, Status(self._view.number))

    def on_replied(self, peer: Process) -> None:
        """Go back to what a peer holds: all that was put to it is answered."""
        self.multicast.on_replied(peer)
        if self.serials:
            self.serials.go_back(peer)

    def on_failed(self, peer: Process) -> None:
        """Go back to what a peer is known to hold: the fate of all that was put since is unknown."""
        self.multicast.on_failed(peer)
        if self.serials:
            self.serials.go_back(peer)

    def on_sent(self, sender: Process, sent: int, now_ms: int) -> list[Effect]:
        """Take a sender's word of what it put to this process."""
        self.multicast.on_sent(sender, sent, now_ms)
        return self._sequence(sender) if self.serials and self.serials.sequences else []

    def give_up_overdue(self, now_ms: int) -> list[Effect]:
        overdue = self.multicast.overdue(now_ms)
        return self._lose(overdue) if overdue else []

    def _lose(self, ranges: list[Range]) -> list[Effect]:
        effects: list[Effect] = []
        for lost in ranges:
            effects += self._hand_over(self._ordering.pass_over(lost.sender, lost.first, lost.last))
        return effects

    def _hand_over(self, ups: list[Delivery]) -> list[Effect]:
        for up in ups:
            if isinstance(up, Deliver) and up.run.sender == self.process:
                # Not in the clock: a run's own numbers tell it, so on the wire the clock has the others only.
                self.delivered = up.run.last
            elif isinstance(up, Deliver):
                sender, last = up.run.sender, up.run.last
                if last > self._highest.get(sender, 0):
                    self._highest[sender] = self._clock[sender] = last
            # A liar may send one in a PRIMARY group, where no states are merged.
            if isinstance(up, Deliver) and isinstance(state := up.run.payloads[0], StateToMerge) and self._merges:
                self.states_to_merge.append((up.run.sender, up.run.first, state))
        return list(ups)

    # for those who look at it

    def clocks(self) -> dict[Process, dict[Process, int]]:
        """Return each member's vector clock; another member's as the last of its runs that came up here told it."""
        members = self._view.members
        received = self.multicast.holdings()
        found = {}
        for member in members:
            known = {**self._base, **self._clock_changes[member], member: received.get(member, 0)}
            found[member] = {sender: known.get(sender, 0) for sender in members}
        return found | {self.process: {**self._highest, self.process: self.delivered}}

    def held_back(self) -> Iterator[HeldRun]:
        """Yield what is here and not delivered, and what it waits for."""
        ordered = self.serials.log.ordered if self.serials else {}
        for sender, first, last, waits_for in chain(self._ordering.held_back(), self.multicast.held_back()):
            if PLACE in waits_for and first <= ordered.get(sender, 0):
                waits_for = (MAJORITY,)
            if self.multicast.wedged and VIEW not in waits_for:
                waits_for = (*waits_for, VIEW)
            yield sender, first, last, waits_for

    @property
    def delivered_serial(self) -> int:
        """The last serial that was delivered or given up here; 0 without a total order."""
        return self._ordering.serial

    def mark_hold_times(self, now_ms: int) -> None:
        """Mark how far the streams that are held back have come, so that a snapshot can say for how long."""
        self.hold_times.mark(self.multicast.holdings(), {**self._highest, self.process: self.delivered}, now_ms)
        # A liar's clocks may name processes that never were.
        for sender, clock in self._clock_changes.items():
            if len(clock) > limits.MEMBERS_MAX:
                self._clock_changes[sender] = {each: clock[each] for each in clock if each in self._view.members}

    # the order of the view

    def _sequence(self, sender: Process) -> list[Effect]:
        """Order, as the sequencer, what came of a sender."""
        upto = self.multicast.out.number if sender == self.process else self.multicast.held(sender)
        if self.serials is None or not self.serials.sequence(sender, upto):
            return []
        self.news = True
        return self._advance()

    def on_orders(self, orders: Orders, fresh: bool) -> list[Effect]:
        """Take a piece of the order; `fresh`: from the sequencer, so that the others may lack it."""
        if self.serials is None or not self.serials.extend(orders):
            return []
        self.news |= fresh
        return self._advance()

    def _advance(self) -> list[Effect]:
        """Hand over the messages whose order a majority now holds."""
        spans = self.serials.advance() if self.serials else []
        if self.serials is None or not spans:
            return []
        # The member that counted a majority says so. If all who are told told on, a message would cost N² frames; of
        # three members, each counts by itself.
        self.news |= len(self._view.members) > 3 and self.serials.counted
        return self._hand_over(self._ordering.order(spans))

    # the change of the view

    def wedge(self) -> None:
        """Take nothing new: a promise to a view change was made."""
        self.multicast.wedge()
        if self.serials:
            self.serials.wedge()

    def holdings(self) -> dict[Process, int]:
        """Return how far each stream counts here, the order's log among them."""
        held = self.multicast.holdings()
        return {**held, ORDER: self.serials.log.end} if self.serials else held

    @property
    def agreed(self) -> int:
        """The serial up to which a majority was known to hold the order."""
        return self.serials.agreed if self.serials else 0

    def missing(self, cut: dict[Process, int], now_ms: int) -> list[Range]:
        """Return what of the cut is not yet here."""
        gaps = self.multicast.missing(cut, now_ms)
        lacking = self.serials.missing(cut.get(ORDER, 0)) if self.serials else None
        return [*gaps, Range(ORDER, *lacking)] if lacking else gaps

    def within(self, cut: dict[Process, int]) -> bool:
        """Return whether the cut has all that went up here, and all of this process's own stream."""
        agreed = self.serials is None or self.serials.within(cut.get(ORDER, 0))
        return agreed and self.multicast.within(cut)

    def can_end(self, decision: Decision) -> bool:
        """Return whether the view can end with a decision whose cut is all here; if not, its proposer is wrong."""
        return self.multicast.can_end(decision.cut) and self.serial_after(decision) <= limits.NUMBER_MAX

    def serial_after(self, decision: Decision) -> int:
        """Return the last serial of this view if it ends with a decision, all of whose cut is here."""
        return self.serials.serial_after(decision) if self.serials else 0

    def close(self, decision: Decision) -> list[Effect]:
        """End the view at its cut: deliver what remains of it, or give it up."""
        # Payloads first, then the order: a serial whose payload is still missing after both is a no-op at every member.
        runs, lost = self.multicast.close(decision.cut)
        effects = self._pass_up(runs) + self._lose(lost)
        if self.serials:
            effects += self._hand_over(self._ordering.order(self.serials.close(decision)))
        effects += self._hand_over(self._ordering.close())
        if not decision.succession:
            return effects
        # The successor says where each stream ended: a process that goes over has settled that much, and no more.
        for place, up in enumerate(effects):
            if isinstance(up, Skip) and up.first > decision.cut.get(up.sender, 0):
                effects[place] = replace(up, no_op=True)
        return effects + self._hand_over(self._ordering.abandon())

    def take_states_to_merge(self) -> list[tuple[Process, StateToMerge]]:
        """Return the states that were brought in the view that is closed, in an order that all share; none twice."""
        first: dict[StateToMerge, Process] = {}
        # By sender and number: arrival differs from member to member, and merge_states need not be commutative.
        for sender, _, state in sorted(self.states_to_merge):
            first.setdefault(state, sender)
        self.states_to_merge = []
        return [(sender, state) for state, sender in first.items()]

    def install(self, decision: Decision, serial: int) -> None:
        """Go on in the next view, after `serial`."""
        members = decision.view.members
        # A departed sender's stream ended at the cut, which all have: no clock needs to name it again.
        self._clock = {sender: number for sender, number in self._clock.items() if sender in members}
        self._highest = {sender: number for sender, number in self._highest.items() if sender in members}
        self._credit_untold = {sender: told for sender, told in self._credit_untold.items() if sender in members}
        self._begin(decision, serial)

    def release_previous(self) -> None:
        """Forget what the last view left: all who stay have installed."""
        self.multicast.release_previous()
        if self.serials:
            self.serials.release_previous()

    def on_consumed(self, sender: Process, number: int, size: int) -> bool:
        """Give credit; return whether so much of it is untold that the sender should hear at once."""
        self.multicast.on_consumed(sender, number)
        # Its own messages, and those of one that left: nobody waits for credit for them.
        if sender not in self.multicast.consumed:
            return False
        told, waiting = self._credit_untold.get(sender, (number, 0))
        self._credit_untold[sender] = (told, waiting + size)
        # A quarter of the window: later, a sender at full speed would stop; sooner, each read would cost a frame.
        return number - told >= self.multicast.out.flow.most // 4 or waiting + size >= limits.WINDOW_BYTES_MAX // 4

    def status(
        self,
        peer: Process,
        *,
        leaving: str = "",
        suspects: tuple[Process, ...] = (),
        unheard: Misses | None = None,
        receipt: EnvelopeReceipt = NO_RECEIPT,
        state: int = 0,
        needs_donor: bool = False,
        arrived: int = 0,
    ) -> Status:
        """Return the status that a frame or reply to a peer carries."""
        known = self.multicast.out.peers.get(peer)
        consumed = self.multicast.consumed.get(peer, 0)
        serials = self.serials
        return Status(
            view=self._view.number,
            held=self.multicast.held(peer),
            consumed=consumed,
            stable=self.multicast.out.stable,
            sent=known.cursor if known else 0,
            safe=self.multicast.safe if self._safe else 0,
            ordered=serials.held if serials else 0,
            agreed=serials.agreed if serials else 0,
            cut_off=bool(serials and serials.cut_off),
            reaches=bool(serials and serials.reaches),
            wedged=self.multicast.wedged,
            leaving=leaving,
            suspects=suspects,
            partial=self.multicast.partial(peer) if self.multicast.assemblies.open else 0,
            receipt=receipt,
            state=state,
            needs_donor=needs_donor,
            unheard=unheard or NO_MISSES,
            arrived=arrived,
        )

    def on_told(self, peer: Process, consumed: int) -> None:
        """Record that a peer is told how far its messages were consumed."""
        # Only for a member of the view: a status for a stranger tells nobody, and the next one would wait for
        # a quarter of a window again.
        if peer in self.multicast.out.peers:
            self._credit_untold[peer] = (consumed, 0)

    def extent(self, instance: InstanceId) -> Extent:
        """Return how far this process has got: to this view, with so many messages; of its own what a majority has."""
        # 1. C is cut off from A and B, and D later. 2. What C sends meanwhile, and delivers, is confirmed to nobody: it
        # must not count for more than what D was still sent.
        held = {peer: known.held for peer, known in self.multicast.out.peers.items()}
        mine = min(self.delivered, held_by_majority(self._view, {**held, self.process: self.delivered}))
        others = sum(self._highest.get(member, 0) for member in self._view.members)
        return rank(instance, self._view.number), mine + others

    @property
    def unconfirmed(self) -> tuple[int, int] | None:
        """The first and last of this process's messages that some member may not hold, with all that it needs."""
        confirmed, number = self.holders.held_by_all, self.multicast.out.number
        return (confirmed + 1, number) if confirmed < number else None

    @property
    def waits_for(self) -> str:
        """The reason why nothing can be numbered now, in words; empty if it can."""
        if not self._view.started:
            return "the static group to have all its members"
        if self.multicast.wedged:
            return "a view change"
        out = self.multicast.out
        if out.flow.opens_for(len(self.unsent)):
            return ""
        consumed = {self.process: out.self_consumed, **{peer: known.consumed for peer, known in out.peers.items()}}
        slowest = min(consumed, key=lambda peer: consumed[peer])
        if slowest == self.process:
            return "this process to read its own deliveries"
        return f"{slowest} to read its deliveries"
