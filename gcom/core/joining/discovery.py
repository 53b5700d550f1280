"""Discovery in a PARTITIONABLE group: a process that lost its instance finds another, or begins one (JGroups MERGE3).

It calls everybody whom it knew, at the address where that one was, by name: a companion may be another process by now.
A leader answers which instance it is in (DiscoverReply); a process that looks, too, says what it was (DiscoverRequest).
After DISCOVERY_MS of looking:

1. the instance that stands above all others that were found is entered;
2. else, where nobody is still to be waited for, the first among those who look begins one. First is the one that was
   in the latest view, of these the oldest: its state is likely to have the most, and all who hear each other agree.

A member of an instance that does not hear a quorum of it says nothing: it will look for one soon, and is waited for.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.joining.steps import PreviousSession
from gcom.core.messages.frames import DiscoverReply, DiscoverRequest
from gcom.core.messages.registry import GroupInfo
from gcom.values import limits
from gcom.values.definition import Definition, Netsplit
from gcom.values.lineage import precedence_by_size
from gcom.values.names import Address, Process, name_of


@dataclass(slots=True)
class _Seat:
    """A process that this one knew, and the last word of whatever process has its name there now."""

    process: Process
    address: Address
    heard_ms: int = 0
    said: tuple[Process, str, DiscoverRequest | DiscoverReply] | None = None  # source, its instance, its word


class Discovery:
    """A process's search. `discover_request` is its word of itself."""

    def __init__(self, process: Process, definition: Definition, discover_request: DiscoverRequest) -> None:
        self.discover_request = discover_request
        self._process = process
        self._definition = definition
        self._seats: dict[str, _Seat] = {}  # by name: a name has one place
        self._since_ms = 0

    @property
    def called(self) -> list[Process]:
        """The processes to call, by the ids that were known."""
        return [seat.process for seat in self._seats.values()]

    def begin(self, now_ms: int) -> None:
        """Look anew: what was said before may be over."""
        self._since_ms = now_ms
        for seat in self._seats.values():
            seat.said, seat.heard_ms = None, 0

    def know(self, process: Process, address: Address) -> bool:
        """Record that a process may be at an address; return whether that is news."""
        name = name_of(process)
        old = self._seats.get(name)
        # Not itself, under whatever incarnation.
        if name == name_of(self._process) or (old and old.address == address):
            return False
        # A group has no more members: what is beyond is an attempt to fill the memory.
        if old is None and len(self._seats) >= limits.MEMBERS_MAX:
            return False
        self._seats[name] = _Seat(process, address)
        return True

    def heard(self, process: Process, now_ms: int) -> None:
        """Record that a process answered, if only to say nothing."""
        seat = self._seats.get(name_of(process))
        if seat:
            # It lives, and has no word of an instance: it is waited for (may_begin).
            seat.heard_ms, seat.said = now_ms, None

    def found(self, source: Process, instance: str, item: DiscoverRequest | DiscoverReply, now_ms: int) -> None:
        """Take a process's word of its instance, or that it looks, too."""
        seat = self._seats.get(name_of(source))
        if seat:
            seat.heard_ms, seat.said = now_ms, (source, instance, item)

    def gone(self, process: Process) -> None:
        """Record that nobody is there any more."""
        seat = self._seats.get(name_of(process))
        if seat:
            # It may be back under its name: the place stays, and is called again.
            seat.said, seat.heard_ms = None, 0

    def instance(self, now_ms: int) -> GroupInfo | None:
        """Return the instance to enter, once all have had their time to answer."""
        # 1.5 s, so that all can answer: the first answer might be of an instance that gives way itself.
        if now_ms - self._since_ms < limits.DISCOVERY_MS:
            return None
        found = [
            (precedence_by_size(item.members, item.view, instance), item, instance)
            for _, instance, item in self._said(now_ms)
            if isinstance(item, DiscoverReply)
        ]
        if not found:
            return None
        # The smallest precedence stands above all others: everybody who hears the same answers enters the same
        # instance.
        _, best, instance = min(found, key=lambda each: each[0])
        return GroupInfo(self._definition, instance, best.view, (best.process,), (best.address,), alive=False)

    def may_begin(self, now_ms: int) -> bool:
        """Return whether this process is the first of those that look, and all others that are heard look, too."""
        if now_ms - self._since_ms < limits.DISCOVERY_MS:
            return False
        heard = [seat for seat in self._seats.values() if self._is_fresh(seat, now_ms)]
        others = [seat.said for seat in heard if seat.said is not None]
        mine = (-self.discover_request.view, self.discover_request.rank, self._process)
        # Latest view, then oldest, then id. Two that do not hear each other in time begin two: they merge later.
        first = all(
            isinstance(item, DiscoverRequest) and mine < (-item.view, item.rank, source) for source, _, item in others
        )
        # A process that is heard and says nothing is a member without a quorum: it will look soon, too.
        return len(others) == len(heard) and first

    def begun(self) -> GroupInfo:
        """Return the instance that this process begins. Its id is made of its beginner's, which begins one at most."""
        name, _, incarnation = self._process.partition("#")
        letters = "".join(it for it in name.lower() if it.isascii() and it.isalnum())[:15]  # an id has nothing else
        instance = f"{len(letters):x}{letters}{incarnation}"
        return GroupInfo(self._definition, instance, 0, (), (), alive=False)

    def _said(self, now_ms: int) -> list[tuple[Process, str, DiscoverRequest | DiscoverReply]]:
        return [seat.said for seat in self._seats.values() if seat.said and self._is_fresh(seat, now_ms)]

    def _is_fresh(self, seat: _Seat, now_ms: int) -> bool:
        # A word counts as long as a search lasts: one of an earlier search may be of an instance that is over.
        return seat.heard_ms > 0 and now_ms - seat.heard_ms < limits.DISCOVERY_MS


def discovery_after(former: PreviousSession, process: Process, address: Address) -> Discovery | None:
    """Return the search of a process that lost its instance, if the group is PARTITIONABLE."""
    entry = former.entry
    if entry.definition.netsplit is not Netsplit.PARTITIONABLE:
        return None
    rank = entry.members.index(former.process)
    return Discovery(process, entry.definition, DiscoverRequest(entry.view, rank, address))
