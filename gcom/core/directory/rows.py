"""An entry of the registry's table, and where it is kept (gcom/core/directory/table.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from gcom.core.messages.registry import GroupInfo, Register, Unregister
from gcom.values import limits, lineage
from gcom.values.definition import Definition, Netsplit
from gcom.values.lineage import precedence_by_size as by_size
from gcom.values.names import Address, Process, name_of
from gcom.values.view import View

Seats = tuple[tuple[Process, Address], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A life of an entry; replaced whole, never changed in part. Without a view nobody has joined.

    `noted` may be in view `noted_view`. `older` have registered an older view, or an instance that stands below, or
    were put out and may live.
    """

    definition: Definition
    instance: str
    view: View | None = None
    renewed_ms: int | None = None  # by one that hears a quorum
    heard_ms: int | None = None  # of anybody, detached or not
    forked_ms: int | None = None  # when an operator ordered a fork
    after: tuple[str, int] = ("", 0)  # the instance and view that this one follows
    noted: Seats = ()
    noted_view: int = 0
    older: Seats = ()
    forgot: bool = False  # learned from a member: nothing is known of what was noted before

    @property
    def number(self) -> int:
        return self.view.number if self.view else 0

    @property
    def known(self) -> dict[Process, Address]:
        """All processes that may have the name, and their addresses."""
        # The latest word last, so that it stands: of one that was noted and is a member now the view has the address.
        members = dict(zip(self.view.members, self.view.addresses, strict=True)) if self.view else {}
        return dict(self.older) | dict(self.noted) | members

    @property
    def members_to_be(self) -> set[Process]:
        """The members, and those who were noted for a later view than the registered one."""
        return {who for who, _ in self.noted}.union(self.view.members if self.view else ())

    def later(self, view: int) -> dict[Process, Address]:
        """Return the processes that may be in a later view than `view`, and their addresses."""
        # With those that were noted: 1. D is noted for view 6. 2. A and B install it with D, and die before they
        # register it. 3. Only the note tells who may be in it.
        members = zip(self.view.members, self.view.addresses, strict=True) if self.view and self.number > view else ()
        return (dict(self.noted) if self.noted_view > view else {}) | dict(members)

    def is_out(self, process: Process, view: int) -> bool:
        """Return whether a process of `view` is out: a later view is registered, and does not have it."""
        return self.view is not None and self.number > view and process not in self.view.members

    @property
    def durable(self) -> tuple[object, ...]:
        """The part that is worth a write: a lease is not, it would cost a disk write per group and second."""
        seats = (self.noted, self.noted_view, self.older)
        return (self.definition, self.instance, self.view, self.after, *seats, self.forgot)

    def alive(self, running_ms: int) -> bool:
        """Return whether its lease runs."""
        return self.renewed_ms is not None and self.view is not None and running_ms - self.renewed_ms < limits.LEASE_MS

    def heard(self, running_ms: int) -> bool:
        """Return whether some member registers, be it detached."""
        return self.heard_ms is not None and self.view is not None and running_ms - self.heard_ms < limits.LEASE_MS

    def registered(self, view: View, noted: Seats, heard_ms: int, renewed_ms: int | None, forked_ms: int | None) -> Row:
        """Return the row after a registration of `view`."""
        # By its fields: `replace`, which looks each of them up, was a quarter of a renewal's cost.
        head = self.definition, self.instance, view, renewed_ms, heard_ms, forked_ms, self.after
        return Row(*head, noted, self.noted_view, self.older, self.forgot)

    def state(self, running_ms: int) -> str:
        """Return in a word how the group stands (`Directory.census`)."""
        if self.view is None:
            return "empty"
        if self.alive(running_ms):
            return "alive"
        # A member that registers lives, with a quorum or not; of a doubted group nobody has been heard.
        return "detached" if self.heard(running_ms) else "doubted"

    def forked(self, running_ms: int) -> bool:
        """Return whether an operator's order to fork is in force."""
        return self.forked_ms is not None and running_ms - self.forked_ms < limits.FORK_MS

    def frees_in_ms(self, running_ms: int) -> int:
        """Return the time until an order to fork frees the name, if no member obeys it; 0 without an order."""
        left_ms = limits.FREE_MS - (running_ms - (self.forked_ms or 0))
        return max(0, left_ms) if self.forked(running_ms) else 0

    def freed(self, running_ms: int) -> bool:
        """Return whether that order has been in force for so long that no member is left to go on by it."""
        # 10 s: a detached member registers every second, so any that can obey has read the order long before.
        return self.forked(running_ms) and running_ms - (self.forked_ms or 0) >= limits.FREE_MS

    def entry(self, running_ms: int) -> GroupInfo:
        """Return the row as it is told."""
        members, addresses = (self.view.members, self.view.addresses) if self.view else ((), ())
        alive, forked = self.alive(running_ms), self.forked(running_ms)
        known = self.known if self.noted or self.older else {}
        others = tuple((who, at) for who, at in known.items() if who not in members)[: limits.SEATS_MAX]
        where = (self.definition, self.instance, self.number, members, addresses)
        detached = not alive and self.heard(running_ms)
        # A copy decides no succession, so it does not matter what it forgot.
        forgot = self.forgot and not self.definition.home
        return GroupInfo(*where, alive, forked, others, detached, self.after, forgot)

    def with_seats(self, seats: Iterable[tuple[Process, Address]]) -> Row:
        """Return the row with these in `older`, except those whose life is back; at the bound the oldest go."""
        if not (seats or self.older):
            return self
        # A life that is back under its name has what it had, or was given the group's state. Another life of that name
        # says nothing of the first: 1. C is paused, and put out. 2. Somebody starts C again. 3. All but the first C
        # are killed. 4. It runs again, with what all had.
        back = self.view.lives if self.view else frozenset()
        older = {who: at for who, at in (*self.older, *seats) if (name_of(who), at) not in back}
        known = tuple(older.items())[-limits.SEATS_MAX :]
        return self if known == self.older else replace(self, older=known)


@dataclass(frozen=True, slots=True)
class DissolvedInstance:
    """An instance that all members have left, the last one out of this view.

    A copy keeps the word of that member, with its proof: the home may have been down, and is to hear of it.
    """

    group: str
    instance: str
    view: int
    process: Process = ""
    proof: bytes = b""

    @classmethod
    def said_by(cls, last: Unregister, *, at_home: bool) -> DissolvedInstance:
        """Return the end that the last member tells."""
        word = () if at_home else (last.process, last.proof)
        return cls(last.group, last.instance, last.view, *word)


class Mint(Protocol):
    """The source of a registry's instance ids."""

    def new(self, group: str) -> str:
        """Return an id that was never given before."""
        ...

    def is_own(self, group: str, origin: str) -> bool:
        """Return whether this registry founded an instance of that id, as far as it can tell, under that name."""
        ...


class Store:
    """The place where rows outlive the registry; this one keeps nothing. A write is durable when the method returns."""

    def rows(self) -> Iterable[Row]:
        return ()

    def dissolved(self) -> Iterable[DissolvedInstance]:
        return ()

    def save(self, row: Row) -> None:
        """Keep a row in place of the name's earlier one."""

    def drop(self, group: str) -> None:
        """Forget a name's row."""

    def bury(self, gone: DissolvedInstance) -> None:
        """Keep that an instance is over: all its members have left, or are dead."""

    def forget(self, group: str) -> None:
        """Keep no longer what `bury` kept of a name."""


def census(rows: Collection[Row], running_ms: int) -> tuple[dict[str, int], int]:
    """Return the number of groups in each state, and of the members of all views."""
    found = dict.fromkeys(("empty", "alive", "detached", "doubted"), 0)
    for row in rows:
        found[row.state(running_ms)] += 1
    return found, sum(len(row.view.members) for row in rows if row.view)


def stands_above(request: Register, row: Row) -> bool:
    """Return whether the instance that registers stands above the entry's.

    By lineage, also where definitions differ; where sides merge, by size, as their leaders compare: both must come to
    the same answer.
    """
    if request.definition != row.definition or request.definition.netsplit is Netsplit.PRIMARY:
        return lineage.precedence(request.instance) < lineage.precedence(row.instance)
    mine = by_size(len(request.view.members), request.view.number, request.instance)
    return mine < by_size(len(row.view.members) if row.view else 0, row.number, row.instance)
