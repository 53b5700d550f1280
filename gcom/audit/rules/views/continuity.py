"""CONTINUITY: the instances of a name follow one another, and each has what its predecessor settled and confirmed.

The clauses (a) to (d) of DELIVERY_LOG.md, as decision 0005 reads them:

a. `_Lineage` judges the order of instances: one origin, one predecessor and at most one successor each.
   `judge_later_views` judges that no process goes on above the view that was succeeded.
b. `judge_succession` judges the messages that go over: the cut is what each process had settled, and contains what was
   confirmed. `Inheritance` judges this where there is no cut, and for processes that were put out and come back.
c. `_Lineage._judge_destinations` judges that `into` leads to descendants.
d. `_Lineage._judge_adoptions` judges that a process without the cut takes over a state that has it.

The work is per instance, process and sender, as all sets of messages are ranges. A case counts at one instance: the end
of a session and a confirmed message at the instance that ended, a beginning and an entry at the new one.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.rule import AuditRule, Projection, always, place_of
from gcom.audit.rules.views.inheritance import Inheritance
from gcom.audit.rules.views.succession import (
    ENDED,
    NAME,
    JudgedInstance,
    SuccessionLink,
    has_cut,
    judge_adoption,
    judge_last,
    judge_later_views,
    judge_succession,
)
from gcom.audit.summary.lineage import successions_in
from gcom.values.names import name_of


def judge_continuity(judgements: list[Judgement], coverage: dict[str, str]) -> list[str]:
    """Add the rule's cases to each judgement's tally; return notes on messages that an operator gave up."""
    by_name: dict[str, dict[str, JudgedInstance]] = defaultdict(dict)
    for judgement in sorted(judgements, key=lambda each: each.key):
        name, instance = judgement.key
        by_name[name][instance] = JudgedInstance(judgement, coverage)
    entered = {session.process for each in judgements for session in each.sessions if session.views}
    idle = {name_of(process) for process in coverage.keys() - entered}
    return [f"{name}: {note}" for name, instances in by_name.items() for note in _Lineage(instances, idle).judge()]


class _Lineage:
    """All instances of one name. `idle` are the members of which some incarnation is in no view of any group."""

    def __init__(self, instances: dict[str, JudgedInstance], idle: set[str]) -> None:
        self._instances = instances
        self._idle = idle
        self._links = [
            SuccessionLink(instances[claim.instance], new, claim)
            for new in instances.values()
            for claim in new.succeeds
            if claim.instance in instances
        ]

    def judge(self) -> list[str]:
        self._judge_origins()
        for instance in self._instances.values():
            self._judge_beginning(instance)
            self._judge_destinations(instance)
            self._judge_successors(instance)
        notes = []
        for link in self._links:
            judge_later_views(link)
            # Where the name was founded anew there is no cut: `Inheritance` tells what is lost.
            if link.claim.by != ENDED:
                notes += judge_succession(link)
        # An instance that succeeds itself is a violation already, and what it began with cannot be worked out.
        if not any(self._descends(name, name) for name in self._instances):
            Inheritance(self._instances, self._links, lambda name: self._ancestors(name)[0], self._idle).judge()
        self._judge_adoptions()
        return notes

    # (a) and (c): what succeeds what

    def _judge_origins(self) -> None:
        """Judge that a name has one origin. Logs without any `succeeds` or `into`, as older ones, cannot tell."""
        instances = self._instances.values()
        if len(instances) < 2:
            return
        origins = [each for each in instances if each.founders and not each.succeeds]
        # Logs of a GCom that wrote neither field cannot say what follows what: then several origins are no error.
        known = any(each.succeeds or each.destinations() for each in instances)
        for each in instances:
            each.tally.evaluated += 1
            if not each.founders:
                each.tally.doubt(1, f"the first view of instance {each.name} is in no log")
        # Several instances that succeed nothing are an error only where logs could say what succeeds what; a side of
        # a PARTITIONABLE group begins anew without saying it (decision 0005).
        strangers = len(origins) > 1 and self._falls_apart()
        for each in origins if len(origins) > 1 else ():
            if known and all(other.primary for other in instances):
                others = [other.name for other in origins if other is not each]
                each.tally.violate(
                    1, kind="origins", instance=each.name, others=others, **place_of(each.founders[0].first)
                )
            elif strangers:
                each.tally.doubt(1, f"{len(origins)} instances of the name do not say which they succeed")

    def _falls_apart(self) -> bool:
        """Tell whether the graph of the instances is not connected: its edges are successions, and processes that went
        over.
        """
        beside: dict[str, set[str]] = {name: set() for name in self._instances}
        for name, each in self._instances.items():
            for other in {*each.parents(), *each.destinations()} & beside.keys():
                beside[name].add(other)
                beside[other].add(name)
        # All that can be reached from one instance, over links in either direction.
        ends = [min(beside)]
        found = {*ends}
        # It ends: each instance is added once.
        while ends:
            new = beside[ends.pop()] - found
            found |= new
            ends += sorted(new)
        return found != beside.keys()

    def _judge_beginning(self, new: JudgedInstance) -> None:
        """Judge that all founders of an instance claim the same predecessors, and such as it may have."""
        # All who install view 1 write the same `succeeds`: it is part of what was decided.
        unlike = [session for session in new.founders if successions_in(session.first) != new.succeeds]
        if not new.succeeds and not unlike:
            return
        new.tally.evaluated += 1
        begun = {"instance": new.name, **place_of(new.founders[0].first)}
        if unlike:
            more = {**place_of(unlike[0].first), "instance": new.name, "other": new.founders[0].process}
            new.tally.violate(1, kind="unlike", **more)
        if new.primary and len(new.parents()) > 1:
            new.tally.violate(1, kind="predecessors", others=new.parents(), **begun)
        # The ancestors of an instance are found by its claims, so one that claims its own descendant is among them.
        if self._descends(new.name, new.name):
            new.tally.violate(1, kind="cycle", **begun)
        self._judge_serial(new)
        for claim in new.succeeds:
            # A dissolved group (`ended`) left nothing to go on from, so its logs are not needed.
            if claim.by != ENDED and claim.instance not in self._instances:
                new.tally.doubt(1, f"no log tells of instance {claim.instance}, which {new.name} succeeds")
            if claim.by != ENDED and (claim.view is None or claim.cut is None):
                new.tally.doubt(1, f"{new.name} does not tell which view and cut of {claim.instance} it succeeds")

    def _judge_serial(self, new: JudgedInstance) -> None:
        """Judge that all that begin the new instance begin it after the last serial of the succeeded view."""
        claim = new.succeeds[0] if len(new.succeeds) == 1 else None
        # Of two predecessors there is no one last serial to go on from.
        if claim is None or claim.serial is None or claim.by == ENDED or not (new.primary and new.reliable):
            return
        for session in new.founders:
            # Serials go on in the successor, numbers begin again (decision 0005).
            serial = session.first.get("base_serial", 0)
            if serial != claim.serial:
                more = {"instance": new.name, "serial": serial, "last": claim.serial, "other_instance": claim.instance}
                new.tally.violate(1, kind="serial", **place_of(session.first), **more)

    def _ancestors(self, name: str) -> tuple[set[str], bool]:
        """Return all instances before `name`, and whether the logs tell of all of them."""
        found: set[str] = set()
        whole, ends = True, [name]
        # It ends: beside `name`, which may be its own ancestor, each instance is added once.
        while ends:
            each = self._instances.get(ends.pop())
            # An instance without its view 1 does not tell what it succeeds: its ancestors are not known.
            if each is None or not each.founders:
                whole = False
                continue
            new = set(each.parents()) - found
            found |= new
            ends += sorted(new)
        return found, whole

    def _descends(self, name: str, ancestor: str) -> bool | None:
        """Return whether `name` descends from `ancestor`; None if the logs do not tell."""
        found, whole = self._ancestors(name)
        return True if ancestor in found else False if whole else None

    def _judge_destinations(self, old: JudgedInstance) -> None:
        """Judge that `into` leads to descendants; for a PARTITIONABLE name, to an instance of the same origin."""
        for session in old.sessions.values():
            if session.into is None:
                continue
            old.tally.evaluated += 1
            fits = self._fits(old, session.into)
            if fits is None:
                old.tally.doubt(
                    1, f"no log tells whether {session.into} comes from {old.name}, which {session.process} left"
                )
            elif not fits:
                more = {"instance": old.name, "into": session.into}
                old.tally.violate(1, kind="stranger", **place_of(session.end), **more)

    def _fits(self, old: JudgedInstance, into: str) -> bool | None:
        """Return whether a process may go from `old` over to `into`; None if the logs do not tell."""
        # "Into" the instance that it left is not going over: it would be its own successor.
        if into == old.name:
            return False
        # 1. A PARTITIONABLE group is cut into two sides, each with an instance. 2. The sides merge: the members of one
        # go over to the other's instance. 3. That is no descendant of theirs, but has the same origin.
        if old.primary or into not in self._instances:
            return self._descends(into, old.name)
        mine, _ = self._ancestors(old.name)
        theirs, _ = self._ancestors(into)
        # The same origin: they share an instance, or one is the other's ancestor.
        related = {*mine, old.name} & {*theirs, into}
        # Not related is never known: a side that begins anew does not say what it follows (decision 0005).
        return True if related else None

    def _judge_successors(self, old: JudgedInstance) -> None:
        """Judge that a PRIMARY instance has at most one successor."""
        following = sorted({link.new.name for link in self._links if link.old is old})
        if old.primary and not following:
            judge_last(old)
        old.tally.evaluated += bool(following)
        if old.primary and len(following) > 1:
            first = next(link.new.founders[0].first for link in self._links if link.new.name == following[1])
            old.tally.violate(1, kind="successors", instance=old.name, others=following, **place_of(first))

    # (d): what a process has that enters

    def _judge_adoptions(self) -> None:
        """Judge that a process that enters without having settled the cut takes over a state that has it.

        The state may come in the log behind the first deliveries, as messages are delivered while it is on its way.
        """
        stateful = any(session.adopts for each in self._instances.values() for session in each.sessions.values())
        earlier = {name: self._names_before(name) for name in self._instances}
        for link in self._links:
            # A group that was made anew owes nothing; without a cut, or over BASIC, nobody can say what would be
            # owed.
            if link.claim.by == ENDED or link.claim.cut is None or not link.old.reliable:
                continue
            for session in link.new.sessions.values():
                if session.views and not session.has_gap and not has_cut(link, session.process):
                    returns = stateful and name_of(session.process) in earlier[link.new.name]
                    judge_adoption(link, session, returns=returns)

    def _names_before(self, name: str) -> set[str]:
        """Return the members of the instances before `name`."""
        found, _ = self._ancestors(name)
        sessions = [
            session for each in found & self._instances.keys() for session in self._instances[each].sessions.values()
        ]
        return {name_of(session.process) for session in sessions if session.views}


def _sentence(e: dict[str, Any]) -> str:
    text = _SENTENCES[e["kind"]].format(**e, listed=", ".join(e.get("others", ())), what=_what(e))
    return text[0].upper() + text[1:] if e["kind"] in ("confirmed", "returned") else text


def _what(e: dict[str, Any]) -> str:
    return f"message {e['number']} of {e['sender']}" if "number" in e else "what was before"


_SENTENCES = {
    "origins": "Instance {instance} succeeds nothing, and neither does {listed}: the name has more than one origin.",
    "unlike": "{process} and {other} name unlike predecessors of instance {instance}.",
    "predecessors": "Instance {instance} has more than one predecessor: {listed}.",
    "cycle": "Instance {instance} succeeds itself.",
    "stranger": "{process} left instance {instance} for {into}, which does not come from it.",
    "successors": "Instance {instance} has more than one successor: {listed}.",
    "later": "{process} installed view {view} of instance {instance} and went on, "
    "but instance {other_instance} succeeds view {succeeded}.",
    "gone": "{process} went from instance {instance} into {other_instance}, which began with it proved dead.",
    "short": "{process} went from instance {instance} into {other_instance} without {what}, which is in the cut.",
    "beyond": "{process} went from instance {instance} into {other_instance} with {what}, which is not in the cut.",
    "confirmed": "{what} was confirmed in instance {instance}, and {process} went on, "
    "but it is not in what {other_instance} begins with.",
    "returned": "{what} was confirmed in instance {instance}, and {process} had it and came back to {other_instance}, "
    "which began without it (what an application was handed to keep aside the group has lost all the same).",
    "serial": "{process} began instance {instance} after serial {serial}, but {other_instance} ended with {last}.",
    "poor": "{process} took over a state of instance {instance} without {what}, which {other_instance} had.",
}

RULE = AuditRule(
    NAME,
    "The next instance has what this one settled and confirmed.",
    always,
    _sentence,
    projection=Projection(members=True, instances=True),
)
