"""Certificates: conditions on a group's summaries that together prove a rule, so that no message has to be read.

Each function tells whether one condition holds. docs/audit.md, Certificates, has the proofs of SERIAL_UNIQUE, TOTAL and
CAUSAL that they are steps of. Where a condition does not hold, nothing is said about the rule: it is judged over the
messages.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from itertools import pairwise

from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.summary.fingerprints import BUCKET
from gcom.audit.summary.intervals import Intervals, add_numbers


def count_with_serial(group: InstanceLogs) -> int:
    """Return the number of different messages that some process delivered, or skipped with their serial."""
    # Over all processes: a message counts once, however many delivered it.
    found: dict[str, Intervals] = {}
    for summary in group.summaries.values():
        add_numbers(found, summary.delivered)
        add_numbers(found, summary.skipped)
    # What it is compared with, the sum over all buckets, counts a message twice that has serials in two buckets: 1. A
    # has message 1 under serial 1, in bucket 0. 2. B has it under serial 65,537, in bucket 1. 3. Neither knows the
    # other's bucket, and at both serials rise: nothing else would show it.
    return sum(map(len, found.values()))


def settle_twice(group: InstanceLogs) -> bool:
    """Tell whether some process delivered a message that it had settled before (NO_DUPLICATION)."""
    # 1. A delivers 1 and 2, then 2 and 1 again. 2. A second delivery settles nothing, so it has the place of what
    #    follows it. 3. Sums over places do not tell these orders apart.
    return any(summary.tally("NO_DUPLICATION").violations for summary in group.summaries.values())


def sends_once(group: InstanceLogs, who: str) -> bool:
    """Tell whether a process certainly sent no number twice: its log is whole, and its numbers went up by one."""
    summary = group.summaries.get(who)
    return summary is not None and not summary.gaps and not summary.tally("NO_CREATION").violations


def views_begin_alike(group: InstanceLogs) -> bool:
    """Tell whether views only go up at each process, and in each the deliveries of all begin in one bucket and leave no
    bucket out.

    Then equal fingerprints of a view's buckets are equal sequences, and views come in one order everywhere.
    """
    begins: dict[int, int] = {}
    for summary in group.summaries.values():
        views = [section.view for section in summary.sections]
        # 1. A process goes from view 2 back to view 1. 2. What it delivers then has places behind those of view 2.
        # 3. Within each view its order may equal that of all others, and still contradict them over both.
        if any(one >= other for one, other in pairwise(views)):
            return False
        for section in summary.sections:
            buckets = section.order
            # 1. A process skips all messages of a bucket, so it has no print of it. 2. It reaches the places behind
            # the bucket without having delivered what others did. 3. No print that is compared would differ.
            if buckets and max(buckets) - min(buckets) >= len(buckets):
                return False
            # 1. C enters a view with a base that is a whole bucket above the others'. 2. Its deliveries in that view
            #    are in other buckets than theirs. 3. No bucket has two prints that could differ.
            if buckets and begins.setdefault(section.view, min(buckets)) != min(buckets):
                return False
    return True


def deliver_in_one_view(group: InstanceLogs) -> bool:
    """Tell whether each process delivers a message once, and all in the same view: then views order the messages."""
    if settle_twice(group):
        return False
    by_view: dict[str, dict[int, Intervals]] = defaultdict(dict)
    for summary in group.summaries.values():
        in_views: dict[str, Intervals] = {}
        for (sender, view), numbers in summary.delivered_in.items():
            add_numbers(by_view[sender], {view: numbers})
            add_numbers(in_views, {sender: numbers})
        # A delivery outside of any view, or whose record contradicts itself about the view, is in no set of a view.
        if in_views != summary.delivered:
            return False
    for views in by_view.values():
        known = Intervals()
        # add() returns how many of the numbers were there before: those were delivered in another view, too.
        # 1. A delivers 1 in view 1, B in view 2. 2. Each view's orders agree. 3. Between the views they contradict: A
        #    has 1 before all of view 2, B behind some of it.
        if any(known.add(first, last) for numbers in views.values() for first, last in numbers):
            return False
    return True


def senders_deliver_their_own(group: InstanceLogs) -> bool:
    """Tell whether each sender delivered all of its messages that any process delivered.

    Such a delivery comes after all that the sender had delivered before the send.
    """
    for summary in group.summaries.values():
        for sender, numbers in summary.delivered.items():
            theirs = group.summaries.get(sender)
            own = theirs.delivered.get(sender, Intervals()) if theirs is not None else Intervals()
            # 1. S passes serial 1 as given up, delivers a message of A as serial 2, and sends m. 2. R has m as serial
            #    1, before that message. 3. Serials rise everywhere and each is of one message; only that S never
            #    delivers m shows that m came before its cause. Equality first: it is nearly always so.
            if own != numbers and numbers.minus(own):
                return False
    return True


def pass_the_same_serials(group: InstanceLogs) -> bool:
    """Tell whether all begin a view after the same serial, and each has a print of every bucket of serials it passed.

    Buckets with equal prints hold equal messages. So, with SERIAL_UNIQUE, no process passed over a serial that stands
    for a message at another one.
    """
    buckets = sorted({bucket for summary in group.summaries.values() for bucket in summary.serials})
    starts: dict[int, int] = {}
    for summary in group.summaries.values():
        began = [section for section in summary.sections if section.start is not None]
        # 1. C enters and says that it begins after serial 3. 2. The others begin that view after serial 2. 3. C never
        #    passes serial 3, and no print shows that it lacks the message there.
        if any(starts.setdefault(section.view, section.serial) != section.serial for section in began):
            return False
        first = bisect_left(buckets, (began[0].serial + 1) // BUCKET if began else 0)
        passed = buckets[first : bisect_right(buckets, summary.last_serial // BUCKET)] if summary.last_serial else []
        if not summary.serials.keys() >= set(passed):
            return False
    return True


def bases_are_compared(group: InstanceLogs) -> bool:
    """Tell whether every base names only processes that were members by then.

    VIRTUAL_SYNCHRONY compares starts per member of the view: what a base says of others, nobody has checked.
    """
    entered: dict[str, int] = {}
    for view, members in sorted(group.members().items()):
        for who in members:
            entered.setdefault(who, view)
    views = [view for summary in group.summaries.values() for view in summary.views]
    return not any(entered.get(who, 0) > view["view"] for view in views for who, n in view.get("base", {}).items() if n)
