"""`gcom replicated members`: the disks of one state beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gcom.cli.app import run as run_command
from gcom.replicated.durable.agreement import AppendEntry, WritePromise
from gcom.replicated.durable.rounds import Configuration, LogEntry
from gcom.replicated.durable.storage import LogStorage

NAMES = ("a", "b", "c")


def folder_of(base: Path, name: str, entries: int, state: str = "stock") -> str:
    storage = LogStorage(base / f"{state}-{name}", state, name, NAMES)
    writes = [AppendEntry(LogEntry(1, it, "a#1", b""), Configuration(0, NAMES)) for it in range(1, entries + 1)]
    storage.write([WritePromise(1, False), *writes], 1)
    storage.close()
    return str(base / f"{state}-{name}")


def test_a_majority_is_shown_with_the_latest(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folders = [folder_of(tmp_path, "a", 2), folder_of(tmp_path, "b", 5)]
    assert run_command(["replicated", "members", *folders]) == 0
    shown = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert [line[:3] for line in shown] == [
        ["a", "replica", "here"],
        ["b", "replica", "latest"],
        ["c", "replica", "not"],
    ]
    assert run_command(["replicated", "members", *folders, "--json"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert rows[1] == {"name": "b", "role": "replica", "disk": "latest", "term": 1, "index": 5, "confirmed": 1}


def test_less_than_a_majority_and_folders_of_others_are_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    mine = folder_of(tmp_path, "a", 2)
    assert run_command(["replicated", "members", mine]) == 1
    assert "1 of 3 replicas are here, which is no majority" in capfd.readouterr().err
    assert run_command(["replicated", "members", mine, folder_of(tmp_path, "a", 1, "till")]) == 2
    assert "different replicas of one state; got a of stock, a of till" in capfd.readouterr().err
