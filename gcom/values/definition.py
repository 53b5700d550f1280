"""What the creator of a group picked; every member obeys the same (GCom 2009 §4.1.12)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from gcom.errors import BadValue
from gcom.values import limits, names

_E = TypeVar("_E", bound=StrEnum)


class Ordering(StrEnum):
    """In which order members deliver."""

    NONORDERED = "NONORDERED"  # as messages arrive
    FIFO = "FIFO"  # each sender's in the order it sent them


class Multicast(StrEnum):
    """How far a message that some member delivered is sure to reach the others."""

    BASIC = "BASIC"  # one copy to each; a loss is reported, not repaired
    RELIABLE = "RELIABLE"  # members that stay together deliver the same set


class Netsplit(StrEnum):
    """What a side of a split network may do."""

    PRIMARY = "PRIMARY"  # only a side with a quorum of the last view goes on


@dataclass(frozen=True, slots=True)
class Definition:
    """A group's properties. `static` names its only possible members; empty means anybody may join."""

    group: str
    ordering: Ordering = Ordering.FIFO
    multicast: Multicast = Multicast.RELIABLE
    static: tuple[str, ...] = ()
    safe: bool = False
    netsplit: Netsplit = Netsplit.PRIMARY

    def __post_init__(self) -> None:
        """Check and normalise; raises BadValue naming what is allowed."""
        names.group_name(self.group)
        if isinstance(self.static, str) or not isinstance(self.static, Iterable):
            raise BadValue(f"static {self.static!r} is not a list of member names")
        static = tuple(sorted({names.member_name(name) for name in self.static}))
        if len(static) > limits.MEMBERS_MAX:
            raise BadValue(f"{len(static)} static members are too many: at most {limits.MEMBERS_MAX}")
        if self.safe is not False:
            raise BadValue("safe delivery is not in this version: leave it out")
        object.__setattr__(self, "static", static)
        for field, kind in (("ordering", Ordering), ("multicast", Multicast), ("netsplit", Netsplit)):
            object.__setattr__(self, field, _choice(kind, field, getattr(self, field)))

    @classmethod
    def parse(
        cls,
        group: str,
        ordering: str = "FIFO",
        multicast: str = "RELIABLE",
        static: Iterable[str] = (),
        safe: bool = False,
        netsplit: str = "PRIMARY",
    ) -> Definition:
        """A definition from a user's or a peer's words, in any case; raises BadValue naming what is allowed."""
        orders = _choice(Ordering, "ordering", ordering)
        casts = _choice(Multicast, "multicast", multicast)
        members = (static,) if isinstance(static, str) else tuple(static)
        return cls(group, orders, casts, members, safe, _choice(Netsplit, "netsplit", netsplit))

    def differences(self, other: Definition) -> str:
        """In words, where `other` differs from this one; empty if nowhere."""
        rows = [(name, mine, theirs) for (name, mine), (_, theirs) in zip(self._rows(), other._rows(), strict=True)]
        return ", ".join(f"{name} is {mine}, not {theirs}" for name, mine, theirs in rows if mine != theirs)

    def _rows(self) -> list[tuple[str, str]]:
        members = f"static {','.join(self.static)}" if self.static else "dynamic"
        words = [("ordering", self.ordering), ("multicast", self.multicast), ("membership", members)]
        return [*words, ("safe", str(self.safe).lower()), ("netsplit", self.netsplit)]


def _choice(kind: type[_E], what: str, text: object) -> _E:
    allowed = ", ".join(kind)
    if not isinstance(text, str) or text.upper() not in kind.__members__:
        raise BadValue(f"{what} {text!r} is not one of {allowed}")
    return kind[text.upper()]
