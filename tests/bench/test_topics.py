"""The benchmark of topics, for a moment."""

from __future__ import annotations

import pytest

from gcom.bench.topics.measuring import TopicsBenchSetup, measure
from gcom.errors import BadValue


def test_it_measures_all_of_it() -> None:
    told = list[str]()
    row = measure(TopicsBenchSetup(100, 10), told.append).row()
    assert (row["type"], row["size"]) == ("topics", 100)
    assert {"one", "producers", "batches", "effects", "p99_ms"} <= row.keys()
    assert len(told) == 6
    with pytest.raises(BadValue, match="commits must be 10"):
        TopicsBenchSetup(100, 1)
