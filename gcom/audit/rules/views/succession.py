"""A succession of CONTINUITY: what goes over from an instance to the next (clauses (b) and (d) of the rule).

`continuity` judges the instances of a name as a whole, and calls this for each pair of which one succeeds the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.rule import place_of
from gcom.audit.summary.intervals import Intervals, Numbers, add_numbers
from gcom.audit.summary.lineage import SessionSummary, SucceedsRecord, successions_in
from gcom.values.names import name_of

NAME = "CONTINUITY"
ENDED = "ended"  # founded anew, as all had left or died: there is no cut


class JudgedInstance:
    """An instance of a name, with the sessions of its members.

    `founders` are the sessions that have its view 1, whose record says what the instance succeeds.
    """

    def __init__(self, judgement: Judgement, coverage: dict[str, str]) -> None:
        self.name = judgement.key[1]
        self.tally = judgement.tallies[NAME]
        self.members = judgement.members
        self.sessions = {each.process: each for each in sorted(judgement.sessions, key=lambda each: each.process)}
        self.closed = {who for who, state in coverage.items() if state == "closed"}
        self.founders = [session for session in self.sessions.values() if session.first]
        # All founders write the same (continuity, `unlike`), so any one will do.
        self.succeeds = successions_in(self.founders[0].first) if self.founders else []
        # The definition is the instance's, and every view has it: the lowest that any log has, as view 1
        # may be in none.
        records = (session.lowest for session in self.sessions.values() if session.lowest)
        lowest = min(records, key=itemgetter("view", "process"), default={})
        self.primary = lowest.get("netsplit", "PRIMARY") == "PRIMARY"
        self.reliable = lowest.get("multicast") == "RELIABLE"
        self.safe = lowest.get("safe", False)
        self.base: dict[str, int] = self.founders[0].first.get("base", {}) if self.founders else {}
        self.confirmed: Numbers = {}
        for session in self.sessions.values():
            if self.safe:  # a SAFE delivery anywhere is a confirmation
                add_numbers(self.confirmed, session.delivered)
            else:
                for numbers in session.confirmed.values():
                    add_numbers(self.confirmed, {session.process: numbers})

    @property
    def is_dissolved(self) -> bool:
        """Tell whether all members of its last view have left by their own will: then nobody is owed anything."""
        last = self.members[max(self.members)] if self.members else []
        left = (self.sessions[who].reason == "request" for who in last if who in self.sessions)
        return bool(last) and all(who in self.sessions for who in last) and all(left)

    def destinations(self) -> set[str]:
        """Return the instances that its members went over to."""
        return {session.into for session in self.sessions.values() if session.into is not None}

    def parents(self) -> list[str]:
        """Return the instances that it claims to succeed."""
        return sorted({each.instance for each in self.succeeds})

    def outliving(self, given_up: frozenset[str]) -> list[SessionSummary]:
        """Return the sessions that went on after the instance, by process."""
        sessions = self.sessions.values()
        return [
            session
            for session in sessions
            if session.process not in given_up and session.outlives(session.process in self.closed)
        ]


@dataclass(frozen=True, slots=True)
class Share:
    """The messages of an earlier instance that one begins with.

    `owed` are the senders of whose messages it should have all; None: of all senders. Without `sure` it may have more.
    """

    numbers: Numbers = field(default_factory=dict)
    owed: frozenset[str] | None = None
    sure: bool = True

    def owed_of(self, wanted: Numbers) -> Numbers:
        return {who: each for who, each in wanted.items() if self.owed is None or who in self.owed}

    def lacks(self, wanted: Numbers) -> Numbers:
        """Return those of the wanted messages that are owed and not here."""
        owed = self.owed_of(wanted)
        missing = {who: each.minus(self.numbers.get(who, Intervals())) for who, each in owed.items()}
        return {who: each for who, each in sorted(missing.items()) if each}


@dataclass(frozen=True, slots=True)
class Loss:
    """The messages of a sender that were confirmed in one instance, and are not in a later one, which lost them."""

    kind: str
    process: str  # had them
    instance: str
    lost_in: str
    sender: str
    numbers: Intervals


@dataclass(frozen=True, slots=True)
class SuccessionLink:
    """A succession: view 1 of `new` claims to succeed `old`."""

    old: JudgedInstance
    new: JudgedInstance
    claim: SucceedsRecord

    @property
    def streams(self) -> set[str]:
        """Return the senders that the cut tells of: those in it, and the members of the succeeded view and of later
        ones, of which it may have nothing. The messages of earlier members were settled in earlier views.
        """
        later = (members for view, members in self.old.members.items() if view >= (self.claim.view or 0))
        return {*(self.claim.cut or {}), *(who for members in later for who in members)}

    @property
    def share(self) -> Share:
        """Return what the new instance has of the old one by its cut."""
        required, owed = self.claim.required, frozenset(self.streams)
        if self.is_cut_sure:
            return Share(required, owed)
        delivered: Numbers = {}
        for session in self._begin_it:
            add_numbers(delivered, session.delivered)
        return Share(common(required, delivered), owed, sure=False)

    @property
    def is_cut_sure(self) -> bool:
        """Tell whether the new instance has what its cut says: some founder had a state in the old one, or none has."""
        # 1. a gives its state to z, which has just entered, and dies before z has it. 2. z begins the successor alone.
        #    Its base, so the cut, counts what was delivered before it entered. 3. The state is lost, and z was told so.
        sessions = self.old.sessions.values()
        if not any(session.adopts for session in (*sessions, *self.new.sessions.values())):
            return True
        begin_it = self._begin_it
        return not begin_it or any(session.first or session.adopts or session.has_gap for session in begin_it)

    @property
    def _begin_it(self) -> list[SessionSummary]:
        """Return the sessions in the old instance of the processes that begin the new one."""
        founders = {session.process for session in self.new.founders}
        return [session for who, session in self.old.sessions.items() if who in founders]


# (a) and (b): what goes over from one instance to the next


def judge_later_views(link: SuccessionLink) -> None:
    """Judge that no process that goes on after the instance installed a view above the succeeded one."""
    old, claim = link.old, link.claim
    # Sides of a PARTITIONABLE name go on by right; and a claim without a view says nothing that could be passed.
    if not old.primary or claim.view is None:
        return
    old.tally.evaluated += 1
    more = {"instance": old.name, "other_instance": link.new.name}
    for session in old.outliving(claim.gives_up):
        # 1. The successor begins from view v. 2. A process that installed v+1 went on with the old instance. 3. What
        #    it delivered there is in no cut, and it is alive: two groups go by one name.
        if session.views[-1] > claim.view:
            where = {"process": session.process, "view": session.views[-1]}
            old.tally.violate(1, kind="later", succeeded=claim.view, **where, **more)
    for session in old.sessions.values():
        # `gone` says that its death was proved, and it went over alive: the proof was none (decision 0005).
        if session.process in claim.gone and session.into == link.new.name:
            old.tally.violate(1, kind="gone", **place_of(session.end), **more)


def judge_last(old: JudgedInstance) -> None:
    """Record a doubt per process that detached in the last view of an instance that nothing here succeeds."""
    for session in old.sessions.values():
        # A detached process waits for a quorum. The group may have gone on without it, in logs that are not here.
        # 1. A quorum is lost, all detach. 2. Nobody begins a successor. 3. If this was all, the group stood still for
        #    ever, which is no violation and no success either: UNKNOWN (decision 0005).
        waits = session.end and session.into is None and session.outlives(closed=True) and not session.has_gap
        if waits and session.views[-1] == max(old.members):
            old.tally.doubt(
                1, f"{session.process} detached in the last view of {old.name}, and no log tells who goes on"
            )


def judge_succession(link: SuccessionLink) -> list[str]:
    """Judge clause (b) for one succession; return notes on messages that an operator gave up."""
    old, claim = link.old, link.claim
    if old.primary and claim.view is not None:
        _judge_coverage(link, claim.view)
    # BASIC promises no common cut.
    if not old.reliable or claim.cut is None:
        return []
    if claim.view is not None:
        _judge_settled(link, claim.view)
    return judge_confirmed(link, link.share) if old.primary else []


def _judge_coverage(link: SuccessionLink, view: int) -> None:
    """Record a doubt per member of the last view whose end no log tells: it may have gone on."""
    old, claim = link.old, link.claim
    # Without the view's members it is not known whose ends matter.
    if view not in old.members:
        old.tally.doubt(1, f"no log tells of view {view} of {old.name}, which {link.new.name} succeeds")
    # Members of a later view count too: that view went on without the successor's founders knowing.
    last = {view, max(old.members, default=view)} & old.members.keys()
    for who in sorted({who for each in last for who in old.members[each]} - claim.gone - claim.gives_up):
        session = old.sessions.get(who)
        if who not in old.closed and (session is None or not session.end):
            old.tally.doubt(1, f"nothing tells how the session of {who} in {old.name} ended")


def _judge_settled(link: SuccessionLink, view: int) -> None:
    """Judge that each process that goes over from the succeeded view has settled exactly its cut."""
    old, claim = link.old, link.claim
    required, cut = claim.required, claim.cut or {}
    for session in old.sessions.values():
        if (
            session.has_gap
            or session.into != link.new.name
            or session.reason == "expelled"  # it comes back as another process, and is given the state
            or session.process in claim.gives_up
            or session.views[-1:] != [view]
        ):
            continue
        old.tally.evaluated += 1
        for sender in sorted(link.streams):
            settled = session.settled.get(sender, Intervals())
            # Exactly the cut: less is a loss at this process, and more at all others that go over.
            missing = required.get(sender, Intervals()).minus(settled)
            # `without` are messages that nobody held, so nobody has delivered one of these.
            had = session.delivered.get(sender, Intervals()).common(claim.without.get(sender, Intervals()))
            beyond = settled.above(cut.get(sender, 0)).union(had)
            if missing or beyond:
                more = {"instance": old.name, "other_instance": link.new.name, "sender": sender}
                kind, number = ("short", missing.lowest) if missing else ("beyond", beyond.lowest)
                old.tally.violate(1, kind=kind, number=number, **place_of(session.end), **more)


def judge_confirmed(link: SuccessionLink, share: Share) -> list[str]:
    """Judge that the new instance has each confirmed message that a process going on had.

    Return a note if messages were lost that only processes had which an operator gave up: these are exempt.
    """
    old, claim = link.old, link.claim
    # Last those who were told that all have left, by a log that is not here: such a loss is only a doubt.
    outliving = sorted(old.outliving(claim.gives_up), key=lambda session: told_of_the_end(claim, session))
    given_up = [session for who, session in old.sessions.items() if who in claim.gives_up]
    owed = share.owed_of(old.confirmed)
    old.tally.evaluated += sum(map(len, owed.values()))
    held = _held(old, outliving)
    exempt = 0
    # What the new one has goes on with everybody; only the rest may be lost.
    for sender, missing in share.lacks(owed).items():
        lost = held.get(sender, Intervals()).common(missing)
        # Any of those who go on may have held it, and one did: the first by name stands for them.
        blamed = outliving[0] if lost else None
        for session in outliving:
            had = missing.common(session.delivered.get(sender, Intervals()))
            blamed = session if had and not lost else blamed
            lost = lost.union(had)
        if blamed:
            sure = share.sure and not told_of_the_end(claim, blamed)
            record_loss(old, Loss("confirmed", blamed.process, old.name, link.new.name, sender, lost), sure=sure)
        gone: Numbers = {}
        for session in given_up:
            add_numbers(gone, {sender: missing.common(session.delivered.get(sender, Intervals()))})
        # An operator gave them up with `gcom fork`: no violation, and still told.
        exempt += len(gone.get(sender, Intervals()).minus(lost))
    who = ", ".join(sorted(claim.gives_up))
    told = f"{exempt} confirmed messages of {old.name} that only {who} had were given up for {link.new.name}"
    return [told] if exempt else []


def told_of_the_end(claim: SucceedsRecord, session: SessionSummary) -> bool:
    """Tell whether the process was told that all have left, where the name was founded anew since."""
    return claim.by == ENDED and session.reason == "dissolved"


def record_loss(old: JudgedInstance, loss: Loss, *, sure: bool) -> None:
    """Record a violation, or a doubt where the logs do not show all that the new instance has."""
    if sure:
        where = {"instance": loss.instance, "other_instance": loss.lost_in, "number": loss.numbers.lowest}
        old.tally.violate(len(loss.numbers), kind=loss.kind, process=loss.process, sender=loss.sender, **where)
    else:
        told = f"message {loss.numbers.lowest} of {loss.sender}, confirmed in {loss.instance}"
        old.tally.doubt(1, f"no log tells whether {loss.lost_in} has {told}, which {loss.process} had")


def _held(old: JudgedInstance, outliving: list[SessionSummary]) -> Numbers:
    """Return the confirmed messages that some process going on must have held, whether it delivered them or not."""
    held: Numbers = {}
    for session in old.sessions.values() if not old.safe else ():
        for (view, by), numbers in session.confirmed.items():
            # Holding is in no record: only numbers can show that somebody among those who go on did (decision 0005).
            if _one_held(old.members.get(view, []), by, outliving):
                add_numbers(held, {session.process: numbers})
    return held


def _one_held(members: list[str], by: str, outliving: list[SessionSummary]) -> bool:
    """Tell whether so many of the view go on that one of them is among the holders of a message confirmed in it."""
    view = set(members)
    left = sum(session.process in view for session in outliving)
    # 1. `left` members of the view go on. 2. All of it, or a majority, held the message. 3. If both together are more
    # than the view has members, some process is in both.
    return left > 0 and left + (len(view) if by == "all" else len(view) // 2 + 1) > len(view)


def common(some: Numbers, others: Numbers) -> Numbers:
    both = {who: each.common(others[who]) for who, each in some.items() if who in others}
    return {who: each for who, each in both.items() if each}


def has_cut(link: SuccessionLink, process: str) -> bool:
    """Tell whether the process, or an earlier one of its member, went over with all of the cut; a gap may hide that."""
    for session in link.old.sessions.values():
        over = session.into == link.new.name and name_of(session.process) == name_of(process)
        # Under another incarnation, too: who lost its session comes back by the same name, with what
        # it had settled then.
        if session.views and (over or session.process == process):
            missing = any(
                each.minus(session.settled.get(who, Intervals())) for who, each in link.claim.required.items()
            )
            if session.has_gap or not missing:
                return True
    return False


def judge_adoption(link: SuccessionLink, session: SessionSummary, *, returns: bool) -> None:
    """Judge clause (d) for a process that entered `link.new` without the cut.

    `returns` says that its member was in an earlier instance, of a name whose processes take over states.
    """
    # Who delivered nothing, or was no member before, may have entered without a state; that owes nothing.
    if not session.adopts and (not session.deliveries or not returns):
        return
    new = link.new
    new.tally.evaluated += 1
    whole = [record for record in session.adopts if not _lacking(link, record["cut"])]
    if whole:
        givers = [record["from"] for record in whole if not _had_state(link, record["from"])]
        # 1. The cut names numbers of the new instance, which begin at 1. 2. So the state's own words cannot show that
        #    it has what the old one left. 3. Its giver can: it went over with the cut, or took a state over itself.
        if len(givers) == len(whole):
            told = f"no log tells that {givers[0]}, who gave {session.process} a state, had what {link.old.name} left"
            new.tally.doubt(1, told)
        return
    if not session.adopts:
        told = f"no record tells whether {session.process}, a member before, took over the state of {link.old.name}"
        new.tally.doubt(1, told)
        return
    sender, number = _lacking(link, session.adopts[0]["cut"])[0]
    more: dict[str, Any] = {"instance": new.name, "other_instance": link.old.name, "sender": sender, "number": number}
    new.tally.violate(1, kind="poor", **place_of(session.adopts[0]), **more)


def _had_state(link: SuccessionLink, giver: str) -> bool:
    """Tell whether the process went over with the cut, or took over a state of the instance."""
    session = link.new.sessions.get(giver)
    adopts = session.adopts if session is not None else []
    return any(not _lacking(link, record["cut"]) for record in adopts) or has_cut(link, giver)


def _lacking(link: SuccessionLink, cut: dict[str, int]) -> list[tuple[str, int]]:
    """Return per sender the first message of the succeeded cut that `cut` lacks.

    `cut` has the new instance's numbers. Where these begin anew its base lacks what was before, and the giver tells.
    """
    found = []
    for who, numbers in sorted(link.claim.required.items()):
        rest = numbers.minus(numbers.above(link.new.base.get(who, 0))).above(cut.get(who, 0))
        found += [(who, rest.lowest)] if rest else []
    return found
