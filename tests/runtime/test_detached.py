"""A member that hears no quorum: what it may do, what is said of what it sent, and how it goes on, or ends."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import gcom
from gcom.runtime.queue_items import NOTICES_MAX
from gcom.values import lineage
from tests.runtime.nodes import LIMIT_S, Cluster, at_once, cluster, end_of, next_of, node_of, take, until
from tests.runtime.processes import Workers

APART = "cut=alice<>bob,cut=alice<>carol,cut=bob<>carol"


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture
def members(here: Cluster) -> list[gcom.Group]:
    """Three that hear each other, and hold what alice has sent first."""
    found = here.members("alice", "bob", "carol")
    found[0].send("one", LIMIT_S, "all")
    return found


@contextmanager
def standing_still(*groups: gcom.Group) -> Iterator[None]:
    """As paused processes."""
    with ExitStack() as stack:
        for group in groups:
            stack.enter_context(group._host.lock)
        yield


def texts(group: gcom.Group) -> list[str]:
    """Of all messages that wait to be read."""
    found = []
    while (event := group.receive(0.0)) is not None:
        found += [event.text] if isinstance(event, gcom.Message) else []
    return found


def reaches(sender: gcom.Group, receiver: gcom.Group, text: str) -> bool:
    """Send a text; False if the receiver missed it, as one that is put out after a pause, and let in again."""
    sender.send(text, LIMIT_S, "all")
    return text in texts(receiver)


def until_text(group: gcom.Group, text: str) -> list[object]:
    """All events up to the message with that text."""
    events: list[object] = []
    while not (events and isinstance(events[-1], gcom.Message) and events[-1].text == text):
        event = group.receive(LIMIT_S)
        assert event is not None, f"{group.process} received {events}, and then nothing"
        events.append(event)
    return events


@pytest.mark.slow
def test_a_detached_member_says_what_to_do_and_goes_on_as_it_was(members: list[gcom.Group]) -> None:
    alice, bob, carol = members
    process, instance = alice.process, alice.instance
    with standing_still(bob, carol):
        assert next_of(alice, gcom.QuorumLost).in_doubt is None
        with pytest.raises(
            gcom.Detached, match=r"no quorum of its view: nothing was sent; wait for QuorumRegained, or"
        ):
            alice.send("late")
        with pytest.raises(gcom.Detached, match="nothing was sent"):
            alice.send_to("bob", "late")
        with pytest.raises(gcom.GComTimeout, match="hears too few of them to go on"):
            alice.wait_for_members(1, 0.1)
    alice.wait_for_members(1, LIMIT_S)
    assert next_of(alice, gcom.QuorumRegained).in_doubt is None
    alice.wait_for_members(3, LIMIT_S)
    until(lambda: reaches(alice, carol, "two"), "the message")
    assert (alice.process, alice.instance) == (process, instance)


@pytest.mark.slow
def test_who_waits_for_members_when_it_is_detached_is_told_of_which_message(members: list[gcom.Group]) -> None:
    alice, bob, carol = members
    with standing_still(bob, carol):

        def flush() -> None:
            until(lambda: alice._session.machine.number == 2, "the message")
            alice.flush(LIMIT_S)

        caught = at_once([lambda: alice.send("two", LIMIT_S, "majority"), flush])
        held, flushed = map(str, caught)
        assert all(isinstance(error, gcom.Detached) for error in caught)
        assert f"message 2 of {alice.process} in group 'news' is not held by majority" in held
        assert "its messages 2 to 2 may not have arrived, and Settled will say" in held
        assert "not all that was sent is held by all" in flushed
        assert next_of(alice, gcom.QuorumLost).in_doubt == (2, 2)
    assert next_of(alice, gcom.QuorumRegained).in_doubt in ((2, 2), None)  # they may have told that they hold it
    assert next_of(alice, gcom.Settled) == gcom.Settled(2, 2, True, alice.process, alice.instance)
    alice.flush(LIMIT_S)
    for group in (bob, carol):
        assert [message.text for message in take(group, 2)] == ["one", "two"]
        assert texts(group) == []


@pytest.mark.slow
def test_what_was_in_doubt_is_settled_when_the_others_go_on_first(
    members: list[gcom.Group], expect_log: Callable[[str], None]
) -> None:
    """Once the cuts are healed the first two to hear each other go on: the third may be put out, and comes back."""
    expect_log("on purpose")
    alice, bob, carol = members
    for member in members:
        node_of(member).inject(APART)
    with pytest.raises(gcom.Detached):
        alice.send("two", LIMIT_S, "majority")
    for member in members:
        node_of(member).inject("")
    settled = next_of(alice, gcom.Settled)
    assert (settled.first, settled.last) == (2, 2)
    bob.wait_for_members(3, LIMIT_S)
    alice.wait_for_members(3, LIMIT_S)
    alice.send("three", LIMIT_S, "all")
    arrived = ["one", "two", "three"] if settled.arrived else ["one", "three"]
    returned = []
    for group in (bob, carol):
        events = until_text(group, "three")
        found = [event.text for event in events if isinstance(event, gcom.Message)]
        returned.append(any(isinstance(event, gcom.Returned) for event in events))
        assert found in ([arrived, ["one", "three"]] if returned[-1] else [arrived])
    assert sum(returned) <= 1
    assert alice.instance == bob.instance == carol.instance


@pytest.mark.slow
@pytest.mark.parametrize("closes", [False, True], ids=["leave", "close"])
def test_a_leave_waits_for_the_quorum_that_settles_it(members: list[gcom.Group], closes: bool) -> None:
    alice, bob, carol = members
    with standing_still(bob, carol):
        next_of(alice, gcom.QuorumLost)
        leave = node_of(alice).close if closes else alice.leave
        leaving = threading.Thread(target=leave, args=(LIMIT_S,), daemon=True)
        leaving.start()
        until(lambda: alice._session.leaving, "the leave")
        assert alice.receive(0.1) is None
    leaving.join(LIMIT_S)
    assert end_of(alice) == ("request", None, False)
    until(lambda: sorted(bob.members) == sorted(carol.members) == ["bob", "carol"], "the view without it")


@pytest.mark.slow
@pytest.mark.parametrize("closes", [False, True], ids=["leave", "close"])
def test_a_leave_that_no_quorum_settles_says_what_is_open(members: list[gcom.Group], closes: bool) -> None:
    alice, bob, carol = members
    with standing_still(bob, carol):
        with pytest.raises(gcom.Detached):
            alice.send("two", LIMIT_S, "all")
        leave = node_of(alice).close if closes else alice.leave
        leave(0.5)
        assert end_of(alice) == ("exit", (2, 2), False)
        with pytest.raises(gcom.NotAMember, match="its messages 2 to 2 may not have arrived"):
            alice.send("three")
    until(lambda: sorted(bob.members) == sorted(carol.members) == ["bob", "carol"], "the view without it")


@pytest.mark.slow
def test_a_node_that_is_closed_does_not_keep_its_other_groups_waiting(here: Cluster, members: list[gcom.Group]) -> None:
    alice, bob, carol = members
    dave = here.node("dave").join("other", create=gcom.Definition.parse("other"))
    other = node_of(alice).join("other")
    dave.wait_for_members(2, LIMIT_S)
    with standing_still(bob, carol):
        next_of(alice, gcom.QuorumLost)
        node_of(alice).close(0.5)
    assert next_of(alice, gcom.Departure).reason == "exit"
    assert end_of(other) == ("request", None, False)
    until(lambda: dave.members == ("dave",), "the view without it")


# two of three are killed, and the third goes on in a successor


class Sender:
    """Sends numbered texts, one after the other, whatever comes between."""

    def __init__(self, group: gcom.Group) -> None:
        self.sent: list[str] = []  # what `send` has taken
        self._group = group
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            text = f"text {len(self.sent) + 1}"
            try:
                self._group.send(text, LIMIT_S)
            except gcom.Detached:
                self._group.wait_for_members(1, LIMIT_S)
            else:
                self.sent.append(text)

    def stop(self) -> list[str]:
        self._stop.set()
        self._thread.join(LIMIT_S)
        return self.sent


@pytest.mark.slow
@pytest.mark.parametrize("ordering", ["FIFO", "CAUSAL", "TOTAL"])
def test_what_the_last_of_three_sends_arrives_once_or_is_told_as_lost(ordering: str) -> None:
    """The i-th text that `send` took has number i in the instance that ends."""
    with gcom.embedded() as registry, ExitStack() as stack:
        node = stack.enter_context(gcom.connect("alice", registry.address))
        alice = node.join("news", create=gcom.Definition.parse("news", ordering))
        others = [Workers(registry.address, stack).start(name, "--ordering", ordering) for name in ("bob", "carol")]
        alice.wait_for_members(3, LIMIT_S)
        process, instance = alice.process, alice.instance
        seen: list[gcom.Event] = []
        alice.listen(on_event=seen.append)
        sender = Sender(alice)
        until(lambda: len(sender.sent) > 200, "some messages")
        for other in others:
            other.signal(signal.SIGKILL)
        until(lambda: any(isinstance(event, gcom.Returned) for event in seen), "the successor")
        taken = len(sender.sent)
        until(lambda: len(sender.sent) > taken + 200, "more messages")
        sent = sender.stop()
        alice.flush(LIMIT_S)

        def told() -> tuple[list[str], list[str]]:
            arrived = [event.text for event in list(seen) if isinstance(event, gcom.Message)]
            never = [it for it in list(seen) if isinstance(it, gcom.Settled) and not it.arrived]
            return arrived, [f"text {number}" for it in never for number in range(it.first, it.last + 1)]

        until(lambda: len(told()[0]) + len(told()[1]) >= len(sent), "the last of them")
        arrived, lost = told()
        assert sorted(arrived + lost) == sorted(sent)
        departure = next(event for event in seen if isinstance(event, gcom.Departure))
        assert (departure.reason, departure.returning, departure.unsent) == ("succession", True, 0)
        assert departure.unconfirmed is None
        assert alice.process == process
        assert lineage.descends(alice.instance, instance)
        assert alice.members == ("alice",)
        alice.leave()


@pytest.mark.slow
def test_a_member_that_its_registry_forgot_says_that_it_waits_for_an_operator(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with gcom.embedded(data=tmp_path / "first") as registry:
            host, _, port = registry.address.partition(":")
            here = Cluster(registry.address)
            stack.callback(here.close)
            alice, bob = here.members("alice", "bob")
        stack.enter_context(gcom.embedded(host, int(port), data=tmp_path / "second"))
        stack.enter_context(standing_still(alice))
        until(lambda: "'gcom fork news'" in bob.snapshot().waits_for, "its word")
        with pytest.raises(gcom.Detached, match=r"wait_for_members\(1\), or for 'gcom fork news' \(the registry"):
            bob.send("late")


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
def test_what_is_left_of_three_says_that_only_the_registry_is_missing(
    several: bool, tmp_path: Path, expect_log: Callable[[str], None]
) -> None:
    if several:
        expect_log("does not answer")
    with ExitStack() as stack:
        beside = [stack.enter_context(gcom.embedded()).address] if several else []
        with gcom.embedded(data=tmp_path) as registry:
            host, _, port = registry.address.partition(":")
            addresses = ",".join([registry.address, *beside])
            node = stack.enter_context(gcom.connect("alice", addresses))
            alice = node.join("news", create=gcom.Definition.parse("news", "FIFO"))
            others = [Workers(addresses, stack).start(name) for name in ("bob", "carol")]
            alice.wait_for_members(3, LIMIT_S)
        for other in others:
            other.signal(signal.SIGKILL)
        left = f"(too few of the view are left: {alice.process})"
        home = f"the group's home registry at {registry.address}" if several else "the registry"
        until(lambda: alice.snapshot().waits_for == f"{home} to let a successor begin {left}", "its word")
        until(lambda: alice.snapshot().detached, "the detachment")
        with pytest.raises(gcom.Detached, match=re.escape(f"wait_for_members(1), which takes {home} {left}")):
            alice.send("early")
        stack.enter_context(gcom.embedded(host, int(port), data=tmp_path))
        next_of(alice, gcom.Returned)
        alice.wait_for_members(1, LIMIT_S)
        alice.send("in time", held_by="all")


def test_a_newcomer_enters_the_successor_of_the_instance_that_it_was_let_into(
    here: Cluster, expect_log: Callable[[str], None]
) -> None:
    """1. Alice lets carol in, and leaves without a word as soon as she has that view. 2. Bob, who has not, is all that
    is left of the view before: he has carol's word not to enter that view, and begins a successor. 3. Carol asks him.
    """
    expect_log("reads nothing")
    alice, bob = here.members("alice", "bob")
    bob.listen()
    with alice._host.lock:
        alice._session._notices = NOTICES_MAX - 1
    carol = here.node("carol").join("news", timeout_s=LIMIT_S)
    carol.listen()
    until(lambda: sorted(bob.members) == sorted(carol.members) == ["bob", "carol"], "one view of the two")
