"""`send` that waits until others hold the message (scenario 42).

A member that does not answer is one whose node's lock is held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import cast

import pytest

import gcom
from gcom.runtime.api.sending import HeldBy
from gcom.values import limits
from tests.runtime.nodes import LIMIT_S, Cluster, at_once, cluster, node_of, take, until


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


BOTH: list[HeldBy] = ["majority", "all"]


@pytest.mark.parametrize("held_by", BOTH)
@pytest.mark.parametrize("members", [1, 2, 3])
def test_it_returns_once_so_many_hold_it_though_nobody_reads(here: Cluster, members: int, held_by: HeldBy) -> None:
    groups = here.members(*["alice", "bob", "carol"][:members])
    for number in range(1, 21):
        groups[0].send(f"{number}", LIMIT_S, held_by)
        lacking = groups[0]._session.machine.lacking(number)
        assert len(lacking) < members / 2 if held_by == "majority" else not lacking
    for group in groups:
        assert [message.text for message in take(group, 20)] == [str(number) for number in range(1, 21)]


def test_a_large_message_is_held_when_its_last_fragment_is(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    payload = bytes(range(256)) * (limits.MESSAGE_BYTES_MAX // 256)
    alice.send(payload, LIMIT_S, "all")
    assert all(take(group, 1)[0].payload == payload for group in (bob, carol))


def test_many_threads_wait_each_for_its_own(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")

    def send(name: int) -> None:
        for index in range(30):
            alice.send(f"{name} {index}", LIMIT_S, "all")

    at_once([lambda name=name: send(name) for name in range(6)])  # type: ignore[misc]
    texts = [message.text for message in take(bob, 180)]
    for name in range(6):
        assert [text for text in texts if text.startswith(f"{name} ")] == [f"{name} {index}" for index in range(30)]


def test_a_timeout_names_who_is_waited_for_and_the_message_stays_sent(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    with carol._host.lock:
        alice.send("one", LIMIT_S, "majority")
        with pytest.raises(gcom.GComTimeout, match=rf"message 2 of {alice.process} .* is sent.*: it waits for carol#"):
            alice.send("two", 0.2, "all")
    alice.send("three", LIMIT_S, "all")
    for group in (alice, bob, carol):
        assert [message.text for message in take(group, 3)] == ["one", "two", "three"]


@pytest.mark.slow
def test_scenario_42_a_view_change_releases_it_and_who_went_does_not_count(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    with carol._host.lock:
        alice.send("one", LIMIT_S, "all")
        assert alice.members == ("alice", "bob")
    assert take(bob, 1)[0].text == "one"


@pytest.mark.slow
def test_who_hears_no_quorum_is_told_which_message_it_may_have_sent_in_vain(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    alice.send("one", LIMIT_S, "all")
    named = (
        r"no quorum of its view: message 2 of alice#\w+ in group 'news' is not held by majority; its messages 2 to 2"
    )
    with bob._host.lock, carol._host.lock, pytest.raises(gcom.Detached, match=named):
        alice.send("two", LIMIT_S, "majority")
    assert [message.text for message in take(bob, 2)] == ["one", "two"]  # it is sent, and nobody need send it again


def test_going_without_waiting_says_what_may_not_have_arrived(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    caught: list[gcom.NotAMember] = []

    def send() -> None:
        try:
            alice.send("one", LIMIT_S, "all")
        except gcom.NotAMember as error:
            caught.append(error)

    thread = threading.Thread(target=send, daemon=True)
    with bob._host.lock:
        thread.start()
        until(lambda: alice._session.machine.number == 1, "the number")
        alice.leave(0.1)
        thread.join(LIMIT_S)
    assert "its messages 1 to 1 may not have arrived" in str(caught[0])


def test_a_leave_in_good_order_settles_it(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    sent: list[int] = []

    def send() -> None:
        try:
            while True:
                alice.send(str(len(sent) + 1), LIMIT_S, "all")
                sent.append(1)
        except gcom.NotAMember:
            pass

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    until(lambda: len(sent) > 20, "some messages")
    alice.leave(LIMIT_S)
    thread.join(LIMIT_S)
    for group in (bob, carol):
        assert [message.text for message in take(group, len(sent))] == [str(n) for n in range(1, len(sent) + 1)]


def test_what_its_process_left_behind_is_held_by_those_who_said_so(here: Cluster) -> None:
    """`carol` has said nothing when `alice` leaves: the view that goes on has the message in its cut."""
    alice, bob, carol = here.members("alice", "bob", "carol")
    thread = threading.Thread(target=partial(alice.send, "one", LIMIT_S, "all"), daemon=True)
    with carol._host.lock:
        thread.start()
        until(lambda: alice.receipt(1).held_by == (alice.process, bob.process), "the word of bob")
        alice.leave(LIMIT_S)
        thread.join(LIMIT_S)
        receipt = alice.receipt(1)
        assert (receipt.state, receipt.held_by, receipt.lacking) == ("held", (bob.process,), ())
    assert take(bob, 1)[0].text == "one"


@pytest.mark.parametrize("ordering", list(gcom.Ordering))
def test_after_a_flush_every_member_holds_it_with_what_it_needs(here: Cluster, ordering: gcom.Ordering) -> None:
    alice, bob, _ = here.members("alice", "bob", "carol", ordering=ordering)
    for number in range(1, 21):
        bob.send("before")
        alice.send(f"{number}")
        alice.flush(LIMIT_S)
        receipt = alice.receipt(number)
        assert (receipt.state, receipt.lacking) == ("held", ())


def test_a_flush_does_not_wait_for_what_is_sent_after_it_began(
    here: Cluster, expect_log: Callable[[str], None]
) -> None:
    """Over links with a delay, beside a thread that sends all the time."""
    expect_log("on purpose")
    alice, bob, carol = here.members("alice", "bob", "carol")
    for group in (alice, bob, carol):
        group.listen()
        node_of(group).inject("delay=5..10ms")
    done = threading.Event()

    def send_on() -> None:
        while not done.is_set():
            alice.send("on", LIMIT_S)
            alice.send_to("bob", "on", LIMIT_S)

    thread = threading.Thread(target=send_on, daemon=True)
    thread.start()
    try:
        until(lambda: alice._session.machine.number > 100, "some messages")
        alice.flush(LIMIT_S)
        assert thread.is_alive()
    finally:
        done.set()
        thread.join(LIMIT_S)


def test_in_a_callback_nothing_is_sent(here: Cluster) -> None:
    (alice,) = here.members("alice")
    caught: list[gcom.WouldBlock] = []

    def answer(_: gcom.Message) -> None:
        try:
            alice.send("answer", LIMIT_S, "all")
        except gcom.WouldBlock as error:
            caught.append(error)

    alice.listen(on_message=answer)
    alice.send("ask")
    until(lambda: bool(caught), "the refusal")
    assert alice._session.machine.number == 1


def test_what_cannot_be_promised_is_refused(here: Cluster) -> None:
    (basic,) = here.members("alice", multicast="BASIC", group="basic")
    with pytest.raises(gcom.BadValue, match="'all' needs RELIABLE; group 'basic' is BASIC"):
        basic.send("x", 1.0, "all")
    with pytest.raises(gcom.BadValue, match="held_by must be sender, majority or all; got 'both'"):
        basic.send("x", 1.0, cast("HeldBy", "both"))
