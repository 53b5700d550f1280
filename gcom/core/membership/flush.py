"""Fetching of the payloads of a cut that are missing here, from members that hold them (ARCHITECTURE 8).

A fetch that brings nothing for FETCH_RETRY_MS goes to the next holder. Members that are known to hold a stream are
tried before the rest of the view, and the stream's own sender first.
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
        """Get the cut of a decision."""
        # The same CUT again, since CUT_OK was lost: to ask anew would send every payload twice.
        if decision != self.wanted:
            self._asked_ms, self._tries = {}, {}
        # 1. A value is recorded, and its payloads are fetched so that it can be accepted. 2. It is decided without
        # this process, and INSTALL comes. 3. The same fetch goes on, now from anybody, and ends in the install.
        self.wanted, self.decided, self._holders = decision, decided, holders

    def clear(self) -> None:
        self.wanted, self.decided = None, False

    def ask(self, missing: list[Range], view: int, live: list[Process], now_ms: int) -> list[Say]:
        """Return the fetches to put now for what is missing."""
        says: list[Say] = []
        for gap in missing:
            # What was asked for is under way, most likely: a second holder would send it once more.
            if now_ms - self._asked_ms.get(gap.sender, -limits.FETCH_RETRY_MS) < limits.FETCH_RETRY_MS:
                continue
            holder = self._next_holder(gap.sender, live)
            if holder is not None:
                self._asked_ms[gap.sender] = now_ms
                says.append(Say(holder, Fetch(view, gap.sender, gap.first, gap.last, gap.at_byte)))
        return says

    def heard(self, sender: Process, now_ms: int) -> None:
        """Record that something of a sender came: the member that sends it goes on by itself."""
        # Otherwise a cut of many megabytes would be asked of a second holder after FETCH_RETRY_MS, and come
        # twice.
        if sender in self._asked_ms:
            self._asked_ms[sender] = now_ms

    def _next_holder(self, sender: Process, live: list[Process]) -> Process | None:
        # The sender first: what it sent may still be on its way, and comes with the next frame anyway.
        known = self._holders.get(sender, ())
        order = [peer for peer in known if peer == sender] + [peer for peer in known if peer != sender]
        # Suspected holders last, but not never: a suspicion is kept until the change is over, be its cause gone or not,
        # and a suspect may alone hold the payload.
        near = [peer for peer in order if peer in live]
        candidates = [
            *near,
            *(peer for peer in live if peer not in near),
            *(peer for peer in order if peer not in near),
        ]
        if not candidates:
            return None
        # In turn, and around again: a holder that does not answer now may be the only one left later.
        tries = self._tries[sender] = self._tries.get(sender, -1) + 1
        return candidates[tries % len(candidates)]


def relay(asked: dict[Process, Relay], multicast: MulticastProtocol, bytes_max: int) -> Load:
    """Return what goes next to a peer that fetches; strike off `asked` what is served in full, or cannot be."""
    # The order is relayed apart from data, in a frame's own field: pieces of it are small, and go beside any
    # load.
    for sender in [sender for sender in asked if sender != ORDER]:
        wanted = asked[sender]
        found = multicast.fetched(wanted.view, sender, wanted.after, wanted.at_byte, bytes_max)
        # A run beyond the cut could not be stored there: members that accepted would differ in what they hold.
        runs = tuple(run for run in found.runs if run.last <= wanted.last)
        load = Load(runs, tuple(fragment for fragment in found.fragments if fragment.first <= wanted.last))
        if load.size:
            wanted.after, wanted.at_byte = load.end
            return load
        # Nothing goes next: all of it went, or it was dropped here as stable,
        # or was never here. If the peer still misses it, it asks somebody else.
        del asked[sender]
    return NOTHING
