"""Who left by request, and is told for a while of the view that goes on without it.

1. A, B and C; C leaves, and the INSTALL of its leave is lost. 2. D joins, so A and B are one view further. 3. C asks
what became of it. Who remembered only its last change would call C expelled, and what C had sent unconfirmed.
"""

from __future__ import annotations

from gcom.core.messages.frames import LEAVES_FOR, Decision
from gcom.values import limits
from gcom.values.names import Process


class Tombstones:
    """For each leaver the decision that it waits for, until LINGER_MS after it was installed here."""

    def __init__(self) -> None:
        self._told: dict[Process, tuple[Decision, int]] = {}
        # How far the stream of each that went counts; in order, at most GONE_MAX, of which the oldest are forgotten.
        self._gone: dict[Process, int] = {}

    def install(self, decision: Decision, now_ms: int) -> None:
        """Remember who left with a decision."""
        leavers = [member for member, reason in decision.left.items() if reason in LEAVES_FOR]
        self._told |= dict.fromkeys(leavers, (decision, now_ms + limits.LINGER_MS))

    def left_view(self, decision: Decision, behind: set[Process]) -> None:
        """A process enters an instance once: who goes is not let in again, be it by a Join that comes late.

        Who is still `behind`, and never installed the view it was admitted to, may ask again: it never was in.
        """
        self._gone |= {who: decision.cut.get(who, 0) for who in decision.left if who not in behind}
        for member in list(self._gone)[: -limits.GONE_MAX]:
            del self._gone[member]

    def is_gone(self, process: Process) -> bool:
        """Whether a process was in and went."""
        return process in self._gone

    def settled(self, process: Process) -> int | None:
        """Up to where the messages of one that went arrived; None: that is not known any more."""
        return self._gone.get(process)

    def decision(self, leaver: Process) -> Decision | None:
        """What a leaver is to be told; None for anybody else."""
        told = self._told.get(leaver)
        return told[0] if told else None

    @property
    def leavers(self) -> list[Process]:
        """Who is still told."""
        return list(self._told)

    def end(self, process: Process) -> bool:
        """A leaver needs to be told no more; whether it is one."""
        return self._told.pop(process, None) is not None

    def forget(self, now_ms: int) -> list[Process]:
        """Who has had time enough, from now on a stranger."""
        over = [leaver for leaver, (_, until_ms) in self._told.items() if now_ms >= until_ms]
        for leaver in over:
            del self._told[leaver]
        return over
