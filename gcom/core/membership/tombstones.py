"""The memory of members that left, which are told for a while of the view that goes on without them."""

from __future__ import annotations

from gcom.core.messages.frames import LEAVES_FOR, Decision
from gcom.values import limits
from gcom.values.names import Process


class Tombstones:
    """For each leaver the decision that it waits for, until TIME_WAIT_MS after it was installed here."""

    def __init__(self) -> None:
        # By leaver, not the last decision alone. 1. Of A, B and C, C leaves, and the INSTALL of its leave is lost. 2. D
        # joins, so A and B are one view further. 3. C asks what became of it. If A remembered only its last change it
        # would call C expelled, and C would tell its application that what it sent is in doubt.
        self._told: dict[Process, tuple[Decision, int]] = {}
        # The end of the stream of each process that went; at most GONE_MAX, of which the oldest are forgotten.
        self._gone: dict[Process, int] = {}

    def install(self, decision: Decision, now_ms: int) -> None:
        """Remember who left with a decision; forget who is in its view, which only a lie can bring about."""
        # 1. C leaves. 2. B, a liar, says that C is in again. 3. C refuses a call. If its link were closed, as that of
        # a leaver is, the next word of C would be that of a member without a link.
        self._told = {who: told for who, told in self._told.items() if who not in decision.view.members}
        leavers = [member for member, reason in decision.left.items() if reason in LEAVES_FOR]
        self._told |= dict.fromkeys(leavers, (decision, now_ms + limits.TIME_WAIT_MS))

    def left_view(self, decision: Decision, behind: set[Process]) -> None:
        """Remember the members that went: a process enters an instance once, so a late Join of it is refused."""
        # A process still behind never installed the view that admitted it: it was never in, and may ask again.
        self._gone |= {who: decision.cut.get(who, 0) for who in decision.left if who not in behind}
        for member in list(self._gone)[: -limits.GONE_MAX]:
            del self._gone[member]

    def is_gone(self, process: Process) -> bool:
        """Return whether a process was in and went."""
        return process in self._gone

    def settled(self, process: Process) -> int | None:
        """Return where the cut ended the stream of a process that went; None: that is not known any more."""
        return self._gone.get(process)

    def decision(self, leaver: Process) -> Decision | None:
        """Return what a leaver is to be told; None for every other process."""
        told = self._told.get(leaver)
        return told[0] if told else None

    @property
    def leavers(self) -> list[Process]:
        """The leavers that are still told."""
        return list(self._told)

    def end(self, process: Process) -> bool:
        """Forget a leaver, which needs to be told no more; return whether it was one."""
        return self._told.pop(process, None) is not None

    def forget(self, now_ms: int) -> list[Process]:
        """Return the leavers whose time is over; each is a stranger from now on."""
        # Whether it was reached or not: one that died before it heard the end would be called for ever.
        over = [leaver for leaver, (_, until_ms) in self._told.items() if now_ms >= until_ms]
        for leaver in over:
            del self._told[leaver]
        return over
