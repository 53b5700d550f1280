"""Rules on the application's state: each member that has it has a donor's history (docs/protocols/state.md).

The state of a simulated application is a digest of all that it was handed. Where members deliver alike, those whose
states have one origin, the creator's or a loss, have the same at the barrier of a view.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from zlib import crc32

from gcom.core.messages.effects import Deliver
from gcom.core.state_transfer.transfer import NO_DONOR
from gcom.sim.checks.record import Violation
from gcom.values.definition import Definition, Multicast, Netsplit
from gcom.values.names import Process
from gcom.values.view import View

BEFORE = -1  # the view, so to speak, in which a member of a predecessor got the state that it goes on with


@dataclass(slots=True)
class State:
    """A digest: the view of the last loss (`origin`, 0 if none), and of each sender a count and a sum.

    `since` is that loss' rank over all instances, which is kept where an instance succeeds another (`lineage.rank`).
    """

    origin: int = 0
    streams: dict[Process, tuple[int, int]] = field(default_factory=dict)
    sequence: int = 0  # of all messages, in order
    since: int = 0

    def add(self, delivery: Deliver) -> None:
        run = delivery.run
        count, total = self.streams.get(run.sender, (0, 0))
        for number, payload in enumerate(run.payloads, run.first):
            data = payload.encode() if isinstance(payload, str) else payload
            # A sum over numbers and payloads: who has the same messages has the same state, in whatever order they
            # came. Their order is in `sequence`, which is compared only where the group promises one.
            total = (total + crc32(data, number & 0xFFFF)) & 0xFFFFFFFF
        self.streams[run.sender] = (count + len(run.payloads), total)
        self.sequence = crc32(f"{run.sender} {total}".encode(), self.sequence)

    def merged(self, other: State) -> State:
        """Return one state of two: of each sender the longer history."""
        streams = dict(self.streams)
        for sender, seen in other.streams.items():
            streams[sender] = max(seen, streams.get(sender, (0, 0)))
        return State(self.origin, streams, crc32(f"{other.sequence}".encode(), self.sequence), self.since)

    def dump(self) -> bytes:
        """Return the state as bytes behind their checksum, so that a mixed or cut one is noticed."""
        # A checksum in front: bytes that are mixed of two donors' states are nobody's state, whatever they say.
        body = json.dumps([self.origin, self.streams, self.sequence, self.since]).encode()
        return b"%d %s" % (crc32(body), body)

    @classmethod
    def load(cls, data: bytes) -> State:
        found, _, body = data.partition(b" ")
        if found != b"%d" % crc32(body):
            # Broken where chunks of one donor are taken for the next one's.
            raise Violation(f"STATE: what arrived is nobody's state: {data!r}")
        origin, streams, sequence, since = json.loads(body)
        return cls(origin, {sender: (count, total) for sender, (count, total) in streams.items()}, sequence, since)


class States:
    """STATE: one origin, one state at a barrier. STATE_LOST: none is lost while a member has it that has not failed.

    MERGE: the state that a member brought is at last part of its own, and of each that was never lost.
    """

    def __init__(self, definition: Definition) -> None:
        self._agree = definition.multicast is Multicast.RELIABLE
        self._primary = definition.netsplit is Netsplit.PRIMARY
        self._total = definition.total
        self._at: dict[tuple[int, int, int], tuple[Process, object]] = {}
        self._since: dict[Process, int] = {}  # the view in which a member got the state, or made it
        self._to_merge: dict[Process, State] = {}
        self._lost: list[tuple[Process, View, str]] = []

    def on_given(self, who: Process, view: int) -> None:
        """Record a state that came to a process in that view, or that is its own as the first of the group."""
        self._since[who] = view
        for loss in self._lost:  # it may have come into the view after that
            self._must_not_have(who, *loss)

    def on_barrier(self, who: Process, view: int, state: State) -> None:
        """Check the state of an application that begins a view."""
        if not self._agree:
            return
        mine = (state.streams, state.sequence if self._total else 0)
        # By view and origin: a state that began anew after a loss is compared with those that began there. And by
        # `since`: one that began anew in view 3 of the predecessor, and one in view 3 of this instance, are two.
        where = view, state.origin, state.since
        other, theirs = self._at.setdefault(where, (who, (dict(mine[0]), mine[1])))
        # What was handed over is the donor's whole history, in every byte: a chunk of another state would show here.
        if mine != theirs:
            # Broken where the state is taken at once, or behind the barrier: then it has other
            # messages than its view.
            raise Violation(f"STATE: at the barrier of view {view} {who} has {mine}, and {other} {theirs}")

    def on_reconciliation(self, who: Process, state: State) -> None:
        """Record a state of another instance that a process brings as it enters, or when it is given no state here."""
        before = self._to_merge.get(who)
        self._to_merge[who] = before.merged(state) if before else state

    def on_rest(self, states: Mapping[Process, State]) -> None:
        """Check, after all that was sent is dealt with, that each member that keeps a state has this one."""
        if not self._agree:
            return
        for bringer in [who for who in self._to_merge if who in states]:
            for who, state in states.items():
                # A member that lost its state has only what came since, and owes nothing of what was brought before.
                if who == bringer or state.origin == 0:
                    self._must_have(who, state, bringer)

    def _must_have(self, who: Process, state: State, bringer: Process) -> None:
        for sender, (count, _) in self._to_merge[bringer].streams.items():
            found, _ = state.streams.get(sender, (0, 0))
            if found < count:
                # Broken where one that enters another instance brings nothing, or each brought state
                # counts as the first.
                raise Violation(f"MERGE: {bringer} brought {count} of {sender}, and {who} has {found} of them")

    def on_lost(self, who: Process, view: View, reason: str, had_own: bool = False) -> None:
        """Check a loss that an application is told of at the barrier of a view; `had_own`: although it has one."""
        if had_own and reason == NO_DONOR and self._primary:
            # Broken where all begin empty, and one of those who wait was in before, with nearly all of it.
            raise Violation(f"STATE_LOST: {who} in view {view.number} has a state of its own, and no donor failed it")
        self._lost.append((who, view, reason))
        for member in view.members:
            self._must_not_have(member, who, view, reason)

    def _must_not_have(self, member: Process, loser: Process, view: View, reason: str) -> None:
        # Got in the view just before, it may still have been on its way when donors were asked.
        has = member in view.members and self._since.get(member, view.number) < view.number - 1
        if has and member not in reason:
            # Broken where one that waits for the state counts as one that has it, and a joiner is
            # told that nobody has.
            raise Violation(f"STATE_LOST: {loser} in view {view.number}, and {member} has the state: {reason}")
