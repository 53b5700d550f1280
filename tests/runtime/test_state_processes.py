"""State transfer between real processes, killed in the middle of it (scenarios 22 and 23)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import gcom
from tests.cases import daily_and_rest
from tests.oracle import judge
from tests.runtime.nodes import until
from tests.runtime.processes import Worker, Workers, flows

STATE = ("--state", str(20_000_000))
SLOW = ("--faults", "delay=4..4ms")  # each way of its calls: two hundred chunks take more than a second


@pytest.fixture
def workers() -> Iterator[Workers]:
    with gcom.embedded() as registry, ExitStack() as stack:
        yield Workers(registry.address, stack)


def settle(members: list[Worker]) -> None:
    """Stop all that send, and wait until all have the same state."""
    for member in members:
        member.say("stop")
        member.told("stopped")
    until(lambda: len({str(sorted(member.report()["state"].items())) for member in members}) == 1, "one state")


def end(members: list[Worker]) -> None:
    for member in members:
        member.say("leave")
        member.told("left")
        member.say("end")
        assert member.end() == 0
        assert member.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("ordering", daily_and_rest(["FIFO", "CAUSALTOTAL"], 1))
def test_scenario_22_one_that_joins_twenty_megabytes_while_two_send(
    workers: Workers, tmp_path: Path, ordering: str
) -> None:
    words = (*STATE, "--ordering", ordering, "--log-dir", str(tmp_path))
    members = [workers.start("alice", *words), workers.start("bob", *words)]
    for member in members:
        member.say("flow")
    flows(members, ["alice", "bob"])
    carol = workers.start("carol", *words)
    assert carol.told("took")["size"] > 20_000_000
    carol.say("flow")
    members.append(carol)
    flows(members, ["alice", "bob", "carol"])
    settle(members)
    end(members)
    assert judge(tmp_path).group("news").failed() == {}


@pytest.mark.soak
@pytest.mark.parametrize("ordering", ["CAUSALTOTAL", "FIFO"])
def test_scenario_23_the_donor_is_killed_in_the_middle(workers: Workers, tmp_path: Path, ordering: str) -> None:
    words = (*STATE, "--ordering", ordering, "--log-dir", str(tmp_path))
    alice = workers.start("alice", *words, *SLOW)
    bob, carol = workers.start("bob", *words), workers.start("carol", *words)
    bob.told("took")
    carol.told("took")
    for member in (alice, bob, carol):
        member.say("flow")
    flows([alice, bob, carol], ["alice", "bob", "carol"])
    given = len(alice.rows("gave"))
    dave = workers.start("dave", *words)
    alice.until(lambda: len(alice.rows("gave")) > given, "the snapshot")
    alice.signal(signal.SIGKILL)
    alice.end()
    assert dave.told("took")["size"] > 20_000_000
    assert bob.rows("gave")  # the next oldest
    members = [bob, carol, dave]
    dave.say("flow")
    flows(members, ["bob", "carol", "dave"])
    settle(members)
    end(members)
    assert judge(tmp_path).group("news").failed() == {}


@pytest.mark.slow
def test_a_survivor_gives_its_state_in_the_successor_to_one_that_awaits_it(workers: Workers, tmp_path: Path) -> None:
    """1. Three have the state, and a fourth awaits it. 2. Two of the three die, so that no quorum can be again."""
    words = (*STATE, "--log-dir", str(tmp_path))
    alice, bob, carol = (workers.start(name, *words, *SLOW) for name in ("alice", "bob", "carol"))
    carol.told("took")
    given = len(alice.rows("gave"))
    dave = workers.start("dave", *words)
    alice.until(lambda: len(alice.rows("gave")) > given, "the snapshot")
    for member in (alice, bob):
        member.signal(signal.SIGKILL)
        member.end()
    assert dave.told("took")["size"] > 20_000_000
    assert carol.rows("gave")
    members = [carol, dave]
    for member in members:
        member.say("flow")
    flows(members, ["carol", "dave"])
    settle(members)
    end(members)
    assert [report.failed() for report in judge(tmp_path).groups.values()] == [{}, {}]


@pytest.mark.slow
def test_what_was_confirmed_to_one_that_awaits_the_state_outlives_all_who_had_it(
    workers: Workers, tmp_path: Path
) -> None:
    """1. Bob awaits Alice's state. 2. A text is confirmed: both hold it. 3. Alice dies, and Bob goes on by itself."""
    words = (*STATE, "--log-dir", str(tmp_path))
    alice = workers.start("alice", *words, "--faults", "delay=20..20ms")  # eight seconds for the whole state
    alice.say("confirm of Alice alone")
    alice.told("confirmed")
    bob = workers.start("bob", *words)
    alice.until(lambda: bool(alice.rows("gave")), "the snapshot")
    bob.say("confirm of both")
    bob.told("confirmed")
    alice.signal(signal.SIGKILL)
    alice.end()
    bob.told("returned")
    bob.say("confirm afterwards")
    until(lambda: [stream[0] for stream in bob.report()["state"].values()] == [2], "both texts of its own")
    assert bob.rows("took") == []
    told = [row["type"] for row in bob.rows() if row["type"] in ("state_lost", "departure", "returned", "view")]
    assert told == ["state_lost", "view", "departure", "returned", "view"]
    carol = workers.start("carol", *words)
    carol.told("took")
    settle([bob, carol])
    end([bob, carol])
    assert [report.failed() for report in judge(tmp_path).groups.values()] == [{}, {}]


@pytest.mark.slow
def test_one_that_leaves_a_successor_before_it_has_the_state_is_told_of_all_its_sessions(workers: Workers) -> None:
    """1. Carol and Dave await the state of Alice and Bob, who die. 2. Carol begins the successor, and gives her state
    to Dave. 3. He leaves before he has it.
    """
    slow = ("--faults", "delay=20..20ms")
    alice, bob = (workers.start(name, *STATE, *slow) for name in ("alice", "bob"))
    bob.told("took")
    given = len(alice.rows("gave"))
    carol, dave = (workers.start(name, *STATE, *slow) for name in ("carol", "dave"))
    alice.until(lambda: len(alice.rows("gave")) > given, "the snapshot")
    for member in (alice, bob):
        member.signal(signal.SIGKILL)
        member.end()
    carol.told("state_lost")
    carol.until(lambda: bool(carol.rows("gave")), "her snapshot")
    dave.say("leave")
    dave.told("left")
    dave.until(lambda: len(dave.rows("departure")) == 2, "both ends")
    assert dave.rows("took") == []
    told = [row["type"] for row in dave.rows() if row["type"] in ("departure", "returned", "view", "state_lost")]
    assert told == ["departure", "returned", "departure"]
    assert [row["reason"] for row in dave.rows("departure")] == ["succession", "request"]


@pytest.mark.slow
def test_scenario_29_a_paused_process_is_back_with_the_state_once_it_runs_again(
    workers: Workers, tmp_path: Path
) -> None:
    words = (*STATE, "--log-dir", str(tmp_path))
    members = [workers.start(name, *words) for name in ("alice", "bob", "carol")]
    alice, bob, carol = members
    carol.told("took")
    for member in members:
        member.say("flow")
    flows(members, ["alice", "bob", "carol"])
    carol.signal(signal.SIGSTOP)
    for member in (alice, bob):
        member.told("view", number=4, members=["alice", "bob"])
    flows([alice, bob], ["alice", "bob"])
    carol.signal(signal.SIGCONT)
    assert carol.told("departure")["reason"] == "expelled"
    carol.told("returned")
    carol.until(lambda: len(carol.rows("took")) == 2, "the state once more")
    alice.told("view", members=["alice", "bob", "carol"], number=5)
    settle([alice, bob])
    until(lambda: alice.report()["state"] == carol.report()["state"], "one state")
    assert judge(tmp_path).group("news").failed() == {}


@pytest.mark.slow
def test_scenario_23_the_requester_is_killed_in_the_middle(workers: Workers, tmp_path: Path) -> None:
    words = (*STATE, "--log-dir", str(tmp_path))
    alice, bob = workers.start("alice", *words, *SLOW), workers.start("bob", *words)
    bob.told("took")
    given = len(alice.rows("gave"))
    carol = workers.start("carol", *words)
    alice.until(lambda: len(alice.rows("gave")) > given, "the snapshot")
    carol.signal(signal.SIGKILL)
    carol.end()
    for member in (alice, bob):
        member.say("flow")
    flows([alice, bob], ["alice", "bob"])
    settle([alice, bob])
    end([alice, bob])
    assert judge(tmp_path).group("news").failed() == {}
