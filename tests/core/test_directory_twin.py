"""The directory against a twin that keeps only the history, and its requests on the wire."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec import registry as codec
from gcom.core.messages.registry import (
    Claim,
    Create,
    Entries,
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
from gcom.errors import MalformedFrame, VersionMismatch
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.lineage import descends, origin_of, precedence, successor
from tests.core.registry import (
    AWAY,
    HOME,
    A,
    B,
    C,
    Registry,
    others,
    register,
)

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
        seats,
    ),
    registers,
    st.builds(Note, groups, instances, numbers, seats),
    st.builds(Unregister, groups, instances, numbers, processes),
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
    """The twin's knowledge of a name: its present instance, and who may be in it or beside it."""

    definition: Definition
    instance: str
    number: int = 0
    members: tuple[str, ...] = ()
    renewed: int | None = None
    forked: int | None = None
    noted: set[str] = field(default_factory=set)  # for the view after `number`
    beside: set[str] = field(default_factory=set)
    forgot: bool = False  # learned from a registration

    def all(self) -> set[str]:
        return {*self.members, *self.noted, *self.beside}

    def is_granted(self, process: str, instance: str, number: int) -> bool:
        """Whether a claim was granted before, and is none of what comes after that."""
        return self.number == 1 and self.members == (process,) and (instance, number) != (self.instance, 1)


@dataclass
class Twin:
    """Says of a request whether it is refused, and what is true after it; it has a clock that it is told."""

    last: dict[str, Known] = field(default_factory=dict)
    over: dict[str, tuple[str, int]] = field(default_factory=dict)
    now: int = 0
    grace_until: int = 0
    minted: int = 0
    contests: dict[str, tuple[Known, int, bool]] = field(default_factory=dict)  # lost entry, until when, by a claim

    def contest(self, request: Register) -> tuple[Known, int, bool] | None:
        """Return the contest that a registration of a member of the entry that lost disputes."""
        group, it = request.definition.group, self.last.get(request.definition.group)
        lost = self.contests.get(group)
        if (
            lost is None
            or self.now >= lost[1]
            or (lost[0].instance, True)
            != (
                request.instance,
                request.process in lost[0].members and request.view.number >= lost[0].number,
            )
        ):
            return None
        agrees = it and it.instance == request.instance and request.process in it.members
        return None if it and agrees and request.view.number >= it.number else lost

    def begin(self, group: str, claimed: bool) -> None:
        if group not in self.contests or self.now >= self.contests[group][1]:
            lost = self.last[group]
            self.contests[group] = (
                replace(lost, noted=set(lost.noted), beside=set(lost.beside)),
                self.now + limits.CONTEST_MS,
                claimed,
            )

    def is_stranger(self, request: Register) -> bool:
        """Whether nothing that is known makes the process a member of the group that is there."""
        it = self.last.get(request.definition.group)
        if it is None or it.number == 0 or request.process in it.all():
            return False
        mine, other = origin_of(it.instance), origin_of(request.instance)
        own = other.startswith("i") and int(other[1:]) <= self.minted
        return not (it.instance != request.instance and other < mine and own)

    def may_speak(self, request: Register) -> bool:
        """Whether the word of a stranger counts, as that of no member does."""
        it = self.last[request.definition.group]
        if it.instance == request.instance and request.view.number < it.number:
            return it.forgot
        return it.forgot and not (self.alive(request.definition.group) or request.detached)

    def mint(self) -> str:
        self.minted += 1
        return f"i{self.minted}"

    def alive(self, group: str) -> bool:
        renewed = self.last[group].renewed
        return renewed is not None and self.now < renewed + limits.LEASE_MS

    def fork(self, group: str) -> bool:
        forked = self.last[group].forked
        return forked is not None and self.now < forked + limits.FORK_MS

    def is_freed(self, it: Known) -> bool:
        """Whether an operator's order has been in force for so long that a newcomer may obey it."""
        return it.forked is not None and it.forked + limits.FREE_MS <= self.now < it.forked + limits.FORK_MS

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
                if lost := self.contest(request):
                    if request.detached and not lost[2]:
                        return False
                    it = lost[0]
                    self.over.pop(group, None) if self.is_over(group, instance) else None
                    self.last[group] = it
                    del self.contests[group]
                elsewhere = it is None or it.instance != instance
                if elsewhere and self.is_over(group, instance):
                    return False
                if it is None:
                    return True
                if self.is_stranger(request) and not self.may_speak(request):
                    return elsewhere or request.view.number < it.number
                if elsewhere:
                    return True
                if it.definition != definition:
                    return it.number == 0 or not (self.alive(group) or request.detached)
                return request.view.number != it.number or request.view.members == it.members
            case Lookup(name, former):
                return it is not None and not self.is_over(name, former)
            case Unregister(_, instance, number, process):
                known = it and process in {*it.members} | it.noted
                return it is None or bool(known and it.instance == instance and it.number <= number)
            case Claim(_, instance, number, process, _, gone) if it:
                if it.is_granted(process, instance, number):
                    return True
                nobody = it.number == 0 or (not self.alive(group) and it.all() <= set(gone))
                freed = it.number > 0 and self.is_freed(it) and not self.alive(it.definition.group)
                return (it.instance, it.number) == (instance, number) and (freed or (nobody and not starting))
            case Note(_, instance, number) if it:
                return (it.instance, it.number) == (instance, number)
            case Fork(_, instance) if it:
                return it.instance == instance and it.number > 0
            case Remove() if it:
                return it.number == 0 or self.is_freed(it)
            case _:
                return it is not None

    def apply(self, request: Request) -> None:
        """Apply an accepted request."""
        match request:
            case Create(definition) if definition.group not in self.last:
                minted, before = self.mint(), self.over.get(definition.group)
                self.last[definition.group] = Known(definition, successor(before[0], minted) if before else minted)
            case Register():
                self.register(request, request.definition.group)
            case Claim(group, instance, number, process, _, gone, away):
                it = self.last[group]
                if not it.is_granted(process, instance, number):
                    anew = bool(it.all() - set(gone))  # by an order
                    if it.number and not anew:
                        self.begin(group, claimed=True)
                    fresh = it.instance if it.number == 0 else successor(it.instance, process.partition("#")[2], anew)
                    back = {who for who, _ in away}
                    kept = it if it.number == 0 else Known(it.definition, fresh, beside=back)
                    kept.number, kept.members, kept.renewed = 1, (process,), self.now
                    self.last[group] = kept
            case Note(group, _, _, joiners):
                self.last[group].noted |= {process for process, _ in joiners}
            case Fork(group):
                self.last[group].forked = self.now
            case Unregister(group, instance, number) if group in self.last:
                self.last.pop(group, None)
                lost = self.contests.get(group)
                if lost is None or lost[2] or self.now >= lost[1]:
                    self.over[group] = (instance, number)
            case Remove(group):
                it = self.last.pop(group)
                if it.number:
                    self.over[group] = (it.instance, it.number)
            case _:
                pass

    def register(self, request: Register, group: str) -> None:
        if self.is_stranger(request):
            if not self.may_speak(request):
                return
            listed = self.last[group]
            if listed.instance != request.instance or request.view.number >= listed.number:
                self.begin(group, claimed=False)
        it, new, members = self.last.get(group), request.view.number, request.view.members
        renewed = None if request.detached else self.now
        fresh = Known(request.definition, request.instance, new, members, renewed, forgot=True)
        other = it is not None and it.definition != request.definition
        if it is None or it.number == 0 or (other and not (self.alive(group) or request.detached)):
            if it is not None and it.definition == request.definition and it.instance == request.instance:
                it.number, it.members, it.noted = new, members, set()
                it.renewed, it.forked = (it.renewed, it.forked) if request.detached else (self.now, None)
            else:
                fresh.beside = it.all() - set(members) if it and it.definition != request.definition else set()
                self.last[group] = fresh
        elif it.instance != request.instance:
            above = precedence(request.instance) < precedence(it.instance)
            alone = not (self.alive(group) or request.detached or descends(it.instance, request.instance))
            if alone or (above and not (request.detached and self.alive(group))):
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
