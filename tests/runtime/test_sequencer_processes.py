"""The sequencer, or who asks it, killed, paused or away under real processes: what serials say before and after, read
from everybody's delivery log.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import gcom
from gcom.values.names import name_of
from tests.runtime.cast import NAMES, Cast, is_one_order, passes, skipped
from tests.runtime.nodes import until


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


@pytest.mark.slow
def test_scenario_15_the_sequencer_is_killed_when_it_has_given_serials_that_nobody_was_told(
    tmp_path: Path, stack: ExitStack
) -> None:
    cast = Cast(tmp_path, stack, threads=5)
    members = list(cast.workers.values())
    cast.network.cut("cut=registry>*")
    before = [worker.report()["sent"] for worker in members]
    until(lambda: all(worker.report()["sent"] > sent for worker, sent in zip(members, before, strict=True)), "sends")
    cast.registry.kill()
    cast.told_view(5, *NAMES)  # of the same members: the sequencer is at the leader
    cast.network.cut("")
    cast.flows()
    cast.settle()
    is_one_order(cast.logs, NAMES, 4, 5)
    passes(cast.logs)


@pytest.mark.soak
def test_scenario_16_the_sender_is_killed_when_it_has_serials_of_what_nobody_has(
    tmp_path: Path, stack: ExitStack
) -> None:
    """Carol's message gets serials, and reaches nobody; she delivers it, since others hold its place in the order."""
    cast = Cast(tmp_path, stack)
    carol = cast.workers["carol"]
    carol.say("stop")
    sent = carol.told("stopped")["sent"]
    carol.say("mute")
    carol.told("muted")
    for text in ("unheard", "unheard, too"):
        carol.say(f"send {text}")
    until(lambda: carol.report()["counts"]["carol"] == sent + 2, "her serials")
    cast.kill("carol")
    left = ["alice", "bob", "dave"]
    cast.told_view(5, *left)
    cast.flows()
    cast.settle()
    is_one_order(cast.logs, left, 4, 5)
    holes = [lost for process, lost in skipped(cast.logs).items() if name_of(process) in left]
    assert holes == [holes[0]] * 3
    messages = [(name_of(message[0]), message[1]) for _, message in holes[0] if message]
    assert messages == [("carol", sent + 1), ("carol", sent + 2)]
    passes(cast.logs)


@pytest.mark.soak
def test_scenario_17_the_sequencer_is_killed_twice_while_five_threads_of_each_member_send(
    tmp_path: Path, stack: ExitStack
) -> None:
    """First the registry, then the leader that orders in its place."""
    cast = Cast(tmp_path, stack, threads=5)
    cast.registry.kill()
    cast.told_view(5, *NAMES)
    cast.flows()
    cast.kill("alice")
    cast.told_view(6, *NAMES[1:])
    cast.flows()
    cast.settle()
    is_one_order(cast.logs, NAMES[1:], 4, 5, 6)
    passes(cast.logs)


@pytest.mark.soak
def test_scenario_18_a_leader_that_gave_serials_wakes_from_a_pause_and_goes_on_sending(
    tmp_path: Path, stack: ExitStack
) -> None:
    """Calls that wait in its sockets are answered with its order when it wakes, and its threads send into it."""
    cast = Cast(tmp_path, stack)
    cast.registry.kill()
    cast.told_view(5, *NAMES)
    cast.flows()
    alice = cast.workers["alice"]
    alice.signal(signal.SIGSTOP)
    cast.told_view(6, *NAMES[1:])
    cast.flows(*NAMES[1:])
    alice.signal(signal.SIGCONT)
    assert alice.told("departure")["reason"] == "expelled"
    cast.flows(*NAMES[1:])
    cast.again()
    alice.told("returned")
    alice.say("stop")
    alice.told("stopped")
    cast.flow("alice")
    cast.flows()
    cast.settle(away=["alice"])
    is_one_order(cast.logs, NAMES, 4, 5, 6, 7)
    passes(cast.logs)


@pytest.mark.soak
def test_scenario_19_a_registry_that_starts_again_goes_on_above_the_highest_serial(
    tmp_path: Path, stack: ExitStack
) -> None:
    # The sequencer goes home only after half a minute; at the pace of the others that costs 36 s of processor time.
    cast = Cast(tmp_path, stack, every_ms=100)
    cast.registry.kill()
    cast.told_view(5, *NAMES)
    cast.flows()
    cast.again()
    cast.told_view(6, *NAMES)  # of the same members: the sequencer is at the registry again
    cast.flows()
    cast.registry.kill()
    cast.told_view(7, *NAMES)
    cast.flows()
    cast.settle()
    is_one_order(cast.logs, NAMES, 4, 5, 6, 7)
    passes(cast.logs)


@pytest.mark.soak
def test_scenario_20_without_a_registry_members_elect_and_send_and_are_listed_when_it_is_back(
    tmp_path: Path, stack: ExitStack
) -> None:
    """The leader dies meanwhile, and the next one leaves."""
    cast = Cast(tmp_path, stack)
    cast.registry.kill()
    cast.kill("alice")
    for name in NAMES[1:]:
        cast.workers[name].told("view", members=[*NAMES[1:]])
    cast.flows()
    cast.leave("bob")
    for name in NAMES[2:]:
        cast.workers[name].told("view", members=[*NAMES[2:]])
    cast.flows()
    cast.again()
    directory = gcom.Directory(cast.registry.address)
    stack.callback(directory.close)
    until(lambda: [[*map(name_of, it.members)] for it in directory.groups()] == [["carol", "dave"]], "the group")
    cast.start("erin")
    for worker in cast.workers.values():
        worker.told("view", members=["carol", "dave", "erin"])
    cast.flows()
    view = cast.workers["erin"].rows("view")[-1]["number"]
    cast.settle(away=["erin"])
    is_one_order(cast.logs, ["carol", "dave", "erin"], 4, view)
    passes(cast.logs)
