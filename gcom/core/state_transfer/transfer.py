"""The application's state for one that joins: who gives it to whom, and its way there (docs/protocols/state.md).

Birman and Joseph 1987: a view is a barrier in the stream of messages, so the state that a member's application has
there, and the messages after it, are that member's history for whoever begins at the barrier. The decision of a view
names the donors; a donor's chunks go one a call, and every status says how many the joiner holds.

This machine keeps no link and calls no application. It returns what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gcom.core.messages.effects import AwaitState, SetState, StateUnavailable, TakeState
from gcom.core.messages.effects import OfState as Effect
from gcom.core.messages.frames import (
    NO_STANDING,
    Decision,
    Keeping,
    OfState,
    Source,
    Standing,
    StateChunk,
    StateRefused,
)
from gcom.values import limits
from gcom.values.names import Process

# How a member may stand, and what may follow.
STANDINGS: dict[Keeping, tuple[Keeping, ...]] = {
    Keeping.NOTHING: (),
    Keeping.LATER: (Keeping.WHOLE,),
    Keeping.AWAITED: (Keeping.NOTHING, Keeping.LATER, Keeping.WHOLE),
    Keeping.WHOLE: (),
}


def sources(
    number: int, standings: dict[Process, Standing], joiners: Iterable[Process], anew: bool = False
) -> dict[Process, Source]:
    """Whose state each member that waits is given in view `number`: of those who stay, oldest first, and of joiners.

    A donor that stays, and has not failed, is kept, unless the views are numbered `anew`. Who can be given none is its
    own source: it goes on without.
    """
    donors = [who for who, standing in standings.items() if standing.keeping is Keeping.WHOLE]
    donors = donors or [who for who, standing in standings.items() if standing.keeping is Keeping.LATER][:1]
    waiting = [who for who, standing in standings.items() if standing.keeping is Keeping.AWAITED]
    found: dict[Process, Source] = {}
    for who in [*waiting, *joiners]:
        standing = standings.get(who, NO_STANDING)
        source = standing.source
        if anew or source is None or source[0] not in standings or source[0] in standing.failed:
            source = next((donor for donor in donors if donor not in standing.failed), who), number
        found[who] = source
    return found


@dataclass(slots=True)
class _Share:
    """How far one joiner is; sent is held, or held + 1."""

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
        """Chunks; a state without bytes has one, too."""
        return max(1, -(-len(self.data or b"") // limits.STATE_CHUNK_BYTES))

    def item(self, view: int, index: int) -> OfState:
        if self.error:
            return StateRefused(view, self.error)
        first = (index - 1) * limits.STATE_CHUNK_BYTES
        return StateChunk(view, index, self.count, (self.data or b"")[first : first + limits.STATE_CHUNK_BYTES])


@dataclass(slots=True)
class _Wanted:
    """A state on its way here."""

    source: Source
    since_ms: int  # of the last that came
    count: int = 0  # known with the first chunk
    chunks: list[bytes] = field(default_factory=list)

    @property
    def donor(self) -> Process:
        return self.source[0]

    @property
    def complete(self) -> bool:
        return 0 < self.count == len(self.chunks)


class Transfer:
    """One member's part, as donor and as joiner. `gives`, `takes`: whether the application has callbacks for it.

    `lacking`: it never got the state in its former session.
    """

    def __init__(self, process: Process, gives: bool, takes: bool, lacking: bool = False) -> None:
        self.process = process
        self.takes = takes
        self.keeping = Keeping.AWAITED if takes else Keeping.LATER if gives else Keeping.NOTHING
        self._gives = gives
        self._lacking = lacking
        self._wedged = False
        self._wanted: _Wanted | None = None
        self._failed: dict[Process, str] = {}  # donors, in order, and why
        self._got: tuple[Process, int] | None = None  # whose state is complete here, and its chunks
        self._offers: dict[int, _Offer] = {}  # by the view of the barrier
        self.owes = False  # a joiner has this process for its source: there is an offer
        self._ticked_ms = 0

    def _become(self, keeping: Keeping) -> None:
        assert keeping in STANDINGS[self.keeping], f"{self.keeping!r} to {keeping!r}"
        self.keeping = keeping

    def _become_whole(self) -> None:
        self._become(Keeping.WHOLE if self._gives else Keeping.NOTHING)

    def found(self) -> list[Effect]:
        """This process is the first of its group: what it has is the state.

        One that comes back from an instance in which it still waited has none: that instance died with its state.
        """
        if self.lacking:
            return self._lose(1)
        if self.keeping is not Keeping.NOTHING:
            self._become_whole()
        return []

    def _lose(self, view: int) -> list[Effect]:
        self._wanted = None
        self._become(Keeping.LATER if self._gives else Keeping.NOTHING)
        return [StateUnavailable(view, self._why_lost)]

    def inherit(self, former: Transfer) -> None:
        """This process goes on in an instance that succeeds its own: it stands with the state as it stood there."""
        self.keeping, self._lacking = former.keeping, former._lacking

    def enter(self, decision: Decision, now_ms: int) -> list[Effect]:
        """This process is let in."""
        effects = self.install(decision, now_ms)
        return [AwaitState(), *effects] if self.keeping is Keeping.AWAITED else effects

    @property
    def standing(self) -> Standing:
        """For a promise; true until the next install."""
        if self._wanted is None:
            return Standing(self.keeping)
        return Standing(self.keeping, self._wanted.source, tuple(self._failed))

    def wedge(self) -> None:
        """A promise to a view change was made: what it says of the state stays so."""
        self._wedged = True

    def install(self, decision: Decision, now_ms: int) -> list[Effect]:
        """A view begins; what is returned comes before it in the application's queue."""
        self._wedged = False
        number = decision.view.number
        effects = self._install_wanted(decision.sources.get(self.process), number, now_ms)
        for view, offer in list(self._offers.items()):
            told = {
                peer: share
                for peer, share in offer.shares.items()
                if decision.sources.get(peer) == (self.process, view)
            }
            self._keep(view, told)
        asking = [who for who, source in decision.sources.items() if source == (self.process, number)]
        if asking and self._gives and self.keeping in (Keeping.LATER, Keeping.WHOLE) and self.process not in asking:
            if self.keeping is Keeping.LATER:
                self._become_whole()
            self._offers[number] = _Offer({who: _Share() for who in asking})
            self.owes = True
            effects.append(TakeState(number))
        return effects

    def _keep(self, view: int, shares: dict[Process, _Share]) -> None:
        """An offer is for these only; without any it is over."""
        if shares:
            self._offers[view].shares = shares
        else:
            del self._offers[view]
            self.owes = bool(self._offers)

    def end(self) -> None:
        """The session is over: whoever waits for this state is given another's."""
        self._lacking = self.lacking
        self._wanted = None
        self._offers.clear()
        self.owes = False

    # the joiner

    def _install_wanted(self, source: Source | None, number: int, now_ms: int) -> list[Effect]:
        if self.keeping is not Keeping.AWAITED:
            return []
        if source is None or source[0] == self.process:
            return self._lose(number)
        if self._wanted is None or self._wanted.source != source:
            self._wanted = _Wanted(source, now_ms)
        self._wanted.since_ms = now_ms
        return self._complete()

    @property
    def _why_lost(self) -> str:
        whys = [f"{donor}: {why}" for donor, why in self._failed.items()]
        return "; ".join(whys) if whys else "no member has it"

    @property
    def lacking(self) -> bool:
        """Whether the application has no state, and waits for it."""
        return self.keeping is Keeping.AWAITED and (self._wanted is not None or self._lacking)

    @property
    def donor(self) -> Process | None:
        """Whose state is on its way here."""
        return self._wanted.donor if self._wanted else None

    @property
    def seeking(self) -> bool:
        """Whether the donor has failed, so that the next view has to name another."""
        return self._wanted is not None and self._wanted.donor in self._failed

    def held(self, peer: Process) -> int:
        """For a status: how many chunks of the peer's state are here."""
        if self._wanted and self._wanted.donor == peer:
            return len(self._wanted.chunks)
        return self._got[1] if self._got and self._got[0] == peer else 0

    def on_chunk(self, source: Process, chunk: StateChunk, now_ms: int) -> list[Effect]:
        wanted = self._wanted
        if wanted is None or wanted.source != (source, chunk.view) or chunk.index != len(wanted.chunks) + 1:
            return []
        if wanted.count and wanted.count != chunk.count:
            return []
        wanted.count = chunk.count
        wanted.chunks.append(chunk.data)
        wanted.since_ms = now_ms
        return self._complete()

    def on_refused(self, source: Process, refused: StateRefused) -> None:
        if self._wanted and self._wanted.source == (source, refused.view):
            self._failed[source] = refused.text

    def _complete(self) -> list[Effect]:
        wanted = self._wanted
        if wanted is None or not wanted.complete or self._wedged:
            return []
        self._wanted, self._got = None, (wanted.donor, wanted.count)
        self._become_whole()
        return [SetState(wanted.source[1], b"".join(wanted.chunks), wanted.donor)]

    def tick(self, now_ms: int) -> None:
        """Give up a donor that gives nothing; time in which this process was itself held up does not count."""
        lag_ms = now_ms - self._ticked_ms
        self._ticked_ms = now_ms
        if self._wanted is None or self.seeking:
            return
        if lag_ms > limits.HEARTBEAT_MS + limits.LAG_MS:
            self._wanted.since_ms = min(now_ms, self._wanted.since_ms + lag_ms)
        if now_ms - self._wanted.since_ms >= limits.STATE_MS:
            self._failed[self._wanted.donor] = f"gave nothing for {limits.STATE_MS // 1000} s"

    # the donor

    @property
    def giving(self) -> bool:
        """Whether a joiner still has to get what the application gave."""
        return any(offer.data is not None for offer in self._offers.values())

    def asks(self, view: int) -> bool:
        """Whether the application's state at a barrier is still wanted."""
        return view in self._offers

    def on_taken(self, view: int, data: bytes | None, error: str) -> None:
        """The application gave its state, or did not."""
        offer = self._offers.get(view)
        if offer is not None:
            offer.error = (error or "gave none") if data is None else self._excess(len(data))
            offer.data = None if offer.error else data

    def _excess(self, size: int) -> str:
        if size > limits.STATE_BYTES_MAX:
            return f"its state of {size:,} bytes is over the limit of {limits.STATE_BYTES_MAX:,}"
        kept = sum(len(offer.data or b"") for offer in self._offers.values())
        return f"it holds {kept:,} bytes of state for others already" if kept + size > limits.STATES_BYTES_MAX else ""

    def item_for(self, peer: Process, data_waits: bool, now_ms: int) -> OfState | None:
        """What the next frame to a peer carries of the state; it counts as put to the peer."""
        for view, offer in self._offers.items():
            share = offer.shares.get(peer)
            if share is None or (offer.data is None and not offer.error):
                continue
            if share.sent > share.held and now_ms - share.sent_ms < limits.RESEND_MS:
                return None
            share.had_turn = not (share.had_turn and data_waits)
            if not share.had_turn:
                return None
            share.sent, share.sent_ms = share.held + 1, now_ms
            return offer.item(view, share.sent)
        return None

    def on_status(self, peer: Process, held: int, seeking: bool) -> None:
        """A peer holds so many chunks, or knows that its donor has failed."""
        for view, offer in list(self._offers.items()):
            share = offer.shares.get(peer)
            if share is None:
                continue
            done = seeking and bool(offer.error)
            if offer.data is not None:
                share.held = max(share.held, min(held, offer.count))
                done = share.held == offer.count
            if done:
                self._keep(view, {who: other for who, other in offer.shares.items() if who != peer})

    def on_failed(self, peer: Process) -> None:
        """A call to a peer failed: what it carried may not have arrived."""
        for offer in self._offers.values():
            if peer in offer.shares:
                offer.shares[peer].sent = offer.shares[peer].held
