"""Continuity of groups: real processes, stopped, killed and cut off, whose states must have what was confirmed.

The state of each is the list of all texts that it delivered, or was given. Stories 1, 2 and 3 of
tests/core/scenarios/test_continuity.py.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest

import gcom
from tests.runtime.nodes import until
from tests.runtime.processes import Network, Registry, Worker, Workers, confirm, together

WORDS = ("--ordering", "TOTAL", "--safe", "--keep", "--persist")
TOGETHER_S = 400.0  # as in test_chaos.py: some ten seconds where nothing else runs
APART = "cut=alice<>bob,cut=alice<>carol,cut=bob<>carol"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


@pytest.fixture
def workers(stack: ExitStack) -> Workers:
    return Workers(stack.enter_context(gcom.embedded()).address, stack)


def newcomer(workers: Workers, stack: ExitStack, name: str) -> Worker:
    """One that tries until it is in, however long that takes."""
    return stack.enter_context(Worker(name, workers.registry, "news", *WORDS))


def pass_s(seconds: float) -> None:
    began = monotonic()
    until(lambda: monotonic() - began >= seconds, "the end of the pause", seconds + TOGETHER_S)


def texts_at_last(**members: Worker) -> dict[str, list[str]]:
    """Return the texts that each has, when all are in one view again and one more text has come to all."""
    until(lambda: together(members), f"one view of {', '.join(members)}", TOGETHER_S)
    sender, *others = members.values()
    confirm(sender, "after", *others)
    return {name: worker.report()["texts"] for name, worker in members.items()}


def is_lost_by_none(text: str, *members: Worker) -> bool:
    """Whether, since a text was confirmed, nobody was given a state without it, or none at all."""
    told = [row for worker in members for row in worker.rows()]
    since = next(row["at"] for row in told if row["type"] == "confirmed" and row["text"] == text)
    (sender,) = [worker for worker in members if worker.rows("confirmed")][:1]
    inside = [row["members"] for row in sender.rows("view") if row["at"] < since][-1]
    taken = [texts for worker in members for texts in _taken(worker, since, worker.name in inside)]
    return all(text in texts for texts in taken) and not any(row["type"] == "state_lost" for row in told)


def _taken(worker: Worker, since: float, was_in: bool) -> list[list[str]]:
    """Return the states that a worker was given later than that, for views that it was not in then."""
    # A member stores what comes after the state that it still waits for. So the state with which one begins that was in
    # already may come after the text was confirmed, and without it; the text follows.
    taken, began = [], not was_in
    for row in worker.rows():
        if row["type"] == "took" and began and row["at"] > since:
            taken.append(row["texts"])
        began = began or row["type"] == "view"
    return taken


def each(have: dict[str, list[str]], *texts: str) -> dict[str, list[str]]:
    """The texts that all should have."""
    return {name: list(texts) for name in have}


@pytest.mark.slow
@pytest.mark.parametrize("killed", ["alice", "bob"])
def test_story_1_what_one_confirmed_that_was_killed_outlives_the_sleep_of_another(
    workers: Workers, tmp_path: Path, killed: str
) -> None:
    """The sleeper is cut off, too: else what is sent to it waits in its socket until it wakes. Who stays does not reach
    the registry for a while, so that the sleeper is the first to claim, if it may.
    """
    network = Network(tmp_path)
    alice, bob, carol = members = workers.three(*WORDS, *network.words)
    confirm(alice, "before", bob, carol)
    network.cut("cut=carol<>alice+bob")
    carol.signal(signal.SIGSTOP)
    victim, survivor, name = (alice, bob, "bob") if killed == "alice" else (bob, alice, "alice")
    confirm(victim, "confirmed", survivor)
    victim.signal(signal.SIGKILL)
    pass_s(6)
    network.cut(f"cut={name}<>registry")
    carol.signal(signal.SIGCONT)
    pass_s(4)
    network.cut("")
    have = texts_at_last(**{name: survivor, "carol": carol})
    assert have == each(have, "before", "confirmed", "after")
    assert is_lost_by_none("before", *members)


@pytest.mark.slow
def test_story_1_what_two_confirmed_outlives_cuts_among_all_three(workers: Workers, tmp_path: Path) -> None:
    network = Network(tmp_path)
    alice, bob, carol = members = workers.three(*WORDS, *network.words)
    confirm(alice, "before", bob, carol)
    network.cut("cut=alice<>bob+carol+registry")
    confirm(bob, "confirmed", carol)
    network.cut(f"{APART},cut=bob+carol<>registry")
    pass_s(6)
    network.cut("cut=bob+carol<>registry")  # so that the one that was cut off is the first to claim, if it may
    pass_s(4)
    network.cut("")
    have = texts_at_last(alice=alice, bob=bob, carol=carol)
    assert have == each(have, "before", "confirmed", "after")
    assert is_lost_by_none("before", *members)


@pytest.mark.slow
def test_story_2_a_newcomer_waits_for_those_who_are_cut_off(workers: Workers, stack: ExitStack, tmp_path: Path) -> None:
    network = Network(tmp_path)
    alice, bob, carol = workers.three(*WORDS, *network.words)
    confirm(alice, "before", bob, carol)
    network.cut(APART)
    pass_s(6)
    dave = newcomer(workers, stack, "dave")
    pass_s(6)
    network.cut("")
    have = texts_at_last(alice=alice, bob=bob, carol=carol, dave=dave)
    assert have == each(have, "before", "after")
    assert is_lost_by_none("before", alice, bob, carol, dave)
    assert dave.rows("view")[0]["number"] > 1


@pytest.mark.slow
def test_story_3_a_registry_that_starts_again_does_not_give_the_name_to_newcomers(
    stack: ExitStack, tmp_path: Path
) -> None:
    """The members reach it two seconds later than the newcomers: half of the time that a lease gives them."""
    network = Network(tmp_path)
    registry = stack.enter_context(Registry())
    workers = Workers(registry.address, stack)
    alice, bob = [workers.start(name, *WORDS, *network.words) for name in ("alice", "bob")]
    confirm(alice, "before", bob)
    registry.kill()
    carol, dave, erin = [newcomer(workers, stack, name) for name in ("carol", "dave", "erin")]
    for worker in (carol, dave, erin):
        worker.told("kept_out")
    network.cut("cut=alice+bob<>registry")
    stack.enter_context(registry.again())
    pass_s(2)
    network.cut("")
    have = texts_at_last(alice=alice, bob=bob, carol=carol, dave=dave, erin=erin)
    assert have == each(have, "before", "after")
    assert is_lost_by_none("before", alice, bob, carol, dave, erin)
    assert alice.rows("departure") == bob.rows("departure") == []


@pytest.mark.slow
def test_a_newcomer_waits_for_who_was_put_out_when_all_others_are_dead(workers: Workers, stack: ExitStack) -> None:
    """1. Carol is paused, and put out. 2. The others are killed. 3. Dave comes. 4. Carol runs again, with the state.

    What was said meanwhile died with all who had it, and Carol is told so.
    """
    alice, bob, carol = members = workers.three(*WORDS)
    confirm(alice, "before", bob, carol)
    carol.signal(signal.SIGSTOP)
    until(lambda: len(alice.rows("view")[-1]["members"]) == 2, "the view without carol", TOGETHER_S)
    confirm(alice, "meanwhile", bob)
    for worker in (alice, bob):
        worker.signal(signal.SIGKILL)
    dave = newcomer(workers, stack, "dave")
    dave.told("kept_out")
    pass_s(6)
    assert dave.rows("view") == []
    carol.signal(signal.SIGCONT)
    have = texts_at_last(carol=carol, dave=dave)
    assert have == each(have, "before", "after")
    assert is_lost_by_none("before", *members, dave)
    told = [row["type"] for row in carol.rows() if row["type"] in ("departure", "returned", "state_restored")]
    assert told == ["departure", "returned", "state_restored"]


@pytest.mark.slow
def test_another_life_under_the_name_of_who_was_put_out_is_not_taken_for_it(workers: Workers, stack: ExitStack) -> None:
    """1. Carol is paused, and put out. 2. Another process takes her name. 3. All but the first Carol are killed."""
    alice, bob, carol = members = workers.three(*WORDS)
    confirm(alice, "before", bob, carol)
    carol.signal(signal.SIGSTOP)
    until(lambda: len(alice.rows("view")[-1]["members"]) == 2, "the view without carol", TOGETHER_S)
    namesake = newcomer(workers, stack, "carol")
    until(lambda: len(alice.rows("view")[-1]["members"]) == 3, "the view with another carol", TOGETHER_S)
    for worker in (alice, bob, namesake):
        worker.signal(signal.SIGKILL)
    dave = newcomer(workers, stack, "dave")
    dave.told("kept_out")
    carol.signal(signal.SIGCONT)
    have = texts_at_last(carol=carol, dave=dave)
    assert have == each(have, "before", "after")
    assert is_lost_by_none("before", *members, dave)


@pytest.mark.slow
def test_a_short_cut_costs_nothing(workers: Workers, tmp_path: Path) -> None:
    """As story 1, but shorter than the time after which a member without a quorum stops."""
    network = Network(tmp_path)
    alice, bob, carol = members = workers.three(*WORDS, *network.words)
    confirm(alice, "before", bob, carol)
    network.cut("cut=carol<>alice+bob")
    confirm(alice, "confirmed", bob)
    network.cut(APART)
    pass_s(0.5)
    network.cut("")
    have = texts_at_last(alice=alice, bob=bob, carol=carol)
    assert have == each(have, "before", "confirmed", "after")
    assert is_lost_by_none("before", *members)
