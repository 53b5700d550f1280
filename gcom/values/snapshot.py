"""A look at a process in its group, for programs that show or watch it: `Group.snapshot` and `Group.receipt`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gcom.values.clock import VectorClock
from gcom.values.definition import Definition
from gcom.values.view import View

MISSING_MAX = 16  # of one held-back run; the first ones decide when it goes on
HELD_BACK_MAX = 1_000  # runs of one snapshot; the rest is counted

_WORDS = {
    "place": "a place in the total order",
    "majority": "a majority of the view to hold its place in the total order",
    "stability": "a majority of the view to hold it",
    "fragments": "the rest of its fragments",
    "view": "a view change",
    "state": "the application's state",
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A thing that a held-back run waits for; `str()` says it in words.

    message: messages `first` … `last` of `process`. place: a place in the total order. majority: it has a place, which
    a majority of the view must hold. stability: in a SAFE group, a majority of the view must hold the run itself.
    fragments: the rest of a message that no frame holds. view: a view change is under way, and nothing is delivered
    before the next view. state: the application's state is on its way here.
    """

    kind: Literal["message", "place", "majority", "stability", "fragments", "view", "state"]
    process: str = ""
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        if self.kind != "message":
            return _WORDS[self.kind]
        return f"{self.process} {self.first}" + (f" to {self.last}" if self.last > self.first else "")


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Messages `first` … `last` of `sender`, which are here and not yet delivered.

    `waits_for` names at most 16 things, the first ones. `since_s`: for how many seconds, to a tick's time.
    """

    sender: str
    first: int
    last: int
    waits_for: tuple[Missing, ...]
    since_s: float


@dataclass(frozen=True, slots=True)
class SequencerInfo:
    """The total order as this process knows it.

    `where`: "registry", or the member that gives the serials. `ordered` >= `agreed` >= `delivered`: the last serial
    whose message is known here, that a majority of the view is known to hold, and that was delivered here. `doubted`:
    the sequencer did not answer lately.
    """

    where: str
    ordered: int
    agreed: int
    delivered: int
    doubted: bool


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """This process's own messages on their way.

    `unstable`: sent, and not yet held by all members. `unread`: sent, and not yet read by all their applications; at
    `size` of them (or at 4 MiB) no more are sent. `unnumbered`: taken by `send`, and not yet sent; `send` waits once
    these are as many as one run has, or 1 MiB. `unread_by`: by member, the messages that its application has not read;
    a member that has read all is not in it.
    """

    unstable: int
    unread: int
    size: int
    unnumbered: int
    unread_by: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A consistent look at a process in a group. A process that is out, or on its way back, has its last view.

    `waits_for`: why a send would wait now, or why this process is not in; empty where it would not. `clocks`: of each
    member of the view, by sender, the highest number that it had *delivered* when it sent its last message that came
    here, and at least what the view began with; its own entry is how far its own stream is here. So a member that sends
    nothing seems to stand still. This process's own row is exact. `held_back`: at most 1,000 runs; `held_back_rest`
    counts the others. `sequencer` is None without a total order. `suspected`: by process, the reason. `heard_s`: by
    process, the seconds since something came from it; a member that was not heard yet is not in it. `round_trip_s`: by
    process, the time of a call to it and back, its work on the call included, as TCP smooths it.
    """

    group: str
    process: str
    instance: str
    definition: Definition
    view: View
    detached: bool
    waits_for: str
    clocks: dict[str, VectorClock]
    held_back: tuple[HeldBack, ...]
    held_back_rest: int
    sequencer: SequencerInfo | None
    window: WindowInfo
    suspected: dict[str, str]
    heard_s: dict[str, float]
    round_trip_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The state of one of this process's own messages.

    waiting: taken by `send`, and not yet sent. sent: under way to the members. ordered: its place in the total order
    is settled, and it is delivered here. held: all members of the view hold it; or, once this process has left, it is
    in the cut of the view that goes on. doubt: this process hears no quorum, or is out, and nobody can say yet whether
    it arrived. lost: it will never be delivered. Over BASIC nobody tells what it holds: there it stays sent, or
    ordered.

    `serial`: its place in the total order, from where it is settled on; of the last 10,000 runs that were sent.
    `held_by`, `lacking`: the members of the view that are known to hold it with what they need to deliver it (what it
    follows in a causal order, its place in a total one), and the others. `process` and `instance`: whose message it is;
    after a return, and in a successor, numbers begin at 1 again, under another process or in another instance.
    """

    number: int
    state: Literal["waiting", "sent", "ordered", "held", "doubt", "lost"]
    serial: int | None
    held_by: tuple[str, ...]
    lacking: tuple[str, ...]
    process: str
    instance: str
