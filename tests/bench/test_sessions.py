"""The benchmark of sessions, for a moment."""

from __future__ import annotations

import pytest

from gcom.bench.performance.page import sessions_parts
from gcom.bench.sessions.measuring import CHOICES, SessionBenchSetup, measure
from gcom.errors import BadValue


@pytest.mark.slow
def test_it_measures_all_of_it() -> None:
    told = list[str]()
    found = measure(SessionBenchSetup(200), told.append)
    row = found.row()
    assert {"reads", "reads_p99_ms", "writes", "move", "bank_s"} <= row.keys()
    assert [it.guarantee for it in found.prices] == list(CHOICES)
    assert all(it.reads_per_s > 0 < it.writes_per_s for it in found.prices)
    assert len(told) == 5
    assert "| RYW |" in sessions_parts(found)[-1]


def test_the_setup_is_checked() -> None:
    with pytest.raises(BadValue, match="reads must be 200 to"):
        SessionBenchSetup(1)
