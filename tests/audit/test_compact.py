"""Parquet has the same meaning as the lines it was made of; what Arrow parses is what the dumb way parses."""

from __future__ import annotations

import random
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from gcom.audit.input.compact import from_parquet, to_parquet
from gcom.audit.input.reading import compact, list_segments, open_segment
from gcom.audit.input.records import parse, parse_slowly
from gcom.audit.input.rows import Rows
from gcom.audit.input.segments import LogSegment
from gcom.errors import BadValue
from tests.audit.cases import make
from tests.audit.here import audit


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


@pytest.mark.parametrize("seed", range(41, 49))
def test_arrow_parses_what_python_parses(seed: int, tmp_path: Path) -> None:
    make(tmp_path / "logs", seed)
    for path in sorted(tmp_path.rglob("*.jsonl")):
        data = path.read_bytes()
        first, end = data.find(b"\n") + 1, data.rfind(b"\n") + 1
        assert _as_dict(parse(data, first, end)) == _as_dict(parse_slowly(data, first, end))


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
