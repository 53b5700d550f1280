"""RYW, MR, MW and WFR: what a session has written and read is in what it reads and writes next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from gcom.audit.applications.rule import ApplicationCase, ApplicationRule, place
from gcom.audit.applications.states.lives import StateLife, StateLives
from gcom.audit.input.applications import STATE, Record
from gcom.audit.rules.rule import Example
from gcom.audit.summary.tally import Tally

SessionKey = tuple[StateLife, int]
SessionWrites = dict[SessionKey, dict[int, tuple[str, Record]]]  # by number: the process, and its record


def _records(case: ApplicationCase, kind: str, guarantee: str) -> Iterator[tuple[SessionKey, str, Record]]:
    lives = StateLives(case)
    for process, record in case.records(kind):
        if (guarantee in record["guarantees"]) == case.promised:
            yield (lives.of(record), record["session"]), process, record


def _writes(case: ApplicationCase) -> SessionWrites:
    lives = StateLives(case)
    found: SessionWrites = defaultdict(dict)
    for process, record in case.records("write"):
        found[lives.of(record), record["session"]].setdefault(record["number"], (process, record))
    return found


def _judge_own_writes(case: ApplicationCase, tally: Tally) -> None:
    writes = _writes(case)
    for key, process, read in _records(case, "read", "RYW"):
        known = writes.get(key, {}).get(read["written"])
        if known is not None:
            tally.evaluated += 1
            if read["index"] < known[1]["index"]:
                tally.violate(1, **_where(process, read, least=known[1]["index"], other=place(*known)))


def _judge_reads(case: ApplicationCase, tally: Tally) -> None:
    # In one log reads are in their order; between logs the token tells what was read before.
    highest: dict[tuple[SessionKey, str], Record] = {}
    for key, process, read in _records(case, "read", "MR"):
        before = highest.get((key, process))
        least = max(read["seen"], before["index"] if before is not None else 0)
        tally.evaluated += least > 0
        if read["index"] < least:
            other = place(process, before) if before is not None else None
            tally.violate(1, **_where(process, read, least=least, other=other))
        if before is None or read["index"] > before["index"]:
            highest[key, process] = read


def _judge_writes(case: ApplicationCase, tally: Tally) -> None:
    first: dict[tuple[SessionKey, int], tuple[str, Record]] = {}
    for key, process, write in _records(case, "write", "MW"):
        known = first.setdefault((key, write["number"]), (process, write))
        tally.evaluated += 1
        if known[1]["index"] != write["index"]:
            tally.violate(1, **_where(process, write, kind="twice", least=known[1]["index"], other=place(*known)))
    for (key, number), (process, write) in sorted(first.items()):
        before = first.get((key, number - 1))
        if before is not None and before[1]["index"] >= write["index"]:
            tally.violate(1, **_where(process, write, kind="order", least=before[1]["index"], other=place(*before)))


def _judge_after_reads(case: ApplicationCase, tally: Tally) -> None:
    for _, process, write in _records(case, "write", "WFR"):
        tally.evaluated += write["seen"] > 0
        if write["index"] <= write["seen"]:
            tally.violate(1, **_where(process, write, least=write["seen"]))


def _where(process: str, record: Record, **more: object) -> Example:
    number = {"number": record["number"]} if "number" in record else {}
    return place(process, record, session=record["session"], index=record["index"], **number, **more)


def _told_own_writes(e: Example) -> str:
    return (
        f"Session {e['session']} read at {e['process']} a state of index {e['index']}, "
        f"without its own write at index {e['least']}."
    )


def _told_reads(e: Example) -> str:
    return (
        f"Session {e['session']} read at {e['process']} a state of index {e['index']}, "
        f"after it had read one of index {e['least']}."
    )


def _told_writes(e: Example) -> str:
    if e["kind"] == "twice":
        return f"Write {e['number']} of session {e['session']} is at index {e['least']} and at index {e['index']}."
    return (
        f"Write {e['number']} of session {e['session']} is at index {e['index']}, "
        f"not behind the one before it at index {e['least']}."
    )


def _told_after_reads(e: Example) -> str:
    return (
        f"Write {e['number']} of session {e['session']} is at index {e['index']}, "
        f"though the session had read a state of index {e['least']} before."
    )


def _guarantee(
    name: str, means: str, told: Callable[[Example], str], judge: Callable[[ApplicationCase, Tally], None]
) -> ApplicationRule:
    return ApplicationRule(name, STATE, means, told, judge, chosen=True)


OWN_WRITES = _guarantee("RYW", "A session reads its own writes.", _told_own_writes, _judge_own_writes)
READS = _guarantee("MR", "A session never reads an older state than before.", _told_reads, _judge_reads)
WRITES = _guarantee("MW", "A session's writes are applied once, in their order.", _told_writes, _judge_writes)
AFTER_READS = _guarantee(
    "WFR", "A session's write comes after all that it had read.", _told_after_reads, _judge_after_reads
)
