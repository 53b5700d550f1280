"""Who is suspected, and why (Chandra and Toueg 1996: an eventually accurate detector; memberlist's Lifeguard).

Evidence is a refused connection after one redial, a node that says it does not know the process, or silence. A
suspicion is never an expulsion by itself: it makes the lowest-ranked unsuspected member propose a view change, which
needs a quorum. A suspicion is taken back when the process is heard again; once this process has promised to a change,
only if too few for a quorum are left unsuspected.

The time that this process itself did not run counts against nobody: a timer that fires late moves every deadline.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.values import limits
from gcom.values.names import Process
from gcom.values.view import View


@dataclass(slots=True)
class _Watch:
    heard_ms: int  # moved forward by this process's own lag
    spoke_ms: int = -1  # as it was
    failures: int = 0  # refused connections in a row
    suspects: tuple[Process, ...] = ()  # whom it suspects, by its last status
    reason: str = ""  # why it is suspected; empty while it is not


def is_quorum(view: View, present: set[Process]) -> bool:
    """A majority of the view; of two halves, the one with the leader, the view's one tie-breaker (DESIGN 10)."""
    votes = sum(member in present for member in view.members)
    return 2 * votes > len(view.members) or (2 * votes == len(view.members) and view.leader in present)


class Detector:
    """Watches the other members of the view."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._view: View | None = None
        self._watched: dict[Process, _Watch] = {}
        self._ticked_ms: int | None = None
        self.sticky = False  # promised to a change: a suspicion stays until the next view

    def install(self, view: View, now_ms: int) -> None:
        """Watch the members of `view`; what was known of those who stay is kept, suspicions too."""
        others = [member for member in view.members if member != self._process]
        self._watched = {peer: self._watched.get(peer) or _Watch(now_ms) for peer in others}
        self._view = view
        self.sticky = False
        if self._ticked_ms is None:
            self._ticked_ms = now_ms

    def heard(self, peer: Process, now_ms: int, suspects: tuple[Process, ...]) -> None:
        """Something came from a peer."""
        watch = self._watched.get(peer)
        if watch:
            watch.heard_ms = watch.spoke_ms = now_ms
            watch.failures, watch.suspects = 0, suspects
            if watch.reason != "stuck" and (not self.sticky or not self._leaves_quorum):
                watch.reason = ""

    def caught_up(self, peer: Process) -> None:
        """A peer has installed the view: hearing it alone would not end that suspicion."""
        watch = self._watched.get(peer)
        if watch and watch.reason == "stuck" and not self.sticky:
            watch.reason = ""

    @property
    def _leaves_quorum(self) -> bool:
        """Whether those whom this process does not suspect are a quorum.

        1. Of A, B and C, C dies and B is paused; A has promised and suspects both. 2. B runs again and answers. 3. If
        A's suspicion stayed, A would wait for a quorum that it does not count, and B for A's change: for ever.
        """
        assert self._view is not None, "only a member watches"
        return is_quorum(self._view, set(self._view.members) - set(self.suspects))

    def failed(self, peer: Process, refused: bool) -> bool:
        """A call failed; whether the peer became suspected. One refusal is redialled, since it may be a restart."""
        watch = self._watched.get(peer)
        if watch is None or not refused:
            return False
        watch.failures += 1
        return watch.failures > 1 and self.suspect(peer, "refused")

    def suspect(self, peer: Process, reason: str) -> bool:
        """Suspect a peer; whether that is new."""
        watch = self._watched.get(peer)
        if watch is None or watch.reason:
            return False
        watch.reason = reason
        return True

    def tick(self, now_ms: int) -> list[Process]:
        """Whom silence makes suspected now."""
        self._forgive_own_lag(now_ms)
        silent = [peer for peer, watch in self._watched.items() if now_ms - watch.heard_ms >= limits.SILENCE_MS]
        return [peer for peer in silent if self.suspect(peer, "silence")]

    def _forgive_own_lag(self, now_ms: int) -> None:
        lag = now_ms - self._ticked_ms - limits.HEARTBEAT_MS if self._ticked_ms is not None else 0
        self._ticked_ms = now_ms
        if lag > limits.LAG_MS:
            for watch in self._watched.values():
                watch.heard_ms = min(now_ms, watch.heard_ms + lag)

    @property
    def suspects(self) -> dict[Process, str]:
        """Whom this process suspects, and why."""
        return {peer: watch.reason for peer, watch in self._watched.items() if watch.reason}

    def by_quorum(self, who: Process) -> bool:
        """Whether a quorum of the view suspects `who`."""
        assert self._view is not None, "only a member asks"
        accusers = {peer for peer, watch in self._watched.items() if who in watch.suspects}
        return is_quorum(self._view, accusers | ({self._process} if self.suspected(who) else set()))

    def suspected(self, who: Process) -> bool:
        watch = self._watched.get(who)
        return bool(watch and watch.reason)

    def spoke_ms(self, peer: Process) -> int:
        """When the peer was last heard."""
        return self._watched[peer].spoke_ms

    def has_quorum(self, now_ms: int) -> bool:
        """Whether a quorum of the view, this process included, was heard within DETACH_MS."""
        assert self._view is not None, "only a member asks"
        recent = {peer for peer, watch in self._watched.items() if now_ms - watch.heard_ms < limits.DETACH_MS}
        return is_quorum(self._view, recent | {self._process})
