"""The transfer of the application's state to a joiner: its way there (docs/protocols/state.md).

Birman and Joseph 1987: a view is a barrier in the stream of messages. A process that begins there is given the state
that a member's application has at the barrier. With the messages after it, it has that member's history. The decision
of a view names the donors; a donor's chunks go one per call, and every status says how many the joiner holds.

This machine keeps no link and calls no application. It returns what to do.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace

from gcom.core.messages.effects import AwaitState, KeepState, SetState, StateUnavailable, TakeState
from gcom.core.messages.effects import OfState as Effect
from gcom.core.messages.frames import (
    Decision,
    Keeping,
    Source,
    Standing,
    StateChunk,
    StateItem,
    StateRefused,
)
from gcom.values import limits, lineage
from gcom.values.lineage import NO_EXTENT, Extent
from gcom.values.names import InstanceId, Process

NO_DONOR = "no member has it"  # the reason of a loss in which no donor has failed

# Every standing, and what may follow it.
STANDINGS: dict[Keeping, tuple[Keeping, ...]] = {
    Keeping.NOTHING: (),
    Keeping.LATER: (Keeping.WHOLE,),
    Keeping.AWAITED: (Keeping.NOTHING, Keeping.LATER, Keeping.WHOLE),
    Keeping.WHOLE: (),
}


@dataclass(slots=True)
class _Share:
    """The progress of one joiner; sent is held, or held + 1."""

    held: int = 0
    sent: int = 0
    sent_ms: int = 0
    had_turn: bool = False  # the last frame had a chunk


@dataclass(slots=True)
class _Offer:
    """The state at one barrier, or why there is none, once the application was asked: until each of `shares` has it."""

    shares: dict[Process, _Share]
    data: bytes | None = None
    error: str = ""

    @property
    def count(self) -> int:
        """The number of chunks; a state without bytes has one, too."""
        return max(1, -(-len(self.data or b"") // limits.STATE_CHUNK_BYTES))

    def item(self, view: int, index: int, since: int) -> StateItem:
        if self.error:
            return StateRefused(view, self.error)
        first = (index - 1) * limits.STATE_CHUNK_BYTES
        data = (self.data or b"")[first : first + limits.STATE_CHUNK_BYTES]
        return StateChunk(view, index, self.count, data, since)


@dataclass(frozen=True, slots=True)
class OwnState:
    """An application's state from an ended session in `instance`; complete from the view ranked `since` on.

    `reach` is how far it goes.
    """

    instance: InstanceId
    since: int
    reach: Extent = NO_EXTENT


@dataclass(slots=True)
class _IncomingState:
    """A state on its way here."""

    source: Source
    since_ms: int  # of the last that came
    count: int = 0  # known with the first chunk, as `since` is
    since: int = 0
    chunks: list[bytes] = field(default_factory=list)

    @property
    def donor(self) -> Process:
        return self.source[0]

    @property
    def complete(self) -> bool:
        return 0 < self.count == len(self.chunks)


class Transfer:
    """A member's part, as donor and as joiner. `gives`, `takes`: its application has callbacks for it.

    `lacking`: it never got the state in its former session. `own` is what it has from that one, or from one before.
    """

    def __init__(
        self, process: Process, gives: bool, takes: bool, lacking: bool = False, own: OwnState | None = None
    ) -> None:
        self.process = process
        self.takes = takes
        self.keeping = Keeping.AWAITED if takes else Keeping.LATER if gives else Keeping.NOTHING
        self._gives = gives
        self._lacking = lacking
        self._own = own
        self._instance: InstanceId = ""
        # The rank of the view since which the state is whole; 0: from the beginning.
        # 1. A, which alone has the state, dies while Z joins. 2. Z is told that the state is lost, and goes on. 3. B,
        # which was put out and is asleep, comes back with all that A had. If Z's state did not say since when it is
        # whole, it would take the place of B's, and nobody would be told.
        self._since = 0
        self._view = 0
        self._delivered = 0  # messages, when the session ended
        self._some_wait = False  # in this view, when it began
        self._wedged_ms: int | None = None  # since when a change out of this view was promised
        self._incoming: _IncomingState | None = None
        self._failed: dict[Process, str] = {}  # donors, in order, and why
        self._got: tuple[Process, int] | None = None  # the donor whose state is complete here, and its number of chunks
        self._offers: dict[int, _Offer] = {}  # by the view of the barrier
        self.owes = False  # a joiner has this process for its source: there is an offer
        self._ticked_ms = 0

    def _become(self, keeping: Keeping) -> None:
        assert keeping in STANDINGS[self.keeping], f"{self.keeping!r} to {keeping!r}"
        self.keeping = keeping

    def _become_whole(self) -> None:
        self._become(Keeping.WHOLE if self._gives else Keeping.NOTHING)

    def found(self, instance: InstanceId, beside: bool = False, merging: bool = False) -> list[Effect]:
        """Begin as the first of an instance: what this process has is the state, if it does not still wait for one.

        `beside`: another that is on its way back may have what this one lacks. `merging`: the instance is one side's.
        """
        self._instance = instance
        self._view = 1
        # It comes back from an instance in which it still waited: that instance died with its state.
        if self.lacking:
            # A side carries on no instance, and has nothing but what its first has: the rest comes by the merge.
            has_own = self._own is not None if merging else self.own_in(instance) > NO_EXTENT
            return self._restore(1) if has_own else self._lose(1)
        # 1. C and D are put out of one view. 2. C has more of A's messages, D of B's; A and B die. 3. C begins. Its
        # state is whole only from here on: so D's application is handed its own, and can bring in what is missing.
        if beside and self.own_in(instance) > NO_EXTENT:
            return self._restore(1)
        # A state that began anew does so in a successor, too. Of another lineage ranks say nothing: there it is whole.
        if self._own and lineage.origin_of(self._own.instance) == lineage.origin_of(instance):
            self._since = self._own.since
        # 1. An operator gives up B, and C succeeds. 2. C dies. 3. Z, which is new, begins. 4. B comes back with
        # what both had. Z's state has nothing of it, so B's application is handed its own.
        if not self._own and lineage.generation(instance):
            self._since = lineage.rank(instance, 1)
        if self.keeping is not Keeping.NOTHING:
            self._become_whole()
        # It was put out, and what came meanwhile is lost with those who had it. A side waits for the others' states.
        return [KeepState(1, self._why_lost, has_all=True)] if self._own and not merging else []

    def _lose(self, view: int) -> list[Effect]:
        self._incoming = None
        self._since = self._since or lineage.rank(self._instance, view)
        self._become(Keeping.LATER if self._gives else Keeping.NOTHING)
        return [StateUnavailable(view, self._why_lost, self._own is not None)]

    def _restore(self, view: int) -> list[Effect]:
        """Take this process's own state as the group's from here on."""
        # As after a loss: a process that comes back later may have what this one missed while it was out, and one that
        # waits may hold it. What came since it is in again it has, as it waited for the state.
        self._since = (self.lacking and self._since) or lineage.rank(self._instance, view)
        self._incoming = None
        self._become_whole()
        return [KeepState(view, self._why_lost)]

    def inherit(self, former: Transfer, instance: InstanceId) -> None:
        """Enter the instance that succeeds this process's own, with the state as it was there."""
        self.keeping, self._lacking, self._since = former.keeping, former._lacking, former._since
        # Of this instance, also where that was begun anew: that is said to those who were given up.
        self._own = former._own and replace(former._own, instance=instance)
        self._failed = dict(former._failed)  # or a loss in the first view would be told without its reasons

    @property
    def own(self) -> OwnState | None:
        """The state that the application has, for the session after this one; None: it has none, or cannot show it."""
        if not self._gives or self.keeping is Keeping.AWAITED:
            return self._own
        return OwnState(self._instance, self._since, (lineage.rank(self._instance, self._view), self._delivered))

    def reached(self, seen: Extent) -> Extent:
        """Return how far the application's state goes, where its process saw as far as `seen`."""
        # 1. B and C are put out. 2. C, which was in later, comes back, and goes again before it is given the state.
        # 3. A, which had it, dies. If the views that C saw counted, it would begin with less than B has.
        if not self.lacking:
            return seen
        return self._own.reach if self._own else NO_EXTENT

    def own_in(self, instance: InstanceId) -> Extent:
        """Return how far its own state goes; NO_EXTENT: it has none, or none that `instance` carries on."""
        own = self._own
        return own.reach if own and lineage.carries_on(instance, own.instance) else NO_EXTENT

    def enter(self, decision: Decision, now_ms: int, instance: InstanceId) -> list[Effect]:
        """Begin as a member that was let in."""
        self._instance = instance
        # A member that takes no state, or is given none, has what it sees from this view on.
        if self.keeping in (Keeping.LATER, Keeping.AWAITED) and not self._since:
            self._since = lineage.rank(instance, decision.view.number)
        # In an instance that has nothing of its own the application was handed its state as it entered.
        if self._own and not lineage.carries_on(instance, self._own.instance):
            self._own = None
        effects = self.install(decision, now_ms)
        return [AwaitState(), *effects] if self.keeping is Keeping.AWAITED else effects

    @property
    def standing(self) -> Standing:
        """The standing that a promise reports; true until the next install."""
        if self._incoming is None:
            return Standing(self.keeping)
        return Standing(self.keeping, self._incoming.source, tuple(self._failed), self.own_in(self._instance))

    def wedge(self, now_ms: int) -> None:
        """Keep the standing as it is until the install: a promise to a view change was made."""
        if self._wedged_ms is None:
            self._wedged_ms = now_ms

    def is_stranded(self, now_ms: int, after_ms: int) -> bool:
        """Return whether the view change may wait for a process that alone has the state (`Triggers.owed_state`)."""
        # Only who proposes knows that; who promised to it sees that the change takes longer than any should.
        has_none = self.keeping is Keeping.AWAITED or (self.keeping is Keeping.NOTHING and self._some_wait)
        return has_none and self._wedged_ms is not None and now_ms - self._wedged_ms >= after_ms

    def install(self, decision: Decision, now_ms: int) -> list[Effect]:
        """Begin a view; return what comes before it in the application's queue."""
        self._wedged_ms, self._some_wait = None, bool(decision.sources)
        self._view = number = decision.view.number
        effects = self._install_wanted(decision.sources.get(self.process), number, now_ms)
        for view, offer in list(self._offers.items()):
            told = {
                peer: share
                for peer, share in offer.shares.items()
                # The decision is the only word on who waits for whom: a joiner that was given another donor takes no
                # chunk of this one.
                if decision.sources.get(peer) == (self.process, view)
            }
            self._keep(view, told)
        # Asked anew at this barrier. The queue is the barrier: get_state runs behind all messages of the old view and
        # before any of this one, so queued and unread messages make no difference.
        asking = [
            who
            for who, source in decision.sources.items()
            if source == (self.process, number) and who != self.process  # which goes on with what it has
        ]
        # By the decision alone it becomes whole: all others read the same one, and hold it for a donor from
        # now on.
        if asking:
            self._offers[number] = offer = _Offer({who: _Share() for who in asking})
            self.owes = True
            if self.keeping is Keeping.LATER:
                self._become_whole()
            if self.keeping is Keeping.WHOLE:
                effects.append(TakeState(number))
            # It had waited longest, and its application gives none: no promise says that.
            else:
                offer.error = "it keeps no state that it can give"
        return effects

    def _keep(self, view: int, shares: dict[Process, _Share]) -> None:
        """Keep an offer for these joiners only; drop it where none is left."""
        if shares:
            self._offers[view].shares = shares
        else:
            del self._offers[view]
            self.owes = bool(self._offers)

    def succeed(self, decision: Decision) -> list[Effect]:
        """Go over into a successor, with the state if all of it has come since the promise, and nobody else has it."""
        source = decision.sources.get(self.process)
        if source is None or source[0] != self.process:
            return []
        self._wedged_ms = None
        return self._complete()

    def end(self, extent: Extent) -> None:
        """End the session at the extent that the process has reached. Members that wait for its state get another's."""
        _, self._delivered = extent
        # Before what it waited for is dropped: the session after this one has to know that it never came.
        self._lacking = self.lacking
        self._incoming = None
        self._offers.clear()
        self.owes = False

    # the joiner

    def _install_wanted(self, source: Source | None, number: int, now_ms: int) -> list[Effect]:
        if self.keeping is not Keeping.AWAITED:
            return []
        # Every donor has failed it, or nobody keeps a state. What came since it entered is handed over: 1. B waits for
        # A. 2. m is confirmed, since A and B hold it. 3. A is too slow, and B goes on. 4. A dies. B still has m.
        if source is None:
            return self._lose(number)
        # No member has it. The one that has waited longest goes on with all that came since it
        # entered, and all others who wait are given that: so they begin anew together, and equal.
        if source[0] == self.process:
            # The last chunk came after its promise: so it is not lost.
            if self._incoming and self._incoming.complete:
                return self._complete()
            own = self.own_in(self._instance) > NO_EXTENT
            return self._restore(number) if own else self._lose(number)
        # Another donor, or the same one at a later barrier: chunks of two states do not join, so it begins
        # with the first.
        if self._incoming is None or self._incoming.source != source:
            self._incoming = _IncomingState(source, now_ms)
        # The time of a view change is nobody's silence: donor and joiner were both wedged.
        self._incoming.since_ms = now_ms
        return self._complete()

    @property
    def _why_lost(self) -> str:
        whys = [f"{donor}: {why}" for donor, why in self._failed.items()]
        return "; ".join(whys) if whys else NO_DONOR

    @property
    def lacking(self) -> bool:
        """Return whether the application has no state, and waits for it."""
        return self.keeping is Keeping.AWAITED and (self._incoming is not None or self._lacking)

    @property
    def donor(self) -> Process | None:
        """The donor whose state is on its way here."""
        return self._incoming.donor if self._incoming else None

    @property
    def needs_donor(self) -> bool:
        """Return whether the donor has failed, so that the next view has to name another."""
        return self._incoming is not None and self._incoming.donor in self._failed

    def held(self, peer: Process) -> int:
        """Return how many chunks of the peer's state are here, for a status."""
        if self._incoming and self._incoming.donor == peer:
            return len(self._incoming.chunks)
        # The donor has not heard that all are here before this process says so once more.
        return self._got[1] if self._got and self._got[0] == peer else 0

    def on_chunk(self, source: Process, chunk: StateChunk, now_ms: int) -> list[Effect]:
        wanted = self._incoming
        if wanted is None or wanted.source != (source, chunk.view) or chunk.index != len(wanted.chunks) + 1:
            return []
        # A donor's numbers never change; others are a mistake, and the chunks would not join.
        if wanted.count and (wanted.count, wanted.since) != (chunk.count, chunk.since):
            return []
        wanted.count, wanted.since = chunk.count, chunk.since
        wanted.chunks.append(chunk.data)
        wanted.since_ms = now_ms
        return self._complete()

    def on_refused(self, source: Process, refused: StateRefused) -> None:
        if self._incoming and self._incoming.source == (source, refused.view):
            self._failed[source] = refused.text

    def _complete(self) -> list[Effect]:
        wanted = self._incoming
        # Not while wedged: the promise says that this process waits, and the value may call its state lost. If it had
        # set the state meanwhile, it would begin anew with more than the others.
        if wanted is None or not wanted.complete or self._wedged_ms is not None:
            return []
        self._incoming, self._got = None, (wanted.donor, wanted.count)
        self._since = wanted.since
        uncovered = self._own is not None and self._own.since < wanted.since
        self._become_whole()
        since = lineage.since_ago(self._instance, wanted.since)
        return [SetState(wanted.source[1], b"".join(wanted.chunks), wanted.donor, uncovered, since)]

    def tick(self, now_ms: int, suspects: Container[Process] = ()) -> None:
        """Give up a donor that gives nothing for STATE_MS, while it is none of the `suspects`."""
        lag_ms = now_ms - self._ticked_ms
        self._ticked_ms = now_ms
        if self._incoming is None or self.needs_donor:
            return
        # A view change may have to wait for the donor (`Triggers.owed_state`), also before anybody has promised to one,
        # as a minority does: that is not the donor's failure.
        if self._wedged_ms is not None or self._incoming.donor in suspects:
            self._incoming.since_ms = now_ms
        # Time in which this process was itself held up does not count: the donor's chunks wait in its socket.
        elif lag_ms > limits.HEARTBEAT_MS + limits.LAG_MS:
            self._incoming.since_ms = min(now_ms, self._incoming.since_ms + lag_ms)
        if now_ms - self._incoming.since_ms >= limits.STATE_MS:
            self._failed[self._incoming.donor] = f"gave nothing for {limits.STATE_MS // 1000} s"

    # the donor

    @property
    def giving(self) -> bool:
        """Return whether a joiner still has to get what the application gave."""
        return any(offer.data is not None for offer in self._offers.values())

    @property
    def gives_or_asks(self) -> bool:
        """Return whether a joiner still has to get what the application gave, or is to give."""
        return any(not offer.error for offer in self._offers.values())

    def asks(self, view: int) -> bool:
        """Return whether the application's state at a barrier is still wanted."""
        return view in self._offers

    def on_taken(self, view: int, data: bytes | None, error: str) -> None:
        """Take the application's state, or its error."""
        offer = self._offers.get(view)
        # Nobody waits for it any more: the joiner left, or has another donor by now.
        if offer is not None:
            offer.error = (error or "gave none") if data is None else self._excess(len(data))
            offer.data = None if offer.error else data

    def _excess(self, size: int) -> str:
        if size > limits.STATE_BYTES_MAX:
            return f"its state of {size:,} bytes is over the limit of {limits.STATE_BYTES_MAX:,}"
        kept = sum(len(offer.data or b"") for offer in self._offers.values())
        return f"it holds {kept:,} bytes of state for others already" if kept + size > limits.STATES_BYTES_MAX else ""

    def item_for(self, peer: Process, data_waits: bool, now_ms: int) -> StateItem | None:
        """Return the part of the state that the next frame to a peer carries; it counts as put to the peer."""
        for view, offer in self._offers.items():
            share = offer.shares.get(peer)
            # The application has not come to the barrier yet, or has not given its state: nothing is there to
            # put.
            if share is None or (offer.data is None and not offer.error):
                continue
            # Under way, or lost with a reply: put again after RESEND_MS.
            if share.sent > share.held and now_ms - share.sent_ms < limits.RESEND_MS:
                return None
            # Data and state take turns: a state of 256 MiB must not hold up the group's messages, nor they it.
            share.had_turn = not (share.had_turn and data_waits)
            if not share.had_turn:
                return None
            share.sent, share.sent_ms = share.held + 1, now_ms
            return offer.item(view, share.sent, self._since)
        return None

    def on_status(self, peer: Process, held: int, needs_donor: bool) -> None:
        """Take a joiner's count of the chunks that it holds, or its word that it needs another donor."""
        for view, offer in list(self._offers.items()):
            share = offer.shares.get(peer)
            if share is None:
                continue
            # A refusal is repeated until the joiner says `needs_donor`: a call that carried it may have been lost.
            done = needs_donor and bool(offer.error)
            if offer.data is not None:
                # One more than there are would end an offer that the joiner never had whole.
                share.held = max(share.held, min(held, offer.count))
                done = share.held == offer.count
            if done:
                self._keep(view, {who: other for who, other in offer.shares.items() if who != peer})

    def on_failed(self, peer: Process) -> None:
        """Put again what a failed call carried: it may not have arrived."""
        for offer in self._offers.values():
            if peer in offer.shares:
                offer.shares[peer].sent = offer.shares[peer].held
