"""The registry bench with real processes, briefly, and what its figures mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.bench.benchmark import MEBIBYTE
from gcom.bench.directory.measuring import SEQUENCE_TURNS, DirectoryBenchResult, DirectoryBenchSetup, measure
from gcom.bench.directory.restart import ROUNDS, doubted
from gcom.core.messages.registry import GroupInfo
from gcom.errors import BadValue
from gcom.values.definition import Definition

KIND = Definition("bench")
SETUP = DirectoryBenchSetup(KIND, 8, 1_000, 10.0)
REACHED = DirectoryBenchResult(
    SETUP, 2_000.0, 0.1, 999.0, 0, 0.1, 150.0, ((90.0, 100.0, 110.0), (60.0, 80.0, 100.0)), (1.0, 2.0)
)


@pytest.mark.slow
def test_lookups_and_renewals_are_counted() -> None:
    heard: list[str] = []
    outcome = measure(DirectoryBenchSetup(KIND, 2, 20, 1.0), heard.append)
    assert outcome.refused == 0
    assert min(outcome.lookups_per_s, outcome.renewals_per_s, outcome.longest_s) > 0
    assert outcome.processor >= 0  # in hundredths of a second, of which these few may take none
    assert outcome.resident_mib * MEBIBYTE > MEBIBYTE
    assert heard[:2] == ["20 groups are registered; they are renewed for 1 s", "2 clients look them up for 1 s"]
    assert [len(rates) for rates in outcome.serials_per_s] == [SEQUENCE_TURNS, SEQUENCE_TURNS]
    assert min(map(min, outcome.serials_per_s)) > 0
    assert "80 members are in 20 groups; their registry is killed, and started again" in heard
    assert len(outcome.listed_s) == ROUNDS
    assert min(outcome.listed_s) > 0


@pytest.mark.parametrize(
    ("outcome", "met"),
    [
        (REACHED, True),
        (replace(REACHED, lookups_per_s=1_999.0), False),
        (replace(REACHED, processor=0.11), False),
        (replace(REACHED, resident_mib=151.0), False),
        (replace(REACHED, serials_per_s=((100.0,), (79.0,))), False),
        (replace(REACHED, listed_s=(1.0, 2.1, 1.0)), False),
    ],
)
def test_a_figure_is_reached_or_missed(outcome: DirectoryBenchResult, met: bool) -> None:
    assert outcome.row()["met"] is met


def test_a_group_that_nobody_has_registered_or_that_lacks_a_member_is_doubted() -> None:
    whole = GroupInfo(KIND, "k1", 4, ("a#1", "b#1", "c#1", "d#1"), ("127.0.0.1:9",) * 4, alive=True)
    silent, small = replace(whole, alive=False), replace(whole, members=whole.members[:3])
    assert doubted([whole, silent, small]) == [silent, small]


@pytest.mark.parametrize(
    ("clients", "groups", "seconds", "named"), [(0, 1, 1.0, "members"), (1, 0, 1.0, "groups"), (1, 1, 0.1, "seconds")]
)
def test_what_cannot_be_measured_is_refused(clients: int, groups: int, seconds: float, named: str) -> None:
    with pytest.raises(BadValue, match=named):
        DirectoryBenchSetup(KIND, clients, groups, seconds)
