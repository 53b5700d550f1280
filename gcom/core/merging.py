"""Giving way to another living instance of the group (DESIGN 10; docs/protocols/netsplit.md).

The registry tells a leader which instance its own is to give way to; the leader tells its members, and each of them
leaves, as a leave is (the cut is delivered), to enter the other one. In a PRIMARY group it does so at once: there must
not be two. In a PARTITIONABLE group it first sees for itself that it reaches the other instance's leader: else it would
give up the members that it has for some that it cannot have.
"""

from __future__ import annotations

from gcom.core.frames import GiveWay
from gcom.core.links import Links
from gcom.core.requests import Entry
from gcom.values.definition import Netsplit
from gcom.values.names import Process
from gcom.values.view import View


class Merging:
    """One member's part. `rival` is the other instance's leader, once this process knows of one."""

    def __init__(self, netsplit: Netsplit, links: Links) -> None:
        self.rival: GiveWay | None = None
        self._checks = netsplit is not Netsplit.PRIMARY
        self._links = links

    def on_registered(self, entry: Entry, view: View, now_ms: int) -> bool:
        """The registry holds another instance; whether to leave now."""
        if not entry.members:
            return False
        leave = self.on_told(GiveWay(entry.members[0], entry.addresses[0]), view, now_ms)
        self.tell(view)
        return leave

    def tell(self, view: View) -> None:
        """Tell the others of the rival."""
        for peer in view.members:
            if self.rival:
                self._links.say(peer, self.rival)

    def on_told(self, told: GiveWay, view: View, now_ms: int) -> bool:
        """This instance is to give way; whether to leave now."""
        if told.process in view.members:
            return False  # no instance gives way to itself
        if self.rival and self.rival != told and self.rival.process not in view.members:
            self._links.close(self.rival.process)
        self.rival = told
        self.look(now_ms)
        return not self._checks

    def look(self, now_ms: int) -> None:
        """Call the rival, if that is still to be seen; a view change may have cut the link."""
        if self.rival and self._checks:
            self._links.open(self.rival.process, self.rival.address, now_ms)

    def on_reached(self, peer: Process) -> bool:
        """A process that is no member answered, whatever it said; whether to leave now."""
        if self.rival is None or peer != self.rival.process:
            return False
        self._links.close(peer)
        return True
