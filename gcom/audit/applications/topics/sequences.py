"""EO-2 and EO-5: a producer's messages are stored once each, in the order of their sequences."""

from __future__ import annotations

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule, place
from gcom.audit.applications.topics.history import StoredMessage, TopicHistory
from gcom.audit.input.applications import TOPIC
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally


def _judge_order(case: ApplicationCase, tally: Tally) -> None:
    last: dict[str, StoredMessage] = {}
    for message in case.made(TopicHistory).stored:
        if message.seq < 0:
            continue
        before = last.get(message.producer)
        tally.evaluated += 1
        if before is not None and message.seq <= before.seq:
            tally.violate(1, **message.where(other=before.where()))
        last[message.producer] = message


def _judge_once(case: ApplicationCase, tally: Tally) -> None:
    known: dict[tuple[str, int], tuple[int, Example]] = {}
    found = [(it.producer, it.seq, it.offset, it.where()) for it in case.made(TopicHistory).stored if it.seq >= 0]
    for process, record in case.records("receipt"):
        for seq, offset in zip(record["seqs"], record["offsets"], strict=False):
            found.append((record["producer"], seq, offset, place(process, record)))
    for producer, seq, offset, where in found:
        at, other = known.setdefault((producer, seq), (offset, where))
        tally.evaluated += 1
        if at != offset:
            more = {"producer": producer, "seq": seq, "offset": offset, "first": at}
            tally.violate(1, **{**where, **more, "other": other})


def _told_order(e: Example) -> str:
    before = e["other"]
    return (
        f"Sequence {e['seq']} of producer {e['producer']} is stored at offset {e['offset']}, "
        f"behind its sequence {before['seq']} at {before['offset']}."
    )


def _told_once(e: Example) -> str:
    return f"Sequence {e['seq']} of producer {e['producer']} is at offset {e['first']} and at offset {e['offset']}."


# Blamed for a store that takes what is late, and for one that takes a duplicate.
RISING = ApplicationRule("EO-2", TOPIC, "A producer's sequences rise with the offsets.", _told_order, _judge_order)
ONCE = ApplicationRule("EO-5", TOPIC, "A sequence of a producer has one offset.", _told_once, _judge_once)
