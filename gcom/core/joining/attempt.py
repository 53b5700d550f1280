"""A process on its way into a group: it looks it up, then claims it or asks its leader (GCom 2009 §2.3, §4.1.10).

    start ── Create or Lookup ──► entry ──┬─ nobody in it ──────────► Claim ──► first member of view 1
                                          └─ members ──► Join to each in turn, oldest first ──► Install
                                                           │ Redirect: ask that one first
                                                           └ none answers: look again; Claim once all are dead, or vowed

Every question is asked again until the caller gives up; the machine keeps the last reason why it is not in. A process
that was in before and lost its group (`PreviousSession`) never gives up by itself: an error that ends a newcomer's
attempt makes it try again later, and without a registry it asks the members that it knew. In a PARTITIONABLE group it
looks for any instance, and begins one if there is none (gcom/core/joining/discovery.py).
"""

from __future__ import annotations

from gcom import errors
from gcom.core.joining.discovery import Discovery, discovery_after
from gcom.core.joining.steps import Approach, Ask, Failed, First, Out, PreviousSession, ProbePeers, Vow
from gcom.core.messages.frames import DiscoverReply, DiscoverRequest, JoinRefused, Redirect
from gcom.core.messages.registry import Answer, Claim, Create, GroupInfo, Lookup, Refusal, Request
from gcom.errors import (
    BadValue,
    Dissolved,
    GComError,
    NameTaken,
    NotInvited,
    PeerError,
    RegistryUnavailable,
    VersionMismatch,
    error_of,
)
from gcom.values import limits, names
from gcom.values.definition import Definition, Netsplit, uninvited, unsigned
from gcom.values.lineage import NO_EXTENT, Extent, precedence
from gcom.values.names import Address, Process

TARGETS_MAX = 3  # members asked at the same time
_FINAL = (Dissolved, NameTaken)  # what ends the way back for good
_BEGIN_ANEW = "the registry to let it begin anew"


class JoinAttempt:
    """A process on its way in. `targets` are the members that it asks now, and whether each has answered."""

    def __init__(
        self,
        group: str,
        process: Process,
        address: Address,
        create: Definition | None,
        former: PreviousSession | None = None,
        *,
        signs: bool = False,
    ) -> None:
        self._group = group
        self._process = process
        self._address = address
        self._create = create
        self._former = former
        self._signs = signs
        self.entry: GroupInfo | None = None
        self.targets: dict[Process, bool] = {}
        self.waits_for = "the registry"
        self._candidates: list[tuple[Process, Address]] = []
        self._unreached: set[Process] = set()
        self._proven: set[Process] = set()  # never a member again, by proof; kept from round to round
        self._vowing: set[Process] = set()  # asked to vow that they are, and will be, no members
        self._vowed: set[Process] = set()  # have vowed it, or return with no more than this process
        self._returning: set[Process] = set()  # of these, who is on its way back, with no more than this process
        self.beside = False  # one of these was put out of the same view, and may have what this process lacks
        self._absent: set[Process] = set()  # answered in this round, and are no members
        self._approached_ms = 0
        self._again_ms: int | None = None
        self._rounds = 0  # without success
        self._namesake = ""  # what it waits for where the registry has another group of the name; else empty
        self._unknown_since_ms: int | None = None  # the registry answers that there is no such group
        self._discovery = discovery_after(former, process, address) if former else None

    def start(self, now_ms: int) -> list[Out]:
        return [Ask(Create(self._create)) if self._create else self._lookup(), *self._discover(now_ms)]

    def _lookup(self) -> Ask:
        return Ask(Lookup(self._group, self._former.entry.instance if self._former else ""))

    # looking for any instance

    @property
    def called(self) -> set[Process]:
        """The processes that this one calls now."""
        return {*self.targets, *self._vowing, *(self._discovery.called if self._discovery else ())}

    @property
    def discover_request(self) -> DiscoverRequest | None:
        """The message to others that look for an instance; None: this process does not look."""
        return self._discovery.discover_request if self._discovery else None

    def discover_request_for(self, peer: Process) -> DiscoverRequest | None:
        """Return that message for a peer, unless the peer is asked to admit this process."""
        return self.discover_request if peer not in self.targets else None

    def _discover(self, now_ms: int) -> list[Out]:
        """Begin to look, or look anew."""
        # A newcomer knows nobody: only the registry can tell it where the group is.
        if self._discovery is None or self._former is None:
            return []
        self.waits_for = "others of the group, or to begin it anew"
        self._discovery.begin(now_ms)
        return self._probe(*self._former.seats)

    def _probe(self, *seats: tuple[Process, Address]) -> list[Out]:
        discovery = self._discovery
        return [ProbePeers(*seat, discovery.discover_request) for seat in seats if discovery and discovery.know(*seat)]

    def on_found(self, source: Process, instance: str, item: DiscoverRequest | DiscoverReply, now_ms: int) -> list[Out]:
        """Take a process's word of the instance that it is in, or that it looks, too."""
        if self._discovery is None:
            return []
        outs = self._probe((source, item.address)) if isinstance(item, DiscoverRequest) else []
        self._discovery.found(source, instance, item, now_ms)
        return outs

    def _decide(self, discovery: Discovery, now_ms: int) -> list[Out]:
        """Enter an instance that was found, or begin one."""
        assert self._former is not None, "a newcomer does not look"
        found = discovery.instance(now_ms)
        if found:
            self.entry = found
            # Found by a word that is seconds old: who did not answer in an earlier search may do so now.
            self._unreached = {self._process}
            self._candidates = list(zip(found.members, found.addresses, strict=True))
            return self._approach_next(now_ms)
        if not discovery.may_begin(now_ms):
            return []
        self.entry = discovery.begun()
        return [First(self.entry, self._former.started)]

    # the registry

    def on_answer(self, request: Request, answer: Answer | None, now_ms: int) -> list[Out]:
        """Take the registry's answer, or its absence."""
        # Any other answer shows that the registry knows the group.
        if not isinstance(answer, Refusal):
            self._unknown_since_ms = None
        if answer is None:
            return self._on_no_answer(now_ms)
        if isinstance(answer, Refusal):
            return self._on_refusal(request, answer, now_ms)
        if not isinstance(answer, GroupInfo):
            text = f"the registry answered {type(answer).__name__} to {type(request).__name__}"
            return self._fail(PeerError(text), now_ms)
        if self._former and answer.definition != self._former.entry.definition:
            return self._on_namesake(self._former.entry, answer, now_ms)
        self._namesake = ""
        # In a PARTITIONABLE group an entry is one side among others: which of them is entered is decided by
        # all that answer.
        if not self._discovery:
            self.entry = answer
        if isinstance(request, Claim) and answer.members == (self._process,):
            # A process that returns to a group that had started brings that along, as it does the state. Only a group
            # that is founded anew waits for all its names.
            started = self._former is not None and self._former.started and bool(answer.after[0])
            return [First(answer, started, self._given_up(request))]
        return self._on_entry(answer, now_ms)

    def _on_namesake(self, former: GroupInfo, other: GroupInfo, now_ms: int) -> list[Out]:
        """Go on where the name is another group's: its state and promises are none of this process's."""
        # 1. A registry forgets group G. 2. Strangers found G with another order. 3. A member of the first G comes back
        # before that has registered anew. The one founded earlier keeps the name, so it looks for its own, and not for
        # theirs, for as long as any of those may live.
        outs = self._ask_those_known(now_ms)
        text = f"group {self._group!r} is another one now: {former.definition.differences(other.definition)}"
        younger = precedence(former.instance) < precedence(other.instance)
        if not younger or (self._all_dead and not self._discovery):
            return [Failed(NameTaken(text), final=True)]
        self._namesake = f"its own group, or proof that nobody of it is left; {text}"
        return outs

    def _on_no_answer(self, now_ms: int) -> list[Out]:
        """Go on without an answer of the registry."""
        # The group is the truth: a former member asks the members that it knows. A newcomer knows none.
        if self._former is None:
            return [Failed(RegistryUnavailable("the registry does not answer"))]
        return self._ask_those_known(now_ms)

    def _ask_those_known(self, now_ms: int) -> list[Out]:
        assert self._former is not None, "a newcomer knows nobody"
        if self._discovery:
            return []
        if self.entry is None or not self.entry.members:
            self.entry = self._former.entry
        return self._on_entry(self.entry, now_ms)

    def _on_refusal(self, request: Request, refusal: Refusal, now_ms: int) -> list[Out]:
        # A claim may come too early, or too late.
        if refusal.code == "RegistryStarting" or (isinstance(request, Claim) and request.view):
            if self.targets:
                return []  # what it looked up meanwhile has members, and it asks them
            self.waits_for = _BEGIN_ANEW if refusal.code == "UnknownGroup" else f"the registry: {refusal.text}"
            self._again_ms = now_ms + limits.JOIN_RETRY_MS
            self.entry = None  # so that it looks before it claims
            return []
        if refusal.code == "Stale":  # somebody else was faster: look again
            return [self._lookup()]
        # Its last member took it along: make it again.
        if refusal.code == "UnknownGroup" and self._create:
            return [Ask(Create(self._create))]
        # Either there is no such group, or the registry has forgotten it: its members know, if they live.
        if refusal.code == "UnknownGroup" and self._former:
            if self._unknown_since_ms is None:
                self._unknown_since_ms = now_ms
            return self._ask_those_known(now_ms)
        return self._fail(error_of(refusal.code, refusal.text), now_ms)

    def _fail(self, error: GComError, now_ms: int) -> list[Out]:
        """Handle that it cannot get in as things are: the end, or a reason to try again later."""
        # A newcomer has nothing to lose, and its caller waits for the error. One that was
        # in has the group's state, and may be the only one: it gives up for an end alone.
        if self._former is None or isinstance(error, _FINAL):
            return [Failed(error, final=True)]
        self._give_up_round(str(error), now_ms)
        return []

    def _give_up_round(self, waits_for: str, now_ms: int) -> None:
        """Look again in a while."""
        self.waits_for = waits_for
        self.targets = {}
        # A process that returns waits longer each time, 2 s at most, since it may do so for hours.
        longest_ms = limits.RETURN_RETRY_MAX_MS if self._former else limits.JOIN_RETRY_MS
        # The shift has a bound of its own: a process may try for days, and the number would grow with it.
        self._again_ms = now_ms + min(limits.JOIN_RETRY_MS << min(self._rounds, 8), longest_ms)
        self._rounds += 1

    def _on_entry(self, entry: GroupInfo, now_ms: int) -> list[Out]:
        mine = names.name_of(self._process)
        if entry.definition.static and mine not in entry.definition.static:
            return self._fail(NotInvited(uninvited(entry.definition, mine)), now_ms)
        if entry.definition.signed and not self._signs:
            return self._fail(BadValue(unsigned(entry.definition)), now_ms)
        if self._discovery:
            return self._probe(*zip(entry.members, entry.addresses, strict=True))
        if not entry.members:
            self.waits_for = "the registry to grant the first place"
            return [Ask(Claim(entry.definition.group, entry.instance, 0, self._process, self._address))]
        # Its own name may be listed, by a leader that admitted it and died before it said so: there is nobody to ask.
        self._unreached = {self._process, *([self._former.process] if self._former else [])}
        self._proven |= self._unreached
        # Vows hold for one round, as they are about one entry: a process that vowed may be a member of a later view.
        self.targets, self._vowing, self._vowed, self._returning, self._absent = {}, set(), set(), set(), set()
        self.beside = False
        self._candidates = [*zip(entry.members, entry.addresses, strict=True), *entry.others]
        known = self._former.entry if self._former else entry
        # The registry may not have heard of the last view that this process was in.
        if known.instance == entry.instance:
            seats = zip(known.members, known.addresses, strict=True)
            self._candidates += [seat for seat in seats if seat not in self._candidates]
        return self._approach_next(now_ms)

    def _claim(self, entry: GroupInfo) -> Ask:
        self.waits_for = _BEGIN_ANEW
        gone = tuple(who for who, _ in self._candidates if who in self._proven | self._vowed)
        away = tuple(seat for seat in self._candidates if seat[0] in self._returning)
        return Ask(Claim(self._group, entry.instance, entry.view, self._process, self._address, gone, away))

    def _given_up(self, claim: Claim) -> tuple[Process, ...]:
        """Return the processes for which a claim had neither proof nor vow: an operator's order gave them up."""
        return tuple(who for who, _ in self._candidates if who not in claim.gone) if claim.view else ()

    def _approach_next(self, now_ms: int) -> list[Out]:
        """Ask one more; when there is nobody to wait for, look again in a while."""
        left = [found for found in self._candidates if found[0] not in self._unreached and found[0] not in self.targets]
        if left:
            return self._approach(*left[0], now_ms)
        if self.targets:
            self._await_admission()  # whoever was asked last may be over by now
            return []
        self._give_up_round(self._namesake or self._awaited, now_ms)
        return self._ask_vows()

    @property
    def _awaited(self) -> str:
        """Name those of the group who are not known to be dead; without any, the registry."""
        left = [seat for seat in self._candidates if seat[0] not in self._proven | self._vowed]
        text = ", ".join(f"{process} at {address.partition('@')[0]}" for process, address in left[:3])
        silent = self.entry is not None and not (self.entry.alive or self.entry.detached)
        advice = f" (gcom fork {self._group} gives up those who never come back)" if silent else ""
        return f"{text}{' or others of the group' if left[3:] else ''} to answer{advice}" if left else _BEGIN_ANEW

    def _ask_vows(self) -> list[Out]:
        """Ask for vows, where all who may have the name are dead or answer that they are no members."""
        # 1. A leader has D and E noted, installs the view with them, and dies before they hear of it. 2. Both find it
        # dead. 3. For all that D knows E is in that view, and for all that E knows D is. So each asks the other to vow
        # that it is no member, and will enter no view by an INSTALL that is still on its way.
        entry = self.entry
        left = [seat for seat in self._candidates if seat[0] not in self._proven | self._vowed]
        # All of them must have answered in this round. One that is silent
        # may be a member: then vows of the others free nothing.
        # 1. A is granted the name, and its answer is on its way. 2. D looks, finds A listed, and asks it; A is not in
        # yet. If D now vowed, and asked A to, A would be bound not to begin the view that it has. While a lease runs
        # nobody can claim, so nothing is lost by waiting.
        if entry is None or entry.alive or self._discovery:
            return []
        if not self._absent.issuperset(process for process, _ in left):
            return []
        self._vowing = {process for process, _ in left}
        return [Vow(process, address, entry.instance, entry.view) for process, address in left]

    def on_outside(self, now_ms: int) -> list[Out]:
        """Look again, as it was granted a view of which it has vowed to be no member."""
        self._give_up_round(_BEGIN_ANEW, now_ms)
        return []

    def on_vowed(self, source: Process) -> None:
        """Record a vow: a process that was noted is in no later view, and will not be."""
        if source in self._vowing:
            self._vowed.add(source)

    @property
    def _all_dead(self) -> bool:
        """Return whether every process that may have the name is known to be no member for good."""
        return (self._proven | self._vowed).issuperset(process for process, _ in self._candidates)

    def _approach(self, process: Process, address: Address, now_ms: int) -> list[Out]:
        self.targets[process] = False
        self._approached_ms = now_ms
        self._await_admission()
        return [Approach(process, address)]

    def _await_admission(self) -> None:
        places = dict(self._candidates)  # behind @ is the name of a kernel's socket, which tells a reader nothing
        asked = " or ".join(f"{process} at {places[process].partition('@')[0]}" for process in self.targets)
        self.waits_for = f"{asked} to {self._quorum_clause}admit it{self._home_clause}"

    @property
    def _quorum_clause(self) -> str:
        """Say what comes before an admission: a member that is detached admits nobody."""
        if self.entry is None or not self.entry.detached:
            return ""
        # Proof that all others are dead does not help a group that its registry forgot: others may have been noted.
        order = f", or be told to go on by 'gcom fork {self._group}'," if self.entry.forgot else ""
        return f"hear a quorum{order} and "

    @property
    def _home_clause(self) -> str:
        """Say what else an admission takes: the members may be well, and the group's home registry down."""
        entry = self.entry or (self._former.entry if self._former else None)
        if entry is None or entry.definition.netsplit is Netsplit.PARTITIONABLE:
            return ""
        home = entry.definition.home
        return f", which members do through the group's home registry{home and f' at {home}'}"

    def on_unreached(self, peer: Process, proven: bool, now_ms: int, absent: bool = False) -> list[Out]:
        """Record that a member does not answer, or answers that it is none (`absent`); `proven`: for good."""
        if proven:
            self._proven.add(peer)
        if absent:
            self._absent.add(peer)
        if self._discovery:
            self._discovery.gone(peer)
        self._vowing.discard(peer)
        if peer not in self.targets:
            return []
        del self.targets[peer]
        self._unreached.add(peer)
        return self._approach_next(now_ms)

    def on_returning(self, peer: Process, reach: Extent, now_ms: int) -> list[Out]:
        """Record that a former member is on its way back, too, and how far what it has reaches.

        Of two that return, the one with less waits; a newcomer has nothing, and waits for both.
        """
        # 1. A, B and C are in view 2, C is cut off. 2. A and B install view 3, and die. 3. C is told of view 3, and
        # comes back. 4. If a newcomer could claim the name now, C would be given its empty state.
        # 1. C is put out of view 3. 2. B alone begins a successor, lets D in with view 2, and puts D out. 3. B dies.
        # What D has comes later than what C has, though the number of its view is the smaller.
        # 1. C and D are put out of view 3; C had delivered more of it. 2. All others die. Views alone would not tell.
        # On a tie the greater process id begins, the same one in both their eyes: else both would wait, or both claim.
        if self._has_more(peer, reach):
            self._vowed.add(peer)
            self._pass_over(peer, reach)
        return self.on_unreached(peer, False, now_ms)

    def on_entering(self, peer: Process, reach: Extent, now_ms: int) -> list[Out]:
        """Record that a process which the group may list is on its way in, and how far what it has reaches.

        Unlike one that returns, it may still be let in: so this process does not go before it without its vow.
        """
        # 1. B, which was put out, is let in again by A. 2. A dies before B hears of it. 3. D, a newcomer,
        # looks. If B vowed to D, and D claimed, what B has would be given up for D's empty state.
        first = reach == NO_EXTENT or self._has_more(peer, reach)
        if first and reach != NO_EXTENT:
            self._pass_over(peer, reach)
        return self.on_unreached(peer, False, now_ms, absent=first)

    def _has_more(self, peer: Process, reach: Extent) -> bool:
        """Return whether this process, not that one, begins, as what it has reaches further."""
        former = self._former
        return former is not None and (former.has, former.process) > (reach, peer)

    def _pass_over(self, peer: Process, reach: Extent) -> None:
        """Note that one comes back with no more than this process has."""
        # Its seat goes with the claim as `away`. 1. This process claims. 2. It dies before
        # that one is in. 3. A newcomer must wait for that one, and not begin with nothing.
        self._returning.add(peer)
        self.beside = self.beside or (self._former is not None and self._former.has[0] == reach[0])

    def on_heard(self, source: Process, now_ms: int) -> None:
        """Record that a member answered; it may take its time to admit."""
        if self._discovery:
            self._discovery.heard(source, now_ms)
        if source in self.targets:
            self.targets[source], self._rounds = True, 0

    def on_reply(self, source: Process, item: Redirect | JoinRefused, now_ms: int) -> list[Out]:
        """Take a member's answer to the Join."""
        if source not in self.targets:
            return []
        if isinstance(item, JoinRefused):
            return self._fail(error_of(item.code, item.text), now_ms)
        if item.process in self._unreached or item.process == self._process:
            # That leader is being replaced, or is there again: look once more in a while, and ask all anew.
            self._again_ms = now_ms + limits.JOIN_RETRY_MS if self._again_ms is None else self._again_ms
            return []
        del self.targets[source]
        if item.process in self.targets:
            return []
        # In front: a member names whom it does not suspect, which is newer than what the registry lists.
        self._candidates.insert(0, (item.process, item.address))
        return self._approach(item.process, item.address, now_ms)

    def on_put_off(self, source: Process) -> None:
        """Record that a member does not let this name in before its links are proven."""
        links = "once its links to all members have held for a while"
        self.waits_for = f"{source} to {self._quorum_clause}admit it, {links}{self._home_clause}"

    def on_version(self, text: str, now_ms: int) -> list[Out]:
        """Record that a member speaks another protocol version."""
        return self._fail(VersionMismatch(text), now_ms)

    def on_gone(self, source: Process, text: str) -> list[Out]:
        """Record a member's word that this very process was in and went: only a new incarnation gets in."""
        # Only from one that it asks: anybody else could end its attempt with a word.
        return [Failed(errors.Detached(text))] if source in self.targets else []

    def tick(self, now_ms: int) -> list[Out]:
        """Let time pass: ask the next member, or look or claim again."""
        if self._discovery and not self.targets and self._again_ms is None:
            return self._decide(self._discovery, now_ms)
        if self._discovery and self.targets and now_ms - self._approached_ms >= limits.TIME_WAIT_MS:
            # A member that answered the search may itself be giving way by now, and then admits nobody.
            self._give_up_round("the members that it found to admit it", now_ms)
        if self._again_ms is None:
            silent = bool(self.targets) and not any(self.targets.values())
            # A silent target is not waited for longer than 500 ms: it may be dead, and the others are likely to live.
            # Three at once, or a large group would be asked by a crowd of joiners all at once.
            patient = now_ms - self._approached_ms < limits.JOIN_STAGGER_MS or len(self.targets) >= TARGETS_MAX
            return self._approach_next(now_ms) if silent and not patient else []
        if now_ms < self._again_ms:
            return []
        self._again_ms = None
        if self._discovery:
            return [self._lookup(), *self._discover(now_ms)]
        entry = self.entry
        # Not dead by proof, only silent: its members may be paused, with all that the group had. Or one of them answers
        # and names another leader: 1. An operator orders a fork. 2. The cut heals before the name is free. If the entry
        # were claimed as it was then, the answer would be "stale" for ever.
        if entry is None or self.targets or entry.alive or not (self._all_dead or entry.forked):
            return [self._lookup()]
        if self._unknown_since_ms is not None:
            # A registry that has forgotten the group hears of it from its leader within RENEW_MS, if there is one.
            forgotten = now_ms - self._unknown_since_ms >= limits.LEASE_MS
            return [Ask(Create(entry.definition)) if forgotten else self._lookup()]
        return [self._claim(entry)]
