"""The idle bench with real processes, briefly."""

from __future__ import annotations

from gcom.bench.idle.cost import IdleResult, IdleSetup, measure
from gcom.values.definition import Definition


def test_members_of_several_groups_that_send_nothing_tell_what_they_used() -> None:
    setup = IdleSetup(Definition("bench"), members=2, groups=2, seconds=1.0)
    result = measure(setup)
    row = result.row()
    assert set(result.percent) == {"m0", "m1", "registry"}
    assert all(result.percent[name] > 0 and result.switches[name] > 0 for name in setup.names)
    assert (row["type"], row["groups"]) == ("idle", 2)


def test_the_bound_grows_with_the_groups() -> None:
    def bound(groups: int) -> float:
        setup = IdleSetup(Definition("bench"), members=1, groups=groups, seconds=1.0)
        (figure,) = IdleResult(setup, {"m0": 1.0, "registry": 9.0}, {"m0": 1.0}).figures
        assert figure.value == 1.0
        return figure.bound

    assert (bound(1), round(bound(20), 1)) == (0.4, 2.0)
