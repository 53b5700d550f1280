"""The directory: its table, row by row, and against a twin that keeps only the history."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core import directory_codec as codec
from gcom.core.directory import PAGE_BYTES, Directory
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
    Refusal,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.view import View

NEWS = Definition.parse("news")
LOOSE = Definition.parse("news", ordering="NONORDERED")
A, B = "alice#1", "bob#1"
HOME, AWAY = "127.0.0.1:1001", "127.0.0.1:1002"


def directory() -> Directory:
    ids = itertools.count(1)
    return Directory(lambda: f"i{next(ids)}")


def entry(answer: Answer) -> Entry:
    assert isinstance(answer, Entry), answer
    return answer


def code(answer: Answer) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def view(number: int, *members: str) -> View:
    return View(number, members or (A,), tuple(HOME for _ in members or (A,)))


def test_racing_creates_of_one_definition_are_one_group() -> None:
    it = directory()
    first, second = it.ask(Create(NEWS), 0), it.ask(Create(NEWS), 1)
    assert first == second == Entry(NEWS, "i1", 0, (), (), alive=False)


def test_a_create_of_another_definition_is_told_the_difference() -> None:
    it = directory()
    it.ask(Create(NEWS), 0)
    answer = it.ask(Create(LOOSE), 0)
    assert code(answer) == "GroupExists"
    assert isinstance(answer, Refusal)
    assert "ordering is FIFO, not NONORDERED" in answer.text


@pytest.mark.parametrize("request_", [Lookup("news"), Remove("news"), Claim("news", "i1", 0, A, HOME)])
def test_an_unknown_group_is_named(request_: Request) -> None:
    answer = directory().ask(request_, 0)
    assert code(answer) == "UnknownGroup"
    assert isinstance(answer, Refusal)
    assert "'news'" in answer.text


def test_one_of_two_racing_claims_wins() -> None:
    it = directory()
    it.ask(Create(NEWS), 0)
    won = entry(it.ask(Claim("news", "i1", 0, A, HOME), 1))
    assert won == Entry(NEWS, "i1", 1, (A,), (HOME,), alive=True)
    assert code(it.ask(Claim("news", "i1", 0, B, AWAY), 1)) == "Stale"
    assert entry(it.ask(Lookup("news"), 2)) == won


def test_a_claim_whose_answer_was_lost_is_granted_again() -> None:
    it = directory()
    it.ask(Create(NEWS), 0)
    claim = Claim("news", "i1", 0, A, HOME)
    assert it.ask(claim, 1) == it.ask(claim, 2)


@pytest.mark.parametrize(
    ("at", "dead", "instance", "number", "outcome"),
    [
        (limits.LEASE_MS - 1, True, "i1", 1, "Stale"),  # the lease runs: members may live
        (limits.LEASE_MS, False, "i1", 1, "Stale"),  # doubted, but the claimant did not look for members
        (limits.LEASE_MS, True, "i1", 0, "Stale"),  # it looked for those of an older view
        (limits.LEASE_MS, True, "i9", 1, "Stale"),
        (limits.LEASE_MS, True, "i1", 1, "i2"),
    ],
)
def test_a_claim_of_a_group_with_members(at: int, dead: bool, instance: str, number: int, outcome: str) -> None:
    it = directory()
    it.ask(Create(NEWS), 0)
    it.ask(Claim("news", "i1", 0, A, HOME), 0)
    answer = it.ask(Claim("news", instance, number, B, AWAY, dead), at)
    if outcome == "Stale":
        assert code(answer) == "Stale"
    else:
        assert answer == Entry(NEWS, outcome, 1, (B,), (AWAY,), alive=True)


def test_a_static_group_is_claimed_by_its_own() -> None:
    it = directory()
    it.ask(Create(Definition.parse("news", static=["bob"])), 0)
    assert code(it.ask(Claim("news", "i1", 0, A, HOME), 0)) == "NotInvited"
    assert entry(it.ask(Claim("news", "i1", 0, B, AWAY), 0)).members == (B,)


@pytest.mark.parametrize(
    ("definition", "instance", "number", "members", "at", "refused"),
    [
        (NEWS, "k2", 3, (A,), 1, ""),  # renewed
        (NEWS, "k2", 4, (A, B), 1, ""),  # a newer view
        (NEWS, "k2", 9, (B,), limits.LEASE_MS, ""),
        (NEWS, "k2", 2, (A,), 1, "Stale"),
        (NEWS, "k2", 2, (A,), limits.LEASE_MS, "Stale"),  # an older view stays older
        (NEWS, "k2", 3, (B,), 1, "Stale"),  # a view is decided once
        (NEWS, "k3", 1, (B,), limits.LEASE_MS, ""),  # it is doubted
        (LOOSE, "k2", 4, (A,), 1, "GroupExists"),  # an instance's definition never changes
    ],
)
def test_registering_over_view_3_of_k2(
    definition: Definition, instance: str, number: int, members: tuple[str, ...], at: int, refused: str
) -> None:
    it = directory()
    before = it.ask(Register(NEWS, "k2", view(3, A)), 0)
    answer = it.ask(Register(definition, instance, view(number, *members)), at)
    if refused:
        assert code(answer) == refused
        assert entry(it.ask(Lookup("news"), 0)) == before
    else:
        assert answer == Entry(definition, instance, number, members, tuple(HOME for _ in members), alive=True)


@pytest.mark.parametrize(
    ("members", "stays", "instance", "others", "number", "holds"),
    [
        ((A, B), 1, "k3", (A,), 9, "k2"),
        ((A,), 1, "k3", (A, B), 1, "k3"),
        ((A,), 1, "k3", (B,), 9, "k3"),  # as many members, and more views
        ((A,), 1, "k1", (B,), 2, "k2"),
        ((A,), 1, "k3", (B,), 3, "k2"),  # as many of both: the lower id
        ((A,), 1, "k1", (B,), 3, "k1"),
        ((A, B), limits.LEASE_MS, "k3", (A,), 1, "k3"),  # doubted
    ],
)
def test_of_two_living_instances_the_smaller_is_told_of_the_other(
    members: tuple[str, ...], stays: int, instance: str, others: tuple[str, ...], number: int, holds: str
) -> None:
    it = directory()
    it.ask(Register(NEWS, "k2", view(3, *members)), 0)
    assert entry(it.ask(Register(NEWS, instance, view(number, *others)), stays)).instance == holds
    held = entry(it.ask(Lookup("news"), stays))
    assert held.instance == holds
    loser = "k2" if holds != "k2" else instance
    many = view(10, *[f"m{number}#1" for number in range(9)])
    answer = it.ask(Register(NEWS, loser, many), stays)
    if stays < limits.LEASE_MS and holds != "k2":
        assert answer == held  # it was replaced, and does not come back by growing
    else:
        assert entry(answer).instance == loser


def survivor(number: int, dead: bool = True, former: str = A, process: str = "alice#2") -> Claim:
    return Claim("news", "k2", number, process, HOME, dead, former)


@pytest.mark.parametrize(
    ("claim", "at", "granted"),
    [
        (survivor(3), limits.PROOF_MS, True),
        (survivor(3), limits.PROOF_MS - 1, False),  # a newer view may be about to be registered
        (survivor(2), limits.PROOF_MS, False),
        (survivor(3, dead=False), limits.PROOF_MS, False),
        (survivor(3, former="carol#1"), limits.PROOF_MS, False),  # it was not in that view
        (survivor(3, former="carol#1"), limits.LEASE_MS, True),
        (survivor(3, former=""), limits.PROOF_MS, False),
    ],
)
def test_a_survivor_that_proves_the_others_dead_need_not_wait_for_the_lease(
    claim: Claim, at: int, granted: bool
) -> None:
    it = directory()
    it.ask(Register(NEWS, "k2", view(3, A, B)), 0)
    answer = it.ask(claim, at)
    assert isinstance(answer, Refusal) is not granted
    if granted:
        assert answer == Entry(NEWS, "i1", 1, ("alice#2",), (HOME,), alive=True)
        assert it.ask(Register(NEWS, "k2", view(9, A, B)), at) == answer


def test_an_operator_lets_any_former_member_claim_and_shuts_the_old_instance_out() -> None:
    it = directory()
    it.ask(Register(NEWS, "k2", view(3, A, B)), 0)
    assert code(it.ask(Fork("other", "k2"), 0)) == "UnknownGroup"
    assert code(it.ask(Fork("news", "k3"), 0)) == "Unavailable"
    assert entry(it.ask(Fork("news", "k2"), 0)).forked
    assert code(it.ask(Register(NEWS, "k2", view(4, A, B)), 1)) == "Stale"
    assert code(it.ask(survivor(3, dead=False, former=""), 1)) == "Stale"  # a newcomer has no state
    begun = entry(it.ask(survivor(3, dead=False, former="zoe#1"), 1))
    assert (begun.instance, begun.forked) == ("i1", False)
    assert it.ask(Register(NEWS, "k2", view(4, A, B)), 2) == begun


def test_an_order_to_fork_runs_out_and_an_empty_group_needs_none() -> None:
    it = directory()
    it.ask(Create(NEWS), 0)
    assert code(it.ask(Fork("news", "i1"), 0)) == "Unavailable"
    it.ask(Register(NEWS, "i1", view(3, A, B)), 0)
    it.ask(Fork("news", "i1"), 0)
    assert not entry(it.ask(Register(NEWS, "i1", view(4, A, B)), limits.FORK_MS)).forked
    assert entry(it.ask(Lookup("news"), limits.FORK_MS)).view == 4


def test_after_a_restart_the_living_group_takes_its_name_back_from_an_empty_one() -> None:
    it = directory()
    it.ask(Create(LOOSE), 0)
    assert entry(it.ask(Register(NEWS, "k2", view(7, A, B)), 1)).instance == "k2"
    assert code(it.ask(Claim("news", "i1", 0, "carol#1", AWAY), 2)) == "Stale"
    assert it.ask(ListGroups(), 3) == Entries((entry(it.ask(Lookup("news"), 3)),))


def test_a_lease_runs_out_and_is_renewed() -> None:
    it = directory()
    it.ask(Register(NEWS, "k2", view(3)), 1000)
    assert entry(it.ask(Lookup("news"), 1000 + limits.LEASE_MS - 1)).alive
    assert not entry(it.ask(Lookup("news"), 1000 + limits.LEASE_MS)).alive
    it.ask(Register(NEWS, "k2", view(3)), 9000)
    assert entry(it.ask(Lookup("news"), 9000)).alive


@pytest.mark.parametrize(
    ("instance", "number", "forgotten"), [("k2", 3, True), ("k2", 4, True), ("k2", 2, False), ("k3", 3, False)]
)
def test_unregistering_view_3_of_k2(instance: str, number: int, forgotten: bool) -> None:
    it = directory()
    it.ask(Register(NEWS, "k2", view(3)), 0)
    answer = it.ask(Unregister("news", instance, number), 0)
    assert (answer == Done()) is forgotten
    assert isinstance(it.ask(Lookup("news"), 0), Refusal) is forgotten
    assert it.ask(Unregister("other", "k2", 3), 0) == Done()


def test_only_a_group_without_living_members_is_removed() -> None:
    it = directory()
    it.ask(Create(NEWS), 0)
    assert it.ask(Remove("news"), 0) == Done()
    it.ask(Register(NEWS, "k2", view(3, A, B)), 0)
    answer = it.ask(Remove("news"), 0)
    assert code(answer) == "GroupInUse"
    assert isinstance(answer, Refusal)
    assert "2 members (alice, bob)" in answer.text
    assert it.ask(Remove("news"), limits.LEASE_MS) == Done()


def test_a_full_directory_refuses_new_names_and_serves_the_others() -> None:
    it = directory()
    for number in range(limits.DIRECTORY_GROUPS_MAX):
        it.ask(Create(Definition.parse(f"g{number}")), 0)
    assert code(it.ask(Create(NEWS), 0)) == "Unavailable"
    assert code(it.ask(Register(NEWS, "k2", view(1)), 0)) == "Unavailable"
    assert entry(it.ask(Claim("g7", "i8", 0, A, HOME), 0)).alive
    it.ask(Remove("g0"), 0)
    assert entry(it.ask(Create(NEWS), 0)).view == 0


def test_a_long_list_comes_in_pages_that_fit_a_frame() -> None:
    it = directory()
    members = tuple(f"member-with-a-longish-name-{number:02}#abcdefgh" for number in range(limits.MEMBERS_MAX))
    names = sorted(f"g{number}" for number in range(60))
    for name in names:
        it.ask(Register(Definition.parse(name), "k2", view(1, *members)), 0)
    found: list[str] = []
    pages, more = 0, True
    while more:
        page = it.ask(ListGroups(found[-1] if found else ""), 0)
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
instances = st.sampled_from(["i1", "i2", "i3", "k1", "k2"])
numbers = st.integers(0, 3)
processes = st.sampled_from([A, B])
views = st.builds(
    lambda number, members: view(number, *members),
    st.integers(1, 3),
    st.lists(processes, min_size=1, max_size=2, unique=True),
)
requests = st.one_of(
    st.builds(Create, definitions),
    st.builds(Lookup, groups),
    st.builds(Claim, groups, instances, numbers, processes, st.just(HOME), st.booleans(), st.sampled_from(["", A, B])),
    st.builds(Register, definitions, instances, views),
    st.builds(Unregister, groups, instances, numbers),
    st.builds(Remove, groups),
    st.builds(Fork, groups, instances),
    st.just(ListGroups()),
)
Step = tuple[int, Request]
steps = st.lists(st.tuples(st.sampled_from([0, 1, 500, limits.PROOF_MS, limits.LEASE_MS]), requests), max_size=40)


@dataclass
class Twin:
    """Knows a group only as its last accepted write, with everything about it asked anew of that write."""

    last: dict[str, tuple[int, Create | Register, str, int, tuple[str, ...]]] = field(default_factory=dict)
    beaten: dict[str, list[str]] = field(default_factory=dict)  # by group, of the present one's life
    forked: dict[str, int] = field(default_factory=dict)
    minted: int = 0

    def mint(self) -> str:
        self.minted += 1
        return f"i{self.minted}"

    def alive(self, group: str, now: int) -> bool:
        when, _, _, number, _ = self.last[group]
        return number > 0 and now < when + limits.LEASE_MS

    def gives_way(self, request: Request, now: int) -> bool:
        """Whether the answer is another instance's entry."""
        if not isinstance(request, Register) or not self.rivals(request, now):
            return False
        group = request.definition.group
        _, _, present, number, members = self.last[group]
        mine = (-len(request.view.members), -request.view.number, request.instance)
        smaller = mine > (-len(members), -number, present)
        return request.instance in self.beaten.get(group, [])[-8:] or smaller

    def rivals(self, request: Register, now: int) -> bool:
        found = self.last.get(request.definition.group)
        other = found is not None and found[2] != request.instance and found[1].definition == request.definition
        return other and self.alive(request.definition.group, now)

    def fork(self, group: str, now: int) -> bool:
        return group in self.forked and now < self.forked[group] + limits.FORK_MS

    def accepts(self, request: Request, now: int) -> bool:
        match request:
            case ListGroups():
                return True
            case Create(definition):
                return definition.group not in self.last or self.last[definition.group][1].definition == definition
            case Register(definition, instance, new):
                if definition.group not in self.last:
                    return True
                _, made, present, number, members = self.last[definition.group]
                if self.rivals(request, now):
                    return not self.gives_way(request, now)
                if present != instance:
                    return not self.alive(definition.group, now)
                newer = (number, members) == (new.number, new.members) or number < new.number
                return made.definition == definition and newer and not self.fork(definition.group, now)
            case Fork(group, instance):
                return group in self.last and self.last[group][2] == instance and self.last[group][3] > 0
            case Unregister(group, instance, number):
                return group not in self.last or (self.last[group][2] == instance and self.last[group][3] <= number)
            case Lookup(group):
                return group in self.last
            case Remove(group):
                return group in self.last and not self.alive(group, now)
            case Claim(group, instance, number, process, _, dead, former):
                if group not in self.last:
                    return False
                when, _, present, held, members = self.last[group]
                again = held == 1 and members == (process,)
                patience = limits.PROOF_MS if former in members else limits.LEASE_MS
                free = held == 0 or (dead and now >= when + patience) or (self.fork(group, now) and former != "")
                return again or ((present, held) == (instance, number) and free)
            case _:
                return False

    def apply(self, request: Request, now: int) -> None:
        match request:
            case Create(definition) if definition.group not in self.last:
                self.last[definition.group] = (now, request, self.mint(), 0, ())
            case Register(definition, instance, new):
                group = definition.group
                if self.rivals(request, now):
                    self.beaten.setdefault(group, []).append(self.last[group][2])
                else:
                    self.beaten[group] = [one for one in self.beaten.get(group, []) if one != instance]
                self.forked.pop(group, None)
                self.last[group] = (now, request, instance, new.number, new.members)
            case Fork(group):
                self.forked[group] = now
            case Unregister(group) | Remove(group):
                for table in (self.last, self.beaten, self.forked):
                    table.pop(group, None)
            case Claim(group, _, _, process):
                _, made, present, held, members = self.last[group]
                if not (held == 1 and members == (process,)):
                    self.forked.pop(group, None)
                    if held:
                        self.beaten.setdefault(group, []).append(present)
                    self.last[group] = (now, made, present if held == 0 else self.mint(), 1, (process,))
            case _:
                pass


@given(steps)
def test_it_answers_as_its_twin(history: list[Step]) -> None:
    it, twin, now = directory(), Twin(), 0
    for pause, request in history:
        now += pause
        answer = codec.decode_answer(codec.encode_answer(it.ask(request, now)))
        accepted, told = twin.accepts(request, now), twin.gives_way(request, now)
        assert isinstance(answer, Refusal) is not (accepted or told), (request, answer)
        if accepted:
            twin.apply(request, now)
        listed = it.ask(ListGroups(), now)
        assert isinstance(listed, Entries)
        assert [
            (one.definition.group, one.instance, one.view, one.members, one.alive, one.forked) for one in listed.groups
        ] == [
            (group, *twin.last[group][2:], twin.alive(group, now), twin.fork(group, now)) for group in sorted(twin.last)
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
