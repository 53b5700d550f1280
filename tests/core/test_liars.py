"""A member that follows the form and lies: it may stop its group, but nothing of ours may break on what it says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from random import Random

import pytest
from _pytest.mark import ParameterSet

from gcom.core.codec import frames as codec
from gcom.core.codec import sequencer as sequencer_codec
from gcom.core.machine import GroupMachine, Stage
from gcom.core.messages import events, frames
from gcom.core.messages.effects import (
    AskSequencer,
    Deliver,
    DeliverUnicast,
    Effect,
    Ended,
    Installed,
    Serve,
    SetState,
    Skip,
    TakeState,
)
from gcom.core.messages.frames import (
    Ballot,
    Control,
    Decision,
    Frame,
    Keeping,
    Refused,
    Reply,
    Source,
    Standing,
    Status,
)
from gcom.core.messages.orders import Orders
from gcom.core.streams import Streams
from gcom.errors import MalformedFrame
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.envelope import Envelope, EnvelopeReceipt, Kind
from gcom.values.names import Process
from gcom.values.run import Fragment, Payload, Run
from gcom.values.view import View
from tests.core.making import address
from tests.core.network import Network
from tests.core.replicas import Replicas


def some_and_all(daily: int, end: int) -> list[ParameterSet]:
    """A few seeds for `make check`, some for `make test`, and the rest."""
    return [
        pytest.param(range(4), id="few"),
        pytest.param(range(4, daily), id="some", marks=pytest.mark.slow),
        pytest.param(range(daily, end), id="all", marks=pytest.mark.soak),
    ]


class Liar:
    """Makes frames to a member whose every field is well-formed and drawn at random."""

    def __init__(self, rng: Random, machine: GroupMachine, members: list[Process]) -> None:
        self._rng = rng
        self._machine = machine
        self._pool = [*members, "d#1", "b#2"]

    @property
    def _view(self) -> int:
        assert self._machine.view is not None
        return self._machine.view.number

    @property
    def _data(self) -> Streams:
        assert self._machine._member is not None
        return self._machine._member.streams

    def _number(self) -> int:
        return self._rng.choice([0, 1, 2, 2, 3, 4, 10**6, 2**62])

    def _chance(self, of: int) -> bool:
        return self._rng.randrange(of) == 0

    def _counts(self) -> dict[Process, int]:
        return {who: self._number() for who in self._rng.sample(self._pool, self._rng.randint(0, 4))}

    def _streams(self) -> dict[Process, int]:
        """Draw the highest number of some streams, the order's perhaps among them."""
        return {**self._counts(), **({frames.ORDER: self._number()} if self._chance(2) else {})}

    def _orders(self) -> Orders | None:
        """A piece of an order, often one that fits on what is there."""
        serials = self._data.serials
        if serials is None or self._chance(2):
            return None
        log = serials.log
        entries = []
        for who in self._rng.sample(self._pool, self._rng.randint(0, 3)):
            first = self._rng.choice([log.ordered.get(who, 0) + 1] * 3 + [1, 2, 2**62])
            count = self._rng.choice([1, 1, 2, 3, 10**6, 2**62])
            entries.append((who, first, first + count - 1))
        after = self._rng.choice([log.end, log.end, 0, 1, 2**62])
        return Orders(self._rng.choice([self._view, self._view, self._view, 9]), after, tuple(entries))

    def _ballot(self) -> Ballot:
        return self._rng.choice([0, 1, 2, 3, 2**31]), self._rng.randint(0, 3)

    def _decision(self) -> Decision:
        """The next view and a cut, each of them possible or not."""
        assert self._machine.view is not None
        old = self._machine.view.members
        members = tuple(self._rng.sample(self._pool, self._rng.randint(1, 4)))
        if self._machine.process not in members and not self._chance(4):
            members = (*members, self._machine.process)
        number = self._rng.choice([self._view + 1, self._view + 1, self._view + 1, 3, 5])
        view = View(number, members, tuple(map(address, members)))
        left = {who: self._rng.choice(["request", "silence"]) for who in old if who not in members}
        cut = {**dict.fromkeys(old, 0), **self._data.holdings()}
        if self._chance(2):
            cut = self._streams() if self._chance(4) else {**cut, **self._streams()}
        joined = tuple(who for who in members if who not in old)
        given = {who: self._source(members) for who in members if self._chance(2)}
        return Decision(view, joined, left, cut, self._chance(2), sources=given)

    def _source(self, of: Sequence[Process]) -> Source:
        return self._rng.choice(of), self._rng.choice([self._view, self._view + 1, 1])

    def _standing(self) -> Standing:
        failed = tuple(self._rng.sample(self._pool, 2))
        return Standing(self._rng.choice(list(Keeping)), self._source(self._pool), failed)

    def _chunk(self) -> Control:
        count = self._rng.randint(1, 3)
        data = bytes(self._rng.randint(0, 9))
        return frames.StateChunk(self._rng.choice([self._view, 1]), self._rng.randint(1, count), count, data)

    def _control(self) -> Control:
        view = self._rng.choice([self._view, self._view, 1, 9])
        who = self._rng.choice(self._pool)
        items: list[Control] = [
            frames.Join(address(who), self._rng.random() < 0.5),
            frames.Prepare(view, self._ballot()),
            frames.Promise(view, self._ballot(), self._streams(), self._ballot(), self._decision(), self._standing()),
            frames.Nack(view, self._ballot()),
            frames.Cut(view, self._ballot(), self._decision(), {who: (who,), frames.ORDER: (who,)}),
            frames.CutOk(view, self._ballot()),
            frames.Install(self._decision(), self._number()),
            frames.Install(self._decision(), self._number()),
            frames.Fetch(view, self._rng.choice([who, frames.ORDER]), self._number(), self._number(), self._number()),
            self._chunk(),
            frames.StateRefused(self._rng.choice([self._view, 1]), "a lie"),
            frames.MergeInto(who, address(who)),
            frames.Probe(view, tuple(self._pool)),
            frames.IndirectAck(view, tuple(self._pool)),
        ]
        return self._rng.choice(items)

    def _run(self) -> Run:
        sender, first, clock = self._rng.choice(self._pool), max(1, self._number()), self._counts()
        payloads: list[Payload] = ["lie"] * self._rng.randint(1, 3)
        encoded = codec.encode_run(sender, self._view, first, clock, payloads)
        return Run(sender, self._view, first, clock, payloads, encoded)

    def _envelope(self) -> Envelope:
        kind = self._rng.choice(list(Kind))
        call = 0 if kind is Kind.UNICAST else self._rng.choice([1, 2, 3, 2**62])
        return Envelope(max(1, self._number()), kind, call, "lie")

    def _fragment(self) -> Fragment:
        """Some of a well-formed run or of anything, at a place that may continue what came before."""
        sender, first = self._rng.choice(self._pool), self._rng.choice([1, 1, 2, 3, 2**62])
        payloads: list[Payload] = ["lie" * self._rng.choice([1, 100])] * self._rng.choice([1, 1, 2])
        encoded = codec.encode_run(sender, self._view, self._rng.choice([first, 1]), self._counts(), payloads)
        encoded = self._rng.choice([encoded, encoded, b"\xc1" * 90])
        at_byte = self._rng.choice([0, 0, 50, len(encoded) - 1])
        end = self._rng.choice([at_byte + 1, at_byte + 50, len(encoded)])
        total = self._rng.choice([len(encoded), len(encoded), 100, limits.LARGE_RUN_BYTES_MAX])
        return Fragment(sender, self._view, first, at_byte, total, encoded[at_byte:end])

    def frame(self, source: Process) -> Frame:
        """One lie from `source`; raises MalformedFrame where chance made something that is not well-formed."""
        view = self._rng.choice([self._view, self._view, 0, 1, 9])
        held, consumed, stable, sent, safe, ordered, agreed = (self._number() for _ in range(7))
        flags = self._chance(20), self._chance(2), self._chance(5)
        leaving = self._rng.choice(frames.LEAVES_FOR) if self._chance(10) else ""
        receipt = EnvelopeReceipt(self._number(), self._number(), self._number())
        marks = (view, held, consumed, stable, sent, safe, ordered, agreed)
        status = Status(*marks, *flags, leaving, partial=self._number(), receipt=receipt)
        unheard = {one: self._rng.getrandbits(limits.MEMBERS_MAX) & ~(1 << one) for one in range(5) if self._chance(5)}
        # `arrived` is a number that was drawn already: one draw more would change what all seeds after it try.
        status = status._replace(state=self._number(), needs_donor=self._chance(10), unheard=unheard, arrived=sent)
        control = tuple(self._control() for _ in range(self._rng.randint(0, 3)))
        runs = tuple(self._run() for _ in range(self._rng.randint(0, 2)))
        fragments = tuple(self._fragment() for _ in range(self._rng.randint(0, 2)))
        envelopes = tuple(self._envelope() for _ in range(self._rng.randint(0, 3)))
        machine = self._machine
        orders = self._orders()
        frame = Frame(
            "g", machine.instance, source, machine.process, status, control, runs, fragments, orders, envelopes
        )
        return codec.decode(codec.encode(frame))


def _obey(machine: GroupMachine, effect: Effect, now_ms: int) -> list[Effect]:
    """Answer an effect as the application would."""
    match effect:
        case TakeState(view):
            return machine.handle(events.StateTaken(view, b"the state"), now_ms)
        case Serve(caller, call):
            return machine.handle(events.Served(caller, call, "truth"), now_ms)
        case DeliverUnicast(sender):
            return machine.handle(events.UnicastRead(sender), now_ms)
        case _:
            return []


DEFINITIONS = {
    "reliable": Definition.parse("g"),
    "basic": Definition.parse("g", multicast="BASIC"),
    "safe": Definition.parse("g", safe=True),
    "causal": Definition.parse("g", "CAUSAL"),
    "causal basic": Definition.parse("g", "CAUSAL", "BASIC"),
    "total": Definition.parse("g", "TOTAL"),
    "total basic": Definition.parse("g", "TOTAL", "BASIC"),
    "causal total safe": Definition.parse("g", "CAUSALTOTAL", safe=True),
}


class Victim:
    """One of three members, and what its driver does for it: every frame and request of it must be well-formed."""

    def __init__(self, rng: Random, definition: Definition, at_registry: bool) -> None:
        net = self.net = Network(definition)
        self.members = net.form("a", "b", "c")
        if definition.total and not at_registry:
            net.stop_registry()
            net.send(self.members[0], "is anybody there?")
            net.until(lambda: all(net.delivered(who) for who in self.members))
            net.start_registry()
        net.send(self.members[0], "x", "y" * 3000)
        net.pass_ms(50)
        self.process = rng.choice(self.members)
        self.machine = net.machines[self.process]
        for peer in self.members:
            net.handle(self.process, events.SendUnicast(peer, "hello"))
        net.handle(self.process, events.GroupCall(1, tuple(self.members), "?", net.now_ms + 200))
        net.handle(self.process, events.GroupCall(2, tuple(self.members[1:]), "?"))
        self._rng = rng
        self._liar = Liar(rng, self.machine, self.members)

    def lie(self) -> None:
        """Somebody says something, and the machine goes on."""
        sources = [*[member for member in self.members if member != self.process], "d#1"]
        reply, effects = self.machine.receive(self._liar.frame(self._rng.choice(sources)), self.net.now_ms)
        codec.decode_reply(codec.encode(reply))
        self._carry_out(effects)
        for peer in self.machine.peers:
            self._call(peer)
        self._carry_out(self.machine.handle(events.Tick(), self.net.now_ms))
        if self.machine.stage is Stage.MEMBER and self.machine.unsent_count < 3:
            self._carry_out(self.machine.handle(events.Submit(["z"]), self.net.now_ms))
        self.net.now_ms += 20

    def _call(self, peer: Process) -> None:
        frame, effects = self.machine.take(peer, self.net.now_ms)
        self._carry_out(effects)
        if frame is None:
            return
        codec.decode(codec.encode(frame))
        try:
            reply: Reply = Refused("unknown", "no") if self._rng.random() < 0.02 else self._liar.frame(peer)
        except MalformedFrame:
            self._carry_out(self.machine.handle(events.CallFailed(peer, self._chance()), self.net.now_ms))
        else:
            self._carry_out(self.machine.handle(events.Replied(peer, reply), self.net.now_ms))

    def _chance(self) -> bool:
        return self._rng.random() < 0.2

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case AskSequencer(request):
                    asked = sequencer_codec.decode_request(sequencer_codec.encode_request(request))
                    answer = None if self._chance() else self.net.sequencer.ask(asked)
                    event = events.SequencerAnswered(request, answer)
                    self._carry_out(self.machine.handle(event, self.net.now_ms))
                case Deliver(run, _, serial):
                    assert serial + len(run.payloads) <= limits.NUMBER_MAX + 1
                case _:
                    self._carry_out(_obey(self.machine, effect, self.net.now_ms))


@pytest.mark.parametrize("at_registry", [True, False], ids=["at registry", "at leader"])
@pytest.mark.parametrize("kind", DEFINITIONS)
@pytest.mark.parametrize("seeds", some_and_all(12, 100))
def test_whatever_a_member_says_nothing_of_ours_breaks(
    seeds: range, kind: str, at_registry: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LOAD_BYTES_MAX", 400)  # so that there are fragments to lie about
    monkeypatch.setattr(limits, "RUN_BYTES_MAX", 336)
    taken = 0
    for seed in seeds:
        victim = Victim(Random(seed), DEFINITIONS[kind], at_registry)
        for _ in range(25):
            with suppress(MalformedFrame):
                victim.lie()
                taken += 1
    assert taken > 5 * len(seeds)


def test_one_that_left_and_that_a_lie_lets_in_again_is_called_like_any_member() -> None:
    net = Network(Definition.parse("g"))
    a, b, c = net.form("a", "b", "c")
    net.leave(c)
    net.until_view(a, b)
    machine = net.machines[a]
    assert machine.view is not None
    again = View(machine.view.number + 1, (a, b, c), tuple(map(address, (a, b, c))))
    lie = frames.Install(Decision(again, (c,), {}, {a: 0, b: 0}), 0)
    net.arrive(Frame("g", machine.instance, b, a, Status(machine.view.number), (lie,)))
    assert net.members(a) == {a, b, c}
    net.handle(a, events.Replied(c, Refused("unknown", "it left")))
    late = Status(machine.view.number - 1)
    net.arrive(Frame("g", machine.instance, c, a, late))
    assert c in machine.peers


def _is_in(net: Replicas, who: Process) -> bool:
    return len(net.members(who)) == 4


@pytest.mark.parametrize("victim", ["donor", "joiner"])
@pytest.mark.parametrize("seeds", some_and_all(100, 300))
def test_whatever_is_said_of_the_state_nothing_of_ours_breaks(
    seeds: range, victim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STATE_CHUNK_BYTES", 4)
    ways = set()
    for seed in seeds:
        rng = Random(seed)
        net = Replicas(Definition.parse("g"))
        a, b, c = net.form("a", "b", "c")
        net.slow.add(a)  # so the state of who joins is on its way for long
        d = net.start("d")
        net.until(partial(_is_in, net, d))
        machine = net.machines[d if victim == "joiner" else a]
        liar = Liar(rng, machine, [a, b, c, d])
        for _ in range(30):
            try:
                frame = liar.frame(rng.choice([peer for peer in (a, b, c, d) if peer != machine.process]))
            except MalformedFrame:
                continue
            for effect in machine.receive(frame, net.now_ms)[1]:
                ways.add(type(effect))
                _obey(machine, effect, net.now_ms)
            for peer in machine.peers:
                machine.take(peer, net.now_ms)
            machine.handle(events.Tick(), net.now_ms)
            net.now_ms += 20
    if len(seeds) > 4:
        assert (SetState if victim == "joiner" else TakeState) in ways


@pytest.mark.parametrize("multicast", ["RELIABLE", "BASIC"])
def test_fragments_of_liars_take_no_more_memory_than_one_run_a_sender(multicast: str) -> None:
    net = Network(Definition.parse("g", multicast=multicast))
    a, b, c = net.form("a", "b", "c")
    machine = net.machines[a]
    data = bytes(limits.LOAD_BYTES_MAX)
    for number in range(1, 200):
        for sender in (a, b, c, "d#1"):
            first = number % 3 + 1
            at_byte = min(number * len(data), limits.LARGE_RUN_BYTES_MAX - len(data))
            for place in (0, at_byte):
                fragment = Fragment(sender, 3, first, place, limits.LARGE_RUN_BYTES_MAX, data)
                frame = Frame("g", machine.instance, b, a, Status(3), fragments=(fragment,))
                machine.receive(codec.decode(codec.encode(frame)), net.now_ms)
    assert machine._member is not None
    assemblies = machine._member.streams.multicast.assemblies.open
    assert set(assemblies) <= {b, c}
    assert all(len(found.data) <= limits.LARGE_RUN_BYTES_MAX for found in assemblies.values())


def test_a_lie_in_anothers_stream_does_not_stop_what_that_one_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOAD_BYTES_MAX", 400)
    monkeypatch.setattr(limits, "RUN_BYTES_MAX", 336)
    net = Network()
    a, b, c = net.form("a", "b", "c")
    for total in (3000, 5000, limits.LARGE_RUN_BYTES_MAX):
        fragment = Fragment(b, 3, 1, 0, total, b"lie" * 50)
        frame = Frame("g", net.machines[a].instance, c, a, Status(3), fragments=(fragment,))
        net.machines[a].receive(frame, net.now_ms)
    net.send(b, "x" * 3000)
    net.until(lambda: net.delivered(a) == ["x" * 3000])


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_numbers_and_serials_do_not_pass_the_largest(ordering: str) -> None:
    net = Network(Definition.parse("g", ordering, "BASIC"))
    a, b, c = net.form("a", "b", "c")
    machine = net.machines[a]
    for _ in range(4):  # each view adds what it can
        view = machine.view
        assert view is not None
        cut = {a: 0, b: limits.NUMBER_MAX // 2 * 2, c: limits.NUMBER_MAX, frames.ORDER: 0}
        following = View(view.number + 1, view.members, view.addresses)
        install = frames.Install(Decision(following, (), {}, cut), limits.NUMBER_MAX)
        lie = Frame("g", machine.instance, b, a, Status(view.number), (install,))
        machine.receive(codec.decode(codec.encode(lie)), net.now_ms)
        for _ in range(100):
            net.now_ms += 20
            for effect in machine.handle(events.Tick(), net.now_ms):
                assert not isinstance(effect, Installed) or effect.base_serial <= limits.NUMBER_MAX
                assert not isinstance(effect, Skip) or effect.serial + effect.count <= limits.NUMBER_MAX + 1
            if machine.stage is not Stage.MEMBER:
                return
            codec.decode(codec.encode(Frame("g", machine.instance, a, b, machine._status(b))))


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
@pytest.mark.parametrize("view", [1, 2, 9])
def test_whoever_asks_for_an_order_that_is_not_there_is_called_for_it_no_more_than_once(
    ordering: str, view: int
) -> None:
    net = Network(Definition.parse("g", ordering))
    a, b = net.form("a", "b")
    net.pass_ms(500)
    machine = net.machines[a]
    fetch = frames.Fetch(view, frames.ORDER, 1, 10**6)
    machine.receive(Frame("g", machine.instance, b, a, Status(2), (fetch,)), net.now_ms)
    calls = 0
    while (frame := machine.take(b, net.now_ms)[0]) is not None:
        calls += 1
        assert calls <= 1, frame
        machine.handle(events.Replied(b, net.machines[b].receive(frame, net.now_ms)[0]), net.now_ms)


@pytest.mark.parametrize("rival", ["x#1", "b#2"])
def test_whom_an_ordinary_member_sends_away_stays(rival: Process) -> None:
    net = Network()
    a, b, c = net.form("a", "b", "c")
    for victim in (a, c):
        status = net.machines[b]._status(victim)
        lie = Frame("g", net.machines[b].instance, b, victim, status, (frames.MergeInto(rival, address(rival)),))
        net.arrive(codec.decode(codec.encode(lie)))
    net.pass_ms(5_000)
    assert net.members(a) == net.members(b) == net.members(c) == {a, b, c}
    assert rival not in {frame.target for frame in net.carried}


def _send_away(net: Network, leader: Process, who: Process) -> None:
    """The leader tells a member that the instance gives way to that of `x`."""
    machine = net.machines[leader]
    told = Frame("g", machine.instance, leader, who, machine._status(who), (frames.MergeInto("x#1", "x-1:1"),))
    net.arrive(codec.decode(codec.encode(told)))


def test_whom_the_leader_sends_away_to_nobody_stays() -> None:
    net = Network()
    a, b, c = net.form("a", "b", "c")
    _send_away(net, a, c)
    net.step()
    assert "x#1" in net.machines[c].peers  # it looks
    net.pass_ms(5_000)
    assert net.members(a) == net.members(b) == net.members(c) == {a, b, c}


def test_whom_the_leader_sends_away_leaves_in_good_order_once_the_other_instance_answers() -> None:
    net, other = Network(), Network()
    a, b, c = net.form("a", "b", "c")
    other.ids.count = 6  # it was founded somewhere else
    (x,) = other.form("x")
    net.machines[x], net.effects[x] = other.machines[x], []
    _send_away(net, a, c)
    net.until_view(a, b)
    net.until(lambda: net.end(c) is not None)
    assert net.end(c) == Ended(3, "merge", 4)
    assert net.views(a)[-1].left == {c: "merge"}  # a itself knows of no rival


def test_who_is_to_give_way_to_one_that_leads_nothing_stays() -> None:
    net = Network(Definition.parse("g", netsplit="partitionable"))
    a, b, c, d = net.form("a", "b", "c", "d")
    net.leave(d)
    net.until_view(a, b, c)
    told = Frame("g", net.machines[a].instance, a, c, net.machines[a]._status(c), (frames.MergeInto(d, address(d)),))
    net.arrive(codec.decode(codec.encode(told)))
    net.pass_ms(5_000)
    assert d in {frame.target for frame in net.carried if frame.source == c}  # it has looked
    assert net.members(a) == net.members(b) == net.members(c) == {a, b, c}
    net.leave(c)
    net.until(lambda: net.end(c) is not None)
    assert net.end(c) == Ended(5, "request", 6)


def _cut_off_and_looking() -> tuple[Network, Process]:
    """C of a PARTITIONABLE group lost the others, and calls those whom it knew; it has asked nobody to admit it yet."""
    net = Network(Definition.parse("g", netsplit="partitionable"))
    net.returning = True
    _, _, c = net.form("a", "b", "c")
    net.split("a b registry", "c")
    net.until(lambda: net.end(c) is not None)
    net.heal()
    return net, net.latest(c)


def test_who_has_asked_nobody_to_admit_it_is_in_no_view_whoever_says_so() -> None:
    net, c2 = _cut_off_and_looking()
    machine = net.machines[c2]
    members = ("a#1", "b#1", c2)
    following = View(4, members, tuple(map(address, members)))
    install = frames.Install(Decision(following, (c2,), {"c#1": "silence"}, {}))
    lie = Frame("g", machine.instance, "b#1", c2, Status(4), (install,))
    machine.receive(codec.decode(codec.encode(lie)), net.now_ms)
    assert machine.stage is Stage.ENTERING
    net.until_view(*members)


def test_whom_a_liar_leaves_no_higher_ballot_ends_its_stay_and_says_nothing_malformed() -> None:
    net = Network()
    a, b, c, d = net.form("a", "b", "c", "d")
    net.lose = lambda frame: any(isinstance(item, frames.Prepare) for item in frame.control)
    net.leave(d)
    machine = net.machines[a]
    net.until(lambda: machine._status(b).wedged)
    lie = Frame("g", machine.instance, c, a, Status(4), (frames.Nack(4, (limits.ATTEMPT_MAX, 2)),))
    machine.receive(codec.decode(codec.encode(lie)), net.now_ms)
    effects: list[Effect] = []
    while machine.stage is Stage.MEMBER:
        net.now_ms += 20
        effects += machine.handle(events.Tick(), net.now_ms)
        for peer in machine.peers:
            frame, _ = machine.take(peer, net.now_ms)
            if frame is not None:
                codec.decode(codec.encode(frame))
                machine.handle(events.Replied(peer, net.machines[peer].receive(frame, net.now_ms)[0]), net.now_ms)
    assert Ended(4, "expelled") in effects
