"""Getting the payloads of a cut that are missing here, from those who hold them (DESIGN 8).

A fetch that brings nothing for FETCH_RETRY_MS goes to the next holder; whoever was heard to hold a stream is tried
before the rest of the view, and the stream's own sender first, since what it sent may still be on its way from it.
"""

from __future__ import annotations

from gcom.core.links import Relay
from gcom.core.membership.consensus import Say
from gcom.core.messages.frames import ORDER, Decision, Fetch
from gcom.core.multicast.reliable import MulticastProtocol, Range
from gcom.core.multicast.window import NOTHING, Load
from gcom.values import limits
from gcom.values.names import Process


class Flush:
    """The decision whose cut is wanted, if any; `decided`: it is installed once the cut is here."""

    def __init__(self) -> None:
        self.wanted: Decision | None = None
        self.decided = False
        self._holders: dict[Process, tuple[Process, ...]] = {}
        self._asked_ms: dict[Process, int] = {}  # by sender
        self._tries: dict[Process, int] = {}

    def want(self, decision: Decision, holders: dict[Process, tuple[Process, ...]], decided: bool) -> None:
        """Get the cut of a decision; one that is wanted already, since its CUT came again, is not asked anew."""
        if decision != self.wanted:
            self._asked_ms, self._tries = {}, {}
        self.wanted, self.decided, self._holders = decision, decided, holders

    def clear(self) -> None:
        self.wanted, self.decided = None, False

    def ask(self, missing: list[Range], view: int, live: list[Process], now_ms: int) -> list[Say]:
        """Whom to ask for what is missing, now."""
        says: list[Say] = []
        for gap in missing:
            if now_ms - self._asked_ms.get(gap.sender, -limits.FETCH_RETRY_MS) < limits.FETCH_RETRY_MS:
                continue
            holder = self._next_holder(gap.sender, live)
            if holder is not None:
                self._asked_ms[gap.sender] = now_ms
                says.append(Say(holder, Fetch(view, gap.sender, gap.first, gap.last, gap.at_byte)))
        return says

    def heard(self, sender: Process, now_ms: int) -> None:
        """Something of a sender came: whoever sends it goes on by itself."""
        if sender in self._asked_ms:
            self._asked_ms[sender] = now_ms

    def _next_holder(self, sender: Process, live: list[Process]) -> Process | None:
        known = self._holders.get(sender, ())
        order = [peer for peer in known if peer == sender] + [peer for peer in known if peer != sender]
        # Last those who are suspected: a suspicion outlives its cause in a change, and one of them may be who holds it.
        near = [peer for peer in order if peer in live]
        candidates = [
            *near,
            *(peer for peer in live if peer not in near),
            *(peer for peer in order if peer not in near),
        ]
        if not candidates:
            return None
        tries = self._tries[sender] = self._tries.get(sender, -1) + 1
        return candidates[tries % len(candidates)]


def relay(asked: dict[Process, Relay], multicast: MulticastProtocol, bytes_max: int) -> Load:
    """What goes next to a peer that fetches; what is served in full, or cannot be, is struck off `asked`."""
    for sender in [sender for sender in asked if sender != ORDER]:
        wanted = asked[sender]
        found = multicast.fetched(wanted.view, sender, wanted.after, wanted.at_byte, bytes_max)
        runs = tuple(run for run in found.runs if run.last <= wanted.last)
        load = Load(runs, tuple(piece for piece in found.pieces if piece.first <= wanted.last))
        if load.size:
            wanted.after, wanted.at_byte = load.end
            return load
        del asked[sender]
    return NOTHING
