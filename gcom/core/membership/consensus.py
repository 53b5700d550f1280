"""Consensus on the next view and on the cut of the old one (ARCHITECTURE 8; docs/protocols/view_change.md).

Single-decree Paxos (Lamport 2001) whose acceptors are the members of the view that is left and whose ballots are
(attempt, proposer's rank). PREPARE wedges a member; its PROMISE says what it holds. The proposer's value is the highest
accepted one, verbatim, or else the union of what the promises hold. A member accepts (CUT_OK) when it holds every
payload of the cut, so each member that reports an accepted value can supply it. INSTALL follows CUT_OK from a quorum
and from every participant that the proposer does not suspect.

Where no quorum of the view can be again, since the others are proven dead, its `survivors` and the registry are the
acceptors, all of them: a *succession* (docs/protocols/continuity.md). The registry is asked for its promise once all
survivors have given theirs, and names the processes that may be in a later view (`noted`); these must promise as well.
It accepts last, so what it has accepted is decided and outlives its proposer.

This machine decides; it stores no payload, keeps no link and watches no peer. It returns what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from enum import Enum

from gcom.core.messages import frames
from gcom.core.messages.frames import NO_BALLOT, NO_STANDING, Ballot, Control, Decision, Standing
from gcom.core.messages.witness import WitnessPromised
from gcom.core.quorum import is_half, is_quorum
from gcom.values import limits
from gcom.values.definition import TieBreaker
from gcom.values.names import Address, Process
from gcom.values.view import View

# Of each stream, in a CUT: all holders of 64 streams would not fit a frame. When these fail, any live member is asked.
HOLDERS_TOLD = 3


class ConsensusState(Enum):
    """The step that a member has reached in the change out of its view."""

    NORMAL = "normal"  # data flows
    PROMISED = "promised"  # wedged; has said what it holds
    CUTTING = "cutting"  # knows a value; some payload of its cut may be missing
    ACCEPTED = "accepted"  # holds the cut and has said so


# Every state and what may follow it. A higher ballot takes any state back to PROMISED, an INSTALL to NORMAL.
TRANSITIONS: dict[ConsensusState, tuple[ConsensusState, ...]] = {
    ConsensusState.NORMAL: (ConsensusState.NORMAL, ConsensusState.PROMISED),
    ConsensusState.PROMISED: (ConsensusState.NORMAL, ConsensusState.PROMISED, ConsensusState.CUTTING),
    ConsensusState.CUTTING: (
        ConsensusState.NORMAL,
        ConsensusState.PROMISED,
        ConsensusState.CUTTING,
        ConsensusState.ACCEPTED,
    ),
    ConsensusState.ACCEPTED: (ConsensusState.NORMAL, ConsensusState.PROMISED),
}


@dataclass(frozen=True, slots=True)
class Say:
    """Put a control item to a member."""

    to: Process
    item: Control


@dataclass(frozen=True, slots=True)
class Wedge:
    """A promise was made: store nothing new of the view."""


@dataclass(frozen=True, slots=True)
class StartFlush:
    """A value is recorded: get its cut's payloads, then call `complete`."""

    decision: Decision
    holders: dict[Process, tuple[Process, ...]]


@dataclass(frozen=True, slots=True)
class AskWitness:
    """Have the registry promise to a ballot or, with a decision, accept it."""

    ballot: Ballot
    decision: Decision | None
    succession: bool = False


Out = Say | Wedge | StartFlush | AskWitness


@dataclass(slots=True)
class _Proposal:
    ballot: Ballot
    promises: dict[Process, frames.Promise]  # once a value is chosen: those whose union it is
    succession: bool = False
    decision: Decision | None = None  # none while promises are collected
    accepted_by: set[Process] = field(default_factory=set)
    asked_ms: int = 0  # what was put last; repeated after RESEND_MS
    witness_promised: bool = False
    witness_asked_ms: int | None = None  # when it was asked; None: nothing is unanswered
    noted: dict[Process, Address] = field(default_factory=dict)  # may be in a later view, and have not promised yet


class Consensus:
    """A member's acceptor, and its proposer while it has an attempt. `promised` only grows within a view."""

    def __init__(self, process: Process, tie_breaker: TieBreaker = TieBreaker.LEADER) -> None:
        self.process = process
        self._tie_breaker = tie_breaker
        self.state = ConsensusState.NORMAL
        # A ballot's second part is the proposer's rank in this view: two proposers never share a ballot, or both could
        # get a quorum for different values.
        self.promised: Ballot = NO_BALLOT
        self._view: View | None = None
        self._accepted: tuple[Ballot, Decision | None] = (NO_BALLOT, None)
        self._recorded: Decision | None = None  # under the ballot promised last; its payloads are perhaps not here yet
        self._proposal: _Proposal | None = None
        self._attempt_seen = 0  # the highest attempt of any ballot met, a NACK's too
        self.survivors: frozenset[Process] | None = None  # who must agree, where no quorum of the view can be again
        self.fenced = False  # promised to a succession: what the dead may have decided is void

    @property
    def view(self) -> View:
        assert self._view is not None, "only a member changes its view"
        return self._view

    def believes(self, source: Process, decision: Decision) -> bool:
        """Return whether an INSTALL from a stranger counts: the stranger is noted, or its value is accepted here."""
        return source in self.noted or self._accepted[1] == decision

    @property
    def gone(self) -> dict[Process, str]:
        """Return the processes proven dead, by the succession that this process has accepted."""
        # Not only what this process could prove by itself: a kernel speaks
        # of its own host alone, and the proposer may have been on another.
        made = self._accepted[1].succession if self._accepted[1] else None
        return made.gone if made else {}

    @property
    def proposing(self) -> bool:
        return self._proposal is not None

    @property
    def proposer(self) -> Process:
        """Return the member that has the ballot promised last."""
        return self.view.members[self.promised[1]]

    def install(self, view: View) -> None:
        """Begin a view."""
        self._view = view
        # Paxos state is per view. The number of the view fences whatever is still on its way out of the old one.
        self.promised, self._accepted = NO_BALLOT, (NO_BALLOT, None)
        self._recorded, self._proposal, self._attempt_seen = None, None, 0
        # The fence goes as well: an INSTALL of the view that is left is refused by its number from now on.
        self.survivors, self.fenced = None, False
        self._become(ConsensusState.NORMAL)

    def _become(self, state: ConsensusState) -> None:
        assert state in TRANSITIONS[self.state], f"{self.state} to {state}"
        self.state = state

    # the proposer

    def propose(
        self,
        held: dict[Process, int],
        ask: Iterable[Process],
        now_ms: int,
        standing: Standing = NO_STANDING,
        agreed: int = 0,
    ) -> list[Out]:
        """Begin an attempt with a ballot above every one seen. Wedges this process, too: it is the first to promise."""
        # Above every attempt met, a NACK's too: an acceptor that has promised more refuses, and each try costs a round.
        self._attempt_seen = max(self._attempt_seen, self.promised[0]) + 1
        ballot, succession = (self._attempt_seen, self.view.rank(self.process)), self.survivors is not None
        mine = self._promise(ballot, held, standing, agreed, succession)
        self._proposal = _Proposal(ballot, {self.process: mine}, succession, asked_ms=now_ms)
        return [Wedge(), *[Say(peer, frames.Prepare(self.view.number, ballot, succession)) for peer in ask]]

    def on_promise(self, source: Process, promise: frames.Promise) -> None:
        proposal = self._proposal
        if proposal is None or promise.ballot != proposal.ballot:
            return
        # It promised, so it is in no later view and will not go into one: the succession no longer waits for it.
        proposal.noted.pop(source, None)
        # A promise that comes when the value is chosen is not in the union. Its maker may have delivered more
        # than the cut, so it must not be asked to accept; it is told INSTALL, and ends if the cut leaves out
        # what it has (`within`).
        if proposal.decision is None and source in self.view.members:
            proposal.promises[source] = promise

    def promises(self, live: set[Process], spared: Set[Process] = frozenset()) -> dict[Process, frames.Promise] | None:
        """Return the promises of the live members, once all of them and a quorum have given theirs and no value is
        chosen.

        None: not yet. The promises of `spared` members, which are to go, are used if they came, but not waited for.
        """
        proposal = self._proposal
        if proposal is None or proposal.decision is not None:
            return None
        # A promise of a member that died since is left out of the union. 1. D promises, and alone holds m. 2. D dies.
        # 3. With m in the cut, all would fetch m for ever (found by simulation: a newcomer died so).
        given = {peer: promise for peer, promise in proposal.promises.items() if peer in live}
        if not live - spared <= set(given) or not self._may_choose(proposal, set(given)):
            return None
        proposal.promises = given
        return given

    def _may_choose(self, proposal: _Proposal, given: set[Process]) -> bool:
        if self.survivors is None:
            return self._is_quorum(given, proposal.witness_promised)
        # A majority is not enough: a silent survivor, or a noted joiner, may be all there is of a later view.
        return self.survivors <= given and proposal.witness_promised and not proposal.noted

    def decide(self, fresh: Decision) -> list[Out]:
        """Choose the value: the highest accepted among the promises, else `fresh`; put it to all who promised."""
        proposal = self._proposal
        assert proposal is not None, "only a proposer decides"
        assert proposal.decision is None, "a value is chosen once an attempt"
        # Lamport 2001: a value that a quorum accepted is among any quorum's promises, and the highest ballot has it.
        best = max(proposal.promises.values(), key=lambda promise: promise.accepted_ballot)
        # A succession always takes `fresh`. 1. Of A, B and C, C accepts a value; A and B decide another one, and die.
        # 2. Neither is in force: no survivor has installed one, and all promised to install none. 3. To go on with C's
        # would give view numbers and serials a second time that A and B may have used.
        proposal.decision = fresh if proposal.succession else best.accepted or fresh
        cut = self._cut(proposal, proposal.decision)
        self._record(cut)
        # To nobody else: a member that did not promise in this ballot would refuse it, and one that promised and is
        # not in the union may hold more than the cut.
        others = [peer for peer in proposal.promises if peer != self.process]
        return [*[Say(peer, cut) for peer in others], StartFlush(cut.decision, cut.holders)]

    def _cut(self, proposal: _Proposal, decision: Decision) -> frames.Cut:
        holders = {sender: self._holders(proposal, sender, last) for sender, last in decision.cut.items()}
        return frames.Cut(self.view.number, proposal.ballot, decision, holders)

    def _holders(self, proposal: _Proposal, sender: Process, last: int) -> tuple[Process, ...]:
        """Return some members that hold a stream up to its cut, its sender first."""
        found = [peer for peer, promise in proposal.promises.items() if promise.held.get(sender, 0) >= last]
        return tuple(sorted(found, key=lambda peer: peer != sender)[:HOLDERS_TOLD])

    def on_cut_ok(self, source: Process, ok: frames.CutOk) -> None:
        # CUT_OK of an older attempt says nothing of this one's value.
        if self._proposal and self._proposal.decision and ok.ballot == self._proposal.ballot:
            self._proposal.accepted_by.add(source)

    def decided(self, live: set[Process]) -> Decision | None:
        """Return the value, once a quorum and every live participant have accepted it."""
        proposal = self._proposal
        if proposal is None or proposal.decision is None or self.survivors is not None:
            # The registry accepts a succession last, and its answer says that it is decided.
            return None
        # More than Paxos needs. A live participant that has not accepted still fetches; an INSTALL now would make it
        # fetch from members that have gone on.
        participants = live & set(proposal.promises)
        done = participants <= proposal.accepted_by and self._is_quorum(proposal.accepted_by)
        return proposal.decision if done else None

    def _is_quorum(self, members: set[Process], witness: bool = False) -> bool:
        return is_quorum(self.view, members, self._tie_breaker, witness)

    # the witness of a tie

    def ask_witness(self, live: set[Process], now_ms: int, spared: Set[Process] = frozenset()) -> list[Out]:
        """Ask the registry for its vote, once exactly half of the view has promised, or accepted, and no other member
        can.

        The registry is asked to accept last.
        """
        proposal = self._proposal
        if self.survivors is not None:
            return self._ask_successor(self.survivors, now_ms)
        if proposal is None or self._tie_breaker is not TieBreaker.REGISTRY:
            return []
        # The registry stores no payload. If it could vote before its half accepted, one more death would leave a
        # decided cut of which only the registry knows (docs/protocols/netsplit.md, "Quorum and tie").
        if proposal.decision is None:
            # A spared member that has not promised does not vote, so it is no part of the half that asks for the
            # registry's vote.
            voting = live - (spared - set(proposal.promises))
            waits = voting <= set(proposal.promises) and is_half(self.view, voting) and not proposal.witness_promised
        else:
            waits = live & set(proposal.promises) <= proposal.accepted_by and is_half(self.view, proposal.accepted_by)
        return self._ask_again(proposal, proposal.decision, now_ms) if waits else []

    def _ask_successor(self, survivors: frozenset[Process], now_ms: int) -> list[Out]:
        """Ask the registry for its promise, then, last of all, to accept."""
        proposal = self._proposal
        if proposal is None or not survivors <= set(proposal.promises):
            return []
        # Not `decision is None`: a value may have been chosen while a quorum still lived. The registry's promise comes
        # before all else of a succession, since it names who is noted.
        if not proposal.witness_promised:
            return self._ask_again(proposal, None, now_ms, succession=True)
        if proposal.decision is None or proposal.noted or not survivors <= proposal.accepted_by:
            return []
        return self._ask_again(proposal, proposal.decision, now_ms, succession=True)

    def _ask_again(
        self, proposal: _Proposal, decision: Decision | None, now_ms: int, succession: bool = False
    ) -> list[Out]:
        # Not with each step: a registry that hangs would find hundreds of the same question when it goes on.
        asked_ms = proposal.witness_asked_ms
        if asked_ms is not None and now_ms - asked_ms < limits.WITNESS_RETRY_MS:
            return []
        proposal.witness_asked_ms = now_ms
        return [AskWitness(proposal.ballot, decision, succession)]

    def on_witness(self, promised: WitnessPromised) -> None:
        """Take the registry's promise. Processes that it has noted and that are no members may be in a later view."""
        proposal = self._proposal
        # The first answer only: a copy that comes late would bring
        # back those who have promised, or were struck off, since.
        if proposal and promised.ballot == proposal.ballot and not proposal.witness_promised:
            # 1. C is paused. 2. A and B install view 6 with D, and die before they register it. 3. C wakes. Only this
            # note tells C of D, which must promise before C begins a successor beside the living view 6
            # (docs/protocols/continuity.md, story 6).
            proposal.witness_promised, proposal.witness_asked_ms = True, None
            proposal.noted = {who: at for who, at in promised.noted if who not in self.view.members}

    @property
    def noted(self) -> dict[Process, Address]:
        """The processes that are no members, and must promise as well or be proven dead."""
        return self._proposal.noted if self._proposal else {}

    def strike_off(self, noted: Process) -> None:
        """Wait no longer for a process that the registry noted: it will never be in a later view."""
        if self._proposal:
            self._proposal.noted.pop(noted, None)

    @property
    def prepare(self) -> frames.Prepare | None:
        """The question of the attempt that is under way."""
        proposal = self._proposal
        return frames.Prepare(self.view.number, proposal.ballot, proposal.succession) if proposal else None

    @property
    def ballot(self) -> Ballot:
        """The ballot of this process's own attempt; else the one that it promised last."""
        return self._proposal.ballot if self._proposal else self.promised

    def is_stale(self, live: set[Process]) -> bool:
        """Return whether this attempt cannot end, so that another one must begin."""
        proposal = self._proposal
        # So many died, by proof, since it began that a quorum of the view can never be again.
        if proposal and self.survivors is not None and not proposal.succession:
            return True
        # A participant died with the value undecided: perhaps it alone held a part of the cut.
        return proposal is not None and proposal.decision is not None and not set(proposal.promises) <= live

    @property
    def spent(self) -> bool:
        """Return whether no ballot is left above every one seen."""
        # An honest proposer needs one attempt per failure; 2^31 of them mean that some member lied.
        return max(self._attempt_seen, self.promised[0]) >= limits.ATTEMPT_MAX

    def on_nack(self, promised: Ballot) -> bool:
        """Record a higher promise of another acceptor; return whether that ends the attempt that is under way."""
        # A late NACK for an attempt that this process has given up already.
        if self._proposal is None or promised <= self._proposal.ballot:
            return False
        # The next attempt begins above it, or it would be refused as well.
        self._attempt_seen = max(self._attempt_seen, promised[0])
        self._proposal = None
        return True

    def ask_again(self, live: Iterable[Process], now_ms: int) -> list[Out]:
        """Return what to put again to live members that have not answered for RESEND_MS."""
        proposal = self._proposal
        # Links repeat what a failed call carried, but no reply: a PROMISE or CUT_OK may be lost.
        if proposal is None or now_ms - proposal.asked_ms < limits.RESEND_MS:
            return []
        # To those alone that have not answered: a full CUT has up to 40 KiB, and a member that has it
        # fetches.
        proposal.asked_ms = now_ms
        if proposal.decision is None:
            prepare = frames.Prepare(self.view.number, proposal.ballot, proposal.succession)
            return [Say(peer, prepare) for peer in live if peer not in proposal.promises]
        cut = self._cut(proposal, proposal.decision)
        return [Say(peer, cut) for peer in live if peer in proposal.promises and peer not in proposal.accepted_by]

    # every member

    def on_prepare(
        self,
        source: Process,
        ballot: Ballot,
        permitted: bool,
        held: dict[Process, int],
        standing: Standing = NO_STANDING,
        agreed: int = 0,
        succession: bool = False,
    ) -> list[Out]:
        """Promise to the highest ballot seen, if the proposer is `permitted`; answer an equal one again."""
        # The rank in a ballot must be the source's own, or two proposers could share a ballot.
        if ballot[1] != self.view.rank(source):
            return []
        # A proposer behind is told how high to go; silence would cost it RESEND_MS per attempt.
        if ballot < self.promised:
            return [Say(source, frames.Nack(self.view.number, self.promised))]
        # No NACK here: a suspicion that this member lacks may come with the next status, and the question is put again.
        if not permitted:
            return []
        if ballot == self.promised and self.state is not ConsensusState.PROMISED:
            # Already past the promise in this very ballot: to promise again would forget the value recorded under it.
            return []
        self._give_way(ballot)
        return [Wedge(), Say(source, self._promise(ballot, held, standing, agreed, succession))]

    def on_cut(self, source: Process, cut: frames.Cut) -> list[Out]:
        """Record the value of the very ballot that was promised."""
        if cut.ballot < self.promised and cut.ballot[1] == self.view.rank(source):
            return [Say(source, frames.Nack(self.view.number, self.promised))]
        # Stricter than Paxos, which accepts any ballot not below the promise. 1. B delivers m. 2. A's union is without
        # B's promise, and so without m. 3. If B accepted, it would count as one that agrees with a cut without m.
        if self.state is ConsensusState.NORMAL or cut.ballot != self.promised or source != self.proposer:
            return []
        # The proposer asks again because the first CUT_OK was lost with a reply.
        if self.state is ConsensusState.ACCEPTED:
            return [Say(source, frames.CutOk(self.view.number, cut.ballot))]
        self._record(cut)
        return [StartFlush(cut.decision, cut.holders)]

    def complete(self) -> list[Out]:
        """Accept: every payload of the recorded cut is here."""
        assert self._recorded is not None, "only a recorded value is accepted"
        self._become(ConsensusState.ACCEPTED)
        # What is accepted is reported in every later PROMISE, and its payloads are here for whoever asks.
        self._accepted = (self.promised, self._recorded)
        if self._proposal and self._proposal.ballot == self.promised:
            self._proposal.accepted_by.add(self.process)
            return []
        return [Say(self.proposer, frames.CutOk(self.view.number, self.promised))]

    def _promise(
        self, ballot: Ballot, held: dict[Process, int], standing: Standing, agreed: int, succession: bool
    ) -> frames.Promise:
        assert ballot >= self.promised, "a promise never goes back"
        self.promised = ballot
        # From now on an INSTALL of the dead is void (docs/protocols/continuity.md, stories 2 and 3).
        self.fenced |= succession
        # A value recorded under a lower ballot, and not accepted, binds nothing: its payloads may be out of reach.
        self._recorded = None
        self._become(ConsensusState.PROMISED)
        return frames.Promise(self.view.number, ballot, held, *self._accepted, standing, agreed)

    def _give_way(self, ballot: Ballot) -> None:
        """End this process's own attempt if a higher ballot has come."""
        if self._proposal and ballot > self._proposal.ballot:
            self._proposal = None

    def _record(self, cut: frames.Cut) -> None:
        assert cut.ballot == self.promised, "only what was promised is recorded"
        self._recorded = cut.decision
        self._become(ConsensusState.CUTTING)
