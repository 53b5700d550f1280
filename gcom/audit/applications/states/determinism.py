"""DETERMINISM: replicas that applied the same commands are in the same state."""

from __future__ import annotations

from collections import Counter, defaultdict

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule, place
from gcom.audit.applications.states.lives import StateLife, StateLives
from gcom.audit.input.applications import STATE, Record
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally


def _judge(case: ApplicationCase, tally: Tally) -> None:
    lives = StateLives(case)
    found: dict[tuple[StateLife, int], list[tuple[str, Record]]] = defaultdict(list)
    for process, record in case.records("digest"):
        found[lives.of(record), record["index"]].append((process, record))
    for (_, index), each in sorted(found.items()):
        tally.evaluated += len(each) - 1
        counts = Counter(record["digest"] for _, record in each)
        # The most frequent digest is taken for the right one; of equally many that of the first process by name.
        right, witness = max(((record, who) for who, record in reversed(each)), key=lambda it: counts[it[0]["digest"]])
        for who, record in each:
            if record["digest"] != right["digest"]:
                tally.violate(1, **place(who, record, index=index, other=place(witness, right)))


def _sentence(e: Example) -> str:
    return (
        f"At index {e['index']} the state of {e['process']} had another digest than that of {e['other']['process']}, "
        "though both had applied the same commands."
    )


# Blamed for a machine that asks for the time, for chance, or for the order of a set.
RULE = ApplicationRule(
    "DETERMINISM",
    STATE,
    "Replicas that applied the same commands are in the same state.",
    _sentence,
    _judge,
)
