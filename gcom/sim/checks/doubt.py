"""The rule on a process's own messages in doubt (ARCHITECTURE 10, "detached")."""

from __future__ import annotations

from gcom.core.messages.effects import DoubtSettled, Ended, Quorum
from gcom.sim.checks.record import InstanceHistory, ProcessHistory, Rule, Violation
from gcom.values.names import Process

_Span = tuple[int, int]


class Doubt(Rule):
    """DOUBT: of each message that a process was told to be in doubt it is told once what became of it; or its end names
    the message as unconfirmed.
    """

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._open: dict[Process, set[int]] = {}
        self._settled: dict[Process, set[int]] = {}

    def open_at(self, who: Process) -> bool:
        """Tell whether a process still waits to be told of a message."""
        return bool(self._open.get(who))

    def heard_quorum(self, history: ProcessHistory, quorum: Quorum) -> None:
        doubt = self._untold(history.process, quorum.in_doubt, "is told that its message {} is in doubt")
        self._open.setdefault(history.process, set()).update(doubt)

    def settled(self, history: ProcessHistory, settled: DoubtSettled) -> None:
        who = history.process
        numbers = self._untold(who, (settled.first, settled.last), "is told of its message {}")
        self._settled.setdefault(who, set()).update(numbers)
        self._open.setdefault(who, set()).difference_update(numbers)

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        who = history.process
        named = self._untold(who, ended.unconfirmed, "names its message {} as unconfirmed")
        # Broken where a member leaves, or is put out, by a cut that has the messages, and is not told that.
        if left := self._open.get(who, set()) - named:
            raise Violation(f"DOUBT: {who} ends ({ended.reason}), and is not told what became of its {sorted(left)}")

    def _untold(self, who: Process, span: _Span | None, what: str) -> set[int]:
        numbers = set(range(span[0], span[1] + 1)) if span else set()
        # Broken where a doubt is settled in parts, and then as a whole: the application sends a message twice.
        if again := numbers & self._settled.get(who, set()):
            raise Violation(f"DOUBT: {who} {what.format(min(again))}, of which it was told before what became of it")
        return numbers
