"""The agreed membership of a group's instance (Chockler, Keidar, Vitenberg 2001, §3)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.values import names


@dataclass(frozen=True, slots=True)
class View:
    """View `number` of an instance. `members` are in rank order, oldest first; the first is the leader.

    `addresses` are in the order of `members`. `started` is false only in a static group that never had all its names.
    """

    number: int
    members: tuple[str, ...]
    addresses: tuple[str, ...]
    started: bool = True

    @property
    def leader(self) -> str:
        """The oldest member."""
        return self.members[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, without their incarnations."""
        return tuple(names.name_of(member) for member in self.members)

    @property
    def lives(self) -> frozenset[tuple[str, str]]:
        """The members' names and addresses; an address that names a life belongs to one operating-system process."""
        return frozenset(zip(self.names, self.addresses, strict=True))

    def rank(self, who: str) -> int:
        """Return a member's rank, 0 for the oldest; raise ValueError for a stranger."""
        return self.members.index(who)

    def address(self, who: str) -> str:
        """Return the address at which a member listens; raise ValueError for a stranger."""
        return self.addresses[self.members.index(who)]
