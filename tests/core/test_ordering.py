"""NONORDERED and FIFO against a twin that handles single messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.messages.effects import Deliver, Skip
from gcom.core.ordering.fifo import Fifo
from gcom.core.ordering.orderer import orderer
from gcom.core.ordering.unordered import NonOrdered
from gcom.values.definition import Ordering
from gcom.values.names import Process
from tests.core.making import A, B, C, delivered, run, skipped


class Twin:
    """Delivers a sender's messages in order; what was passed over is as good as delivered."""

    def __init__(self) -> None:
        self.next = 1
        self.here: set[int] = set()
        self.passed: set[int] = set()
        self.delivered: list[tuple[Process, int]] = []

    def settle(self) -> None:
        while self.next in self.here or self.next in self.passed:
            if self.next in self.here:
                self.delivered.append((A, self.next))
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


def fifo(**cut: int) -> Fifo:
    """In view 1 of A, B and C, after a cut."""
    made = Fifo()
    made.install(1, (A, B, C), {f"{name}#1": number for name, number in cut.items()}, 0)
    return made


@given(arrivals())
def test_fifo_delivers_what_its_twin_delivers(fates: list[tuple[int, int, bool]]) -> None:
    machine, twin, seen, given_up = fifo(), Twin(), list[tuple[Process, int]](), list[tuple[Process, int]]()
    for first, count, lost in fates:
        span = set(range(first, first + count))
        if lost:
            ups = machine.pass_over(A, first, first + count - 1)
            twin.passed |= span
        else:
            ups = machine.receive(run(A, first, count))
            twin.here |= span
        seen += delivered(ups)
        given_up += skipped(ups)
        twin.settle()
        assert seen == twin.delivered
    assert len(seen) == len(twin.here)
    assert given_up == [(A, number) for number in sorted(twin.passed)]
    assert machine.close() == []  # nothing is held back


def test_fifo_holds_over_a_gap_until_it_is_filled() -> None:
    machine = fifo()
    assert machine.receive(run(A, 3, 2)) == []
    assert machine.receive(run(A, 6, 1)) == []
    assert machine.receive(run(A, 1, 2)) == [Deliver(run(A, 1, 2), 1), Deliver(run(A, 3, 2), 1)]
    assert machine.pass_over(A, 5, 5) == [Skip(A, 5, 1, 1), Deliver(run(A, 6, 1), 1)]


def test_a_loss_that_is_known_early_is_told_in_its_place() -> None:
    """Found by simulation: told at once, it counted as read with all before it, and a window opened too far."""
    machine = fifo()
    assert machine.pass_over(A, 3, 4) == []
    assert machine.receive(run(A, 1, 2)) == [Deliver(run(A, 1, 2), 1), Skip(A, 3, 2, 1)]
    assert machine.receive(run(A, 5, 1)) == [Deliver(run(A, 5, 1), 1)]


def test_what_comes_in_order_passes_as_it_is() -> None:
    only = run(A, 5, 3)
    (up,) = fifo(a=4).receive(only)
    assert isinstance(up, Deliver)
    assert up.run is only


def test_one_senders_gap_holds_nobody_else() -> None:
    machine = fifo()
    assert machine.receive(run(A, 2, 1)) == []
    assert delivered(machine.receive(run(B, 1, 1))) == [(B, 1)]


def test_a_stream_of_who_stays_goes_on_and_a_newcomers_begins_at_the_cut() -> None:
    machine = fifo()
    machine.receive(run(A, 1, 3))
    machine.install(2, (A, C, "d#1"), {A: 3, B: 0, C: 0, "d#1": 7}, 0)
    assert machine.receive(run(A, 4, 1, view=2)) == [Deliver(run(A, 4, 1, view=2), 2)]
    assert machine.receive(run("d#1", 8, 1, view=2)) == [Deliver(run("d#1", 8, 1, view=2), 2)]


def test_what_waits_at_the_end_for_something_that_nobody_has_is_given_up() -> None:
    machine = fifo()
    machine.receive(run(A, 5, 1))
    machine.receive(run(B, 2, 2))
    machine.receive(run(A, 2, 1))
    assert machine.close() == [Skip(A, 2, 1, 1), Skip(A, 5, 1, 1), Skip(B, 2, 2, 1)]
    assert machine.close() == []


def test_nonordered_delivers_as_things_arrive() -> None:
    plain = NonOrdered()
    plain.install(3, (A, B), {}, 0)
    arrived = [run(A, 5, 1), run(A, 1, 2), run(B, 1, 1)]
    assert [plain.receive(each) for each in arrived] == [[Deliver(each, 3)] for each in arrived]
    assert plain.pass_over(A, 3, 4) == [Skip(A, 3, 2, 3)]
    assert plain.close() == []


@pytest.mark.parametrize("ordering", list(Ordering))
def test_every_ordering_has_a_module_that_begins_empty(ordering: Ordering) -> None:
    machine = orderer(ordering)
    machine.install(1, (A, B), {}, 0)
    assert machine.close() == machine.order([]) == []
