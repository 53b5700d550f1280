"""The benches of failover and membership, with real processes, a few rounds; no time is judged."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gcom.bench.benchmark import Figure, Goal
from gcom.bench.failover.membership import SCENES, Scene
from gcom.bench.failover.probe import DeliveryWatch, SeenDelivery
from gcom.bench.failover.scenario import Scenario
from gcom.bench.failover.trials import FailoverResult, FailoverSetup, Kill, Trial, measure
from gcom.errors import BadValue
from gcom.values.definition import Definition, Ordering
from tests.cases import daily_and_rest

FIFO = Definition("bench")
TOTAL = [Definition("bench", ordering) for ordering in Ordering if Definition("bench", ordering).total]


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
        return FailoverResult(Kill.LEADER, tuple(Trial(it, it) for it in seconds)).met

    assert met(0.1, 0.6, 1.4)
    assert not met(0.1, 0.8, 1.4)
    assert not met(0.1, 0.6, 1.6)
    assert not met(0.1, 0.6, None)
    assert not met(None)
    row = FailoverResult(Kill.LEADER, (Trial(0.1, 0.2), Trial(None, None))).row()
    assert (row["median_ms"], row["worst_ms"], row["failed"], row["met"]) == (200.0, 200.0, 1, False)


def test_a_figure_that_ever_failed_has_no_value() -> None:
    goal = Goal("out", "it is out", "s", 5.0)
    assert Figure(goal, (1.0, 4.0)).row()["worst"] == 4.0
    assert Figure(goal, (1.0, 4.0)).met
    assert not Figure(goal, (1.0, 6.0)).met
    assert Figure(goal, (1.0, None)).value is None
    assert not Figure(goal, (1.0, None)).met
    assert Figure(Goal("change", "it changes", "ms", 5.0, "median"), (1.0, 2.0, 9.0)).met


@pytest.mark.parametrize(
    ("words", "named"),
    [((5, 0, "all"), "trials"), ((2, 1, "all"), "members"), ((5, 1, "sequencer"), "total order")],
)
def test_what_cannot_be_measured_is_refused(words: tuple[int, int, str], named: str) -> None:
    members, trials, kill = words
    with pytest.raises(BadValue, match=named):
        FailoverSetup(FIFO, members, trials, Kill.parse(kill))


def test_kinds_of_kills() -> None:
    assert Kill.parse("all") == tuple(Kill)
    assert Kill.parse("Leader") == (Kill.LEADER,)
    with pytest.raises(BadValue, match="leader, member"):
        Kill.parse("everybody")
    assert Kill.SEQUENCER not in FailoverSetup(FIFO, 3, 1, Kill.parse("all")).wanted
    assert all(FailoverSetup(kind, 3, 1, Kill.parse("all")).wanted == tuple(Kill) for kind in TOTAL)


@pytest.mark.slow
@pytest.mark.parametrize("kind", daily_and_rest([*TOTAL, FIFO], 1), ids=lambda kind: kind.ordering)
def test_survivors_of_every_kill_go_on(kind: Definition) -> None:
    told: list[str] = []
    setup = FailoverSetup(kind, 3, 2, Kill.parse("all"))
    with Scenario() as scenario:
        outcomes = list(measure(setup, scenario, told.append))
    assert [outcome.kill for outcome in outcomes] == list(setup.wanted)
    assert len(told) == 2 * len(outcomes)
    for outcome in outcomes:
        assert outcome.failed == 0
        assert all(
            0 < trial.first_s <= trial.resumed_s for trial in outcome.trials if trial.first_s and trial.resumed_s
        )
        assert all(a <= b for a, b in pairwise(outcome.resumed_s))


@pytest.mark.slow
@pytest.mark.parametrize("scene", daily_and_rest(SCENES, 1), ids=lambda scene: scene.name)
def test_a_scene_gives_a_value_for_each_of_its_goals(scene: Scene) -> None:
    (found,) = scene.rounds(FIFO, 1, lambda _text: None)
    assert len(found) == len(scene.goals)
    assert all(value is None or value > 0 for value in found)
    assert found[0] is not None
    if scene.name == "ten joins":
        assert found[1] == 1
