"""Odd peers at a node's address, and its links to them: the group goes on undisturbed."""

from __future__ import annotations

import dataclasses
import gc
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import msgpack
import pytest

import gcom
from gcom.core.codec import frames as codec
from gcom.core.links import Links
from gcom.core.messages import events, frames
from gcom.core.messages.frames import Frame, Refused, Reply, Status
from gcom.runtime import pyro
from gcom.runtime.links import reader
from gcom.runtime.links.link import Link
from gcom.runtime.links.taken import TakenFrame, is_unawaited
from gcom.runtime.step_lock import StepLock
from gcom.values import limits
from gcom.values.run import Run
from tests.core.making import run
from tests.core.network import Network
from tests.runtime.beating import Beating
from tests.runtime.nodes import LIMIT_S, Cluster, cluster, next_of, node_of, take, until

ENTERING = Status(0)
ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as it:
        yield it


class Stranger:
    """Somebody who calls a member's node."""

    def __init__(self, group: gcom.Group) -> None:
        self.group = group
        self._caller = pyro.Caller(node_of(group).address, pyro.NODE, pyro.UserSecret())

    def put(self, data: bytes) -> Reply:
        return codec.decode_reply(self._caller.call(data, LIMIT_S))

    def frame(
        self,
        source: str = "mallory#1",
        target: str = "",
        instance: str = "",
        group: str = "news",
        status: Status = ENTERING,
        control: tuple[frames.Control, ...] = (),
        runs: tuple[Run, ...] = (),
    ) -> bytes:
        return codec.encode(
            Frame(group, instance or self.group.instance, source, target or self.group.process, status, control, runs)
        )

    def close(self) -> None:
        self._caller.close()


def goes_on(*groups: gcom.Group) -> None:
    """Every member's text still reaches all, in the same view."""
    for group in groups:
        group.send(f"from {group.name}")
    for group in groups:
        assert len(take(group, len(groups))) == len(groups)


OURS = limits.PROTOCOL_VERSION


def garbage() -> list[bytes]:
    """Bytes that are no frame of ours."""
    rng = random.Random(7)
    found = [b"", b"x", b"\xc1", b"\x90", msgpack.packb(None), msgpack.packb([OURS]), msgpack.packb([OURS] * 8)]
    found += [rng.randbytes(rng.randrange(1, 200)) for _ in range(20)]
    return [*found, b"\x91" * 10_000, msgpack.packb([OURS, "unknown", "a refusal"])]


def test_garbage_is_refused_and_counted(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("refused from the network")
    alice, bob = here.members("alice", "bob")
    with closing(Stranger(alice)) as stranger:
        for data in garbage():
            with pytest.raises(gcom.PeerError):
                stranger.put(data)
    assert node_of(alice).refused == {"MalformedFrame": len(garbage())}
    goes_on(alice, bob)
    assert alice.view.number == 2


def test_frames_with_one_byte_changed_disturb_nobody(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("refused from the network")
    alice, bob = here.members("alice", "bob")
    rng = random.Random(3)
    with closing(Stranger(alice)) as stranger:
        whole = stranger.frame(control=(frames.Fetch(2, bob.process, 1, 5), frames.Nack(2, (3, 1))))
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] = (changed[place] + rng.randrange(1, 256)) % 256
            try:
                stranger.put(bytes(changed))
            except gcom.PeerError:
                continue
    goes_on(alice, bob)
    assert alice.members == bob.members == ("alice", "bob")


def test_another_version_is_told_ours(here: Cluster) -> None:
    (alice,) = here.members("alice")
    with closing(Stranger(alice)) as stranger:
        reply = stranger.put(msgpack.packb([99, "anything"]))
    assert isinstance(reply, Refused)
    assert reply.code == "version"
    assert f"99, this process {limits.PROTOCOL_VERSION}" in reply.text
    assert node_of(alice).refused == {"version": 1}
    goes_on(alice)


def test_a_joiner_of_another_version_is_told_whose_is_older(here: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    here.members("alice")
    decode_reply = codec.decode_reply

    def in_ours(data: bytes) -> Reply:
        return decode_reply(bytes(msgpack.packb([OURS + 1, "version", "in words of the future"])) if data else data)

    monkeypatch.setattr("gcom.runtime.links.link.codec.decode_reply", in_ours)
    with pytest.raises(gcom.VersionMismatch, match=r"alice#.*this process .* the older one"):
        here.node("bob").join("news")


def test_what_is_for_nobody_here_is_refused(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    with closing(Stranger(alice)) as stranger:
        for data, code, words in (
            (stranger.frame(group="olds"), "unknown", "not in group 'olds' here"),
            (stranger.frame(target="alice#0"), "unknown", "alice#0 is not in group 'news' here"),
            (stranger.frame(target=bob.process), "unknown", f"{bob.process} is not in group 'news' here"),
            (stranger.frame(instance="0123456789abcdef"), "elsewhere", "in another instance"),
        ):
            reply = stranger.put(data)
            assert isinstance(reply, Refused)
            assert (reply.code, words in reply.text) == (code, True), reply
    assert node_of(alice).refused == {"unknown": 3, "elsewhere": 1}
    goes_on(alice, bob)


def test_a_frame_from_oneself_is_refused(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    with closing(Stranger(alice)) as mallory:
        reply = mallory.put(mallory.frame(source=alice.process, status=Status(2)))
        assert isinstance(reply, Refused)
    goes_on(alice, bob)


def test_a_stranger_s_items_and_runs_change_nothing(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    view, member = alice.view, bob.process
    next_view = gcom.View(3, ("mallory#1",), ("127.0.0.1:1",))
    decision = frames.Decision(next_view, ("mallory#1",), {alice.process: "x", member: "x"}, {})
    items: list[frames.Control] = [
        frames.Prepare(2, (9, 0)),
        frames.Prepare(2, (9, 1)),
        frames.Promise(2, (1, 0), {}),
        frames.Nack(2, (9, 9)),
        frames.Cut(2, (9, 0), decision, {}),
        frames.CutOk(2, (1, 0)),
        frames.Install(dataclasses.replace(decision, joined=())),
        frames.Fetch(2, member, 1, 100),
        frames.Redirect("mallory#2", "127.0.0.1:1"),
        frames.JoinRefused("NameTaken", "no"),
    ]
    forged = codec.encode_run(member, 2, 1, {}, ["forged"])
    run = Run(member, 2, 1, {}, ["forged"], forged)
    with closing(Stranger(alice)) as stranger:
        for item in items:
            stranger.put(stranger.frame(control=(item,), runs=(run,)))
    goes_on(alice, bob)
    assert alice.view == bob.view == view


def test_a_stranger_does_not_install_a_view_that_lets_it_in(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    view = alice.view
    next_view = gcom.View(3, ("mallory#1",), ("127.0.0.1:1",))
    decision = frames.Decision(next_view, ("mallory#1",), {alice.process: "x", bob.process: "x"}, {})
    with closing(Stranger(alice)) as stranger:
        stranger.put(stranger.frame(control=(frames.Install(decision),)))
    goes_on(alice, bob)
    assert alice.view == bob.view == view


@pytest.mark.slow
def test_one_that_was_expelled_is_told_so_and_not_let_in_again(here: Cluster) -> None:
    """A process enters an instance once, so a Join that is late must not bring it back.

    1. C joins; its Join waits for the next heartbeat, in case the leader dies. 2. C is paused, and expelled. 3. C runs
    again, and its heartbeat with the Join comes before it hears of 2.
    """
    alice, bob, carol = here.members("alice", "bob", "carol", rejoin=False)
    join = frames.Join(node_of(carol).address)
    with carol._host.lock:
        until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")
        with closing(Stranger(alice)) as stranger:
            reply = stranger.put(stranger.frame(carol.process, status=Status(3), control=(join,)))
        assert isinstance(reply, Refused), reply
        assert reply.code == "expelled"
    assert next_of(carol, gcom.Departure).reason == "expelled"
    goes_on(alice, bob)
    assert alice.view.number == 4


def test_a_join_from_an_address_where_nobody_listens_ends_without_it(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    alice.send("before")
    with closing(Stranger(alice)) as stranger:
        stranger.put(stranger.frame(control=(frames.Join("127.0.0.1:1"),)))
    until(lambda: alice.view.number >= 4 and bob.members == ("alice", "bob"), "the end of a false member")
    alice.send("after")
    assert [message.text for message in take(bob, 2)] == ["before", "after"]


@pytest.mark.slow
def test_a_peer_that_answers_nonsense_is_said_once(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("answered what is no reply of ours")
    alice, bob = here.members("alice", "bob")
    server = pyro.Server(
        "127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(lambda _: b"nonsense")}, credentials=pyro.UserSecret()
    )
    server.start()
    with closing(Stranger(alice)) as stranger:
        stranger.put(stranger.frame(control=(frames.Join(server.address),)))
    until(lambda: bool(alice._host.misbehaved), "the answer")
    until(lambda: alice.view.number >= 4 and bob.members == ("alice", "bob"), "the end of a false member")
    goes_on(alice, bob)
    server.close()


@pytest.mark.slow
def test_a_link_ends_with_its_last_peer(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    assert len(alice._host.links) == 1
    bob.leave()
    until(lambda: alice.members == ("alice",), "the leave")
    carol = here.node("carol").join("news")
    alice.wait_for_members(2, LIMIT_S)
    until(lambda: len(alice._host.links) == 1, "the end of the link to one that left")
    goes_on(alice, carol)


@pytest.mark.slow
def test_a_closed_node_leaves_no_thread(here: Cluster) -> None:
    before = set(threading.enumerate())
    here.members("alice", "bob")[0].listen()
    here.close()
    gc.collect()
    until(lambda: not [it for it in set(threading.enumerate()) - before if it.name.startswith("gcom")], "the end")


def test_an_idle_connection_that_ends_has_the_heartbeat_go_at_once_but_not_again_and_again() -> None:
    """A peer that crashed is found by that call, and not after up to a period, however young the connection was.

    But one at its bound of connections ends the longest idle one for each that is new: 1. A's ends. 2. A dials at once,
    which ends B's. 3. B dials at once, which ends C's, and so on. So each does that once a period.
    """
    reading: Any = SimpleNamespace(drop=lambda _: None)
    now_ms = [1_000]
    host: Any = SimpleNamespace(
        lock=StepLock(), credentials=pyro.UserSecret(), now_ms=lambda: now_ms[0], has_faults=False, reader=reading
    )
    link = Link(host, "127.0.0.1:1", "bob")
    session: Any = Beating(0)
    with host.lock:
        link.serve(session, "bob#1")
    for at_ms, at_once in ((1_000, True), (999 + limits.HEARTBEAT_MS, False), (1_000 + limits.HEARTBEAT_MS, True)):
        now_ms[0], session.due = at_ms, at_ms + limits.HEARTBEAT_MS
        pipeline: Any = SimpleNamespace(close=lambda: None)
        link._pipeline = pipeline
        link.fail(pipeline)
        assert (session.due == at_ms) == at_once
    assert session.asked == 4


class Linked(Beating):
    """A session whose machine has real links, of which one is to bob; when its heartbeats go, `taken` says."""

    def __init__(self) -> None:
        super().__init__(0)
        self.now_ms = 1_000
        self.links = Links(self.process)
        self.links.open("bob#1", "127.0.0.1:1", self.now_ms)
        self.taken: list[int] = []
        self.replied: list[tuple[Reply, int]] = []  # each with the number of calls that it answers
        self.forgotten: list[Link] = []
        host: Any = SimpleNamespace(
            lock=StepLock(),
            credentials=pyro.UserSecret(),
            now_ms=lambda: self.now_ms,
            has_faults=False,
            forget=self.forgotten.append,
            reader=SimpleNamespace(coalesced=True),
        )
        self.lock = host.lock
        self.link = Link(host, "127.0.0.1:1", "bob")
        self.serve_woken()

    def serve_woken(self) -> None:
        """Wake the link as a session and its host do."""
        session: Any = self
        for peer in self.links.woken():
            if peer in self.links:
                with self.lock:
                    self.link.serve(session, peer)

    def tick(self) -> None:
        """Tick as the reader does: when the link says so."""
        at_ms = self.link.next_ms(self.now_ms)
        assert at_ms is not None
        self.now_ms = at_ms
        with self.lock:
            self.link.tick()

    def due_ms(self, peer: str) -> int | None:
        return self.links[peer].due_ms if peer in self.links else None

    def address_of(self, peer: str) -> str | None:
        return self.links[peer].address if peer in self.links else None

    def step(self, event: object) -> None:
        assert isinstance(event, events.Replied)
        self.replied.append((event.reply, event.calls))
        self.links.replied(event.peer, self.now_ms, event.calls)

    def reschedule(self) -> None:
        """Need no timer: `tick` is one."""

    def answer(self, *replies: Reply) -> None:
        """Have the peer answer a heartbeat, or several frames together, as the reader finds it."""
        pipeline: Any = SimpleNamespace()
        session: Any = self
        frame = Frame("g", "i", "bob#1", "carol#1", Status(1))
        self.link._pipeline = pipeline
        for _ in replies or [frame]:
            self.link._unanswered.append(TakenFrame(session, "bob#1", frame, 0.0, unawaited=False))
        self.link._answered(pipeline, list(replies or [frame]))

    def take(self, peer: str) -> None:
        if self.links[peer].callable(self.now_ms) and self.links[peer].due(self.now_ms):
            self.links.begin(peer, self.now_ms)
            self.taken.append(self.now_ms)


def test_a_redial_is_looked_for_though_the_heartbeat_was_due_later() -> None:
    it = Linked()
    assert it.link.next_ms(it.now_ms) == it.now_ms + limits.HEARTBEAT_MS + limits.CALLER_LATE_MS
    for _ in range(2):  # the second fails the redial that goes at once
        it.links.failed("bob#1", it.now_ms)
        it.serve_woken()
    it.tick()
    assert it.taken == [1_000, 1_000 + limits.REDIAL_MS + limits.CALLER_LATE_MS]


def test_a_heartbeat_with_the_lead_goes_when_it_make_due_after_the_answer() -> None:
    """The time that was found as the last one went is later: then both sides would call, of all their groups."""
    it = Linked()
    it.links.begin("bob#1", it.now_ms)
    assert it.link.next_ms(it.now_ms) == it.now_ms + limits.HEARTBEAT_MS + limits.CALLER_LATE_MS
    it.now_ms += 10
    it.answer()
    it.tick()
    assert it.taken == [1_010 + limits.HEARTBEAT_MS - limits.HEARTBEAT_LEAD_MS + limits.CALLER_LATE_MS]


def test_who_is_called_wakes_later_than_its_caller() -> None:
    it = Linked()
    it.process = "alice#1"  # the lesser one of the two, which is called
    assert it.link.next_ms(it.now_ms) == it.now_ms + limits.HEARTBEAT_MS + limits.CALLEE_LATE_MS
    # Within the lead there is time for a call left.
    assert limits.CALLER_LATE_MS <= limits.HEARTBEAT_LEAD_MS // 2


def test_a_heartbeat_that_is_due_goes_with_a_tick_of_a_machine() -> None:
    it = Linked()
    at_ms = it.link.next_ms(it.now_ms)
    it.now_ms += limits.HEARTBEAT_MS + 1
    assert at_ms is not None
    assert it.now_ms < at_ms
    with it.lock:
        assert it.link.tick()
    assert it.taken == [it.now_ms]


def test_what_is_due_soon_is_looked_for_in_time() -> None:
    it = Linked()
    it.links["bob#1"].due_ms = it.now_ms + limits.CALLEE_LATE_MS - 1
    assert it.link.next_ms(it.now_ms) == it.now_ms + limits.CALLEE_LATE_MS - 1


def test_of_answers_that_come_together_the_machine_is_told_the_last() -> None:
    it = Linked()
    for _ in range(4):
        it.links.begin("bob#1", it.now_ms, load=10)
    first, second, last = (Frame("g", "i", "bob#1", "carol#1", Status(1, held)) for held in (1, 2, 3))
    refusal = Refused("unknown", "")
    it.answer(first, second, refusal, last)
    assert it.replied == [(second, 2), (refusal, 1), (last, 1)]
    assert it.links.settled("bob#1")
    assert not it.link._unanswered


@pytest.mark.parametrize("looked", [True, False])
def test_a_turn_whose_peer_is_gone_is_found_within_a_heartbeat(looked: bool) -> None:
    it = Linked()
    if looked:
        it.link.next_ms(it.now_ms)
    it.links.close("bob#1")
    it.serve_woken()
    assert it.forgotten == []
    it.tick()
    assert (it.now_ms, it.forgotten) == (1_000 + limits.HEARTBEAT_MS + limits.CALLER_LATE_MS, [it.link])


class Rests:
    """The rests of readers, which last until an answer is waited for."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ended: list[reader.Reader] = []  # by the application, which waits
        end_rest = reader.Reader.end_rest

        def ending(it: reader.Reader) -> None:
            # Not by a thread of the node: the peer's next status would end it, too, had nobody asked for that.
            self.ended += [it] if it._resting and threading.current_thread() is threading.main_thread() else []
            end_rest(it)
            assert not it._resting

        patch.setattr(reader.Reader, "end_rest", ending)
        patch.setattr(reader, "COALESCE_S", 3 * LIMIT_S)

    def begin(self, group: gcom.Group) -> list[str]:
        """Send until the reader of a group's node rests; return what was sent."""
        sent: list[str] = []
        it = node_of(group)._host.reader

        def rests() -> bool:
            if not it._resting:
                sent.append(str(len(sent)))
                group.send(sent[-1])
            return it._resting

        until(rests, "a rest")
        self.ended.clear()
        return sent

    def assert_ended(self, group: gcom.Group) -> None:
        assert node_of(group)._host.reader in self.ended


@pytest.fixture
def rests(monkeypatch: pytest.MonkeyPatch) -> Rests:
    return Rests(monkeypatch)


@pytest.mark.parametrize("held_by", ["majority", "all"])
def test_a_sender_that_waits_for_an_answer_ends_the_readers_rest(here: Cluster, rests: Rests, held_by: Any) -> None:
    alice, bob = here.members("alice", "bob")
    sent = rests.begin(alice)
    alice.send("held", LIMIT_S, held_by)
    rests.assert_ended(alice)
    assert [message.text for message in take(bob, len(sent) + 1)] == [*sent, "held"]


def test_a_flush_ends_the_readers_rest(here: Cluster, rests: Rests) -> None:
    alice, bob = here.members("alice", "bob")
    sent = rests.begin(alice)
    alice.send("unanswered")
    alice.flush(LIMIT_S)
    rests.assert_ended(alice)
    assert [message.text for message in take(bob, len(sent) + 1)] == [*sent, "unanswered"]


def test_data_that_may_not_go_before_an_answer_ends_the_readers_rest(here: Cluster, rests: Rests) -> None:
    alice, bob = here.members("alice", "bob")
    sent = rests.begin(alice)
    more = [f"more {number}" for number in range(20 * limits.SMALL_LOADS_IN_FLIGHT_MAX)]
    alice.send_many(more)
    assert [message.text for message in take(bob, len(sent) + len(more))] == [*sent, *more]
    rests.assert_ended(alice)


def test_the_readers_rest_for_one_group_holds_up_no_order_of_another(here: Cluster, rests: Rests) -> None:
    nodes = [here.node(name) for name in ("alice", "bob")]
    groups = {
        name: [node.join(name, create=gcom.Definition.parse(name, name.upper())) for node in nodes]
        for name in ("fifo", "total")
    }
    for members in groups.values():
        members[0].wait_for_members(2, LIMIT_S)
    rests.begin(groups["fifo"][0])
    groups["total"][0].send("ordered")
    assert [[message.text for message in take(group, 1)] for group in groups["total"]] == [["ordered"], ["ordered"]]
    rests.assert_ended(groups["total"][0])


def test_who_leaves_ends_the_rest_of_its_reader(here: Cluster, rests: Rests) -> None:
    alice, bob = here.members("alice", "bob")
    sent = rests.begin(alice)
    alice.leave(LIMIT_S)
    rests.assert_ended(alice)
    assert [message.text for message in take(bob, len(sent))] == sent
    bob.wait_for_members(1, LIMIT_S)


@pytest.mark.parametrize(
    ("ordering", "multicast", "safe", "unawaited"),
    [
        ("FIFO", "RELIABLE", False, True),
        ("CAUSAL", "RELIABLE", False, True),
        ("FIFO", "BASIC", False, True),
        ("FIFO", "RELIABLE", True, False),  # its answer tells that a majority holds it
        ("TOTAL", "RELIABLE", False, False),  # and that it holds the order
    ],
)
def test_nobody_waits_for_the_answer_to_data_alone(ordering: str, multicast: str, safe: bool, unawaited: bool) -> None:
    network = Network(gcom.Definition.parse("g", ordering, multicast, safe=safe))
    a, b = network.form("a", "b")
    network.pass_ms(500)
    machine = network.machines[a]
    data = Frame("g", machine.instance, a, b, Status(2), runs=(run(a, 1, 1, view=2),))
    assert is_unawaited(machine, data) == unawaited
    assert not is_unawaited(machine, data._replace(runs=())), (
        "a heartbeat's answer is a sign of life, and says how long"
    )
    assert not is_unawaited(machine, data._replace(control=(frames.Fetch(2, b, 1, 1),)))
    machine.handle(events.Submit([b"y"]), network.now_ms)
    assert machine.data_waits(b)
    assert not is_unawaited(machine, data)
