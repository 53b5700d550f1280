"""The simulator's checker of envelopes and calls: each rule is broken by hand, and kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gcom.core.messages.effects import Answered, DeliverUnicast, GroupCallOver, Installed, Serve, UnicastLost
from gcom.sim.checks.envelopes import Envelopes
from gcom.sim.checks.record import InstanceHistory, Violation
from gcom.values.answers import Outcome
from tests.core.making import A, B, C, view

Telling = Callable[[Envelopes], None]


def envelopes(*members: str) -> Envelopes:
    """Of A, who has these in its view."""
    record = InstanceHistory()
    record.install(record.history(A), Installed(view(*members), members, {}))
    return Envelopes(record)


def two_posted(checker: Envelopes) -> None:
    checker.post(A, B, "1")
    checker.post(A, B, "2")


def called(checker: Envelopes) -> None:
    checker.call(A, 7, (B, C), "how many?", 1_000)
    checker.answer(B, A, 7, "two", failed=False)


BROKEN: dict[str, tuple[Telling, str, object, int]] = {
    "an envelope is left out": (two_posted, B, DeliverUnicast(A, "2"), 0),
    "an envelope that nobody wrote": (two_posted, B, DeliverUnicast(A, "3"), 0),
    "another's envelope": (two_posted, C, DeliverUnicast(A, "1"), 0),
    "a member that is there is said to be gone": (two_posted, A, UnicastLost(B, ("1", "2")), 0),
    "not all that went astray is reported": (lambda checker: checker.post(A, C, "1"), A, UnicastLost(C, ()), 0),
    "a question that nobody put": (called, C, Serve(A, 8, "how many?"), 0),
    "another question": (called, C, Serve(A, 7, "how few?"), 0),
    "another answer than was given": (called, A, Answered(7, B, Outcome.VALUE, "three"), 0),
    "an error for a value": (called, A, Answered(7, B, Outcome.ERROR, "two"), 0),
    "an answer before it is given": (called, A, Answered(7, C, Outcome.VALUE, "two"), 0),
    "an answer of who was not asked": (called, A, Answered(7, A, Outcome.VALUE, "two"), 0),
    "who is in the view has departed": (called, A, Answered(7, B, Outcome.DEPARTED), 0),
    "a time that is not over": (called, A, GroupCallOver(7), 999),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_promise_is_found(case: str) -> None:
    tell, who, effect, now_ms = BROKEN[case]
    checker = envelopes(A, B)
    tell(checker)
    with pytest.raises(Violation, match=r"^(ENVELOPE|CALL): "):
        checker.see(who, effect, now_ms)  # type: ignore[arg-type]


def test_envelopes_and_calls_that_keep_their_promises() -> None:
    checker = envelopes(A, B)
    two_posted(checker)
    called(checker)
    assert [*checker.waiting({A, B})] == [f"{B} has 0 of 2 envelopes of {A}", f"call 7 of {A} waits for {[B, C]}"]
    checker.see(B, DeliverUnicast(A, "1"), 0)
    checker.see(B, DeliverUnicast(A, "2"), 0)
    checker.see(B, Serve(A, 7, "how many?"), 0)
    checker.see(A, Answered(7, B, Outcome.VALUE, "two"), 0)
    checker.see(A, Answered(7, C, Outcome.DEPARTED), 0)
    assert [*checker.waiting({A, B})] == []
    with pytest.raises(Violation, match="awaits none"):
        checker.see(A, Answered(7, B, Outcome.VALUE, "two"), 0)


def test_what_is_reported_may_come_all_the_same_and_what_is_not_is_missed() -> None:
    checker = envelopes(A)
    for text in "12":
        checker.post(A, B, text)
    assert [*checker.waiting({A})] == [f"{A} is not told that {B} has 0 of 2 envelopes"]
    checker.see(A, UnicastLost(B, ("1", "2")), 0)
    assert [*checker.waiting({A})] == []
    checker.see(B, DeliverUnicast(A, "1"), 0)
    with pytest.raises(Violation, match=r"^ENVELOPE"):
        checker.see(B, DeliverUnicast(A, "1"), 0)


def test_a_call_ends_with_its_time_and_with_its_stay() -> None:
    checker = envelopes(A, B)
    called(checker)
    checker.see(A, GroupCallOver(7), 1_000)
    called(checker)
    checker.end(A)
    assert [*checker.waiting({A, B})] == []
