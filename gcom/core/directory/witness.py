"""The registry as a witness: one more acceptor of a view change, where exactly half is left (ARCHITECTURE 10).

An acceptor of single-decree Paxos (Lamport 2001) for each (instance, view), under the members' own ballots. It stores
no message, so nobody can get a cut's payloads from it; therefore the proposer asks it to accept *last*, when all of its
half hold the cut and have accepted. So what it has accepted is decided, and each process that asks again is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from gcom.core.messages.frames import Ballot, Decision
from gcom.core.messages.witness import (
    WitnessAccept,
    WitnessAnswer,
    WitnessDecided,
    WitnessFull,
    WitnessNack,
    WitnessPassed,
    WitnessPrepare,
    WitnessPromised,
    WitnessRequest,
)
from gcom.values import limits


class Vote(Enum):
    """The word of the witness about one view of an instance."""

    NONE = "none"  # it was not asked
    PROMISED = "promised"  # will accept nothing below the ballot
    DECIDED = "decided"  # has accepted a value, last of all: that one is the next view, whoever asks


# Every state and what may follow it. A later view begins at NONE; of an earlier one nothing is said any more.
VOTES: dict[Vote, tuple[Vote, ...]] = {
    Vote.NONE: (Vote.PROMISED,),
    Vote.PROMISED: (Vote.PROMISED, Vote.DECIDED),
    Vote.DECIDED: (),
}


@dataclass(frozen=True, slots=True)
class WitnessRecord:
    """The word of the witness about the latest view of an instance that it was asked about."""

    instance: str
    view: int
    promised: Ballot
    decided: Decision | None = None

    @property
    def vote(self) -> Vote:
        return Vote.DECIDED if self.decided else Vote.PROMISED


class Witness:
    """The votes of one registry.

    `save` makes a record durable in place of the instance's earlier one, or raises; then nothing was answered.
    """

    def __init__(self, records: Iterable[WitnessRecord], save: Callable[[WitnessRecord], None]) -> None:
        self._records = {record.instance: record for record in records}
        self._save = save

    def decided(self, instance: str, view: int) -> WitnessDecided | None:
        """Return what followed a view of an instance, if this witness decided it, and nothing after it."""
        record = self._records.get(instance)
        if record is None or record.view != view or record.decided is None:
            return None
        return WitnessDecided(view, record.decided, record.promised)

    def ask(self, request: WitnessRequest) -> WitnessAnswer:
        record = self._records.get(request.instance)
        # No place is made by forgetting: a forgotten promise could be given twice. A new instance's ties are nobody's.
        if record is None and len(self._records) >= limits.WITNESS_RECORDS_MAX:
            return WitnessFull()
        # A question about an older view: another half has gone on, and to vote again would let two go on.
        if record and record.view > request.view:
            return WitnessPassed(record.view)
        if record and record.view == request.view and record.decided:
            return WitnessDecided(record.view, record.decided, record.promised)
        match request:
            case WitnessPrepare():
                return self._on_prepare(record, request)
            case WitnessAccept():
                return self._on_accept(record, request)
            case _:
                assert_never(request)

    def _on_prepare(self, record: WitnessRecord | None, request: WitnessPrepare) -> WitnessAnswer:
        if record and record.view == request.view and request.ballot < record.promised:
            return WitnessNack(record.view, record.promised)
        # An equal ballot, too: the same proposer asks again, as the first answer was lost.
        self._become(Vote.PROMISED, WitnessRecord(request.instance, request.view, request.ballot))
        return WitnessPromised(request.view, request.ballot)

    def _on_accept(self, record: WitnessRecord | None, request: WitnessAccept) -> WitnessAnswer:
        """Accept only the very ballot that was promised, as a member does."""
        if record is None or record.view != request.view or record.promised != request.ballot:
            promised = record.promised if record and record.view == request.view else request.ballot
            return WitnessNack(request.view, promised)
        self._become(Vote.DECIDED, replace(record, decided=request.decision))
        return WitnessDecided(request.view, request.decision, request.ballot)

    def _become(self, vote: Vote, record: WitnessRecord) -> None:
        """Make a word durable before it is said."""
        known = self._records.get(record.instance)
        before = known.vote if known and known.view == record.view else Vote.NONE
        assert vote is record.vote, "a record says what was said"
        assert vote in VOTES[before], f"{before} to {vote}"
        # Asked again, because the answer was lost: the record is on the disk already.
        if known != record:
            self._save(record)
            self._records[record.instance] = record
