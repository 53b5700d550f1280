"""The condition under which a member of the view *holds* a message of this process (`held_by`, receipts).

The message alone is not enough, since who is left with it must be able to deliver it:

1. *What it follows*, in a causal order. B's m1 reaches A alone. A delivers it, sends m2, and C and D store that. A and
   B die. Nobody has m1, so nobody may deliver m2, and all who hold it give it up.
2. *Its place*, in a total order. A, B, C and D hold A's message, and A, B and C know that a majority has its place.
   They die. D is left, and its successor's order is what is known to be agreed (docs/protocols/continuity.md, story 9).

So a member counts once it holds the message, what that follows is held by all, and the member knows its place; or once
its application has read the message, which says all of that.
"""

from __future__ import annotations

from collections import deque

from gcom.core.multicast.basic import Basic
from gcom.core.multicast.reliable import Reliable
from gcom.core.ordering.agreement import OrderAgreement
from gcom.values.names import Process
from gcom.values.run import Run


class Holders:
    """The members that hold this process's stream of the view with all that it needs, and how far.

    `_pasts`: from which number on its messages follow which number of which other member; as its runs were formed.
    """

    def __init__(self, multicast: Reliable | Basic, serials: OrderAgreement | None, causal: bool) -> None:
        # `causal` over RELIABLE alone: over BASIC nobody says what all hold, and nothing is promised of it.
        self._multicast = multicast
        self._serials = serials
        self._causal = causal
        self._pasts: deque[tuple[int, Process, int]] = deque()

    def install(self) -> None:
        """Begin a view: every member of it has the cut, and with it the past of all that was sent before."""
        self._pasts.clear()

    def on_formed(self, run: Run) -> None:
        """Take in a run of this process: what its sender had delivered since the last one is its past."""
        if self._causal:
            self._drop_held_pasts()  # here, too: where nobody asks who holds what, this list would grow without end
            self._pasts.extend((run.first, sender, number) for sender, number in run.clock.items())

    def newcomers(self, number: int) -> list[Process]:
        """Return the members that came after a message was sent: they have it with the state, or never."""
        return [peer for peer, known in self._multicast.out.peers.items() if number <= known.since]

    def lacking(self, number: int) -> list[Process]:
        """Return the members, newcomers left out, that are not known to hold 1…number with what they need."""
        out = self._multicast.out
        lacking = self._multicast.lacking(number)
        if number > out.number:
            return lacking  # all: it has no number yet
        unaware = self._serials.unaware(number) if self._serials else ()
        follows = self._causal and self._first_without_past() <= number
        unread = [peer for peer, known in out.peers.items() if known.consumed < number]
        # Its own place must be known here, too: who dies of the others may be all that knows it.
        own = [out.process] if self._serials and number > self._serials.placed else []
        late = self.newcomers(number)
        others = (peer for peer in out.peers if peer in lacking or (peer in unread and (follows or peer in unaware)))
        return own + [peer for peer in others if peer not in late]

    def _first_without_past(self) -> int:
        """Return the first message of this process that follows one which some member may not hold."""
        self._drop_held_pasts()
        return self._pasts[0][0] if self._pasts else self._multicast.out.number + 1

    def _drop_held_pasts(self) -> None:
        stable = self._multicast.told_stable
        while self._pasts and self._pasts[0][2] <= stable(self._pasts[0][1]):
            self._pasts.popleft()

    @property
    def held_by_all(self) -> int:
        """The last message of this process up to which all members of the view hold all with what it needs."""
        out = self._multicast.out
        past = self._first_without_past() - 1 if self._causal else out.number
        return min(out.stable, past, self._serials.aware if self._serials else out.number)
