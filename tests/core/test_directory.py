"""The directory: its table, row by row, and against a twin that keeps only the history."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core import directory_codec as codec
from gcom.core.directory import PAGE_BYTES, Directory
from gcom.core.frames import Decision, Succession
from gcom.core.requests import (
    Answer,
    Claim,
    Create,
    Done,
    Entries,
    Entry,
    Fork,
    ListGroups,
    Lookup,
    Note,
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.rows import Dissolved, Row, Store
from gcom.core.witness import Witness, WitnessAccept, WitnessDecided, WitnessPassed, WitnessPrepare, WitnessPromised
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.lineage import descends, precedence, successor
from gcom.values.view import View

NEWS = Definition.parse("news")
LOOSE = Definition.parse("news", ordering="NONORDERED")
SIDES = Definition.parse("news", netsplit="PARTITIONABLE")
A, B, C = "alice#1", "bob#1", "carol#1"
HOME, AWAY = "127.0.0.1:1001", "127.0.0.1:1002"
PAUSE_MS = 2 * limits.TICK_MS + limits.LAG_MS + 1  # a step that is longer than any that a running registry makes


class Disk(Store):
    """What was written, in the form in which it is on a disk."""

    def __init__(self) -> None:
        self.written: dict[str, bytes] = {}
        self.buried: dict[str, Dissolved] = {}
        self.writes = 0

    def rows(self) -> list[Row]:
        return [codec.decode_row(data) for data in self.written.values()]

    def dissolved(self) -> list[Dissolved]:
        return list(self.buried.values())

    def save(self, row: Row) -> None:
        self.writes += 1
        self.written[row.definition.group] = codec.encode_row(row)

    def drop(self, group: str) -> None:
        del self.written[group]

    def bury(self, gone: Dissolved) -> None:
        self.buried[gone.group] = gone

    def forget(self, group: str) -> None:
        del self.buried[group]


class Registry:
    """A directory, and the time that passes for it."""

    def __init__(self, grace_ms: int = 0, disk: Disk | None = None) -> None:
        self.disk = disk or Disk()
        self.now_ms = 0
        self._ids = itertools.count(1)
        self._votes = Witness((), lambda record: None)
        self.start(grace_ms)

    def start(self, grace_ms: int = 0) -> None:
        """Another life: it knows only what is on its disk."""
        self.directory = Directory(lambda: f"i{next(self._ids)}", self._votes, self.disk, grace_ms=grace_ms)
        self.directory.tick(self.now_ms)

    def ask(self, request: Request) -> Answer:
        return self.directory.ask(request, self.now_ms)

    def run(self, duration_ms: int) -> None:
        """It runs for so long."""
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.now_ms = min(end_ms, self.now_ms + limits.TICK_MS)
            self.directory.tick(self.now_ms)

    def pause(self, duration_ms: int) -> None:
        """It stands still for so long, and does not know it yet."""
        self.now_ms += duration_ms

    @property
    def news(self) -> Entry:
        return entry(self.ask(Lookup("news")))


def directory() -> Registry:
    return Registry()


def entry(answer: Answer) -> Entry:
    assert isinstance(answer, Entry), answer
    return answer


def code(answer: Answer) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def text(answer: Answer) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.text


def view(number: int, *members: str) -> View:
    return View(number, members or (A,), tuple(HOME for _ in members or (A,)))


def register(
    number: int,
    *members: str,
    instance: str = "k2",
    by: str = "",
    detached: bool = False,
    definition: Definition = NEWS,
) -> Register:
    """A member, the oldest one unless it is said, registers its view."""
    here = view(number, *members)
    return Register(definition, instance, here, by or here.leader, detached)


def claim(number: int, *gone: str, instance: str = "k2", process: str = C) -> Claim:
    return Claim("news", instance, number, process, AWAY, gone)


def others(answer: Answer) -> set[str]:
    return {process for process, _ in entry(answer).others}


def test_racing_creates_of_one_definition_are_one_group() -> None:
    it = directory()
    first, second = it.ask(Create(NEWS)), it.ask(Create(NEWS))
    assert first == second == Entry(NEWS, "i1", 0, (), (), alive=False)


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
    assert won == Entry(NEWS, "i1", 1, (A,), (HOME,), alive=True)
    assert code(it.ask(Claim("news", "i1", 0, B, AWAY))) == "Stale"
    assert it.news == won


def test_a_claim_whose_answer_was_lost_is_granted_again() -> None:
    it = directory()
    it.ask(Create(NEWS))
    asked = Claim("news", "i1", 0, A, HOME)
    assert it.ask(asked) == it.ask(asked)


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
        assert answer == Entry(NEWS, outcome, 1, (B,), (AWAY,), alive=True, after=("i1", 1))


def test_a_name_is_given_away_only_when_nobody_who_may_have_it_is_left() -> None:
    """A member of the view, one that was noted for the next, one that is behind, and one of another instance."""
    it = directory()
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
    assert it.ask(claim(2, *known)) == Entry(NEWS, "k2-1-1", 1, (C,), (AWAY,), alive=True, after=("k2", 2))


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
        (NEWS, "k2", 9, (B,), limits.LEASE_MS, ""),
        (NEWS, "k2", 3, (B,), 1, "Stale"),  # a view is decided once
        (NEWS, "k1", 1, (B,), 1, ""),  # another instance, founded earlier
        (LOOSE, "k1", 1, (B,), 1, "GroupExists"),
        (LOOSE, "k1", 1, (B,), limits.LEASE_MS, ""),  # doubted
    ],
)
def test_registering_where_view_3_of_k2_is_known(
    definition: Definition, instance: str, number: int, members: tuple[str, ...], runs_ms: int, refused: str
) -> None:
    it = directory()
    before = it.ask(register(3, A))
    it.run(runs_ms)
    answer = it.ask(register(number, *members, instance=instance, definition=definition))
    if refused:
        assert code(answer) == refused
        assert it.news == before
    else:
        found = entry(answer)
        assert (found.definition, found.instance, found.view, found.members) == (definition, instance, number, members)
        assert found.alive
        assert it.news == answer


def test_an_older_view_changes_nothing_but_is_remembered() -> None:
    """Who is behind may be cut off, and may have the name as far as anybody knows."""
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
    crowd = [f"m{number}#1" for number in range(9)]
    it.ask(register(90 if many == "first" else 1, *(crowd if many == "first" else [A]), instance=first))
    answer = entry(
        it.ask(register(90 if many == "second" else 1, *(crowd if many == "second" else [B]), instance=second))
    )
    assert answer.instance == it.news.instance == holds
    loser = second if holds == first else first
    for number in (100, 200):  # it does not come back by growing
        assert entry(it.ask(register(number, *crowd, "late#1", instance=loser))).instance == holds


@pytest.mark.parametrize(
    ("members", "number", "holds"),
    [((A, B), 1, "k3"), ((B,), 9, "k3"), ((B,), 3, "k2"), ((B,), 2, "k2")],
)
def test_where_sides_merge_size_decides(members: tuple[str, ...], number: int, holds: str) -> None:
    it = directory()
    it.ask(register(3, A, definition=SIDES))
    assert entry(it.ask(register(number, *members, instance="k3", definition=SIDES))).instance == holds
    assert it.news.instance == holds


def test_a_detached_member_displaces_no_instance_in_service_but_is_remembered() -> None:
    it = directory()
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
    assert it.directory.starting
    assert code(it.ask(claim(3, A, B))) == "RegistryStarting"  # all dead, the lease over: but others may register
    it.run(1)
    assert not it.directory.starting
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
    assert it.news == replace(before, alive=False, detached=True)
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
    answer = it.ask(Unregister("news", instance, number))
    assert (answer == Done()) is forgotten
    assert isinstance(it.ask(Lookup("news")), Refusal) is forgotten
    assert it.ask(Unregister("other", "k2", 3)) == Done()


def dissolved(instance: str = "k2") -> Registry:
    """All have left its view 3; another life of the registry knows it, too."""
    it = directory()
    it.ask(register(3, A, B, instance=instance))
    it.ask(Unregister("news", instance, 3))
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
    assert code(it.ask(register(9, A, B, instance="k2", by=B, detached=True))) == "Dissolved"
    assert entry(it.ask(register(9, A, B, instance="k2-2-b"))).instance == "k2-2-b"


def test_it_stays_dissolved_when_a_newcomer_has_founded_the_name_again() -> None:
    """And what was founded stands above what was left: there is no way back for one that was cut off."""
    it = dissolved()
    begun = entry(it.ask(Create(NEWS)))
    assert (begun.after, descends(begun.instance, "k2")) == (("k2", 3), True)
    it.ask(Claim("news", begun.instance, 0, C, HOME))
    assert code(it.ask(register(2, A, B, by=B))) == "Dissolved"
    assert it.news.members == (C,)


def test_the_oldest_tombstone_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DISSOLVED_MAX", 2)
    it = directory()
    for group in ("a", "b", "a", "c"):
        it.ask(Unregister(group, "k2", 3))
    it.start()
    kept = [group for group in "abc" if code(it.ask(Lookup(group, former="k2"))) == "Dissolved"]
    assert kept == ["a", "c"]


def test_only_a_group_without_members_is_removed() -> None:
    it = directory()
    it.ask(Create(NEWS))
    assert it.ask(Remove("news")) == Done()
    it.ask(register(3, A, B))
    answer = it.ask(Remove("news"))
    assert code(answer) == "GroupInUse"
    assert "2 members (alice, bob)" in text(answer)
    it.run(limits.LEASE_MS)
    answer = it.ask(Remove("news"))
    assert code(answer) == "GroupInUse"  # doubted is not dead
    assert "2 members (alice, bob), which nothing proves to be dead" in text(answer)


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


def promises(it: Registry, ballot: tuple[int, int] = BALLOT, instance: str = "k2", number: int = 3) -> Answer:
    return it.ask(WitnessPrepare(instance, number, ballot, "news"))


def accepts(it: Registry, ballot: tuple[int, int] = BALLOT, decision: Decision = SUCCESSION) -> Answer:
    return it.ask(WitnessAccept("k2", 3, ballot, decision, "news"))


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
    it.ask(register(4, A, "dan#1", by="dan#1"))
    assert promises(it) == WitnessPromised(3, BALLOT, ((A, HOME), ("dan#1", HOME)))
    it.ask(Note("news", "k2", 4, ((C, AWAY),)))
    assert promises(it) == WitnessPromised(3, BALLOT, ((C, AWAY), (A, HOME), ("dan#1", HOME)))


def test_what_it_accepts_last_is_the_group_now() -> None:
    it = known()
    promises(it)
    assert accepts(it) == WitnessDecided(3, SUCCESSION, BALLOT)
    assert it.news == Entry(NEWS, "k2-1-1", 1, (B,), (HOME,), alive=True, after=("k2", 3))
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


# --- against a twin ---------------------------------------------------------------------------------------------

GROUPS = ("g", "h")
groups = st.sampled_from(GROUPS)
definitions = st.builds(Definition.parse, groups, st.sampled_from(["FIFO", "NONORDERED"]))
instances = st.sampled_from(["i1", "i2", "i1-1-1", "i2-1-1", "k1", "k2"])
numbers = st.integers(0, 3)
processes = st.sampled_from([A, B])
seats = st.lists(st.tuples(st.sampled_from([A, C]), st.just(AWAY)), max_size=2, unique=True).map(tuple)
registers = st.builds(
    lambda definition, instance, number, members, last, detached: register(
        number,
        *members,
        instance=instance,
        by=members[-1] if last else members[0],
        detached=detached,
        definition=definition,
    ),
    definitions,
    instances,
    st.integers(1, 3),
    st.lists(processes, min_size=1, max_size=2, unique=True),
    st.booleans(),
    st.booleans(),
)
requests = st.one_of(
    st.builds(Create, definitions),
    st.builds(Lookup, groups, st.one_of(st.just(""), instances)),
    st.builds(
        Claim,
        groups,
        instances,
        numbers,
        processes,
        st.just(HOME),
        st.sampled_from([(), (A,), (A, B), (A, B, C)]),
    ),
    registers,
    st.builds(Note, groups, instances, numbers, seats),
    st.builds(Unregister, groups, instances, numbers),
    st.builds(Remove, groups),
    st.builds(Fork, groups, instances),
    st.just(ListGroups()),
)
# What passes before a request, and whether the registry itself stands still meanwhile.
pauses = st.sampled_from([(0, False), (1, False), (500, False), (limits.LEASE_MS, False), (60_000, True)])
Step = tuple[tuple[int, bool], Request]
steps = st.lists(st.tuples(pauses, requests), max_size=40)


@dataclass
class Known:
    """What the twin knows of a name: its present instance, and who may be in it or beside it."""

    definition: Definition
    instance: str
    number: int = 0
    members: tuple[str, ...] = ()
    renewed: int | None = None
    forked: int | None = None
    noted: set[str] = field(default_factory=set)  # for the view after `number`
    beside: set[str] = field(default_factory=set)

    def all(self) -> set[str]:
        return {*self.members, *self.noted, *self.beside}


@dataclass
class Twin:
    """Says of a request whether it is refused, and what is true after it; it has a clock that it is told."""

    last: dict[str, Known] = field(default_factory=dict)
    over: dict[str, tuple[str, int]] = field(default_factory=dict)
    now: int = 0
    grace_until: int = 0
    minted: int = 0

    def mint(self) -> str:
        self.minted += 1
        return f"i{self.minted}"

    def alive(self, group: str) -> bool:
        renewed = self.last[group].renewed
        return renewed is not None and self.now < renewed + limits.LEASE_MS

    def fork(self, group: str) -> bool:
        forked = self.last[group].forked
        return forked is not None and self.now < forked + limits.FORK_MS

    def is_over(self, group: str, instance: str) -> bool:
        gone = self.over.get(group, ("", 0))[0]
        return bool(gone) and (gone == instance or descends(gone, instance))

    def accepts(self, request: Request) -> bool:
        """Whether the answer is none of a refusal."""
        starting = self.now < self.grace_until
        if isinstance(request, ListGroups):
            return True
        group = request.definition.group if isinstance(request, Create | Register) else getattr(request, "group")  # noqa: B009
        it = self.last.get(group)
        match request:
            case Create(definition):
                return it.definition == definition if it else not starting
            case Register(definition, instance):
                same = it is not None and it.instance == instance and it.definition == definition
                if it is None or (it.definition == definition and not same and not self.is_over(group, instance)):
                    return it is not None or not self.is_over(group, instance)
                if it.definition != definition:
                    return not self.alive(group)
                rewrites = request.view.number == it.number and request.view.members != it.members
                return same and not rewrites
            case Unregister(_, instance, number):
                return it is None or (it.instance == instance and it.number <= number)
            case Claim(_, instance, number, process, _, gone) if it:
                if it.number == 1 and it.members == (process,):
                    return True
                nobody = it.number == 0 or (not self.alive(group) and it.all() <= set(gone))
                return (it.instance, it.number) == (instance, number) and nobody and not starting
            case Note(_, instance, number) if it:
                return (it.instance, it.number) == (instance, number)
            case Fork(_, instance) if it:
                return it.instance == instance and it.number > 0
            case Remove() if it:
                return it.number == 0
            case _:
                return it is not None

    def apply(self, request: Request) -> None:
        """What an accepted request changes."""
        match request:
            case Create(definition) if definition.group not in self.last:
                minted, before = self.mint(), self.over.get(definition.group)
                self.last[definition.group] = Known(definition, successor(before[0], minted) if before else minted)
            case Register():
                self.register(request, request.definition.group)
            case Claim(group, _, _, process):
                it = self.last[group]
                if not (it.number == 1 and it.members == (process,)):
                    fresh = it.instance if it.number == 0 else successor(it.instance, process.partition("#")[2])
                    kept = it if it.number == 0 else Known(it.definition, fresh)
                    kept.number, kept.members, kept.renewed = 1, (process,), self.now
                    self.last[group] = kept
            case Note(group, _, _, joiners):
                self.last[group].noted |= {process for process, _ in joiners}
            case Fork(group):
                self.last[group].forked = self.now
            case Unregister(group, instance, number):
                self.last.pop(group, None)
                self.over[group] = (instance, number)
            case Remove(group):
                del self.last[group]
            case _:
                pass

    def register(self, request: Register, group: str) -> None:
        it, new, members = self.last.get(group), request.view.number, request.view.members
        renewed = None if request.detached else self.now
        fresh = Known(request.definition, request.instance, new, members, renewed)
        if it is None or it.number == 0 or it.definition != request.definition:
            if it is not None and it.definition == request.definition and it.instance == request.instance:
                it.number, it.members, it.noted = new, members, set()
                it.renewed, it.forked = (it.renewed, it.forked) if request.detached else (self.now, None)
            else:
                self.last[group] = fresh
        elif it.instance != request.instance:
            above = precedence(request.instance) < precedence(it.instance)
            if above and not (request.detached and self.alive(group)):
                fresh.beside = it.all() - set(members)
                self.last[group] = fresh
            elif not descends(it.instance, request.instance):
                it.beside |= set(members) - set(it.members)
        elif new < it.number:
            it.beside |= {request.process} - set(it.members)
        else:
            it.noted = it.noted if new == it.number else set()
            it.number, it.members = new, members
            if not request.detached:
                it.renewed, it.forked = self.now, None


@given(steps)
def test_it_answers_as_its_twin(history: list[Step]) -> None:
    it, twin = Registry(), Twin()
    for (passes_ms, paused), request in history:
        if paused:
            it.pause(passes_ms)
            twin.now += 2 * limits.TICK_MS
            twin.grace_until = max(twin.grace_until, twin.now + 2 * limits.RENEW_MS)
        else:
            it.run(passes_ms)
            twin.now += passes_ms
        answer = codec.decode_answer(codec.encode_answer(it.ask(request)))
        accepted = twin.accepts(request)
        assert isinstance(answer, Refusal) is not accepted, (request, answer)
        if accepted:
            twin.apply(request)
        listed = it.ask(ListGroups())
        assert isinstance(listed, Entries)
        assert [
            (one.definition.group, one.instance, one.view, one.members, one.alive, one.forked, others(one))
            for one in listed.groups
        ] == [
            (
                name,
                kept.instance,
                kept.number,
                kept.members,
                twin.alive(name),
                twin.fork(name),
                kept.all() - {*kept.members},
            )
            for name, kept in sorted(twin.last.items())
        ]


@given(requests)
def test_requests_survive_the_wire(request: Request) -> None:
    assert codec.decode_request(codec.encode_request(request)) == request


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    for decode in (codec.decode_request, codec.decode_answer):
        with pytest.raises((MalformedFrame, VersionMismatch)):
            decode(data)


@given(requests, st.data())
def test_a_damaged_request_is_refused_or_another_request(request: Request, data: st.DataObject) -> None:
    damaged = bytearray(codec.encode_request(request))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        found = codec.decode_request(bytes(damaged))
    except (MalformedFrame, VersionMismatch):
        return
    assert codec.decode_request(codec.encode_request(found)) == found
