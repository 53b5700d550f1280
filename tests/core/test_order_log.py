"""The log of a view's order against a twin: the plain list of which message has which serial."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.messages.orders import Orders, Span
from gcom.core.ordering.order_log import OrderLog
from gcom.values import limits
from gcom.values.names import Process
from tests.core.making import A, B, C

Message = tuple[Process, int]
SENDERS = (A, B, C)
NOTHING = dict.fromkeys(SENDERS, 0)  # has a serial yet


def spread(spans: list[Span] | tuple[Span, ...]) -> list[Message]:
    """The messages of a piece of the order, one a serial."""
    return [(sender, number) for sender, first, last in spans for number in range(first, last + 1)]


@dataclass
class Twin:
    """`line[i]` has serial base+1+i."""

    base: int = 0
    line: list[Message] = field(default_factory=list)

    def part(self, serial: int, end: int) -> list[Message]:
        return self.line[max(0, serial - self.base) : max(0, end - self.base)]

    def ordered(self, sender: Process) -> int:
        return max([number for one, number in self.line if one == sender], default=0)


@st.composite
def logs(draw: st.DrawFn) -> tuple[OrderLog, Twin]:
    """A log as its sequencer has it."""
    base = draw(st.integers(0, 5))
    log, twin = OrderLog(base, NOTHING), Twin(base)
    for sender, count in draw(st.lists(st.tuples(st.sampled_from(SENDERS), st.integers(1, 4)), max_size=12)):
        first = twin.ordered(sender) + 1
        assert log.append(sender, first + count - 1)
        twin.line += [(sender, number) for number in range(first, first + count)]
    return log, twin


def agrees(log: OrderLog, twin: Twin, floor: int, end: int) -> None:
    """The log has of the twin's line what is after `floor` up to `end`."""
    assert log.end == end
    assert log.floor <= max(floor, twin.base)
    assert spread(log.between(floor, end)) == twin.part(floor, end)
    for sender in SENDERS:
        known = [number for one, number in twin.part(twin.base, end) if one == sender]
        assert log.ordered.get(sender, 0) == max(known, default=0)


@given(logs())
def test_a_log_says_of_every_serial_whose_message_has_it(made: tuple[OrderLog, Twin]) -> None:
    log, twin = made
    agrees(log, twin, twin.base, twin.base + len(twin.line))
    for serial in range(twin.base, log.end + 1):
        for end in range(serial, log.end + 1):
            assert spread(log.between(serial, end)) == twin.part(serial, end)


@given(logs(), st.integers(0, 60), st.integers(0, 5))
def test_a_piece_begins_at_or_before_what_was_asked_for_and_leaves_no_gap(
    made: tuple[OrderLog, Twin], serial: int, count: int
) -> None:
    log, twin = made
    piece = log.piece(7, serial, count)
    assert piece.view == 7
    assert len(piece.spans) <= count
    assert piece.after <= max(serial, twin.base)
    assert spread(piece.spans) == twin.part(piece.after, piece.end)
    if count and serial < log.end:
        assert piece.end > serial


@given(logs(), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 4), st.integers(0, 3)), max_size=25))
def test_pieces_that_overlap_come_twice_or_out_of_turn_make_a_prefix(
    made: tuple[OrderLog, Twin], wanted: list[tuple[int, int, int]]
) -> None:
    log, twin = made
    copy = OrderLog(twin.base, NOTHING)
    for serial, count, inside in wanted:
        piece = log.piece(1, serial, count)
        if inside and piece.spans:  # a piece may begin within a span, too
            sender, first, last = piece.spans[0]
            cut = min(inside, last - first)
            piece = Orders(1, piece.after + cut, ((sender, first + cut, last), *piece.spans[1:]))
        before = copy.end
        grew = copy.extend(piece)
        assert grew == (copy.end > before)
        assert copy.end == max(before, piece.end if piece.after <= before else before)
        agrees(copy, twin, twin.base, copy.end)
    while copy.end < log.end:
        assert copy.extend(log.piece(1, copy.end, 1))
    agrees(copy, twin, twin.base, log.end)


@given(logs(), st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
def test_what_is_forgotten_at_either_end_leaves_the_rest_as_it_was(
    made: tuple[OrderLog, Twin], floor: int, end: int, serial: int
) -> None:
    log, twin = made
    top = log.end
    log.drop(floor)
    assert log.floor <= max(floor, twin.base)
    kept = max(min(end, top), log.floor)
    log.truncate(end)
    agrees(log, twin, max(floor, twin.base), kept)
    begin = max(serial, floor, twin.base)
    assert spread(log.between(begin, kept)) == twin.part(begin, kept)
    for sender in SENDERS:  # and it goes on where it was cut
        log.append(sender, log.ordered.get(sender, 0) + 1)
    assert log.end == kept + len(SENDERS)


def test_what_has_a_serial_gets_no_other() -> None:
    log = OrderLog(10, {A: 4})
    assert log.append(A, 6)
    assert not log.append(A, 6)
    assert not log.append(A, 3)
    assert log.append(A, 7)
    assert log.between(10, 99) == [(A, 5, 6), (A, 7, 7)]


@pytest.mark.parametrize(
    "spans",
    [
        [(A, 4, 5)],  # leaves out number 3
        [(A, 1, 4)],  # gives another serial to 1 and 2
        [(A, 3, 3), (B, 2, 2)],  # and what does not fit on behind what does
        [("d#1", 1, 1)],  # is no member
    ],
)
def test_of_a_piece_that_does_not_follow_nothing_is_taken_over(spans: list[Span]) -> None:
    log = OrderLog(0, NOTHING)
    log.append(A, 2)
    log.extend(Orders(1, 2, tuple(spans)))
    assert log.between(0, 99) == [(A, 1, 2), *[span for span in spans if span == (A, 3, 3)]]


def test_a_piece_that_begins_later_is_left_and_comes_again() -> None:
    log = OrderLog(0, NOTHING)
    assert not log.extend(Orders(1, 3, ((A, 4, 4),)))
    assert log.extend(Orders(1, 0, ((A, 1, 3),)))
    assert log.extend(Orders(1, 3, ((A, 4, 4),)))
    assert (log.end, len(log)) == (4, 2)


def test_serials_end_with_the_largest_number() -> None:
    log = OrderLog(limits.NUMBER_MAX - 2, NOTHING)
    assert not log.append(A, 3)
    assert not log.extend(Orders(1, limits.NUMBER_MAX - 2, ((B, 1, 3),)))
    assert log.append(A, 2)
    assert log.end == limits.NUMBER_MAX
    assert not log.append(B, 1)
