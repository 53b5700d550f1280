"""The benchmark of topics, for a moment."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gcom import topics
from gcom.bench.settings import TopicsBenchSetup
from gcom.bench.topics.measuring import check_cost
from gcom.bench.topics.ways import TURNS, way_costs
from gcom.errors import BadValue


def test_it_measures_all_of_it() -> None:
    told = list[str]()
    (found,) = TopicsBenchSetup(size=100, commits=10).measure(told.append)
    row = found.row
    assert (row["type"], row["size"]) == ("topics", 100)
    assert {"one", "producers", "batches", "check", "served", "effects", "p99_ms", "ways"} <= row.keys()
    assert len(told) == 10
    with pytest.raises(BadValue, match="commits must be 10"):
        TopicsBenchSetup(commits=1)


def test_looking_for_duplicates_costs_little(tmp_path: Path) -> None:
    with topics.open(tmp_path / "app.db") as store:
        checked_us, plain_us = check_cost(store, bytes(1024), 20, 256)
        assert store.topic("checked").info.next == store.topic("plain").info.next
    # 5 % is to be reached on a quiet machine; what reads the store for each message would cost many times that.
    assert 0 < checked_us < 1.5 * plain_us


def test_each_way_of_processing_has_its_commits(tmp_path: Path) -> None:
    with topics.open(tmp_path / "app.db") as store:
        costs = {it.way: it for it in way_costs(store, tmp_path, b"body", 40, 10)}
        copies = store.topic("copies 10").info.next
    # Of four batches, and one each to take them over and to let go of the subscription.
    most, least, in_own, in_store, transaction = (round(it.commits * 40) for it in costs.values())
    assert (most, least, in_store, transaction) == (2 * 4 + 2, 2 * 4 + 2, 4 + 2, 4 + 2)
    # Each batch in both, or fewer, as the store is told while the next batch is under way; and one makes the inbox.
    assert 6 < in_own <= 2 * 4 + 3
    assert copies == 40 * (1 + TURNS)
    with closing(sqlite3.connect(tmp_path / "own-10.db")) as own:
        assert own.execute("SELECT count(*) FROM entry").fetchone() == (3 * 40 * (1 + TURNS),)
