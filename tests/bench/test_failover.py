"""The benches of failover and membership, with real processes, a few rounds; no time is judged."""

from __future__ import annotations

from typing import Any

import pytest

from gcom.bench.failover.membership import SCENES, Goal, Scene
from gcom.bench.failover.probe import DeliveryWatch, SeenDelivery
from gcom.bench.failover.trials import Trial, result
from gcom.bench.settings import KILLS, FailoverSetup
from gcom.errors import BadValue
from gcom.values.definition import Definition, Ordering
from tests.cases import daily_and_rest

FIFO = Definition("bench")
TOTAL = [ordering for ordering in Ordering if ordering.is_total]


def test_a_watch_ends_with_a_later_message_of_each_in_a_view_without_the_dead() -> None:
    watch = DeliveryWatch(1, 10.0, frozenset(["a", "b"]), "dead")
    before, after = ("a", "b", "dead"), ("a", "b")
    assert not watch.take(SeenDelivery("a", 9.0, 10.5, 1), before)
    assert not watch.take(SeenDelivery("a", 10.1, 10.6, 1), before)
    assert not watch.take(SeenDelivery("b", 10.1, 10.7, 1), before)
    assert not watch.take(SeenDelivery("dead", 10.1, 10.8, 1), before)
    assert not watch.take(SeenDelivery("a", 10.2, 10.9, 2), after)
    assert watch.take(SeenDelivery("b", 10.3, 11.0, 2), after)
    assert watch.report() == {"token": 1, "first": 10.7, "resumed": 11.0}


def test_without_a_dead_member_the_first_message_of_each_will_do() -> None:
    watch = DeliveryWatch(1, 10.0, frozenset(["a"]), "")
    assert watch.take(SeenDelivery("a", 10.1, 10.6, 1), ("a", "b"))


def test_an_outcome_is_judged_by_its_median_its_worst_and_what_failed() -> None:
    def met(*seconds: float | None) -> bool:
        return bool(result(FailoverSetup(), "leader", [Trial(it, it) for it in seconds]).row["met"])

    assert met(0.1, 0.6, 1.4)
    assert not met(0.1, 0.8, 1.4)
    assert not met(0.1, 0.6, 1.6)
    assert not met(0.1, 0.6, None)
    assert not met(None)
    found = result(FailoverSetup(), "leader", [Trial(0.1, 0.2), Trial(None, None)])
    row = found.row
    assert found.wrong == ["1 groups did not go on within 20 s: leader killed"]
    assert (row["median_ms"], row["worst_ms"], row["failed"], row["met"]) == (200.0, 200.0, 1, False)


def test_a_figure_that_ever_failed_has_no_value() -> None:
    goal = Goal("out", "it is out", "s", 5.0)
    assert goal.result((1.0, 4.0)).row["worst"] == 4.0
    assert goal.result((1.0, 4.0)).row["met"]
    assert not goal.result((1.0, 6.0)).row["met"]
    assert goal.result((1.0, None)).row["worst"] is None
    assert not goal.result((1.0, None)).row["met"]
    assert Goal("change", "it changes", "ms", 5.0, "median").result((1.0, 2.0, 9.0)).row["met"]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"trials": 0}, "trials"),
        ({"members": 2}, "members"),
        ({"ordering": "FIFO", "kill": "sequencer"}, "total order"),
        ({"kill": "everybody"}, "leader, member"),
    ],
)
def test_what_cannot_be_measured_is_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(BadValue, match=named):
        FailoverSetup(**fields)


def test_kinds_of_kills() -> None:
    assert FailoverSetup(kill="Leader").kills == ["leader"]
    assert FailoverSetup(ordering="FIFO").kills == ["leader", "member", "registry"]
    assert all(FailoverSetup(ordering=ordering).kills == [*KILLS] for ordering in TOTAL)


@pytest.mark.slow
@pytest.mark.parametrize("ordering", daily_and_rest([*TOTAL, Ordering.FIFO], 1))
def test_survivors_of_every_kill_go_on(ordering: str) -> None:
    told: list[str] = []
    kills = FailoverSetup(ordering=ordering).kills
    for kill in kills:
        (found,) = FailoverSetup(ordering=ordering, members=3, trials=2, kill=kill).measure(told.append)
        row = found.row
        assert (row["kill"], row["failed"], found.wrong) == (kill, 0, [])
        assert 0 < row["first_message_ms"]["median"] <= row["median_ms"] <= row["worst_ms"]
    assert len(told) == 2 * len(kills)


@pytest.mark.slow
@pytest.mark.parametrize("scene", daily_and_rest(SCENES, 1), ids=lambda scene: scene.name)
def test_a_scene_gives_a_value_for_each_of_its_goals(scene: Scene) -> None:
    (found,) = scene.rounds(FIFO, 1, lambda _text: None)
    assert len(found) == len(scene.goals)
    assert all(value is None or value > 0 for value in found)
    assert found[0] is not None
    if scene.name == "ten joins":
        assert found[1] == 1
