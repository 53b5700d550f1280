"""Rules on unicasts, in order and once, and on calls, which end with a result for each member asked.

Checked from what applications post, call and answer, and from what they are handed (docs/protocols/unicast.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gcom.core.messages.effects import Answered, DeliverUnicast, GroupCallOver, OfUnicast, Serve, UnicastLost
from gcom.sim.checks.record import InstanceHistory, Violation
from gcom.values.answers import Outcome
from gcom.values.names import Process
from gcom.values.run import Payload


@dataclass(slots=True)
class _Pair:
    """A process's unicasts to another, and its requests."""

    posted: list[Payload] = field(default_factory=list)
    delivered: int = 0
    doubtful: list[Payload] = field(default_factory=list)  # reported as undelivered, no more among those posted
    served: int = 0  # number of the last call handed over as a request


@dataclass(slots=True)
class _OpenCall:
    payload: Payload
    pending: set[Process]
    deadline_ms: int | None


class Envelopes:
    """ENVELOPE: per pair in the order posted, each once, none left out, or reported. CALL: one true result per
    member.
    """

    def __init__(self, record: InstanceHistory) -> None:
        self._record = record
        self._pairs: dict[tuple[Process, Process], _Pair] = {}  # sender and receiver
        self._calls: dict[tuple[Process, int], _OpenCall] = {}  # open ones
        self._asked: dict[tuple[Process, int], Payload] = {}
        self._answers: dict[tuple[Process, int, Process], tuple[Outcome, Payload]] = {}

    def _pair(self, sender: Process, receiver: Process) -> _Pair:
        return self._pairs.setdefault((sender, receiver), _Pair())

    # from applications

    def post(self, who: Process, target: Process, payload: Payload) -> None:
        self._pair(who, target).posted.append(payload)

    def call(self, who: Process, call: int, targets: tuple[Process, ...], payload: Payload, until: int | None) -> None:
        self._calls[who, call] = _OpenCall(payload, set(targets), until)
        self._asked[who, call] = payload

    def answer(self, who: Process, caller: Process, call: int, payload: Payload, failed: bool) -> None:
        self._answers[caller, call, who] = (Outcome.ERROR if failed else Outcome.VALUE, payload)

    def end(self, who: Process) -> None:
        """End a session, and its calls with it."""
        self._calls = {key: call for key, call in self._calls.items() if key[0] != who}

    # to applications

    def see(self, who: Process, effect: OfUnicast, now_ms: int) -> None:
        """Check one effect at the local time of its application; raises Violation."""
        match effect:
            case DeliverUnicast(sender, payload):
                self._deliver(who, sender, payload)
            case UnicastLost(target, payloads):
                self._report(who, target, payloads)
            case Serve(caller, call, payload):
                self._serve(who, caller, call, payload)
            case Answered():
                self._result(who, effect)
            case GroupCallOver(call):
                found = self._calls.pop((who, call), None)
                # By the local clock of the application, which may drift: its call's time is its own.
                if found is None or found.deadline_ms is None or now_ms < found.deadline_ms:
                    raise Violation(f"CALL: the time of {who}'s call {call} is over before it is")

    def _deliver(self, who: Process, sender: Process, payload: Payload) -> None:
        pair = self._pair(sender, who)
        if payload in pair.doubtful:  # it was under way
            # Those before it in line will not come any more: the channel is FIFO.
            del pair.doubtful[: pair.doubtful.index(payload) + 1]
        # The next one and no other: in the order posted, each once.
        elif pair.posted[pair.delivered : pair.delivered + 1] == [payload]:
            pair.delivered += 1
        else:
            # Broken where an envelope is taken each time it comes.
            raise Violation(f"ENVELOPE: {who} is handed {payload!r} of {sender}, not its envelope {pair.delivered + 1}")

    def _report(self, who: Process, target: Process, payloads: tuple[Payload, ...]) -> None:
        pair = self._pair(who, target)
        first = len(pair.posted) - len(payloads)
        # Who is still in the view is still served: nothing is given up while the channel lasts.
        if self._is_in_view_of(who, target) or tuple(pair.posted[first:]) != payloads:
            raise Violation(f"ENVELOPE: {who} is told that {payloads} did not reach {target}, in vain")
        # It names the last few of what was posted: so all before these must have arrived.
        if pair.delivered < first:
            raise Violation(f"ENVELOPE: {who} is not told that envelope {pair.delivered + 1} never reached {target}")
        # Told as undelivered, they may still arrive: the sender cannot know (docs/LIMITS.md).
        pair.doubtful += pair.posted[pair.delivered :]
        del pair.posted[pair.delivered :]

    def _serve(self, who: Process, caller: Process, call: int, payload: Payload) -> None:
        pair = self._pair(caller, who)
        # Calls of one caller are numbered, so a request that is served again, or behind a later one, shows.
        if call <= pair.served or self._asked.get((caller, call)) != payload:
            raise Violation(f"CALL: {who} is asked {payload!r} in {caller}'s call {call}, after {pair.served}")
        pair.served = call

    def _result(self, who: Process, answered: Answered) -> None:
        call, member = self._calls.get((who, answered.call)), answered.member
        if call is None or member not in call.pending:
            # Broken where an answer counts after the end of its call.
            raise Violation(f"CALL: {who} has a result of {member} for call {answered.call}, which awaits none")
        said = self._answers.get((who, answered.call, member))
        if answered.outcome is Outcome.DEPARTED:
            true = not self._is_in_view_of(who, member)
        else:
            true = said == (answered.outcome, answered.payload)
        if not true:
            raise Violation(f"CALL: {who} has {answered} where {member} said {said}")
        call.pending.remove(member)
        if not call.pending:
            del self._calls[who, answered.call]

    def _is_in_view_of(self, who: Process, other: Process) -> bool:
        return other in self._record.history(who).section.view.members

    # outstanding

    def waiting(self, members: set[Process]) -> Iterator[str]:
        """Yield a sentence per unicast stream and call that is not complete; `members` are all in one view."""
        for (sender, receiver), pair in self._pairs.items():
            if {sender, receiver} <= members and pair.delivered < len(pair.posted):
                yield f"{receiver} has {pair.delivered} of {len(pair.posted)} envelopes of {sender}"
            # The receiver is out: the sender must be told of each envelope that it did not get.
            elif sender in members and pair.delivered < len(pair.posted):
                yield f"{sender} is not told that {receiver} has {pair.delivered} of {len(pair.posted)} envelopes"
        for (who, number), call in self._calls.items():
            if who in members:
                yield f"call {number} of {who} waits for {sorted(call.pending)}"
