"""No seed is empty: each draws three kinds of fault and 500 messages, and all seeds together draw everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

from gcom.sim.plan.draw import EFFECTS, ITEMS, LARGE_MEMBERS, MEMBERS, SCHEMES, STALLS, draw
from gcom.sim.plan.events import ACCEPTED, DISSOLVES, LISTENS, NOTED, ORDER, REGISTRY, STOPPED, VOTE, Fault, Move
from gcom.sim.plan.plan import KINDS_MIN, MESSAGES_MIN, Plan
from gcom.values import limits
from gcom.values.definition import Multicast, Netsplit, Ordering, TieBreaker


@cache
def plans() -> list[Plan]:
    return [draw(seed) for seed in range(1, 501)]


def test_a_seed_draws_the_same_plan_again() -> None:
    assert [draw(plan.seed) for plan in plans()[:50]] == plans()[:50]


def test_every_seed_draws_enough() -> None:
    for plan in plans():
        assert len(plan.kinds) >= KINDS_MIN, plan.seed
        assert plan.messages >= MESSAGES_MIN, plan.seed
        assert MEMBERS[0] <= plan.members <= MEMBERS[1] or plan.members in LARGE_MEMBERS, plan.seed
        assert len(plan.drift) == plan.members, plan.seed
        assert all(900 <= rate <= 1100 for rate, _ in plan.drift), plan.seed
        assert plan.crashed_max >= 1, plan.seed
        assert all(0 < event.at_ms < plan.fault_ms for event in plan.events), plan.seed


def test_all_seeds_draw_every_definition() -> None:
    definitions = [plan.definition for plan in plans()]
    drawn = Counter((it.ordering, it.multicast) for it in definitions)
    assert set(drawn) == {(ordering, multicast) for ordering in Ordering for multicast in Multicast}
    assert min(drawn.values()) >= 2
    assert [(it.ordering, it.multicast, it.safe) for it in definitions[: len(SCHEMES)]] == [*SCHEMES[1:], SCHEMES[0]]
    assert sum(it.tie_breaker is TieBreaker.REGISTRY for it in definitions) >= 100
    assert {it.netsplit for it in definitions} == set(Netsplit)
    assert sum(bool(it.static) for it in definitions) >= 50
    assert {plan.members for plan in plans()} == {*range(MEMBERS[0], MEMBERS[1] + 1), *LARGE_MEMBERS}
    assert 10 <= sum(plan.members > MEMBERS[1] for plan in plans()) <= 30
    assert sum(plan.cold for plan in plans()) >= 50
    assert sum(plan.late > 0 for plan in plans()) >= 50
    assert {plan.posting > 0 for plan in plans()} == {plan.silent for plan in plans()} == {True, False}
    assert sum(plan.forgets for plan in plans()) >= 50
    assert sum(plan.load_bytes < limits.LOAD_BYTES_MAX for plan in plans()) >= 50


def test_a_part_of_the_seeds_is_signed_and_else_as_it_would_be() -> None:
    signed = [plan.definition for plan in plans() if plan.definition.signed]
    assert 60 <= len(signed) <= 150
    assert {(it.ordering, it.multicast, it.safe) for it in signed} == set(SCHEMES)
    for plan in plans():
        unsigned = draw(plan.seed, signed=False)
        assert replace(plan, definition=replace(plan.definition, signed=False)) == unsigned, plan.seed


def test_all_seeds_draw_every_fault() -> None:
    drawn = Counter(event.kind for plan in plans() for event in plan.events)
    drawn.update(kind for plan in plans() for kind in plan.rates)
    drawn[Fault.DRIFT] = sum(any(rate != 1000 for rate, _ in plan.drift) for plan in plans())
    drawn[Move.LIE] = sum(plan.stranger for plan in plans())
    follows = {Fault.RESTART, Move.JOIN}  # follow from others
    assert {*Fault, *Move} - follows <= set(drawn)
    assert min(drawn[kind] for kind in (set(Fault) - follows)) >= 50
    details = Counter(event.detail for plan in plans() for event in plan.events)
    assert set(details) >= {
        *EFFECTS,
        *ITEMS,
        *STALLS,
        ORDER,
        VOTE,
        "one way",
        "both ways",
        "same port",
        "machine",
        "stalls",
        "crawls",
    }


def test_a_part_of_the_seeds_ends_in_an_ambush_between_two_instances() -> None:
    ambushed = [plan for plan in plans() if plan.boundary]
    drawn = Counter(plan.boundary for plan in ambushed)
    assert set(drawn) == {
        "all are cut off",
        "a newcomer meets an outage",
        "one sleeps and another dies",
        "the registry stops",
        "all leave but one",
        "all are replaced",
        "a joiner is let in and nobody says so",
        "a proposer stops with its succession",
        "another listens at a dead port",
        "a namesake comes",
        "donors die",
        "phase after phase",
        "an operator gives some up",
    }
    assert min(drawn.values()) >= 2
    assert {event.detail for plan in ambushed for event in plan.events} >= {STOPPED, DISSOLVES, ACCEPTED, LISTENS}
    assert NOTED in {event.until for plan in ambushed for event in plan.events}
    for plan in ambushed:
        joins = [event.order[0] for event in plan.events if event.kind is Move.JOIN]
        assert sorted(joins) == sorted(plan.names[plan.members - plan.late :]), plan.seed
        assert plan.members - plan.late >= 2, plan.seed
        assert not (plan.definition.static and plan.late), plan.seed
    told = [plan for plan in ambushed if plan.boundary != "phase after phase"]
    outages = [event.for_ms for plan in told for event in plan.events if len(event.sides) > 3]
    assert min(outages) >= 15_000


def test_phases_divide_everybody_and_each_registry_in_any_way() -> None:
    drawn = [plan for plan in plans() if plan.boundary == "phase after phase"]
    assert 60 <= len(drawn) <= 120
    events = [event for plan in drawn for event in plan.events if event.at_ms > plan.fault_ms - 60_000]
    assert {event.kind for event in events} >= {Fault.PAUSE, Fault.CRASH, Fault.OUTAGE, Move.LEAVE, Move.JOIN}
    splits = [event for event in events if event.kind is Fault.PARTITION]
    assert {REGISTRY, f"{REGISTRY} 2"} <= {place for event in splits for side in event.sides for place in side}
    assert any(len(event.sides) == 1 + max(map(len, event.sides)) for event in splits)
    for plan in plans()[:100]:
        plain = draw(plan.seed, in_phases=False)
        assert plan == plain or plan.boundary in ("phase after phase", "an operator gives some up"), plan.seed


def test_partitions_have_two_sides_or_three_and_the_registry_anywhere() -> None:
    found = [(plan, event) for plan in plans() for event in plan.events if event.kind is Fault.PARTITION]
    splits = [(plan, event) for plan, event in found if not plan.boundary]
    assert {len(event.sides) for _, event in splits} == {2, 3}
    for plan, event in splits:
        names = [name for side in event.sides for name in side if name != REGISTRY]
        assert sorted(names) == sorted(plan.names)
        assert all(set(side) != {REGISTRY} for side in event.sides)
    placed = sum(any(REGISTRY in side for side in event.sides) for _, event in splits)
    assert 0.3 < placed / len(splits) < 0.8
