"""Merge of two living instances of one group (ARCHITECTURE 10; docs/protocols/netsplit.md).

Of two the one that stands lower gives way: its leader tells its members, and each of them leaves, as a leave is (the
cut is delivered), to enter the other one. A leader learns of another instance from the registry, and in a PARTITIONABLE
group also by itself: it calls those that were cut off, at the addresses where they were. Of two PRIMARY instances
lineage decides (gcom/values/lineage.py), of PARTITIONABLE ones size.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from gcom.core.links import Links
from gcom.core.messages.frames import Decision, DiscoverReply, MergeInto, Refused, Reply
from gcom.core.messages.registry import GroupInfo
from gcom.values import limits
from gcom.values.definition import Netsplit
from gcom.values.lineage import precedence_by_size
from gcom.values.names import Address, Process, name_of
from gcom.values.view import View


class Merge:
    """A member's part. `rival` is the other instance's leader, once this process knows of one."""

    def __init__(
        self,
        process: Process,
        instance: str,
        netsplit: Netsplit,
        links: Links,
        known: Iterable[tuple[Process, Address]],
    ) -> None:
        self.rival: MergeInto | None = None
        self.into = ""  # the rival's instance, as far as this process was told
        self._process = process
        self._instance = instance
        self._partitionable = netsplit is Netsplit.PARTITIONABLE
        self._links = links
        self._away: dict[str, tuple[Process, Address]] = {}  # by name; the latest last
        self._discovered_ms = 0
        for seat in known if self._partitionable else ():
            self._miss(*seat)

    @property
    def away(self) -> list[tuple[Process, Address]]:
        """The processes that were in this group and may be in another instance now; the rival's leader, too."""
        rival = [(self.rival.process, self.rival.address)] if self.rival else []
        return [*rival, *self._away.values()]

    def install(self, old: View, decision: Decision) -> None:
        """Begin a view: miss the members that were put out, or gave way; they may go on elsewhere."""
        if not self._partitionable:
            return
        for process, reason in decision.left.items():
            # A member that left by request is in no other instance of this group.
            if reason != "request" and process in old.members:
                self._miss(process, old.address(process))
        self._away = {name: seat for name, seat in self._away.items() if name not in decision.view.names}

    def _miss(self, process: Process, address: Address) -> None:
        name = name_of(process)
        if name != name_of(self._process):
            # Taken out first, so that it comes to the end: the bound forgets whoever was missed longest ago.
            self._away.pop(name, None)
            self._away[name] = process, address
            for oldest in list(self._away)[: -limits.MEMBERS_MAX]:
                del self._away[oldest]

    # discovery

    def discover_reply(self, view: View) -> DiscoverReply:
        """Return this process's word of its instance to others of the group."""
        return DiscoverReply(view.number, len(view.members), view.leader, view.address(view.leader))

    def discover(self, view: View, leavers: Container[Process], now_ms: int) -> None:
        """Call, as the leader, the processes that are away, every DISCOVER_MS."""
        if not self._away or view.leader != self._process or now_ms - self._discovered_ms < limits.DISCOVER_MS:
            return
        self._discovered_ms = now_ms
        # A leaver that waits for its cut would take this call for another instance's.
        for process, address in [seat for seat in self._away.values() if seat[0] not in leavers]:
            self._links.open(process, address, now_ms)
            self._links.say(process, self.discover_reply(view))

    def on_discover_reply(self, instance: str, other: DiscoverReply, view: View, now_ms: int) -> None:
        """Take another instance's word of where it is."""
        # Only the leader: members that compared views of different age would go different ways.
        if not self._partitionable or instance == self._instance or view.leader != self._process:
            return
        mine = precedence_by_size(len(view.members), view.number, self._instance)
        if mine < precedence_by_size(other.members, other.view, instance):
            if name_of(other.process) not in view.names:
                self._miss(other.process, other.address)  # so that it hears of this instance
            return
        self._give_way(MergeInto(other.process, other.address), instance, view, now_ms)

    def on_reply(self, peer: Process, reply: Reply, view: View, now_ms: int) -> bool:
        """Take an answer of a process that is no member; return whether to leave now."""
        # Only now, when the rival's leader has answered this very process as a member there: else this process would
        # give up the members that it has for some that it cannot have.
        if self.rival and peer == self.rival.process and self._is_elsewhere(reply):
            self._links.close(peer)
            if not isinstance(reply, Refused):
                self.into = reply.instance
            return True
        if isinstance(reply, Refused):
            self._forget(peer)  # it left, and knows that; or nobody is there
        elif reply.discovery:
            self._links.close(peer)
            if isinstance(reply.discovery, DiscoverReply):
                self.on_discover_reply(reply.instance, reply.discovery, view, now_ms)
        return False

    def _is_elsewhere(self, reply: Reply) -> bool:
        """Return whether the answer comes from another instance: its source may also have left, or wait to get in."""
        if isinstance(reply, Refused):
            return reply.code in ("elsewhere", "expelled")
        return isinstance(reply.discovery, DiscoverReply) and reply.instance != self._instance

    def on_failed(self, peer: Process, refused: bool) -> None:
        """Record that a call to a process that is no member failed."""
        # Refused: nobody is there. A call that was lost says nothing.
        if refused:
            self._forget(peer)

    def _forget(self, peer: Process) -> None:
        """Forget a process that is not where it was called."""
        self._links.close(peer)
        self._away = {name: seat for name, seat in self._away.items() if seat[0] != peer}
        # The registry, discovery or this instance's leader told of the rival, and will tell of its next leader.
        if self.rival and self.rival.process == peer:
            self.rival = None

    # giving way

    def on_registered(self, entry: GroupInfo, view: View, now_ms: int) -> None:
        """Take the registry's word that it holds another instance."""
        if entry.members and self._partitionable:
            # By size, as sides compare that meet: else each might go over to the other.
            seat = entry.members[0], entry.addresses[0]
            other = DiscoverReply(entry.view, len(entry.members), *seat)
            self.on_discover_reply(entry.instance, other, view, now_ms)
        elif entry.members:
            self._give_way(MergeInto(entry.members[0], entry.addresses[0]), entry.instance, view, now_ms)

    def _give_way(self, to: MergeInto, into: str, view: View, now_ms: int) -> None:
        """Have this instance give way to a rival: call that, and tell the others."""
        self._set_rival(to, view, now_ms)
        self.into = into
        if self.rival:
            for peer in view.members:
                self._links.say(peer, self.rival)

    def on_told(self, source: Process, told: MergeInto, view: View, now_ms: int) -> None:
        """Take a member's word that this instance gives way."""
        # Only the leader has that from the registry, or saw for itself; what another says of it moves nobody.
        if source == view.leader:
            self._set_rival(told, view, now_ms)

    def _set_rival(self, told: MergeInto, view: View, now_ms: int) -> None:
        """Record the rival and call it: it must answer as a member of another instance before this process leaves."""
        if told.process in view.members:
            return  # no instance gives way to itself
        # A newer word counts: the leader of the other instance may have changed since, and only a leader
        # admits.
        if self.rival and self.rival != told and self.rival.process not in view.members:
            self._links.close(self.rival.process)
        if told != self.rival:
            self.rival, self.into = told, ""
        self.call_rival(now_ms)

    def call_rival(self, now_ms: int) -> None:
        """Call the rival, if there is one: this process leaves only once the rival has answered."""
        # Again each time: a view change closes the links to all who are no members.
        if self.rival:
            self._links.open(self.rival.process, self.rival.address, now_ms)
