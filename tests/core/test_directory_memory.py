"""The memory of a registry: for how long, across its pauses and restarts, and as the last acceptor of a succession."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.directory.rows import Row
from gcom.core.messages.frames import Decision, Succession
from gcom.core.messages.registry import (
    Answer,
    Claim,
    Create,
    Done,
    Fork,
    GroupInfo,
    Lookup,
    Note,
    Refusal,
    Remove,
    Unregister,
)
from gcom.core.messages.witness import WitnessAccept, WitnessDecided, WitnessPassed, WitnessPrepare, WitnessPromised
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.lineage import descends
from gcom.values.names import Process
from gcom.values.view import View
from tests.core.registry import (
    AWAY,
    HOME,
    LOOSE,
    NEWS,
    PAUSE_MS,
    SIDES,
    A,
    B,
    C,
    Registry,
    claim,
    code,
    directory,
    entry,
    others,
    register,
    text,
    view,
)

# its own time


def test_for_a_grace_after_its_start_no_name_is_given_away_known_or_not() -> None:
    it = Registry(grace_ms=limits.START_GRACE_MS)
    for request in (Lookup("news"), Create(NEWS)):
        answer = it.ask(request)
        assert code(answer) == "RegistryStarting"
        assert "'news'" in text(answer)
    it.ask(register(3, A, B))  # the group is the truth, and is heard at once
    assert it.news.members == (A, B)
    it.run(limits.START_GRACE_MS - 1)
    assert it.directory.grace_ms
    assert code(it.ask(claim(3, A, B))) == "RegistryStarting"  # all dead, the lease over: but others may register
    it.run(1)
    assert not it.directory.grace_ms
    assert entry(it.ask(claim(3, A, B))).instance == "k2-1-1"


def test_an_empty_name_that_was_known_is_not_given_away_while_it_starts_either() -> None:
    it = directory()
    it.ask(Create(NEWS))
    it.start(limits.START_GRACE_MS)
    assert code(it.ask(Claim("news", "i1", 0, A, HOME))) == "RegistryStarting"
    it.run(limits.START_GRACE_MS)
    assert entry(it.ask(Claim("news", "i1", 0, A, HOME))).members == (A,)


def test_leases_count_the_time_that_it_ran() -> None:
    """1. A leader registers. 2. The registry is stopped for a minute, and so cannot be told. 3. A claim comes first."""
    it = directory()
    it.ask(register(3, A, B))
    it.pause(60_000)
    assert it.news.alive
    assert code(it.ask(claim(3, A, B))) == "Stale"


def test_after_a_pause_of_its_own_it_waits_until_all_had_the_time_to_register() -> None:
    it = directory()
    it.ask(register(3, A, B))
    it.run(limits.LEASE_MS)
    it.pause(PAUSE_MS)
    assert code(it.ask(claim(3, A, B))) == "RegistryStarting"
    assert code(it.ask(Create(Definition.parse("other")))) == "RegistryStarting"
    it.run(2 * limits.RENEW_MS - 1)
    assert code(it.ask(claim(3, A, B))) == "RegistryStarting"
    it.run(1)
    assert entry(it.ask(claim(3, A, B))).instance == "k2-1-1"


def test_a_busy_registry_is_not_a_paused_one() -> None:
    it = directory()
    it.pause(PAUSE_MS - 1)
    assert entry(it.ask(Create(NEWS))).view == 0


def test_a_grace_counts_the_time_that_it_ran() -> None:
    it = Registry(grace_ms=limits.FORGOTTEN_GRACE_MS)
    it.run(limits.RENEW_MS)
    it.pause(60_000)
    assert code(it.ask(Create(NEWS))) == "RegistryStarting"
    assert it.directory.grace_ms == limits.FORGOTTEN_GRACE_MS - limits.RENEW_MS - 2 * limits.TICK_MS


# what outlives it


def test_another_life_knows_all_but_leases() -> None:
    it = directory()
    it.ask(register(3, A, B))
    it.ask(register(2, A, B, "yan#1", by="yan#1"))
    it.ask(Note("news", "k2", 3, (("dan#1", AWAY),)))
    before = it.news
    it.start()
    assert it.news == replace(before, alive=False)  # in doubt: nobody has registered in this life
    assert others(it.news) == {"dan#1", "yan#1"}
    assert code(it.ask(claim(3, A, B))) == "Stale"


def test_a_renewal_costs_no_write() -> None:
    it = directory()
    it.ask(register(3, A, B))
    writes = it.disk.writes
    for _ in range(10):
        it.run(limits.RENEW_MS)
        it.ask(register(3, A, B))
    assert it.disk.writes == writes
    it.ask(register(4, A))
    assert it.disk.writes == writes + 1


# notes


def test_who_is_noted_counts_as_a_member_until_a_later_view_is_registered() -> None:
    it = directory()
    it.ask(register(3, A))
    assert it.ask(Note("news", "k2", 3, ((B, AWAY),))) == Done()
    assert it.ask(register(3, A)) == replace(it.news, others=((B, AWAY),))
    it.ask(register(4, A))
    assert others(it.news) == set()  # the view was decided without it


def test_notes_of_one_view_add_up_and_those_of_the_next_begin_anew() -> None:
    """A leader notes, dies, and the next one notes others: each may have installed the view."""
    it = directory()
    it.ask(register(3, A))
    it.ask(Note("news", "k2", 3, ((B, AWAY),)))
    it.ask(Note("news", "k2", 3, ((C, AWAY),)))
    assert others(it.news) == {B, C}
    it.ask(register(4, A, B))
    it.ask(Note("news", "k2", 4, (("dan#1", AWAY),)))
    assert others(it.news) == {"dan#1"}


@pytest.mark.parametrize(("instance", "number"), [("k2", 2), ("k2", 4), ("k1", 3)])
def test_a_note_is_of_the_view_that_is_registered(instance: str, number: int) -> None:
    """1. A leader whose view is over notes a joiner. 2. If that were kept, a later view would drop it again."""
    it = directory()
    it.ask(register(3, A))
    assert code(it.ask(Note("news", instance, number, ((B, AWAY),)))) == "Stale"
    assert it.news.others == ()


def test_so_many_are_noted_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEATS_MAX", 2)
    it = directory()
    it.ask(register(3, A))
    it.ask(Note("news", "k2", 3, ((B, AWAY), (C, AWAY))))
    assert code(it.ask(Note("news", "k2", 3, (("dan#1", AWAY),)))) == "Unavailable"
    assert it.ask(Note("news", "k2", 3, ((B, AWAY),))) == Done()
    assert others(it.news) == {B, C}


# an operator's order


def test_an_order_to_fork_names_the_instance_and_is_seen_by_its_members() -> None:
    it = directory()
    it.ask(register(3, A, B))
    assert code(it.ask(Fork("other", "k2"))) == "UnknownGroup"
    assert code(it.ask(Fork("news", "k3"))) == "Unavailable"
    assert entry(it.ask(Fork("news", "k2"))).forked
    assert entry(it.ask(register(3, A, B, by=B, detached=True))).forked
    assert code(it.ask(claim(3))) == "Stale"  # a newcomer has no state to go on with


def test_an_order_frees_the_name_once_all_who_are_left_had_the_time_to_obey_it() -> None:
    it = directory()
    it.ask(register(3, A, B))
    it.run(limits.LEASE_MS)
    it.ask(Fork("news", "k2"))
    it.run(limits.FREE_MS - 1)
    assert code(it.ask(claim(3))) == "Stale"
    it.run(1)
    assert entry(it.ask(claim(3))).instance == "k2-1.1-1"  # begun anew: A or B may live, with what the group had


def test_by_an_order_too_who_has_what_was_before_is_told_by_the_id_where_all_others_are_gone() -> None:
    it = directory()
    it.ask(register(3, A, B))
    it.run(limits.LEASE_MS)
    it.ask(Fork("news", "k2"))
    it.run(limits.FREE_MS)
    assert entry(it.ask(claim(3, A, B))).instance == "k2-1-1"


def test_an_order_frees_no_name_of_a_group_in_service() -> None:
    it = directory()
    it.ask(register(3, A, B))
    it.run(limits.LEASE_MS)
    it.ask(Fork("news", "k2"))
    it.run(limits.FREE_MS)
    it.ask(register(3, A, B))
    assert code(it.ask(claim(3))) == "Stale"


def test_a_quorum_that_is_heard_again_voids_an_order_to_fork() -> None:
    it = directory()
    it.ask(register(3, A, B))
    it.ask(Fork("news", "k2"))
    assert not entry(it.ask(register(3, A, B))).forked


def test_an_order_to_fork_runs_out_and_an_empty_group_needs_none() -> None:
    it = directory()
    it.ask(Create(NEWS))
    assert code(it.ask(Fork("news", "i1"))) == "Unavailable"
    it.ask(register(3, A, B, instance="i1"))
    it.ask(Fork("news", "i1"))
    it.run(limits.FORK_MS - 1)
    assert it.news.forked
    it.run(1)
    assert not it.news.forked


# the end of a group


@pytest.mark.parametrize(
    ("instance", "number", "forgotten"), [("k2", 3, True), ("k2", 4, True), ("k2", 2, False), ("k3", 3, False)]
)
def test_unregistering_view_3_of_k2(instance: str, number: int, forgotten: bool) -> None:
    it = directory()
    it.ask(register(3))
    answer = it.ask(Unregister("news", instance, number, A))
    assert (answer == Done()) is forgotten
    assert isinstance(it.ask(Lookup("news")), Refusal) is forgotten
    assert it.ask(Unregister("other", "k2", 3, A)) == Done()


def dissolved(instance: str = "k2") -> Registry:
    """All have left its view 3; another life of the registry knows it, too."""
    it = directory()
    it.ask(register(3, A, B, instance=instance))
    it.ask(Unregister("news", instance, 3, B))
    it.start()
    return it


def test_a_member_that_was_cut_off_is_told_that_all_have_left() -> None:
    it = dissolved()
    for request in (register(2, A, C, by=C, detached=True), Lookup("news", former="k2")):
        answer = it.ask(request)
        assert code(answer) == "Dissolved"
        assert "view 3" in text(answer)
    assert code(it.ask(Lookup("news"))) == "UnknownGroup"  # a newcomer lost nothing
    assert code(it.ask(Lookup("news", former="k1"))) == "UnknownGroup"


def test_a_member_of_a_predecessor_is_told_so_too() -> None:
    it = dissolved("k2-1-a")
    assert code(it.ask(register(9, A, B, instance="k2", by=B, detached=True))) == "Superseded"
    assert entry(it.ask(register(9, A, B, instance="k2-2-b"))).instance == "k2-2-b"


def test_it_stays_dissolved_when_a_newcomer_has_founded_the_name_again() -> None:
    """And what was founded stands above what was left: there is no way back for one that was cut off."""
    it = dissolved()
    begun = entry(it.ask(Create(NEWS)))
    assert (begun.after, descends(begun.instance, "k2")) == (("k2", 3), True)
    it.ask(Claim("news", begun.instance, 0, C, HOME))
    assert code(it.ask(register(2, A, B, by=B))) == "Dissolved"
    assert it.news.members == (C,)


def test_it_stays_dissolved_when_the_name_was_made_again_with_another_definition() -> None:
    """One that was cut off is told so; else it would wait for good, or put what is over in place of what is new."""
    for claims in (False, True):
        it = dissolved()
        begun = entry(it.ask(Create(LOOSE)))
        if claims:
            it.ask(Claim("news", begun.instance, 0, C, HOME))
        for detached in (False, True):
            assert code(it.ask(register(2, A, B, by=B, detached=detached))) == "Dissolved"
        assert it.news.definition == LOOSE


def test_who_was_put_out_may_have_the_name_until_it_is_back() -> None:
    it = directory()
    it.ask(register(3, A, B, C))
    it.ask(replace(register(4, A, B), away=((C, AWAY),)))
    it.start()
    assert it.news.others == ((C, AWAY),)
    it.run(limits.LEASE_MS)
    assert not it.directory.bury("news", "k2", 4, [A, B])
    assert code(it.ask(Claim("news", "k2", 4, "dave#1", HOME, (A, B)))) == "Stale"
    it.ask(register(5, A, B, "carol#2"))
    assert it.news.others == ((C, AWAY),)  # another life under the name: the first may have what the group had
    back = View(6, (A, B, "carol#3"), (HOME, HOME, AWAY))
    it.ask(replace(register(6, A, B), view=back))
    assert not it.news.others


def test_who_is_on_its_way_back_may_have_the_name_when_another_has_begun_it_anew() -> None:
    it = directory()
    it.ask(register(3, A, B, C))
    it.start()
    it.run(limits.LEASE_MS)
    begun = entry(it.ask(replace(claim(3, A, B, C, process="bob#2"), away=((C, "c:9"),))))
    assert begun.others == ((C, "c:9"),)
    it.run(limits.LEASE_MS)
    empty = Claim("news", begun.instance, 1, "dave#1", HOME, ("bob#2",))
    assert code(it.ask(empty)) == "Stale"
    back = View(2, ("bob#2", "carol#2"), (AWAY, "c:9"))
    it.ask(replace(register(2, "bob#2", instance=begun.instance), view=back))
    assert not it.news.others


def test_a_detached_member_does_not_keep_the_name_from_a_group_in_service() -> None:
    it = directory()
    it.ids.founded = {"k2"}
    it.ask(register(2, "dave#1", instance="k9"))
    it.ask(register(3, A, B, C))  # founded earlier; it wakes, and has not missed the others yet
    assert it.news.instance == "k2"
    it.run(limits.LEASE_MS)
    it.ask(replace(register(3, A, B, C), detached=True))
    it.ask(register(2, "dave#1", instance="k9"))
    assert it.news.instance == "k9"
    assert {who for who, _ in it.news.others} == {A, B, C}
    answer = it.ask(replace(register(3, A, B, C), detached=True))
    assert isinstance(answer, GroupInfo)
    assert answer.instance == "k9"


def test_sides_that_are_dead_leave_no_tombstone_to_one_that_was_put_out() -> None:
    it = directory()
    it.ask(replace(register(4, A, B), definition=SIDES))
    it.run(limits.LEASE_MS)
    assert it.directory.bury("news", "k2", 4, [A, B])
    assert isinstance(it.ask(replace(register(3, C), definition=SIDES, detached=True)), GroupInfo)


def test_the_oldest_tombstone_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DISSOLVED_MAX", 2)
    it = directory()
    for group, instance in (("a", "k2"), ("b", "k2"), ("a", "k3"), ("c", "k2")):
        it.ask(register(3, instance=instance, definition=Definition.parse(group)))
        it.ask(Unregister(group, instance, 3, A))
    it.start()
    asked = [Lookup("a", former="k3"), Lookup("b", former="k2"), Lookup("c", former="k2")]
    assert [code(it.ask(each)) for each in asked] == ["Dissolved", "UnknownGroup", "Dissolved"]


def test_only_a_group_without_members_is_removed() -> None:
    it = directory()
    it.ask(Create(NEWS))
    assert it.ask(Remove("news")) == Done()
    it.ask(register(3, A, B))
    answer = it.ask(Remove("news"))
    assert code(answer) == "GroupInUse"
    assert "2 members (alice, bob)" in text(answer)
    assert "gcom fork" not in text(answer)
    it.run(limits.LEASE_MS)
    answer = it.ask(Remove("news"))
    assert code(answer) == "GroupInUse"  # doubted is not dead
    assert "2 members (alice, bob): a group can be removed when all have left it" in text(answer)
    assert "no member has registered for 4 s: to give up those who never come back: gcom fork news" in text(answer)
    it.start(limits.START_GRACE_MS)
    assert "gcom fork" not in text(it.ask(Remove("news")))  # they may register in a moment


def test_a_group_is_buried_when_all_that_are_known_are_dead() -> None:
    it = directory()
    it.ask(register(3, A, B))
    it.ask(Note("news", "k2", 3, ((C, AWAY),)))
    assert not it.directory.bury("news", "k2", 3, [A, B])
    assert not it.directory.bury("news", "k2", 2, [A, B, C])
    assert not it.directory.bury("news", "k1", 3, [A, B, C])
    assert not it.directory.bury("other", "k2", 3, [A, B, C])
    assert it.directory.bury("news", "k2", 3, [A, B, C])
    assert code(it.ask(Lookup("news", former="k2"))) == "Dissolved"


# as the last acceptor of a succession


BALLOT = (1, 1)
LEFT = View(4, (B,), (HOME,))
MADE = Succession("k2-1-1", "proof", {A: "dead"}, ())
SUCCESSION = Decision(LEFT, (), {A: "dead"}, {A: 4, B: 7}, succession=MADE)


def promises(
    it: Registry, ballot: tuple[int, int] = BALLOT, instance: str = "k2", number: int = 3, by: Process = B
) -> Answer:
    return it.ask(WitnessPrepare(instance, number, ballot, "news", by))


def accepts(it: Registry, ballot: tuple[int, int] = BALLOT, decision: Decision = SUCCESSION) -> Answer:
    return it.ask(WitnessAccept("k2", 3, ballot, decision, "news"))


def test_whose_session_was_over_in_a_succession_may_have_the_name() -> None:
    it = known()
    promises(it)
    ended = replace(SUCCESSION, succession=replace(MADE, gone={A: "ended"}))
    assert isinstance(accepts(it, decision=ended), WitnessDecided)
    assert it.news.instance == "k2-1-1"
    assert others(it.ask(Lookup("news"))) == {A}


def known() -> Registry:
    """A registry that was there from the start, and knows view 3 of `k2`, with A and B."""
    it = directory()
    it.disk.save(Row(NEWS, "k2", view(3, A, B)))
    it.start()
    it.ask(register(3, A, B))
    return it


def test_it_names_all_who_may_be_in_a_later_view() -> None:
    it = known()
    assert promises(it) == WitnessPromised(3, BALLOT)
    it.ask(Note("news", "k2", 3, ((C, AWAY),)))
    it.ask(register(1, A, "yan#1", by="yan#1"))  # in no later view: it was in an older one
    assert promises(it) == WitnessPromised(3, BALLOT, ((C, AWAY),))
    assert promises(it, number=2) == WitnessPassed(3)
    it.ask(Note("news", "k2", 3, (("dan#1", HOME),)))
    it.ask(register(4, A, "dan#1", by="dan#1"))
    assert promises(it, by=A) == WitnessPromised(3, BALLOT, ((A, HOME), ("dan#1", HOME)))
    it.ask(Note("news", "k2", 4, ((C, AWAY),)))
    assert promises(it, by=A) == WitnessPromised(3, BALLOT, ((C, AWAY), (A, HOME), ("dan#1", HOME)))


def test_it_gives_no_promise_to_one_that_a_later_view_goes_on_without() -> None:
    it = known()
    it.ask(register(4, A, by=A))
    assert promises(it, by=A) == WitnessPromised(3, BALLOT, ((A, HOME),))
    assert promises(it, by=B) == WitnessPassed(4)
    it.ask(register(6, A, "dan#1", by=A))
    it.ask(register(7, "dan#1", by="dan#1"))  # nobody of view 3 is left
    assert promises(it, by=B) == promises(it, by=A) == WitnessPassed(7)


def test_a_registry_that_forgot_and_learned_of_a_later_view_says_so_too() -> None:
    it = directory()
    it.ask(register(7, "dan#1", by="dan#1"))
    assert promises(it, by=B) == WitnessPassed(7)
    assert code(promises(it, number=7, by="dan#1")) == "Unavailable"  # it does not know who was noted
    it.ask(Fork("news", "k2"))
    assert promises(it, by=B) == WitnessPassed(7)


def test_what_it_accepts_last_is_the_group_now() -> None:
    it = known()
    promises(it)
    assert accepts(it) == WitnessDecided(3, SUCCESSION, BALLOT)
    assert it.news == GroupInfo(NEWS, "k2-1-1", 1, (B,), (HOME,), alive=True, after=("k2", 3))
    for again in (accepts(it), promises(it, (9, 0)), it.ask(register(3, A, B, by=B, detached=True))):
        assert again == WitnessDecided(3, SUCCESSION, BALLOT)
    it.start()
    assert it.news.instance == "k2-1-1"


def test_it_accepts_only_what_it_promised() -> None:
    it = known()
    assert not isinstance(accepts(it), WitnessDecided)
    promises(it, (2, 0))
    assert not isinstance(accepts(it), WitnessDecided)
    assert it.news.instance == "k2"


def test_it_is_no_acceptor_of_an_instance_that_it_does_not_have() -> None:
    it = directory()
    assert code(promises(it)) == "Unavailable"
    it.ask(register(3, A, B))
    assert code(promises(it, instance="k1")) == "Unavailable"


def test_of_a_group_that_it_forgot_it_needs_an_operators_order() -> None:
    """1. It has noted C for view 4 of A and B. 2. It loses its disk, and A dies. 3. B registers, and would begin a
    successor beside C, of which nobody could tell it.
    """
    it = directory()
    it.ask(register(3, A, B, detached=True))
    answer = promises(it)
    assert code(answer) == "Unavailable"
    assert "gcom fork news" in text(answer)
    it.start()
    assert code(promises(it)) == "Unavailable"  # it does not forget that it forgot
    it.ask(Fork("news", "k2"))
    assert isinstance(promises(it), WitnessPromised)


def test_a_group_that_it_founded_is_none_that_it_forgot() -> None:
    it = directory()
    it.ask(Create(NEWS))
    it.ask(Claim("news", "i1", 0, A, HOME))
    it.ask(register(2, A, B, instance="i1"))
    it.start()
    assert isinstance(promises(it, instance="i1", number=2), WitnessPromised)


def test_after_a_fork_that_nobody_obeys_the_group_can_be_removed() -> None:
    """Its members left while the registry was down, and nobody can say so: its operator gives them up."""
    it = directory()
    it.ask(register(3, A, B))
    it.run(limits.LEASE_MS)
    assert "gcom fork news" in text(it.ask(Remove("news")))
    it.ask(Fork("news", "k2"))
    assert "remove it in 10 s" in text(it.ask(Remove("news")))
    it.run(limits.FREE_MS)
    assert it.ask(Remove("news")) == Done()
    assert code(it.ask(register(3, A, B, detached=True))) == "Dissolved"
