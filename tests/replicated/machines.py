"""Machines that the tests replicate."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum

import gcom.replicated
from gcom.replicated import command, query


class SoldOut(gcom.replicated.Refused):
    """A refusal with a name of its own."""


class Kind(Enum):
    SMALL = 1
    LARGE = "large"


@dataclass(frozen=True)
class Order:
    item: str
    count: int
    kind: Kind = Kind.SMALL
    notes: tuple[str, ...] = field(default=())


class Stock(gcom.replicated.Machine):
    def __init__(self) -> None:
        self.pieces: dict[str, int] = {}
        self.orders: list[Order] = []
        self.there: tuple[str, ...] = ()

    @command
    def put(self, item: str, count: int) -> int:
        self.pieces[item] = self.pieces.get(item, 0) + count
        return self.pieces[item]

    @command
    def take(self, item: str, count: int) -> int:
        if self.pieces.get(item, 0) < count:
            raise SoldOut(item, self.pieces.get(item, 0))
        self.pieces[item] -= count
        return self.pieces[item]

    @command
    def order(self, order: Order) -> Order:
        self.orders.append(order)
        return order

    @command
    def spoil(self, item: str) -> None:
        """Change the state, and fail."""
        self.pieces[item] = -1
        self.pieces.clear()
        raise KeyError(item)

    @command
    def give(self) -> object:
        """Return what cannot travel."""
        self.pieces["given"] = 1
        return object()

    @command
    def place(self) -> tuple[int, str]:
        return self.context.index, self.context.member

    @query
    def of(self, item: str) -> int:
        return self.pieces[item]

    @query
    def all(self) -> dict[str, int]:
        return self.pieces

    @query
    def present(self) -> list[str]:
        return [it.partition("#")[0] for it in self.there]

    def on_members(self, members: tuple[str, ...]) -> None:
        self.there = members


class Dice(gcom.replicated.Machine):
    """A machine that is not deterministic."""

    def __init__(self) -> None:
        self.thrown = 0
        self.sum = 0.0

    @command
    def throw(self) -> int:
        self.thrown += 1
        return self.thrown

    @command
    def cheat(self) -> None:
        self.sum += random.random()

    @query
    def total(self) -> float:
        return self.sum
