"""Two living instances of one group become one (ARCHITECTURE 10; docs/protocols/netsplit.md).

Of two the one that stands lower gives way: its leader tells its members, and each of them leaves, as a leave is (the
cut is delivered), to enter the other one. A leader learns of another instance from the registry, and in a PARTITIONABLE
group also by itself: it calls those who were cut off, at the addresses where they were. Each member first sees for
itself that it reaches the other's leader: else it would give up the members that it has for some that it cannot have.
Of two PRIMARY instances lineage decides (gcom/values/lineage.py), of PARTITIONABLE ones size.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from gcom.core.links import Links
from gcom.core.messages.frames import Decision, DiscoverReply, GiveWay, Refused, Reply
from gcom.core.messages.registry import Entry
from gcom.values import limits
from gcom.values.definition import Netsplit
from gcom.values.lineage import precedence_by_size
from gcom.values.names import Address, Process, name_of
from gcom.values.view import View


class Merge:
    """One member's part. `rival` is the other instance's leader, once this process knows of one."""

    def __init__(
        self,
        process: Process,
        instance: str,
        netsplit: Netsplit,
        links: Links,
        known: Iterable[tuple[Process, Address]] = (),
    ) -> None:
        self.rival: GiveWay | None = None
        self._process = process
        self._instance = instance
        self._partitionable = netsplit is Netsplit.PARTITIONABLE
        self._links = links
        self._away: dict[str, tuple[Process, Address]] = {}  # by name; the latest last
        self._hailed_ms = 0
        for seat in known if self._partitionable else ():
            self._miss(*seat)

    @property
    def away(self) -> list[tuple[Process, Address]]:
        """Who was in this group and may be in another instance now; the rival's leader, too."""
        rival = [(self.rival.process, self.rival.address)] if self.rival else []
        return [*rival, *self._away.values()]

    def install(self, old: View, decision: Decision) -> None:
        """Who was put out, or gave way, goes on elsewhere, perhaps; who is back is missed no more."""
        if not self._partitionable:
            return
        for process, reason in decision.left.items():
            if reason != "request" and process in old.members:
                self._miss(process, old.address(process))
        self._away = {name: seat for name, seat in self._away.items() if name not in decision.view.names}

    def _miss(self, process: Process, address: Address) -> None:
        name = name_of(process)
        if name != name_of(self._process):
            self._away.pop(name, None)
            self._away[name] = process, address
            for oldest in list(self._away)[: -limits.MEMBERS_MAX]:
                del self._away[oldest]

    # hails

    def presence(self, view: View) -> DiscoverReply:
        """What this process says of its instance to others of the group."""
        return DiscoverReply(view.number, len(view.members), view.leader, view.address(view.leader))

    def hail(self, view: View, leavers: Container[Process], now_ms: int) -> None:
        """As the leader, call those who are away, now and then; not the leavers that may still wait for their cut."""
        if view.leader != self._process or not self._away or now_ms - self._hailed_ms < limits.HAIL_MS:
            return
        self._hailed_ms = now_ms
        for process, address in [seat for seat in self._away.values() if seat[0] not in leavers]:
            self._links.open(process, address, now_ms)
            self._links.say(process, self.presence(view))

    def on_presence(self, instance: str, other: DiscoverReply, view: View, now_ms: int) -> bool:
        """Another instance's member says where it is; whether to leave now."""
        if not self._partitionable or instance == self._instance or view.leader != self._process:
            return False
        mine = precedence_by_size(len(view.members), view.number, self._instance)
        if mine < precedence_by_size(other.members, other.view, instance):
            if name_of(other.process) not in view.names:
                self._miss(other.process, other.address)  # so that it hears of this instance
            return False
        leave = self._on_rival(GiveWay(other.process, other.address), view, now_ms)
        self._tell(view)
        return leave

    def on_reply(self, peer: Process, reply: Reply, view: View, now_ms: int) -> bool:
        """A process that is no member answered; whether to leave now."""
        if self.rival and peer == self.rival.process and self._is_elsewhere(reply):
            self._links.close(peer)
            return True
        if isinstance(reply, Refused):
            self._forget(peer)  # it left, and knows that; or nobody is there
            return False
        return reply.hail is not None and self._on_answer(peer, reply.instance, reply.hail, view, now_ms)

    def _is_elsewhere(self, reply: Reply) -> bool:
        """Whether who says this is in another instance: it may also have left, or wait to get in."""
        if isinstance(reply, Refused):
            return reply.code in ("elsewhere", "expelled")
        return isinstance(reply.hail, DiscoverReply) and reply.instance != self._instance

    def _on_answer(self, peer: Process, instance: str, hail: object, view: View, now_ms: int) -> bool:
        self._links.close(peer)
        return isinstance(hail, DiscoverReply) and self.on_presence(instance, hail, view, now_ms)

    def on_failed(self, peer: Process, refused: bool) -> None:
        """A call to a process that is no member failed."""
        if refused:
            self._forget(peer)

    def _forget(self, peer: Process) -> None:
        """One that is called is not there; if it led the rival, who told of it will tell of its next leader."""
        self._links.close(peer)
        self._away = {name: seat for name, seat in self._away.items() if seat[0] != peer}
        if self.rival and self.rival.process == peer:
            self.rival = None

    # giving way

    def on_registered(self, entry: Entry, view: View, now_ms: int) -> bool:
        """The registry holds another instance; whether to leave now."""
        if not entry.members:
            return False
        leave = self._on_rival(GiveWay(entry.members[0], entry.addresses[0]), view, now_ms)
        self._tell(view)
        return leave

    def _tell(self, view: View) -> None:
        """Tell the others of the rival."""
        for peer in view.members:
            if self.rival:
                self._links.say(peer, self.rival)

    def on_told(self, source: Process, told: GiveWay, view: View, now_ms: int) -> bool:
        """A member says that this instance gives way; only its leader has that from the registry, or saw for itself."""
        return source == view.leader and self._on_rival(told, view, now_ms)

    def _on_rival(self, told: GiveWay, view: View, now_ms: int) -> bool:
        if told.process in view.members:
            return False  # no instance gives way to itself
        if self.rival and self.rival != told and self.rival.process not in view.members:
            self._links.close(self.rival.process)
        self.rival = told
        self.look(now_ms)
        return False

    def look(self, now_ms: int) -> None:
        """Call the rival, if that is still to be seen; a view change may have cut the link."""
        if self.rival:
            self._links.open(self.rival.process, self.rival.address, now_ms)
