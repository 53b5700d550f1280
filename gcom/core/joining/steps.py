"""Steps that a joining process wants done, and the memory of its last session (attempt.py decides them)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.frames import DiscoverRequest
from gcom.core.messages.registry import GroupInfo, Request
from gcom.errors import GComError
from gcom.values.lineage import NO_EXTENT, Extent
from gcom.values.names import Address, Process


@dataclass(frozen=True, slots=True)
class PreviousSession:
    """The memory of the last session of a process that enters again: its id, and the group as it was then.

    `started`: the last view had started. `away` were in the group, and may be in another instance. `has` is how far the
    part of the group's history reaches that this process has.
    """

    process: Process
    entry: GroupInfo
    started: bool = True
    away: tuple[tuple[Process, Address], ...] = ()
    # Of two that come back the one with less waits (JoinAttempt.on_returning).
    has: Extent = NO_EXTENT

    @property
    def seats(self) -> list[tuple[Process, Address]]:
        """Every process that it knew, and where."""
        return [*self.away, *zip(self.entry.members, self.entry.addresses, strict=True)]


@dataclass(frozen=True, slots=True)
class Ask:
    """Put a request to the registry."""

    request: Request


@dataclass(frozen=True, slots=True)
class Approach:
    """Send this process a Join. The other `targets` of the attempt are still asked; links to all others are closed."""

    process: Process
    address: Address


@dataclass(frozen=True, slots=True)
class ProbePeers:
    """Call this process, to find an instance to enter."""

    # By its id, though a companion may be another process by now: a node gives the call to whoever has the name.
    process: Process
    address: Address
    request: DiscoverRequest


@dataclass(frozen=True, slots=True)
class Vow:
    """Have this process, which may be noted for the view after `view`, promise that it will not enter that."""

    process: Process
    address: Address
    instance: str
    # Of one view only: a process that gave its vow is free to enter any later one.
    view: int


@dataclass(frozen=True, slots=True)
class First:
    """Enter view 1 as its only member; `started`: the instance goes on from one that had started.

    `gives_up` may live, and have what the instance before had; an operator gave them up.
    """

    entry: GroupInfo
    started: bool = False
    gives_up: tuple[Process, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    error: GComError
    final: bool = False  # another incarnation would not get in either


Out = Ask | Approach | ProbePeers | Vow | First | Failed
