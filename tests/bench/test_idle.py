"""The idle bench with real processes, briefly."""

from __future__ import annotations

from gcom.bench.idle.cost import result
from gcom.bench.settings import IdleSetup


def test_members_of_several_groups_that_send_nothing_tell_what_they_used() -> None:
    (found,) = IdleSetup(members=2, groups=2, seconds=1.0).measure()
    row = found.row
    assert [*row["percent"]] == ["m0", "m1", "registry"]
    assert all(row["percent"][name] > 0 and row["switches_per_s"][name] > 0 for name in ("m0", "m1"))
    assert (row["type"], row["groups"]) == ("idle", 2)


def test_the_bound_grows_with_the_groups() -> None:
    def bound(groups: int) -> float:
        row = result(IdleSetup(members=1, groups=groups), {"m0": 1.0, "registry": 9.0}, {"m0": 1.0}).row
        assert row["percent_per_member"] == 1.0
        return float(row["to_reach"]["percent_per_member"])

    assert (bound(1), round(bound(20), 1)) == (0.4, 2.0)
