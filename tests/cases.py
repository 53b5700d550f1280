"""Tables of cases too long for every day: a few are tried by `make test`, and the rest by `make soak`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def daily_and_rest(cases: Sequence[Any], daily: int) -> list[ParameterSet]:
    """Return the cases, all but the first `daily` marked soak."""
    first, rest = cases[:daily], cases[daily:]
    return [*map(pytest.param, first), *(pytest.param(case, marks=pytest.mark.soak) for case in rest)]
