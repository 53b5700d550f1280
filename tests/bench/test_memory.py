"""The memory bench with real processes, briefly."""

from __future__ import annotations

import pytest

from gcom.bench.benchmark import MEBIBYTE
from gcom.bench.memory.growth import MemoryResult, MemorySetup, measure
from gcom.errors import BadValue
from gcom.values.definition import Definition, Multicast

KIND = Definition("bench")


@pytest.mark.slow
@pytest.mark.parametrize("multicast", list(Multicast))
def test_each_process_is_measured_twice(multicast: Multicast) -> None:
    outcome = measure(MemorySetup(Definition("bench", multicast=multicast), 2, 20_000), lambda _text: None)
    assert outcome.wrong == 0
    assert set(outcome.early) == set(outcome.late) == {"m0", "m1", "registry"}
    assert all(size > MEBIBYTE for size in (*outcome.early.values(), *outcome.late.values()))


def test_the_process_that_grew_most_counts() -> None:
    early = {"m0": 100 * MEBIBYTE, "registry": 10 * MEBIBYTE}
    outcome = MemoryResult(MemorySetup(KIND, 1, 10_000), early, {"m0": 95 * MEBIBYTE, "registry": 21 * MEBIBYTE}, 0)
    assert outcome.growth_mib == 11
    assert not outcome.met
    row = outcome.row()
    assert (row["growth_mib"], row["met"]) == (11.0, False)


@pytest.mark.parametrize(("members", "messages", "named"), [(0, 10_000, "members"), (2, 10, "messages")])
def test_what_cannot_be_measured_is_refused(members: int, messages: int, named: str) -> None:
    with pytest.raises(BadValue, match=named):
        MemorySetup(KIND, members, messages)
