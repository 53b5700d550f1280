"""The order of one view as a log: the serial of each message (ARCHITECTURE 6, 7; Kaashoek and Tanenbaum 1991, BB).

One sequencer orders a view, so the logs that its members hold are prefixes of one another. A span is a range of one
sender; ranges of a sender follow one another without gaps, so a span needs no serial of its own.
"""

from __future__ import annotations

from bisect import bisect_right

from gcom.core.messages.orders import Orders, Span
from gcom.values import limits
from gcom.values.names import Process


class OrderLog:
    """Spans from `floor`+1 to `end`; `ordered[s]` is the last number of s that has a serial, for each member s."""

    def __init__(self, base: int, ordered: dict[Process, int]) -> None:
        self.floor = base
        self.end = base
        self.ordered = dict(ordered)
        self._spans: list[Span] = []
        self._ends: list[int] = []  # the last serial of each span, for bisection

    def __len__(self) -> int:
        return len(self._spans)

    def append(self, sender: Process, upto: int) -> bool:
        """Give serials to the messages of `sender` that have none, up to `upto`; return whether there were any."""
        first = self.ordered.get(sender, 0) + 1
        # Beyond the largest number only a peer that lies can ask.
        if not first <= upto <= first + limits.NUMBER_MAX - self.end - 1:
            return False
        self._put((sender, first, upto))
        return True

    def _put(self, span: Span) -> None:
        sender, first, last = span
        self._spans.append(span)
        self.end += last - first + 1
        self._ends.append(self.end)
        self.ordered[sender] = last

    def extend(self, orders: Orders) -> bool:
        """Take over what follows this log; return whether it grew. A piece that leaves a gap comes again."""
        before, at = self.end, orders.after
        for sender, first, last in orders.spans:
            at += last - first + 1
            # Known already: pieces overlap, since each sender's goes on from what it last heard that this
            # member holds.
            if at <= self.end:
                continue
            rest = last - (at - self.end) + 1  # a piece may begin within what is here
            if rest < first or rest != self.ordered.get(sender, -1) + 1 or at > limits.NUMBER_MAX:
                break  # a gap, another order, a stranger, or more than there are numbers
            self._put((sender, rest, last))
        return self.end > before

    def piece(self, view: int, serial: int, count_max: int) -> Orders:
        """Return `count_max` spans after `serial` at most; the first may begin before, within the span of `serial`."""
        index = bisect_right(self._ends, serial)
        after = self._ends[index - 1] if index else self.floor
        return Orders(view, after, tuple(self._spans[index : index + count_max]))

    def between(self, serial: int, end: int) -> list[Span]:
        """Return the order of the serials after `serial` up to `end`, cut to fit."""
        found: list[Span] = []
        index = bisect_right(self._ends, serial)
        while index < len(self._ends) and serial < end:
            sender, first, last = self._spans[index]
            start = self._ends[index] - (last - first)  # serial of `first`
            first += serial + 1 - start
            last -= max(0, self._ends[index] - end)
            found.append((sender, first, last))
            serial += last - first + 1
            index += 1
        return found

    def serial_of(self, sender: Process, number: int) -> int | None:
        """Return the serial of a message; None: it has none yet, or its span was dropped."""
        # From the first on, since a receipt of one message alone asks: an index would cost something at each span.
        for index, (ordered, first, last) in enumerate(self._spans):
            if ordered == sender and first <= number <= last:
                return self._ends[index] - (last - number)
        return None

    def truncate(self, serial: int) -> None:
        """Forget the order after `serial`, which is in no cut."""
        while self.end > max(serial, self.floor):
            sender, first, last = self._spans.pop()
            self._ends.pop()
            start = self.end - (last - first + 1)
            self.end, self.ordered[sender] = start, first - 1
            # The cut may end within a span: a run is never cut, but a span may join several runs.
            if start < serial:
                self._put((sender, first, first + serial - start - 1))

    def drop(self, serial: int) -> None:
        """Forget the spans up to `serial`."""
        count = bisect_right(self._ends, serial)
        if count:
            # Whole spans only: one that reaches beyond `serial` is needed for its rest.
            self.floor = self._ends[count - 1]
            del self._spans[:count], self._ends[:count]
