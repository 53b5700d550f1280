"""Results kept by `--incremental`: whatever became of the folder, it is as good as none, and two may keep at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.wire import pack

SEGMENT = "a/1/000000.jsonl"


def _kept(folder: Path) -> IncrementalCache:
    path = folder / SEGMENT
    path.parent.mkdir(parents=True)
    path.touch()
    return IncrementalCache(folder / "state")


@pytest.mark.parametrize("thing", [5, "text", None, {"a": 1}, (), (4,), (4, "a", "b")])
def test_a_mark_that_holds_something_else_is_none(thing: object, tmp_path: Path) -> None:
    mark = tmp_path / "gcom-audit-state"
    mark.write_bytes(pack(thing))
    seeds = IncrementalCache(tmp_path).seeds
    assert [type(seed) for seed in seeds] == [int, int]
    assert IncrementalCache(tmp_path).seeds == seeds


@pytest.mark.parametrize("thing", [5, "text", None, {"a": 1}, (), (4,), (4, (1, 2))])
def test_what_is_kept_and_holds_something_else_is_none(thing: object, tmp_path: Path) -> None:
    kept = _kept(tmp_path)
    path = str(tmp_path / SEGMENT)
    kept.put(path, 0, "found", last=True)
    assert kept.get(path, 0, last=True) == "found"
    (file,) = (tmp_path / "state").glob("*/*")
    file.write_bytes(pack(thing))
    assert kept.get(path, 0, last=True) is None


def test_two_that_keep_the_same_have_a_draft_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. One writes its draft. 2. Another keeps the same. 3. The first puts its draft in place."""
    kept = _kept(tmp_path)
    path = str(tmp_path / SEGMENT)
    replace = os.replace

    def late(draft: Path, into: Path) -> None:
        monkeypatch.setattr(os, "replace", replace)
        pid = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: pid + 1)
        kept.put(path, 0, "found", last=True)
        replace(draft, into)

    monkeypatch.setattr(os, "replace", late)
    kept.put(path, 0, "found", last=True)
    assert kept.get(path, 0, last=True) == "found"
