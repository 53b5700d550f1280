"""Parquet has the same meaning as the lines it was made of; what Arrow parses is what the dumb way parses."""

from __future__ import annotations

import json
import random
import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from gcom.audit.input.compact import from_parquet, to_parquet
from gcom.audit.input.reading import compact, list_segments, open_segment
from gcom.audit.input.records import loaded, parse, parse_slowly
from gcom.audit.input.rows import Rows
from gcom.audit.input.segments import LogSegment
from gcom.errors import BadValue
from tests.audit.cases import make
from tests.audit.here import audit
from tests.cases import daily_and_rest


def _as_dict(rows: Rows) -> dict[str, object]:
    """The rows with names instead of codes, which depend on the order of meeting."""
    plain: dict[str, object] = {
        field.name: getattr(rows, field.name).tolist()
        for field in fields(rows)
        if isinstance(getattr(rows, field.name), np.ndarray) and field.name not in ("key", "sender")
    }
    plain["keys"] = [rows.keys[code] if code >= 0 else None for code in rows.key.tolist()]
    plain["senders"] = [rows.senders[code] if code >= 0 else None for code in rows.sender.tolist()]
    entries = [(at, who, n) for who, each in rows.clock.items() for at, n in zip(*map(list, each), strict=True)]
    return {**plain, "rare": rows.rare, "digests": rows.digests, "clock": sorted(entries)}


@pytest.mark.parametrize("seed", daily_and_rest(range(41, 49), 3))
def test_arrow_parses_what_python_parses(seed: int, tmp_path: Path) -> None:
    make(tmp_path / "logs", seed)
    for path in sorted(tmp_path.rglob("*.jsonl")):
        data = path.read_bytes()
        first, end = data.find(b"\n") + 1, data.rfind(b"\n") + 1
        assert _as_dict(parse(data, first, end)) == _as_dict(parse_slowly(data, first, end))


# Fields of all types and of none, and values of all kinds: any goes into lines of any type.
_NAMES = (
    *("type", "at", "t", "group", "instance", "view", "sent_view", "sender", "number", "count", "serial", "held"),
    *("digests", "clock", "base", "base_serial", "cut", "settled", "by", "from", "into", "has", "safe", "netsplit"),
    *("members", "leader", "ordering", "succeeds", "state", "hue"),
)
_VALUES = (
    *(b"0", b"1", b"5", b"-5", b"1.5", b"1e2", b"01", b"-0", b"4611686018427387905", b"9223372036854775807"),
    *(b"9223372036854775808", b"true", b"null", b"Inf", b"[Inf]", b"NaN", b"-Infinity", b'"x"', b'"2026-01-01"', b'""'),
    *(
        b'"\xc3\xbc"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'"\\ud800"',
        b'"\\u00fc"',
        b'"\0"',
        b"[]",
        b"[1]",
        b"[true]",
        b"[1,[2]]",
    ),
    *(b'["x"]', b"[9223372036854775807]", b"[9223372036854775808]", b"{}", b'{"b#1":5}', b'{"b#1":"x"}', b'{"b#1":-1}'),
    *(b'{"b#1":1.5}', b'{"b#1":Inf}', b'{"b#1":{}}', b'{"b#1":1,"b#1":2}', b"[" * 20_000 + b"]" * 20_000),
    *(b"[" * depth + b"]" * depth for depth in (255, 256)),  # in a record, as deep as may be, and deeper
)
_SENT = b'{"type":"send","at":1,"group":"g","view":1,"number":1,"clock":{"b#1":3,"c#1":0}}\n'
_DELIVERED = b'{"type":"deliver","at":9,"group":"g","view":1,"sent_view":1,"sender":"b#1","number":4}\n'


def _mutated(chance: random.Random, line: bytes) -> bytes:
    """The line with a field more, or in the place of another, or with a byte changed, gone or come in."""
    name, value = chance.choice(_NAMES).encode(), chance.choice(_VALUES)
    at = chance.randrange(len(line) - 1)
    there = re.search(rb',"%s":(\{.*?\}|\[.*?\]|[^,}]*)' % name, line)
    match chance.randrange(5):
        case 0 if there:
            return line.replace(there.group(), b"")
        case 1 if there:
            return line.replace(there.group(), b',"%s":%s' % (name, value))
        case 2:
            return line[:at] + bytes([line[at] ^ (1 << chance.randrange(8))]) + line[at + 1 :]
        case 3:
            return line[:at] + chance.choice((b"", b"}", b"{", b"]", b"[", b" ", b",", b"\0")) + line[at + 1 :]
        case _:
            return line[:-2] + b',"%s":%s}\n' % (name, value)


@pytest.mark.parametrize("seed", daily_and_rest(range(41, 49), 3))
def test_a_line_is_the_same_record_whatever_parses_it(seed: int, tmp_path: Path) -> None:
    """By itself and between others: with a line that Arrow refuses its neighbours are parsed slowly, too."""
    chance = random.Random(seed)
    make(tmp_path / "logs", seed, damaged=False)
    lines = [line for path in sorted(tmp_path.rglob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]
    plain = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in map(_plain, lines) if record]
    for _ in range(400):
        line = _mutated(chance, chance.choice(plain))
        if chance.random() < 0.2:
            line = _mutated(chance, line)
        for data in (line, _SENT + line + _DELIVERED):
            assert _as_dict(parse(data, 0, len(data))) == _as_dict(parse_slowly(data, 0, len(data))), data[:1000]


def _plain(line: bytes) -> dict[str, object] | None:
    record = loaded(line)
    return record if isinstance(record, dict) and record.get("type") in ("send", "deliver", "skip") else None


def test_lines_in_another_style_are_parsed_alike() -> None:
    record = b'{"sender": "a#1", "type": "deliver", "at": %d, "group": "g", "view": 1, "sent_view": 1, "number": %d}\n'
    data = b"".join(record % (n, n) for n in range(1, 50))
    assert parse(data, 0, len(data)).number.tolist() == list(range(1, 50))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(61, 67))
def test_parquet_has_the_same_meaning(seed: int, tmp_path: Path) -> None:
    make(tmp_path / "logs", seed, damaged=seed % 2 == 0)
    for path in sorted((tmp_path / "logs").rglob("*.jsonl")):
        segment = open_segment(str(path))
        if isinstance(segment, str):
            continue
        target = tmp_path / f"{random.Random(str(path)).random()}.parquet"
        to_parquet(segment, target)
        twin = from_parquet(str(target))
        assert isinstance(twin, LogSegment)
        assert (twin.opening, twin.closing, twin.torn, twin.damage) == (
            segment.opening,
            segment.closing,
            segment.torn,
            segment.damage,
        )
        assert _as_dict(twin.rows) == _as_dict(segment.rows)


def test_a_compact_folder_is_judged_as_its_logs_are(tmp_path: Path) -> None:
    make(tmp_path / "logs", 81, damaged=False)
    compact(list_segments([str(tmp_path / "logs")]), tmp_path / "compact", lambda _text: None)
    ours, theirs = audit(tmp_path / "compact"), audit(tmp_path / "logs")
    assert ours.coverage == theirs.coverage
    assert [each.tallies for each in ours.judgements] == [each.tallies for each in theirs.judgements]
    with pytest.raises(BadValue, match="not empty"):
        compact(list_segments([str(tmp_path / "logs")]), tmp_path / "compact", lambda _text: None)
