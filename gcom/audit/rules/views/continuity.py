"""CONTINUITY: the next instances of a name have all that an instance settled and confirmed (decision 0005).

The work is per instance, process and sender: a cut, and the messages settled, delivered or confirmed, are ranges. A
case is counted at one instance: the end of a session and a confirmed message at the instance that ended; the beginning
of an instance and the entry of a process at the new one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.rule import AuditRule, Projection, always
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.lineage import SessionSummary, SucceedsRecord, successions_in
from gcom.values.names import name_of

NAME = "CONTINUITY"
ENDED = "ended"  # dissolved and made again: nothing went over
Numbers = dict[str, Intervals]


class _Instance:
    """One life of a name."""

    def __init__(self, judgement: Judgement, coverage: dict[str, str]) -> None:
        self.name = judgement.key[1]
        self.tally = judgement.tallies[NAME]
        self.members = judgement.members
        self.sessions = {each.process: each for each in sorted(judgement.sessions, key=lambda each: each.process)}
        self.closed = {who for who, state in coverage.items() if state == "closed"}
        self.firsts = [session for session in self.sessions.values() if session.first]
        self.succeeds = successions_in(self.firsts[0].first) if self.firsts else []
        lowest = min((session.lowest for session in self.sessions.values() if session.lowest), key=_by_view, default={})
        self.primary = lowest.get("netsplit", "PRIMARY") == "PRIMARY"
        self.reliable = lowest.get("multicast") == "RELIABLE"
        self.safe = lowest.get("safe", False)
        self.base: dict[str, int] = self.firsts[0].first.get("base", {}) if self.firsts else {}

    def parents(self) -> list[str]:
        return sorted({each.instance for each in self.succeeds})

    def outliving(self, given_up: frozenset[str]) -> list[SessionSummary]:
        """Return the sessions that went on after the instance, by process."""
        sessions = self.sessions.values()
        return [
            session
            for session in sessions
            if session.process not in given_up and session.outlives(session.process in self.closed)
        ]


def _by_view(record: dict[str, Any]) -> tuple[int, str]:
    return record["view"], record["process"]


@dataclass(frozen=True, slots=True)
class _Link:
    """A succession: `new` says in its first view that it succeeds `old`."""

    old: _Instance
    new: _Instance
    said: SucceedsRecord

    @property
    def streams(self) -> set[str]:
        """Return the senders that the cut is about: streams of others ended in earlier views, by their rules."""
        return {*(self.said.cut or {}), *self.old.members.get(self.said.view or 0, ())}


def judge_continuity(judgements: list[Judgement], coverage: dict[str, str]) -> list[str]:
    """Add the rule's cases to each judgement's tally; return notes on messages that an operator gave up."""
    by_name: dict[str, dict[str, _Instance]] = defaultdict(dict)
    for judgement in sorted(judgements, key=lambda each: each.key):
        name, instance = judgement.key
        by_name[name][instance] = _Instance(judgement, coverage)
    return [f"{name}: {note}" for name, instances in by_name.items() for note in _Lineage(instances).judge()]


class _Lineage:
    """All instances of one name."""

    def __init__(self, instances: dict[str, _Instance]) -> None:
        self._instances = instances
        self._links = [
            _Link(instances[said.instance], new, said)
            for new in instances.values()
            for said in new.succeeds
            if said.instance in instances
        ]

    def judge(self) -> list[str]:
        self._judge_origins()
        for instance in self._instances.values():
            self._judge_beginning(instance)
            self._judge_destinations(instance)
            self._judge_successors(instance)
        notes = []
        for link in self._links:
            _judge_later_views(link)
            if link.said.by != ENDED:
                notes += _judge_link(link)
        self._judge_adoptions()
        return notes

    # What comes after what

    def _judge_origins(self) -> None:
        """Judge that a name has one origin; logs none of which has `succeeds` cannot tell."""
        lives = self._instances.values()
        if len(lives) < 2:
            return
        origins = [each for each in lives if each.firsts and not each.succeeds]
        known = any(
            each.succeeds or any(session.into is not None for session in each.sessions.values()) for each in lives
        )
        for each in lives:
            each.tally.evaluated += 1
            if not each.firsts:
                each.tally.doubt(1, f"the first view of instance {each.name} is in no log")
        # Several instances that succeed nothing are an error only where logs could say what succeeds what; a side of
        # a PARTITIONABLE group begins anew without saying it (decision 0005).
        strangers = len(origins) > 1 and self._falls_apart()
        for each in origins if len(origins) > 1 else ():
            if known and all(life.primary for life in lives):
                others = [other.name for other in origins if other is not each]
                each.tally.violate(1, kind="origins", instance=each.name, others=others, **_where(each.firsts[0].first))
            elif strangers:
                each.tally.doubt(1, f"{len(origins)} instances of the name do not say which they succeed")

    def _falls_apart(self) -> bool:
        """Tell whether some instances are unconnected to the others: none succeeds them, and no process goes over."""
        beside: dict[str, set[str]] = {name: set() for name in self._instances}
        for name, each in self._instances.items():
            went = {session.into for session in each.sessions.values() if session.into is not None}
            for other in {*each.parents(), *went} & beside.keys():
                beside[name].add(other)
                beside[other].add(name)
        found, ends = set[str](), [min(beside)]
        while ends:
            name = ends.pop()
            found.add(name)
            ends += sorted(beside[name] - found)
        return found != beside.keys()

    def _judge_beginning(self, new: _Instance) -> None:
        # All who install view 1 write the same `succeeds`: it is part of what was decided.
        unlike = [session for session in new.firsts if successions_in(session.first) != new.succeeds]
        if not new.succeeds and not unlike:
            return
        new.tally.evaluated += 1
        begun = {"instance": new.name, **_where(new.firsts[0].first)}
        if unlike:
            more = {**_where(unlike[0].first), "instance": new.name, "other": new.firsts[0].process}
            new.tally.violate(1, kind="unlike", **more)
        if new.primary and len(new.parents()) > 1:
            new.tally.violate(1, kind="predecessors", others=new.parents(), **begun)
        if self._descends(new.name, new.name):
            new.tally.violate(1, kind="cycle", **begun)
        self._judge_serial(new)
        for said in new.succeeds:
            # What was dissolved left nothing to go on from, so that nobody needs its logs.
            if said.by != ENDED and said.instance not in self._instances:
                new.tally.doubt(1, f"no log tells of instance {said.instance}, which {new.name} succeeds")
            if said.by != ENDED and (said.view is None or said.cut is None):
                new.tally.doubt(1, f"{new.name} does not tell which view and cut of {said.instance} it succeeds")

    def _judge_serial(self, new: _Instance) -> None:
        """Judge that all that begin the new instance begin it after the last serial of the succeeded view."""
        said = new.succeeds[0] if len(new.succeeds) == 1 else None
        # Of two predecessors there is no one last serial to go on from.
        if said is None or said.serial is None or said.by == ENDED or not (new.primary and new.reliable):
            return
        for session in new.firsts:
            serial = session.first.get("base_serial", 0)
            if serial != said.serial:
                more = {"instance": new.name, "serial": serial, "last": said.serial, "other_instance": said.instance}
                new.tally.violate(1, kind="serial", **_where(session.first), **more)

    def _ancestors(self, name: str) -> tuple[set[str], bool]:
        """Return all instances before `name`, and whether the logs tell of all of them."""
        found: set[str] = set()
        whole, ends = True, [name]
        while ends:
            each = self._instances.get(ends.pop())
            if each is None or not each.firsts:
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

    def _judge_destinations(self, old: _Instance) -> None:
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
                old.tally.violate(1, kind="stranger", **_where(session.end), **more)

    def _fits(self, old: _Instance, into: str) -> bool | None:
        if into == old.name:
            return False
        # Sides of a PARTITIONABLE name merge: who goes over comes from a brother, not from an ancestor. There a
        # common origin is all that can be asked.
        if old.primary or into not in self._instances:
            return self._descends(into, old.name)
        mine, whole = self._ancestors(old.name)
        theirs, whole_too = self._ancestors(into)
        related = {*mine, old.name} & {*theirs, into}
        return True if related else False if whole and whole_too else None

    def _judge_successors(self, old: _Instance) -> None:
        following = sorted({link.new.name for link in self._links if link.old is old})
        if old.primary and not following:
            _judge_last(old)
        old.tally.evaluated += bool(following)
        if old.primary and len(following) > 1:
            first = next(link.new.firsts[0].first for link in self._links if link.new.name == following[1])
            old.tally.violate(1, kind="successors", instance=old.name, others=following, **_where(first))

    # Who enters

    def _judge_adoptions(self) -> None:
        """Judge that a process that enters without having settled the cut takes over a state with it.

        Messages wait for the state that they follow: a log may have them first.
        """
        stateful = any(session.adopts for each in self._instances.values() for session in each.sessions.values())
        earlier = {name: self._names_before(name) for name in self._instances}
        for link in self._links:
            if link.said.by == ENDED or link.said.cut is None or not link.old.reliable:
                continue
            for session in link.new.sessions.values():
                if session.views and not session.has_gap and not _has_cut(link, session.process):
                    returns = stateful and name_of(session.process) in earlier[link.new.name]
                    _judge_adoption(link, session, returns=returns)

    def _names_before(self, name: str) -> set[str]:
        """Return the members of the instances before `name`."""
        found, _ = self._ancestors(name)
        sessions = [
            session for each in found & self._instances.keys() for session in self._instances[each].sessions.values()
        ]
        return {name_of(session.process) for session in sessions if session.views}


def _where(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("process", "at", "view", "file", "line")}


# What one instance leaves to the next


def _judge_later_views(link: _Link) -> None:
    """Judge that no process that goes on after the instance installed a view above the succeeded one."""
    old, said = link.old, link.said
    if not old.primary or said.view is None:
        return
    old.tally.evaluated += 1
    more = {"instance": old.name, "other_instance": link.new.name}
    for session in old.outliving(said.gives_up):
        if session.views[-1] > said.view:
            where = {"process": session.process, "view": session.views[-1]}
            old.tally.violate(1, kind="later", succeeded=said.view, **where, **more)
    for session in old.sessions.values():
        if session.process in said.gone and session.into is not None:
            old.tally.violate(1, kind="gone", **_where(session.end), **more)


def _judge_last(old: _Instance) -> None:
    """Record a doubt per process that detached in the last view, if no other instance says that it goes on."""
    for session in old.sessions.values():
        # Nobody else says that the group went on, and who detached waited for that: it may have, in logs that are not
        # here.
        waits = session.end and session.into is None and session.outlives(closed=True) and not session.has_gap
        if waits and session.views[-1] == max(old.members):
            old.tally.doubt(
                1, f"{session.process} detached in the last view of {old.name}, and no log tells who goes on"
            )


def _judge_link(link: _Link) -> list[str]:
    old, said = link.old, link.said
    if old.primary and said.view is not None:
        _judge_coverage(link, said.view)
    if not old.reliable or said.cut is None:
        return []
    if said.view is not None:
        _judge_settled(link, said.view)
    return _judge_confirmed(link) if old.primary else []


def _judge_coverage(link: _Link, view: int) -> None:
    """Record a doubt per member of the last view whose end no log tells: it may have gone on."""
    old, said = link.old, link.said
    # Who was in the view is what the rule is about.
    if view not in old.members:
        old.tally.doubt(1, f"no log tells of view {view} of {old.name}, which {link.new.name} succeeds")
    # Members of the succeeded view, and of a later one: who installed that went on without the successor knowing.
    last = {view, max(old.members, default=view)} & old.members.keys()
    for who in sorted({who for each in last for who in old.members[each]} - said.gone - said.gives_up):
        session = old.sessions.get(who)
        if who not in old.closed and (session is None or not session.end):
            old.tally.doubt(1, f"nothing tells how the session of {who} in {old.name} ended")


def _judge_settled(link: _Link, view: int) -> None:
    """Judge that each process that goes over from the succeeded view has settled exactly its cut."""
    old, said = link.old, link.said
    required, cut = said.required, said.cut or {}
    for session in old.sessions.values():
        if (
            session.has_gap
            or session.into != link.new.name
            or session.process in said.gives_up
            or session.views[-1:] != [view]
        ):
            continue
        old.tally.evaluated += 1
        for sender in sorted(link.streams):
            settled = session.settled.get(sender, Intervals())
            # Exactly the cut: less is a loss at this one, more a loss at all others.
            missing = required.get(sender, Intervals()).minus(settled)
            beyond = settled.above(cut.get(sender, 0))
            if missing or beyond:
                more = {"instance": old.name, "other_instance": link.new.name, "sender": sender}
                kind, number = ("short", missing.lowest) if missing else ("beyond", beyond.lowest)
                old.tally.violate(1, kind=kind, number=number, **_where(session.end), **more)


def _judge_confirmed(link: _Link) -> list[str]:
    """Judge that each confirmed message that a process going on had is in the cut. Returns notes on messages that only
    processes given up by an operator had.
    """
    old, said = link.old, link.said
    outliving = old.outliving(said.gives_up)
    given_up = [session for who, session in old.sessions.items() if who in said.gives_up]
    exempt = 0
    for sender, numbers, held in _confirmed(link, outliving):
        rest = numbers.minus(said.required.get(sender, Intervals()))
        lost = held.minus(held.minus(rest))
        holder = min((session.process for session in outliving), default="") if lost else ""
        for session in outliving:
            theirs = session.delivered.get(sender, Intervals())
            had = rest.minus(rest.minus(theirs))
            holder = session.process if had and not lost else holder
            lost = lost.union(had)
        if lost:
            more = {"instance": old.name, "other_instance": link.new.name, "number": lost.lowest}
            old.tally.violate(len(lost), kind="confirmed", process=holder, sender=sender, **more)
        had_by_given_up: Intervals = Intervals()
        for session in given_up:
            theirs = session.delivered.get(sender, Intervals())
            had_by_given_up = had_by_given_up.union(rest.minus(rest.minus(theirs)))
        exempt += len(had_by_given_up.minus(lost))
    who = ", ".join(sorted(said.gives_up))
    told = f"{exempt} confirmed messages of {old.name} that only {who} had were given up for {link.new.name}"
    return [told] if exempt else []


def _confirmed(link: _Link, outliving: list[SessionSummary]) -> Iterator[tuple[str, Intervals, Intervals]]:
    """Yield per sender the confirmed numbers, and those of them that some process going on must have held."""
    old = link.old
    numbers: Numbers = {}
    held: Numbers = {}
    for session in old.sessions.values():
        if old.safe:
            for sender, delivered in session.delivered.items():
                numbers[sender] = numbers.get(sender, Intervals()).union(delivered)
            continue
        for (view, by), confirmed in session.confirmed.items():
            numbers[session.process] = numbers.get(session.process, Intervals()).union(confirmed)
            if _one_held(old.members.get(view, []), by, outliving):
                held[session.process] = held.get(session.process, Intervals()).union(confirmed)
    for sender, each in sorted((sender, each) for sender, each in numbers.items() if sender in link.streams):
        old.tally.evaluated += len(each)
        yield sender, each, held.get(sender, Intervals())


def _one_held(members: list[str], by: str, outliving: list[SessionSummary]) -> bool:
    """Tell whether so many of the view go on that one of them is among the holders of a message confirmed in it."""
    view = set(members)
    left = sum(session.process in view for session in outliving)
    # Those that go on and those that held the message are both subsets of the view: if their numbers add up to more
    # than the view's, they have a process in common.
    return left > 0 and left + (len(view) if by == "all" else len(view) // 2 + 1) > len(view)


def _has_cut(link: _Link, process: str) -> bool:
    """Tell whether the process, or an earlier one of its member, went over with all of the cut; a gap may hide that."""
    for session in link.old.sessions.values():
        over = session.into == link.new.name and name_of(session.process) == name_of(process)
        if session.views and (over or session.process == process):
            missing = any(each.minus(session.settled.get(who, Intervals())) for who, each in link.said.required.items())
            if session.has_gap or not missing:
                return True
    return False


def _judge_adoption(link: _Link, session: SessionSummary, *, returns: bool) -> None:
    if not session.adopts and (not session.deliveries or not returns):
        return
    new = link.new
    new.tally.evaluated += 1
    whole = [record for record in session.adopts if not _lacking(link, record["cut"])]
    if whole:
        givers = [record["from"] for record in whole if not _had_state(link, record["from"])]
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
    new.tally.violate(1, kind="poor", **_where(session.adopts[0]), **more)


def _had_state(link: _Link, giver: str) -> bool:
    """Tell whether the process went over with the cut, or took over a state of the instance."""
    session = link.new.sessions.get(giver)
    adopts = session.adopts if session is not None else []
    return any(not _lacking(link, record["cut"]) for record in adopts) or _has_cut(link, giver)


def _lacking(link: _Link, cut: dict[str, int]) -> list[tuple[str, int]]:
    """Return per sender the first message of the succeeded cut that `cut` lacks.

    `cut` has the new instance's numbers. Where these begin anew its base lacks what was before, and the giver tells.
    """
    found = []
    for who, numbers in sorted(link.said.required.items()):
        rest = numbers.minus(numbers.above(link.new.base.get(who, 0))).above(cut.get(who, 0))
        found += [(who, rest.lowest)] if rest else []
    return found


def _sentence(e: dict[str, Any]) -> str:
    text = _SENTENCES[e["kind"]].format(**e, listed=", ".join(e.get("others", ())), what=_what(e))
    return text[0].upper() + text[1:] if e["kind"] == "confirmed" else text


def _what(e: dict[str, Any]) -> str:
    return f"message {e['number']} of {e['sender']}" if "number" in e else "what was before"


_SENTENCES = {
    "origins": "Instance {instance} succeeds nothing, and neither does {listed}: the name has more than one origin.",
    "unlike": "{process} and {other} name unlike predecessors of instance {instance}.",
    "predecessors": "Instance {instance} has more than one predecessor: {listed}.",
    "cycle": "Instance {instance} succeeds itself.",
    "stranger": "{process} went from instance {instance} into {into}, which does not come from it.",
    "successors": "Instance {instance} has more than one successor: {listed}.",
    "later": "{process} installed view {view} of instance {instance} and went on, "
    "but instance {other_instance} succeeds view {succeeded}.",
    "gone": "{process} went from instance {instance} into {other_instance}, which began with it proved dead.",
    "short": "{process} went from instance {instance} into {other_instance} without {what}, which is in the cut.",
    "beyond": "{process} went from instance {instance} into {other_instance} with {what}, which is not in the cut.",
    "confirmed": "{what} was confirmed in instance {instance}, and {process} went on, "
    "but it is not in what {other_instance} begins with.",
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
