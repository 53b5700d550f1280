"""One sender's stream against a twin that keeps single messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.multicast.window import Flow, OwnStream, RunStore
from gcom.values import limits
from tests.core.making import A, B, C, numbers, run
from tests.core.network import Network

PLENTY = 10**9


class Twin:
    """Message numbers, each with the last number of its run."""

    def __init__(self, floor: int) -> None:
        self.floor = self.last = floor
        self.messages: list[tuple[int, int]] = []

    def append(self, count: int) -> None:
        last = self.last + count
        self.messages += [(number, last) for number in range(self.last + 1, last + 1)]
        self.last = last

    def drop(self, number: int) -> None:
        self.floor = max([self.floor, *[last for _, last in self.messages if last <= number]])
        self.messages = [message for message in self.messages if message[1] > number]

    def truncate(self, number: int) -> None:
        self.messages = [message for message in self.messages if message[1] <= number]
        self.last = max([self.floor, *[last for _, last in self.messages]])


steps = st.lists(st.tuples(st.sampled_from(["append", "drop", "truncate"]), st.integers(1, 12)), max_size=30)


@given(st.integers(0, 5), steps)
def test_a_store_holds_what_its_twin_holds(floor: int, taken: list[tuple[str, int]]) -> None:
    store, twin = RunStore(floor), Twin(floor)
    for what, amount in taken:
        if what == "append":
            store.append(run(A, store.last + 1, amount))
            twin.append(amount)
        elif what == "drop":
            store.drop(store.floor + amount)
            twin.drop(twin.floor + amount)
        else:
            store.truncate(store.floor + amount)
            twin.truncate(twin.floor + amount)
        assert (store.floor, store.last) == (twin.floor, twin.last)
        assert numbers(store.after(store.floor, PLENTY)) == [number for number, _ in twin.messages]
        assert numbers(list(store.load(store.floor, 0, PLENTY).runs)) == [number for number, _ in twin.messages]


@given(st.lists(st.integers(1, 5), max_size=8), st.integers(0, 40), st.integers(0, 400))
def test_what_a_store_gives_fits_and_follows(counts: list[int], after: int, bytes_max: int) -> None:
    store = RunStore(0)
    for count in counts:
        store.append(run(A, store.last + 1, count))
    after = min(after, store.last)
    found = store.after(after, bytes_max)
    following = [each for each in store.after(0, PLENTY) if each.last > after]
    assert found == following[: len(found)]
    assert sum(len(each.encoded) + 5 for each in found) <= bytes_max
    if len(found) < len(following):
        assert sum(len(each.encoded) + 5 for each in following[: len(found) + 1]) > bytes_max


def test_what_was_dropped_cannot_be_had_again() -> None:
    store = RunStore(0)
    store.append(run(A, 1, 3))
    store.drop(3)
    with pytest.raises(AssertionError, match="dropped"):
        store.after(2, PLENTY)


def test_a_store_takes_no_run_over_a_gap() -> None:
    with pytest.raises(AssertionError, match="contiguous"):
        RunStore(0).append(run(A, 2, 1))


def test_a_cut_inside_a_run_drops_nothing_of_it() -> None:
    store = RunStore(0)
    store.append(run(A, 1, 3))
    store.drop(2)
    assert numbers(store.after(0, PLENTY)) == [1, 2, 3]


def test_the_window_closes_at_its_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 5)
    flow = Flow(0)
    flow.add(run(A, 1, 4))
    assert flow.room == 1
    flow.add(run(A, 5, 1))
    assert flow.room == 0
    flow.consumed(3)  # inside a run: messages count one by one
    assert flow.room == 3
    flow.consumed(1)  # late news opens nothing
    assert flow.room == 3


@pytest.mark.parametrize(
    ("members", "most"),
    [(1, 32_768), (3, 32_768), (5, 26_214), (8, 16_384), (16, 16_384), (17, 7_710), (32, 4_096), (64, 4_096)],
)
def test_the_window_is_a_part_of_what_all_members_may_have_under_way(members: int, most: int) -> None:
    out = OwnStream(A, 0)
    for peers in (1, members - 1):  # of each view anew
        out.install([f"p{number}#1" for number in range(peers)])
    assert out.flow.room == most


@pytest.mark.parametrize(
    ("under_way", "waiting", "opens"),
    [
        (159, 1, True),
        (160, 1, False),
        (140, 19, True),
        (140, 20, True),
        (141, 19, True),
        (141, 20, False),
        (0, 999, True),
    ],
)
def test_a_window_that_was_full_opens_by_a_part_or_for_all_that_waits(
    under_way: int, waiting: int, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 160)
    flow = Flow(0)
    if under_way:
        flow.add(run(A, 1, under_way))
    assert flow.opens_for(waiting) is opens


def test_what_there_is_room_for_waits_no_longer_than_two_ticks_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 160)
    flow = Flow(0)
    flow.add(run(A, 1, 100))
    flow.add(run(A, 101, 50))
    flow.consumed(1)
    assert not flow.opens_for(20)
    assert not flow.stop_waiting(), "room was given back since the tick before"
    assert not flow.opens_for(20)
    assert flow.stop_waiting()
    assert flow.opens_for(20)
    flow.consumed(2)  # the reader goes on
    assert not flow.opens_for(20)


@pytest.mark.parametrize("names", ["a", "ab"])
def test_what_there_is_room_for_goes_though_more_waits_and_the_reader_has_stopped(
    names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is room for two messages: less than an eighth of the window, and not for all that waits."""
    monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 30)
    net = Network()
    net.form(*names)
    net.slow.add(f"{names[-1]}#1")
    net.send(A, *["x"] * 28)
    net.pass_ms(2 * limits.HEARTBEAT_MS)
    net.send(A, *["y"] * 10)
    net.pass_ms(2 * limits.HEARTBEAT_MS)
    assert net.machines[A].unsent_count == 8


def test_a_window_of_a_few_messages_opens_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 5)
    flow = Flow(0)
    flow.add(run(A, 1, 4))
    assert flow.opens_for(99)
    flow.add(run(A, 5, 1))
    assert not flow.opens_for(1)


def test_the_window_closes_at_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = run(A, 1, 4), run(A, 5, 4)
    monkeypatch.setattr(limits, "WINDOW_BYTES_MAX", len(first.encoded) + 1)
    flow = Flow(0)
    flow.add(first)
    assert flow.room > 0
    flow.add(second)
    assert flow.room == 0
    flow.consumed(4)
    assert flow.room > 0


def test_the_slowest_member_holds_the_window_and_stability() -> None:
    out = OwnStream(A, 0)
    out.install([B, C])
    out.add(run(A, 1, 10))
    out.on_self_consumed(10)
    out.on_status(out.peers[B], 10, 10)
    out.on_status(out.peers[C], 7, 2)
    assert (out.stable, out.flow.room) == (7, limits.WINDOW_MESSAGES_MAX - 8)
    out.on_status(out.peers[C], 3, 1)  # a frame that was overtaken
    assert (out.stable, out.flow.room) == (7, limits.WINDOW_MESSAGES_MAX - 8)


def test_an_ack_of_what_was_never_sent_counts_for_nothing_more() -> None:
    out = OwnStream(A, 0)
    out.install([B])
    out.add(run(A, 1, 2))
    out.on_status(out.peers[B], 99, 99)
    assert (out.peers[B].held, out.peers[B].consumed) == (2, 2)


def test_a_view_keeps_numbers_and_credit_and_forgets_who_left() -> None:
    out = OwnStream(A, 0)
    out.install([B, C])
    out.add(run(A, 1, 10))
    out.on_self_consumed(10)
    out.on_status(out.peers[B], 10, 10)
    out.install([B, "d#1"])  # c never consumed anything; d enters behind the tenth message
    assert out.number == 10
    assert out.flow.room == limits.WINDOW_MESSAGES_MAX
    assert {peer: known.cursor for peer, known in out.peers.items()} == {B: 10, "d#1": 10}
    assert out.stable == 10
