"""Messages at the limit between real processes, and a sender that dies in the middle of one (scenario 4)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from zlib import crc32

import pytest

import gcom
from gcom.values import limits
from tests.running import Row
from tests.runtime.nodes import LIMIT_S, take, until
from tests.runtime.processes import Worker, Workers
from tests.runtime.worker import poured

SIZE = limits.MESSAGE_BYTES_MAX


@pytest.fixture
def there() -> Iterator[Workers]:
    with gcom.embedded() as registry, ExitStack() as stack:
        yield Workers(registry.address, stack)


def assembled(worker: Worker) -> Row:
    """Return what a worker has of messages in fragments, now."""
    return worker.ask("assembled")


def larges(worker: Worker) -> list[tuple[str, int, int, int]]:
    """The large messages that a worker has delivered: sender, number, checksum and size."""
    return [(row["sender"], row["number"], row["sum"], row["size"]) for row in worker.rows("large")]


@pytest.mark.slow
def test_three_members_deliver_each_others_messages_of_sixteen_mebibytes(there: Workers) -> None:
    members = there.three()
    for member in members:
        member.say(f"pour {SIZE}")
    for member in members:
        for name in ("alice", "bob", "carol"):
            member.told("large", sender=name, number=2)
    for member in members:
        assert {found[1:] for found in larges(member) if found[1] <= 2} == {
            (number, crc32(poured(number, SIZE)), SIZE) for number in (1, 2)
        }
        assert member.errors == []


def stop_in_the_middle(sender: Worker, receiver: Worker) -> None:
    """Stop a process that pours while the receiver has a part of a message of its."""
    while True:
        until(lambda: assembled(receiver)["count"] > 0, "a fragment")
        sender.signal(signal.SIGSTOP)
        if assembled(receiver)["count"]:
            return
        sender.signal(signal.SIGCONT)


@pytest.mark.slow
def test_scenario_04_no_survivor_keeps_a_part_of_what_a_killed_sender_had_begun(there: Workers) -> None:
    alice, bob, carol = there.three()
    alice.say(f"pour {SIZE}")
    stop_in_the_middle(alice, bob)
    assert 0 < assembled(bob)["bytes"] < SIZE
    alice.signal(signal.SIGKILL)
    for member in (bob, carol):
        member.told("view", members=["bob", "carol"])
        assert assembled(member)["count"] == 0
    assert larges(bob) == larges(carol)
    assert [found[1] for found in larges(bob)] == list(range(1, len(larges(bob)) + 1))
    bob.say(f"pour {SIZE}")
    for member in (bob, carol):
        member.told("large", sender="bob", number=1, sum=crc32(poured(1, SIZE)))
        assert member.errors == []


@pytest.mark.slow
def test_scenario_42_a_stopped_member_holds_up_a_send_to_all_until_it_is_out(there: Workers) -> None:
    """Scenario 42."""
    with gcom.connect("alice", there.registry) as node:
        alice = node.join("news", create=gcom.Definition.parse("news"))
        bob, carol = there.start("bob"), there.start("carol")
        alice.wait_for_members(3, LIMIT_S)
        carol.signal(signal.SIGSTOP)
        alice.send("one", LIMIT_S, "majority")
        with pytest.raises(gcom.GComTimeout, match="carol#"):
            alice.send("two", 0.1, "all")
        alice.send("three", LIMIT_S, "all")
        assert alice.members == ("alice", "bob")
        assert bob.report()["counts"] == {"alice": 3}
        assert [message.text for message in take(alice, 3)] == ["one", "two", "three"]
        carol.signal(signal.SIGCONT)
        assert carol.told("departure")["reason"] == "expelled"
