"""Requests to the registry as a witness of view changes, and its answers (docs/protocols/netsplit.md)."""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.frames import Ballot, Decision
from gcom.values.names import Address, GroupName, InstanceId, Process


@dataclass(frozen=True, slots=True)
class WitnessPrepare:
    """The owner of `ballot` asks for a promise in the change out of view `view`; with a `group`, for a succession.

    `process` is then the asker's: it may be out of a later view that it never heard of.
    """

    instance: InstanceId
    view: int
    ballot: Ballot
    group: GroupName = ""
    process: Process = ""


@dataclass(frozen=True, slots=True)
class WitnessAccept:
    """Half of the view, or all that is left of it, has accepted the decision under the ballot: decide it."""

    instance: InstanceId
    view: int
    ballot: Ballot
    decision: Decision
    group: GroupName = ""


WitnessRequest = WitnessPrepare | WitnessAccept


# It names what a dead quorum may have left behind: the proposer of a succession must ask these before it goes on.
@dataclass(frozen=True, slots=True)
class WitnessPromised:
    """Nothing below the ballot will be accepted, and nothing was decided with this witness before.

    For a succession `noted` are all that the registry knows of in this view or a later one, and where.
    """

    view: int
    ballot: Ballot
    noted: tuple[tuple[Process, Address], ...] = ()


@dataclass(frozen=True, slots=True)
class WitnessDecided:
    """The next view of `view` is this, and no other; it was decided under `ballot`."""

    view: int
    decision: Decision
    ballot: Ballot


@dataclass(frozen=True, slots=True)
class WitnessNack:
    """A ballot was refused because `promised` is higher."""

    view: int
    promised: Ballot


# No value is told: the record of the older view is gone, and to vote on it again could decide it twice.
@dataclass(frozen=True, slots=True)
class WitnessPassed:
    """The instance is in view `view` at least: what was asked about an older one is settled without the asker."""

    view: int


@dataclass(frozen=True, slots=True)
class WitnessFull:
    """The refusal of a witness that keeps as many records as it may."""


WitnessAnswer = WitnessPromised | WitnessDecided | WitnessNack | WitnessPassed | WitnessFull
