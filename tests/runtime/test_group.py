"""A group as the application holds it: sending, receiving, callbacks, back-pressure and the end."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gcom
from gcom.core.messages import events
from gcom.core.messages.effects import AskRegistry, Sent
from gcom.core.messages.events import Consumed, Event
from gcom.core.messages.registry import Lookup
from gcom.runtime.session import Session
from gcom.values import limits
from gcom.values.run import Run
from tests.oracle import Report, judge
from tests.runtime.nodes import LIMIT_S, Cluster, at_once, cluster, fill, next_of, take, until

EACH = [(ordering, multicast) for ordering in ("FIFO", "NONORDERED") for multicast in ("RELIABLE", "BASIC")]
ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as it:
        yield it


class TestMessages:
    @pytest.mark.parametrize(("ordering", "multicast"), EACH)
    def test_twenty_thousand_arrive_in_order(self, here: Cluster, ordering: str, multicast: str) -> None:
        alice, bob = here.members("alice", "bob", ordering=ordering, multicast=multicast)
        texts = [f"line {i}" for i in range(20_000)]
        mine: list[str] = []
        alice.listen(on_message=lambda message: mine.append(message.text))
        sender = threading.Thread(target=alice.send_many, args=(texts,), daemon=True)
        sender.start()
        found = take(bob, len(texts))
        sender.join(LIMIT_S)
        assert [message.number for message in found] == list(range(1, 20_001))
        assert [message.text for message in found] == texts
        until(lambda: mine == texts, "the sender's own deliveries")

    @pytest.mark.slow
    def test_every_size_and_kind_arrives_as_it_was_sent(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        edge = limits.MESSAGE_BYTES_MAX
        sizes = [0, 1, 31, 32, 255, 256, 65_535, 65_536, edge - 1, edge]
        payloads: list[bytes | str] = [*[b"\x00\xff" * (size // 2) + b"x" * (size % 2) for size in sizes]]
        payloads += ["a" * size for size in sizes] + ["é" * (size // 2) for size in sizes]
        payloads += ["", b"", "\x00", "a\nb\r\n", "😀" * (edge // 4), "\u2028", b"\x80"]
        received: list[gcom.Message] = []
        reader = threading.Thread(target=lambda: received.extend(take(bob, len(payloads))), daemon=True)
        reader.start()
        alice.listen()
        alice.send_many(payloads)
        reader.join(LIMIT_S)
        assert [message.payload for message in received] == payloads
        assert [type(message.payload) for message in received] == [type(payload) for payload in payloads]

    def test_a_message_knows_its_text_bytes_and_sender(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        alice.send_many(["é", b"\xff"])
        text, data = take(alice, 2)
        assert (text.text, text.data, text.name, text.sender) == ("é", "é".encode(), "alice", alice.process)
        assert (data.text, data.data, data.number, data.view) == ("�", b"\xff", 2, 1)

    def test_many_threads_lose_nothing_and_keep_their_own_order(self, here: Cluster) -> None:
        groups = here.members("a", "b", "c")
        threads, each = 6, 500

        def work(number: int, group: gcom.Group) -> None:
            group.send_many(f"{group.process} {number} {i}" for i in range(each))

        count = threads * each * len(groups)
        results = at_once(
            [partial(work, number, group) for number in range(threads) for group in groups]
            + [partial(self._judge, group, count, each) for group in groups]
        )
        assert results == [None] * len(results)

    @staticmethod
    def _judge(group: gcom.Group, count: int, each: int) -> None:
        by_thread: dict[str, list[int]] = {}
        for message in take(group, count):
            thread, _, index = message.text.rpartition(" ")
            by_thread.setdefault(thread, []).append(int(index))
        assert all(indexes == list(range(each)) for indexes in by_thread.values())

    def test_a_process_that_only_sends_is_not_held_up_by_itself(self, here: Cluster) -> None:
        (reader,) = here.members("reader")
        sender = here.node("sender").join("news", receive=False)
        texts = [f"{i:04}" * 64 for i in range(40_000)]  # more than a window
        thread = threading.Thread(target=sender.send_many, args=(texts,), daemon=True)
        thread.start()
        assert [message.text for message in take(reader, len(texts))] == texts
        thread.join(LIMIT_S)
        assert not any(isinstance(item, gcom.Message) for item in sender._membership.queued)

    @pytest.mark.parametrize("ordering", ["FIFO", "CAUSAL"])
    def test_what_is_read_is_told_seldom_unless_a_sender_may_wait_for_it(
        self, here: Cluster, monkeypatch: pytest.MonkeyPatch, ordering: Any
    ) -> None:
        told: list[int] = []
        step = Session.step

        def count(session: Session, event: Event) -> None:
            if isinstance(event, Consumed):
                told.append(event.number)
            step(session, event)

        monkeypatch.setattr(Session, "step", count)
        alice, bob = here.members("alice", "bob", ordering=ordering)
        sent = 400
        for _ in range(sent):
            alice.send("x")
            take(bob, 1)
        take(alice, sent)
        for group in (alice, bob):
            assert group.receive(0.0) is None  # asks for more, so it is through with the last
        until(lambda: not alice.snapshot().window.unread_by, "the credit")
        assert sent in told
        assert (len(told) > sent) == (ordering == "CAUSAL")

    def test_flush_returns_when_all_hold_it(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.send_many(f"{i}" for i in range(100))
        alice.flush(LIMIT_S)
        assert alice.pending == 0
        held = [item for item in bob._membership.queued if hasattr(item, "run")]
        assert sum(len(item.run.payloads) for item in held) == 100


class TestReceiving:
    def test_nothing_is_lost_between_loops(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.send_many(f"{i}" for i in range(100))
        found: list[str] = []
        while len(found) < 90:
            for message in bob:
                found.append(message.text)
                if len(found) % 7 == 0:
                    break
            event = bob.receive(LIMIT_S)
            assert isinstance(event, gcom.Message)
            found.append(event.text)
        found += [event.text for event in bob.events(idle_s=0.05) if isinstance(event, gcom.Message)]
        assert found == [f"{i}" for i in range(100)]

    def test_a_loop_ends_when_the_group_is_left(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        texts: list[str] = []
        reader = threading.Thread(target=lambda: texts.extend(message.text for message in bob), daemon=True)
        reader.start()
        alice.send_many(["one", "two"])
        alice.leave()
        until(lambda: bob.members == ("bob",), "the leave")
        bob.leave()
        reader.join(LIMIT_S)
        assert not reader.is_alive()
        assert texts == ["one", "two"]

    def test_silence_is_none_and_ends_a_loop_with_a_limit(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        assert isinstance(alice.receive(), gcom.ViewChange)
        assert alice.receive(0) is None
        assert alice.receive(0.05) is None
        assert list(alice.events(idle_s=0.05)) == []

    def test_a_group_has_one_receiver(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        loop = alice.events()
        assert isinstance(next(loop), gcom.ViewChange)
        refused = pytest.raises(gcom.AlreadyReceiving, match="'news' has a receiver: a loop or a listener")
        with refused:
            alice.receive(0)
        with refused:
            alice.listen()
        del loop  # as a `for` does when it ends
        alice.listen()
        with refused:
            next(iter(alice))
        with refused:
            alice.listen()

    def test_after_the_departure(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        alice.leave()
        alice.leave()
        assert [type(event) for event in alice.events()] == [gcom.ViewChange, gcom.Departure]
        calls: list[Callable[[], object]] = [alice.receive, alice.listen, partial(alice.send, "x")]
        calls += [lambda: next(iter(alice)), partial(alice.wait_for_members, 9), partial(alice.send, "y", None)]
        for call in calls * 2:
            with pytest.raises(gcom.NotAMember, match="'news' was left: join it again"):
                call()
        alice.flush()  # nothing is owed

    def test_a_waiter_is_woken_by_the_end(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        waiting = threading.Thread(target=partial(self._expect_end, alice), daemon=True)
        waiting.start()
        alice.leave()
        waiting.join(LIMIT_S)
        assert not waiting.is_alive()

    @staticmethod
    def _expect_end(group: gcom.Group) -> None:
        with pytest.raises(gcom.NotAMember):
            group.wait_for_members(2, LIMIT_S)


class TestMisuse:
    @pytest.mark.parametrize("payload", [None, 7, bytearray(b"x"), memoryview(b"x"), ["x"], gcom.Ordering.FIFO])
    def test_a_payload_of_another_type(self, here: Cluster, payload: Any) -> None:
        (alice,) = here.members("alice")
        with pytest.raises(gcom.BadValue, match=f"bytes or str; got {type(payload).__name__}"):
            alice.send(payload)
        assert alice.pending == 0

    @pytest.mark.parametrize("timeout_s", ["5", float("nan"), True, [1], -1, -0.5])
    def test_a_time_that_is_none(self, here: Cluster, timeout_s: Any) -> None:
        (alice,) = here.members("alice")
        sends = partial(alice.send, "x"), partial(alice.send, "x", held_by="all"), partial(alice.send_many, ["x"])
        for waits in (*sends, alice.receive, alice.flush, partial(alice.wait_for_members, 1), partial(alice.call, "?")):
            with pytest.raises(gcom.BadValue, match="timeout_s must be a number of seconds, 0 or more, or None"):
                waits(timeout_s=timeout_s)
        node = here.node("bob")
        connects = partial(gcom.connect, "carol", node.directory.address)
        for enters_or_ends in (partial(node.join, "chat"), alice.leave, node.close, connects):
            with pytest.raises(gcom.BadValue, match="timeout_s must be a number of seconds, 0 or more; got"):
                enters_or_ends(timeout_s=timeout_s)
        assert alice.view.names == ("alice",)

    def test_a_time_without_end(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        assert alice.wait_for_members(1, timeout_s=math.inf).members == alice.view.members
        alice.flush(timeout_s=math.inf)
        alice.send("x", timeout_s=math.inf)
        assert [result.outcome.value for result in alice.call("?", timeout_s=math.inf).values()] == ["error"]

    def test_text_that_is_no_unicode(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        with pytest.raises(gcom.BadValue, match="surrogates not allowed at 1; send bytes"):
            alice.send("a\ud800")

    @pytest.mark.parametrize("unit", [b"x", "x", "é"])
    def test_a_message_over_the_limit(self, here: Cluster, unit: bytes | str) -> None:
        (alice,) = here.members("alice")
        size = limits.MESSAGE_BYTES_MAX // len(unit if isinstance(unit, bytes) else unit.encode())
        with pytest.raises(gcom.MessageTooLarge, match=r"message of [0-9,]+ bytes .* limit of 16,777,216"):
            alice.send(unit * (size + 1))
        alice.send("fits")
        assert take(alice, 1)[0].number == 1

    def test_what_is_sent_while_leaving_is_refused_not_lost(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        sent: list[int] = []
        refused: list[str] = []

        def work() -> None:
            try:
                while True:
                    alice.send(f"{len(sent)}")
                    sent.append(1)
            except gcom.NotAMember as error:
                refused.append(str(error))

        alice.listen()
        reader: list[str] = []
        bob.listen(on_message=lambda message: reader.append(message.text))
        sender = threading.Thread(target=work, daemon=True)
        sender.start()
        until(lambda: len(reader) > 1000, "some messages")
        alice.leave()
        sender.join(LIMIT_S)
        until(lambda: bob.members == ("bob",), "the leave")
        until(lambda: len(reader) == len(sent), f"the rest of {len(sent)} messages")
        assert "'news' is being left" in refused[0] or "'news' was left" in refused[0]


def test_what_is_sent_as_its_process_goes_is_told_as_unsent(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob", ordering="TOTAL")
    session = alice._session
    with alice._host.lock:  # within one step, so that nothing has gone out, and some was not given to the machine
        numbers = [session.put(f"{number}") for number in range(5)]
        session.step(events.Exit())
    bob.wait_for_members(1, LIMIT_S)
    departure = list(alice.events())[-1]
    assert isinstance(departure, gcom.Departure)
    assert departure.unconfirmed is None
    assert departure.unsent == len(numbers)


class TestSlowReader:
    @pytest.mark.parametrize("multicast", ["RELIABLE", "BASIC"])
    def test_scenario_12_a_sender_waits_for_the_slowest_and_goes_on(self, here: Cluster, multicast: str) -> None:
        alice, bob, carol = here.members("alice", "bob", "carol", multicast=multicast)
        for quick in (alice, carol):
            quick.listen()
        sent, words = fill(alice, "x" * 1000)
        assert f"'news' after 0.2 s: it waits for {bob.process} to read" in words
        assert sent <= (limits.WINDOW_BYTES_MAX + limits.PENDING_BYTES_MAX) // 1000 + limits.RUN_MESSAGES_MAX
        assert len(bob._membership.queued) <= limits.WINDOW_MESSAGES_MAX
        waiting = threading.Thread(target=partial(alice.send, "last", LIMIT_S), daemon=True)
        waiting.start()
        found = take(bob, sent + 1)
        waiting.join(LIMIT_S)
        assert [message.number for message in found] == list(range(1, sent + 2))
        assert found[-1].text == "last"

    def test_one_that_waits_for_room_is_woken_when_messages_get_numbers_and_no_other_is(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        session, lock = alice._session, alice._host.lock
        sent = Sent(Run(alice.process, 1, 1, {}, [b""], b"x"))
        woken = []
        with lock:
            for awaited, effect in ((0, sent), (1, sent), (0, AskRegistry(Lookup("news")))):
                lock._changed.clear()
                session._room_awaited = awaited
                session._carry_out([effect])
                woken.append(session.changed in lock._changed)
            session._room_awaited = 0
        assert woken == [False, True, False]

    def test_one_that_does_not_read_its_own_is_named(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        assert "this process to read its own deliveries" in fill(alice, b"x" * 100_000)[1]

    def test_small_messages_are_bounded_too(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.listen()
        sent, words = fill(alice, "")
        assert bob.process in words
        bound = limits.WINDOW_MESSAGES_MAX + limits.PENDING_MESSAGES_MAX
        assert limits.WINDOW_MESSAGES_MAX < sent <= bound
        assert len(take(bob, sent)) == sent

    def test_many_in_one_step_are_bounded_as_single_ones_are(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.listen()
        bound = limits.WINDOW_MESSAGES_MAX + limits.PENDING_MESSAGES_MAX
        with pytest.raises(gcom.GComTimeout, match="to read its deliveries"):
            alice.send_many([b"%d" % number for number in range(bound + 1)], 0.2)
        assert [message.data for message in take(bob, bound)] == [b"%d" % number for number in range(bound)]
        alice.send_many((b"last",))
        assert take(bob, 1)[0].number == bound + 1

    def test_many_in_one_step_are_bounded_in_bytes_too(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.listen()
        size = limits.RUN_BYTES_MAX // 2 - 100
        with pytest.raises(gcom.GComTimeout, match="to read its deliveries"):
            alice.send_many([bytes(size)] * 200, 0.2)
        sent = alice._session.last_number
        assert sent <= (limits.WINDOW_BYTES_MAX + limits.PENDING_BYTES_MAX) // size + 4
        assert len(take(bob, sent)) == sent

    def test_what_came_before_one_that_is_refused_is_sent(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        with pytest.raises(gcom.MessageTooLarge):
            alice.send_many([b"a", b"b", bytes(limits.MESSAGE_BYTES_MAX + 1), b"c"])
        with pytest.raises(gcom.BadValue):
            alice.send_many([b"d", 5, b"e"])  # type: ignore[list-item]
        assert [message.data for message in take(alice, 3)] == [b"a", b"b", b"d"]

    def test_scenario_13_a_slow_reader_that_leaves_sets_the_sender_free(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.listen()
        fill(alice, "x" * 10_000)
        sending = threading.Thread(target=partial(alice.send_many, ["x" * 10_000] * 200, LIMIT_S), daemon=True)
        sending.start()
        bob.leave()
        sending.join(LIMIT_S)
        assert not sending.is_alive()

    @pytest.mark.slow
    def test_a_leave_beside_a_slow_reader_is_orderly_and_says_what_was_not_sent(
        self, here: Cluster, expect_log: ExpectLog
    ) -> None:
        alice, bob = here.members("alice", "bob")
        alice.listen()
        fill(alice, "x" * 10_000)
        expect_log(f"{alice.process} left with {alice.pending} messages that were never sent")
        alice.leave(1.0)
        messages = [event for event in bob.events(idle_s=0.2) if isinstance(event, gcom.Message)]
        assert messages
        assert [message.number for message in messages] == list(range(1, len(messages) + 1))
        assert bob.members == ("bob",)
        assert alice._session.ended
        assert alice._session.ended.reason == "request"

    def test_scenario_13_views_change_beside_a_slow_reader(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.listen()
        fill(alice, "x" * 10_000)
        carol = here.node("carol").join("news")
        alice.wait_for_members(3, LIMIT_S)
        carol.leave()
        until(lambda: alice.members == ("alice", "bob"), "the leave")
        texts = [event.number for event in bob.events(idle_s=0.5) if isinstance(event, gcom.Message)]
        assert texts == list(range(1, len(texts) + 1))


class TestLogs:
    @pytest.mark.slow
    def test_two_groups_a_leave_and_a_return_pass_the_oracle(self, tmp_path: Path) -> None:
        with cluster(tmp_path) as here:
            nodes = [here.node(name) for name in ("a", "b", "c")]
            for room in ("one", "two"):
                definition = gcom.Definition.parse(room)
                groups = [node.join(room, create=definition) for node in nodes]
                for group in groups:
                    group.wait_for_members(3, LIMIT_S)
                    group.send_many(f"{room} {i}" for i in range(50))
                    group.listen()
                groups[1].leave()
                again = nodes[1].join(room)
                again.send_many(f"again {i}" for i in range(50))
                again.flush(LIMIT_S)
                again.listen()
        report = judge(tmp_path)
        self._passes(report, "one", "two")
        assert set(report.coverage.values()) == {"closed"}

    @pytest.mark.slow
    @pytest.mark.parametrize(("ordering", "multicast"), EACH)
    def test_each_kind_of_group_passes_the_oracle(self, tmp_path: Path, ordering: str, multicast: str) -> None:
        with cluster(tmp_path) as here:
            groups = here.members("a", "b", "c", ordering=ordering, multicast=multicast)
            at_once([partial(group.send_many, [f"{i}" for i in range(300)]) for group in groups])
            for group in groups:
                take(group, 900)
        self._passes(judge(tmp_path), "news")

    @pytest.mark.parametrize(("multicast", "confirmed"), [("RELIABLE", [(3, "all")]), ("BASIC", [])])
    def test_what_a_flush_promised_is_in_the_log(
        self, tmp_path: Path, multicast: str, confirmed: list[tuple[int, str]]
    ) -> None:
        with cluster(tmp_path) as here:
            alice, _ = here.members("alice", "bob", multicast=multicast)
            alice.send_many(["one", "two", "three"])
            alice.flush(LIMIT_S)
        lines = [json.loads(line) for path in tmp_path.rglob("*.jsonl") for line in path.read_text().splitlines()]
        assert [(line["number"], line["by"]) for line in lines if line["type"] == "confirm"] == confirmed

    def test_a_log_of_an_earlier_incarnation_is_closed(self, tmp_path: Path) -> None:
        with cluster(tmp_path) as here:
            node = here.node("alice")
            for _ in range(5):
                node.join("news", create=gcom.Definition.parse("news")).leave()
            until(lambda: len(node._host.logs) == 1, "the end of the earlier logs")
        assert set(judge(tmp_path).coverage.values()) == {"closed"}

    def test_a_log_that_cannot_be_written_is_said_once_and_messages_go_on(
        self, tmp_path: Path, expect_log: ExpectLog, log_watch: Any
    ) -> None:
        expect_log("ends here")
        blocked = tmp_path / "logs" / "alice"
        blocked.parent.mkdir()
        blocked.write_text("a file where a folder should be")
        with cluster(blocked.parent) as here:
            (alice,) = here.members("alice")
            ended = next_of(alice, gcom.LogEnded)
            assert ended.process == alice.process
            assert str(blocked) in ended.reason
            alice.send_many(f"{i}" for i in range(100))
            assert len(take(alice, 100)) == 100
        assert len([record for record in log_watch.records if str(blocked) in record]) == 1

    @staticmethod
    def _passes(report: Report, *groups: str) -> None:
        assert report.notes == []
        for name in groups:
            assert report.group(name).failed() == {}
            assert report.group(name).verdict == "PASS"


@pytest.mark.slow
def test_expulsion_is_told_to_the_application(here: Cluster) -> None:
    """A member whose process the others' machine no longer knows is told so by their answers."""
    alice, bob, carol = here.members("alice", "bob", "carol", rejoin=False)
    with carol._host.lock:  # it stands still, as a paused process does
        until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")
    with pytest.raises(gcom.Detached, match=rf"{carol.process} is detached"):
        list(carol)
    with pytest.raises(gcom.Detached, match=rf"{carol.process} is detached.*went on without it.*join again"):
        carol.send("late")
    left = [event.left for event in alice.events(idle_s=0.1) if isinstance(event, gcom.ViewChange)][-1]
    assert left == {carol.process: "silence"}


def test_an_application_that_reads_none_of_very_many_events_is_told_why_it_left(
    here: Cluster, monkeypatch: pytest.MonkeyPatch, expect_log: ExpectLog
) -> None:
    expect_log("reads nothing")
    alice, bob, carol = here.members("alice", "bob", "carol")
    for group in (bob, carol):
        group.listen()
    monkeypatch.setattr("gcom.runtime.queue_items.NOTICES_MAX", 3)  # so many views wait for alice already
    here.node("dave").join("news", receive=False)
    until(lambda: "alice" not in {*bob.members, *carol.members}, "its leave")
    with pytest.raises(gcom.Detached, match="read none of 3 events"):
        alice.send("x")
    events = list(alice.events())
    assert isinstance(events[-1], gcom.Departure)
    assert events[-1].reason == "unread"
