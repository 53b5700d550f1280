"""Messages in doubt: of each the application is told once what became of it, or its Departure names it."""

from __future__ import annotations

import pytest

from gcom.core.membership.in_doubt import InDoubt, Span
from gcom.core.messages.effects import DoubtSettled, Ended, Quorum
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.making import A, B
from tests.core.network import Network


def test_who_leaves_as_a_quorum_is_heard_again_is_told_first_what_became_of_its_messages() -> None:
    net = Network(Definition.parse("g", tie_breaker="REGISTRY"))
    net.form("a", "b")
    net.pass_ms(limits.DETACH_MS)
    net.split("a", "registry")
    net.send(A, "in doubt")
    net.kill(B)
    net.until(lambda: net.machines[A].detached)
    net.leave(A)
    net.heal()
    net.until(lambda: net.end(A) is not None)
    told = [it for it in net.effects[A] if isinstance(it, Quorum | DoubtSettled | Ended)]
    assert told == [Quorum(2, has=False, in_doubt=(1, 1)), DoubtSettled(1, 1, arrived=True), Ended(4, "request")]


@pytest.mark.parametrize(
    ("unconfirmed", "settled"),
    [
        (None, (3, 6)),  # all hold all of it
        ((5, 9), (3, 4)),
        ((7, 9), (3, 6)),
        ((3, 9), None),
        ((2, 9), None),
    ],
)
def test_at_the_end_all_is_settled_but_what_the_departure_names(unconfirmed: Span | None, settled: Span | None) -> None:
    doubt = InDoubt()
    doubt.add((3, 6))
    assert doubt.end(unconfirmed) == ([DoubtSettled(*settled, arrived=True)] if settled else [])
    assert doubt.end(None) == []


def test_what_came_into_doubt_first_is_settled_by_the_cut_though_all_hold_it_by_then() -> None:
    doubt = InDoubt()
    doubt.add((1, 4))
    assert doubt.settle_by_cut(A, unconfirmed=(3, 6), arrived=4, view=3) == [
        DoubtSettled(1, 4, arrived=True),
        DoubtSettled(5, 6, arrived=False),
    ]
