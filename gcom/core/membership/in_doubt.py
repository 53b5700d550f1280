"""Messages of this process of which, while it was detached, no member could say whether they would arrive.

ARCHITECTURE 10. Each is settled later, once: it is held by every member that goes on, or it will never be delivered. So
an application can send the content of the latter again, and makes no doubles.
"""

from __future__ import annotations

from gcom.core.messages.effects import DoubtSettled, Effect, Skip
from gcom.values.names import Process

Span = tuple[int, int]  # first and last number


class InDoubt:
    """The span of this process's own stream that is in doubt; methods return what is settled."""

    def __init__(self) -> None:
        self.span: Span | None = None

    def add(self, unconfirmed: Span | None) -> None:
        """Add messages that are not known to be held by all while this process is detached."""
        # It only grows: what is confirmed meanwhile stays in it, since the
        # application was told that it is in doubt, and is to be told the end once.
        if unconfirmed:
            self.span = (min(unconfirmed[0], self.span[0]) if self.span else unconfirmed[0], unconfirmed[1])

    def confirm(self, unconfirmed: Span | None) -> list[DoubtSettled]:
        """Settle all, once what is not known to be held by all begins behind it."""
        if self.span is None or (unconfirmed and unconfirmed[0] <= self.span[1]):
            return []
        return self.settle([])

    def settle_by_cut(self, process: Process, unconfirmed: Span | None, arrived: int, view: int) -> list[DoubtSettled]:
        """Settle by the cut of those who go on without this process: its messages up to `arrived` are in it."""
        # So the application can send the rest again, and makes no doubles.
        self.add(unconfirmed)
        if self.span is None:
            return []
        last = self.span[1]
        return self.settle([Skip(process, arrived + 1, last - arrived, view)] if arrived < last else [])

    def succeed(self, process: Process, unconfirmed: Span | None, closed: list[Effect]) -> list[DoubtSettled]:
        """Settle at a succession, by what came of its cut: a message that was not given up has arrived."""
        self.add(unconfirmed)
        return self.settle([skip for skip in closed if isinstance(skip, Skip) and skip.sender == process])

    def end(self, unconfirmed: Span | None) -> list[DoubtSettled]:
        """Settle, as this process ends, what its Departure will not name as unconfirmed."""
        # 1. A is told that 1 to 5 are in doubt. 2. All come to hold 1 to 3, and A ends. 3. Its Departure names 4 and 5
        # alone, and of 1 to 3 nothing else would tell.
        if self.span and unconfirmed:
            first, last = self.span
            self.span = (first, min(last, unconfirmed[0] - 1)) if first < unconfirmed[0] else None
        return self.settle([])

    def settle(self, never: list[Skip]) -> list[DoubtSettled]:
        """Settle at a view's end: the messages in `never` will not be delivered, and all others have arrived."""
        span, self.span = self.span, None
        spans = [*([span] if span else []), *[(skip.first, skip.first + skip.count - 1) for skip in never]]
        if not spans:
            return []
        settled: list[DoubtSettled] = []
        following, last = min(first for first, _ in spans), max(last for _, last in spans)
        # Skips are gaps inside the span: a successor's order may give up a message whose neighbours arrived.
        for skip in sorted(never, key=lambda skip: skip.first):
            if following < skip.first:
                settled.append(DoubtSettled(following, skip.first - 1, arrived=True))
            following = max(following, skip.first + skip.count)
            settled.append(DoubtSettled(skip.first, following - 1, arrived=False))
        return settled + ([DoubtSettled(following, last, arrived=True)] if following <= last else [])
