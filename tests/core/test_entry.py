"""The way into a group: look up, claim, ask, be redirected, and say why not."""

from __future__ import annotations

import pytest

from gcom import errors
from gcom.core.directory import Claim, Create, Done, Entry, Lookup, Refusal
from gcom.core.entry import Approach, Ask, Entering, Failed, First, Out, error_of
from gcom.core.frames import JoinRefused, Redirect
from gcom.errors import NameTaken, NotInvited, PeerError, RegistryUnavailable
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.making import A, B, C, address

NEWS = Definition.parse("news")
ME, HERE = "me#7", "me-7:1"


def entry(*members: str, view: int = 3, alive: bool = True, definition: Definition = NEWS) -> Entry:
    return Entry(definition, "i1", view if members else 0, members, tuple(map(address, members)), alive)


def entering(create: Definition | None = None) -> Entering:
    machine = Entering("news", ME, HERE, create)
    machine.start()
    return machine


def looked_up(*members: str, alive: bool = True) -> Entering:
    machine = entering()
    machine.on_answer(Lookup("news"), entry(*members, alive=alive))
    return machine


def to(member: str) -> list[Out]:
    return [Approach(member, address(member))]


LOOK: list[Out] = [Ask(Lookup("news"))]


def test_it_begins_with_a_look_or_a_create() -> None:
    assert Entering("news", ME, HERE, None).start() == LOOK
    assert Entering("news", ME, HERE, NEWS).start() == [Ask(Create(NEWS))]


def test_no_registry_is_the_end() -> None:
    (out,) = entering().on_answer(Lookup("news"), None)
    assert isinstance(out, Failed)
    assert isinstance(out.error, RegistryUnavailable)


def test_an_answer_that_fits_no_question_is_the_end() -> None:
    (out,) = entering().on_answer(Lookup("news"), Done())
    assert isinstance(out, Failed)
    assert isinstance(out.error, PeerError)


@pytest.mark.parametrize("code", ["UnknownGroup", "GroupExists", "LocalError"])
def test_a_refusal_is_raised_as_what_it_names(code: str) -> None:
    (out,) = entering().on_answer(Lookup("news"), Refusal(code, "because"))
    assert isinstance(out, Failed)
    assert type(out.error) is getattr(errors, code)
    assert str(out.error) == "because"


def test_an_empty_group_is_claimed_and_its_first_member_is_in() -> None:
    machine = entering(NEWS)
    claim = Claim("news", "i1", 0, ME, HERE)
    assert machine.on_answer(Create(NEWS), entry()) == [Ask(claim)]
    granted = entry(ME, view=1)
    assert machine.on_answer(claim, granted) == [First(granted)]


def test_a_claim_that_came_too_late_asks_who_was_faster() -> None:
    machine = entering()
    claim = Claim("news", "i1", 0, ME, HERE)
    machine.on_answer(Lookup("news"), entry())
    assert machine.on_answer(claim, Refusal("Stale", "")) == LOOK
    assert machine.on_answer(Lookup("news"), entry(A)) == to(A)


def test_members_are_asked_oldest_first() -> None:
    machine = entering()
    assert machine.on_answer(Lookup("news"), entry(A, B, C)) == to(A)
    assert "a#1 at a-1:1" in machine.waits_for
    assert machine.on_unreached(A, False, 0) == to(B)
    assert machine.on_unreached(A, False, 0) == []  # old news
    assert machine.on_unreached(B, True, 0) == to(C)


def test_a_redirect_is_followed_and_only_from_who_was_asked() -> None:
    machine = looked_up(A, B)
    assert machine.on_reply(B, Redirect(C, address(C)), 0) == []
    assert machine.on_reply(A, Redirect(C, address(C)), 0) == to(C)
    assert machine.on_unreached(C, False, 0) == to(A)


def test_a_redirect_to_who_did_not_answer_is_looked_into_again_after_a_while() -> None:
    machine = looked_up(A, B)
    machine.on_unreached(A, False, 0)
    for now_ms in (0, 100, 200):  # each heartbeat asks b, and b names a
        assert machine.on_reply(B, Redirect(A, address(A)), now_ms) == []
    assert machine.tick(limits.JOIN_RETRY_MS - 1) == []
    assert machine.tick(limits.JOIN_RETRY_MS) == LOOK
    assert machine.on_answer(Lookup("news"), entry(A, B)) == to(A)


def test_a_refused_join_is_raised_as_what_it_names() -> None:
    (out,) = looked_up(A).on_reply(A, JoinRefused("NameTaken", "taken"), 0)
    assert isinstance(out, Failed)
    assert isinstance(out.error, NameTaken)


def test_a_stranger_does_not_even_ask_a_static_group() -> None:
    machine = entering()
    (out,) = machine.on_answer(Lookup("news"), entry(A, definition=Definition.parse("news", static=["a", "b"])))
    assert isinstance(out, Failed)
    assert isinstance(out.error, NotInvited)
    assert "'me'" in str(out.error)
    assert "a, b" in str(out.error)


def test_when_nobody_answers_it_looks_again_after_a_while() -> None:
    machine = looked_up(A)
    assert machine.on_unreached(A, True, 1_000) == []
    assert machine.tick(999 + limits.JOIN_RETRY_MS) == []
    assert machine.tick(1_000 + limits.JOIN_RETRY_MS) == LOOK
    assert machine.tick(9_000) == []  # once


@pytest.mark.parametrize(
    ("alive", "refused", "claims"),
    [(False, (True, True), True), (True, (True, True), False), (False, (True, False), False)],
)
def test_a_dead_group_is_claimed_only_when_all_refused_and_the_lease_ran_out(
    alive: bool, refused: tuple[bool, bool], claims: bool
) -> None:
    machine = looked_up(A, B, alive=alive)
    machine.on_unreached(A, refused[0], 0)
    machine.on_unreached(B, refused[1], 0)
    claim: list[Out] = [Ask(Claim("news", "i1", 3, ME, HERE, dead=True))]
    assert machine.tick(limits.JOIN_RETRY_MS) == (claim if claims else LOOK)


def test_a_refusal_seen_before_the_last_look_proves_nothing() -> None:
    machine = looked_up(A, alive=True)
    machine.on_unreached(A, True, 0)
    machine.tick(limits.JOIN_RETRY_MS)
    machine.on_answer(Lookup("news"), entry(A, alive=False))
    machine.on_unreached(A, False, 1_000)
    assert machine.tick(2_000) == LOOK


def test_a_name_that_is_no_exception_of_ours_is_a_peers_fault() -> None:
    for code in ("SystemExit", "errors", "annotations", "Nothing", ""):
        assert type(error_of(code, "x")) is PeerError
