"""Unicast and group calls of one member, and among members of a network driven by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random

import pytest

from gcom.core.messages import events, frames
from gcom.core.messages.effects import Answered, DeliverUnicast, Effect, GroupCallOver, Serve, UnicastLost
from gcom.core.messages.frames import Frame
from gcom.core.unicast.endpoint import UnicastEndpoint
from gcom.values import limits
from gcom.values.answers import Outcome, Wait, enough
from gcom.values.envelope import Envelope, Kind
from gcom.values.names import Process
from gcom.values.run import Payload
from tests.core.making import A, B, C, view
from tests.core.network import Network

VALUE, ERROR, DEPARTED, PENDING = Outcome.VALUE, Outcome.ERROR, Outcome.DEPARTED, Outcome.PENDING


class TestEnough:
    @pytest.mark.parametrize(
        ("wait", "outcomes", "over"),
        [
            (Wait.ALL, [], True),
            (Wait.ALL, [VALUE, PENDING], False),
            (Wait.ALL, [VALUE, ERROR, DEPARTED], True),
            (Wait.FIRST, [], True),
            (Wait.FIRST, [PENDING, ERROR, DEPARTED], False),
            (Wait.FIRST, [PENDING, VALUE], True),
            (Wait.FIRST, [ERROR, DEPARTED], True),
            (Wait.MAJORITY, [], True),
            (Wait.MAJORITY, [VALUE, PENDING, PENDING], False),
            (Wait.MAJORITY, [VALUE, ERROR, PENDING], True),
            (Wait.MAJORITY, [VALUE, ERROR, PENDING, PENDING], False),
            (Wait.MAJORITY, [DEPARTED, DEPARTED, PENDING], True),  # no majority can answer any more
            (Wait.MAJORITY, [DEPARTED, PENDING, PENDING], False),
            (Wait.NONE, [PENDING], True),
        ],
    )
    def test_of(self, wait: Wait, outcomes: list[Outcome], over: bool) -> None:
        assert enough(wait, outcomes) is over


class TestAlone:
    def test_a_process_can_write_to_and_ask_itself(self) -> None:
        endpoint = UnicastEndpoint(A, view(A))
        assert endpoint.handle(events.SendUnicast(A, "x")) == [DeliverUnicast(A, "x")]
        assert endpoint.handle(events.GroupCall(1, (A,), "?")) == [Serve(A, 1, "?")]
        assert endpoint.handle(events.Served(A, 1, "!")) == [Answered(1, A, VALUE, "!")]
        assert endpoint.handle(events.Served(A, 1, "!")) == []

    def test_who_is_not_in_the_view_is_said_to_be_gone(self) -> None:
        endpoint = UnicastEndpoint(A, view(A))
        assert endpoint.handle(events.SendUnicast(B, "x")) == [UnicastLost(B, ("x",))]
        assert endpoint.handle(events.GroupCall(1, (B,), "?")) == [Answered(1, B, DEPARTED)]
        assert endpoint.handle(events.Served(B, 1, "!")) == []

    def test_only_who_was_asked_can_answer_and_once(self) -> None:
        endpoint = UnicastEndpoint(A, view(A, B, C))
        endpoint.handle(events.GroupCall(1, (B,), "?"))
        answer = [Envelope(1, Kind.ANSWER, 1, "!"), Envelope(2, Kind.ERROR, 1, "?"), Envelope(3, Kind.ANSWER, 2, "!")]
        assert endpoint.receive(C, answer, 1) == []
        assert endpoint.receive(B, answer, 1) == [Answered(1, B, VALUE, "!")]

    def test_what_was_put_in_a_view_that_it_did_not_hear_of_counts_for_nothing(self) -> None:
        """Let in with view 5 and put out, it was let in anew: envelopes of then have the numbers of those to come."""
        endpoint = UnicastEndpoint(A, view(A, B, number=8))
        assert endpoint.receive(B, [Envelope(1, Kind.UNICAST, 0, "then")], 5) == []
        assert endpoint.receive(B, [Envelope(1, Kind.UNICAST, 0, "now")], 8) == [DeliverUnicast(B, "now")]

    def test_a_call_ends_at_its_time(self) -> None:
        endpoint = UnicastEndpoint(A, view(A, B))
        endpoint.handle(events.GroupCall(1, (B,), "?", 100))
        endpoint.handle(events.GroupCall(2, (B,), "?"))
        assert endpoint.tick(99) == []
        assert endpoint.tick(100) == [GroupCallOver(1)]
        assert endpoint.tick(10**9) == []
        assert [envelope.call for envelope in endpoint.channels.outboxes[B].take(10**6)] == [2]
        assert endpoint.install((A,)) == [Answered(2, B, DEPARTED)]

    def test_a_call_that_nobody_waits_for_is_withdrawn(self) -> None:
        endpoint = UnicastEndpoint(A, view(A, B))
        endpoint.handle(events.GroupCall(1, (B,), "?"))
        assert endpoint.channels.outboxes[B].has_more
        endpoint.handle(events.EndGroupCall(1))
        assert not endpoint.channels.outboxes[B].has_more
        assert endpoint.install((A,)) == []


class Application:
    """Answers requests with its name, or as told, and collects results; reads unicasts unless it is slow."""

    def __init__(self, net: Network) -> None:
        self.net = net
        self.mute: set[Process] = set()  # their handlers never come back
        self.on: dict[Process, Callable[[Serve], None]] = {}
        self._seen: dict[Process, int] = {}
        self._calls = count(1)

    def call(self, who: Process, *targets: Process, payload: Payload = "?", for_ms: int | None = None) -> int:
        call = next(self._calls)
        until_ms = None if for_ms is None else self.net.now_ms + for_ms
        self.net.handle(who, events.GroupCall(call, targets, payload, until_ms))
        return call

    def results(self, who: Process, call: int) -> dict[Process, Outcome]:
        found = [effect for effect in self.net.of(who, Answered) if effect.call == call]
        assert len({effect.member for effect in found}) == len(found), "one result for each"
        return {effect.member: effect.outcome for effect in found}

    def unicasts(self, who: Process) -> list[tuple[Process, Payload]]:
        return [(effect.sender, effect.payload) for effect in self.net.of(who, DeliverUnicast)]

    def step(self) -> None:
        self.net.step()
        for who in self.net.machines:
            if self.net.alive(who):
                effects = self.net.effects[who]
                new, self._seen[who] = effects[self._seen.get(who, 0) :], len(effects)
                for effect in new:
                    self._do(who, effect)

    def _do(self, who: Process, effect: Effect) -> None:
        match effect:
            case Serve() if who in self.on:
                self.on[who](effect)
            case Serve(caller, call) if who not in self.mute:
                self.net.handle(who, events.Served(caller, call, f"from {who}"))
            case DeliverUnicast(sender) if who not in self.net.slow:
                self.net.handle(who, events.UnicastRead(sender))

    def until(self, condition: Callable[[], bool]) -> None:
        end_ms = self.net.now_ms + 20_000
        while not condition():
            assert self.net.now_ms < end_ms, self.net.describe()
            self.step()


@pytest.fixture
def net() -> Network:
    return Network()


@pytest.fixture
def app(net: Network) -> Application:
    return Application(net)


class TestUnicast:
    def test_to_one_and_to_nobody_else_in_order(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        for index in range(2_000):
            net.handle(a, events.SendUnicast(b, f"{index}"))
        app.until(lambda: len(app.unicasts(b)) == 2_000)
        assert app.unicasts(b) == [(a, f"{index}") for index in range(2_000)]
        assert app.unicasts(a) == app.unicasts(c) == []
        assert net.machines[a].unicasts_held()

    def test_it_takes_one_round_trip(self, net: Network, app: Application) -> None:
        a, b = net.form("a", "b")
        net.handle(a, events.SendUnicast(b, "now"))
        net.step()
        assert app.unicasts(b) == [(a, "now")]

    @pytest.mark.parametrize("every", [2, 3, 7])
    def test_lost_calls_cost_time_only(self, net: Network, app: Application, every: int) -> None:
        a, b, _ = net.form("a", "b", "c")
        rng = Random(every)
        net.lose = lambda frame: rng.random() * every < 1
        for index in range(100):
            net.handle(a, events.SendUnicast(b, f"{index}"))
            net.handle(b, events.SendUnicast(a, f"{index}"))
            net.step()
        app.until(lambda: len(app.unicasts(a)) == len(app.unicasts(b)) == 100)
        assert app.unicasts(b) == [(a, f"{index}") for index in range(100)]

    def test_a_newcomer_can_write_to_who_has_not_seen_it_yet(self, net: Network, app: Application) -> None:
        a, b = net.form("a", "b")
        net.lose = lambda frame: frame.target == b and any(isinstance(it, frames.Install) for it in frame.control)
        c = net.start("c")
        net.until(lambda: net.members(c) == {a, b, c})
        net.handle(c, events.SendUnicast(b, "hello"))
        net.pass_ms(100)
        frames_before = len(net.carried)
        net.pass_ms(limits.HEARTBEAT_MS)
        assert app.unicasts(b) == []
        assert len(net.carried) - frames_before < 60, "what is not taken is put again with heartbeats only"
        net.lose = lambda frame: False
        app.until(lambda: app.unicasts(b) == [(c, "hello")])

    def test_a_view_change_does_not_hold_it_up(self, net: Network, app: Application) -> None:
        """C's death is being found out; A and B write to each other all the time."""
        a, b, c = net.form("a", "b", "c")
        net.cut_off.add(c)
        sent = 0
        while net.members(a) != {a, b}:
            net.handle(a, events.SendUnicast(b, f"{sent}"))
            sent += 1
            app.step()
            assert len(app.unicasts(b)) >= sent - 1  # a step more while a Cut fills the frame
        assert sent > 100

    def test_what_a_departed_member_is_not_known_to_hold_is_reported(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        net.handle(a, events.SendUnicast(c, "arrives"))
        app.until(lambda: app.unicasts(c) == [(a, "arrives")])
        net.pass_ms(20)
        net.kill(c)
        net.handle(a, events.SendUnicast(c, "one"))
        net.handle(a, events.SendUnicast(c, "two"))
        net.until_view(a, b)
        assert net.of(a, UnicastLost) == [UnicastLost(c, ("one", "two"))]
        assert net.of(b, UnicastLost) == []

    def test_who_reads_nothing_holds_up_its_unicasts_only(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        net.slow.add(b)
        for index in range(limits.UNICASTS_UNREAD_MAX + 100):
            net.handle(a, events.SendUnicast(b, f"{index}"))
        net.pass_ms(500)
        assert len(app.unicasts(b)) == limits.UNICASTS_UNREAD_MAX
        call = app.call(a, b, c)
        net.handle(a, events.SendUnicast(c, "past it"))
        net.send(c, "multicast")
        app.until(lambda: len(app.results(a, call)) == 2)
        assert app.unicasts(c) == [(a, "past it")]
        assert net.delivered(a) == ["multicast"]
        net.slow.clear()
        for _ in range(limits.UNICASTS_UNREAD_MAX):
            net.handle(b, events.UnicastRead(a))
        app.until(lambda: len(app.unicasts(b)) == limits.UNICASTS_UNREAD_MAX + 100)

    def test_runs_and_envelopes_share_the_link(self, net: Network, app: Application) -> None:
        """Both are more than a frame takes; neither waits until the other is done."""
        a, b = net.form("a", "b")
        for _ in range(20):
            net.send(a, *[b"r" * (limits.LOAD_BYTES_MAX // 2 - 1000)] * 2)
            net.handle(a, events.SendUnicast(b, b"u" * limits.ENVELOPE_BYTES_MAX))
        first = len(net.carried)
        app.until(lambda: len(app.unicasts(b)) == 20 and len(net.delivered(b)) == 40)
        loads = [frame for frame in net.carried[first:] if frame.source == a and (frame.runs or frame.envelopes)]
        kinds = "".join("u" if frame.envelopes else "r" for frame in loads)
        assert "uuuuu" not in kinds
        assert "rrr" not in kinds.rstrip("r")


class TestGroupCalls:
    def test_each_member_answers_itself_included(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        call = app.call(a, a, b, c)
        app.until(lambda: app.results(a, call) == dict.fromkeys((a, b, c), VALUE))
        assert {it.payload for it in net.of(a, Answered)} == {f"from {who}" for who in (a, b, c)}

    @pytest.mark.parametrize("victim", ["b", "c"])
    def test_scenario_41_a_call_of_all_while_a_member_dies(self, net: Network, app: Application, victim: str) -> None:
        """Scenario 41: it returns with that member marked departed, and never hangs."""
        a, b, c = net.form("a", "b", "c")
        gone = f"{victim}#1"
        app.mute.add(gone)
        call = app.call(a, a, b, c)
        app.until(lambda: len(app.results(a, call)) == 2)
        assert any(isinstance(effect, Serve) for effect in net.effects[gone]), "it dies with the request in its hands"
        net.kill(gone)
        app.until(lambda: len(app.results(a, call)) == 3)
        assert app.results(a, call) == {**dict.fromkeys((a, b, c), VALUE), gone: DEPARTED}

    def test_scenario_41_even_when_it_has_not_seen_the_request(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        net.kill(c)
        call = app.call(a, b, c)
        app.until(lambda: app.results(a, call) == {b: VALUE, c: DEPARTED})

    def test_scenario_41_one_that_leaves_is_departed_too(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        app.mute.add(c)
        call = app.call(a, b, c)
        net.leave(c)
        app.until(lambda: app.results(a, call) == {b: VALUE, c: DEPARTED})

    def test_scenario_41_the_leader_dies_while_two_others_call(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        app.mute.add(a)
        calls = {who: app.call(who, a, b, c) for who in (b, c)}
        net.kill(a)
        for who, call in calls.items():
            app.until(lambda who=who, call=call: len(app.results(who, call)) == 3)  # type: ignore[misc]
            assert app.results(who, call) == {a: DEPARTED, b: VALUE, c: VALUE}

    def test_a_handler_that_never_comes_back_ends_with_the_time(self, net: Network, app: Application) -> None:
        a, b, c = net.form("a", "b", "c")
        app.mute.add(c)
        call = app.call(a, b, c, for_ms=1_000)
        app.until(lambda: bool(net.of(a, GroupCallOver)))
        assert app.results(a, call) == {b: VALUE}
        net.kill(c)
        net.until_view(a, b)
        assert app.results(a, call) == {b: VALUE}, "nothing follows for it"

    def test_scenario_11_members_that_ask_each_other_inside_handlers(self, net: Network, app: Application) -> None:
        """Scenario 11: A's handler asks B, whose handler asks A, three deep; the core holds nothing up for it."""
        a, b = net.form("a", "b")
        waiting: dict[tuple[Process, int], Serve] = {}

        def nested(who: Process, other: Process) -> Callable[[Serve], None]:
            def serve(request: Serve) -> None:
                depth = int(str(request.payload))
                if depth:
                    waiting[who, app.call(who, other, payload=f"{depth - 1}")] = request
                else:
                    net.handle(who, events.Served(request.caller, request.call, "bottom"))

            return serve

        app.on = {a: nested(a, b), b: nested(b, a)}
        first = app.call(a, b, payload="3")

        def done() -> bool:
            for (who, call), request in list(waiting.items()):
                if app.results(who, call):
                    del waiting[who, call]
                    net.handle(who, events.Served(request.caller, request.call, "up"))
            return bool(app.results(a, first))

        app.until(done)
        assert app.results(a, first) == {b: VALUE}
        assert waiting == {}

    def test_many_calls_to_a_busy_member_wait_and_are_answered_in_turn(self, net: Network, app: Application) -> None:
        a, b = net.form("a", "b")
        app.mute.add(b)
        calls = [app.call(a, b) for _ in range(limits.REQUESTS_UNSERVED_MAX + 20)]
        net.pass_ms(300)
        requests = net.of(b, Serve)
        assert len(requests) == limits.REQUESTS_UNSERVED_MAX
        app.mute.clear()
        for request in requests:
            net.handle(b, events.Served(request.caller, request.call, "late"))
        app._seen[b] = len(net.effects[b])
        app.until(lambda: all(app.results(a, call) for call in calls))
        assert [it.call for it in net.of(a, Answered)] == calls

    @pytest.mark.parametrize("every", [2, 3, 5])
    def test_lost_calls_cost_time_only(self, net: Network, app: Application, every: int) -> None:
        a, b, c = net.form("a", "b", "c")
        rng = Random(every)
        net.lose = lambda frame: rng.random() * every < 1
        asked = [app.call(who, a, b, c) for who in (a, b, c) for _ in range(10)]
        app.until(lambda: sum(len(net.of(who, Answered)) for who in (a, b, c)) == 3 * len(asked))
        assert all(it.outcome is VALUE for who in (a, b, c) for it in net.of(who, Answered))


def test_a_frame_never_outgrows_its_bound(net: Network, app: Application) -> None:
    """Envelopes and runs of the largest size together; the codec would refuse what is over."""
    a, b = net.form("a", "b")
    for size in (limits.ENVELOPE_BYTES_MAX, 70_000, 1):
        net.handle(a, events.SendUnicast(b, b"x" * size))
        app.call(a, b, payload=b"y" * size)
        net.send(a, b"z" * size)
    app.until(lambda: len(app.unicasts(b)) == len(net.of(a, Answered)) == len(net.delivered(b)) == 3)


def test_envelopes_of_a_stranger_are_not_taken(net: Network, app: Application) -> None:
    a, b = net.form("a", "b")
    stranger = Frame(
        "g", net.machines[a].instance, C, a, frames.Status(1), envelopes=(Envelope(1, Kind.UNICAST, 0, "x"),)
    )
    net.machines[a].receive(stranger, net.now_ms)
    assert app.unicasts(a) == app.unicasts(b) == []


def test_envelopes_to_one_that_installs_late_go_though_its_calls_are_the_links_heartbeat(
    net: Network, app: Application
) -> None:
    """1. B does not know yet that it is in. 2. A writes to it; B answers, and takes no envelope. 3. From then on B
    calls first each time, so A needs no call of its own to be heard.
    """
    (a,) = net.form("a")
    b = net.start("b")
    net.lose = lambda frame: frame.target == b and any(isinstance(item, frames.Install) for item in frame.control)
    net.until(lambda: net.members(a) == {a, b})
    net.handle(a, events.SendUnicast(b, "x"))
    net.pass_ms(600)
    net.lose = lambda frame: False
    net.until_view(a, b)
    app.until(lambda: app.unicasts(b) == [(a, "x")])


class Chance:
    """Members that write to each other and call each other at random, while calls break, one dies and one comes."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.net = Network()
        self.app = Application(self.net)
        self.members = self.net.form(*"abcd"[: self.rng.randint(3, 4)])
        self.posted: dict[tuple[Process, Process], list[Payload]] = {}
        self.asked: dict[tuple[Process, int], tuple[Process, ...]] = {}

    def act(self) -> None:
        who = self.rng.choice(self.members)
        view = self.net.machines[who].view
        if not self.net.alive(who) or view is None or not self.net.members(who):
            return
        if self.rng.random() < 0.8:
            target = self.rng.choice(view.members)
            posted = self.posted.setdefault((who, target), [])
            posted.append(f"{who} {target} {len(posted)}")
            self.net.handle(who, events.SendUnicast(target, posted[-1]))
        else:
            targets = tuple(self.rng.sample(view.members, self.rng.randint(1, len(view.members))))
            self.asked[who, self.app.call(who, *targets)] = targets

    def run(self) -> None:
        self.net.lose = lambda frame: self.rng.random() < 0.15
        for step in range(120):
            for _ in range(self.rng.randint(0, 6)):
                self.act()
            if step == 40:
                self.net.kill(self.rng.choice(self.members))
            if step == 60:
                self.members.append(self.net.start("e"))
            self.app.step()
        self.net.lose = lambda frame: False

    @property
    def here(self) -> list[Process]:
        """Those that are in the group now."""
        return [who for who in self.members if self.net.alive(who) and self.net.members(who)]

    def is_done(self) -> bool:
        """Every call has its results, and everything between those that are here has arrived."""
        here = self.here
        agreed = all(self.net.members(who) == set(here) for who in here)
        answered = all(
            set(self.app.results(who, call)) == set(targets)
            for (who, call), targets in self.asked.items()
            if who in here
        )
        arrived = all(self.net.machines[who].unicasts_held() for who in here)
        return agreed and answered and arrived

    def check(self) -> None:
        here = self.here
        for (who, target), posted in self.posted.items():
            got = [payload for sender, payload in self.app.unicasts(target) if sender == who]
            assert got == posted[: len(got)], "in order, once, and nothing that was not sent"
            lost = [it for effect in self.net.of(who, UnicastLost) if effect.target == target for it in effect.payloads]
            if who in here and target in here:
                assert (got, lost) == (posted, [])
            elif who in here:
                assert lost == posted[len(posted) - len(lost) :], "the last ones"
                assert len(posted) - len(lost) <= len(got), "what is not reported has arrived"
        for (who, call), targets in self.asked.items():
            for target in targets if who in here else ():
                outcome = self.app.results(who, call)[target]
                assert outcome is VALUE or (outcome is DEPARTED and target not in here)


SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 30)]


@pytest.mark.parametrize("seed", [0, 1, *SLOW])
def test_by_chance(seed: int) -> None:
    chance = Chance(seed)
    chance.run()
    chance.app.until(chance.is_done)
    chance.check()
