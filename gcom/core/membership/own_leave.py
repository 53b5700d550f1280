"""The leave of a process: it is said once no joiner waits for its state; it goes once those who stay have the cut, or
have had their time.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from gcom.core.messages.frames import Decision
from gcom.core.state_transfer.transfer import Transfer
from gcom.values import limits
from gcom.values.names import Process


class LeaveWish(NamedTuple):
    """The wish of this process to leave; `reads_on` and `at_once` as in `events.Leave`."""

    reason: str = ""  # empty: it has none
    into: str = ""  # the instance for which it leaves, if it knows that
    reads_on: bool = False
    at_once: bool = True


class OwnLeave:
    """The leave request of this process, its decision, and the members that stay and have installed it.

    1. A sends m, and leaves. 2. A and C accept the cut with m in it; C, which fell silent, is put out. 3. B, which
    stays, lacks m, and nobody but A could give it. So A waits until a majority of those who stay have gone on.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self.wish = LeaveWish()
        self.awaited: set[Process] = set()  # those who stay and have not gone on yet; none where this process stays
        self._count = 0  # of those who stay
        self._left_ms: int | None = None  # the running time that is left, in ms; None: it does not leave
        self._counted_ms = 0  # until when it was counted down
        self._ahead: set[Process] = set()  # in a later view

    def say(self, leavers: dict[Process, str], transfer: Transfer) -> bool:
        """Join the leavers of the view, unless a joiner has to be given this process's state first; tell if it did."""
        # Anew in each view: 1. A and B have the state, and leave; A says so first. 2. The view without A admits Z, and
        # names B as its donor. 3. If B's word of before counted, it would go at once, and Z hear that nobody has it.
        gives = transfer.gives_or_asks if self.wish.reads_on else transfer.giving
        if self._process in leavers or (gives and not self.wish.at_once):
            return False
        leavers[self._process] = self.wish.reason
        return True

    def clear(self) -> None:
        """Begin a view."""
        self._left_ms, self.awaited = None, set()
        self._ahead.clear()

    def begin(self, decision: Decision, members: set[Process], now_ms: int) -> None:
        """Begin to wait, where a decision takes this process out of its view; `members` are the others of that view."""
        # Where an instance is succeeded all who stay have accepted already, and the registry last.
        if self._left_ms is None and self._process in decision.left and decision.succession is None:
            stay = members & set(decision.view.members)
            self.awaited, self._count = stay - self._ahead, len(stay)
            self._left_ms, self._counted_ms = limits.TIME_WAIT_MS, now_ms

    def went_on(self, peer: Process) -> None:
        """Record that a peer is in a later view."""
        self._ahead.add(peer)
        self.awaited.discard(peer)

    def may_go(self, dead: Set[Process]) -> bool:
        """Return whether nobody needs what this process has of the cut."""
        # A majority of those who stay has gone on, so each later quorum has a member with the whole cut. Or all the
        # others are dead, and nobody will ask.
        return 2 * len(self.awaited) < max(1, self._count) or self.awaited <= dead

    def is_late(self, now_ms: int) -> bool:
        """Return whether it has waited for TIME_WAIT_MS: then nobody can say who will have its last messages."""
        if self._left_ms is None:
            return False
        # Running time alone, as a leaver that is paused gives nobody what he lacks: 1. A decides the view without
        # itself, and is paused for 5 s. 2. It runs again. If it went now, nobody would have had its last messages.
        self._left_ms -= min(now_ms - self._counted_ms, limits.HEARTBEAT_MS)
        self._counted_ms = now_ms
        return self._left_ms <= 0
