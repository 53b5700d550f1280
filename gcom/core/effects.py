"""What the core wants done; the closed union that both drivers, shell and simulator, must carry out in order.

The contract (etcd raft's Ready, in Python): effects of one step are carried out in the order given. `Sent` and
`Installed` are logged before any frame taken later leaves the process.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.directory import Request
from gcom.errors import GComError
from gcom.values.names import Process
from gcom.values.run import Run
from gcom.values.view import View


@dataclass(frozen=True, slots=True)
class Sent:
    """A run of this process got its numbers, in view `run.view`."""

    run: Run


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand a run to the application, in view `view`."""

    run: Run
    view: int


@dataclass(frozen=True, slots=True)
class Skip:
    """Messages `first … first+count-1` of `sender` are given up by rule and never delivered later."""

    sender: Process
    first: int
    count: int
    view: int


@dataclass(frozen=True, slots=True)
class Installed:
    """A view is in force. `base` is given to one that enters: what earlier views had, 1…n of each sender."""

    view: View
    joined: tuple[Process, ...]
    left: dict[Process, str]  # why each one went: request, or a suspicion's reason
    base: dict[Process, int] | None = None


@dataclass(frozen=True, slots=True)
class Suspected:
    """This process began to suspect another."""

    process: Process
    view: int
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The process's stay in the instance is over; nothing follows for it.

    `reason` is request (a leave), expelled, quorum or exit. `settled` is the view that goes on without a leaver whose
    cut it delivered in full. `unconfirmed` are the first and last of its own messages that may not have arrived.
    """

    view: int
    reason: str
    settled: int | None = None
    unconfirmed: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class EntryFailed:
    """The process could not get into the group; `error` says why. Nothing follows for it."""

    error: GComError


@dataclass(frozen=True, slots=True)
class AskRegistry:
    """Put a request to the registry; its answer, or that there was none, comes back as an event."""

    request: Request


Effect = Sent | Deliver | Skip | Installed | Suspected | Ended | EntryFailed | AskRegistry
