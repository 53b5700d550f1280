"""NONORDERED and FIFO against a twin that handles single messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.ordering import Fifo, NonOrdered, orderer
from gcom.values.definition import Ordering
from tests.core.making import A, B, C, numbers, run


class Twin:
    """Delivers a sender's messages in order; what was passed over is as good as delivered."""

    def __init__(self) -> None:
        self.next = 1
        self.here: set[int] = set()
        self.passed: set[int] = set()
        self.delivered: list[int] = []

    def settle(self) -> None:
        while self.next in self.here or self.next in self.passed:
            if self.next in self.here:
                self.delivered.append(self.next)
            self.next += 1


@st.composite
def arrivals(draw: st.DrawFn) -> list[tuple[int, int, bool]]:
    """(first, count, lost) of each run of a stream, in the order in which its fate becomes known."""
    stream: list[tuple[int, int, bool]] = []
    first = 1
    for count in draw(st.lists(st.integers(1, 4), max_size=12)):
        stream.append((first, count, draw(st.booleans()) and draw(st.booleans())))
        first += count
    return draw(st.permutations(stream))


@given(arrivals())
def test_fifo_delivers_what_its_twin_delivers(fates: list[tuple[int, int, bool]]) -> None:
    fifo, twin, delivered = Fifo(), Twin(), list[int]()
    fifo.enter(A, 0)
    lost = [(first, count) for first, count, gone in fates if gone]
    for first, count, _ in (fate for fate in fates if not fate[2]):
        delivered += numbers(fifo.receive(run(A, first, count)))
        twin.here |= set(range(first, first + count))
        twin.settle()
        assert delivered == twin.delivered
    for first, count in sorted(lost):  # as the multicast gives up: a stream's gaps in their order
        delivered += numbers(fifo.pass_over(A, first + count - 1))
        twin.passed |= set(range(1, first + count)) - twin.here
        twin.settle()
        assert delivered == twin.delivered
    assert delivered == sorted(number for number in twin.here)
    fifo.install(())  # nothing is held back


def test_fifo_holds_over_a_gap_until_it_is_filled() -> None:
    fifo = Fifo()
    fifo.enter(A, 0)
    assert fifo.receive(run(A, 3, 2)) == []
    assert fifo.receive(run(A, 6, 1)) == []
    assert numbers(fifo.receive(run(A, 1, 2))) == [1, 2, 3, 4]
    assert numbers(fifo.pass_over(A, 5)) == [6]


def test_what_comes_in_order_passes_as_it_is() -> None:
    fifo = Fifo()
    fifo.enter(A, 4)
    only = run(A, 5, 3)
    assert fifo.receive(only)[0] is only


def test_one_senders_gap_holds_nobody_else() -> None:
    fifo = Fifo()
    fifo.enter(A, 0)
    fifo.enter(B, 0)
    assert fifo.receive(run(A, 2, 1)) == []
    assert numbers(fifo.receive(run(B, 1, 1))) == [1]


def test_a_stream_of_who_left_is_forgotten_and_of_who_stays_goes_on() -> None:
    fifo = Fifo()
    fifo.enter(A, 0)
    fifo.enter(B, 0)
    fifo.receive(run(A, 1, 3))
    fifo.install((A, C))
    assert numbers(fifo.receive(run(A, 4, 1))) == [4]
    with pytest.raises(KeyError):
        fifo.receive(run(B, 1, 1))


def test_a_view_that_ends_with_something_held_back_is_a_fault_of_ours() -> None:
    fifo = Fifo()
    fifo.enter(A, 0)
    fifo.receive(run(A, 2, 1))
    with pytest.raises(AssertionError, match="nothing held back"):
        fifo.install(())


def test_nonordered_delivers_as_things_arrive() -> None:
    plain = NonOrdered()
    plain.enter(A, 0)
    arrived = [run(A, 5, 1), run(A, 1, 2), run(B, 1, 1)]
    assert [plain.receive(each) for each in arrived] == [[each] for each in arrived]
    assert plain.pass_over(A, 4) == []
    plain.install((A,))


@pytest.mark.parametrize("ordering", list(Ordering))
def test_every_ordering_has_a_module(ordering: Ordering) -> None:
    orderer(ordering).enter(A, 0)
