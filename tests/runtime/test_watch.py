"""`watch`: the times and the place of each message, of all that is delivered while it is open."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import monotonic, time

import pytest

import gcom
from gcom.runtime.traces import RunTrace, TraceBuffer
from tests.runtime.nodes import LIMIT_S, Cluster, cluster, next_of, node_of, take, until

ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def traces(watch: gcom.Watch, count: int) -> list[gcom.Trace]:
    """The next traces of a watch, once there are so many."""
    found: list[gcom.Trace] = []

    def look() -> bool:
        found.extend(watch.take())
        return len(found) >= count

    until(look, f"{count} traces")
    return found


def in_order(trace: gcom.Trace) -> bool:
    """Whether the times of a message follow one another."""
    ordered = trace.received_s if trace.ordered_s is None else trace.ordered_s  # the order may come before the message
    sent = trace.received_s if trace.sent_s is None else trace.sent_s
    return sent <= trace.received_s <= trace.delivered_s >= ordered


def test_each_message_has_its_times_and_its_clock(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob", ordering="CAUSAL")
    alice.send("before", held_by="all")
    begun = monotonic()
    with alice.watch() as hers, bob.watch() as his:
        alice.send("ask")
        take(bob, 2)
        bob.send("reply")
        own, other = traces(hers, 2)
        seen = traces(his, 2)
    assert [(it.sender, it.number, it.view) for it in (own, other)] == [(alice.process, 2, 2), (bob.process, 1, 2)]
    assert [(it.sender, it.number) for it in seen] == [(alice.process, 2), (bob.process, 1)]
    assert all(in_order(it) and it.serial is None and it.ordered_s is None for it in (own, other, *seen))
    assert (own.sent_s is None, other.sent_s is None) == (False, True)
    assert begun <= own.received_s <= own.delivered_s <= monotonic()
    assert own.clock == seen[0].clock == gcom.VectorClock({alice.process: 2})
    assert other.clock == seen[1].clock == gcom.VectorClock({alice.process: 2, bob.process: 1})
    assert own.clock
    assert own.clock.compare(other.clock or own.clock) is gcom.Causality.BEFORE
    assert hers.take() == []


def test_clocks_are_whole_though_a_watch_opens_late(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    carol.send("x", held_by="all")
    take(alice, 1), alice.send("y", held_by="all")
    take(bob, 2)
    bob.send("before", held_by="all")
    with alice.watch() as watch:
        bob.send("z")
        (trace,) = traces(watch, 1)
    assert trace.clock == gcom.VectorClock({alice.process: 1, bob.process: 2, carol.process: 1})


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
def test_a_total_order_shows_serials_and_when_they_were_known(here: Cluster, ordering: str) -> None:
    alice, bob = here.members("alice", "bob", ordering=ordering)
    alice.send("before", held_by="all")
    take(bob, 1)
    with alice.watch() as hers, bob.watch() as his:
        for number in range(20):
            (alice, bob)[number % 2].send(f"{number}")
        found = traces(hers, 20), traces(his, 20)
    for each in found:
        assert [it.serial for it in each] == list(range(2, 22))
        assert all(it.ordered_s is not None and in_order(it) for it in each)
    assert [(it.sender, it.number) for it in found[0]] == [(it.sender, it.number) for it in found[1]]


def test_what_waits_shows_how_long_it_waited_for_what(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    alice, bob, carol = here.members("alice", "bob", "carol", ordering="CAUSAL")
    with carol.watch() as watch:
        node_of(alice).inject("cut=alice>carol")
        alice.send("ask")
        take(bob, 1)
        bob.send("reply")
        until(lambda: bool(carol.snapshot().held_back))
        assert watch.take() == []
        node_of(alice).inject("")
        ask, reply = traces(watch, 2)
    assert (ask.sender, reply.sender) == (alice.process, bob.process)
    assert reply.received_s < ask.received_s <= reply.delivered_s


def test_a_message_is_found_by_its_name_also_when_it_was_taken(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    watch = alice.watch()
    number = alice.send("one")
    (trace,) = traces(watch, 1)
    assert watch.of(alice.process, number) == trace
    assert watch.of(alice.process, 2) is watch.of(bob.process, 1) is None
    watch.close()
    watch.close()
    alice.send("two", held_by="all")
    assert watch.take() == []
    assert watch.of(alice.process, number) == trace


def test_nothing_is_recorded_unless_somebody_watches(here: Cluster) -> None:
    (alice,) = here.members("alice")
    assert alice._membership.recorder is None
    with alice.watch(), alice.watch() as second:
        alice.send("one")
        assert [it.number for it in second.take()] == [1]
    assert alice._membership.recorder is None


def test_at_the_bound_the_oldest_go_and_are_counted(here: Cluster) -> None:
    (alice,) = here.members("alice")
    with alice.watch(most=5) as watch:
        alice.send_many(f"{number}" for number in range(12))
        assert [it.number for it in watch.take()] == [8, 9, 10, 11, 12]
        assert watch.dropped == 7
        assert watch.of(alice.process, 7) is None
        alice.send("13")
        assert watch.dropped == 7  # what goes now was taken


def run_of(first: int, last: int) -> RunTrace:
    return RunTrace("b#1", first, last, 1, (), 1.0, 2.0, 3.0, first, {})


def test_of_a_long_run_the_beginning_goes() -> None:
    buffer = TraceBuffer(10)
    buffer.add(run_of(1, 25))
    buffer.add(run_of(26, 29))
    found = [trace for run in buffer.take() for trace in run.traces()]
    assert [(it.number, it.serial) for it in found] == [(number, number) for number in range(20, 30)]
    assert buffer.dropped == 19
    buffer.add(run_of(30, 40))
    assert (buffer.dropped, [len(it) for it in buffer.take()]) == (20, [10])


def test_a_large_message_has_times_too(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    with bob.watch() as watch:
        alice.send(bytes(1024 * 1024))
        (trace,) = traces(watch, 1)
    assert in_order(trace)
    assert trace.clock == gcom.VectorClock({alice.process: 1})


def test_one_clock_becomes_the_other(here: Cluster) -> None:
    (alice,) = here.members("alice")
    with alice.watch() as watch:
        before = time()
        alice.send("one")
        (trace,) = watch.take()
        assert watch.wall_s(watch.anchor[0]) == watch.anchor[1]
        assert abs(watch.wall_s(trace.delivered_s) - before) < LIMIT_S


@pytest.mark.slow
def test_it_goes_on_after_a_return(here: Cluster) -> None:
    alice, _, carol = here.members("alice", "bob", "carol")
    with carol.watch() as watch:
        former = carol.process
        carol.send("one", held_by="all")
        with carol._host.lock:
            until(lambda: "carol" not in alice.members)
        next_of(carol, gcom.Returned)
        carol.wait_for_members(3, LIMIT_S)
        carol.send("two", held_by="all")
        found = traces(watch, 2)
    assert [(it.sender, it.number) for it in found] == [(former, 1), (carol.process, 1)]
    assert all(in_order(it) and it.sent_s for it in found)
    assert found[1].clock == gcom.VectorClock({carol.process: 1})


def test_many_threads_may_take(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    found: list[gcom.Trace] = []
    with bob.watch() as watch:
        done = threading.Event()

        def work() -> None:
            while not done.is_set():
                found.extend(watch.take())

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        alice.send_many(f"{number}" for number in range(2000))
        until(lambda: len(found) == 2000)
        done.set()
        for thread in threads:
            thread.join(LIMIT_S)
    assert sorted(it.number for it in found) == list(range(1, 2001))


@pytest.mark.parametrize("most", [0, -1, 1_000_001, True, "9", 1.5])
def test_a_bound_that_is_none_is_refused(here: Cluster, most: int) -> None:
    (alice,) = here.members("alice")
    with pytest.raises(gcom.BadValue, match="1 to 1,000,000"):
        alice.watch(most)
