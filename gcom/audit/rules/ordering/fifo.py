"""FIFO: messages of one sender are delivered in the order of their numbers. The scan judges it (scan/batches.py)."""

from __future__ import annotations

from gcom.audit.rules.rule import AuditRule, Example, Mark, named, where_fifo


def _sentence(e: Example) -> str:
    highest = e.get("highest", 0)
    if highest > e["number"]:
        return f"{e['process']} delivered {named(e)} after number {highest}, and without number {e['number'] - 1}."
    return f"{e['process']} delivered {named(e)} without having delivered number {e['number'] - 1}."


def _marks(e: Example) -> set[Mark]:
    # The message that is missing: what AGREEMENT says of it has the same cause.
    return {("message", e["sender"], e["number"] - 1)}


# Blamed for two deliveries of one sender that are swapped, and for one that is renumbered.
RULE = AuditRule("FIFO", "Each sender's messages are delivered in the order sent.", where_fifo, _sentence, marks=_marks)
