"""CAUSAL against a twin that looks at every message it holds, with its whole clock, whenever anything happens."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from gcom.core.messages.effects import Deliver, Skip
from gcom.core.ordering.causal import Causal
from gcom.values.clock import VectorClock
from gcom.values.names import Process
from gcom.values.run import Run
from tests.core.histories import SENDERS, History, Message, histories
from tests.core.making import A, B, C, D, delivered, run, skipped


@dataclass
class Twin:
    """A dumb causal order: what was delivered or lost is settled; a message may go when all that its sender knew is."""

    past: dict[Message, VectorClock]
    held: list[Run] = field(default_factory=list)
    lost: list[Run] = field(default_factory=list)
    settled: dict[Process, int] = field(default_factory=lambda: dict.fromkeys(SENDERS, 0))
    delivered: list[Message] = field(default_factory=list)

    def settle(self) -> None:
        while True:
            free = [each for each in self.held if self._may_go(each)]
            gone = [each for each in self.lost if self.settled[each.sender] == each.first - 1]
            if not free and not gone:
                return
            for each in free:
                self.held.remove(each)
                self.delivered += [(each.sender, number) for number in range(each.first, each.last + 1)]
                self.settled[each.sender] = each.last
            for each in gone:
                self.lost.remove(each)
                self.settled[each.sender] = each.last

    def _may_go(self, each: Run) -> bool:
        past = self.past[each.sender, each.first]
        return self.settled[each.sender] == each.first - 1 and all(self.settled[who] >= past[who] for who in SENDERS)


def causal() -> Causal:
    """At a fourth member, which only listens."""
    machine = Causal()
    machine.install(1, (A, B, C, D), {}, 0)
    return machine


def in_causal_order(seen: list[Message], history: History, settled: set[Message]) -> bool:
    """Whether each came after all that its sender knew, as far as that is not lost."""
    done = set(settled)
    for sender, number in seen:
        first = max(each.first for each in history.of(sender) if each.first <= number)
        past = history.past[sender, first]
        if any((other, n) not in done for other in SENDERS for n in range(1, past[other] + 1)):
            return False
        done.add((sender, number))
    return True


def messages(runs: list[Run]) -> set[Message]:
    return {(each.sender, number) for each in runs for number in range(each.first, each.last + 1)}


@given(histories(), st.data())
def test_causal_delivers_what_its_twin_delivers(history: History, data: st.DataObject) -> None:
    machine, twin, seen = causal(), Twin(history.past), list[Message]()
    for each in data.draw(st.permutations(history.runs)):
        ups = machine.receive(each)
        assert not skipped(ups)
        seen += delivered(ups)
        twin.held.append(each)
        twin.settle()
        assert set(seen) == set(twin.delivered)
    assert len(seen) == len(messages(history.runs))
    assert in_causal_order(seen, history, set())
    assert machine.close() == []


@given(histories(whole=True), st.data())
def test_over_basic_what_is_lost_holds_up_nobody(history: History, data: st.DataObject) -> None:
    machine, twin, seen, given_up = causal(), Twin(history.past), list[Message](), set[Message]()
    lost = [each for each in history.runs if data.draw(st.booleans()) and data.draw(st.booleans())]
    for each in data.draw(st.permutations(history.runs)):
        if each in lost:
            ups = machine.pass_over(each.sender, each.first, each.last)
            twin.lost.append(each)
        else:
            ups = machine.receive(each)
            twin.held.append(each)
        seen += delivered(ups)
        given_up |= set(skipped(ups))
        twin.settle()
        assert set(seen) == set(twin.delivered)
    assert given_up == messages(lost)
    assert set(seen) == messages(history.runs) - messages(lost)
    assert in_causal_order(seen, history, messages(lost))


@given(histories(), st.data())
def test_what_depends_on_something_that_nobody_has_is_given_up_at_the_end(
    history: History, data: st.DataObject
) -> None:
    machine, twin, seen = causal(), Twin(history.past), list[Message]()
    cut = {sender: data.draw(st.integers(0, len(history.of(sender)))) for sender in SENDERS}
    here = [each for sender in SENDERS for each in history.of(sender)[: cut[sender]]]
    for each in data.draw(st.permutations(here)):
        seen += delivered(machine.receive(each))
        twin.held.append(each)
        twin.settle()
    rest = machine.close()
    assert not delivered(rest)
    assert set(skipped(rest)) == messages(twin.held)
    assert set(skipped(rest)) | set(seen) == messages(here)


def test_a_reply_waits_for_what_it_answers_and_goes_with_it() -> None:
    machine = causal()
    question, reply = run(A, 1, 1), run(B, 1, 1, clock={A: 1})
    assert machine.receive(reply) == []
    assert machine.receive(question) == [Deliver(question, 1), Deliver(reply, 1)]


def test_a_chain_of_replies_comes_in_its_order_however_it_arrives() -> None:
    machine = causal()
    machine.receive(run(C, 1, 1, clock={B: 1}))
    machine.receive(run(B, 1, 1, clock={A: 2}))
    assert machine.receive(run(A, 2, 1)) == []
    assert delivered(machine.receive(run(A, 1, 1))) == [(A, 1), (A, 2), (B, 1), (C, 1)]


def test_the_same_wait_is_not_waited_for_twice() -> None:
    machine = causal()
    for first in (1, 2, 3):
        assert machine.receive(run(B, first, 1, clock={A: 1} if first == 1 else {})) == []
    assert delivered(machine.receive(run(A, 1, 1))) == [(A, 1), (B, 1), (B, 2), (B, 3)]


def test_what_was_known_of_one_who_is_gone_holds_up_nobody() -> None:
    machine = causal()
    late = run(B, 1, 1, clock={"x#1": 7})
    assert machine.receive(late) == [Deliver(late, 1)]


def test_the_next_view_waits_only_for_what_is_sent_in_it() -> None:
    machine = causal()
    machine.receive(run(B, 1, 1, clock={A: 3}))
    assert machine.close() == [Skip(B, 1, 1, 1)]
    machine.install(2, (B, C, D), {A: 0, B: 1, C: 0, D: 0}, 0)
    later = run(B, 2, 1, view=2, clock={A: 3})
    assert machine.receive(later) == [Deliver(later, 2)]
