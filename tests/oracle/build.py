"""Logs made by hand, to be damaged by hand: records without positions in, files out."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, Literal

Record = dict[str, Any]
Logs = dict[str, list[Record]]  # process: its records, in order
Ending = Literal["exit", "crash", "torn"]

A, B, C = "a#1", "b#1", "c#1"


def view(number: int, *members: str, ordering: str = "CAUSALTOTAL", multicast: str = "RELIABLE", **more: Any) -> Record:
    fields = {"members": list(members), "leader": members[0], "ordering": ordering, "multicast": multicast}
    return {"type": "view", "view": number, **fields, **more}


def send(in_view: int, number: int, clock: dict[str, int], **more: Any) -> Record:
    return {"type": "send", "view": in_view, "number": number, "clock": clock, **more}


def deliver(in_view: int, sender: str, number: int, **more: Any) -> Record:
    return {"type": "deliver", "view": in_view, "sent_view": in_view, "sender": sender, "number": number, **more}


def skip(in_view: int, **more: Any) -> Record:
    return {"type": "skip", "view": in_view, **more}


def leave(in_view: int, settled: int) -> Record:
    return {"type": "leave", "view": in_view, "settled": settled, "reason": "request"}


def write(folder: Path, logs: Logs, endings: dict[str, Ending] | None = None) -> Path:
    """Write one segment a process; those not in `endings` exit cleanly."""
    for process, records in logs.items():
        write_segments(folder, process, [records], (endings or {}).get(process, "exit"))
    return folder


def write_segments(
    folder: Path,
    process: str,
    segments: list[list[Record]],
    ending: Ending = "exit",
    states: dict[int, Record] | None = None,
) -> None:
    """Write each list as a segment of `process`; `states` are what openings say, by segment."""
    home = folder / process.replace("#", "/")
    home.mkdir(parents=True)
    at = 1
    for number, records in enumerate(segments):
        last = number == len(segments) - 1
        opening = {"type": "open", "at": at, "version": 1, "process": process, "segment": number, "wall_ns": 0}
        lines = [{**opening, **({"state": states[number]} if states and number in states else {})}]
        for record in records:
            lines.append({"type": record["type"], "at": at, "group": "g", "instance": "i", **record})
            at += record.get("count", 1)
        _write_file(home, number, lines, at, ending if last else "rotate")


def _write_file(home: Path, number: int, lines: list[Record], at: int, ending: str) -> None:
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    if ending in ("exit", "rotate"):
        close = {"type": "close", "at": at, "records": len(lines), "crc32": zlib.crc32(data), "reason": ending}
        (home / f"{number:06}.jsonl").write_bytes(data + json.dumps(close).encode() + b"\n")
    else:
        tail = b'{"type":"deliv' if ending == "torn" else b""
        (home / f".{number:06}.jsonl").write_bytes(data + tail)


def life() -> Logs:
    """A group's life in which every rule has a case and holds: a and b, c enters, b leaves."""
    return {
        A: [
            view(1, A, B),
            send(1, 1, {}, count=2, digests=[11, 12]),
            deliver(1, A, 1, count=2, serial=1, digests=[11, 12]),
            deliver(1, B, 1, serial=3, digests=[21]),
            view(2, A, B, C),
            deliver(2, C, 1, serial=4, digests=[31]),
            send(2, 3, {B: 1, C: 1}, digests=[13]),
            deliver(2, A, 3, serial=5, digests=[13]),
            view(3, A, C),
        ],
        B: [
            view(1, A, B),
            deliver(1, A, 1, serial=1, digests=[11]),
            deliver(1, A, 2, serial=2, digests=[12]),
            send(1, 1, {A: 2}, digests=[21]),
            deliver(1, B, 1, serial=3, digests=[21]),
            view(2, A, B, C),
            deliver(2, C, 1, serial=4, digests=[31]),
            deliver(2, A, 3, serial=5, digests=[13]),
            leave(2, settled=3),
        ],
        C: [
            view(2, A, B, C, base={A: 2, B: 1}, base_serial=3),
            send(2, 1, {A: 2, B: 1}, digests=[31]),
            deliver(2, C, 1, serial=4, digests=[31]),
            deliver(2, A, 3, serial=5, digests=[13]),
            view(3, A, C),
        ],
    }
