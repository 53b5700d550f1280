"""The benchmark of sessions, for a moment."""

from __future__ import annotations

import pytest

from gcom.bench.sessions.measuring import CHOICES
from gcom.bench.settings import SessionBenchSetup
from gcom.errors import BadValue


@pytest.mark.slow
def test_it_measures_all_of_it() -> None:
    (found,) = SessionBenchSetup(reads=200).measure()
    assert {"reads", "reads_p99_ms", "writes", "move", "bank_s"} <= found.row.keys()
    assert [it["guarantee"] for it in found.row["prices"]] == list(CHOICES)
    assert all(it["reads_per_s"] > 0 < it["writes_per_s"] for it in found.row["prices"])
    assert "| RYW |" in found.tables[1].markdown()


def test_the_setup_is_checked() -> None:
    with pytest.raises(BadValue, match="reads must be 200 to"):
        SessionBenchSetup(reads=1)
