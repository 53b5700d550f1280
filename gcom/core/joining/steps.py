"""Steps that a joining process wants done, and what it knows of its last session (attempt.py decides them)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.frames import DiscoverRequest
from gcom.core.messages.registry import Entry, Request
from gcom.errors import GComError
from gcom.values.names import Address, Process


@dataclass(frozen=True, slots=True)
class PreviousSession:
    """What a process that enters again knows of its last session: who it was, and the group as it was then.

    `started` is of the last view; `away` were in the group, and may be in another instance.
    """

    process: Process
    entry: Entry
    started: bool = True
    away: tuple[tuple[Process, Address], ...] = ()

    @property
    def seats(self) -> list[tuple[Process, Address]]:
        """Everybody whom it knew, and where."""
        return [*self.away, *zip(self.entry.members, self.entry.addresses, strict=True)]


@dataclass(frozen=True, slots=True)
class Ask:
    """Put a request to the registry."""

    request: Request


@dataclass(frozen=True, slots=True)
class Approach:
    """Ask this process to be admitted, too; who is no target any more is asked no longer."""

    process: Process
    address: Address


@dataclass(frozen=True, slots=True)
class ProbePeers:
    """Call this process, and everybody else who was known, for an instance to enter."""

    process: Process
    address: Address
    hail: DiscoverRequest


@dataclass(frozen=True, slots=True)
class Vow:
    """Have this process, which may only be noted for the view after `view`, promise that it will not enter that."""

    process: Process
    address: Address
    instance: str
    view: int


@dataclass(frozen=True, slots=True)
class First:
    """This process is the only member of view 1; `started`: it goes on from a view that had started."""

    entry: Entry
    started: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    error: GComError
    final: bool = False  # another incarnation would not get in either


Out = Ask | Approach | ProbePeers | Vow | First | Failed
