"""The place of a message in the total order: in the Message, in the Receipt, and by a send that waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

import gcom
from tests.runtime.nodes import LIMIT_S, Cluster, cluster, take, until

ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as it:
        yield it


@pytest.mark.parametrize("direct", [False, True])
def test_a_message_has_its_serial_and_instance(here: Cluster, direct: bool) -> None:
    alice, bob = here.members("alice", "bob", ordering="TOTAL")
    heard: list[gcom.Message] = []
    bob.listen(on_message=heard.append, direct=direct)
    for _ in range(20):
        alice.send("a")
        bob.send_many(["b", "b", "b"])
    read = take(alice, 80)
    assert [message.serial for message in read] == list(range(1, 81))
    assert {message.instance for message in read} == {alice.instance}
    until(lambda: len(heard) == 80)
    assert heard == read


@pytest.mark.parametrize("ordering", ["CAUSAL", "CAUSALTOTAL"])
def test_a_message_has_its_clock_in_a_causal_order(here: Cluster, ordering: str) -> None:
    alice, bob = here.members("alice", "bob", ordering=ordering)
    a, b = alice.process, bob.process
    alice.send_many(["question", "more"])
    question, more = take(bob, 2)
    bob.send("reply")
    reply = take(bob, 1)[0]
    clocks = [gcom.VectorClock(it) for it in ({a: 1}, {a: 2}, {a: 2, b: 1})]
    assert [message.clock for message in take(alice, 3)] == clocks
    (carol,) = here.members("carol", ordering=ordering)
    alice.wait_for_members(3, LIMIT_S)
    alice.send("to carol, too")
    heard = take(carol, 1)[0]
    assert heard.past == {b: 1}  # she was given it as she joined
    clocks.append(gcom.VectorClock({a: 3, b: 1}))
    assert [question.clock, more.clock, reply.clock, heard.clock] == clocks
    assert all(earlier < later for earlier, later in pairwise(clocks))


def test_without_a_causal_order_a_message_has_no_clock(here: Cluster) -> None:
    (alice,) = here.members("alice", ordering="TOTAL")
    alice.send("x")
    assert take(alice, 1)[0].clock is None


def test_without_a_total_order_there_is_no_serial(here: Cluster) -> None:
    (alice,) = here.members("alice")
    number = alice.send("x", wait="delivered")
    assert alice.receipt(number).serial is None
    assert take(alice, 1)[0].serial is None


def test_a_send_that_waits_for_its_delivery_knows_its_serial_for_good(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob", ordering="TOTAL")
    numbers = [alice.send(f"{i}", wait="delivered", held_by="all") for i in range(30)]
    assert [alice.receipt(number).serial for number in numbers] == list(range(1, 31))
    bob.send("between")
    take(bob, 31)
    number = alice.send("after it")
    alice.flush(LIMIT_S)
    assert [alice.receipt(it).state for it in (1, number)] == ["held", "held"]
    assert [alice.receipt(it).serial for it in (1, number)] == [1, 32]


def test_it_waits_for_a_delivery_and_no_longer_than_it_is_told(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("the calls of alice have faults")
    bob, alice = here.members("bob", "alice", ordering="TOTAL")
    here._nodes[1].inject("cut=alice>bob")
    with pytest.raises(gcom.GComTimeout, match=r"is not delivered here after 0\.1 s") as late:
        alice.send("x", 0.1, wait="delivered")
    assert "message 1 of alice" in str(late.value)
    with pytest.raises(gcom.BadValue, match="wait must be sent or delivered; got 'read'"):
        alice.send("x", wait="read")  # type: ignore[arg-type]
    here._nodes[1].inject("")
    assert take(bob, 1)[0].text == "x"
    assert alice.pending == 0
