"""The directory: its table, row by row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.codec import registry as codec
from gcom.core.directory.pages import PAGE_BYTES
from gcom.core.messages.registry import (
    Claim,
    Create,
    Entries,
    Fork,
    GroupInfo,
    ListGroups,
    Lookup,
    Note,
    Remove,
    Request,
    Unregister,
)
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.registry import (
    AWAY,
    HOME,
    LOOSE,
    NEWS,
    SIDES,
    A,
    B,
    C,
    claim,
    code,
    directory,
    entry,
    others,
    register,
    text,
)


def test_racing_creates_of_one_definition_are_one_group() -> None:
    it = directory()
    first, second = it.ask(Create(NEWS)), it.ask(Create(NEWS))
    assert first == second == GroupInfo(NEWS, "i1", 0, (), (), alive=False)


def test_a_create_of_another_definition_is_told_the_difference() -> None:
    it = directory()
    it.ask(Create(NEWS))
    answer = it.ask(Create(LOOSE))
    assert code(answer) == "GroupExists"
    assert "ordering is FIFO, not NONORDERED" in text(answer)


@pytest.mark.parametrize(
    "request_",
    [Lookup("news"), Remove("news"), Claim("news", "i1", 0, A, HOME), Note("news", "i1", 1, ()), Fork("news", "i1")],
)
def test_an_unknown_group_is_named(request_: Request) -> None:
    answer = directory().ask(request_)
    assert code(answer) == "UnknownGroup"
    assert "'news'" in text(answer)


def test_one_of_two_racing_claims_wins() -> None:
    it = directory()
    it.ask(Create(NEWS))
    won = entry(it.ask(Claim("news", "i1", 0, A, HOME)))
    assert won == GroupInfo(NEWS, "i1", 1, (A,), (HOME,), alive=True)
    assert code(it.ask(Claim("news", "i1", 0, B, AWAY))) == "Stale"
    assert it.news == won


def test_a_claim_whose_answer_was_lost_is_granted_again() -> None:
    it = directory()
    it.ask(Create(NEWS))
    asked = Claim("news", "i1", 0, A, HOME)
    assert it.ask(asked) == it.ask(asked)


def test_who_vowed_to_be_out_of_the_view_that_it_was_granted_claims_what_comes_after_it() -> None:
    it = directory()
    it.ask(Create(NEWS))
    it.ask(Claim("news", "i1", 0, A, HOME))
    after = Claim("news", "i1", 1, A, HOME, (A,))
    assert code(it.ask(after)) == "Stale"
    it.run(limits.LEASE_MS)
    assert it.ask(after) == GroupInfo(NEWS, "i1-1-1", 1, (A,), (HOME,), alive=True, after=("i1", 1))


@pytest.mark.parametrize(
    ("runs_ms", "gone", "instance", "number", "outcome"),
    [
        (limits.LEASE_MS - 1, (A,), "i1", 1, "Stale"),  # the lease runs: members may live
        (limits.LEASE_MS, (), "i1", 1, "Stale"),  # doubted, but nothing proves that its member is dead
        (limits.LEASE_MS, (B,), "i1", 1, "Stale"),
        (limits.LEASE_MS, (A,), "i1", 0, "Stale"),  # it looked for those of an older view
        (limits.LEASE_MS, (A,), "i9", 1, "Stale"),
        (limits.LEASE_MS, (A,), "i1", 1, "i1-1-1"),
        (limits.LEASE_MS, (A, B), "i1", 1, "i1-1-1"),
    ],
)
def test_a_claim_of_a_group_with_members(
    runs_ms: int, gone: tuple[str, ...], instance: str, number: int, outcome: str
) -> None:
    it = directory()
    it.ask(Create(NEWS))
    it.ask(Claim("news", "i1", 0, A, HOME))
    it.run(runs_ms)
    answer = it.ask(Claim("news", instance, number, B, AWAY, gone))
    if outcome == "Stale":
        assert code(answer) == "Stale"
    else:
        assert answer == GroupInfo(NEWS, outcome, 1, (B,), (AWAY,), alive=True, after=("i1", 1))


def test_a_name_is_given_away_only_when_nobody_who_may_have_it_is_left() -> None:
    """A member of the view, one that was noted for the next, one that is behind, and one of another instance."""
    it = directory()
    it.ids.founded = {"k2"}
    it.ask(register(1, "zoe#1", instance="k3", detached=True))
    it.ask(register(2, A, B))
    it.ask(register(1, A, "yan#1", by="yan#1", detached=True))
    it.ask(Note("news", "k2", 2, (("dan#1", AWAY),)))
    it.run(limits.LEASE_MS)
    known = [A, B, "dan#1", "yan#1", "zoe#1"]
    assert {*it.news.members, *others(it.news)} == set(known)
    for lives in known:
        answer = it.ask(claim(2, *[who for who in known if who != lives]))
        assert code(answer) == "Stale"
        assert f"{lives} may have it" in text(answer)
    assert it.ask(claim(2, *known)) == GroupInfo(NEWS, "k2-1-1", 1, (C,), (AWAY,), alive=True, after=("k2", 2))


def test_a_static_group_is_claimed_by_its_own() -> None:
    it = directory()
    it.ask(Create(Definition.parse("news", static=["bob"])))
    assert code(it.ask(Claim("news", "i1", 0, A, HOME))) == "NotInvited"
    assert entry(it.ask(Claim("news", "i1", 0, B, AWAY))).members == (B,)


@pytest.mark.parametrize(
    ("definition", "instance", "number", "members", "runs_ms", "refused"),
    [
        (NEWS, "k2", 3, (A,), 1, ""),  # renewed
        (NEWS, "k2", 4, (A, B), 1, ""),  # a newer view
        (NEWS, "k2", 9, (A, B), limits.LEASE_MS, ""),
        (NEWS, "k2", 3, (A, B), 1, "Stale"),  # a view is decided once
        (NEWS, "k2", 9, (B,), 1, "Stale"),  # of a process that is no member, as far as this registry knows
        (NEWS, "k1", 1, (B,), 1, ""),  # another instance, founded earlier
        (LOOSE, "k1", 1, (B,), 1, ""),  # of another definition, too
        (LOOSE, "k2", 1, (A,), 1, "GroupExists"),
        (LOOSE, "k1", 1, (B,), limits.LEASE_MS, ""),  # doubted
    ],
)
def test_registering_where_view_3_of_k2_is_known(
    definition: Definition, instance: str, number: int, members: tuple[str, ...], runs_ms: int, refused: str
) -> None:
    it = directory()
    it.ids.founded = {"k1"}
    before = entry(it.ask(register(3, A)))
    it.run(runs_ms)
    answer = it.ask(register(number, *members, instance=instance, definition=definition))
    if refused:
        assert code(answer) == refused
        assert it.news == replace(before, alive=runs_ms < limits.LEASE_MS)
    else:
        found = entry(answer)
        assert (found.definition, found.instance, found.view, found.members) == (definition, instance, number, members)
        assert found.alive
        assert it.news == answer


@pytest.mark.parametrize(("instance", "detached"), [("k3", False), ("k3", True), ("k1", True)])
def test_one_of_another_definition_is_told_of_the_group_in_service(instance: str, detached: bool) -> None:
    """Founded later, or detached: a registry forgot a group, and strangers have founded its name."""
    it = directory()
    before = entry(it.ask(register(3, A)))
    asked = replace(register(1, B, instance=instance, definition=LOOSE), detached=detached)
    assert replace(entry(it.ask(asked)), others=()) == before
    assert it.news.members == (A,)


def test_an_older_view_changes_nothing_but_is_remembered() -> None:
    """A member that is behind may be cut off, and may have the name as far as anybody knows."""
    it = directory()
    before = entry(it.ask(register(3, A)))
    it.run(limits.LEASE_MS)
    answer = it.ask(register(2, A, B, by=B))
    assert answer == replace(before, alive=False, detached=True, others=((B, HOME),)) == it.news


@pytest.mark.parametrize(
    ("first", "second", "holds"),
    [
        ("k2", "k3", "k2"),  # of strangers the one that was founded earlier
        ("k2", "k1", "k1"),
        ("k2", "k2-1-b", "k2-1-b"),  # a successor above its predecessor
        ("k2-1-b", "k2", "k2-1-b"),
        ("k2-1-b", "k2-2-a", "k2-2-a"),
        ("k2-2-b", "k2-2-a", "k2-2-a"),
        ("k2-9-b", "k1", "k1"),
    ],
)
@pytest.mark.parametrize("many", ["first", "second"])
def test_of_two_living_instances_lineage_decides_and_never_size_or_view(
    first: str, second: str, holds: str, many: str
) -> None:
    it = directory()
    it.ids.founded = {"k1", "k2", "k3"}
    crowd = [f"m{number}#1" for number in range(9)]
    it.ask(register(90 if many == "first" else 1, A, *(crowd if many == "first" else []), instance=first))
    answer = entry(
        it.ask(register(90 if many == "second" else 1, A, *(crowd if many == "second" else []), instance=second))
    )
    assert answer.instance == it.news.instance == holds
    loser = second if holds == first else first
    for number in (100, 200):  # it does not come back by growing
        assert entry(it.ask(register(number, A, *crowd, "late#1", instance=loser))).instance == holds


@pytest.mark.parametrize("instance", ["k0", "k1", "k2-1-b", "k2-9.9-b", "k3"])
@pytest.mark.parametrize("lasts_ms", [1, limits.LEASE_MS - 1])
def test_an_instance_that_a_stranger_makes_up_displaces_no_living_one(instance: str, lasts_ms: int) -> None:
    """Older, or its successor: its registry did not found it, and no member of the group registers it."""
    it = directory()
    it.ids.founded = {"k2"}
    before = it.ask(register(3, A))
    it.run(lasts_ms)
    asked = register(9, "mallory#1", instance=instance)
    assert it.ask(asked) == before == it.news
    assert it.ask(replace(asked, detached=True)) == before
    assert code(it.ask(Unregister("news", "k2", 9, "mallory#1"))) == "Stale"
    assert it.news == before


def test_a_stranger_that_is_not_invited_registers_no_view_of_a_static_group() -> None:
    it = directory()
    it.ask(register(3, A, definition=Definition.parse("news", static=["alice"])))
    asked = register(9, A, B, definition=Definition.parse("news", static=["alice"]))
    assert code(it.ask(asked)) == "NotInvited"


@pytest.mark.parametrize(
    ("members", "number", "holds"),
    [((A, B), 1, "k3"), ((A,), 9, "k3"), ((A,), 3, "k2"), ((A,), 2, "k2"), ((C, B), 9, "k2")],
)
def test_where_sides_merge_size_decides(members: tuple[str, ...], number: int, holds: str) -> None:
    it = directory()
    it.ask(register(3, A, definition=SIDES))
    assert entry(it.ask(register(number, *members, instance="k3", definition=SIDES))).instance == holds
    assert it.news.instance == holds


def test_a_detached_member_displaces_no_instance_in_service_but_is_remembered() -> None:
    it = directory()
    it.ids.founded = {"k1"}
    it.ask(register(3, A))
    answer = it.ask(register(7, B, instance="k1", detached=True))
    assert (entry(answer).instance, others(answer)) == ("k2", {B})
    it.run(limits.LEASE_MS)
    answer = it.ask(register(7, B, instance="k1", detached=True))
    assert (entry(answer).instance, entry(answer).detached, others(answer)) == ("k1", True, {A})


def test_a_member_of_a_predecessor_holds_up_nobody() -> None:
    """All of those who were left of its instance, and it was not among them, went on: its name is given up."""
    it = directory()
    it.ask(register(1, A, instance="k2-1-a"))
    answer = it.ask(register(9, B, C, instance="k2", by=B, detached=True))
    assert (entry(answer).instance, others(answer)) == ("k2-1-a", set())


def test_a_member_of_a_group_of_another_kind_makes_nobody_forgotten() -> None:
    """1. A and B are cut off from each other. 2. C, whose group another registry knew, registers, and leaves."""
    it = directory()
    it.ask(register(3, A, B))
    it.run(limits.LEASE_MS)
    it.ask(register(1, C, instance="k9", detached=True, definition=LOOSE))
    assert {A, B} <= {*it.news.members, *others(it.news)}


def test_a_renewal_by_a_detached_member_renews_no_lease() -> None:
    it = directory()
    it.ask(register(3, A, B))
    for _ in range(limits.LEASE_MS // limits.RENEW_MS):
        it.run(limits.RENEW_MS)
        it.ask(register(3, A, B, detached=True))
    assert (it.news.alive, it.news.detached) == (False, True)
    assert [found.instance for found in it.directory.doubted] == ["k2"]
    it.ask(register(3, A, B, by=B))  # one hears a quorum, and need not lead
    assert (it.news.alive, it.news.detached) == (True, False)
    assert it.directory.doubted == []


def test_a_lease_runs_out_and_is_renewed() -> None:
    it = directory()
    it.ask(register(3))
    it.run(limits.LEASE_MS - 1)
    assert it.news.alive
    it.run(1)
    assert not it.news.alive
    it.ask(register(3))
    assert it.news.alive


# its bounds


def test_after_a_restart_the_living_group_takes_its_name_back_from_an_empty_one() -> None:
    it = directory()
    it.ask(Create(LOOSE))
    assert entry(it.ask(register(7, A, B))).instance == "k2"
    assert code(it.ask(Claim("news", "i1", 0, C, AWAY))) == "Stale"
    assert it.ask(ListGroups()) == Entries((it.news,))


def test_a_full_directory_refuses_new_names_and_serves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DIRECTORY_GROUPS_MAX", 20)
    it = directory()
    for number in range(limits.DIRECTORY_GROUPS_MAX):
        it.ask(Create(Definition.parse(f"g{number}")))
    assert code(it.ask(Create(NEWS))) == "Unavailable"
    assert code(it.ask(register(1))) == "Unavailable"
    assert entry(it.ask(Claim("g7", "i8", 0, A, HOME))).alive
    it.ask(Remove("g0"))
    assert entry(it.ask(Create(NEWS))).view == 0


def test_a_long_list_comes_in_pages_that_fit_a_frame() -> None:
    it = directory()
    members = tuple(f"member-with-a-longish-name-{number:02}#abcdefgh" for number in range(limits.MEMBERS_MAX))
    waiting = tuple((f"joiner-with-a-longish-name-{number:03}#abcdefgh", HOME) for number in range(limits.SEATS_MAX))
    names = sorted(f"g{number}" for number in range(60))
    for name in names:
        it.ask(register(1, *members, definition=Definition.parse(name)))
        it.ask(Note(name, "k2", 1, waiting))
    found: list[str] = []
    pages, more = 0, True
    while more:
        page = it.ask(ListGroups(found[-1] if found else ""))
        assert isinstance(page, Entries)
        assert PAGE_BYTES / 2 < len(codec.encode_answer(page)) < limits.FRAME_BYTES_MAX or not page.more
        found += [one.definition.group for one in page.groups]
        pages, more = pages + 1, page.more
    assert found == names
    assert pages > 1
