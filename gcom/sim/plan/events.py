"""Events of a plan: the kinds of fault, the moves that members make, and the words that say how each happens."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

REGISTRY = "registry"  # where it stands in a partition; no member has this name
STOPPED = "stopped"  # how a registry is out of reach that answers when it runs again
DISSOLVES = "dissolves"  # a leave that may be the last
REFUSED = "refused"  # a break at which the network itself answers that nobody listens
FORGETS = "forgets"  # a restart of the registry with an empty disk
ACCEPTED = "accepted"  # when the registry has accepted its succession, a proposer crashes or pauses
NOTED = "noted"  # the registry goes out of reach once it has noted a joiner for the next view
LISTENS = "listens"  # the joiner comes at the port of a dead process
NEVER = "never"  # no call ends the pause, only time
RUNS = "runs"  # a frame with messages
LATE_RUNS = "late runs"  # runs that arrive when the sender's end is long known
CHUNK = "StateChunk"  # one in the middle of a state
LEAVER, HEIR = "leaver", "heir"  # the processes that a failpoint hits (TroubleEvent.whom)
ORDER, VOTE = "order", "vote"  # the registry restarts right after its next answer with serials, or with a vote


class Fault(StrEnum):
    """Kind of fault, as it is counted when it has done something."""

    LOSS = "broken call"  # before it arrived, or after; the caller cannot tell
    DELAY = "delayed call"
    DUPLICATION = "duplicated call"
    REORDERING = "overtaken call"  # arrives after a later one
    CUT = "cut link"  # between two, in one direction or both
    PARTITION = "partition"
    CRASH = "crash"
    EFFECT = "crash between effects"
    FRAME = "crash between calls"  # some peers were told, others not
    STALL = "pause over a call"  # in the middle of a view change; it goes on in the middle of another's
    ECHO = "echo of an earlier view"  # a call of its change comes again in the next change
    RESTART = "restart"
    PAUSE = "pause"
    DRIFT = "drifting clock"
    SLOW_MEMBER = "slow member"
    SLOW_READER = "slow reader"
    OUTAGE = "registry outage"
    AMNESIA = "registry restart"


class Move(StrEnum):
    """Kind of move that members make of their own will."""

    JOIN = "join"
    LEAVE = "leave"
    INTRUDE = "intrusion"  # a second process comes under a member's name
    GATHER = "gathering"  # all crashed processes and all leavers come back
    LIE = "lie of a stranger"  # to a registry, by a process that is in no group
    FORK = "fork"  # an operator lets what the registry hears of the group go on without the rest (`gcom fork`)


OCCASIONAL = {Fault.EFFECT, Fault.FRAME, Fault.STALL, Fault.ECHO}  # may find no occasion


@dataclass(frozen=True, slots=True)
class TroubleEvent:
    """An event at `at_ms` of the faulty phase; its kind decides the meaning of the other fields.

    `order`: all names; the event hits the first that it can happen to. `sides` of a partition: the registry may be on
    one, or on none, and then all reach it. A stall ends when another process sends an item of the kind `until`; an echo
    comes beside one. `last`: the call goes out, and then its process crashes or pauses. `whom`: LEAVER hits only a
    leaver; HEIR also crashes the processes that it had told, once each has told one more.
    """

    kind: Fault | Move
    at_ms: int
    for_ms: int = 0
    order: tuple[str, ...] = ()
    detail: str = ""
    count: int = 0
    sides: tuple[tuple[str, ...], ...] = ()
    until: str = ""
    last: bool = False
    whom: str = ""
    registry: int = 0  # of an outage or a restart: which, by its place in the list
