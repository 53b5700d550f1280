"""GCom: group communication for Python, on Pyro5.

    import gcom

    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as alice:
        alice.create("news")
        with alice.join("news") as news:
            news.send("hello")
            print(next(iter(news)).text)

Processes form named groups, found through a registry, and multicast to each other with the guarantees that the group's
creator picked.
"""

from __future__ import annotations

from pathlib import Path as _Path

from loguru import logger as _logger

from gcom.certificates.identity_files import CertificateFiles
from gcom.core.messages.registry import GroupInfo as GroupInfo
from gcom.errors import (
    AlreadyReceiving,
    BadValue,
    Detached,
    Dissolved,
    Exhausted,
    Forked,
    GComError,
    GComTimeout,
    GroupExists,
    GroupInUse,
    HandlerFailed,
    LocalError,
    MalformedFrame,
    MemberDeparted,
    MessageTooLarge,
    NameTaken,
    NotAMember,
    NotInvited,
    NotPermitted,
    PeerError,
    RegistryStarting,
    RegistryUnavailable,
    StateFailed,
    Unavailable,
    UnknownGroup,
    UnknownMember,
    Untrusted,
    VersionMismatch,
    WouldBlock,
)
from gcom.runtime.api.events import (
    Departure,
    Event,
    LogEnded,
    Lost,
    Message,
    QuorumLost,
    QuorumRegained,
    Returned,
    Settled,
    StateLost,
    StateRestored,
    StateUnmerged,
    Suspicion,
    Undelivered,
    Unicast,
    ViewChange,
)
from gcom.runtime.api.group import Group
from gcom.runtime.api.node import Node
from gcom.runtime.api.results import CallDetached, CallTimeout, Result, Results
from gcom.runtime.api.watch import Watch
from gcom.runtime.faults import Delay, Faults, LinkFaults
from gcom.runtime.registry.directory_client import DirectoryClient as Directory
from gcom.runtime.registry.embedded import embedded
from gcom.runtime.security.protection import Invitee, Protection, accept, invitee, protection
from gcom.runtime.traces import Trace
from gcom.values.answers import Outcome, Wait
from gcom.values.clock import Causality, VectorClock
from gcom.values.definition import Definition, Multicast, Netsplit, Ordering, TieBreaker
from gcom.values.detection import Detection
from gcom.values.snapshot import HeldBack, Missing, Receipt, SequencerInfo, Snapshot, WindowInfo
from gcom.values.view import View

__version__ = "0.1.0"

ALL, FIRST, MAJORITY, NONE = Wait.ALL, Wait.FIRST, Wait.MAJORITY, Wait.NONE

# A library keeps quiet unless its application asks: `logger.enable("gcom")`.
_logger.disable("gcom")


def connect(
    name: str,
    registry: str | None = None,
    *,
    log_dir: str | _Path | None = None,
    timeout_s: float = 10.0,
    listen: str | None = None,
    advertise: str | None = None,
    certificates: CertificateFiles | None = None,
) -> Node:
    """Return a node of that name, at the registry `HOST:PORT`, or at several, `HOST:PORT,HOST:PORT`.

    The registry's default is GCOM_REGISTRY, else the one whose invitation of that name this user accepted, else
    127.0.0.1:7411. One that is not on this machine alone needs certificates: those of an accepted invitation, or
    `certificates`, or GCOM_TLS_CERT, GCOM_TLS_KEY and GCOM_TLS_CA. `listen` is `HOST`, `HOST:PORT` or `HOST:FIRST-LAST`
    (default: where the registry can reach it), `advertise` the address for others where that is another.

    `log_dir`: the folder for delivery logs; `timeout_s`: how long a join waits. Raises BadValue, RegistryUnavailable,
    Untrusted, VersionMismatch.
    """
    return Node(
        name,
        registry,
        log_dir=log_dir,
        timeout_s=timeout_s,
        listen=listen,
        advertise=advertise,
        certificates=certificates,
    )


__all__ = [
    "ALL",
    "FIRST",
    "MAJORITY",
    "NONE",
    "AlreadyReceiving",
    "BadValue",
    "CallDetached",
    "CallTimeout",
    "Causality",
    "CertificateFiles",
    "Definition",
    "Delay",
    "Departure",
    "Detached",
    "Detection",
    "Directory",
    "Dissolved",
    "Event",
    "Exhausted",
    "Faults",
    "Forked",
    "GComError",
    "GComTimeout",
    "Group",
    "GroupExists",
    "GroupInUse",
    "GroupInfo",
    "HandlerFailed",
    "HeldBack",
    "Invitee",
    "LinkFaults",
    "LocalError",
    "LogEnded",
    "Lost",
    "MalformedFrame",
    "MemberDeparted",
    "Message",
    "MessageTooLarge",
    "Missing",
    "Multicast",
    "NameTaken",
    "Netsplit",
    "Node",
    "NotAMember",
    "NotInvited",
    "NotPermitted",
    "Ordering",
    "Outcome",
    "PeerError",
    "Protection",
    "QuorumLost",
    "QuorumRegained",
    "Receipt",
    "RegistryStarting",
    "RegistryUnavailable",
    "Result",
    "Results",
    "Returned",
    "SequencerInfo",
    "Settled",
    "Snapshot",
    "StateFailed",
    "StateLost",
    "StateRestored",
    "StateUnmerged",
    "Suspicion",
    "TieBreaker",
    "Trace",
    "Unavailable",
    "Undelivered",
    "Unicast",
    "UnknownGroup",
    "UnknownMember",
    "Untrusted",
    "VectorClock",
    "VersionMismatch",
    "View",
    "ViewChange",
    "Wait",
    "Watch",
    "WindowInfo",
    "WouldBlock",
    "accept",
    "connect",
    "embedded",
    "invitee",
    "protection",
]
