"""TOTAL and CAUSALTOTAL against a twin that has the order as a plain list, one message a serial."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.messages.effects import Deliver, Skip
from gcom.core.messages.orders import Span
from gcom.core.ordering.total import Total
from gcom.values.clock import VectorClock
from gcom.values.names import Process
from gcom.values.run import Run
from tests.core.histories import SENDERS, History, Message, histories
from tests.core.making import A, B, C, D, run

Seen = tuple[int, Message, bool]  # a serial, its message, and whether that was delivered


@dataclass
class Twin:
    """`next` is the place in `line` that comes next."""

    here: set[Message] = field(default_factory=set)
    lost: set[Message] = field(default_factory=set)
    line: list[Message] = field(default_factory=list)
    next: int = 0
    seen: list[Seen] = field(default_factory=list)

    def settle(self) -> None:
        while self.next < len(self.line) and self.line[self.next] in self.lost | self.here:
            self._put(self.line[self.next] in self.here)

    def close(self, past: dict[Message, VectorClock] | None) -> None:
        """With a past of every message, what lacks some of it is given up, too."""
        self.settle()
        given_up: set[Message] = set()
        while self.next < len(self.line):
            message = self.line[self.next]
            lacks = past and any(n <= known(past, message)[sender] for sender, n in given_up)
            if message not in self.lost and (message not in self.here or lacks):
                given_up.add(message)
            self._put(message in self.here and message not in given_up)

    def _put(self, delivered: bool) -> None:
        self.seen.append((self.next + 1, self.line[self.next], delivered))
        self.next += 1


def known(past: dict[Message, VectorClock], message: Message) -> VectorClock:
    """All that a message's sender knew when it sent it, its own stream up to it included."""
    sender, number = message
    first = max(first for one, first in past if one == sender and first <= number)
    return past[sender, first].merge(VectorClock({sender: number - 1}))


def spread(entry: Span) -> list[Message]:
    sender, first, last = entry
    return [(sender, number) for number in range(first, last + 1)]


def said(ups: list[Deliver | Skip]) -> list[Seen]:
    """Each message of what goes up, with its serial."""
    seen: list[Seen] = []
    for up in ups:
        sender, first, count = (
            (up.sender, up.first, up.count)
            if isinstance(up, Skip)
            else (up.run.sender, up.run.first, len(up.run.payloads))
        )
        texts = [f"{sender} {number}" for number in range(first, first + count)]
        assert isinstance(up, Skip) or up.run.payloads == texts
        assert up.view == 1
        seen += [(up.serial + n, (sender, first + n), isinstance(up, Deliver)) for n in range(count)]
    return seen


def total(causal: bool = False, serial: int = 0) -> Total:
    machine = Total(causal)
    machine.install(1, (A, B, C, D), {}, serial)
    return machine


def cut_up(draw: st.DrawFn, order: list[Span]) -> list[Span]:
    """The same order in shorter fragments, as a majority came to hold it."""
    fragments: list[Span] = []
    for sender, first, last in order:
        while first <= last:
            end = draw(st.integers(first, last))
            fragments.append((sender, first, end))
            first = end + 1
    return fragments


@st.composite
def arrivals(draw: st.DrawFn, history: History) -> list[Run | Span]:
    """Runs in any order, the order in its own, and the two in between each other."""
    things: list[Run | Span] = list(draw(st.permutations(history.runs)))
    for place, entry in enumerate(cut_up(draw, history.order)):
        before = [index for index, thing in enumerate(things) if isinstance(thing, tuple)]
        least = before[-1] + 1 if place else 0
        things.insert(draw(st.integers(least, len(things))), entry)
    return things


@given(histories(), st.booleans(), st.data())
def test_total_delivers_what_its_twin_delivers(history: History, causal: bool, data: st.DataObject) -> None:
    machine, twin, seen = total(causal), Twin(), list[Seen]()
    lost = [each for each in history.runs if data.draw(st.booleans()) and data.draw(st.booleans())]
    for thing in data.draw(arrivals(history)):
        if isinstance(thing, tuple):
            ups = machine.order([thing])
            twin.line += spread(thing)
        elif thing in lost:
            ups = machine.pass_over(thing.sender, thing.first, thing.last)
            twin.lost |= set(spread((thing.sender, thing.first, thing.last)))
        else:
            ups = machine.receive(thing)
            twin.here |= set(spread((thing.sender, thing.first, thing.last)))
        seen += said(ups)
        twin.settle()
        assert seen == twin.seen
    assert len(seen) == sum(last - first + 1 for _, first, last in history.order)


@given(histories(), st.booleans(), st.data())
def test_at_the_end_what_nobody_holds_is_a_no_op_at_its_serial(
    history: History, causal: bool, data: st.DataObject
) -> None:
    machine, twin, seen = total(causal), Twin(), list[Seen]()
    cut = {sender: data.draw(st.integers(0, len(history.of(sender)))) for sender in SENDERS}
    here = [each for sender in SENDERS for each in history.of(sender)[: cut[sender]]]
    early = data.draw(st.integers(0, len(history.order)))  # so much of the order came before
    for entry in history.order[:early]:
        seen += said(machine.order([entry]))
        twin.line += spread(entry)
    for each in data.draw(st.permutations(here)):
        seen += said(machine.receive(each))
        twin.here |= set(spread((each.sender, each.first, each.last)))
        twin.settle()
        assert seen == twin.seen
    seen += said(machine.order(history.order[early:]))
    twin.line += [message for entry in history.order[early:] for message in spread(entry)]
    seen += said(machine.close())
    twin.close(history.past if causal else None)
    assert seen == twin.seen


def test_a_run_that_two_entries_cover_is_split_between_them() -> None:
    machine = total(serial=10)
    machine.receive(run(A, 1, 5))
    machine.receive(run(B, 1, 1))
    ups = machine.order([(A, 1, 2), (B, 1, 1), (A, 3, 5)])
    assert said(ups) == [(11 + place, message, True) for place, message in enumerate(_line("AABAAA"))]
    sizes = [len(up.run.payloads) for up in ups if isinstance(up, Deliver)]
    assert sizes == [2, 1, 3]


def test_an_entry_that_covers_two_runs_waits_for_the_second() -> None:
    machine = total()
    assert machine.order([(A, 1, 4)]) == []
    assert [serial for serial, _, _ in said(machine.receive(run(A, 1, 2)))] == [1, 2]
    assert [serial for serial, _, _ in said(machine.receive(run(A, 3, 2)))] == [3, 4]


def test_what_is_lost_here_is_skipped_in_its_place() -> None:
    machine = total()
    assert machine.pass_over(A, 1, 3) == []
    machine.receive(run(B, 1, 1))
    assert machine.order([(A, 1, 2), (B, 1, 1), (A, 3, 3)]) == [
        Skip(A, 1, 2, 1, 1),
        Deliver(run(B, 1, 1), 1, 3),
        Skip(A, 3, 1, 1, 4),
    ]


@pytest.mark.parametrize("causal", [False, True])
def test_what_depends_on_a_no_op_is_one_itself_only_in_a_causal_order(causal: bool) -> None:
    machine = total(causal)
    machine.order([(A, 1, 1), (B, 1, 2), (C, 1, 1)])
    machine.receive(run(B, 1, 1, clock={A: 1}))
    machine.receive(run(B, 2, 1))  # its own past lacks it, too
    machine.receive(run(C, 1, 1))
    delivered = [message for _, message, was in said(machine.close()) if was]
    assert delivered == ([(C, 1)] if causal else [(B, 1), (B, 2), (C, 1)])


def test_a_no_op_ends_where_something_is_known_again() -> None:
    machine = total()
    machine.order([(A, 1, 6)])
    machine.receive(run(A, 4, 1))
    machine.pass_over(A, 6, 6)
    assert machine.close() == [
        Skip(A, 1, 3, 1, 1),
        Deliver(run(A, 4, 1), 1, 4),
        Skip(A, 5, 1, 1, 5),
        Skip(A, 6, 1, 1, 6),
    ]


def test_serials_go_on_in_the_next_view() -> None:
    machine = total()
    machine.receive(run(A, 1, 2))
    assert said(machine.order([(A, 1, 2)]))
    machine.order([(B, 1, 1)])
    machine.close()
    machine.install(2, (A, C), {A: 2, B: 1}, 3)
    machine.receive(run(A, 3, 1, view=2))
    assert machine.order([(A, 3, 3)]) == [Deliver(run(A, 3, 1, view=2), 2, 4)]


def _line(names: str) -> list[Message]:
    """AAB: A's first, A's second, B's first."""
    counted: dict[Process, int] = {}
    line = []
    for name in names:
        who = f"{name.lower()}#1"
        counted[who] = counted.get(who, 0) + 1
        line.append((who, counted[who]))
    return line


@pytest.mark.parametrize("causal", [False, True])
def test_what_has_come_and_has_no_serial_at_the_end_is_given_up_without_one(causal: bool) -> None:
    total = Total(causal)
    total.install(1, (A, B, C), {}, 7)
    total.receive(run(A, 1, 4))
    total.pass_over(B, 1, 2)
    total.receive(run(B, 3, 1))
    total.order([(A, 1, 2), (B, 1, 1)])
    total.close()
    assert total.abandon() == [Skip(A, 3, 2, 1), Skip(B, 2, 1, 1), Skip(B, 3, 1, 1)]
    assert total.abandon() == []
    assert total.order([(C, 1, 1)]) == [Skip(C, 1, 1, 1, 11)]  # no serial was used up
