"""The simulator's checker of letters and calls: each rule is broken by hand, and kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gcom.core.messages.effects import Answered, DeliverUnicast, GroupCallOver, Installed, Serve, UnicastLost
from gcom.sim.checks.letters import Letters
from gcom.sim.checks.record import InstanceHistory, Violation
from gcom.values.answers import Outcome
from tests.core.making import A, B, C, view

Telling = Callable[[Letters], None]


def letters(*members: str) -> Letters:
    """Of A, who has these in its view."""
    record = InstanceHistory()
    record.install(record.history(A), Installed(view(*members), members, {}))
    return Letters(record)


def two_posted(mail: Letters) -> None:
    mail.post(A, B, "1")
    mail.post(A, B, "2")


def called(mail: Letters) -> None:
    mail.call(A, 7, (B, C), "how many?", 1_000)
    mail.answer(B, A, 7, "two", failed=False)


BROKEN: dict[str, tuple[Telling, str, object, int]] = {
    "a letter is left out": (two_posted, B, DeliverUnicast(A, "2"), 0),
    "a letter that nobody wrote": (two_posted, B, DeliverUnicast(A, "3"), 0),
    "another's letter": (two_posted, C, DeliverUnicast(A, "1"), 0),
    "a member that is there is said to be gone": (two_posted, A, UnicastLost(B, ("1", "2")), 0),
    "not all that went astray is reported": (lambda mail: mail.post(A, C, "1"), A, UnicastLost(C, ()), 0),
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
    mail = letters(A, B)
    tell(mail)
    with pytest.raises(Violation, match=r"^(LETTER|CALL): "):
        mail.see(who, effect, now_ms)  # type: ignore[arg-type]


def test_letters_and_calls_that_keep_their_promises() -> None:
    mail = letters(A, B)
    two_posted(mail)
    called(mail)
    assert [*mail.waiting({A, B})] == [f"{B} has 0 of 2 letters of {A}", f"call 7 of {A} waits for {[B, C]}"]
    mail.see(B, DeliverUnicast(A, "1"), 0)
    mail.see(B, DeliverUnicast(A, "2"), 0)
    mail.see(B, Serve(A, 7, "how many?"), 0)
    mail.see(A, Answered(7, B, Outcome.VALUE, "two"), 0)
    mail.see(A, Answered(7, C, Outcome.DEPARTED), 0)
    assert [*mail.waiting({A, B})] == []
    with pytest.raises(Violation, match="awaits none"):
        mail.see(A, Answered(7, B, Outcome.VALUE, "two"), 0)


def test_what_is_reported_may_come_all_the_same_and_what_is_not_is_missed() -> None:
    mail = letters(A)
    for text in "12":
        mail.post(A, B, text)
    assert [*mail.waiting({A})] == [f"{A} is not told that {B} has 0 of 2 letters"]
    mail.see(A, UnicastLost(B, ("1", "2")), 0)
    assert [*mail.waiting({A})] == []
    mail.see(B, DeliverUnicast(A, "1"), 0)
    with pytest.raises(Violation, match=r"^LETTER"):
        mail.see(B, DeliverUnicast(A, "1"), 0)


def test_a_call_ends_with_its_time_and_with_its_stay() -> None:
    mail = letters(A, B)
    called(mail)
    mail.see(A, GroupCallOver(7), 1_000)
    called(mail)
    mail.end(A)
    assert [*mail.waiting({A, B})] == []
