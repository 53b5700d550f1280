"""Heartbeats that wait, because another group's shows that the peer lives (decision 0023).

Two processes that are in several groups together live, or do not, in all of them: a message in one is a sign of life in
each. So where a group has nothing new to say its heartbeat waits while another group's goes. After OWN_EXCHANGE_MS it
goes itself: otherwise a process that lives, and has left this group, would never be found.
"""

from __future__ import annotations

from collections.abc import Callable

from gcom.core.links import Links, PeerLink, Readiness
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
        self._status = status  # as it would be told to a peer now

    def put_off(self, peer: Process, now_ms: int) -> bool:
        """Let the heartbeat to a peer wait, since one of another group goes or came; return whether it may."""
        link = self._links.get(peer)
        if link is None or not self._may_wait(link, now_ms) or self._has_something_to_say(peer, link):
            return False
        link.due_ms = max(link.due_ms, now_ms + limits.HEARTBEAT_MS - link.lead_ms)
        return True

    @staticmethod
    def _may_wait(link: PeerLink, now_ms: int) -> bool:
        # 1. The other group is over at the peer, which refuses its calls. 2. Too few are left here to change its view.
        # 3. So its heartbeats go, and are no sign of life.
        shown_alive = now_ms <= link.heard_ms + limits.HEARTBEAT_MS + limits.HEARTBEATS_TOGETHER_MS
        # A period early: at the limit itself the peer's heartbeat would be due, too.
        return shown_alive and now_ms + limits.HEARTBEAT_MS <= link.exchanged_ms + limits.OWN_EXCHANGE_MS

    def _has_something_to_say(self, peer: Process, link: PeerLink) -> bool:
        change = self._view_change
        if change.busy or change.behind or peer not in change.view.members or link.readiness is not Readiness.FREE:
            return True
        if link.control or link.later or link.owed or link.relays or self._outgoing.is_owed(peer):
            return True
        return link.told != self._status(peer)

    def shows_life(self, peer: Process) -> bool:
        """Return whether the heartbeat to a peer may stand for those of other groups: it will be answered here."""
        # 1. The group is over at the peer, which refuses. 2. Too few are left here to put it out. 3. If this group
        # spoke for the others, every second heartbeat of theirs would be in vain.
        change = self._view_change
        return peer in change.view.members and peer not in change.triggers.detector.suspects

    def heard(self, peer: Process, now_ms: int) -> None:
        """Take a sign of life that a peer's process gave in another group."""
        link = self._links.get(peer)
        if link and self._view_change.triggers.detector.heard_in_another_group(peer, now_ms):
            link.heard_ms = now_ms
            # Where this process calls, it was put off as it was due.
            if link.due_ms < now_ms + limits.HEARTBEATS_TOGETHER_MS:
                self.put_off(peer, now_ms)
