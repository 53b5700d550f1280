"""The data kept for the plots has a bound, and parts add up to the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gcom.audit.explain.result import result_of
from gcom.audit.input.catalogue import Chain, catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.scan.chain import scan
from gcom.audit.summary.timeline import BINS, STEPS, Counts, Spread, Timeline, bucket_of, middle_of
from tests.audit.here import audit
from tests.audit.lives import VIEW_US, VIEWS, WALL_NS, broken


def _timelines(folder: Path) -> dict[str, Timeline]:
    paths = catalogue(list_segments([str(folder)])).paths
    scanned = {process: scan(Chain(process, tuple(each)), (1, 2)) for process, each in paths.items()}
    return {process: summaries["news", "k1"].timeline for process, (summaries, _, _) in scanned.items()}


def test_a_log_is_told_in_few_bins_and_none_of_its_deliveries_is_lost(tmp_path: Path) -> None:
    whole = Timeline()
    for timeline in _timelines(broken(tmp_path)).values():
        whole.add(timeline)
    assert max(whole.anchors) - min(whole.anchors) < BINS
    assert whole.deliveries.total == 30 * (3 + 4 + 3)
    assert whole.own.total == 30 * len(VIEWS)
    assert 0 < whole.held.total < whole.deliveries.total
    assert 1_000 < whole.own.percentile(0.5) < 20_000


def test_the_order_of_joining_does_not_matter(tmp_path: Path) -> None:
    one, other = Timeline(), Timeline()
    timelines = list(_timelines(broken(tmp_path)).values())
    for timeline in timelines:
        one.add(timeline)
    for timeline in reversed(timelines):
        other.add(timeline)
    assert (one.shift, one.anchors) == (other.shift, other.anchors)
    for mine, theirs in ((one.deliveries, other.deliveries), (one.held, other.held), (one.own, other.own)):
        assert mine.codes.tolist() == theirs.codes.tolist()
        assert mine.counts.tolist() == theirs.counts.tolist()


def test_a_position_has_a_time(tmp_path: Path) -> None:
    timeline = _timelines(broken(tmp_path))["alice#1"]
    wide = 1 << timeline.shift
    first, last = timeline.when(1), timeline.when(1 << 40)
    assert first is not None
    assert last is not None
    assert abs(first - WALL_NS // 1000) <= wide
    assert VIEW_US * 2 < last - first < VIEW_US * 3 + wide
    assert Timeline().when(1) is None


def test_violations_are_told_where_they_happened(tmp_path: Path) -> None:
    (group,) = result_of(audit(broken(tmp_path, "NO_DUPLICATION"))).groups
    (bin_,) = group.spread["NO_DUPLICATION"]
    start = min(group.history.whole.anchors)
    seconds = ((bin_ - start) << group.history.whole.shift) / 1e6
    assert VIEW_US < seconds * 1e6 < 2 * VIEW_US
    assert [view[0] for view in group.history.views] == [1, 2, 3]


@given(st.lists(st.integers(0, 1 << 44), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_percentile_is_near(waits: list[int], share: float) -> None:
    counts = Counts()
    counts.add_many(bucket_of(np.array(waits, np.int64)), np.ones(len(waits), np.int64))
    near = sorted(waits)[max(0, int(np.ceil(share * len(waits))) - 1)]
    assert counts.total == len(waits)
    assert counts.percentile(share) == middle_of(int(bucket_of(np.array([near]))[0]))
    if near:
        assert 2 ** (-0.51 / STEPS) < counts.percentile(share) / near < 2 ** (0.51 / STEPS)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 1 << 40), st.integers(1, 9)), max_size=2_000))
def test_a_spread_has_a_bound_and_counts_all(violations: list[tuple[str, int, int]]) -> None:
    spread, other = Spread(), Spread()
    for place, (who, at, messages) in enumerate(violations):
        (spread if place % 2 else other).add(who, at, messages)
    spread.join(other)
    assert len(spread.blocks) <= 512
    assert sum(spread.blocks.values()) == sum(messages for _, _, messages in violations)
