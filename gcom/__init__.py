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

from importlib import import_module
from typing import TYPE_CHECKING

from loguru import logger as _logger

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
from gcom.values.answers import Outcome, Wait
from gcom.values.clock import Causality, VectorClock
from gcom.values.definition import Definition, Multicast, Netsplit, Ordering, TieBreaker
from gcom.values.detection import Detection
from gcom.values.snapshot import HeldBack, Missing, Receipt, SequencerInfo, Snapshot, WindowInfo
from gcom.values.view import View

if TYPE_CHECKING:
    from gcom.certificates.identity_files import CertificateFiles
    from gcom.core.messages.registry import GroupInfo as GroupInfo
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
    from gcom.runtime.api.node import Node, connect
    from gcom.runtime.api.results import CallDetached, CallTimeout, Result, Results
    from gcom.runtime.api.watch import Watch
    from gcom.runtime.faults import Delay, Faults, LinkFaults
    from gcom.runtime.registry.directory_client import DirectoryClient as Directory
    from gcom.runtime.registry.embedded import embedded
    from gcom.runtime.security.protection import Invitee, Protection, accept, invitee, protection
    from gcom.runtime.traces import Trace
    from gcom.values.spelling import imitated, isolated

__version__ = "0.1.0"

ALL, FIRST, MAJORITY, NONE = Wait.ALL, Wait.FIRST, Wait.MAJORITY, Wait.NONE

# A library keeps quiet unless its application asks: `logger.enable("gcom")`.
_logger.disable("gcom")

# Where a name of the type checker's list above is found when it is first used. To import all of them at once would cost
# a script that wants one of them three times as much.
_HOMES = {
    name: module
    for module, names in {
        "gcom.certificates.identity_files": "CertificateFiles",
        "gcom.core.messages.registry": "GroupInfo",
        "gcom.runtime.api.events": "Departure Event LogEnded Lost Message QuorumLost QuorumRegained Returned Settled "
        "StateLost StateRestored StateUnmerged Suspicion Undelivered Unicast ViewChange",
        "gcom.runtime.api.group": "Group",
        "gcom.runtime.api.node": "Node connect",
        "gcom.runtime.api.results": "CallDetached CallTimeout Result Results",
        "gcom.runtime.api.watch": "Watch",
        "gcom.runtime.faults": "Delay Faults LinkFaults",
        "gcom.runtime.registry.directory_client": "Directory",
        "gcom.runtime.registry.embedded": "embedded",
        "gcom.runtime.security.protection": "Invitee Protection accept invitee protection",
        "gcom.runtime.traces": "Trace",
        "gcom.values.spelling": "imitated isolated",
    }.items()
    for name in names.split()
}
_FOUND_AS = {"Directory": "DirectoryClient"}
_PACKAGES = ("aio", "audit", "blocks", "replicated", "sessions", "testing", "topics")


if not TYPE_CHECKING:  # else the type checker takes a misspelt name for any object

    def __getattr__(name: str) -> object:
        """Import a public name, or a package of the library, when it is first used (PEP 562)."""
        if name in _PACKAGES:
            return import_module(f"gcom.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'gcom' has no attribute {name!r}")
        found: object = getattr(import_module(_HOMES[name]), _FOUND_AS.get(name, name))
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List what there is, whether it was used yet or not."""
    return sorted([*__all__, *_PACKAGES, "__version__"])


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
    "imitated",
    "invitee",
    "isolated",
    "protection",
]
