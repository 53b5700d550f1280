"""The definition of a group: what its creator picked, and every member obeys (GCom 2009 §4.1.12)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeVar

from gcom.errors import BadValue
from gcom.values import limits, names
from gcom.values.detection import LAN, Detection

_E = TypeVar("_E", bound=StrEnum)


class Ordering(StrEnum):
    """The order in which members deliver."""

    NONORDERED = "NONORDERED"  # as messages arrive
    FIFO = "FIFO"  # each sender's in the order it sent them
    CAUSAL = "CAUSAL"  # FIFO, and nothing before what its sender had delivered before sending it
    TOTAL = "TOTAL"  # all members in one order
    CAUSALTOTAL = "CAUSALTOTAL"  # one order, and that a causal one

    @property
    def is_fifo(self) -> bool:
        """Return whether it promises each sender's messages in the order in which it sent them."""
        return _PROMISES[self].fifo

    @property
    def is_causal(self) -> bool:
        """Return whether it promises each message after all that its sender had delivered before sending it."""
        return _PROMISES[self].causal

    @property
    def is_total(self) -> bool:
        """Return whether it promises one order of all messages."""
        return _PROMISES[self].total


@dataclass(frozen=True, slots=True)
class _OrderPromises:
    fifo: bool = False
    causal: bool = False
    total: bool = False


# The one table of these: the audit's rules, the simulator's checkers, the demo and the benchmarks ask for a promise, so
# that none of them lists orderings. (The oracle of the tests has a table of its own, from the contract's words.)
_PROMISES = {
    Ordering.NONORDERED: _OrderPromises(),
    Ordering.FIFO: _OrderPromises(fifo=True),
    Ordering.CAUSAL: _OrderPromises(fifo=True, causal=True),
    Ordering.TOTAL: _OrderPromises(total=True),
    Ordering.CAUSALTOTAL: _OrderPromises(fifo=True, causal=True, total=True),
}


class Multicast(StrEnum):
    """The assurance that a message which some member delivered reaches the others."""

    BASIC = "BASIC"  # one copy to each; a loss is reported, not repaired
    RELIABLE = "RELIABLE"  # members that stay together deliver the same set


class Netsplit(StrEnum):
    """The rights of a side of a split network."""

    PRIMARY = "PRIMARY"  # only a side with a quorum of the last view goes on
    PARTITIONABLE = "PARTITIONABLE"  # every side goes on, as an instance of its own; when they meet they merge


class TieBreaker(StrEnum):
    """The vote that decides when exactly half of a view is left."""

    LEADER = "LEADER"  # the view's oldest member
    REGISTRY = "REGISTRY"  # the home registry, as a witness that keeps its votes on disk


@dataclass(frozen=True, slots=True, init=False)
class Definition:
    """A group's properties. `static` names its only possible members; empty means anybody may join."""

    group: str
    ordering: Ordering = Ordering.FIFO
    multicast: Multicast = Multicast.RELIABLE
    static: tuple[str, ...] = ()
    safe: bool = False  # delivered once a majority of the view holds it (RELIABLE only)
    netsplit: Netsplit = Netsplit.PRIMARY
    tie_breaker: TieBreaker = TieBreaker.LEADER
    detection: Detection = LAN
    # The address of the group's home registry; empty: the registry that this definition came from, or goes to. No
    # creator picks it, so definitions that differ in it alone are equal.
    home: str = field(default="", compare=False)
    signed: bool = False  # each run has its sender's signature (docs/protocols/signing.md)

    # The names of the members are spelt out: mypy finds one that is misspelt, and help() shows them all.
    def __init__(
        self,
        group: str,
        ordering: Ordering | Literal["NONORDERED", "FIFO", "CAUSAL", "TOTAL", "CAUSALTOTAL"] = "FIFO",
        multicast: Multicast | Literal["BASIC", "RELIABLE"] = "RELIABLE",
        static: tuple[str, ...] = (),
        safe: bool = False,
        netsplit: Netsplit | Literal["PRIMARY", "PARTITIONABLE"] = "PRIMARY",
        tie_breaker: TieBreaker | Literal["LEADER", "REGISTRY"] = "LEADER",
        detection: Detection | Literal["lan", "wan"] | float | str = "lan",
        home: str = "",
        signed: bool = False,
    ) -> None:
        """Check and normalise; raise BadValue naming what is allowed."""
        for what, given in (("safe", safe), ("signed", signed)):
            if not isinstance(given, bool):
                raise BadValue(f"{what} {given!r} is neither true nor false")
        checked = {
            "group": names.group_name(group),
            "ordering": _choice(Ordering, "ordering", ordering),
            "multicast": _choice(Multicast, "multicast", multicast),
            "static": _members(static),
            "safe": safe,
            "netsplit": _choice(Netsplit, "netsplit", netsplit),
            "tie_breaker": _choice(TieBreaker, "tie_breaker", tie_breaker),
            "detection": Detection.parse(detection),
            "home": names.address(home) if home else "",
            "signed": signed,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        # SAFE counts stored copies, and BASIC stores none.
        if self.safe and self.multicast is not Multicast.RELIABLE:
            raise BadValue("safe delivery needs RELIABLE multicast: BASIC keeps nothing that a majority could hold")

    @property
    def total(self) -> bool:
        """Return whether the group has one order of all messages."""
        return self.ordering.is_total

    @classmethod
    def parse(
        cls,
        group: str,
        ordering: str = "FIFO",
        multicast: str = "RELIABLE",
        static: Iterable[str] = (),
        safe: bool = False,
        netsplit: str = "PRIMARY",
        tie_breaker: str = "LEADER",
        detection: Detection | float | str = "lan",
        home: str = "",
        signed: bool = False,
    ) -> Definition:
        """Return a definition from a user's or a peer's words, in any case; raise BadValue naming what is allowed.

        In a program `Definition(...)` is better: there mypy finds a name that is misspelt.
        """
        orders = _choice(Ordering, "ordering", ordering)
        casts = _choice(Multicast, "multicast", multicast)
        members = (static,) if isinstance(static, str) else tuple(static)
        split, tie = _choice(Netsplit, "netsplit", netsplit), _choice(TieBreaker, "tie_breaker", tie_breaker)
        return cls(group, orders, casts, members, safe, split, tie, detection, home, signed)

    def differences(self, other: Definition) -> str:
        """Return the differences of `other` from this one in words; empty if there are none."""
        rows = [(name, mine, theirs) for (name, mine), (_, theirs) in zip(self._rows(), other._rows(), strict=True)]
        return ", ".join(f"{name} is {mine}, not {theirs}" for name, mine, theirs in rows if mine != theirs)

    def _rows(self) -> list[tuple[str, str]]:
        members = f"static {','.join(self.static)}" if self.static else "dynamic"
        words = [("ordering", self.ordering), ("multicast", self.multicast), ("membership", members)]
        split = [("netsplit", self.netsplit), ("tie-breaker", self.tie_breaker), ("detection", str(self.detection))]
        flags = [("safe", str(self.safe).lower()), ("signed", str(self.signed).lower())]
        return [*words, *flags, *split]


def _members(static: object) -> tuple[str, ...]:
    # A text is iterable: "alice" would become the members a, l, i, c and e.
    if isinstance(static, str) or not isinstance(static, Iterable):
        raise BadValue(f"static {static!r} is not a list of member names")
    # Sorted, once each: equal definitions must compare equal, whoever wrote them in whichever order.
    members = tuple(sorted({names.member_name(name) for name in static}))
    if len(members) > limits.MEMBERS_MAX:
        raise BadValue(f"{len(members)} static members are too many: at most {limits.MEMBERS_MAX}")
    return members


def _choice(kind: type[_E], what: str, text: object) -> _E:
    if not isinstance(text, str) or text.upper() not in kind.__members__:
        raise BadValue(f"{what} {text!r} is not one of {', '.join(kind)}")
    return kind[text.upper()]


def unsigned(definition: Definition) -> str:
    """Return the reason why a process without a certificate is kept out of a signed group."""
    return (
        f"group {definition.group!r} is signed, and this process has no certificate to sign with: accept an invitation "
        "(gcom accept), or give --cert, --key and --ca"
    )


def uninvited(definition: Definition, name: str) -> str:
    """Return the reason why a stranger is kept out of a static group."""
    return (
        f"{name!r} is not a member of the static group {definition.group!r}: allowed are {', '.join(definition.static)}"
    )
