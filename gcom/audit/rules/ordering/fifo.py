"""FIFO: messages of one sender are delivered in the order of their numbers. The scan judges it (scan/batches.py)."""

from __future__ import annotations

from gcom.audit.rules.rule import AuditRule, Example, Mark, marks_of_range, named, where_fifo


def _sentence(e: Example) -> str:
    highest = e.get("highest", 0)
    if highest > e["number"]:
        return f"{e['process']} delivered {named(e)} after number {highest}, and without number {e['number'] - 1}."
    return f"{e['process']} delivered {named(e)} without having delivered number {e['number'] - 1}."


def _marks(e: Example) -> set[Mark]:
    # The messages that are missing: what other rules say of them has the same cause. A run that comes too late is first
    # missing as a whole; SERIAL_CONTIGUOUS and TOTAL name the first of it.
    last = e["number"] - 1
    return marks_of_range(e["sender"], min(e.get("highest", 0) + 1, last), last)


# Blamed for two deliveries of one sender that are swapped, and for one that is renumbered.
RULE = AuditRule("FIFO", "Each sender's messages are delivered in the order sent.", where_fifo, _sentence, marks=_marks)
