"""Two registries for one process: each group has one home, whose word alone decides; the other holds a copy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gcom.core.directory.several import Homes, converse, found_by, registered
from gcom.core.messages.registry import (
    Answer,
    Create,
    Done,
    Entries,
    Farewell,
    Fork,
    GroupInfo,
    ListGroups,
    Lookup,
    Note,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.witness import WitnessPrepare, WitnessPromised
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.ids import CountedIds
from tests.core.registry import AWAY, HOME, NEWS, A, B, C, Registry, claim, code, entry, register, text

ONE, TWO = "one:7411", "two:7411"


class Pair:
    """Two registries, and a process that asks both."""

    def __init__(self) -> None:
        self.at = {ONE: Registry(), TWO: Registry()}
        self.at[TWO].directory._mint = CountedIds("k", 1)
        self.down: set[str] = set()
        self.homes = Homes()
        self.put: list[tuple[str, Request]] = []

    def ask(self, request: Request) -> Answer | None:
        talk = converse(request, (ONE, TWO), self.homes)
        try:
            puts = next(talk)
            while True:
                self.put += puts.items()
                puts = talk.send({at: None if at in self.down else self.at[at].ask(it) for at, it in puts.items()})
        except StopIteration as over:
            answer: Answer | None = over.value
        return answer

    def founded(self) -> GroupInfo:
        """News, with Alice in it, known to both where both are up."""
        made = entry(self._answered(Create(NEWS)))
        claimed = entry(self._answered(claim(0, instance=made.instance, process=A)))
        self.register(claimed.instance, claimed.definition, 1, A)
        return claimed

    def register(self, instance: str, definition: Definition, number: int, *members: str) -> Answer | None:
        return self.ask(register(number, *members, instance=instance, definition=definition))

    def _answered(self, request: Request) -> Answer:
        answer = self.ask(request)
        assert answer is not None
        return answer


def test_a_group_is_at_home_where_it_was_created_and_both_know_it() -> None:
    pair = Pair()
    made = pair.founded()
    assert made.definition.home == ONE
    assert [pair.at[at].news.definition.home for at in (ONE, TWO)] == ["", ONE]
    assert pair.at[TWO].news.members == (A,)
    assert entry(pair._answered(Create(NEWS))).instance == made.instance
    assert code(pair._answered(Create(Definition("news", "TOTAL")))) == "GroupExists"


def test_where_the_first_is_down_the_second_founds_and_is_the_home_for_good() -> None:
    pair = Pair()
    pair.down = {ONE}
    made = pair.founded()
    assert made.definition.home == TWO
    pair.down = set()
    pair.register(made.instance, made.definition, 2, A, B)
    assert [pair.at[at].news.definition.home for at in (ONE, TWO)] == [TWO, ""]
    assert entry(pair._answered(Lookup("news"))).definition.home == TWO


def test_no_name_is_founded_while_a_registry_starts_and_may_know_it() -> None:
    pair = Pair()
    pair.at[TWO].start(grace_ms=limits.START_GRACE_MS)
    assert code(pair._answered(Create(NEWS))) == "RegistryStarting"


def test_a_newcomer_is_told_by_whichever_answers() -> None:
    pair = Pair()
    made = pair.founded()
    for down in ({ONE}, {TWO}):
        pair.down = down
        found = entry(pair._answered(Lookup("news")))
        assert (found.instance, found.members, found.definition.home) == (made.instance, (A,), ONE)
    pair.down = {ONE, TWO}
    assert pair.ask(Lookup("news")) is None


def test_the_home_alone_is_asked_for_what_decides() -> None:
    pair = Pair()
    made = pair.founded()
    prepare = WitnessPrepare(made.instance, 1, (1, 0), "news", A)
    for request in (
        claim(1, A, instance=made.instance),
        Note("news", made.instance, 1, ((B, HOME),)),
        prepare,
        Fork("news", made.instance),
    ):
        pair.put.clear()
        assert pair.ask(request) is not None
        assert pair.put == [(ONE, request)]
        pair.down = {ONE}
        assert pair.ask(request) is None
        pair.down = set()
    assert isinstance(pair.ask(prepare), WitnessPromised)


def test_a_copy_decides_nothing_whoever_asks_it() -> None:
    """1. B is in view 2, noted at the home. 2. The copy has view 1. 3. It would give the name away while B has it."""
    pair = Pair()
    made = pair.founded()
    copy = pair.at[TWO]
    copy.run(limits.LEASE_MS + limits.START_GRACE_MS)
    asked: list[Request] = [
        claim(1, A, instance=made.instance),
        Note("news", made.instance, 1, ((B, HOME),)),
        WitnessPrepare(made.instance, 1, (1, 0), "news", A),
        WitnessPrepare(made.instance, 1, (1, 0)),
        Fork("news", made.instance),
        Remove("news"),
    ]
    for request in asked:
        assert f"only the home registry of this group, {ONE}, can answer this" in text(copy.ask(request)), request


def test_a_copy_buries_nobody() -> None:
    pair = Pair()
    made = pair.founded()
    assert not pair.at[TWO].directory.bury("news", made.instance, 1, [A])
    assert pair.at[ONE].directory.bury("news", made.instance, 1, [A])


def test_a_home_that_buried_a_group_counts_for_more_than_the_copy() -> None:
    pair = Pair()
    made = pair.founded()
    pair.at[ONE].directory.bury("news", made.instance, 1, [A])
    assert code(pair._answered(Lookup("news"))) == "UnknownGroup"
    again = pair.founded()
    assert again.instance != made.instance
    assert pair.at[TWO].news.instance == again.instance


def test_a_copy_that_forgot_is_told_again_and_stays_a_copy() -> None:
    pair = Pair()
    made = pair.founded()
    pair.at[TWO] = Registry()
    assert code(pair.at[TWO].ask(Lookup("news"))) == "UnknownGroup"
    pair.register(made.instance, made.definition, 1, A)
    assert (pair.at[TWO].news.definition.home, pair.at[TWO].news.forgot) == (ONE, False)


def test_a_home_that_forgot_is_told_again_and_knows_that_it_forgot() -> None:
    pair = Pair()
    made = pair.founded()
    pair.at[ONE] = Registry()
    pair.register(made.instance, made.definition, 1, A)
    assert (pair.at[ONE].news.definition.home, pair.at[ONE].news.forgot) == ("", True)
    prepare = WitnessPrepare(made.instance, 1, (1, 0), "news", A)
    assert "forgot" in text(pair._answered(prepare))


def test_of_two_founded_apart_the_older_stays_and_the_other_is_told() -> None:
    pair = Pair()
    pair.down = {TWO}
    first = pair.founded()
    late = Pair()
    late.at, late.down = pair.at, {ONE}
    second = late.founded()
    assert (first.definition.home, second.definition.home) == (ONE, TWO)
    pair.down = late.down = set()
    assert entry(pair.register(first.instance, first.definition, 1, A) or Done()).instance == first.instance
    told = entry(late.register(second.instance, second.definition, 1, A) or Done())
    assert told.instance == first.instance  # so its members give way
    assert {pair.at[at].news.instance for at in (ONE, TWO)} == {first.instance}


def test_the_last_one_out_unregisters_everywhere() -> None:
    pair = Pair()
    made = pair.founded()
    assert pair.ask(Unregister("news", made.instance, 1, A)) == Done()
    assert code(pair.at[ONE].ask(Lookup("news"))) == "UnknownGroup"
    assert pair.at[TWO].ask(Lookup("news")) == Farewell(Unregister("news", made.instance, 1, A))
    assert code(pair._answered(Lookup("news"))) == "UnknownGroup"
    assert code(pair._answered(Lookup("news", made.instance))) == "Dissolved"
    assert code(pair.register(made.instance, made.definition, 1, A) or Done()) == "Dissolved"


def test_one_whose_list_lacks_the_home_is_told_to_name_it() -> None:
    pair = Pair()
    made = pair.founded()
    pair.at[TWO].ask(register(2, A, instance=made.instance, definition=replace(made.definition, home="far:7411")))
    elsewhere = replace(made, definition=replace(made.definition, home="far:7411"))
    talk = converse(Lookup("news"), (ONE, TWO), Homes())
    next(talk)
    with pytest.raises(StopIteration) as over:
        talk.send({ONE: None, TWO: elsewhere})
    assert "far:7411, can answer this: name it among your registries" in text(over.value.value)


def test_lists_are_merged_by_name() -> None:
    pair = Pair()
    made = pair.founded()
    pair.down = {ONE}
    pair.ask(Create(Definition("art")))
    pair.down = set()
    listed = pair.ask(ListGroups(""))
    assert isinstance(listed, Entries)
    assert [(it.definition.group, it.definition.home) for it in listed.groups] == [("art", TWO), ("news", ONE)]
    assert listed.groups[1].instance == made.instance
    assert pair.ask(Remove("art")) == Done()
    assert code(pair._answered(Lookup("art"))) == "UnknownGroup"


def test_an_order_to_fork_is_seen_beside_a_copy_with_a_later_view() -> None:
    mine = GroupInfo(replace(NEWS, home=ONE), "k2", 1, (A,), (HOME,), True, forked=True)
    later = replace(mine, view=2, members=(A, B), addresses=(HOME, AWAY), forked=False)
    best = registered(register(1, A), {ONE: mine, TWO: later})
    assert isinstance(best, GroupInfo)
    assert (best.view, best.forked) == (2, True)


def test_without_a_home_that_is_known_nobody_is_asked() -> None:
    pair = Pair()
    assert pair.ask(Note("news", "k9", 1, ((C, AWAY),))) is None
    assert pair.put == []


def test_a_living_stranger_goes_before_an_older_one_of_whom_nobody_registers() -> None:
    old = GroupInfo(replace(NEWS, home=ONE), "a1", 3, (A,), (HOME,), alive=False)
    new = GroupInfo(replace(NEWS, home=TWO), "b1", 1, (B,), (AWAY,), alive=True)
    assert found_by({ONE: old, TWO: new}) == new
    assert found_by({ONE: old, TWO: Refusal("UnknownGroup", "")}) == old
    assert registered(register(1, A, instance="a1"), {ONE: None, TWO: new}) == new


def test_a_registration_is_put_to_all_in_the_words_of_each() -> None:
    pair = Pair()
    made = pair.founded()
    pair.put.clear()
    pair.register(made.instance, made.definition, 2, A, B)
    homes = {at: it.definition.home for at, it in pair.put if isinstance(it, Register)}
    assert homes == {ONE: "", TWO: ONE}


def test_of_a_rival_its_own_home_alone_has_a_say() -> None:
    """1. A stranger registers an older instance at a copy that heard of nobody. 2. The home is down."""
    mine = register(3, A, instance="k2", definition=replace(NEWS, home=ONE))
    rival = GroupInfo(replace(NEWS, home=ONE), "a1", 9, (C,), (AWAY,), alive=True)
    assert registered(mine, {ONE: None, TWO: rival}) is None
    assert registered(mine, {ONE: rival, TWO: None}) == rival
    at_the_copy = replace(rival, definition=replace(NEWS, home=TWO))
    assert registered(mine, {ONE: None, TWO: at_the_copy}) == at_the_copy


def test_a_home_that_was_down_hears_of_the_end_from_a_copy() -> None:
    """1. The home is down, and the last member leaves. 2. The home starts, and lists it. 3. A newcomer asks both."""
    pair = Pair()
    made = pair.founded()
    pair.down = {ONE}
    last = Unregister("news", made.instance, 1, A, b"signed by A")
    assert pair.ask(last) == Done()
    for registry in pair.at.values():
        registry.run(limits.LEASE_MS)
    assert code(pair._answered(Lookup("news"))) == "UnknownGroup"  # while the home is down, no more is known
    pair.down = set()
    assert pair.at[ONE].news.members == (A,)
    pair.put.clear()
    assert code(pair._answered(Lookup("news"))) == "UnknownGroup"
    assert (ONE, last) in pair.put
    assert entry(pair._answered(Create(NEWS))).view == 0


def test_a_copys_farewell_ends_no_group_that_somebody_registers() -> None:
    pair = Pair()
    made = pair.founded()
    pair.down = {ONE}
    pair.ask(Unregister("news", made.instance, 1, A))
    pair.down = {TWO}
    pair.register(made.instance, made.definition, 2, A, B)
    pair.down = set()
    pair.at[ONE].ask(register(2, A, B, instance=made.instance))
    assert entry(pair._answered(Lookup("news"))).members == (A, B)
