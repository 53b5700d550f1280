"""The figures of the audit's bench."""

from __future__ import annotations

from typing import Any

import pytest

from gcom.bench.audit.run import growth
from gcom.bench.frame import JsonRow
from gcom.bench.settings import START_DELIVERIES, AuditBenchSetup
from gcom.errors import BadValue


def outcomes(seconds: dict[int, tuple[float, float, float]]) -> list[JsonRow]:
    return [{"deliveries": size, "seconds": each} for size, all_of in seconds.items() for each in all_of]


def test_twice_the_input_is_medians_without_the_start() -> None:
    measured = {START_DELIVERIES: (9.0, 10.0, 30.0), 10**8: (30.0, 99.0, 31.0), 2 * 10**8: (52.0, 20.0, 53.0)}
    assert growth(outcomes(measured)) == pytest.approx(42 / 21)


def test_what_takes_no_longer_than_the_start_says_nothing() -> None:
    measured = {START_DELIVERIES: (10.0, 10.0, 10.0), 10**6: (11.0, 11.0, 11.0), 2 * 10**6: (9.0, 9.0, 9.0)}
    assert growth(outcomes(measured)) is None


@pytest.mark.parametrize(
    ("setup", "named"),
    [
        ({"members": 0}, "members must be .* got 0"),
        ({"deliveries": 10}, "deliveries must be .* got 10"),
        ({"run_length": 0}, "run length must be .* got 0"),
        ({"deliveries": 2 * START_DELIVERIES, "twice": True}, "twice"),
        ({"ordering": "NONORDERED", "broken": True}, "promises no order"),
        ({"ordering": "sideways"}, "NONORDERED, FIFO"),
    ],
)
def test_what_cannot_be_measured_is_refused(setup: dict[str, Any], named: str) -> None:
    with pytest.raises(BadValue, match=named):
        AuditBenchSetup(**setup)
