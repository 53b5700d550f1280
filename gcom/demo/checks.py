"""Checks of a member's deliveries against what was sent, from digests: any number of lines takes a few bytes.

One digest runs over a sender's lines in their order, and one over all that a member delivered. The other is a sum, in
which order does not count, so that it says "the same lines, each as often" where no order is promised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gcom.values.definition import Ordering

_SUM = 2**128


class DemoStream:
    """The messages sent by, or delivered from, one sender."""

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        self.count = 0
        self._sum = 0
        self._order = hashlib.sha256()
        for line in lines:
            self.add(line)

    def add(self, line: bytes) -> None:
        digest = hashlib.blake2b(line, digest_size=16).digest()
        self.count += 1
        # A sum and not an exclusive or: two equal lines must not cancel out.
        self._sum = (self._sum + int.from_bytes(digest)) % _SUM
        self._order.update(digest)

    def report(self) -> StreamSummary:
        return StreamSummary(self.count, f"{self._sum:032x}", self._order.hexdigest())


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """The counts and digests of a stream."""

    count: int
    same_set: str
    same_order: str


@dataclass(frozen=True, slots=True)
class DemoResult:
    """An ordering's turn. `in_order` is None where no order is promised."""

    ordering: str
    members: int
    messages: int
    deliveries: int
    rate: float  # messages a second at the slowest member
    p50_ms: float
    p99_ms: float
    same_set: bool
    in_order: bool | None
    wrong: tuple[str, ...]

    @property
    def right(self) -> bool:
        return not self.wrong

    def line(self) -> str:
        """Return the result in one line, for people."""
        head = f"{self.ordering:<12}  {self.messages:,} messages to {self.members} members, {self.rate:>7,.0f} a second"
        if not self.right:
            return f"{head}: WRONG: {self.wrong[0]}"
        one = Ordering(self.ordering).is_total
        order = ", in one order for all" if one else ", each sender's in order" if self.in_order else ""
        return f"{head}: every line arrived once{order}"

    def row(self) -> dict[str, object]:
        return {
            "type": "demo",
            "ordering": self.ordering,
            "members": self.members,
            "messages": self.messages,
            "deliveries": self.deliveries,
            "messages_per_s": round(self.rate),
            "latency_ms": {"p50": round(self.p50_ms, 3), "p99": round(self.p99_ms, 3)},
            "same_set": self.same_set,
            "in_order": self.in_order,
            "ok": self.right,
            "wrong": list(self.wrong),
        }


def promises_order(ordering: Ordering) -> bool:
    """Tell whether each sender's messages come in the order it sent them: where none is lost, a total order is that."""
    return ordering.is_fifo or ordering.is_total


def sequence_faults(sequences: dict[str, str]) -> list[str]:
    """Return a sentence per member that delivered in another order than the first one. `sequences` are the digests of
    all deliveries, by member.
    """
    first, *others = sequences
    different = [member for member in others if sequences[member] != sequences[first]]
    return [f"{member} delivered in another order than {first}" for member in different]


def faults(
    sent: dict[str, StreamSummary], delivered: dict[str, dict[str, StreamSummary]], ordered: bool
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the faults of the sets and of the order, in words. `delivered` is by member, then by sender."""
    sets: list[str] = []
    orders: list[str] = []
    for member, streams in delivered.items():
        for sender, expected in sent.items():
            # A sender of whom nothing came counts as an empty stream: a loss of all is a loss.
            seen = streams.get(sender, DemoStream().report())
            if (seen.count, seen.same_set) != (expected.count, expected.same_set):
                sets.append(f"{member} delivered {seen.count} lines of {sender}, not the {expected.count} that it sent")
            # Only of equal sets: with a line missing every order differs, and the loss is what counts.
            elif ordered and seen.same_order != expected.same_order:
                orders.append(f"{member} delivered the lines of {sender} in another order")
        sets += [f"{member} delivered from {stranger}, who sends nothing" for stranger in streams.keys() - sent.keys()]
    return sets, orders
