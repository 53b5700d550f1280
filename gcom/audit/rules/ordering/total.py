"""TOTAL: one order fits the deliveries of all processes: the union of their orders has no cycle.

Rising serials, one per message, certify that. So do equal orders of all that share a view, where views order their
messages (certificates.py). Else all deliveries of the group are merged (order_merge.py).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gcom.audit.rules.certificates import deliver_in_one_view, views_begin_alike
from gcom.audit.rules.ordering.order_merge import OrderMerge
from gcom.audit.rules.rule import AuditRule, Case, Example, named, where_total
from gcom.audit.summary.excerpts import Excerpt, MessageRequest
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.tally import Tally

_AT_ONCE = 1 << 20  # messages that are fed between two merges, at most


def _ask(case: Case, tally: Tally) -> MessageRequest | None:
    """Return a request for all deliveries; None if serials or the orders within views certify the rule."""
    summaries = case.group.summaries
    sets = [summary.delivered for summary in summaries.values()]
    # A case needs two processes that share two messages. A cycle does not: p delivers a before b, q b before c, r c
    # before a, and no two of them share two. So the merge is asked for as soon as any message is shared.
    tally.evaluated = sum(_share(sets, index, 2) for index in range(len(sets)))
    # 1. No serial is of two messages, nor has a message two. 2. Serials rise at every process. So all orders are
    # parts of the order of serials.
    unique = case.request("SERIAL_UNIQUE") is None
    risen = all(not each.late_serials and not each.deliveries_without_serial for each in summaries.values())
    if (unique and risen) or not any(_share(sets, index, 1) for index in range(len(sets))):
        return None
    by_place: dict[tuple[int, int], set[tuple[int, int, int]]] = defaultdict(set)
    for _, section in case.group.sections():
        for bucket, prints in section.order.items():
            by_place[section.view, bucket].add(prints)
    counted = sum(n for _, section in case.group.sections() for n, _, _ in section.order.values())
    alike = all(len(prints) == 1 for prints in by_place.values())
    # Deliveries outside of sections are in no fingerprint: with one of these nothing is certified.
    whole = counted == sum(each.deliveries for each in summaries.values())
    # Three things together: places agree in every view, views begin at one place, and each message is in one view.
    if whole and alike and views_begin_alike(case.group) and deliver_in_one_view(case.group):
        return None
    return MessageRequest("TOTAL", delivered={who: each.delivered for who, each in summaries.items()})


def _share(sets: list[dict[str, Intervals]], index: int, least: int) -> bool:
    """Tell whether the process of that index shares at least `least` messages with one before it."""
    mine = sets[index]
    for other in sets[:index]:
        shared = 0
        for who in mine.keys() & other.keys():
            shared += len(mine[who].common(other[who]))
            if shared >= least:
                return True
    return False


def _judge_stream(request: MessageRequest, excerpts: Iterable[tuple[int, Excerpt]]) -> Tally:
    """Judge all deliveries; `excerpts` are by bucket of places, and each process's in its log's order."""
    tally, merge, fed, fed_bucket = Tally(), OrderMerge(request.delivered), 0, -1
    for bucket, excerpt in excerpts:
        # A merge before all processes have been fed a bucket is no mistake: fronts then wait, and what waits for
        # deliveries to come is no cycle.
        if fed > _AT_ONCE or bucket != fed_bucket:
            merge.merge()
            fed, fed_bucket = 0, bucket
        if merge.is_located():
            break
        merge.feed(excerpt)
        fed += int(excerpt["count"].sum())
    merge.merge()
    # The summaries say what each process delivered. Where the excerpts do not fit them the logs have changed between.
    if steps := merge.steps():
        told = [{"before": before, "after": after} for before, after in steps]
        tally.violate(1, **told[0]["after"], steps=told)
    elif not merge.is_done():
        tally.doubt(1, "the logs changed while they were read")
    return tally


def _sentence(e: Example) -> str:
    parts = [
        f"{step['before']['process']} delivered {named(step['before'])} before {named(step['after'])}"
        for step in e["steps"]
    ]
    return f"{'; '.join(parts)}: no single order fits."


# Blamed for a swap in a group whose logs have no serials, and for three orders that rotate, of which no
# two share two messages.
RULE = AuditRule(
    "TOTAL",
    "All deliveries of all processes fit a single order.",
    where_total,
    _sentence,
    ask=_ask,
    judge_stream=_judge_stream,
)
