"""Merging orders of delivery finds a cycle if there is one, held against a dumb twin that closes the relation."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, groupby

import numpy as np
import pytest

from gcom.audit.rules.ordering.order_merge import OrderMerge
from gcom.audit.summary.excerpts import Excerpt
from gcom.audit.summary.intervals import Intervals

Message = tuple[str, int]
Orders = dict[str, list[Message]]


def _orders(chance: random.Random) -> Orders:
    """A few processes that deliver parts of one order, some with a message moved or repeated; or parts of a ring."""
    messages = [(who, number) for who in ("s#1", "t#1") for number in range(1, chance.randint(3, 9))]
    chance.shuffle(messages)
    if chance.random() < 0.1:
        size = chance.randint(3, 4)
        return {f"{'pqru'[at]}#1": [messages[at], messages[(at + 1) % size]] for at in range(size)}
    orders = {}
    for process in ("p#1", "q#1", "r#1", "u#1")[: chance.randint(2, 4)]:
        mine = [message for message in messages if chance.random() < 0.8]
        if len(mine) > 2 and chance.random() < 0.3:
            mine.insert(chance.randrange(len(mine)), mine.pop(chance.randrange(len(mine))))
        if mine and chance.random() < 0.2:
            mine.insert(chance.randrange(len(mine)), chance.choice(mine))
        orders[process] = mine
    return orders


def _is_cyclic(orders: Orders) -> bool:
    firsts = [list(dict.fromkeys(order)) for order in orders.values()]  # a second delivery does not count
    after = {pair for order in firsts for pair in combinations(order, 2)}
    things = {message for order in firsts for message in order}
    for middle in things:
        after |= {(a, b) for a in things for b in things if (a, middle) in after and (middle, b) in after}
    return any((thing, thing) in after for thing in things)


def _excerpts(orders: Orders, chance: random.Random, *, bucket: int) -> list[Excerpt]:
    """Runs as they come: by bucket of places, and of one bucket process by process."""
    placed = []
    for process, order in orders.items():
        place, runs = 0, [list(run) for _, run in groupby(enumerate(order), key=lambda each: _run_of(each, chance))]
        for run in runs:
            placed.append((place // bucket, _excerpt(process, run)))
            place += len(run)
    return [excerpt for _, excerpt in sorted(placed, key=lambda each: each[0])]


def _run_of(each: tuple[int, Message], chance: random.Random) -> tuple[object, ...]:
    """Consecutive numbers of one sender are a run, most often."""
    index, (sender, number) = each
    return sender, number - index, chance.random() < 0.1


def _excerpt(process: str, run: list[tuple[int, Message]]) -> Excerpt:
    (index, (sender, number)), *_ = run
    columns = {"at": index + 1, "number": number, "count": len(run), "sender": 0, "line": index}
    about = {"process": process, "view": 1, "file": process, "names": [sender]}
    return {**about, **{name: np.array([value], np.int64) for name, value in columns.items()}}


def _merged(orders: Orders, excerpts: list[Excerpt], chance: random.Random) -> OrderMerge:
    delivered: dict[str, dict[str, Intervals]] = {process: {} for process in orders}
    for process, order in orders.items():
        for sender, number in order:
            delivered[process].setdefault(sender, Intervals()).add(number, number)
    merge = OrderMerge(delivered)
    for excerpt in excerpts:
        merge.feed(excerpt)
        if chance.random() < 0.3:
            merge.merge()
    merge.merge()
    return merge


@pytest.mark.slow
def test_a_cycle_is_found_if_there_is_one_and_each_step_of_it_is_true() -> None:
    seen: Counter[int] = Counter()
    for seed in range(1500):
        chance = random.Random(seed)
        orders = _orders(chance)
        merge = _merged(orders, _excerpts(orders, chance, bucket=chance.choice((1, 3, 100))), chance)
        steps = merge.steps()
        assert bool(steps) == _is_cyclic(orders), (seed, orders)
        assert merge.is_done(), seed
        for (before, after), (following, _) in zip(steps, [*steps[1:], *steps[:1]], strict=True):
            order = list(dict.fromkeys(orders[before["process"]]))
            one, other = ((each["sender"], each["number"]) for each in (before, after))
            assert order.index(one) < order.index(other), (seed, orders)
            assert other == (following["sender"], following["number"]), (seed, orders)
            assert before["process"] == after["process"]
            assert orders[after["process"]].index(other) == after["at"] - 1, (seed, orders)
        seen[len(steps)] += 1
    assert seen[0] > 100
    assert seen[2] > 100
    assert seen[3] + seen[4] > 10


def test_what_is_never_delivered_as_was_said_is_not_done() -> None:
    """As where a log changes between two passes."""
    merge = OrderMerge({who: {"s#1": Intervals([(1, 2)])} for who in ("p#1", "q#1")})
    merge.feed(_excerpt("p#1", [(0, ("s#1", 1)), (1, ("s#1", 2))]))
    merge.feed(_excerpt("q#1", [(0, ("s#1", 1))]))
    merge.merge()
    assert merge.steps() == []
    assert not merge.is_done()


@pytest.mark.parametrize("known", [Intervals(), Intervals([(1, 1)])])
def test_what_is_delivered_and_was_not_said_leaves_and_proves_nothing(known: Intervals) -> None:
    """As where the summaries have less than the excerpts; nobody is said to deliver 2, or another process is."""
    merge = OrderMerge({"p#1": {"s#1": known}, "q#1": {"s#1": Intervals([(2, 2)])}})
    merge.feed(_excerpt("p#1", [(0, ("s#1", 1)), (1, ("s#1", 2)), (2, ("s#1", 3))]))
    merge.merge()
    assert merge.steps() == []
    assert not merge.is_done()
