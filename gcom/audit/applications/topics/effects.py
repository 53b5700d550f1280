"""EO-1 and EO-6: each message has its effect once in the application's database."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule, place
from gcom.audit.applications.topics.history import TopicHistory
from gcom.audit.input.applications import TOPIC, Record
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally


def _judge_once(case: ApplicationCase, tally: Tally) -> None:
    history = case.made(TopicHistory)
    for (sub, no, shards), effects in history.effects.items():
        floor = history.floors.get((sub, no, shards), -1)
        firsts = sorted(record["first"] for _, record in effects)
        lasts = sorted(record["last"] for _, record in effects)
        # Effects before the first record of one were not recorded; behind the inbox's number none is due.
        for message in history.stored:
            if message.slot % shards != no or not firsts[0] <= message.offset <= floor:
                continue
            tally.evaluated += 1
            # So many effects begin at it or before, less those that end before it.
            times = bisect_right(firsts, message.offset) - bisect_left(lasts, message.offset)
            if times != 1:
                process, record = _near(effects, message.offset)
                more = {"offset": message.offset, "sub": sub, "times": times}
                tally.violate(1, **place(process, record, **more, other=message.where()))


def _near(effects: list[tuple[str, Record]], offset: int) -> tuple[str, Record]:
    """Return the last effect that has the offset, else the last one before it."""
    having = [each for each in effects if each[1]["first"] <= offset <= each[1]["last"]]
    return (having or [each for each in effects if each[1]["first"] <= offset] or effects)[-1]


def _judge_order(case: ApplicationCase, tally: Tally) -> None:
    for (sub, no, _), effects in case.made(TopicHistory).effects.items():
        before: tuple[str, Record] | None = None
        for process, record in effects:
            tally.evaluated += 1
            if record["last"] < record["first"] or (before is not None and record["first"] <= before[1]["last"]):
                more = {"sub": sub, "shard": no, "first": record["first"], "last": record["last"]}
                other = place(*before, last=before[1]["last"]) if before is not None else None
                tally.violate(1, **place(process, record, **more, other=other))
            before = process, record


def _told_once(e: Example) -> str:
    how = "no effect" if not e["times"] else f"{e['times']} effects"
    return f"Message {e['offset']} had {how} of subscription {e['sub']}, whose inbox is beyond it."


def _told_order(e: Example) -> str:
    what = f"The effect of messages {e['first']} to {e['last']} in shard {e['shard']} of subscription {e['sub']}"
    return (
        f"{what} was committed after the one that ends with {e['other']['last']}." if e["other"] else f"{what} is none."
    )


# Blamed for an inbox that is not compared, a handler that commits by itself, a database from an old copy.
ONCE = ApplicationRule(
    "EO-1", TOPIC, "Each message has its effect in a database exactly once.", _told_once, _judge_once
)
ORDERED = ApplicationRule(
    "EO-6", TOPIC, "The effects of a shard are disjoint, and in the order of the topic.", _told_order, _judge_order
)
