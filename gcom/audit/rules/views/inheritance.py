"""The messages that an instance takes over from earlier ones, and those that a returning process lost (CONTINUITY).

Numbers begin again in each instance, so no `adopt` tells what a state has of an earlier one. View 1 tells:

- A view 1 that succeeds a view has the cut of that view, and all that its predecessor had. Where no founder had a state
  there, nobody can say more than what they delivered.
- A view 1 that follows an instance which is over (`ended`) has what its founder had: an earlier incarnation of it, put
  out and on its way back, takes its state along; anybody else has nothing.

Every joiner is given that state. So a process that comes back and adopts a state there has lost what the state lacks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from gcom.audit.rules.views.succession import (
    ENDED,
    JudgedInstance,
    Loss,
    Share,
    SuccessionLink,
    common,
    judge_confirmed,
    record_loss,
    told_of_the_end,
)
from gcom.audit.summary.intervals import Numbers, add_numbers
from gcom.audit.summary.lineage import SessionSummary
from gcom.values.names import name_of

# Reasons of ends after which a process brings no state back: its own will, a defect, or that all had left.
_BRINGS_NOTHING_BACK = ("request", "exit", "defect", "dissolved")
_NOTHING_OWED = Share(owed=frozenset())


class Inheritance:
    """All instances of one name, of which none succeeds itself; `before` returns the instances before one.

    `idle` are the members of which some incarnation is in no view of any group.
    """

    def __init__(
        self,
        instances: dict[str, JudgedInstance],
        links: list[SuccessionLink],
        before: Callable[[str], set[str]],
        idle: set[str],
    ) -> None:
        self._instances = instances
        self._links = links
        self._idle = idle
        self._before = {name: before(name) & instances.keys() for name in instances}
        self._shares: dict[str, dict[str, Share]] = {}
        self._sessions: dict[str, list[tuple[JudgedInstance, SessionSummary]]] = defaultdict(list)  # by member
        for each in instances.values():
            for session in each.sessions.values():
                if session.views:
                    self._sessions[name_of(session.process)].append((each, session))

    def judge(self) -> None:
        """Judge the losses where a name was founded anew, and those of processes that came back."""
        for link in self._links:
            if link.claim.by == ENDED and _is_judged(link.old) and not link.old.is_dissolved:
                self._judge_founding(link)
        # An instance that all have left by their own will owes nothing to anybody.
        for old in self._instances.values():
            if _is_judged(old) and not old.is_dissolved:
                for session in old.sessions.values():
                    self._judge_return(old, session)

    def _judge_founding(self, link: SuccessionLink) -> None:
        """Judge that the new instance has each message, confirmed in the old one or earlier, that a process which
        outlives the old one had.
        """
        judge_confirmed(link, self._shares_of(link.new.name)[link.old.name])
        for session in link.old.outliving(link.claim.gives_up):
            inherited = [(each, had) for each, had in self._had(link.old, session) if each is not link.old]
            self._lose(
                link.new, link.old, session, inherited, "confirmed", sure=not told_of_the_end(link.claim, session)
            )

    def _judge_return(self, old: JudgedInstance, session: SessionSummary) -> None:
        """Judge that a process that was put out, and came back to another instance, finds there what it had."""
        back = self._back(old, session)
        had = [(each, common(each.confirmed, numbers)) for each, numbers in self._had(old, session)]
        if back is None or not any(numbers for _, numbers in had):
            return
        old.tally.evaluated += 1
        new, follows = back
        if not follows:
            told = f"{session.process} came back to {new.name}, and no log tells whether that follows {old.name}"
            old.tally.doubt(1, told)
            return
        # A loss is certain only if the returning process still had its state. 1. It is put out, and its node ends on
        # the way back. 2. It is started again under that name, without a state. 3. The log of the way back shows it: an
        # incarnation that is in no view (`idle`).
        name = name_of(session.process)
        adopted = any(each is new and _has_founders_state(new, other, set()) for each, other in self._sessions[name])
        sure = adopted and session.process in old.closed and name not in self._idle
        self._lose(new, old, session, had, "returned", sure=sure)

    def _back(self, old: JudgedInstance, session: SessionSummary) -> tuple[JudgedInstance, bool] | None:
        """Return the instance to which the process came back first, and whether that follows the one that it left.

        None if it came back to none, or if another judgement covers its return.
        """
        if not session.views or not session.end or session.reason in _BRINGS_NOTHING_BACK:
            return None
        found = self._sessions[name_of(session.process)]
        # It came back to the same instance: nothing goes over.
        if any(each is old and other.views[0] > session.views[-1] for each, other in found):
            return None
        names = {each.name for each, _ in found} - {old.name} - self._before[old.name]
        after = [name for name in names if old.name in self._before[name]]
        if not after:
            # Clause (c) judges a process that went `into` an instance.
            strange = names and session.into is None
            return (self._instances[min(names)], False) if strange else None
        new = self._instances[min(after, key=lambda name: (len(self._before[name]), name))]
        on_the_way = [link for link in self._links if link.new.name in {new.name, *self._before[new.name]}]
        if not _is_judged(new) or any(session.process in link.claim.gives_up for link in on_the_way):
            return None
        outlives = session.outlives(session.process in old.closed)
        # A process that outlives the old instance is judged with the succession itself (judge_confirmed).
        judged = outlives and any(link.old is old and link.new is new for link in self._links)
        return None if judged else (new, True)

    def _lose(
        self,
        new: JudgedInstance,
        old: JudgedInstance,
        session: SessionSummary,
        had: list[tuple[JudgedInstance, Numbers]],
        kind: str,
        *,
        sure: bool,
    ) -> None:
        """Record the loss of each confirmed message that the process had and the new instance lacks."""
        for each, numbers in had:
            share = self._shares_of(new.name).get(each.name, _NOTHING_OWED)
            for sender, lost in share.lacks(common(each.confirmed, numbers)).items():
                loss = Loss(kind, session.process, each.name, new.name, sender, lost)
                record_loss(old, loss, sure=sure and share.sure)

    def _had(self, old: JudgedInstance, session: SessionSummary) -> Iterator[tuple[JudgedInstance, Numbers]]:
        """Yield the messages that a process had, by the instance of their numbers."""
        yield old, session.delivered
        # Messages of earlier instances came with the state that this one began with: to its founders, and by `adopt`.
        if session.first or session.adopts:
            for name, share in self._shares_of(old.name).items():
                yield self._instances[name], share.numbers

    def _shares_of(self, name: str) -> dict[str, Share]:
        """Return what an instance begins with, by each instance before it."""
        # Kept, as each instance asks for those before it, back to the origin.
        if name not in self._shares:
            shares: dict[str, Share] = {}
            for link in self._links:
                if link.new.name == name:
                    shares |= self._by_founder(link) if link.claim.by == ENDED else self._by_cut(link)
            self._shares[name] = shares
        return self._shares[name]

    def _by_cut(self, link: SuccessionLink) -> dict[str, Share]:
        claim = link.claim
        # Without a cut nobody knows what the new instance has; _judge_beginning() has recorded that doubt.
        cut = _NOTHING_OWED if claim.cut is None else link.share
        before = self._shares_of(link.old.name)
        if not link.is_cut_sure:
            before = {name: Share(owed=share.owed, sure=False) for name, share in before.items()}
        return {**before, link.old.name: cut}

    def _by_founder(self, link: SuccessionLink) -> dict[str, Share]:
        names = {link.old.name, *self._before[link.old.name]}
        if link.old.is_dissolved:
            return dict.fromkeys(names, _NOTHING_OWED)  # all left, and nobody is owed anything
        founder = link.new.founders[0].process
        shares = dict.fromkeys(names, Share())
        # The latest instance that the founder's member was in: the one with the most instances before it.
        for name in sorted(names, key=lambda name: (len(self._before[name]), name), reverse=True):
            own = _own_share(self._instances[name], founder)
            if own is not None:
                return {**shares, **self._shares_of(name), name: own}
        return shares


def _own_share(instance: JudgedInstance, founder: str) -> Share | None:
    """Return what a founder has of an instance in which it was under another incarnation; None: it was not."""
    former = {who for members in instance.members.values() for who in members if name_of(who) == name_of(founder)}
    former -= {founder}
    sessions = [instance.sessions[who] for who in sorted(former & instance.sessions.keys())]
    sessions = [session for session in sessions if session.views]
    # A session without an end, of a log that merely stops, may have had one.
    kept = [
        each
        for each in sessions
        if (each.reason not in _BRINGS_NOTHING_BACK if each.end else each.process not in instance.closed)
    ]
    sure = len(sessions) == len(former) and all(each.end and not each.has_gap for each in kept)
    if not kept:
        return None if sure else Share(sure=False)
    numbers: Numbers = {}
    for session in kept:
        add_numbers(numbers, session.settled)
    # Messages of senders that were gone before its first view came with its state. No log tells which: none is owed.
    since = min(session.views[0] for session in kept)
    senders = (who for view, members in instance.members.items() if view >= since for who in members)
    return Share(numbers, frozenset(senders), sure)


def _is_judged(instance: JudgedInstance) -> bool:
    # Sides of a PARTITIONABLE name have states of their own, and BASIC promises no common one.
    return instance.primary and instance.reliable


def _has_founders_state(new: JudgedInstance, session: SessionSummary, asked: set[str]) -> bool:
    """Tell whether the process's state came from a founder, directly or through other donors; `asked` are the donors
    followed so far.
    """
    # Otherwise it may be the donor's own: where the founder's state was lost, a donor that was put out, as this process
    # was, goes on with the state that it kept.
    for adopt in session.adopts:
        giver = new.sessions.get(adopt["from"])
        if giver is None or giver.process in asked:
            continue
        if giver.first or _has_founders_state(new, giver, asked | {giver.process}):
            return True
    return False
