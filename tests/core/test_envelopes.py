"""Envelopes between two members under drawn schedules of calls, against a dumb twin: the list of what was posted.

A call is put, arrives or not, is answered or not, and may arrive again much later, as links allow: one call in flight
from one member to the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.unicast.channel import Channels, Inbox, Outbox, Unread
from gcom.values import limits
from gcom.values.envelope import Envelope, EnvelopeReceipt, Kind
from gcom.values.names import Process
from gcom.values.run import Payload
from tests.core.making import A, B, C

BUDGET = 200  # bytes of envelopes a frame
PAIRS = [(A, B), (B, A)]


@dataclass
class Call:
    receipt: EnvelopeReceipt
    envelopes: list[Envelope]
    reply: EnvelopeReceipt | None = None


@dataclass
class Seen:
    """The envelopes that came from the other member, in order, and what the application has not done yet."""

    unicasts: list[Payload] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    unread: int = 0
    unserved: list[int] = field(default_factory=list)


class Two:
    """Two members' envelopes, the calls between them, and the twin: what each has posted."""

    def __init__(self) -> None:
        self.envelopes = {who: Channels(who, (A, B)) for who in (A, B)}
        self.seen = {who: Seen() for who in (A, B)}
        self.posted: dict[Process, list[Payload]] = {A: [], B: []}
        self.asked: Counter[Process] = Counter()
        self.calls: dict[tuple[Process, Process], Call] = {}
        self.old: list[tuple[Process, Process, Call]] = []

    def post(self, one: Process, other: Process) -> None:
        payload = f"{one} {len(self.posted[one])}"
        self.posted[one].append(payload)
        self.envelopes[one].outboxes[other].add_unicast(payload)

    def ask(self, one: Process, other: Process) -> None:
        self.asked[one] += 1
        self.envelopes[one].outboxes[other].add_request(self.asked[one], "?")

    def read(self, one: Process, other: Process) -> None:
        if self.seen[one].unread:
            self.seen[one].unread -= 1
            self.envelopes[one].on_read(other)

    def serve(self, one: Process, other: Process) -> None:
        if self.seen[one].unserved:
            self.envelopes[one].outboxes[other].add_answer(Kind.ANSWER, self.seen[one].unserved.pop(0), "!")

    def begin(self, one: Process, other: Process) -> None:
        if (one, other) not in self.calls:
            envelopes = self.envelopes[one].outboxes[other].take(BUDGET)
            self.calls[one, other] = Call(self.envelopes[one].receipt(other), envelopes)
            self.envelopes[one].on_told(other)

    def _take_in(self, one: Process, other: Process, call: Call) -> None:
        """A frame of `one` arrives at `other`, late copies too."""
        self.envelopes[other].outboxes[one].on_receipt(call.receipt, 1)
        seen = self.seen[other]
        for envelope in self.envelopes[other].receive(one, call.envelopes):
            match envelope.kind:
                case Kind.UNICAST:
                    seen.unicasts.append(envelope.payload)
                    seen.unread += 1
                case Kind.REQUEST:
                    seen.requests.append(envelope.call)
                    seen.unserved.append(envelope.call)
                case _:
                    seen.answers.append(envelope.call)

    def arrive(self, one: Process, other: Process) -> None:
        call = self.calls.get((one, other))
        if call and not call.reply:
            self._take_in(one, other, call)
            call.reply = self.envelopes[other].receipt(one)
            self.envelopes[other].on_told(one)
            self.old.append((one, other, call))

    def end(self, one: Process, other: Process) -> None:
        """The reply comes; or the call fails, if it has not arrived."""
        call = self.calls.pop((one, other), None)
        outbox = self.envelopes[one].outboxes[other]
        if call and call.reply:
            outbox.on_receipt(call.reply, 1)
            outbox.on_replied()
        elif call:
            outbox.on_failed()

    def fail(self, one: Process, other: Process) -> None:
        """The call fails, whether it arrived or not."""
        if self.calls.pop((one, other), None):
            self.envelopes[one].outboxes[other].on_failed()

    def again(self, index: int) -> None:
        if self.old:
            self._take_in(*self.old[index % len(self.old)])

    def check(self) -> None:
        for one, other in PAIRS:
            seen, count = self.seen[other], len(self.seen[other].unicasts)
            assert seen.unicasts == self.posted[one][:count]  # FIFO, once, nothing else
            assert seen.requests == list(range(1, len(seen.requests) + 1))
            assert self.seen[one].answers == list(range(1, len(self.seen[one].answers) + 1))
            assert seen.unread <= limits.UNICASTS_UNREAD_MAX
            assert len(seen.unserved) <= limits.REQUESTS_UNSERVED_MAX

    def heal(self) -> None:
        for _ in range(200):
            for one, other in PAIRS:
                self.end(one, other)
                while self.seen[other].unread:
                    self.read(other, one)
                while self.seen[other].unserved:
                    self.serve(other, one)
                self.begin(one, other)
                self.arrive(one, other)
                self.end(one, other)


acts = st.sampled_from(["post"] * 3 + ["ask", "read", "serve", "fail", "again"] + ["begin", "arrive", "end"] * 3)
steps = st.lists(st.tuples(acts, st.integers(0, 30)), max_size=120)


@contextmanager
def small_windows() -> Iterator[None]:
    """Windows that a drawn schedule fills."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "UNICASTS_UNREAD_MAX", 4)
        patch.setattr(limits, "REQUESTS_UNSERVED_MAX", 3)
        yield


@given(taken=steps)
def test_what_was_posted_arrives_once_and_in_order_whatever_calls_do(taken: list[tuple[str, int]]) -> None:
    with small_windows():
        two = Two()
        for act, index in taken:
            if act == "again":
                two.again(index)
            else:
                getattr(two, act)(*PAIRS[index % 2])
            two.check()
        two.heal()
        two.check()
    for one, other in PAIRS:
        assert two.seen[other].unicasts == two.posted[one]
        assert len(two.seen[other].requests) == len(two.seen[one].answers) == two.asked[one]
        assert two.envelopes[one].held()
        assert two.envelopes[one].undelivered == 0


class TestOutbox:
    def test_a_slow_reader_holds_up_unicasts_and_nothing_else(self) -> None:
        outbox, inbox = Outbox(), Inbox()
        for index in range(limits.UNICASTS_UNREAD_MAX + 5):
            outbox.add_unicast(f"{index}")
        put: list[Envelope] = []
        while envelopes := outbox.take(10**6):
            put += envelopes
            for envelope in envelopes:
                assert inbox.takes(envelope, 0)
                inbox.add(envelope)
            outbox.on_receipt(EnvelopeReceipt(inbox.held), 1)
        assert len(put) == limits.UNICASTS_UNREAD_MAX
        outbox.add_request(1, "?")
        outbox.add_answer(Kind.ERROR, 7, "!")
        assert [envelope.kind for envelope in outbox.take(10**6)] == [Kind.ERROR, Kind.REQUEST]
        outbox.on_receipt(EnvelopeReceipt(inbox.held, read=3), 1)
        assert [envelope.payload for envelope in outbox.take(10**6)] == ["1024", "1025", "1026"]

    def test_bytes_bound_the_window_too(self) -> None:
        outbox = Outbox()
        for _ in range(15):
            outbox.add_unicast(b"x" * limits.ENVELOPE_BYTES_MAX)
        assert not outbox.room
        assert len(outbox.take(10**9)) == limits.UNICASTS_UNREAD_BYTES_MAX // limits.ENVELOPE_BYTES_MAX
        assert outbox.room

    def test_a_frame_has_a_bound_in_bytes_and_envelopes(self) -> None:
        outbox = Outbox()
        for _ in range(600):
            outbox.add_unicast("")
        assert len(outbox.take(10**6)) == limits.ENVELOPES_TAKEN
        assert len(outbox.take(10 * limits.ENVELOPE_HEADER_BYTES)) == 10
        outbox.on_failed()
        assert [envelope.number for envelope in outbox.take(10 * limits.ENVELOPE_HEADER_BYTES)] == list(range(1, 11))

    def test_the_largest_envelope_fits_a_frame(self) -> None:
        outbox = Outbox()
        outbox.add_unicast("é" * (limits.ENVELOPE_BYTES_MAX // 2))
        assert len(outbox.take(limits.ENVELOPES_BYTES_TAKEN)) == 1

    def test_what_a_reply_does_not_acknowledge_waits_for_another_frame_or_view(self) -> None:
        outbox = Outbox()
        outbox.add_unicast("hello")
        assert outbox.has_more
        (envelope,) = outbox.take(BUDGET)
        outbox.on_receipt(EnvelopeReceipt(), 0)
        outbox.on_replied()
        assert not outbox.has_more  # else the link would call and call
        assert outbox.take(BUDGET) == [envelope]  # but in a frame that goes anyway
        outbox.on_replied()
        outbox.on_receipt(EnvelopeReceipt(), 3)  # the member has installed a view: now it may take it
        assert outbox.has_more

    def test_a_request_is_withdrawn_until_it_has_a_number(self) -> None:
        outbox = Outbox()
        for call in range(1, limits.REQUESTS_UNSERVED_MAX + 3):
            outbox.add_request(call, "?")
        assert len(outbox.take(10**6)) == limits.REQUESTS_UNSERVED_MAX
        outbox.withdraw(1)
        outbox.withdraw(limits.REQUESTS_UNSERVED_MAX + 1)
        outbox.on_receipt(EnvelopeReceipt(limits.REQUESTS_UNSERVED_MAX, served=2), 1)
        assert [envelope.call for envelope in outbox.take(10**6)] == [limits.REQUESTS_UNSERVED_MAX + 2]

    def test_an_end_is_reached_whatever_is_sent_later(self) -> None:
        outbox = Outbox()
        outbox.add_unicast("one")
        outbox.add_answer(Kind.ANSWER, 1, "yes")
        end = outbox.end
        outbox.add_answer(Kind.ERROR, 2, "no")
        outbox.take(limits.FRAME_BYTES_MAX)  # the answers go first
        outbox.on_receipt(EnvelopeReceipt(held=2), 1)
        assert not outbox.holds(end)
        outbox.add_unicast("two")
        outbox.on_receipt(EnvelopeReceipt(held=3), 1)
        assert outbox.holds(end)
        assert not outbox.holds(outbox.end)

    def test_a_receipt_for_what_was_never_put_changes_nothing(self) -> None:
        outbox = Outbox()
        outbox.add_unicast("a")
        outbox.on_receipt(EnvelopeReceipt(2**62, 2**62, 2**62), 1)
        assert [envelope.number for envelope in outbox.take(BUDGET)] == [1]


class TestInbox:
    def test_only_the_next_envelope_is_taken_and_only_while_there_is_room(self) -> None:
        inbox = Inbox()
        assert not inbox.takes(Envelope(2, Kind.UNICAST, 0, ""), 0)
        for number in range(1, limits.UNICASTS_UNREAD_MAX + 1):
            inbox.add(Envelope(number, Kind.UNICAST, 0, ""))
        assert not inbox.takes(Envelope(inbox.held, Kind.ANSWER, 1, ""), 0)
        assert not inbox.takes(Envelope(inbox.held + 1, Kind.UNICAST, 0, ""), 0)
        assert inbox.takes(Envelope(inbox.held + 1, Kind.ANSWER, 1, ""), 0)

    def test_requests_have_a_bound_of_their_own(self) -> None:
        inbox = Inbox()
        for number in range(1, limits.REQUESTS_UNSERVED_MAX + 1):
            inbox.add(Envelope(number, Kind.REQUEST, number, ""))
        following = Envelope(inbox.held + 1, Kind.REQUEST, 99, "")
        assert not inbox.takes(following, 0)
        assert inbox.takes(following, 1)

    @pytest.mark.parametrize(("payload", "reads"), [("", 256), (b"x" * limits.ENVELOPE_BYTES_MAX, 2)])
    def test_the_sender_hears_at_once_of_a_quarter_of_the_window(self, payload: Payload, reads: int) -> None:
        inbox = Inbox()
        for number in range(1, reads + 1):
            inbox.add(Envelope(number, Kind.UNICAST, 0, payload))
        assert [inbox.on_read() for _ in range(reads)] == [False] * (reads - 1) + [True]


def test_reading_more_than_there_is_changes_nothing() -> None:
    unread = Unread()
    unread.add(5)
    assert unread.on_read(2**62) == 5
    assert unread.read == 1
    assert unread.room


def test_a_view_reports_what_those_who_went_are_not_known_to_hold() -> None:
    envelopes = Channels(A, (A, B))
    envelopes.outboxes[B].add_unicast("held")
    envelopes.outboxes[B].take(BUDGET)
    envelopes.outboxes[B].on_receipt(EnvelopeReceipt(1), 1)
    envelopes.outboxes[B].add_unicast("put")
    envelopes.outboxes[B].take(BUDGET)
    envelopes.outboxes[B].add_unicast("waiting")
    assert envelopes.undelivered == 2
    assert envelopes.install((A, C)) == [(B, ("put", "waiting"))]
    assert list(envelopes.outboxes) == [A, C]
    assert envelopes.receipt(B) == EnvelopeReceipt()


def test_envelopes_to_oneself_need_no_call_but_credit() -> None:
    envelopes = Channels(A, (A,))
    for index in range(limits.UNICASTS_UNREAD_MAX + 2):
        envelopes.outboxes[A].add_unicast(f"{index}")
    assert len(envelopes.to_self()) == limits.UNICASTS_UNREAD_MAX
    assert envelopes.to_self() == []
    envelopes.on_read(A)
    assert [envelope.payload for envelope in envelopes.to_self()] == [f"{limits.UNICASTS_UNREAD_MAX}"]
