"""EO-4: nothing is stored that no producer asked for, or whose producer was told that it is not."""

from __future__ import annotations

from collections.abc import Mapping

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule
from gcom.audit.applications.topics.history import TopicHistory
from gcom.audit.input.applications import TOPIC
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally


def _judge(case: ApplicationCase, tally: Tally) -> None:
    history = case.made(TopicHistory)
    # A producer may have begun to keep records late, or keep none.
    begins: dict[str, int] = {}
    for producer, seq in history.puts:
        begins[producer] = min(seq, begins.get(producer, seq))
    # What a gap hides may have been a request.
    hidden = "lost" in case.coverage.values()
    for message in history.stored:
        if message.seq < begins.get(message.producer, message.seq + 1):
            continue
        asked: Mapping[int, int] = history.puts.get((message.producer, message.seq), {})
        tally.evaluated += 1
        if asked.get(message.digest, 0) < 1 and not hidden:
            tally.violate(1, **message.where(kind="refused" if message.digest in asked else "unasked"))


def _sentence(e: Example) -> str:
    what = f"Offset {e['offset']} has sequence {e['seq']} of producer {e['producer']}"
    if e["kind"] == "refused":
        return f"{what}, whose producer was told that it is not stored."
    return f"{what}, which no producer sent with that body."


# Blamed for a refusal that stores all the same, and for a second writer of a store's tables.
RULE = ApplicationRule("EO-4", TOPIC, "Every stored message was sent, and not refused.", _sentence, _judge)
