"""BASIC and RELIABLE between three members, under drawn schedules, against a twin: the list of what was sent.

A call is put to its peer, arrives or not, is answered or not, and may arrive again later, as links allow: one call in
flight from one member to another. The data path is `Streams`, so numbers, acks, credit and order are all in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcom.core.effects import Deliver, Effect, Sent, Skip
from gcom.core.frames import Status
from gcom.core.multicast import Basic, Range, Reliable
from gcom.core.streams import Streams
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Run
from tests.core.making import A, B, C, decision, numbers, run, view

FIRST = view(A, B, C)
WINDOW = 20
BUDGET = 400  # bytes of runs a frame: several runs queue up behind each other
PAIRS = [(one, other) for one in FIRST.members for other in FIRST.members if one != other]


@dataclass
class Call:
    status: Status
    runs: list[Run]
    reply: Status | None = None


@dataclass
class Seen:
    """What one member's application saw, as (sender, number)."""

    delivered: list[tuple[Process, int]] = field(default_factory=list)
    skipped: list[tuple[Process, int]] = field(default_factory=list)


class Three:
    """Three members' streams and the calls between them."""

    def __init__(self, multicast: str) -> None:
        definition = Definition.parse("g", multicast=multicast)
        self.streams = {who: Streams(who, definition, FIRST, {}) for who in FIRST.members}
        self.calls: dict[tuple[Process, Process], Call] = {}
        self.old: list[tuple[Process, Process, Call]] = []
        self.seen = {who: Seen() for who in FIRST.members}
        self.sent: dict[Process, int] = dict.fromkeys(FIRST.members, 0)
        self.now_ms = 0
        for one, other in PAIRS:
            self.streams[one].multicast.on_status(other, Status(1))

    def note(self, who: Process, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Sent(made):
                    assert made.first == self.sent[who] + 1
                    self.sent[who] = made.last
                case Deliver(made):
                    self.seen[who].delivered += [(made.sender, number) for number in numbers([made])]
                case Skip(sender, first, count):
                    self.seen[who].skipped += [(sender, number) for number in range(first, first + count)]
                case _:
                    raise AssertionError(effect)

    def begin(self, one: Process, other: Process) -> None:
        if (one, other) in self.calls:
            return
        streams = self.streams[one]
        if streams.may_form and not streams.multicast.has_for(other):
            self.note(one, streams.form(BUDGET - 5))
        runs = streams.multicast.take(other, BUDGET)
        self.calls[one, other] = Call(streams.status(other, False, ()), runs)

    def arrive(self, one: Process, other: Process) -> None:
        call = self.calls.get((one, other))
        if call and call.reply is None:
            self.receive(one, other, call)
            call.reply = self.streams[other].status(one, False, ())
            self.old.append((one, other, call))

    def receive(self, one: Process, other: Process, call: Call) -> None:
        streams = self.streams[other]
        streams.multicast.on_status(one, call.status)
        for each in call.runs:
            self.note(other, streams.receive(each, self.now_ms))
        streams.on_sent(one, call.status.sent, self.now_ms)

    def reply(self, one: Process, other: Process) -> None:
        call = self.calls.get((one, other))
        if call and call.reply is not None:
            del self.calls[one, other]
            self.streams[one].multicast.on_status(other, call.reply)
            self.streams[one].multicast.on_replied(other)

    def fail(self, one: Process, other: Process) -> None:
        if self.calls.pop((one, other), None):
            self.streams[one].multicast.on_failed(other)

    def again(self, index: int) -> None:
        if self.old:
            self.receive(*self.old[index % len(self.old)])

    def consume(self, who: Process, sender: Process) -> None:
        """The application is done with what it has of a sender."""
        top = max([number for one, number in self.seen[who].delivered if one == sender], default=0)
        if top:
            self.streams[who].on_consumed(sender, top, 1)

    def wait(self) -> None:
        self.now_ms += limits.GAP_GRACE_MS
        for who, streams in self.streams.items():
            self.note(who, streams.give_up_overdue(self.now_ms))

    def heal(self) -> None:
        """Everything that is pending goes out, arrives and is read."""
        for pair in list(self.calls):
            self.fail(*pair)
        for _ in range(60):
            for pair in PAIRS:
                self.begin(*pair)
                self.arrive(*pair)
                self.reply(*pair)
            for who in FIRST.members:
                for sender in FIRST.members:
                    self.consume(who, sender)
            self.wait()  # what is given up gives credit, too

    def unconsumed(self, sender: Process) -> int:
        """Messages of a sender that some application has not consumed."""
        others = [streams.multicast.consumed[sender] for who, streams in self.streams.items() if who != sender]
        return self.sent[sender] - min([*others, self.streams[sender].multicast.out.self_consumed])


members = st.sampled_from(FIRST.members)
pairs = st.sampled_from(PAIRS)
steps = st.one_of(
    st.tuples(st.just("submit"), members, st.integers(1, 9)),
    st.tuples(st.sampled_from(["begin", "arrive", "reply", "fail"]), pairs),
    st.tuples(st.sampled_from(["exchange", "exchange"]), pairs),
    st.tuples(st.just("again"), st.integers(0, 1000)),
    st.tuples(st.just("consume"), members, members),
    st.tuples(st.just("wait")),
)
schedules = st.lists(steps, max_size=120)


def play(three: Three, schedule: list[tuple[object, ...]]) -> Iterator[None]:
    """Do a schedule; stops after each step for a look."""
    made = 0
    for step in schedule:
        match step:
            case ("submit", str(who), int(count)):
                three.streams[who].submit([f"{who} {made + index}" for index in range(count)])
                made += count
            case ("begin" | "arrive" | "reply" | "fail" as what, (str(one), str(other))):
                getattr(three, what)(one, other)
            case ("exchange", (str(one), str(other))):
                three.begin(one, other)
                three.arrive(one, other)
                three.reply(one, other)
            case ("again", int(index)):
                three.again(index)
            case ("consume", str(who), str(sender)):
                three.consume(who, sender)
            case _:
                three.wait()
        yield


@pytest.fixture(scope="module", autouse=True)
def _small_window() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "WINDOW_MESSAGES_MAX", WINDOW)
        yield


def of(sender: Process, seen: list[tuple[Process, int]]) -> list[int]:
    return [number for one, number in seen if one == sender]


@settings(max_examples=150)
@given(schedules)
def test_reliable_delivers_every_senders_stream_whole_and_in_order(schedule: list[tuple[object, ...]]) -> None:
    three = Three("RELIABLE")
    for _ in play(three, schedule):
        for who in FIRST.members:
            for sender in FIRST.members:
                delivered = of(sender, three.seen[who].delivered)
                assert delivered == list(range(1, len(delivered) + 1))
                assert len(delivered) <= three.sent[sender]
            assert three.unconsumed(who) <= WINDOW
            assert not three.seen[who].skipped
    three.heal()
    for who, streams in three.streams.items():
        assert streams.pending == 0
        for sender in FIRST.members:
            assert of(sender, three.seen[who].delivered) == list(range(1, three.sent[sender] + 1))


@settings(max_examples=80)
@given(schedules)
def test_reliable_keeps_nothing_once_all_is_stable(schedule: list[tuple[object, ...]]) -> None:
    three = Three("RELIABLE")
    for _ in play(three, schedule):
        pass
    three.heal()
    for streams in three.streams.values():
        multicast = streams.multicast
        assert isinstance(multicast, Reliable)
        kept = {sender: store.after(store.floor, limits.NUMBER_MAX) for sender, store in multicast._stores.items()}
        assert kept == {sender: [] for sender in kept}
        assert multicast.out.store.floor == multicast.out.number
        assert streams.unconfirmed is None


@settings(max_examples=150)
@given(schedules)
def test_basic_settles_every_message_once_and_in_order(schedule: list[tuple[object, ...]]) -> None:
    three = Three("BASIC")
    for _ in play(three, schedule):
        for who in FIRST.members:
            for sender in FIRST.members:
                delivered = of(sender, three.seen[who].delivered)
                assert delivered == sorted(set(delivered))
            assert three.unconsumed(who) <= WINDOW
    three.heal()
    for who, streams in three.streams.items():
        assert streams.pending == 0
        for sender in FIRST.members:
            settled = of(sender, three.seen[who].delivered) + of(sender, three.seen[who].skipped)
            assert sorted(settled) == list(range(1, three.sent[sender] + 1))
        assert streams.multicast.out.store.floor == streams.multicast.out.number


def test_basic_loses_nothing_where_no_call_fails() -> None:
    three = Three("BASIC")
    three.streams[A].submit(["x"] * 50)
    three.heal()
    assert [seen.skipped for seen in three.seen.values()] == [[], [], []]


def test_basic_knows_from_the_senders_count_that_its_last_message_is_lost() -> None:
    three = Three("BASIC")
    three.streams[A].submit(["x", "y"])
    three.begin(A, B)
    three.fail(A, B)
    three.heal()
    assert three.seen[B].skipped == [(A, 1), (A, 2)]
    assert three.seen[C].delivered == [(A, 1), (A, 2)]


# one Reliable, step by step


def reliable() -> Reliable:
    multicast = Reliable(A)
    multicast.install(FIRST, {})
    return multicast


def test_an_ack_covers_what_is_stored_and_nothing_more() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 3), 0)
    multicast.receive(run(B, 5, 1), 0)  # over a gap: not stored
    assert multicast.held(B) == 3


def test_a_run_of_another_view_or_of_a_stranger_is_not_stored() -> None:
    multicast = reliable()
    assert multicast.receive(run(B, 1, 1, view=2), 0) == []
    assert multicast.receive(run("x#1", 1, 1), 0) == []
    assert multicast.receive(run(A, 1, 1), 0) == []
    assert multicast.holdings() == {A: 0, B: 0, C: 0}


def test_after_a_promise_nothing_is_stored_or_acknowledged_but_what_the_cut_has() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    multicast.freeze()
    assert multicast.receive(run(B, 3, 1), 0) == []
    assert multicast.holdings()[B] == 2
    cut = {A: 0, B: 3, C: 0}
    assert multicast.missing(cut, 0) == [Range(B, 3, 3)]
    assert multicast.receive(run(B, 3, 1), 0) == []  # stored, and goes up with the cut
    assert multicast.receive(run(B, 4, 1), 0) == []
    assert (multicast.missing(cut, 0), multicast.held(B), multicast.holdings()[B]) == ([], 2, 3)
    assert numbers(multicast.close(cut)[0]) == [3]


def test_a_promise_to_a_higher_ballot_shuts_what_the_last_cut_had_opened() -> None:
    multicast = reliable()
    multicast.freeze()
    multicast.missing({B: 3}, 0)
    multicast.freeze()
    multicast.receive(run(B, 1, 3), 0)
    assert multicast.holdings()[B] == 0


def test_what_is_held_beyond_the_cut_is_thrown_away() -> None:
    multicast = reliable()
    multicast.freeze()
    multicast.missing({B: 4}, 0)
    multicast.receive(run(B, 1, 2), 0)
    multicast.receive(run(B, 3, 2), 0)
    assert numbers(multicast.close({A: 0, B: 2, C: 0})[0]) == [1, 2]
    assert numbers(multicast.fetched(1, B, 0, 10**6)) == [1, 2]


def test_a_cut_that_leaves_out_what_went_up_here_is_not_ours() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    assert multicast.within({A: 0, B: 2, C: 0})
    assert not multicast.within({A: 0, B: 1, C: 0})
    multicast.submit(run(A, 1, 1))
    assert not multicast.within({A: 0, B: 2, C: 0})


def test_the_last_views_payloads_are_served_until_all_have_installed() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    multicast.close({A: 0, B: 2, C: 0})
    multicast.install(view(A, B, C, number=2), {B: 2})
    assert numbers(multicast.fetched(1, B, 0, 10**6)) == [1, 2]
    multicast.release_previous()
    assert multicast.fetched(1, B, 0, 10**6) == []


def test_what_was_dropped_as_stable_is_not_served_in_part() -> None:
    multicast = reliable()
    multicast.receive(run(B, 1, 2), 0)
    multicast.receive(run(B, 3, 2), 0)
    multicast.on_status(B, Status(1, stable=2))
    assert multicast.fetched(1, B, 0, 10**6) == []
    assert numbers(multicast.fetched(1, B, 2, 10**6)) == [3, 4]


def test_a_sender_goes_back_to_what_the_peer_holds() -> None:
    multicast = reliable()
    for peer in (B, C):
        multicast.on_status(peer, Status(1))
    for first in (1, 3):
        multicast.submit(run(A, first, 2))
    assert numbers(multicast.take(B, 10**6)) == [1, 2, 3, 4]
    assert not multicast.has_for(B)
    multicast.on_status(B, Status(1, held=2))
    multicast.on_replied(B)
    assert numbers(multicast.take(B, 10**6)) == [3, 4]
    multicast.on_failed(B)
    assert numbers(multicast.take(B, 10**6)) == [3, 4]


@pytest.mark.parametrize("status", [Status(0), Status(2), Status(1, frozen=True)])
def test_a_peer_in_another_view_or_promised_to_a_change_gets_no_data(status: Status) -> None:
    multicast = reliable()
    multicast.submit(run(A, 1, 1))
    multicast.on_status(B, status)
    assert multicast.take(B, 10**6) == []


# one Basic, step by step


def basic() -> Basic:
    multicast = Basic(A)
    multicast.install(FIRST, {})
    return multicast


def test_a_gap_is_given_up_after_the_grace_and_not_before() -> None:
    multicast = basic()
    multicast.receive(run(B, 3, 1), 100)
    assert multicast.deadline_ms() == 100 + limits.GAP_GRACE_MS
    assert multicast.overdue(99 + limits.GAP_GRACE_MS) == []
    assert multicast.overdue(100 + limits.GAP_GRACE_MS) == [Range(B, 1, 2)]
    assert multicast.receive(run(B, 1, 2), 700) == []  # too late


def test_a_run_may_fill_a_part_of_a_gap() -> None:
    multicast = basic()
    multicast.on_sent(B, 9, 0)
    assert numbers(multicast.receive(run(B, 4, 2), 1)) == [4, 5]
    assert multicast.receive(run(B, 4, 2), 2) == []
    assert multicast.overdue(10**6) == [Range(B, 1, 3), Range(B, 6, 9)]


def test_the_end_of_a_view_gives_up_all_gaps() -> None:
    multicast = basic()
    multicast.receive(run(B, 3, 1), 0)
    multicast.freeze()
    assert multicast.missing({A: 0, B: 5, C: 1}, 1) == [Range(B, 1, 2), Range(B, 4, 5), Range(C, 1, 1)]
    assert multicast.close({A: 0, B: 5, C: 1}) == ([], [Range(B, 1, 2), Range(B, 4, 5), Range(C, 1, 1)])


# Streams


def test_a_static_group_that_has_not_started_numbers_nothing() -> None:
    waiting = view(A, B)
    waiting = type(waiting)(1, waiting.members, waiting.addresses, started=False)
    streams = Streams(A, Definition.parse("g", static=["a", "b", "c"]), waiting, {})
    streams.submit(["x"])
    assert streams.form(10**6) == []
    assert "static group" in streams.waits_for


def test_the_clock_of_a_run_says_what_was_delivered_since_the_last() -> None:
    streams = Streams(A, Definition.parse("g"), FIRST, {})
    streams.receive(run(B, 1, 3), 0)
    streams.submit(["x"])
    (sent, _) = streams.form(10**6)
    assert isinstance(sent, Sent)
    assert sent.run.clock == {B: 3}
    streams.submit(["y"])
    (sent, _) = streams.form(10**6)
    assert isinstance(sent, Sent)
    assert sent.run.clock == {}


def test_the_view_ends_with_the_cut_delivered_and_the_next_begins_where_it_ended() -> None:
    streams = Streams(A, Definition.parse("g"), FIRST, {})
    streams.multicast.freeze()
    change = decision(FIRST, A, C, "d#1", cut={A: 0, B: 2, C: 0})
    streams.multicast.missing(change.cut, 0)
    streams.receive(run(B, 1, 2), 0)
    assert streams.close(change) == [Deliver(run(B, 1, 2), 1)]
    streams.install(change)
    assert streams.receive(run("d#1", 1, 1, view=2), 0) == [Deliver(run("d#1", 1, 1, view=2), 2)]
    assert streams.receive(run(B, 3, 1, view=2), 0) == []


def test_much_untold_credit_is_told_at_once() -> None:
    streams = Streams(A, Definition.parse("g"), FIRST, {})
    streams.receive(run(B, 1, WINDOW), 0)
    assert not streams.on_consumed(B, 1, 10)
    assert streams.on_consumed(B, 1 + WINDOW // 4, 10)
    streams.status(B, False, ())
    assert not streams.on_consumed(B, 2 + WINDOW // 4, 10)
    assert streams.on_consumed(B, 3 + WINDOW // 4, limits.WINDOW_BYTES_MAX)
