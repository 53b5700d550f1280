"""What one call carries.

A call is `receive(frame) -> reply`. A frame brings the caller's status, control items and runs; the reply brings the
callee's status. A reply may be lost without the callee noticing, so it holds only what can be said again: no item of a
queue travels in one, but the answer to a Join, which is asked again (docs/protocols/link.md). Control items are at
least once and in any order: every handler is idempotent and fenced by the view and the ballot.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.values.names import Address, Process
from gcom.values.run import Run
from gcom.values.view import View

Ballot = tuple[int, int]  # (attempt, proposer's rank in the view that is left); a rank has one process, so none clash
NO_BALLOT: Ballot = (0, 0)


@dataclass(frozen=True, slots=True)
class Status:
    """What the source of a frame has to say about itself and about the target's stream."""

    view: int  # installed at the source; 0 while it is entering
    held: int = 0  # of the target's stream: 1…held are stored here (stability, resend)
    consumed: int = 0  # of the target's stream: 1…consumed are behind the application (flow control)
    stable: int = 0  # of the source's stream: 1…stable are held by all of the view
    sent: int = 0  # of the source's stream: 1…sent were put to the target, this frame's runs included
    frozen: bool = False  # promised to a view change: takes no data of the old view
    leaving: bool = False
    suspects: tuple[Process, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """The one value that a view change agrees on: the next view, and how far each sender's stream counts in the old."""

    view: View
    joined: tuple[Process, ...]
    left: dict[Process, str]
    cut: dict[Process, int]


@dataclass(frozen=True, slots=True)
class Join:
    """The source asks the leader to be admitted; it listens at `address`."""

    address: Address


@dataclass(frozen=True, slots=True)
class Redirect:
    """Not the leader; it is `process` at `address`."""

    process: Process
    address: Address


@dataclass(frozen=True, slots=True)
class JoinRefused:
    """`code` is the name of the exception in gcom.errors that says it."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Prepare:
    """The owner of `ballot` asks for a promise in the change out of view `view`."""

    view: int
    ballot: Ballot


@dataclass(frozen=True, slots=True)
class Promise:
    """Nothing below `ballot` will be accepted, nothing new of the view stored; this is what is held and accepted."""

    view: int
    ballot: Ballot
    held: dict[Process, int]
    accepted_ballot: Ballot = NO_BALLOT
    accepted: Decision | None = None


@dataclass(frozen=True, slots=True)
class Nack:
    """A ballot was refused because `promised` is higher."""

    view: int
    promised: Ballot


@dataclass(frozen=True, slots=True)
class Cut:
    """The value to accept. `holders` lists, for each sender, processes that hold its stream up to the cut."""

    view: int
    ballot: Ballot
    decision: Decision
    holders: dict[Process, tuple[Process, ...]]


@dataclass(frozen=True, slots=True)
class CutOk:
    """The value is recorded and every payload of its cut is held."""

    view: int
    ballot: Ballot


@dataclass(frozen=True, slots=True)
class Install:
    """The value is decided."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class Fetch:
    """The source misses messages first…last of `sender`, sent in view `view`."""

    view: int
    sender: Process
    first: int
    last: int


Control = Join | Redirect | JoinRefused | Prepare | Promise | Nack | Cut | CutOk | Install | Fetch


@dataclass(frozen=True, slots=True)
class Frame:
    """One call, or the reply to one (which has no runs, and control only in answer to a Join)."""

    group: str
    instance: str
    source: Process
    target: Process
    status: Status
    control: tuple[Control, ...] = ()
    runs: tuple[Run, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The reply to a frame that was not taken.

    `unknown`: no such process here; `expelled`: the group goes on without the source; `version`: another protocol
    version. What is no frame at all is answered by the endpoint, as a failed call.
    """

    code: str
    text: str


Reply = Frame | Refused
