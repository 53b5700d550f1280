"""Three members' streams and the calls between them, under drawn schedules.

A call is put to its peer, arrives or not, is answered or not, and may arrive late or again, as links allow: one call in
flight from one member to another. The data path is `Streams`, so numbers, acks, credit and order are all in it, and
messages that no frame holds go among the others. In a total order a sequencer is asked, whose answers take their time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hypothesis import strategies as st

from gcom.core.messages.effects import Deliver, Effect, Installed, Sent, Skip
from gcom.core.messages.frames import Status
from gcom.core.messages.orders import Orders
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest
from gcom.core.multicast.window import Load
from gcom.core.ordering.sequencer import Sequencer
from gcom.sim.checkers import Checker
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload
from tests.core.making import A, B, C, data_path, numbers, view

FIRST = view(A, B, C)
WINDOW = 20
BUDGET = 400  # bytes of runs a frame: several runs queue up behind each other, and larger messages go in fragments
FRAGMENT = BUDGET - limits.FRAGMENT_HEADER_BYTES
PAIRS = [(one, other) for one in FIRST.members for other in FIRST.members if one != other]


@dataclass
class Call:
    status: Status
    load: Load
    orders: Orders | None
    reply: Status | None = None


@dataclass
class Seen:
    """The messages that one member's application saw, as (sender, number)."""

    delivered: list[tuple[Process, int]] = field(default_factory=list)
    skipped: list[tuple[Process, int]] = field(default_factory=list)


@dataclass
class Question:
    request: SequencerRequest
    answer: SequencerAnswer | None = None


class Three:
    """Three members' streams, the calls between them, and a sequencer."""

    def __init__(self, definition: Definition, at_registry: bool = True) -> None:
        self.streams = {who: data_path(who, definition, FIRST, at_registry) for who in FIRST.members}
        self.checker = Checker(definition)
        self.sequencer = Sequencer()
        self.questions: dict[Process, Question] = {}
        self.calls: dict[tuple[Process, Process], Call] = {}
        self.old: list[tuple[Process, Process, Call]] = []
        self.seen = {who: Seen() for who in FIRST.members}
        self.sent: dict[Process, int] = dict.fromkeys(FIRST.members, 0)
        self.submitted: dict[Process, list[Payload]] = {who: [] for who in FIRST.members}
        self.now_ms = 0
        for one, other in PAIRS:
            self.streams[one].multicast.on_status(other, Status(1))
        for who in FIRST.members:
            self.checker.see(who, Installed(FIRST, FIRST.members, {}, {}))

    def note(self, who: Process, effects: list[Effect]) -> None:
        for effect in effects:
            self.checker.see(who, effect)
            match effect:
                case Sent(made):
                    assert made.first == self.sent[who] + 1
                    self.sent[who] = made.last
                case Deliver(made):
                    assert made.payloads == self.submitted[made.sender][made.first - 1 : made.last]
                    self.seen[who].delivered += [(made.sender, number) for number in numbers([made])]
                case Skip(sender, first, count):
                    self.seen[who].skipped += [(sender, number) for number in range(first, first + count)]
                case _:
                    raise AssertionError(effect)

    def submit(self, who: Process, payloads: list[Payload]) -> None:
        self.submitted[who] += payloads
        self.streams[who].submit(payloads)

    def begin(self, one: Process, other: Process) -> None:
        if (one, other) in self.calls:
            return
        streams = self.streams[one]
        if streams.may_form and not streams.multicast.has_for(other):
            self.note(one, streams.form(BUDGET - 5))
        load = streams.multicast.take(other, BUDGET)
        orders = streams.serials.put_to(other) if streams.serials else None
        status = streams.status(other)
        streams.on_told(other, status.consumed)
        self.calls[one, other] = Call(status, load, orders)

    def arrive(self, one: Process, other: Process) -> None:
        call = self.calls.get((one, other))
        if call and call.reply is None:
            self.receive(one, other, call)
            call.reply = status = self.streams[other].status(one)
            self.streams[other].on_told(one, status.consumed)
            self.old.append((one, other, call))

    def receive(self, one: Process, other: Process, call: Call) -> None:
        streams = self.streams[other]
        self.note(other, streams.on_status(one, call.status))
        if call.orders:
            self.note(other, streams.on_orders(call.orders, fresh=False))
        for each in call.load.runs:
            self.note(other, streams.receive(each, self.now_ms))
        for fragment in call.load.fragments:
            if run := streams.multicast.assemble(fragment, self.now_ms):
                self.note(other, streams.receive(run, self.now_ms))
        self.note(other, streams.on_sent(one, call.status.sent, self.now_ms))

    def reply(self, one: Process, other: Process) -> None:
        call = self.calls.get((one, other))
        if call and call.reply is not None:
            del self.calls[one, other]
            self.note(one, self.streams[one].on_status(other, call.reply))
            self.streams[one].on_replied(other)

    def fail(self, one: Process, other: Process) -> None:
        if call := self.calls.pop((one, other), None):
            self.old.append((one, other, call))
            self.streams[one].on_failed(other)

    def again(self, index: int) -> None:
        if self.old:
            self.receive(*self.old[index % len(self.old)])

    def consume(self, who: Process, sender: Process) -> None:
        """The application is done with what it has, or knows to be lost, of a sender."""
        seen = self.seen[who]
        top = max([number for one, number in seen.delivered + seen.skipped if one == sender], default=0)
        if top:
            self.streams[who].on_consumed(sender, top, 1)

    def ask(self, who: Process) -> None:
        """One step of asking the sequencer: a question leaves, or is answered, or its answer arrives."""
        serials = self.streams[who].serials
        question = self.questions.get(who)
        if serials is None:
            return
        if question is None:
            due = serials.due(self.streams[who].multicast.out.number, self.now_ms)
            self.questions.update((who, Question(request)) for request in due)
        elif question.answer is None:
            question.answer = self.sequencer.ask(question.request)
        else:
            del self.questions[who]
            orders = serials.on_answer(question.request, question.answer, self.now_ms)
            self.note(who, self.streams[who].on_orders(orders, fresh=True) if orders else [])

    def wait(self) -> None:
        self.now_ms += limits.GAP_GRACE_MS
        for who, streams in self.streams.items():
            self.note(who, streams.give_up_overdue(self.now_ms))

    def heal(self) -> None:
        """Everything that is pending goes out, arrives and is read."""
        for pair in list(self.calls):
            self.fail(*pair)
        quiet = 0
        while quiet < 60:
            quiet += not any(self.streams[one].multicast.has_for(other) for one, other in PAIRS)
            for pair in PAIRS:
                self.begin(*pair)
                self.arrive(*pair)
                self.reply(*pair)
            for who in FIRST.members:
                self.ask(who)
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
    st.tuples(st.just("large"), members, st.integers(BUDGET - 60, 6 * FRAGMENT)),
    st.tuples(st.sampled_from(["begin", "arrive", "reply", "fail"]), pairs),
    st.tuples(st.sampled_from(["exchange", "exchange"]), pairs),
    st.tuples(st.just("again"), st.integers(0, 1000)),
    st.tuples(st.just("consume"), members, members),
    st.tuples(st.sampled_from(["ask", "ask"]), members),
    st.tuples(st.just("wait")),
)
Schedule = list[tuple[object, ...]]
schedules = st.lists(steps, max_size=120)


def play(three: Three, schedule: Schedule) -> Iterator[None]:
    """Do a schedule; stops after each step for a look."""
    made = 0
    for step in schedule:
        match step:
            case ("submit", str(who), int(count)):
                three.submit(who, [f"{who} {made + index}" for index in range(count)])
                made += count
            case ("large", str(who), int(size)):
                three.submit(who, [bytes([made % 256]) * size])
                made += 1
            case ("begin" | "arrive" | "reply" | "fail" as what, (str(one), str(other))):
                getattr(three, what)(one, other)
            case ("exchange", (str(one), str(other))):
                three.begin(one, other)
                three.arrive(one, other)
                three.reply(one, other)
            case ("ask", str(who)):
                three.ask(who)
            case ("again", int(index)):
                three.again(index)
            case ("consume", str(who), str(sender)):
                three.consume(who, sender)
            case _:
                three.wait()
        yield


def of(sender: Process, seen: list[tuple[Process, int]]) -> list[int]:
    """A sender's numbers, as somebody saw them."""
    return [number for one, number in seen if one == sender]
