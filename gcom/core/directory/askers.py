"""Rights at a registry that knows who asks: the processes for which a request speaks.

A process speaks for itself. For a group speak the processes that may be its members. The driver knows which names a
connection has, and who is an administrator (registry/gcom_registry/rights.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from gcom.core.directory.rows import Row
from gcom.core.messages.registry import (
    Claim,
    Create,
    Fork,
    ListGroups,
    Lookup,
    Note,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.sequencer import Close, Open, SequencerRequest, Want
from gcom.core.messages.witness import WitnessAccept, WitnessPrepare
from gcom.values.names import Process

Askers = frozenset[Process] | None  # None: anybody
NOBODY: frozenset[Process] = frozenset()


def askers(request: Request, rows: Mapping[str, Row]) -> Askers:
    """Return the processes that are allowed this request; None if everybody is."""
    match request:
        case Create() | Lookup() | ListGroups():
            return None
        case Claim(process=process) | Register(process=process) | Unregister(process=process):
            return frozenset([process])
        case Note() | Fork():
            row = rows.get(request.group)
            return None if row is None else frozenset(row.known)  # what is not there is refused anyhow
        case Remove():
            return NOBODY  # its creator may, whom only the driver knows
        case WitnessPrepare() | WitnessAccept():
            row = next((row for row in rows.values() if row.instance == request.instance), None)
            return None if row is None else _voters(row, request.view, request.ballot[1])
        case _:
            assert_never(request)


def sequencer_askers(request: SequencerRequest, rows: Mapping[str, Row]) -> Askers:
    """Return the processes of which one must ask this of the sequencer, or None where anybody may."""
    match request:
        case Want(process=process):
            return frozenset([process])
        case Open() | Close():
            row = rows.get(request.group)
            return None if row is None else frozenset(row.known)
        case _:
            assert_never(request)


def _voters(row: Row, view: int, rank: int) -> frozenset[Process]:
    """Return the owner of a ballot: the member of its rank; where the view is another, all who may have the name."""
    if row.view is None or row.number != view:
        return frozenset(row.known)
    # A ballot is its proposer's: who votes with another's rank could promise in its name, and outbid it.
    return frozenset(row.view.members[rank : rank + 1])
