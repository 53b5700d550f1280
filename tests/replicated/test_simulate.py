"""`gcom.testing.simulate` with machines of users: right ones pass, and usual mistakes are found, to be replayed."""

from __future__ import annotations

import random
from random import Random
from typing import Any

import pytest

import gcom.testing
from gcom.errors import BadValue
from gcom.replicated.machine import Machine, MachineKind, command
from gcom.replicated.simulated.arguments import drawn_by_types
from tests.replicated.machines import Order, Stock

SEEDS = range(8)


class Oversold(Machine):
    """A stock that forgets to look whether there is enough."""

    def __init__(self) -> None:
        self.left = 3

    @command
    def take(self, count: int) -> int:
        self.left -= count
        return self.left


class Thrown(Machine):
    """A machine that asks for chance."""

    def __init__(self) -> None:
        self.sum = 0.0

    @command
    def throw(self) -> float:
        self.sum += random.random()
        return self.sum


class Doubtful(Machine):
    """A machine whose snapshot leaves something out."""

    def __init__(self) -> None:
        self.count = 0
        self.log: list[int] = []

    @command
    def add(self) -> int:
        self.count += 1
        self.log.append(self.count)
        return len(self.log)

    def snapshot(self) -> Any:
        return self.count

    def restore(self, state: Any) -> None:
        self.count = state


class Bad(Machine):
    @command
    def put(self, file: random.Random) -> None: ...


def is_there(stock: Stock) -> bool:
    return all(count >= 0 for count in stock.pieces.values())


def take_or_put(chance: Random) -> tuple[str, tuple[Any, ...]]:
    return chance.choice(("take", "put")), (chance.choice("ab"), chance.randint(0, 9))


def test_a_right_machine_passes() -> None:
    summary = gcom.testing.simulate(Stock, SEEDS, invariant=is_there, commands=take_or_put)
    assert summary.seeds == len(SEEDS)
    assert summary.answers > 100
    assert summary.faults["crash"] > 20


def test_commands_are_drawn_by_their_annotations() -> None:
    draw = drawn_by_types(MachineKind.of(Stock))
    found = dict(draw(Random(seed)) for seed in range(100))
    assert set(found) == {"put", "take", "order", "spoil", "give", "place"}
    assert isinstance(found["order"][0], Order)


def test_an_invariant_that_fails_is_told_with_its_seed_and_the_way_to_replay() -> None:
    def never_below_zero(stock: Oversold) -> bool:
        return stock.left >= 0

    with pytest.raises(gcom.testing.SeedFailed) as failed:
        gcom.testing.simulate(Oversold, invariant=never_below_zero)
    text = str(failed.value)
    assert "the invariant fails at index" in text
    assert "{'left': -" in text
    assert "to replay it: gcom.testing.simulate(Oversold, seeds=[0], ...)" in text
    with pytest.raises(gcom.testing.SeedFailed) as again:
        gcom.testing.simulate(Oversold, seeds=[0], invariant=never_below_zero)
    assert str(again.value) == text


@pytest.mark.parametrize("machine", [Thrown, Doubtful])
def test_replicas_that_differ_are_found(machine: type[Machine]) -> None:
    with pytest.raises(gcom.testing.SeedFailed, match=r"has .*, and another replica has|answered .* otherwise"):
        gcom.testing.simulate(machine, SEEDS)


def test_what_cannot_be_run_is_said_at_once() -> None:
    with pytest.raises(BadValue, match=r"no value of <class 'random.Random'> can be drawn: give commands="):
        gcom.testing.simulate(Bad)
    with pytest.raises(BadValue, match="Stock has no command 'steal', which commands= gave"):
        gcom.testing.simulate(Stock, commands=lambda _: ("steal", ()))
