"""Triggers of a view change: why there should be another view, who may propose it, and what (ARCHITECTURE 8, 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from gcom.core.detector.connectivity import Connectivity, as_bits, to_drop
from gcom.core.detector.suspicion import CUT_OFF, Detector
from gcom.core.membership.admission import Admission, Joiner
from gcom.core.messages.frames import LEAVES_FOR, ORDER, Decision, Keeping, Misses, Promise, Succession
from gcom.core.quorum import is_quorum
from gcom.core.state_transfer.donors import leaver_to_keep, sources
from gcom.values import names
from gcom.values.definition import Definition, Netsplit
from gcom.values.lineage import Extent, rank, successor
from gcom.values.names import Process
from gcom.values.view import View


def is_started(definition: Definition, members: tuple[Process, ...], before: bool) -> bool:
    """Return whether a group has started: a static one starts when all its names are in, and then stays started.

    `before`: it had started in the view before, or in the instance that this one goes on from.
    """
    return before or set(definition.static) <= {names.name_of(member) for member in members}


class Triggers:
    """The reasons for a change of the view that this process knows.

    They are suspects, members to drop for links that fail, leavers, joiners, wedged members, members that wait for
    state which their donor cannot give, states that were brought, and another place for the sequencer. `wedged`: a
    member has promised to a change that this process may know nothing of.
    """

    def __init__(self, process: Process, definition: Definition, instance: str, view: View) -> None:
        self.instance = instance
        self.detector = Detector(process, definition.tie_breaker, definition.detection)
        self._connectivity = Connectivity(definition.detection)
        self.unheard: Misses = {}  # which member misses which, as this process can say
        self.dropped: tuple[Process, ...] = ()  # smallest set whose removal leaves a full mesh
        self._beyond: set[Process] = set()  # those of them that this process does not reach, though it may hear them
        self._calm = True  # whether the four above are those of a group without a conflict
        self.admission = Admission(definition, process)
        self.leavers: dict[Process, str] = {}  # and what for, in the order in which they were heard
        self.seekers: dict[Process, None] = {}  # wait for state that their donor cannot give
        self.wedged = False
        self.merges = False  # a state waits for the next view's barrier, to be merged
        self.given_up: set[Process] = set()  # given up by an operator, though nothing proves that they are dead
        self.ties_refused = False  # by the registry that was asked to vote
        self._returning_rank = 0  # of the latest view that the state of a process on its way back has
        self.at_registry = True  # the view's sequencer
        self.unserved: dict[Process, None] = {}  # members that the registry's sequencer does not serve
        self.reaching: dict[Process, None] = {}  # members that the registry has answered for RETURN_MS
        self.partitionable = definition.netsplit is Netsplit.PARTITIONABLE  # a side without a quorum begins anew
        self._process = process
        self._definition = definition
        self._view = view

    def install(self, decision: Decision, now_ms: int) -> None:
        """Begin a view; what still speaks for another one is kept."""
        view = self._view = decision.view
        self.at_registry = decision.at_registry
        # Both are about the sequencer of the view that is left. 1. B is cut off from the registry. 2. The
        # next view has its sequencer at the leader. 3. If B's old word counted on, that view would be changed
        # as well, and so on.
        self.unserved, self.reaching = {}, {}
        self.wedged = False
        self.seekers = {}
        # An order is for those of one view: who is let in by the next one was given up by nobody.
        self.given_up, self.ties_refused = set(), False
        self._hear_all()
        # Who still wants to go says so again with its status, as seekers do, unless it has to give its state first.
        self.leavers = {}
        self.detector.install(view, now_ms)
        self.admission.install(view, decision.left, now_ms)

    def _hear_all(self) -> None:
        """Begin without a conflict of links, and with nothing that follows from one."""
        self._calm = True
        self.dropped = ()
        self._connectivity, self._beyond, self.unheard = Connectivity(self._definition.detection), set(), {}

    def judge_links(self, now_ms: int) -> None:
        """Compute `dropped` anew: which members are to go for the links that fail now."""
        # By far the usual case, asked at every tick of every member; computing conflicts of 64 members takes
        # milliseconds.
        if self.detector.is_calm:
            if not self._calm:
                self._hear_all()
            return
        self._calm = False
        members = self._view.members
        # A suspect that others hear has a bad link and counts as sound: it may be among those who stay.
        sound = {who for who in members if not self.detector.suspected(who) or self.detector.contested(who)}
        gone = as_bits(rank for rank, who in enumerate(members) if who not in sound)

        # Without the dropped ones the rest must be able to decide: to
        # drop too many would stop the group for a bad link.
        def suffice(dropped: Set[int]) -> bool:
            return self._is_quorum(sound.difference(self._named(dropped)))

        self.unheard = self.detector.unheard(now_ms)
        self._connectivity.observe(self.detector.contradicted(now_ms), now_ms)
        conflicts = self._connectivity.conflicts(now_ms)
        self.dropped = self._named(to_drop(conflicts, suffice, gone))
        rank = self._view.rank(self._process)
        foes = self._named(who for pair in conflicts if rank in pair for who in pair if who != rank)
        self._beyond = {*foes}.intersection(self.dropped)

    def _named(self, ranks: Iterable[int]) -> tuple[Process, ...]:
        return tuple(self._view.members[rank] for rank in ranks)

    def _is_quorum(self, members: Set[Process]) -> bool:
        """Return whether these are a quorum, or may be one with the witness."""
        # The registry votes last of all, and only if it is asked. Until then its vote counts as one that can be had.
        return is_quorum(self._view, members, self._definition.tie_breaker, witness=True)

    @property
    def _failed(self) -> bool:
        """Return whether a suspicion stands that no member contradicts."""
        return any(not self.detector.contested(peer) for peer in self.detector.suspects)

    @property
    def live(self) -> set[Process]:
        """The members that this process does not suspect, and can expect an answer of; itself included."""
        # A member that is to go for its links and is reached may still promise, so it counts.
        # No answer can come from one that is not reached: to wait for it would stop the change.
        return set(self._view.members) - set(self.detector.suspects) - self._beyond

    def is_detached(self, now_ms: int) -> bool:
        """Return whether this process heard no quorum for too long."""
        # Half of a view is a quorum with the registry's vote. Where links fail one by one it takes up to TIE_MS to know
        # which members to drop. In a split nobody contradicts anybody, and a half without a vote by then gets none.
        patient = self._connectivity.has_conflict and not self.partitionable
        return not self.detector.heard_quorum(now_ms, patient)

    @property
    def has_quorum(self) -> bool:
        """Return whether the live members are a quorum, or may be one with the witness."""
        return self._is_quorum(self.live)

    @property
    def survivors(self) -> frozenset[Process] | None:
        """The members left of a view where no quorum can be again, since the others are dead by proof; else None."""
        if not (self.detector.dead or self.given_up):
            return None  # all together are a quorum
        # Only proof counts. 1. C is paused, B crashes, and A is one of three. 2. C is silent, not dead: A and C are
        # still a quorum to be. 3. If A began a successor, C could wake with what A and B had confirmed, and two
        # histories would go on (docs/protocols/continuity.md, story 1).
        left = set(self._view.members).difference(self.detector.dead, self.given_up)
        # A registry that started anew and keeps nothing breaks no tie, but half a view may be all that lives.
        tie_breaker = self._definition.tie_breaker
        if self.partitionable or is_quorum(self._view, left, tie_breaker, witness=not self.ties_refused):
            return None
        return frozenset(left)

    def on_returning(self, reach: Extent) -> None:
        """Record how far the state of a process that is on its way back reaches."""
        self._returning_rank = max(self._returning_rank, reach[0])

    @property
    def left_alone(self) -> bool:
        """Return whether nobody is left who could give this process what its view had."""
        # 1. A lets B go, and leaves itself before B, which sleeps, has the cut. 2. B wakes, and hears from the registry
        # that it is out. Newcomers do not have what was before them.
        return self.detector.dead.keys() >= {*self._view.members} - {self._process}

    @property
    def outlived(self) -> bool:
        """Return whether the survivors are of an earlier view than one that is on its way back."""
        # 1. C sleeps; A and B go on in view 3, which they cannot register. 2. A puts B out, and dies. 3. C runs again:
        # of view 2 nobody else is left. But B has what was confirmed in view 3, so C enters again, too.
        return self._returning_rank > rank(self.instance, self._view.number) and self.survivors is not None

    def give_up_unheard(self) -> None:
        """Go on without the members that are not heard, by an operator's order."""
        # Members that it hears it never gives up, whatever the operator believes: they are asked to promise, and
        # decide with it.
        self.given_up = set(self.detector.suspects)

    @property
    def may_decide(self) -> bool:
        """Return whether the members that may be expected to answer can decide on the next view, or on a successor."""
        survivors = self.survivors
        return self.has_quorum if survivors is None else survivors <= self.live

    def on_registry(self, member: Process, cut_off: bool, reaches: bool) -> None:
        """Record what a member of the view says of the registry; a change of the sequencer is a change of the view."""
        # Only grows: a member that was cut off asks the registry no more in this view.
        if cut_off:
            self.unserved[member] = None
        if reaches:
            self.reaching[member] = None
        else:
            self.reaching.pop(member, None)

    @property
    def _may_return(self) -> bool:
        """Return whether the sequencer is at the leader, and could go back to the registry."""
        # All live members must reach it: one that does not would have the view changed back at once.
        return not self.at_registry and self.live <= set(self.reaching)

    def wants(self, joins: bool = True) -> bool:
        """Return whether a change is wanted; without `joins`: for another reason than joiners."""
        if joins and self.admission.waiting:
            return True
        if self.wedged or self.leavers or self.unserved or self.seekers or self.merges or self.dropped:
            return True
        # A suspicion that others contradict is a bad link, which `dropped` decides; alone it changes no view. `named`
        # is asked first, since nearly always nobody suspects anybody.
        if (self.detector.named or self.given_up) and (self.survivors or self._failed or self.detector.accused):
            return True
        return not self.at_registry and self._may_return

    def may_propose(self, now_ms: int) -> bool:
        """Return whether this process should propose; joins alone wait for one another a little."""
        # A crash does not wait for joiners to gather: a member that hangs in its wedge is dearer than one
        # more view change.
        ripe = self.wants(joins=False) or self.admission.gathered(self.live, now_ms)
        return ripe and self.may_decide and self.permits(self._process)

    def permits(self, proposer: Process) -> bool:
        """Return whether the proposer may have this process's promise: Garcia-Molina's bully rule, by votes.

        This process, or a quorum, must suspect every rank above the proposer's.
        """
        # A member that is to go for its links may not know it. It would outbid, again and again, the member that can
        # bring the change to its end.
        if proposer in self.dropped:
            return False
        above = self._view.members[: self._view.rank(proposer)]
        if self.survivors is not None and self.survivors.isdisjoint(above):
            return True  # the oldest that is not proven dead
        # For this process's own proposal only the quorum counts: a lone suspicion would wedge it for nothing. For
        # another's it is enough, else two members with a broken link between them would propose in turns for ever.
        alone = proposer != self._process
        votes = {member: self.detector.by_quorum(member, witness=True) or member in self.dropped for member in above}
        return all(votes[member] or (alone and self.detector.suspected(member)) for member in above)

    def fresh(self, promises: dict[Process, Promise]) -> Decision:
        """Return this proposer's own value, made of the union of what the promises hold."""
        # The last of these wins: a reason that this process has seen itself tells an operator more than `accused`.
        reasons = (
            dict.fromkeys(self.detector.accused, "accused")
            | dict.fromkeys(self.dropped, CUT_OFF)
            | self.detector.suspects
        )
        # Last, so that it wins: who asked to leave and is suspected in the same moment has left in good
        # order, and must be told the cut instead of `expelled`.
        reasons |= self.leavers
        old = self._view
        # If all leave at once the proposer stays last; it leaves alone after that, with the directory's entry.
        stay = [member for member in old.members if member in promises and member not in reasons] or [self._process]
        left = {member: reasons.get(member, "silence") for member in old.members if member not in stay}
        if kept := self._leaver_to_keep(stay, left, promises):
            stay = [member for member in old.members if member in (*stay, kept)]
            del left[kept]
        made = self._succession(left)
        # A successor begins with survivors only, all of whom have accepted it. Joiners ask again, in the new
        # instance.
        joiners = [] if made else self.admission.ready(set(stay), left)
        members = (*stay, *[joiner.process for joiner in joiners])
        addresses = (*map(old.address, stay), *[joiner.address for joiner in joiners])
        # In a successor, too: 1. a, b and c of a static group have started. 2. b and c die. 3. If `a` had to wait for
        # all names again, what is left of the group could not send until somebody starts the dead anew.
        started = is_started(self._definition, members, old.started)
        view = View(old.number + 1, members, addresses, started)
        streams = (*old.members, ORDER) if self._definition.total else old.members
        # The maximum over the promises. What a member of the next view delivered is in its own promise, so it is in the
        # cut: that is why all who go on have delivered the same (docs/protocols/multicast.md, "Why all who stay").
        cut = {sender: max(promise.held.get(sender, 0) for promise in promises.values()) for sender in streams}
        if made and ORDER in cut:
            # The dead may have agreed on serials that no survivor holds, so only what is known to be agreed is kept
            # (docs/protocols/continuity.md, story 9).
            cut[ORDER] = max(promise.agreed for promise in promises.values())
        at_registry = self._may_return or (self.at_registry and not self.unserved)
        standings = {member: promises[member].standing for member in stay}
        number = 1 if made else view.number  # of the view at whose barrier the state is taken
        given = sources(number, standings, _own_states(joiners), anew=bool(made), merging=self.partitionable)
        return Decision(view, tuple(joiner.process for joiner in joiners), left, cut, at_registry, given, made)

    def _leaver_to_keep(
        self, stay: list[Process], left: Mapping[Process, str], promises: Mapping[Process, Promise]
    ) -> Process | None:
        """Return a leaver that has to stay, since those who take the state would lack what it has."""
        can = [who for who, why in left.items() if why == "request" and who in promises]
        if not can:
            return None
        here = {who: promises[who].standing for who in self._view.members if who in promises and who in (*stay, *can)}
        # Beside all of them: one whose name a leaver has is let in only when that one has gone (LIMITS).
        anew = self.survivors is not None
        joiners = [] if anew else self.admission.ready({*stay, *can}, left)
        return leaver_to_keep(here, can, _own_states(joiners), anew=anew, merging=self.partitionable)

    def owed_state(self, decision: Decision, promises: Mapping[Process, Promise]) -> tuple[Process, ...]:
        """Return the members that a value puts out, and that may alone have the state which those who stay await."""
        # 1. `a` gives its state to b and c, which are new. 2. It sleeps for a moment. 3. b and c are a majority. If
        # they went on, all that the group had would be gone, though `a` is well: so in a PRIMARY group they wait for
        # it, as a minority does. The sides of a PARTITIONABLE one go on by themselves.
        # A value that a member has accepted may be decided already: nobody may hold that up.
        if self.partitionable or any(promise.accepted for promise in promises.values()):
            return ()
        over = {who for who, reason in decision.left.items() if reason in LEAVES_FOR}  # gives it first, if it can
        here = (who for who in (*decision.view.members, *over) if who in promises)
        if not _only_await(promises[who].standing.keeping for who in here):
            return ()
        return tuple(who for who in decision.left if who not in over | self.detector.dead.keys() | self.given_up)

    def _succession(self, left: dict[Process, str]) -> Succession | None:
        """Return the succession that the next view begins, where no quorum of this one can be again."""
        if self.survivors is None:
            return None
        gone = {who: proof for who, proof in self.detector.dead.items() if who in left}
        gives_up = tuple(who for who in left if who in self.given_up and who not in gone)
        # 1. By an operator's order C goes on without A and B, who live. 2. C dies, and A founds the next instance. 3. B
        # comes back. All that follows C's has to say that it lacks what B may have.
        instance = successor(self.instance, self._process.partition("#")[2], anew=bool(gives_up))
        return Succession(instance, "operator" if gives_up else "proof", gone, gives_up)


def _own_states(joiners: Iterable[Joiner]) -> dict[Process, Extent]:
    """Return how far the own states reach of those joiners that take the state."""
    return {joiner.process: joiner.own for joiner in joiners if joiner.takes_state}


def _only_await(standings: Iterable[Keeping]) -> bool:
    """Return whether some await the state, and none of these members has it, or a later one, to give."""
    found = set(standings)
    return Keeping.AWAITED in found and found.isdisjoint((Keeping.WHOLE, Keeping.LATER))
