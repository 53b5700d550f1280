"""Export of logs for ShiViz (https://bestchai.bitbucket.io/shiviz/): each record with a vector clock of its events."""

from __future__ import annotations

import json
from urllib.parse import quote

from gcom.audit.input.contract import Record

# The first line of a ShiViz file is the regular expression that parses the rest; the second separates executions.
EXPRESSION = r"(?<host>\S+) (?<clock>{.*})\n(?<event>.*)"

_Clock = dict[str, int]
_Message = tuple[str, int]


def shiviz(records: dict[str, list[Record]]) -> str:
    """Return the text of a ShiViz log. `records` are each process's, in order. A delivery before its send is drawn as
    if it had no send.
    """
    lines = [EXPRESSION, ""]
    for process, clock, record in _stamped(records):
        # ShiViz reads hosts up to a blank.
        stamp = {quote(who, safe="#.-_"): number for who, number in clock.items()}
        lines += [f"{quote(process, safe='#.-_')} {json.dumps(stamp)}", _text_of(record)]
    return "\n".join(lines) + "\n"


def _stamped(records: dict[str, list[Record]]) -> list[tuple[str, _Clock, Record]]:
    sent: dict[_Message, _Clock] = {}
    clocks: dict[str, _Clock] = {process: {} for process in records}
    queues = {process: list(each) for process, each in sorted(records.items())}
    # Only what is sent in these records can be waited for: a witness may have left a send out.
    sends = {(process, each["number"]) for process in records for each in records[process] if each["type"] == "send"}
    found = []
    # It ends: each round takes the first record of one queue or more.
    while any(queues.values()):
        # 1. Each process's records in order. 2. A delivery waits for its send. 3. Where a log has them the other way
        #    round all would wait for ever: then one goes on without.
        ready = [who for who, queue in queues.items() if queue and _message(queue[0]) not in sends - sent.keys()]
        for process in ready or [next(who for who, queue in queues.items() if queue)]:
            record = queues[process].pop(0)
            clock = clocks[process]
            # A vector clock by its definition (Mattern 1989): the maximum of both sides, then one step of its own.
            for who, number in sent.get(_message(record), {}).items():
                clock[who] = max(number, clock.get(who, 0))
            clock[process] = clock.get(process, 0) + 1
            if record["type"] == "send":
                sent[process, record["number"]] = dict(clock)
            found.append((process, dict(clock), record))
    return found


def _message(record: Record) -> _Message:
    """Return the message that a delivery delivers; for other records a message that nobody sends."""
    return (record["sender"], record["number"]) if record["type"] == "deliver" else ("", 0)


def _text_of(record: Record) -> str:
    number, serial = record.get("number"), record.get("serial")
    match record["type"]:
        case "view":
            return f"view {record['view']}: {', '.join(record['members'])}".replace("\n", " ")
        case "send":
            return f"send {number}"
        case "deliver" | "skip" as kind:
            of = f" {number} of {record['sender']}" if number is not None else ""
            return f"{kind}{of}{f' as serial {serial}' if serial else ''}".replace("\n", " ")
        case kind:
            return str(kind).replace("\n", " ")
