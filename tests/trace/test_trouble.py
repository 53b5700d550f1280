"""A disk that refuses: the log ends at its last whole line, says so once, and nobody's messages stop."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gcom.core.messages.effects import Installed
from gcom.trace.writer import DeliveryLog
from gcom.values.definition import Definition
from gcom.values.view import View
from tests.oracle import judge

# A limit on the size of files acts as a disk that is full in the midst of a line; it holds for a whole process.
FULL_DISK = """
import itertools, resource, sys
from pathlib import Path
from gcom.core.messages.effects import Deliver, Installed, Sent
from gcom.trace.writer import DeliveryLog
from gcom.values.definition import Definition
from gcom.values.run import Run
from gcom.values.view import View

folder, limit, segment_bytes, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "each"
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
ticks = itertools.count()
limits = {"segment_bytes": segment_bytes}
log = DeliveryLog(Path(folder), "a#1", wall_ns=0, clock_us=lambda: next(ticks), on_trouble=print, **limits)
log.record(Definition("g"), "i", Installed(View(1, ("a#1",), ("h:1",)), (), {}))
for number in range(1, 60):
    run = Run("a#1", 1, number, {}, [b"x"], b"")
    log.record(Definition("g"), "i", Sent(run))
    log.record(Definition("g"), "i", Deliver(run, 1))
    if each:
        log.flush_before_frame()
log.flush()
log.close()
print("done")
"""


@pytest.mark.parametrize("flush", ["each", pytest.param("once", marks=pytest.mark.slow)])
@pytest.mark.parametrize("segment_bytes", [pytest.param(10**6, marks=pytest.mark.slow), 1500])
@pytest.mark.parametrize("limit", [60, 300, 1777, 2048])
def test_a_full_disk_ends_the_log(tmp_path: Path, limit: int, segment_bytes: int, flush: str) -> None:
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path), str(limit), str(segment_bytes), flush]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    *troubles, last = ran.stdout.splitlines()
    assert last == "done"
    assert ran.stderr == ""
    assert len(troubles) == (0 if limit > 1600 and segment_bytes == 1500 else 1)
    assert all("ends here: File too large" in trouble and "Messages go on" in trouble for trouble in troubles)
    for path in tmp_path.glob("*/*/*"):
        assert path.read_bytes()[-1:] in (b"", b"\n"), "no half line stays"
        assert path.stat().st_size <= limit
    report = judge(tmp_path)
    if troubles and limit > 60:
        assert report.notes == []
        assert report.coverage == {"a#1": "open"}
        assert report.group("g").failed() == {}


def _log(folder: Path, troubles: list[str]) -> DeliveryLog:
    return DeliveryLog(folder, "a#1", wall_ns=0, clock_us=lambda: 0, on_trouble=troubles.append)


def _use(log: DeliveryLog) -> None:
    log.record(Definition("g"), "i", Installed(View(1, ("a#1",), ("h:1",)), (), {}))
    log.flush_before_frame()
    log.flush()
    log.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    troubles: list[str] = []
    _use(_log(tmp_path / "file", troubles))
    assert len(troubles) == 1


def test_a_folder_of_another_writer_is_not_touched(tmp_path: Path) -> None:
    troubles: list[str] = []
    _use(_log(tmp_path, troubles))
    assert troubles == []
    before = (tmp_path / "a" / "1" / "000000.jsonl").read_bytes()
    _use(_log(tmp_path, troubles))
    assert len(troubles) == 1
    assert "File exists" in troubles[0]
    assert (tmp_path / "a" / "1" / "000000.jsonl").read_bytes() == before


def test_a_folder_taken_away_is_said_at_the_seal(tmp_path: Path) -> None:
    troubles: list[str] = []
    log = _log(tmp_path, troubles)
    log.record(Definition("g"), "i", Installed(View(1, ("a#1",), ("h:1",)), (), {}))
    log.flush()
    (tmp_path / "a" / "1" / ".000000.jsonl").unlink()
    _use(log)
    assert len(troubles) == 1
