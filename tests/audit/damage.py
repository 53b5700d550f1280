"""Ways to damage a log folder, from a seed: each changes records of one process and mends positions and closes, or not.

A log here is what a file holds, parsed; `sound` operators keep the log well formed, so that what is wrong is what the
group did; `rough` ones damage the files themselves.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Operator = Callable[[random.Random, list[Record]], bool]


def _pick(chance: random.Random, records: list[Record], *kinds: str) -> int | None:
    places = [index for index, record in enumerate(records) if record["type"] in kinds]
    return chance.choice(places) if places else None


def swap(chance: random.Random, records: list[Record]) -> bool:
    """Two deliveries change places."""
    places = [i for i, (a, b) in enumerate(pairwise(records)) if a["type"] == b["type"] == "deliver"]
    if not places:
        return False
    at = chance.choice(places)
    records[at], records[at + 1] = records[at + 1], records[at]
    return True


def swap_serials(chance: random.Random, records: list[Record]) -> bool:
    """Two deliveries change places and keep the serials where they were: the same numbers, another order."""
    places = [
        i
        for i, (a, b) in enumerate(pairwise(records))
        if a["type"] == b["type"] == "deliver" and "serial" in a and "serial" in b and a.get("count") == b.get("count")
    ]
    if not places:
        return False
    at = chance.choice(places)
    one, other = records[at], records[at + 1]
    one["serial"], other["serial"] = other["serial"], one["serial"]
    records[at], records[at + 1] = other, one
    return True


def move(chance: random.Random, records: list[Record]) -> bool:
    """A record goes to another place."""
    at = _pick(chance, records, "deliver", "send", "skip")
    if at is None:
        return False
    records.insert(chance.randrange(1, len(records) + 1), records.pop(at))
    return True


def drop(chance: random.Random, records: list[Record]) -> bool:
    at = _pick(chance, records, "deliver", "send", "skip", "view")
    if at is None:
        return False
    del records[at]
    return True


def double(chance: random.Random, records: list[Record]) -> bool:
    at = _pick(chance, records, "deliver", "send", "skip")
    if at is None:
        return False
    records.insert(chance.randrange(at, len(records)) + 1, dict(records[at]))
    return True


def forge(chance: random.Random, records: list[Record]) -> bool:
    """A delivery names another sender."""
    at = _pick(chance, records, "deliver")
    if at is None:
        return False
    senders = sorted({record["sender"] for record in records if record["type"] == "deliver"} | {"nobody#0"})
    records[at]["sender"] = chance.choice(senders)
    return True


def _shift(field: str, *kinds: str) -> Operator:
    def operate(chance: random.Random, records: list[Record]) -> bool:
        at = _pick(chance, records, *kinds)
        if at is None or field not in records[at]:
            return False
        records[at][field] = max(1, records[at][field] + chance.choice((-3, -1, 1, 2)))
        return True

    return operate


def clock(chance: random.Random, records: list[Record]) -> bool:
    """An entry of a clock is one more or less, or comes, or goes."""
    at = _pick(chance, records, "send")
    if at is None:
        return False
    entries = records[at]["clock"] = dict(records[at]["clock"])
    who = chance.choice([*entries, *(r["sender"] for r in records if r["type"] == "deliver"), "nobody#0"])
    if who in entries and chance.random() < 0.3:
        del entries[who]
    else:
        entries[who] = max(0, entries.get(who, 0) + chance.choice((-1, 1)))
    return True


def membership(chance: random.Random, records: list[Record]) -> bool:
    at = _pick(chance, records, "view")
    if at is None:
        return False
    view = records[at]
    choice = chance.randrange(4)
    if choice == 0 and len(view["members"]) > 1:
        view["members"] = view["members"][1:]
    elif choice == 1:
        view["leader"] = view["members"][-1]
    elif choice == 2:
        view["safe"] = not view.get("safe", False)
    else:
        view["base"] = {who: number + 1 for who, number in view.get("base", {}).items()}
    return True


def digests(chance: random.Random, records: list[Record]) -> bool:
    """One payload is another."""
    at = _pick(chance, records, "send", "deliver")
    if at is None or "digests" not in records[at]:
        return False
    records[at]["digests"] = [n + 1 for n in records[at]["digests"]]
    return True


def settled(chance: random.Random, records: list[Record]) -> bool:
    at = _pick(chance, records, "leave")
    if at is None or "settled" not in records[at]:
        return False
    records[at]["settled"] += chance.choice((-1, 1))
    return True


def to_skip(chance: random.Random, records: list[Record]) -> bool:
    at = _pick(chance, records, "deliver")
    if at is None:
        return False
    del records[at]["sent_view"]
    records[at]["type"] = "skip"
    return True


SOUND: dict[str, Operator] = {
    "swap": swap,
    "swap_serials": swap_serials,
    "move": move,
    "drop": drop,
    "double": double,
    "forge": forge,
    "renumber": _shift("number", "deliver", "send", "skip"),
    "reserial": _shift("serial", "deliver", "skip"),
    "resent": _shift("sent_view", "deliver"),
    "review": _shift("view", "deliver", "send", "view", "leave"),
    "recount": _shift("count", "deliver", "send"),
    "clock": clock,
    "membership": membership,
    "digests": digests,
    "settled": settled,
    "to_skip": to_skip,
}


def read(path: Path) -> list[Record]:
    """The records of a file with its opening and its close."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, records: list[Record], *, mend: bool = True) -> None:
    """Write the records; `mend` gives positions without gaps, and a close that fits."""
    closing = records.pop() if records[-1]["type"] == "close" else None
    if mend:
        at = records[0]["at"]
        for record in records[1:]:
            record["at"] = at
            at += record.get("count", 1)
        if closing is not None:
            closing["at"] = at
    data = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)
    if closing is not None:
        closing |= {"records": len(records), "crc32": zlib.crc32(data)}
        data += json.dumps(closing, separators=(",", ":")).encode() + b"\n"
    path.write_bytes(data)


def _rough_line(chance: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(1, len(lines)) if len(lines) > 1 else 0
    lines[at] = chance.choice((b"", b"{}\n", b'{"type":"deliver","at":\n', b"\xff\xfe\n", lines[at] * 2))
    return b"".join(lines)


def _rough_cut(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(1, len(data))]


def _rough_byte(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _rough_gone(_chance: random.Random, _data: bytes) -> bytes:
    return b""


ROUGH = {"line": _rough_line, "cut": _rough_cut, "byte": _rough_byte, "gone": _rough_gone}


def damage(folder: Path, seed: int) -> str:
    """Damage the folder in one to three ways; returns which."""
    chance = random.Random(seed)
    done = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        path = chance.choice(sorted(folder.rglob("*.jsonl")))
        if chance.random() < 0.2:
            name = chance.choice(sorted(ROUGH))
            rough = ROUGH[name](chance, path.read_bytes())
            path.write_bytes(rough) if rough else path.unlink()
            done.append(name)
            if not list(folder.rglob("*.jsonl")):
                break
            continue
        try:
            records = read(path)
        except ValueError:
            continue
        if not all("type" in record for record in records):  # damaged already
            continue
        closing = [records.pop()] if records[-1]["type"] == "close" else []
        name = chance.choice(sorted(SOUND))
        if SOUND[name](chance, records):
            write(path, [*records, *closing], mend=chance.random() < 0.9)
            done.append(name)
    return "+".join(done)
