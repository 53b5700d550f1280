"""Certificates of an order without its messages: conditions on a group's summaries, each a part of an argument.

The arguments are told in docs/audit.md, Certificates; a condition that does not hold asks for the messages.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise

from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.summary.fingerprints import BUCKET
from gcom.audit.summary.intervals import Intervals


def count_placed(group: InstanceLogs) -> int:
    """Return the number of messages that are delivered, or skipped with their serial."""
    placed: dict[str, Intervals] = {}
    for summary in group.summaries.values():
        for each in (summary.delivered, summary.skipped):
            for sender, numbers in each.items():
                known = placed.get(sender)
                placed[sender] = numbers if known is None or known == numbers else known.union(numbers)
    return sum(map(len, placed.values()))


def has_duplicates(group: InstanceLogs) -> bool:
    """Tell whether some process delivered a message that it had settled before (NO_DUPLICATION)."""
    return any(summary.tally("NO_DUPLICATION").violations for summary in group.summaries.values())


def sends_once(group: InstanceLogs, who: str) -> bool:
    """Tell whether a process's log is there and its numbers only went up, so that it sent no message twice."""
    summary = group.summaries.get(who)
    return summary is not None and not summary.gaps and not summary.tally("NO_CREATION").violations


def begin_alike(group: InstanceLogs) -> bool:
    """Tell whether all that delivered in a view begin at one bucket and leave none out, and views only go up."""
    begins: dict[int, int] = {}
    for summary in group.summaries.values():
        views = [section.view for section in summary.sections]
        # Places of a lower view behind those of a higher one would make equal orders within views say nothing of the
        # whole.
        if any(one >= other for one, other in pairwise(views)):
            return False
        for section in summary.sections:
            buckets = section.order
            # A bucket that is left out was passed by skipping all of it: what follows has places that others reach by
            # delivering.
            if buckets and max(buckets) - min(buckets) >= len(buckets):
                return False
            if buckets and begins.setdefault(section.view, min(buckets)) != min(buckets):
                return False
    return True


def in_one_view_each(group: InstanceLogs) -> bool:
    """Tell whether each message is delivered once per process, and in one view by all, so that views order them."""
    if has_duplicates(group):
        return False
    by_view: dict[str, dict[int, Intervals]] = defaultdict(dict)
    for summary in group.summaries.values():
        labelled: dict[str, Intervals] = {}  # of each sender, as the view in force
        for (sender, view), numbers in summary.heard_in.items():
            by_view[sender][view] = by_view[sender].get(view, Intervals()).union(numbers)
            labelled[sender] = labelled.get(sender, Intervals()).union(numbers)
        # Deliveries in no view, or with views that contradict each other, are in none of the sets compared here.
        if labelled != summary.delivered:
            return False
    for views in by_view.values():
        heard = Intervals()
        # add() tells how many were in the set before: a message that was delivered in two views by two processes.
        if any(heard.add(first, last) for each in views.values() for first, last in each):
            return False
    return True


def deliver_their_own(group: InstanceLogs) -> bool:
    """Tell whether each sender delivered each of its messages that any process delivered. Such a delivery comes after
    all that the sender had delivered before its send.
    """
    for summary in group.summaries.values():
        for sender, numbers in summary.delivered.items():
            theirs = group.summaries.get(sender)
            own = theirs.delivered.get(sender, Intervals()) if theirs is not None else Intervals()
            # Equality first: it is nearly always so, and costs no new set.
            if own != numbers and numbers.minus(own):
                return False
    return True


def pass_alike(group: InstanceLogs) -> bool:
    """Tell whether all that install a view do so after one serial, and have messages in each bucket that they passed.

    So no serial stands for a message at one process and for nothing at another that passed it: of a bucket that any
    process has, all that passed a part have equal prints.
    """
    buckets = sorted({bucket for summary in group.summaries.values() for bucket in summary.serials})
    starts: dict[int, int] = {}
    for summary in group.summaries.values():
        began = [section for section in summary.sections if section.start is not None]
        if any(starts.setdefault(section.view, section.serial) != section.serial for section in began):
            return False
        first = bisect_left(buckets, (began[0].serial + 1) // BUCKET if began else 0)
        passed = buckets[first : bisect_right(buckets, summary.last_serial // BUCKET)] if summary.last_serial else []
        if not summary.serials.keys() >= set(passed):
            return False
    return True


def begin_known(group: InstanceLogs) -> bool:
    """Tell whether no base has messages of a process that is a member only of later views: starts are compared per
    member.
    """
    entered: dict[str, int] = {}
    for view, members in sorted(group.members().items()):
        for who in members:
            entered.setdefault(who, view)
    views = [view for summary in group.summaries.values() for view in summary.views]
    return not any(entered.get(who, 0) > view["view"] for view in views for who, n in view.get("base", {}).items() if n)
