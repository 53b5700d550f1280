"""A stranger at the registry: what its own word takes, and how the members of the group have it back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.messages.registry import Claim, Create, Done, Fork, Lookup, Note, Register, Unregister
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.registry import HOME, NEWS, SIDES, A, B, C, Registry, code, entry, register

X = "mallory#1"
COPY = replace(NEWS, home="other:7411")


def at_home() -> Registry:
    """The home of a group: A has founded it, and B was noted before it was let in."""
    it = Registry()
    it.ask(Create(NEWS))
    it.ask(Claim("news", "i1", 0, A, HOME))
    it.ask(Note("news", "i1", 1, ((B, HOME),)))
    it.ask(_members(2))
    return it


def _members(number: int, *, definition: Definition = NEWS, by: str = A, detached: bool = False) -> Register:
    return register(number, A, B, instance="i1", definition=definition, by=by, detached=detached)


def _lies(it: Registry) -> Claim:
    """Return a claim by which all members are said to be dead."""
    return Claim("news", it.news.instance, it.news.view, X, HOME, (A, B))


@pytest.mark.parametrize("runs_ms", [1, limits.LEASE_MS, 60_000])
def test_at_home_no_stranger_registers_whether_the_group_is_heard_or_not(runs_ms: int) -> None:
    it = at_home()
    it.run(runs_ms)
    before = it.news
    for number in (1, 2, 3, 999):
        for members in ((X,), (X, A, B)):
            it.ask(register(number, *members, instance="i1"))
            it.ask(register(number, *members, instance="i1-1-mallory"))
            it.ask(register(number, *members, instance="a0"))
    for instance in ("i1", "i1-1-mallory", "a0"):
        assert code(it.ask(Unregister("news", instance, 999, X))) == "Stale"
    assert it.news == before


def test_a_false_claim_is_taken_back_by_any_member_that_it_called_dead() -> None:
    """1. Nobody is heard for a while. 2. X claims the name, and says that all are dead. 3. B is heard, detached."""
    it = at_home()
    it.run(limits.LEASE_MS)
    assert entry(it.ask(_lies(it))).members == (X,)
    found = entry(it.ask(_members(2, by=B, detached=True)))
    assert (found.instance, found.view, found.members, found.forgot) == ("i1", 2, (A, B), False)
    it.ask(register(2, X, instance="i1-1-1"))
    assert it.news.instance == "i1"


def test_a_false_claim_that_is_unregistered_buries_nobody() -> None:
    it = at_home()
    it.run(limits.LEASE_MS)
    taken = entry(it.ask(_lies(it)))
    assert it.ask(Unregister("news", taken.instance, 1, X)) == Done()
    assert code(it.ask(Lookup("news"))) == "UnknownGroup"
    assert entry(it.ask(_members(2))).members == (A, B)
    assert entry(it.ask(Lookup("news", former="i1"))).instance == "i1"


def test_a_claim_is_contested_for_some_minutes_alone() -> None:
    """A group that was begun anew rightly does not fall back to what a member of long ago says."""
    it = at_home()
    it.run(limits.LEASE_MS)
    taken = entry(it.ask(_lies(it)))
    it.run(limits.CONTEST_MS)
    assert entry(it.ask(_members(2))).instance == taken.instance == it.news.instance


def test_a_claim_by_an_operators_order_is_not_contested() -> None:
    it = at_home()
    it.run(limits.LEASE_MS)
    it.ask(Fork("news", "i1"))
    it.run(limits.FREE_MS)
    taken = entry(it.ask(Claim("news", "i1", 2, C, HOME, ())))
    assert taken.members == (C,)
    assert entry(it.ask(_members(2))).instance == taken.instance


@pytest.mark.parametrize("definition", [COPY, SIDES], ids=["copy", "sides"])
def test_where_members_may_be_unknown_a_stranger_counts_while_none_is_heard(definition: Definition) -> None:
    """1. A copy is down, and all members change. 2. C registers a view of which the copy knows nobody."""
    it = Registry()
    it.ask(_members(2, definition=definition))
    assert code(it.ask(register(9, C, instance="i1", definition=definition))) == "Stale"
    it.run(limits.LEASE_MS)
    assert entry(it.ask(register(9, C, instance="i1", definition=definition))).members == (C,)


def test_members_that_are_heard_again_have_the_entry_back() -> None:
    it = Registry()
    it.ask(_members(2, definition=COPY))
    it.run(limits.LEASE_MS)
    it.ask(register(999, X, A, instance="i1", definition=COPY))
    assert code(it.ask(_members(2, definition=COPY, detached=True))) == "Unavailable"  # it may be out of its view
    found = entry(it.ask(_members(3, definition=COPY)))
    assert (found.view, found.members) == (3, (A, B))
    assert code(it.ask(register(1000, X, instance="i1", definition=COPY))) == "Stale"


def test_a_stranger_that_told_the_truth_is_not_contested() -> None:
    """C is a member since the copy was down, and registers before A does."""
    it = Registry()
    it.ask(_members(2, definition=COPY))
    it.run(limits.LEASE_MS)
    it.ask(register(3, A, B, C, instance="i1", definition=COPY, by=C))
    assert entry(it.ask(register(4, A, B, C, instance="i1", definition=COPY))).view == 4


def test_a_stranger_that_took_an_entry_leaves_no_end_of_the_group() -> None:
    it = Registry()
    it.ask(_members(2, definition=COPY))
    it.run(limits.LEASE_MS)
    it.ask(register(9, X, instance="i1", definition=COPY))
    assert it.ask(Unregister("news", "i1", 9, X)) == Done()
    assert code(it.ask(Lookup("news", former="i1"))) == "UnknownGroup"
    assert entry(it.ask(_members(2, definition=COPY))).members == (A, B)


def test_a_group_that_was_forgotten_is_known_by_its_own_registry_as_the_older_one() -> None:
    """1. The registry forgets, and C founds the name anew. 2. A registers an id that this registry made before."""
    it = Registry()
    it.ids.founded = {"a7"}
    it.ask(Create(NEWS))
    it.ask(Claim("news", "i1", 0, C, HOME))
    assert entry(it.ask(register(4, A, B, instance="a7"))).instance == "a7"
    assert entry(it.ask(register(4, A, B, instance="a7-1-x"))).instance == "a7-1-x"
