"""Runs and segments are an encoding only: however a history is cut, the oracle says the same of it."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle import GroupReport, Report, judge
from tests.trace.history import Group, Life, damage, write

SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module", autouse=True)
def _no_crash_of_the_machine() -> Iterator[None]:
    """Thousands of segments, none of which has to outlive this test: the disk need not be waited for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


def _grow(chance: random.Random) -> Group:
    group = Group(chance)
    for _ in range(chance.randint(5, 60)):
        group.step()
    group.end()
    return group


def _judge(life: Life, crashed: list[str], chance: random.Random, cut: float, segment_bytes: int) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        return judge(write(Path(folder), life, crashed, chance, cut, segment_bytes))


def _said(report: GroupReport) -> dict[str, tuple[str, int, list[str], list[str]]]:
    """All that a report says; positions are those of messages, so that even sentences must be equal."""
    return {
        rule: (tally.verdict, tally.evaluated, tally.violations, tally.unknowns)
        for rule, tally in report.tallies.items()
    }


@given(SEEDS)
def test_a_valid_history_passes_however_it_is_cut(seed: int) -> None:
    chance = random.Random(seed)
    group = _grow(chance)
    report = _judge(group.life, group.crashed, chance, chance.random(), chance.choice((1, 300, 1000, 10**6)))
    assert report.notes == []
    news = report.group("news")
    assert news.failed() == {}
    assert news.verdict in ("PASS", "VACUOUS")
    assert {report.coverage[who] for who in group.crashed} <= {"open"}
    assert {report.coverage[who] for who in group.life if who not in group.crashed} <= {"closed"}


@pytest.mark.slow
@given(SEEDS, st.booleans())
def test_no_verdict_depends_on_the_cuts(seed: int, damaged: bool) -> None:
    chance = random.Random(seed)
    group = _grow(chance)
    if damaged:
        damage(group.life, chance)
    whole = _judge(group.life, group.crashed, chance, 0.0, 10**6)
    for cut, segment_bytes in ((1.0, 10**6), (0.3, 600), (0.7, 1)):
        report = _judge(group.life, group.crashed, chance, cut, segment_bytes)
        assert report.notes == []
        assert _said(report.group("news")) == _said(whole.group("news"))


@given(SEEDS)
def test_a_lost_segment_makes_no_violation(seed: int) -> None:
    chance = random.Random(seed)
    group = _grow(chance)
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), group.life, group.crashed, chance, 0.3, chance.choice((1, 600)))
        chance.choice(sorted(folder.glob("*/*/*"))).unlink()
        for report in judge(folder).groups.values():
            assert report.failed() == {}
