"""BANK: the value that a machine calls invariant is one, at every index and replica."""

from __future__ import annotations

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule, place
from gcom.audit.applications.states.lives import StateLife, StateLives
from gcom.audit.input.applications import STATE, Record
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally


def _judge(case: ApplicationCase, tally: Tally) -> None:
    lives = StateLives(case)
    first: dict[StateLife, tuple[str, Record]] = {}
    for process, record in case.records("invariant"):
        known = first.setdefault(lives.of(record), (process, record))
        tally.evaluated += 1
        if known[1]["value"] != record["value"]:
            other = place(*known, index=known[1]["index"], value=known[1]["value"])
            tally.violate(1, **place(process, record, index=record["index"], value=record["value"], other=other))


def _sentence(e: Example) -> str:
    before = e["other"]
    return (
        f"At index {e['index']} the invariant was {e['value']} at {e['process']}, "
        f"and {before['value']} at index {before['index']} at {before['process']}."
    )


# Blamed for a transfer of which one half is applied, or applied twice.
RULE = ApplicationRule("BANK", STATE, "The invariant of a machine never changes.", _sentence, _judge)
