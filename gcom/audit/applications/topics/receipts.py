"""EO-3: what a producer has a receipt for is stored, as it was sent."""

from __future__ import annotations

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule, place
from gcom.audit.applications.topics.history import StoredMessage, TopicHistory
from gcom.audit.input.applications import TOPIC
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally


def _judge(case: ApplicationCase, tally: Tally) -> None:
    history = case.made(TopicHistory)
    if not history.dumped:  # nobody said what is stored
        return
    stored: dict[tuple[int, str, int], StoredMessage] = {(it.offset, it.producer, it.seq): it for it in history.stored}
    for process, record in case.records("receipt"):
        producer = record["producer"]
        for seq, offset in zip(record["seqs"], record["offsets"], strict=False):
            message = stored.get((offset, producer, seq))
            tally.evaluated += 1
            where = place(process, record, producer=producer, seq=seq, offset=offset, next=history.next)
            if message is None and offset >= history.first:
                tally.violate(1, **where, kind="missing")
            elif message is not None and (asked := history.puts.get((producer, seq))) and message.digest not in asked:
                tally.violate(1, **where, kind="changed", other=message.where())


def _sentence(e: Example) -> str:
    what = f"{e['process']} had a receipt for sequence {e['seq']} of producer {e['producer']} at offset {e['offset']}"
    if e["kind"] == "changed":
        return f"{what}, and another body is stored there than it sent."
    return f"{what}, and it is not stored there; the topic ends at {e['next']}."


# Blamed for a receipt before the commit, a sync that is not awaited, a store from an old copy.
RULE = ApplicationRule("EO-3", TOPIC, "Every message with a receipt is stored, or trimmed since.", _sentence, _judge)
