"""What a group's summaries say together: each rule of DELIVERY_LOG.md, over all processes of one (group, instance).

Sets are compared as ranges, which is exact. Orders and serials are compared as fingerprints: where these are equal the
rule holds, where they differ a `Look` asks for the messages themselves (detail_check.py).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from gcom.audit.rules.certificates import (
    begin_alike,
    begin_known,
    count_placed,
    deliver_their_own,
    has_duplicates,
    in_one_view_each,
    pass_alike,
    sends_once,
)
from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.missing_records import missing_records
from gcom.audit.rules.views import judge_first_serials, judge_views
from gcom.audit.summary.history import History, history_of
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.lineage import INTO, SessionSummary, session_of
from gcom.audit.summary.position import Key
from gcom.audit.summary.process import Fingerprints, add_prints
from gcom.audit.summary.sections import SectionSummary
from gcom.audit.summary.tally import Tally

RULES = (
    "NO_CREATION",
    "NO_DUPLICATION",
    "INTEGRITY",
    "SELF_DELIVERY",
    "AGREEMENT",
    "FIFO",
    "CAUSAL",
    "CLOCK",
    "TOTAL",
    "TOTAL_GAP_FREE",
    "SERIAL_UNIQUE",
    "SERIAL_CONTIGUOUS",
    "SENDING_VIEW",
    "VIEW_AGREEMENT",
    "VIRTUAL_SYNCHRONY",
    "ONE_LEADER",
    "CONTINUITY",
)
MOST = 4_000_000  # deliveries of one group up to which a closer look takes them all
_RANGES = 16  # of numbers that one example tells
_UNTOLD_ONLY = ("CLOCK", "SERIAL_CONTIGUOUS")  # a gap that a state makes up for hides nothing from these
_ALWAYS = ("NO_CREATION", "NO_DUPLICATION", "SENDING_VIEW", "CLOCK", "VIEW_AGREEMENT", "ONE_LEADER", "CONTINUITY")
_RELIABLE = ("SELF_DELIVERY", "AGREEMENT", "VIRTUAL_SYNCHRONY")
_TOTAL = ("TOTAL", "SERIAL_UNIQUE", "SERIAL_CONTIGUOUS")
_BY_ORDERING: dict[str, tuple[str, ...]] = {
    "NONORDERED": (),
    "FIFO": ("FIFO",),
    "CAUSAL": ("FIFO", "CAUSAL"),
    "TOTAL": _TOTAL,
    "CAUSALTOTAL": ("FIFO", "CAUSAL", *_TOTAL),
}


@dataclass(slots=True)
class Look:
    """Ask for the messages of these buckets, all of one `kind`; None: for all messages.

    A bucket is a number for serials, (view, number) for places in the order, (sender, number) for a sender's numbers.
    `buckets` says how many messages each has. `pairs` are, for TOTAL_GAP_FREE, the processes of a class whose orders of
    a view differ somewhere: (view, one, other). `messages` is, for SERIAL_UNIQUE, how many messages the buckets hold if
    each message has one serial; None where that is not known.
    """

    rule: str
    buckets: dict[Any, int] | None
    pairs: list[tuple[int, str, str]] = field(default_factory=list)
    messages: int | None = None

    @property
    def kind(self) -> str:
        """What the buckets are of."""
        return {"SERIAL_UNIQUE": "serials", "INTEGRITY": "numbers"}.get(self.rule, "places")


@dataclass(slots=True)
class Judgement:
    """Of one (group, instance). `looks` are what a rule's tally still lacks."""

    key: Key
    definition: dict[str, Any]
    expected: frozenset[str]
    tallies: dict[str, Tally]
    processes: list[str]
    views: int
    deliveries: int
    members: dict[int, list[str]]  # by view
    looks: list[Look] = field(default_factory=list)
    chains: dict[int, list[Any]] = field(default_factory=dict)  # of a large group: what each chain has (partial.py)
    history: History = field(default_factory=History)
    sends: int = 0
    unshown: str = ""  # why a promise that nothing breaks is not shown to be kept, where the logs could have shown it
    sessions: list[SessionSummary] = field(default_factory=list)  # for CONTINUITY, which is judged over all instances

    def add(self, found: dict[str, Tally]) -> None:
        """Take over what a closer look found, by rule."""
        for rule, tally in found.items():
            self.tallies[rule].add(tally)


def expected_rules(definition: dict[str, Any], digests: bool) -> frozenset[str]:
    """What a group promises (DELIVERY_LOG.md, Expected)."""
    rules = [*_ALWAYS, *(["INTEGRITY"] if digests else [])]
    rules += _BY_ORDERING.get(definition.get("ordering", ""), ())
    if definition.get("multicast") == "RELIABLE":
        rules += [*_RELIABLE, *(["TOTAL_GAP_FREE"] if "TOTAL" in definition["ordering"] else [])]
    return frozenset(rules)


def judge(group: InstanceLogs, most: int = MOST, *, all_rules: bool = False) -> Judgement:
    """Orders of more than `most` deliveries are compared as sets first, where this settles them.

    Without `all_rules` no messages are asked for where only rules that the group does not promise need them.
    """
    summaries = group.summaries
    tallies = {rule: Tally() for rule in RULES}
    for who, summary in sorted(summaries.items()):
        for rule, tally in summary.tallies.items():
            for example in tally.examples:
                example.setdefault("process", who)
            tally.spread.name(who)
            tallies[rule].add(tally)
    digests = any(summary.sent_digests or summary.heard_digests for summary in summaries.values())
    definition = group.definition()
    judgement = Judgement(
        key=group.key,
        definition=definition,
        expected=expected_rules(definition, digests),
        tallies=tallies,
        processes=sorted({*group.summaries, *group.gaps}),
        views=len({view["view"] for summary in summaries.values() for view in summary.views}),
        deliveries=sum(summary.deliveries for summary in summaries.values()),
        members=group.members(),
        history=history_of(summaries),
        sends=sum(len(summary.sent) for summary in summaries.values()),
        sessions=[session_of(each, has_gap=bool(group.gaps.get(who))) for who, each in sorted(summaries.items())],
    )
    _add_gaps(group, tallies)
    _judge_unplaced_clocks(group, tallies["CLOCK"])
    _judge_creation(group, tallies["NO_CREATION"])
    _judge_sent_views(group, tallies["SENDING_VIEW"])
    _judge_self_delivery(group, tallies["SELF_DELIVERY"])
    _judge_agreement(group, tallies["AGREEMENT"])
    _judge_synchrony(group, tallies["VIRTUAL_SYNCHRONY"])
    judge_first_serials(group, tallies["SERIAL_CONTIGUOUS"])
    judge_views(group, tallies)
    judgement.unshown = missing_records(group, judgement.expected, tallies)
    large = judgement.deliveries > most
    judgement.looks = [
        *_look_at_integrity(group, tallies["INTEGRITY"]),
        *_look_at_serials(group, large=large),
        *_look_at_orders(group, tallies["TOTAL_GAP_FREE"], large=large),
    ]
    judgement.looks += _look_at_total(group, tallies["TOTAL"], judgement.looks, large=large)
    judgement.looks += _look_at_causality(group, tallies, judgement.looks)
    if not all_rules:
        _pass_over_unpromised(judgement)
    if large:
        _leave_to_exact(judgement)
    return judgement


def _pass_over_unpromised(judgement: Judgement) -> None:
    """What decides nothing is not worth reading the logs once more."""
    for rule in {look.rule for look in judgement.looks} - judgement.expected:
        judgement.tallies[rule].doubt(1, "not promised, and it takes the messages themselves: --all-rules judges it")
    judgement.looks = [look for look in judgement.looks if look.rule in judgement.expected]


def _leave_to_exact(judgement: Judgement) -> None:
    """In a large group only CAUSAL is judged over all messages."""
    left = [look.rule for look in judgement.looks if look.buckets is None and look.rule != "CAUSAL"]
    reason = f"{judgement.deliveries:,} deliveries are too many to compare one by one: --exact decides"
    for rule in left:
        judgement.tallies[rule].doubt(1, reason)
    judgement.looks = [look for look in judgement.looks if look.rule not in left]


def _add_gaps(group: InstanceLogs, tallies: dict[str, Tally]) -> None:
    for who, gaps in sorted(group.gaps.items()):
        for at, told in gaps:
            reason = f"{who} has a gap at position {at}" if at else f"there is no readable log of {who}"
            for rule, tally in tallies.items():
                if rule != "INTEGRITY" and not (told and rule in _UNTOLD_ONLY):
                    tally.doubt(1, reason)


def _judge_unplaced_clocks(group: InstanceLogs, tally: Tally) -> None:
    """CLOCK of those in a view whose record is not where the clock is: it stands before, or in the logs of others."""
    members = group.members()
    for who, summary in sorted(group.summaries.items()):
        own = {view["view"]: view["members"] for view in summary.views}
        for (view, other, hidden), found in sorted(summary.unplaced.items()):
            inside = (members if hidden else own).get(view)
            if inside is None:
                tally.doubt(found.violations, f"no log tells who is in view {view}, which {who} was in")
            elif other in inside:
                for example in found.examples:
                    example.setdefault("process", who)
                found.spread.name(who)
                tally.add(found)


def _judge_creation(group: InstanceLogs, tally: Tally) -> None:
    """A delivered number is at most the highest that its sender is known to have sent."""
    for who, summary in sorted(group.summaries.items()):
        for sender, highest in sorted(summary.highest.items()):
            theirs = group.summaries.get(sender)
            known = theirs.known_sent if theirs is not None else 0
            if highest <= known:
                continue
            over = summary.delivered.get(sender, Intervals()).above(known)
            messages = max(len(over), 1)
            if group.closed(sender):
                tally.violate(
                    messages, kind="unsent", process=who, sender=sender, number=over.lowest or highest, known=known
                )
            else:
                tally.doubt(messages, f"the log of {sender} does not tell whether it sent {over.lowest or highest}")


def _judge_sent_views(group: InstanceLogs, tally: Tally) -> None:
    """A message is delivered in the view of its sender's `send`."""
    for who, summary in sorted(group.summaries.items()):
        for (sender, view), numbers in sorted(summary.heard_in.items()):
            theirs = group.summaries.get(sender)
            sent_there = theirs.sent_in.get(view, Intervals()) if theirs is not None else Intervals()
            rest = numbers.minus(sent_there)
            if not rest:
                continue
            unsent = rest.minus(theirs.sent) if theirs is not None else rest
            elsewhere = rest.minus(unsent)
            if elsewhere:
                number = elsewhere.lowest
                sent_view = next(v for v, each in theirs.sent_in.items() if number in each) if theirs else None
                more = {"number": number, "view": view, "sent_view": sent_view}
                tally.violate(len(elsewhere), kind="sent", process=who, sender=sender, **more)
            if unsent and not group.closed(sender):
                tally.doubt(len(unsent), f"the log of {sender} does not tell in which view it sent {unsent.lowest}")


def _judge_self_delivery(group: InstanceLogs, tally: Tally) -> None:
    for who, section in group.sections():
        if section.next in ("none", "unknown") or not section.covered or not section.sends:
            continue
        tally.evaluated += len(section.sends)
        missing = section.sends.minus(section.settled.get(who, Intervals()))
        if missing:
            more = {"number": missing.lowest, "missing": _ranges(missing), "view": section.view}
            tally.violate(len(missing), process=who, sender=who, **more)


def _ranges(numbers: Intervals) -> list[list[int]]:
    """The first of them."""
    return [[first, last] for first, last in islice(numbers, _RANGES)]


def _judge_agreement(group: InstanceLogs, tally: Tally) -> None:
    safe = any(view.get("safe") for summary in group.summaries.values() for view in summary.views)
    everyone: dict[int, list[tuple[str, SectionSummary]]] = defaultdict(list)
    for who, section in group.sections():
        everyone[section.view].append((who, section))
    for (view, following), members in sorted(group.classes().items(), key=str):
        # Where a quorum died for good, what only it had is gone: of who goes over, CONTINUITY says what is owed.
        heard = everyone[view] if safe and not str(following).startswith(INTO) else members
        if len(heard) < 2:
            continue
        tally.evaluated += 1
        demanded: dict[str, Intervals] = {}
        for _, section in heard:
            for sender, numbers in section.delivered.items():
                known = demanded.get(sender)
                demanded[sender] = numbers if known is None or known == numbers else known.union(numbers)
        for who, section in members:
            for sender, numbers in sorted(demanded.items()) if section.covered else ():
                missing = numbers.minus(section.settled.get(sender, Intervals()))
                if missing:
                    number = missing.lowest
                    other = next(p for p, s in heard if number in s.delivered.get(sender, Intervals()))
                    more = {"number": number, "missing": _ranges(missing), "view": view, "other": other}
                    tally.violate(len(missing), process=who, sender=sender, **more)


def _judge_synchrony(group: InstanceLogs, tally: Tally) -> None:
    for (view, _), members in sorted(group.classes().items(), key=str):
        if len(members) < 2:
            continue
        tally.evaluated += 1
        covered = [each for each in members if each[1].covered]
        for who, section in covered[1:]:
            one, first = covered[0]
            for sender in sorted({*section.delivered, *first.delivered}):
                ours, theirs = (each.delivered.get(sender, Intervals()) for each in (first, section))
                if ours != theirs:
                    only, lone = (ours.minus(theirs), one) if ours.minus(theirs) else (theirs.minus(ours), who)
                    unlike = len(ours.minus(theirs)) + len(theirs.minus(ours))
                    more = {"number": only.lowest, "view": view, "other": one, "lone": lone}
                    tally.violate(unlike, kind="set", process=who, sender=sender, **more)
    _judge_starts(group, tally)


def _judge_starts(group: InstanceLogs, tally: Tally) -> None:
    starts: dict[int, list[tuple[str, dict[str, int]]]] = defaultdict(list)
    for who, section in group.sections():
        if section.start is not None:
            starts[section.view].append((who, section.start))
    for view, installers in sorted(starts.items()):
        tally.evaluated += len(installers) > 1
        one, first = installers[0]
        for who, start in installers[1:]:
            unlike = [sender for sender in sorted(start.keys() & first.keys()) if start[sender] != first[sender]]
            if unlike:
                sender = unlike[0]
                number = max(start[sender], first[sender])  # that only one of them has settled
                more = {"other": one, "mine": start[sender], "theirs": first[sender], "number": number}
                tally.violate(1, kind="start", process=who, sender=sender, view=view, **more)


def _look_at_integrity(group: InstanceLogs, tally: Tally) -> list[Look]:
    """Of a sender's bucket of numbers, equal prints of its sends and of a process's deliveries are equal digests.

    Only what was sent twice with two digests may have been delivered twice with both.
    """
    doubtful = {who for who in group.summaries if not sends_once(group, who)} if has_duplicates(group) else set()
    sent: Fingerprints = {}
    for summary in group.summaries.values():
        add_prints(sent, summary.sent_digests)
    heard: dict[tuple[str, int], list[tuple[int, int, int]]] = defaultdict(list)
    for summary in group.summaries.values():
        for place, prints in summary.heard_digests.items():
            heard[place].append(prints)
    counts = {place: sum(n for n, _, _ in each) for place, each in heard.items()}
    unlike = {
        place: counts[place]
        for place, each in sorted(heard.items())
        if set(each) != {sent.get(place)} or place[0] in doubtful
    }
    tally.evaluated += sum(count for place, count in counts.items() if place not in unlike)
    return [Look("INTEGRITY", unlike)] if unlike else []


def _look_at_serials(group: InstanceLogs, *, large: bool) -> list[Look]:
    """In a bucket in which a process's serials rise, each of them is there once; equal prints are equal sets.

    So the buckets together hold each message with its serial once. If they hold more than there are messages, one has
    two serials, of which no bucket needs to know both. What has no serial here may have one there, and is not counted.
    """
    summaries = group.summaries.values()
    by_bucket: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
    counts: dict[int, int] = defaultdict(int)
    for summary in summaries:
        for bucket, prints in summary.serials.items():
            by_bucket[bucket].add(prints)
            counts[bucket] += prints[0]
    late = {bucket for summary in summaries for bucket in summary.late_serials}
    unlike = {bucket: counts[bucket] for bucket in sorted(by_bucket) if len(by_bucket[bucket]) > 1 or bucket in late}
    alike = sum(min(prints)[0] for bucket, prints in by_bucket.items() if bucket not in unlike)
    known = not any(summary.deliveries_without_serial for summary in summaries)
    rest = count_placed(group) - alike if known else None
    if unlike and large:
        return [Look("SERIAL_UNIQUE", unlike, messages=rest)]
    return [Look("SERIAL_UNIQUE", None)] if by_bucket and (unlike or rest != 0) else []


def _look_at_orders(group: InstanceLogs, tally: Tally, *, large: bool) -> list[Look]:
    unlike: set[tuple[int, int]] = set()
    pairs = []
    again = has_duplicates(group)  # what is delivered again shares its place with what follows it
    for (view, _), members in sorted(group.classes().items(), key=str):
        if len(members) < 2:
            continue
        tally.evaluated += 1
        covered = [each for each in members if each[1].covered]
        for who, section in covered[1:]:
            one, first = covered[0]
            both = {*section.order, *first.order}
            differ = {(view, b) for b in both if again or section.order.get(b) != first.order.get(b)}
            if large and (lone := _lone(first, section)):
                sender, numbers, here = lone
                more = {"number": numbers.lowest, "view": view, "other": one, "lone": who if here else one}
                tally.violate(1, kind="set", process=who, sender=sender, **more)
            elif differ:
                unlike |= differ
                pairs.append((view, one, who))
    if not large:  # where something was skipped, equal orders may have unlike places: a view as a whole is compared
        views = {view for view, _ in unlike}
        unlike = {(s.view, bucket) for _, s in group.sections() if s.view in views for bucket in s.order}
    return [Look("TOTAL_GAP_FREE", _counted(group, unlike), pairs)] if unlike else []


def _lone(first: SectionSummary, second: SectionSummary) -> tuple[str, Intervals, bool] | None:
    """Of some sender what one of two delivered and the other did not, and whether the second is the one that did."""
    for sender in sorted({*first.delivered, *second.delivered}):
        ours, theirs = (each.delivered.get(sender, Intervals()) for each in (first, second))
        if ours != theirs:
            only = theirs.minus(ours)
            return (sender, only, True) if only else (sender, ours.minus(theirs), False)
    return None


def _counted(group: InstanceLogs, places: set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """How many messages all processes together delivered there."""
    counts = dict.fromkeys(sorted(places), 0)
    for _, section in group.sections():
        for bucket, (count, _, _) in section.order.items():
            if (section.view, bucket) in counts:
                counts[section.view, bucket] += count
    return counts


def _look_at_total(group: InstanceLogs, tally: Tally, looks: list[Look], *, large: bool) -> list[Look]:
    """Rising serials, one for each message, certify an acyclic order; so do equal orders of all who share a view.

    Where no two processes share two messages, three may still contradict one another.
    """
    summaries = list(group.summaries.values())
    sets = [a.delivered for a in summaries]
    tally.evaluated = sum(_share(sets, index, 2) for index in range(len(sets)))
    serials = not any(look.rule == "SERIAL_UNIQUE" for look in looks)
    risen = all(not a.late_serials and not a.deliveries_without_serial for a in summaries)
    if (serials and risen) or not any(_share(sets, index, 1) for index in range(len(sets))):
        return []
    by_place: dict[tuple[int, int], set[tuple[int, int, int]]] = defaultdict(set)
    for _, section in group.sections():
        for bucket, prints in section.order.items():
            by_place[section.view, bucket].add(prints)
    counted = sum(n for _, s in group.sections() for n, _, _ in s.order.values())
    unlike = {place for place, prints in by_place.items() if len(prints) > 1}
    whole = counted == sum(a.deliveries for a in summaries)
    if whole and not unlike and begin_alike(group) and in_one_view_each(group):
        return []
    if large and unlike and not has_duplicates(group):  # else a part may show the second delivery of a message alone
        return [Look("TOTAL", _counted(group, unlike))]
    return [Look("TOTAL", None)]


def _share(sets: list[dict[str, Intervals]], index: int, least: int) -> bool:
    """Whether the process of that index shares so many messages with one before it."""
    mine = sets[index]
    for other in sets[:index]:
        shared = 0
        for who in mine.keys() & other.keys():
            shared += len(mine[who]) - len(mine[who].minus(other[who]))
            if shared >= least:
                return True
    return False


def _look_at_causality(group: InstanceLogs, tallies: dict[str, Tally], looks: list[Look]) -> list[Look]:
    """Where serials rise by one everywhere, each message has one, and FIFO and the starts agree, past comes first.

    A message's serial is above all that its sender had delivered before it sent it, since the sender delivers it after
    these; and who delivers it has passed all lower serials, with what they stand for, or had that in its base.
    """
    summaries = group.summaries.values()
    of_messages = ("NO_CREATION", "NO_DUPLICATION", "FIFO", "SERIAL_CONTIGUOUS")
    rules = (*of_messages, "SENDING_VIEW", "VIEW_AGREEMENT", "VIRTUAL_SYNCHRONY")
    serials = all(not a.deliveries_without_serial for a in summaries) and any(a.serials for a in summaries)
    sound = not any(tallies[rule].violations or tallies[rule].unknown for rule in rules)
    unique = not any(look.rule == "SERIAL_UNIQUE" for look in looks)
    if serials and sound and unique and deliver_their_own(group) and pass_alike(group) and begin_known(group):
        tallies["CAUSAL"].evaluated += _count_dependencies(group)
        return []
    return [Look("CAUSAL", None)]


def _count_dependencies(group: InstanceLogs) -> int:
    members = group.members()
    total = 0
    for summary in group.summaries.values():
        for (sender, view), numbers in summary.heard_in.items():
            theirs = group.summaries.get(sender)
            for other in members.get(view, ()) if theirs is not None else ():
                if other != sender and other in theirs.dependent_from:  # type: ignore[union-attr]
                    total += len(numbers.above(theirs.dependent_from[other] - 1))  # type: ignore[union-attr]
    return total


def verdict_of(tally: Tally) -> str:
    """FAIL, UNKNOWN, VACUOUS or PASS (DELIVERY_LOG.md, Verdict)."""
    if tally.violations:
        return "FAIL"
    if tally.unknown:
        return "UNKNOWN"
    return "PASS" if tally.evaluated else "VACUOUS"
