"""The registry's table of groups: a pure machine (DESIGN 11; GCom 2009 §4.1.10, §7.2, §7.5).

The group is the truth and this table is soft state: a leader registers its instance after every view change and every
`RENEW_MS`, so a registry that restarts knows its groups again within a second. Every write is a compare-and-set on
(instance, view): a stale leader is refused and told. A name never has two entries.

An entry is *empty* (view 0: made by `Create`, nobody in it, no lease), *alive* (its lease runs) or *doubted* (its lease
ran out). Doubted is not dead: the registry may be what was cut off, so only a claimant to which every member's machine
has said that it is not there takes its place: a *fork*, under a new instance. An operator may order one without proof.

Two living instances of one name come of a registry that forgot the one, of an operator's fork, or of a network that was
split. One of them is told of the other instead of being registered, and gives way (docs/protocols/netsplit.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from gcom.core.merging import precedence
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
from gcom.core.witness import Witness, WitnessAccept, WitnessPrepare
from gcom.values import limits, names
from gcom.values.definition import Definition, Netsplit, TieBreaker
from gcom.values.view import View

# What the entries of one answer may weigh, roughly in bytes, so that the answer fits a frame.
PAGE_BYTES = limits.FRAME_BYTES_MAX // 2
_NO_WITNESS = Refusal(
    "Unavailable",
    "this registry keeps nothing on a disk, so it cannot be the tie-breaker of a group: start it with --data FOLDER",
)
REPLACED_MAX = 8  # earlier instances of an entry that are known as such


@dataclass(frozen=True, slots=True)
class _Row:
    """One life of an entry; replaced whole, never changed in part. Without a view nobody has joined."""

    definition: Definition
    instance: str
    view: View | None = None
    renewed_ms: int = 0
    replaced: tuple[str, ...] = ()  # earlier instances that this one took the place of, the latest last
    forked_ms: int | None = None  # when an operator ordered a fork

    @property
    def number(self) -> int:
        return self.view.number if self.view else 0

    def alive(self, now_ms: int) -> bool:
        return self.view is not None and now_ms - self.renewed_ms < limits.LEASE_MS

    def forked(self, now_ms: int) -> bool:
        return self.forked_ms is not None and now_ms - self.forked_ms < limits.FORK_MS

    def entry(self, now_ms: int) -> Entry:
        members, addresses = (self.view.members, self.view.addresses) if self.view else ((), ())
        states = (self.alive(now_ms), self.forked(now_ms))
        return Entry(self.definition, self.instance, self.number, members, addresses, *states)

    def replace(self, instance: str, view: View, now_ms: int) -> _Row:
        """Another instance in the place of this one."""
        replaced = (*self.replaced, self.instance)[-REPLACED_MAX:]
        return _Row(self.definition, instance, view, now_ms, replaced)


class Directory:
    """The table. `mint` gives an instance id that was never given before; `witness`: if this registry has a disk."""

    def __init__(self, mint: Callable[[], str], witness: Witness | None = None) -> None:
        self._mint = mint
        self._witness = witness
        self._rows: dict[str, _Row] = {}

    def ask(self, request: Request, now_ms: int) -> Answer:
        """Carry out one request, whole or not at all. `now_ms` never goes back."""
        match request:
            case Create():
                return self._on_create(request, now_ms)
            case Lookup():
                return self._on_lookup(request, now_ms)
            case ListGroups():
                return self._on_list(request, now_ms)
            case Claim():
                return self._on_claim(request, now_ms)
            case Register():
                return self._on_register(request, now_ms)
            case Unregister():
                return self._on_unregister(request)
            case Remove():
                return self._on_remove(request, now_ms)
            case Fork():
                return self._on_fork(request, now_ms)
            case WitnessPrepare() | WitnessAccept():
                return self._witness.ask(request) if self._witness else _NO_WITNESS
            case _:
                assert_never(request)

    def _on_create(self, request: Create, now_ms: int) -> Answer:
        wanted = request.definition
        row = self._rows.get(wanted.group)
        if row is None and wanted.tie_breaker is TieBreaker.REGISTRY and self._witness is None:
            return _NO_WITNESS
        if row is None:
            return self._full(wanted.group) or self._put(_Row(wanted, self._mint()), now_ms)
        if row.definition != wanted:
            return _other_definition(row, wanted)
        return row.entry(now_ms)

    def _on_lookup(self, request: Lookup, now_ms: int) -> Answer:
        row = self._rows.get(request.group)
        return row.entry(now_ms) if row else _unknown(request.group)

    def _on_list(self, request: ListGroups, now_ms: int) -> Answer:
        later = sorted(name for name in self._rows if name > request.after)
        page: list[Entry] = []
        weight = 0
        for name in later:
            entry = self._rows[name].entry(now_ms)
            weight += _weight(entry)
            if page and weight > PAGE_BYTES:
                break
            page.append(entry)
        return Entries(tuple(page), more=len(page) < len(later))

    def _on_claim(self, request: Claim, now_ms: int) -> Answer:
        row = self._rows.get(request.group)
        if row is None:
            return _unknown(request.group)
        if row.view and row.number == 1 and row.view.members == (request.process,):
            return row.entry(now_ms)  # asked again, because our answer was lost; a process id has one owner
        refusal = _unclaimable(row, request, now_ms)
        if refusal:
            return refusal
        view = View(1, (request.process,), (request.address,))
        if row.view is None:
            return self._put(_Row(row.definition, row.instance, view, now_ms, row.replaced), now_ms)
        return self._put(row.replace(self._mint(), view, now_ms), now_ms)

    def _on_register(self, request: Register, now_ms: int) -> Answer:
        """The group is the truth: what its leader says stands, unless the entry proves the leader stale.

        Another instance may take an entry that is empty. Nobody is in it, so nobody is cut off, and it is how a living
        group and a registry that forgot it meet again: 1. the registry restarts, empty. 2. Somebody creates the name.
        3. The group's leader registers. Refusing 3 would make two groups of one name out of one. It may take a doubted
        entry for the same reason. Of two that are alive the one that weighs less gives way, whichever came first, and
        one that was replaced always does.
        """
        row = self._rows.get(request.definition.group)
        if row is None:
            fresh = _Row(request.definition, request.instance, request.view, now_ms)
            return self._full(request.definition.group) or self._put(fresh, now_ms)
        if row.instance != request.instance and row.alive(now_ms) and row.definition == request.definition:
            # Where sides merge, as their leaders compare, who may meet first.
            merges = request.definition.netsplit is Netsplit.PARTITIONABLE
            if (request.instance in row.replaced and not merges) or not _stands_above(request, row):
                return row.entry(now_ms)
            return self._put(row.replace(request.instance, request.view, now_ms), now_ms)
        refusal = _unregistrable(row, request, now_ms)
        if refusal:
            return refusal
        replaced = tuple(instance for instance in row.replaced if instance != request.instance)
        return self._put(_Row(request.definition, request.instance, request.view, now_ms, replaced), now_ms)

    def _on_unregister(self, request: Unregister) -> Answer:
        row = self._rows.get(request.group)
        if row is None:  # forgotten already: asked again, or a registry that restarted
            return Done()
        if row.instance != request.instance or row.number > request.view:
            return _stale(row, f"not instance {request.instance} in view {request.view}: it is its members' to forget")
        del self._rows[request.group]
        return Done()

    def _on_remove(self, request: Remove, now_ms: int) -> Answer:
        row = self._rows.get(request.group)
        if row is None:
            return _unknown(request.group)
        if row.alive(now_ms):
            return Refusal(
                "GroupInUse",
                f"group {request.group!r} has {_members(row)}: a group can be removed when all have left it",
            )
        del self._rows[request.group]
        return Done()

    def _on_fork(self, request: Fork, now_ms: int) -> Answer:
        row = self._rows.get(request.group)
        if row is None:
            return _unknown(request.group)
        if row.instance != request.instance:
            return Refusal("Unavailable", f"group {request.group!r} has begun anew meanwhile: look at it again")
        if row.view is None:
            return Refusal("Unavailable", f"group {request.group!r} is empty: whoever joins it begins it")
        return self._put(dataclasses.replace(row, forked_ms=now_ms), now_ms)

    def _put(self, row: _Row, now_ms: int) -> Entry:
        self._rows[row.definition.group] = row
        return row.entry(now_ms)

    def _full(self, group: str) -> Refusal | None:
        if len(self._rows) < limits.DIRECTORY_GROUPS_MAX:
            return None
        return Refusal(
            "Unavailable",
            f"no room for group {group!r}: this registry holds its {limits.DIRECTORY_GROUPS_MAX} groups; remove some",
        )


def _unclaimable(row: _Row, request: Claim, now_ms: int) -> Refusal | None:
    group = row.definition.group
    name = names.name_of(request.process)
    if row.definition.static and name not in row.definition.static:
        invited = ", ".join(row.definition.static)
        return Refusal("NotInvited", f"{name!r} is not in the static group {group!r}: its members are {invited}")
    if (row.instance, row.number) != (request.instance, request.view):
        return _stale(row, f"not instance {request.instance} in view {request.view}: look it up again")
    if row.view is None or (row.forked(now_ms) and request.former):
        return None
    # A view newer than the entry has a leader who says so within RENEW_MS, be the entry's members dead or not.
    survivor = request.dead and request.former in row.view.members
    if row.alive(now_ms) and not (survivor and now_ms - row.renewed_ms >= limits.PROOF_MS):
        return _stale(row, "and its lease runs: ask its members, or look it up again later")
    if not request.dead:
        return _stale(row, "in doubt: claim it only after none of them answered")
    return None


def _unregistrable(row: _Row, request: Register, now_ms: int) -> Refusal | None:
    if row.instance != request.instance:
        advice = f"not instance {request.instance}: the members of one of the two must leave"
        return _stale(row, advice) if row.alive(now_ms) else None
    if row.definition != request.definition:
        return _other_definition(row, request.definition)
    if row.forked(now_ms):
        return _stale(row, "of which an operator lets former members begin anew")
    if row.number > request.view.number:
        return _stale(row, f"no longer in view {request.view.number}: look it up again")
    if row.view and row.number == request.view.number and row.view.members != request.view.members:
        return _stale(row, "and a view is decided once: look it up again")
    return None


def _stands_above(request: Register, row: _Row) -> bool:
    """Of two living instances of one name: more members, then more views, then the smaller id."""
    mine = precedence(len(request.view.members), request.view.number, request.instance)
    return mine < precedence(len(row.view.members) if row.view else 0, row.number, row.instance)


def _unknown(group: str) -> Refusal:
    text = f"there is no group {group!r} here: create it (gcom create {group}), or see what there is (gcom groups)"
    return Refusal("UnknownGroup", text)


def _other_definition(row: _Row, wanted: Definition) -> Refusal:
    return Refusal(
        "GroupExists",
        f"group {wanted.group!r} exists with another definition: {row.definition.differences(wanted)}; "
        "use that definition, or another name",
    )


def _stale(row: _Row, advice: str) -> Refusal:
    present = f"instance {row.instance} in view {row.number} with {_members(row)}"
    return Refusal("Stale", f"group {row.definition.group!r} is {present}, {advice}")


def _members(row: _Row) -> str:
    """In words, shortened: a refusal is read by people."""
    members = row.view.names if row.view else ()
    shown = ", ".join(members[:5]) + (", ..." if len(members) > 5 else "")
    return f"{len(members)} member{'' if len(members) == 1 else 's'} ({shown})" if members else "no members"


def _weight(entry: Entry) -> int:
    texts = (*entry.members, *entry.addresses, *entry.definition.static)
    return 256 + sum(map(len, texts)) + 3 * len(texts)
