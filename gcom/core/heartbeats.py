"""Heartbeats of one group for which another group's stand (decision 0023).

Two processes that are in several groups together live, or do not, in all of them: a message in one is a sign of life in
each. So where a group has nothing new to say its heartbeat waits while another group's goes, and goes itself after
HEARTBEAT_SHARED_MS: only so is a process found that lives, and is in this group no more.
"""

from __future__ import annotations

from collections.abc import Callable

from gcom.core.links import Links, Readiness
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages.frames import Status
from gcom.core.outgoing import Outgoing
from gcom.values import limits
from gcom.values.names import Process


class SharedHeartbeats:
    """The heartbeats of one member, as far as another group's may stand for them."""

    def __init__(
        self, links: Links, view_change: ViewChanger, outgoing: Outgoing, status: Callable[[Process], Status]
    ) -> None:
        self._links = links
        self._view_change = view_change
        self._outgoing = outgoing
        self._status = status  # to a peer, which is told it

    def put_off(self, peer: Process, now_ms: int) -> bool:
        """Let the heartbeat to a peer wait, since one of another group goes or came; return whether it may."""
        link, change = self._links.get(peer), self._view_change
        if link is None or link.readiness is not Readiness.FREE or change.busy or change.behind:
            return False
        if link.control or link.later or link.owed or link.relays or peer not in change.view.members:
            return False
        # The other group's may get no answer, where it is over at the peer, and its view cannot change here.
        if now_ms > link.heard_ms + limits.HEARTBEAT_MS + limits.HEARTBEATS_TOGETHER_MS:
            return False
        # A period too soon rather than later: then the peer's would be due as well.
        if now_ms + limits.HEARTBEAT_MS > link.exchanged_ms + limits.HEARTBEAT_SHARED_MS:
            return False
        # The status last, since to ask for it counts as telling it: where it is news, the heartbeat goes, and tells it.
        told = link.told
        if self._outgoing.is_owed(peer) or self._status(peer) != told:
            link.told = told
            return False
        link.due_ms = max(link.due_ms, now_ms + limits.HEARTBEAT_MS - link.lead_ms)
        return True

    def heard(self, peer: Process, now_ms: int) -> None:
        """Take a sign of life that a peer's process gave in another group."""
        link = self._links.get(peer)
        if link and self._view_change.triggers.detector.heard_in_another_group(peer, now_ms):
            link.heard_ms = now_ms
            # Where this process calls, it was put off as it was due.
            if link.due_ms < now_ms + limits.HEARTBEATS_TOGETHER_MS:
                self.put_off(peer, now_ms)
