"""The registry's table of groups: a pure machine (DESIGN 11; GCom 2009 §4.1.10, §7.2, §7.5).

The group is the truth and this table is soft state: a leader registers its instance after every view change and every
`RENEW_MS`, so a registry that restarts knows its groups again within a second. Every write is a compare-and-set on
(instance, view): a stale leader is refused and told. A name never has two entries.

An entry is *empty* (view 0: made by `Create`, nobody in it, no lease), *alive* (its lease runs) or *doubted* (its lease
ran out). Doubted is not dead: the registry may be what was cut off, so only a claimant that reached no member, or an
operator's `Remove`, takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.names import Address, Process
from gcom.values.view import View


@dataclass(frozen=True, slots=True)
class Create:
    """Make an empty group. An equal definition under the name is no error: the answer is the group that is there."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class Lookup:
    group: str


@dataclass(frozen=True, slots=True)
class ListGroups:
    """The groups whose names come after `after`, sorted, as many as one answer holds."""

    after: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """Become the first member of an instance, in view 1.

    Granted if the entry is still (instance, view), and that is an empty group (view 0), or one whose lease has run
    out and of whose members the claimant reached none (`dead`): then the answer carries a new instance.
    """

    group: str
    instance: str
    view: int
    process: Process
    address: Address
    dead: bool = False


@dataclass(frozen=True, slots=True)
class Register:
    """A leader says what its instance is and which view is in force; renews the lease."""

    definition: Definition
    instance: str
    view: View


@dataclass(frozen=True, slots=True)
class Unregister:
    """The last member left: forget the group, if the entry is still this instance and no newer view."""

    group: str
    instance: str
    view: int


@dataclass(frozen=True, slots=True)
class Remove:
    """Forget an empty group, or one whose lease has run out."""

    group: str


Request = Create | Lookup | ListGroups | Claim | Register | Unregister | Remove


@dataclass(frozen=True, slots=True)
class Entry:
    """A group as the directory knows it. `view` is 0 and `members` empty while nobody has joined."""

    definition: Definition
    instance: str
    view: int
    members: tuple[Process, ...]
    addresses: tuple[Address, ...]
    alive: bool  # there is a lease and it has not run out; false while nobody has joined


@dataclass(frozen=True, slots=True)
class Entries:
    """`more`: ask again after the last of these."""

    groups: tuple[Entry, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    pass


@dataclass(frozen=True, slots=True)
class Refusal:
    """`code` is the name of the exception in gcom.errors that says it, or `Stale`: the entry has moved on."""

    code: str
    text: str


Answer = Entry | Entries | Done | Refusal


# What the entries of one answer may weigh, roughly in bytes, so that the answer fits a frame.
PAGE_BYTES = limits.FRAME_BYTES_MAX // 2


@dataclass(frozen=True, slots=True)
class _Row:
    """One life of an entry; replaced whole, never changed in part. Without a view nobody has joined."""

    definition: Definition
    instance: str
    view: View | None = None
    renewed_ms: int = 0

    @property
    def number(self) -> int:
        return self.view.number if self.view else 0

    def alive(self, now_ms: int) -> bool:
        return self.view is not None and now_ms - self.renewed_ms < limits.LEASE_MS

    def entry(self, now_ms: int) -> Entry:
        members, addresses = (self.view.members, self.view.addresses) if self.view else ((), ())
        return Entry(self.definition, self.instance, self.number, members, addresses, self.alive(now_ms))


class Directory:
    """The table. `mint` gives an instance id that was never given before."""

    def __init__(self, mint: Callable[[], str]) -> None:
        self._mint = mint
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
            case _:
                assert_never(request)

    def _on_create(self, request: Create, now_ms: int) -> Answer:
        wanted = request.definition
        row = self._rows.get(wanted.group)
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
        instance = row.instance if row.view is None else self._mint()
        view = View(1, (request.process,), (request.address,))
        return self._put(_Row(row.definition, instance, view, now_ms), now_ms)

    def _on_register(self, request: Register, now_ms: int) -> Answer:
        """The group is the truth: what its leader says stands, unless the entry proves the leader stale.

        Another instance may take an entry that is empty. Nobody is in it, so nobody is cut off, and it is how a living
        group and a registry that forgot it meet again: 1. the registry restarts, empty. 2. Somebody creates the name.
        3. The group's leader registers. Refusing 3 would make two groups of one name out of one. It may take a doubted
        entry for the same reason. One that is alive has members of its own: there the first stays.
        """
        row = self._rows.get(request.definition.group)
        refusal = self._full(request.definition.group) if row is None else _unregistrable(row, request, now_ms)
        if refusal:
            return refusal
        return self._put(_Row(request.definition, request.instance, request.view, now_ms), now_ms)

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
    if row.alive(now_ms):
        return _stale(row, "and its lease runs: ask its members, or look it up again later")
    if row.view is not None and not request.dead:
        return _stale(row, "in doubt: claim it only after none of them answered")
    return None


def _unregistrable(row: _Row, request: Register, now_ms: int) -> Refusal | None:
    if row.instance != request.instance:
        advice = f"not instance {request.instance}: the members of one of the two must leave"
        return _stale(row, advice) if row.alive(now_ms) else None
    if row.definition != request.definition:
        return _other_definition(row, request.definition)
    if row.number > request.view.number:
        return _stale(row, f"no longer in view {request.view.number}: look it up again")
    if row.view and row.number == request.view.number and row.view.members != request.view.members:
        return _stale(row, "and a view is decided once: look it up again")
    return None


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
