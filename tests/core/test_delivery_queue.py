"""The queue to the application across sessions: what waits for the state goes along into a successor."""

from __future__ import annotations

import pytest

from gcom.core.delivery_queue import DeliveryQueue, Handed
from gcom.core.messages.effects import (
    AwaitState,
    Deliver,
    DeliverUnicast,
    DoubtSettled,
    HeldUncovered,
    Installed,
    KeepState,
    Quorum,
    SetState,
    StateUnavailable,
    UnicastLost,
)
from gcom.values.view import View
from tests.sim.story import run

OLD, LATE, NEW = (Deliver(run("b", 1), 2), Deliver(run("b", 2), 3), Deliver(run("b", 1), 1))
UNICAST, SETTLED, LOST = (
    DeliverUnicast("b", "to you alone"),
    DoubtSettled(1, 1, arrived=True),
    UnicastLost("b", ("to b",)),
)


def view(number: int) -> Installed:
    return Installed(View(number, ("b", "c"), ("b:1", "c:1")), (), {})


def carrying() -> DeliveryQueue[str]:
    """The queue of one that entered with view 2 of an instance, and awaits the state in its successor."""
    queue: DeliveryQueue[str] = DeliveryQueue()
    queue.begin("in")
    for item in (AwaitState(), view(2), OLD, UNICAST, view(3), LATE, SETTLED):
        queue.put(item)
    queue.end("out", goes_on=True)
    queue.begin("in again")
    for item in (AwaitState(), view(1), NEW):
        queue.put(item)
    assert read(queue) == ["in"]
    return queue


def read(queue: DeliveryQueue[str]) -> list[Handed | str]:
    items = list(queue.queued)
    queue.queued.clear()
    return items


@pytest.mark.parametrize("effect", [KeepState(1, "none has it"), StateUnavailable(1, "none has it")])
def test_who_goes_on_with_what_it_held_is_handed_all_of_it(effect: KeepState | StateUnavailable) -> None:
    queue = carrying()
    assert queue.put(effect) == []
    before = [view(2), OLD, UNICAST, view(3), LATE, SETTLED]
    assert read(queue) == [effect, *before, "out", "in again", view(1), NEW]
    assert queue.is_open


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_state_covers_what_was_held_in_the_predecessor_whose_views_do_not_count(number: int) -> None:
    queue = carrying()
    effect = SetState(number, b"all")
    # Only what the present machine delivered is credit of its streams.
    assert queue.put(effect) == ([] if number == 1 else [NEW])
    kept = [view(1), NEW] if number == 1 else []
    assert read(queue) == [UNICAST, SETTLED, "out", "in again", effect, *kept]


@pytest.mark.parametrize(
    ("since", "told"),
    [
        ((0, 0), False),  # nothing was ever lost
        ((1, 2), False),  # it entered with that view
        ((1, 3), True),
        ((1, 9), True),
        ((0, 1), True),
        ((2, 9), False),  # before it entered at all
    ],
)
def test_who_held_what_was_before_a_loss_is_told_that_its_state_may_lack_it(since: tuple[int, int], told: bool) -> None:
    """1. D is put out. 2. C holds what comes back. 3. D is back, and goes on with its own, which C is given."""
    queue = carrying()
    effect = SetState(2, b"all", "d", since=since)
    queue.put(effect)
    assert read(queue)[4:] == [effect, *([HeldUncovered(2, "d")] if told else [])]


def test_what_waits_is_shown_over_both_instances() -> None:
    queue = carrying()
    assert [it for it in queue.waiting if isinstance(it, Deliver)] == [OLD, LATE, NEW]
    queue.put(KeepState(1, "none has it"))
    assert queue.waiting == []


def test_what_comes_behind_a_state_is_handed_over_at_once() -> None:
    queue = carrying()
    queue.put(SetState(1, b"all"))
    read(queue)
    queue.put(LATE)
    queue.end("out for good", goes_on=True)  # open: nothing waits
    queue.begin("in for the third time")
    assert read(queue) == [LATE, "out for good", "in for the third time"]


def test_who_awaits_the_state_hears_of_its_quorum_all_the_same() -> None:
    lost, regained = Quorum(2, has=False, in_doubt=(1, 1)), Quorum(2, has=True)
    queue: DeliveryQueue[str] = DeliveryQueue()
    for item in (AwaitState(), view(2), OLD, lost, regained, SETTLED, view(3)):
        queue.put(item)
    effect = SetState(3, b"all")
    assert queue.put(effect) == [OLD]
    assert read(queue) == [effect, view(3), lost, regained, SETTLED]


def test_who_ends_before_its_state_has_come_is_told_of_each_end_and_beginning_and_of_its_own() -> None:
    queue = carrying()
    queue.end("out", goes_on=True)
    queue.begin("in for the third time")
    queue.put(AwaitState())
    queue.put(NEW)
    queue.put(LOST)
    queue.end("out for good")
    ends = ["out", "in again", "out", "in for the third time", LOST, "out for good"]
    assert read(queue) == [UNICAST, SETTLED, *ends]
    assert queue.is_open


def test_who_is_to_be_handed_nothing_more_is_handed_no_predecessors() -> None:
    queue = carrying()
    queue.shut()
    queue.put(NEW)
    queue.end("out for good")
    assert read(queue) == ["out for good"]


def test_what_is_told_at_once_does_not_wait_for_the_state() -> None:
    queue = carrying()
    queue.tell("the log has stopped")
    assert read(queue) == ["the log has stopped"]
