"""`snapshot` and `receipt`: what a program is shown of a group, while all is well and while links are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import gcom
from tests.runtime.nodes import LIMIT_S, Cluster, cluster, next_of, node_of, take, until

ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def held(group: gcom.Group, kind: str) -> list[gcom.HeldBack]:
    return [run for run in group.snapshot().held_back if any(it.kind == kind for it in run.waits_for)]


def told_by(group: gcom.Group, kind: str, send: Callable[[], object] = lambda: None) -> gcom.HeldBack:
    """The first run that a group holds back for that, sending until there is one."""
    found: list[gcom.HeldBack] = []

    def look() -> bool:
        send()
        found.extend(held(group, kind))
        return bool(found)

    until(look, f"a run that waits for {kind}")
    return found[0]


def test_it_tells_how_a_quiet_group_stands(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    assert [alice.send("one"), alice.send("two", held_by="all"), bob.send("three", held_by="all")] == [1, 2, 1]
    take(alice, 3), take(bob, 3)
    until(lambda: not alice.snapshot().window.unread)
    seen = alice.snapshot()
    assert (seen.group, seen.process, seen.instance) == ("news", alice.process, alice.instance)
    assert (seen.definition, seen.view) == (alice.definition, alice.view)
    assert (seen.detached, seen.waits_for, seen.held_back, seen.held_back_rest) == (False, "", (), 0)
    assert dict(seen.clocks[alice.process]) == {alice.process: 2, bob.process: 1}
    assert dict(seen.clocks[bob.process]) == {alice.process: 2, bob.process: 1}
    assert seen.sequencer is None
    assert seen.window == gcom.WindowInfo(0, 0, seen.window.size, 0)
    assert seen.suspected == {}
    assert list(seen.heard_s) == [bob.process]
    assert dict(bob.snapshot().clocks[alice.process]) == {alice.process: 2}  # it has sent nothing since bob did


def test_a_total_order_tells_its_serials_and_where_they_come_from(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob", ordering="TOTAL")
    for number in range(1, 4):
        assert alice.send(f"{number}", held_by="all") == number
    take(bob, 3)
    assert alice.snapshot().sequencer == gcom.SequencerInfo("registry", 3, 3, 3, False)
    until(lambda: bob.snapshot().sequencer == gcom.SequencerInfo("registry", 3, 3, 3, False))


def test_where_the_registry_does_not_serve_the_leader_does(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    alice, bob = here.members("alice", "bob", ordering="TOTAL")
    node_of(bob).inject("cut=bob>registry")
    bob.send("one")
    until(lambda: (found := bob.snapshot().sequencer) is not None and found.where == alice.process)


def test_nonordered_holds_nothing_back(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    alice, bob, carol = here.members("alice", "bob", "carol", ordering="NONORDERED", multicast="BASIC")
    node_of(alice).inject("cut=alice>carol")
    alice.send("one"), bob.send("two")
    assert take(carol, 1)[0].text == "two"
    assert carol.snapshot().held_back == ()


def test_fifo_waits_for_a_gap(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    alice, _, carol = here.members("alice", "bob", "carol", multicast="BASIC")
    node_of(alice).inject("seed=1,drop=0.4")
    found = told_by(carol, "message", lambda: alice.send("x"))
    first = found.waits_for[0]
    assert (found.sender, first.process) == (alice.process, alice.process)
    assert first.last < found.first


def test_causal_waits_for_what_the_sender_had_delivered(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    alice, bob, carol = here.members("alice", "bob", "carol", ordering="CAUSAL")
    node_of(alice).inject("cut=alice>carol")
    alice.send("question")
    take(bob, 1)
    bob.send("answer")
    found = told_by(carol, "message")
    assert (found.sender, found.first, found.last) == (bob.process, 1, 1)
    assert str(found.waits_for[0]) == f"{alice.process} 1"
    clocks = carol.snapshot().clocks
    assert dict(clocks[bob.process]) == {alice.process: 1, bob.process: 1}
    assert not clocks[carol.process]
    until(lambda: any(run.since_s > 0 for run in held(carol, "message")))
    node_of(alice).inject("")
    assert [message.text for message in take(carol, 2)] == ["question", "answer"]
    assert carol.snapshot().held_back == ()


@pytest.mark.parametrize("ordering", ["TOTAL", "CAUSALTOTAL"])
def test_a_total_order_waits_for_the_message_whose_turn_it_is(
    here: Cluster, ordering: str, expect_log: ExpectLog
) -> None:
    expect_log("on purpose")
    alice, bob, carol = here.members("alice", "bob", "carol", ordering=ordering)
    node_of(alice).inject("cut=alice>carol")
    alice.send("one")
    take(bob, 1)
    bob.send("two")
    found = told_by(carol, "message")
    assert (found.sender, str(found.waits_for[0])) == (bob.process, f"{alice.process} 1")
    node_of(alice).inject("")
    assert [message.text for message in take(carol, 2)] == ["one", "two"]


def test_a_total_order_waits_for_a_place(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    alice, bob, _ = here.members("alice", "bob", "carol", ordering="TOTAL")
    node_of(alice).inject("cut=alice>registry")
    assert alice.send("one") == 1
    assert told_by(bob, "place").sender == alice.process
    assert take(bob, 1)[0].text == "one"  # of a view whose sequencer is at its leader


def test_a_safe_message_waits_for_a_majority(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    create = gcom.Definition("news", safe=True)
    alice, *_ = (here.node(name).join("news", create=create) for name in ("alice", "bob", "carol"))
    alice.wait_for_members(3, LIMIT_S)
    node_of(alice).inject("cut=alice>*")
    alice.send("one")
    found = told_by(alice, "stability")
    assert (found.sender, found.first) == (alice.process, 1)
    assert alice.receipt(1).state in ("sent", "doubt")


@pytest.mark.slow
def test_who_hears_no_quorum_is_shown_so_and_what_it_waits_for(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    alice, bob, carol = here.members("alice", "bob", "carol")
    # Each from each: two that heard each other would put carol out, and she would be on her way back.
    for group in (alice, bob, carol):
        node_of(group).inject("cut=*<>*")
    number = carol.send("one")
    next_of(carol, gcom.QuorumLost)
    seen = carol.snapshot()
    silent = f"a quorum of the view to be heard (silent: {alice.process}, {bob.process})"
    assert (seen.detached, seen.waits_for) == (True, silent)
    assert set(seen.suspected) <= {alice.process, bob.process}
    assert seen.view.names == ("alice", "bob", "carol")
    receipt = carol.receipt(number)
    assert (receipt.state, receipt.held_by) == ("doubt", (carol.process,))
    assert receipt.lacking == (alice.process, bob.process)


def test_a_process_that_left_has_its_last_view(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    number = bob.send("one", held_by="all")
    bob.leave()
    assert bob.snapshot().view.names == ("alice", "bob")
    assert bob.snapshot().waits_for == ""
    assert bob.receipt(number).state == "held"
    alice.wait_for_members(1, LIMIT_S)


def test_a_receipt_goes_from_waiting_to_held(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol", ordering="TOTAL")
    with carol._host.lock:
        number = alice.send("one", LIMIT_S, "majority")
        part = alice.receipt(number)
        assert (part.state, part.serial, part.lacking) == ("ordered", 1, (carol.process,))
        assert part.held_by == (alice.process, bob.process)
    until(lambda: alice.receipt(number).state == "held")
    assert alice.receipt(number).held_by == (alice.process, bob.process, carol.process)
    assert alice.receipt(number).process == alice.process


def test_what_has_no_room_waits(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("1 messages that were never sent")
    (alice,) = (
        here.node(name).join("news", create=gcom.Definition("news", static=("alice", "bob"))) for name in ["alice"]
    )
    number = alice.send("one")
    receipt = alice.receipt(number)
    assert (receipt.state, receipt.held_by, receipt.serial) == ("waiting", (), None)
    assert alice.snapshot().window.unnumbered == 1
    assert alice.snapshot().waits_for == "the static group to have all its members"


def test_what_was_never_sent_is_lost_once_its_process_has_left(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("1 messages that were never sent")
    alice = here.node("alice").join("news", create=gcom.Definition("news", static=("alice", "bob")))
    number = alice.send("one")
    alice.leave(0.1)
    assert alice.receipt(number).state == "lost"


def test_what_comes_before_the_state_waits_for_it(here: Cluster) -> None:
    create = gcom.Definition("news")
    alice = here.node("alice").join("news", create=create, get_state=lambda: b"state")
    bob = here.node("bob").join("news", set_state=lambda data: None)
    alice.wait_for_members(2, LIMIT_S)
    alice.send("one", held_by="all")
    found = told_by(bob, "state")
    assert (found.sender, found.first, found.last, len(found.waits_for)) == (alice.process, 1, 1, 1)
    assert found.since_s >= 0
    alice.listen()  # who reads gives the state
    assert take(bob, 1)[0].text == "one"
    assert bob.snapshot().held_back == ()


@pytest.mark.slow
def test_a_process_on_its_way_back_has_its_last_view_and_says_what_it_waits_for(
    here: Cluster, expect_log: ExpectLog
) -> None:
    expect_log("on purpose")
    alice, bob, carol = here.members("alice", "bob", "carol")
    former = carol.process
    node_of(carol).inject("cut=carol<>alice+bob+registry")
    until(lambda: "carol" not in alice.members)
    for name in ("alice", "bob"):
        node_of({"alice": alice, "bob": bob}[name]).inject("cut=carol<>alice+bob")
    node_of(carol).inject("cut=carol>bob+registry,cut=bob>carol")  # it hears that it is out, and no more
    node_of(alice).inject("")
    gone = next_of(carol, gcom.Departure)
    seen = carol.snapshot()
    assert (gone.returning, seen.process, seen.view.names) == (True, former, ("alice", "bob", "carol"))
    assert seen.waits_for
    for group in (alice, bob, carol):
        node_of(group).inject("")
    next_of(carol, gcom.Returned)


def test_over_basic_nobody_tells_what_it_holds(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob", multicast="BASIC")
    number = alice.send("one")
    take(bob, 1)
    receipt = alice.receipt(number)
    assert (receipt.state, receipt.held_by, receipt.lacking) == ("sent", (alice.process,), (bob.process,))
    alice.leave(LIMIT_S)
    receipt = alice.receipt(number)
    assert (receipt.state, receipt.held_by, receipt.lacking) == ("sent", (alice.process,), (bob.process,))


@pytest.mark.parametrize("number", [0, -1, 2, True, "1", 1.0])
def test_a_number_that_was_never_given_is_refused(here: Cluster, number: int) -> None:
    (alice,) = here.members("alice")
    alice.send("one")
    with pytest.raises(gcom.BadValue, match="but 1 to 1"):
        alice.receipt(number)


@pytest.mark.slow
def test_numbers_begin_anew_after_a_return(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    assert [carol.send("x") for _ in range(3)] == [1, 2, 3]
    former = carol.process
    with carol._host.lock:
        until(lambda: "carol" not in alice.members)
    next_of(carol, gcom.Returned)
    carol.wait_for_members(3, LIMIT_S)
    assert carol.process != former
    number = carol.send("y", held_by="all")
    assert (number, carol.receipt(number).process) == (1, carol.process)
    assert carol.snapshot().process == carol.process
    assert bob.snapshot().view == alice.snapshot().view


def test_a_missing_thing_says_itself_in_words() -> None:
    assert str(gcom.Missing("message", "bob#1", 17, 17)) == "bob#1 17"
    assert str(gcom.Missing("message", "bob#1", 17, 19)) == "bob#1 17 to 19"
    assert str(gcom.Missing("state")) == "the application's state"
