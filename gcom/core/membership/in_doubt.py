"""Messages of this process of which, while it was detached, no member could say whether they would arrive.

ARCHITECTURE 10. Each is settled later, once: it is held by every member that goes on, or it will never be delivered. So
an application can send the content of the latter again, and makes no doubles.
"""

from __future__ import annotations

from gcom.core.messages.effects import DoubtSettled, Skip
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
        return self.settle(self.span, [])

    def settle_by_cut(self, process: Process, doubt: Span, arrived: int, view: int) -> list[DoubtSettled]:
        """Settle by the cut of those who go on without this process: its messages up to `arrived` are in it."""
        # So the application can send the rest again, and makes no doubles.
        first, last = doubt
        never = [Skip(process, arrived + 1, last - arrived, view)] if arrived < last else []
        return self.settle((min(first, arrived + 1), last), never)

    def settle(self, span: Span | None, never: list[Skip]) -> list[DoubtSettled]:
        """Settle at a view's end: the messages in `never` will not be delivered, and all others have arrived."""
        self.span = None
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
