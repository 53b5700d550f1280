"""The way into a group: look up, claim, ask, be redirected, and say why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom import errors
from gcom.core.joining.attempt import JoinAttempt
from gcom.core.joining.steps import Approach, Ask, Failed, First, Out, PreviousSession, Vow
from gcom.core.messages.frames import JoinRefused, Redirect
from gcom.core.messages.registry import Claim, Create, Done, GroupInfo, Lookup, Refusal
from gcom.errors import Dissolved, NameTaken, NotInvited, PeerError, RegistryUnavailable, error_of
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.lineage import Extent
from tests.core.making import A, B, C, D, E, address

NEWS = Definition.parse("news")
ME, HERE = "me#7", "me-7:1"


def entry(*members: str, view: int = 3, alive: bool = True, definition: Definition = NEWS) -> GroupInfo:
    return GroupInfo(definition, "i1", view if members else 0, members, tuple(map(address, members)), alive)


def entering(create: Definition | None = None) -> JoinAttempt:
    machine = JoinAttempt("news", ME, HERE, create)
    machine.start(0)
    return machine


def looked_up(*members: str, alive: bool = True) -> JoinAttempt:
    machine = entering()
    machine.on_answer(Lookup("news"), entry(*members, alive=alive), 0)
    return machine


def to(member: str) -> list[Out]:
    return [Approach(member, address(member))]


LOOK: list[Out] = [Ask(Lookup("news"))]
BACK: list[Out] = [Ask(Lookup("news", "i1"))]  # one that was in asks whether that instance is over


def test_it_begins_with_a_look_or_a_create() -> None:
    assert JoinAttempt("news", ME, HERE, None).start(0) == LOOK
    assert JoinAttempt("news", ME, HERE, NEWS).start(0) == [Ask(Create(NEWS))]


def test_no_registry_is_the_end() -> None:
    (out,) = entering().on_answer(Lookup("news"), None, 0)
    assert isinstance(out, Failed)
    assert isinstance(out.error, RegistryUnavailable)


def test_an_answer_that_fits_no_question_is_the_end() -> None:
    (out,) = entering().on_answer(Lookup("news"), Done(), 0)
    assert isinstance(out, Failed)
    assert isinstance(out.error, PeerError)


@pytest.mark.parametrize("code", ["UnknownGroup", "GroupExists", "LocalError"])
def test_a_refusal_is_raised_as_what_it_names(code: str) -> None:
    (out,) = entering().on_answer(Lookup("news"), Refusal(code, "because"), 0)
    assert isinstance(out, Failed)
    assert type(out.error) is getattr(errors, code)
    assert str(out.error) == "because"


def test_an_empty_group_is_claimed_and_its_first_member_is_in() -> None:
    machine = entering(NEWS)
    claim = Claim("news", "i1", 0, ME, HERE)
    assert machine.on_answer(Create(NEWS), entry(), 0) == [Ask(claim)]
    granted = entry(ME, view=1)
    assert machine.on_answer(claim, granted, 0) == [First(granted)]


def test_a_claim_that_came_too_late_asks_who_was_faster() -> None:
    machine = entering()
    claim = Claim("news", "i1", 0, ME, HERE)
    machine.on_answer(Lookup("news"), entry(), 0)
    assert machine.on_answer(claim, Refusal("Stale", ""), 0) == LOOK
    assert machine.on_answer(Lookup("news"), entry(A), 0) == to(A)


def test_members_are_asked_oldest_first() -> None:
    machine = entering()
    assert machine.on_answer(Lookup("news"), entry(A, B, C), 0) == to(A)
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
    assert machine.on_answer(Lookup("news"), entry(A, B), 0) == to(A)


def test_a_refused_join_is_raised_as_what_it_names() -> None:
    (out,) = looked_up(A).on_reply(A, JoinRefused("NameTaken", "taken"), 0)
    assert isinstance(out, Failed)
    assert isinstance(out.error, NameTaken)


def test_a_stranger_does_not_even_ask_a_static_group() -> None:
    machine = entering()
    (out,) = machine.on_answer(Lookup("news"), entry(A, definition=Definition.parse("news", static=["a", "b"])), 0)
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


def claims(*gone: str, view: int = 3, away: tuple[str, ...] = ()) -> list[Out]:
    return [Ask(Claim("news", "i1", view, ME, HERE, gone, tuple((who, address(who)) for who in away)))]


def vows(*members: str, view: int = 3) -> list[Out]:
    return [Vow(member, address(member), "i1", view) for member in members]


@pytest.mark.parametrize(
    ("alive", "proven", "gone"),
    [(False, (True, True), (A, B)), (True, (True, True), ()), (False, (True, False), ()), (False, (False, True), ())],
)
def test_a_group_is_claimed_only_when_all_are_proven_dead_and_the_lease_ran_out(
    alive: bool, proven: tuple[bool, bool], gone: tuple[str, ...]
) -> None:
    machine = looked_up(A, B, alive=alive)
    machine.on_unreached(A, proven[0], 0)
    machine.on_unreached(B, proven[1], 0)
    assert machine.tick(limits.JOIN_RETRY_MS) == (claims(*gone) if gone else LOOK)


def test_who_is_noted_or_registered_an_older_view_is_asked_and_must_be_gone_too() -> None:
    machine = entering()
    known = replace(entry(A, alive=False), others=((B, address(B)),))
    assert machine.on_answer(Lookup("news"), known, 0) == to(A)
    assert machine.on_unreached(A, True, 0) == to(B)
    assert machine.on_unreached(B, False, 0) == []
    assert machine.tick(limits.JOIN_RETRY_MS) == LOOK
    machine.on_answer(Lookup("news"), known, 1_000)
    machine.on_unreached(A, True, 1_000)
    machine.on_unreached(B, True, 1_000)
    assert machine.tick(5_000) == claims(A, B)


def test_a_proof_is_good_for_ever_and_an_absence_for_one_look() -> None:
    machine = looked_up(A, B, alive=False)
    machine.on_unreached(A, True, 0)
    assert machine.on_unreached(B, False, 0, absent=True) == vows(B)
    assert machine.tick(limits.JOIN_RETRY_MS) == LOOK
    assert machine.on_answer(Lookup("news"), entry(A, B, alive=False), 1_000) == to(A)
    machine.on_unreached(A, False, 1_000)
    assert machine.on_unreached(B, False, 1_000) == []  # it did not answer this time: nothing is known of it
    assert machine.tick(2_000) == LOOK
    machine.on_answer(Lookup("news"), entry(A, B, alive=False), 2_000)
    machine.on_unreached(A, False, 2_000)
    machine.on_unreached(B, True, 2_000)
    assert machine.tick(5_000) == claims(A, B)


def test_who_answers_that_it_is_no_member_is_asked_for_its_word() -> None:
    """It may have been noted, and an INSTALL may be on its way to it: nobody claims beside that."""
    machine = looked_up(A, B, C, alive=False)
    machine.on_unreached(A, True, 0)
    machine.on_unreached(B, False, 0, absent=True)
    assert machine.on_unreached(C, False, 0, absent=True) == vows(B, C)
    assert machine.called == {B, C}
    machine.on_vowed(B)
    assert machine.tick(limits.JOIN_RETRY_MS) == LOOK  # c has not given it
    machine.on_answer(Lookup("news"), entry(A, B, C, alive=False), 1_000)
    machine.on_unreached(A, False, 1_000)
    machine.on_unreached(B, False, 1_000, absent=True)
    assert machine.on_unreached(C, False, 1_000, absent=True) == vows(B, C)  # a word is good for one look, too
    machine.on_vowed(C)
    machine.on_vowed(B)
    assert machine.tick(2_000) == claims(A, B, C)


def test_while_one_may_live_nobody_is_asked_for_a_word() -> None:
    """A process that vows cannot be admitted to the view meanwhile: it would wait for nothing."""
    machine = looked_up(A, B, alive=False)
    machine.on_unreached(A, False, 0)
    assert machine.on_unreached(B, False, 0, absent=True) == []
    machine.on_vowed(B)  # it was not asked
    assert machine.tick(limits.JOIN_RETRY_MS) == LOOK


def test_nobody_is_asked_for_a_word_while_a_lease_runs() -> None:
    """1. A is granted the name, and has not read so yet. 2. It is asked to let this process in, and is in nothing."""
    machine = looked_up(A, alive=True)
    assert machine.on_unreached(A, False, 0, absent=True) == []
    assert machine.tick(limits.JOIN_RETRY_MS) == LOOK
    machine.on_answer(Lookup("news"), entry(A, alive=False), 1_000)
    assert machine.on_unreached(A, False, 1_000, absent=True) == vows(A)


def test_a_claim_that_is_refused_is_not_repeated_without_another_look() -> None:
    machine = looked_up(A, alive=False)
    machine.on_unreached(A, True, 0)
    (claim,) = machine.tick(limits.JOIN_RETRY_MS)
    assert isinstance(claim, Ask)
    assert machine.on_answer(claim.request, Refusal("Stale", "b#1 may have it"), 1_000) == []
    assert "b#1 may have it" in machine.waits_for
    assert machine.tick(999 + limits.JOIN_RETRY_MS) == []
    assert machine.tick(1_000 + limits.JOIN_RETRY_MS) == LOOK


def test_who_is_about_to_create_is_not_advised_to() -> None:
    """The home has forgotten the group, of which another registry still tells that all are dead."""
    machine = looked_up(A, alive=False)
    machine.on_unreached(A, True, 0)
    (claim,) = machine.tick(limits.JOIN_RETRY_MS)
    assert isinstance(claim, Ask)
    machine.on_answer(claim.request, Refusal("UnknownGroup", "there is no group 'news' here: create it"), 1_000)
    assert machine.waits_for == "the registry to let it begin anew"


def test_who_returns_where_all_others_are_dead_says_that_it_waits_for_the_registry() -> None:
    machine = returning(A)
    machine.on_answer(Lookup("news"), None, 0)
    machine.on_unreached(A, True, 0)
    assert machine.waits_for == "the registry to let it begin anew"


@pytest.mark.parametrize("create", [None, NEWS])
def test_a_registry_that_starts_is_waited_for(create: Definition | None) -> None:
    machine = entering(create)
    asked = Create(create) if create else Lookup("news")
    assert machine.on_answer(asked, Refusal("RegistryStarting", "it waits 3.0 s more"), 0) == []
    assert "it waits 3.0 s more" in machine.waits_for
    assert machine.tick(limits.JOIN_RETRY_MS - 1) == []
    assert machine.tick(limits.JOIN_RETRY_MS) == LOOK
    if create:
        assert machine.on_answer(Lookup("news"), Refusal("UnknownGroup", ""), 1_000) == [Ask(Create(create))]


def test_who_waits_for_detached_members_says_so() -> None:
    machine = entering()
    machine.on_answer(Lookup("news"), replace(entry(A, alive=False), detached=True), 0)
    assert (
        machine.waits_for
        == "a#1 at a-1:1 to hear a quorum and admit it, which members do through the group's home registry"
    )


def test_who_asked_two_of_whom_one_is_dead_waits_for_the_other() -> None:
    machine = entering()
    machine.on_answer(Lookup("news"), entry(A, B), 0)
    machine.tick(limits.JOIN_STAGGER_MS)
    assert machine.waits_for.startswith("a#1 at a-1:1 or b#1 at b-1:1 to admit it")
    machine.on_unreached(B, True, limits.JOIN_STAGGER_MS)
    assert machine.waits_for.startswith("a#1 at a-1:1 to admit it")


def test_who_waits_for_detached_members_of_a_forgotten_group_learns_what_ends_the_wait() -> None:
    machine = entering()
    forgotten = replace(entry(A, alive=False), detached=True, forgot=True)
    machine.on_answer(Lookup("news"), forgotten, 0)
    assert "a#1 at a-1:1 to hear a quorum, or be told to go on by 'gcom fork news', and admit it" in machine.waits_for


def test_a_name_that_is_no_exception_of_ours_is_a_peers_fault() -> None:
    for code in ("SystemExit", "errors", "annotations", "Nothing", ""):
        assert type(error_of(code, "x")) is PeerError


# a process that returns


def former(*members: str, view: int = 3) -> PreviousSession:
    """It was `me#6`, in the last view of which were also these."""
    return PreviousSession("me#6", entry("me#6", *members, view=view, alive=False))


def returning(*members: str) -> JoinAttempt:
    machine = JoinAttempt("news", ME, HERE, None, former(*members))
    assert machine.start(0) == BACK
    return machine


def test_one_that_returns_waits_for_the_lease_as_newcomers_do_and_names_its_former_self() -> None:
    machine = returning(A, B)
    assert machine.on_answer(Lookup("news"), entry("me#6", A, B), 0) == to(A)
    assert machine.on_unreached(A, True, 0) == to(B)
    assert machine.on_unreached(B, True, 0) == []
    assert machine.tick(limits.JOIN_RETRY_MS) == BACK
    machine.on_answer(Lookup("news"), entry("me#6", A, B, alive=False), 1_000)
    for member in (A, B):
        machine.on_unreached(member, False, 1_000)
    assert machine.tick(5_000) == claims("me#6", A, B)


@pytest.mark.parametrize(
    ("has", "theirs", "goes_first"),
    [((7, 0), (6, 9), True), ((6, 9), (7, 0), False), ((0, 0), (6, 0), False), ((6, 9), (6, 8), True)],
)
def test_of_two_that_return_the_one_with_less_waits(has: Extent, theirs: Extent, goes_first: bool) -> None:
    """It may have been in a later view and been given no state there: it says how far what it has reaches."""
    machine = JoinAttempt("news", ME, HERE, None, replace(former(A, B, view=9), has=has))
    machine.start(0)
    machine.on_answer(Lookup("news"), entry(A, B, view=9, alive=False), 0)
    machine.on_unreached(A, True, 0)
    machine.on_returning(B, theirs, 0)
    again = machine.tick(limits.JOIN_RETRY_MS)
    claim = claims(A, B, "me#6", view=9, away=(B,))
    assert again == (claim if goes_first else BACK)
    assert machine.beside is (goes_first and has[0] == theirs[0])


@pytest.mark.parametrize(
    ("has", "theirs", "asks_for_word"),
    [((7, 0), (6, 9), True), ((6, 9), (7, 0), False), ((0, 0), (6, 0), False), ((0, 0), (0, 0), True)],
)
def test_who_is_listed_and_on_its_way_in_is_asked_for_its_word_by_one_with_more(
    has: Extent, theirs: Extent, asks_for_word: bool
) -> None:
    """Unlike one whose session is over it may still be let in, so without its word nobody claims."""
    machine = JoinAttempt("news", ME, HERE, None, replace(former(A, B, view=9), has=has))
    machine.start(0)
    for vowed in (False, True):
        machine.on_answer(Lookup("news"), entry(A, B, view=9, alive=False), 0)
        machine.on_unreached(A, True, 0)
        assert machine.on_entering(B, theirs, 0) == (vows(B, view=9) if asks_for_word else [])
        if vowed:
            machine.on_vowed(B)
        away = (B,) if theirs > (0, 0) else ()
        claim = claims(A, B, "me#6", view=9, away=away)
        assert machine.tick(30_000 if vowed else 2_000) == (claim if vowed and asks_for_word else BACK)


def test_members_of_a_view_that_the_registry_has_not_heard_of_are_asked_too() -> None:
    machine = returning(A, B)
    assert machine.on_answer(Lookup("news"), entry("me#6", A, view=2, alive=False), 0) == to(A)
    assert machine.on_unreached(A, True, 0) == to(B)
    machine.on_unreached(B, False, 0)
    assert machine.tick(limits.JOIN_RETRY_MS) == BACK
    machine.on_answer(Lookup("news"), entry("me#6", A, view=2, alive=False), 1_000)
    machine.on_unreached(A, True, 1_000)
    machine.on_unreached(B, True, 1_000)
    assert machine.tick(5_000) == claims("me#6", A, B, view=2)


def test_by_an_operators_order_the_name_is_claimed_where_nobody_answers_though_nothing_proves_them_dead() -> None:
    """Whether the members that are left had their time to obey it is for the registry to say."""
    forked = replace(entry(A, B, alive=False), forked=True)
    for machine, gone in ((returning(A), ("me#6",)), (entering(), ())):
        assert machine.on_answer(Lookup("news"), forked, 0) == to(A)
        assert machine.on_unreached(A, False, 0) == to(B)
        machine.on_unreached(B, False, 0)
        assert machine.tick(limits.JOIN_RETRY_MS) == claims(*gone)
    answers = entering()
    answers.on_answer(Lookup("news"), forked, 0)
    answers.on_heard(A, 0)
    assert answers.tick(60_000) == []


def test_a_member_that_answers_meanwhile_is_looked_for_though_an_order_frees_the_name() -> None:
    """1. An operator orders a fork. 2. The cut heals; B answers, and its leader has not been reached before."""
    machine = looked_up(A, B)
    machine.on_answer(Lookup("news"), replace(entry(A, B, alive=False), forked=True), 0)
    machine.on_unreached(A, False, 0)
    machine.on_heard(B, 0)
    machine.on_reply(B, Redirect(A, address(A)), 0)
    assert machine.tick(10_000) == [Ask(Lookup("news"))]


@pytest.mark.parametrize("kind", [Dissolved, NameTaken])
def test_the_way_back_ends_for_good_where_all_have_left_or_the_name_is_anothers(kind: type[Exception]) -> None:
    (out,) = returning(A).on_answer(Lookup("news", "i1"), Refusal(kind.__name__, "because"), 0)
    assert isinstance(out, Failed)
    assert out.final
    assert isinstance(out.error, kind)


OTHER = replace(NEWS, safe=not NEWS.safe)


def test_the_way_back_ends_where_an_older_group_has_the_name_with_another_definition() -> None:
    older = replace(entry(B, definition=OTHER), instance="i0")
    (out,) = returning(A).on_answer(Lookup("news", "i1"), older, 0)
    assert isinstance(out, Failed)
    assert out.final
    assert isinstance(out.error, NameTaken)
    assert "safe is" in str(out.error)


def test_a_younger_group_of_another_definition_is_believed_only_when_the_own_one_is_dead_by_proof() -> None:
    machine = returning(A)
    younger = replace(entry(B, definition=OTHER), instance="i2")
    assert machine.on_answer(Lookup("news", "i1"), younger, 0) == to(A)
    assert machine.on_unreached(A, False, 0) == []
    assert machine.tick(limits.JOIN_RETRY_MS) == BACK
    assert machine.on_answer(Lookup("news", "i1"), younger, 1_000) == to(A)
    assert machine.on_unreached(A, True, 1_000) == []
    assert machine.tick(5_000) == claims("me#6", A)  # which the registry refuses, so it looks
    machine.on_answer(Claim("news", "i1", 3, ME, HERE, ("me#6", A)), Refusal("Stale", "no"), 5_000)
    (out,) = machine.on_answer(Lookup("news", "i1"), younger, 6_000)
    assert isinstance(out, Failed)
    assert out.final


def test_who_claims_by_an_order_says_whom_it_gave_up() -> None:
    machine = entering()
    machine.on_answer(Lookup("news"), replace(entry(A, B, alive=False), forked=True), 0)
    machine.on_unreached(A, True, 0)
    machine.on_unreached(B, False, 0)
    (asked,) = machine.tick(limits.JOIN_RETRY_MS)
    assert isinstance(asked, Ask)
    assert isinstance(asked.request, Claim)
    begun = replace(entry(ME, view=1), instance="i1-1.1-7", after=("i1", 3))
    assert machine.on_answer(asked.request, begun, 0) == [First(begun, gives_up=(B,))]


def test_what_ends_anothers_entry_makes_one_that_returns_try_again_later_each_time() -> None:
    machine, now_ms = returning(A), 0
    for pause_ms in (250, 500, 1_000, 2_000, 2_000):
        assert machine.on_answer(Lookup("news"), Refusal("NotInvited", "because"), now_ms) == []
        assert machine.waits_for == "because"
        assert machine.tick(now_ms + pause_ms - 1) == []
        now_ms += pause_ms
        assert machine.tick(now_ms) == BACK


def test_a_group_that_is_unknown_for_longer_than_a_lease_and_has_nobody_left_is_made_again() -> None:
    machine, now_ms = returning(A), 0
    while now_ms < limits.LEASE_MS:
        assert machine.on_answer(Lookup("news"), Refusal("UnknownGroup", ""), now_ms) == to(A)
        assert machine.on_unreached(A, True, now_ms) == []
        now_ms += limits.RETURN_RETRY_MAX_MS
        outs = machine.tick(now_ms)
    assert outs == [Ask(Create(NEWS))]
    assert machine.on_answer(Create(NEWS), entry(), now_ms) == [Ask(Claim("news", "i1", 0, ME, HERE))]


def test_a_second_member_is_asked_when_the_first_is_slow_to_answer_at_all() -> None:
    machine = returning(A, B, C)
    assert machine.on_answer(Lookup("news"), entry(A, B, C, D, E), 0) == to(A)
    assert machine.tick(limits.JOIN_STAGGER_MS - 1) == []
    assert machine.tick(limits.JOIN_STAGGER_MS) == to(B)
    assert machine.tick(2 * limits.JOIN_STAGGER_MS) == to(C)
    assert machine.tick(3 * limits.JOIN_STAGGER_MS) == []  # three at a time
    assert machine.on_unreached(B, True, 0) == to(D)
    machine.on_heard(D, 0)
    assert machine.on_unreached(A, True, 0) == to(E)


def test_who_has_answered_is_waited_for() -> None:
    machine = returning(A, B)
    machine.on_answer(Lookup("news"), entry(A, B), 0)
    machine.on_heard(A, 0)
    assert machine.tick(60_000) == []
