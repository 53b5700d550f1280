"""VIRTUAL_SYNCHRONY: the processes that go on together from a view delivered the same set in it, and began it alike."""

from __future__ import annotations

from collections import defaultdict

from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.rules.rule import AuditRule, Case, Example, Mark, named, where_reliable
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.process import SectionSummary
from gcom.audit.summary.tally import Tally

_Member = tuple[str, SectionSummary]


def _judge(case: Case, tally: Tally) -> None:
    for (view, _), members in case.group.classes().items():
        if len(members) < 2:
            continue
        tally.evaluated += 1
        # Equal to the first is equal to all: N comparisons and not N times N.
        covered = [each for each in members if each[1].covered]
        for member in covered[1:]:
            _compare(view, covered[0], member, tally)
    _judge_starts(case.group, tally)


def _compare(view: int, first: _Member, second: _Member, tally: Tally) -> None:
    for sender in sorted({*first[1].delivered, *second[1].delivered}):
        ours, theirs = (section.delivered.get(sender, Intervals()) for _, section in (first, second))
        if ours != theirs:
            # The set that has more is told: "only this one delivered it" names the process that can show the message.
            only, lone = (ours.minus(theirs), first[0]) if ours.minus(theirs) else (theirs.minus(ours), second[0])
            unlike = len(ours.minus(theirs)) + len(theirs.minus(ours))
            more = {"number": only.lowest, "view": view, "other": first[0], "lone": lone}
            tally.violate(unlike, kind="set", process=second[0], sender=sender, **more)


def _judge_starts(group: InstanceLogs, tally: Tally) -> None:
    starts: dict[int, list[tuple[str, dict[str, int]]]] = defaultdict(list)
    for who, section in group.sections():
        if section.start is not None:
            starts[section.view].append((who, section.start))
    for view, installers in sorted(starts.items()):
        tally.evaluated += len(installers) > 1
        one, first = installers[0]
        for who, start in installers[1:]:
            # One violation per process, of the first sender: a process that entered with another base differs
            # in all of them.
            unlike = [sender for sender in sorted(start.keys() & first.keys()) if start[sender] != first[sender]]
            if unlike:
                sender = unlike[0]
                number = max(start[sender], first[sender])  # that only one of them has settled
                more = {"other": one, "mine": start[sender], "theirs": first[sender], "number": number}
                tally.violate(1, kind="start", process=who, sender=sender, view=view, **more)


def _sentence(e: Example) -> str:
    if e.get("kind") == "start":
        return (
            f"When they installed view {e['view']}, {e['process']} had settled number {e['mine']} of {e['sender']}, "
            f"{e['other']} number {e['theirs']}."
        )
    return (
        f"{e['process']} and {e['other']} went together from view {e['view']}, "
        f"but only {e['lone']} delivered {named(e)} in it."
    )


def _marks(e: Example) -> set[Mark]:
    if e.get("kind") != "start":
        return set()
    return {("message", e["sender"], min(e["mine"], e["theirs"]) + 1)}


# Blamed for a joiner that begins with less, or more, of a stream than those who were in. A dropped delivery breaks it
# too, beneath AGREEMENT, which is nearer to the cause.
RULE = AuditRule(
    "VIRTUAL_SYNCHRONY",
    "Members that go on together from a view delivered the same set in it.",
    where_reliable,
    _sentence,
    judge=_judge,
    needs_ends=True,
    marks=_marks,
)
