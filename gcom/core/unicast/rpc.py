"""Group calls that wait for answers, by member asked (Derecho's QueryResults).

A call ends by itself: each member asked answers, or departs with a view, or the call's time is over. So there is one
result for each of them, and none after the end. An answer of a member that was not asked, or to a call that is over, is
dropped.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gcom.values.names import Process


@dataclass(slots=True)
class _Open:
    pending: dict[Process, None]  # in the order asked
    deadline_ms: int | None


class PendingCalls:
    """This process's open calls, by its own count of them."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}

    def begin(self, call: int, asked: Collection[Process], deadline_ms: int | None) -> None:
        assert call not in self._open, "a call has a number of its own"
        # A call of nobody is over at once, and must not stay open until its time.
        if asked:
            self._open[call] = _Open(dict.fromkeys(asked), deadline_ms)

    def on_answer(self, member: Process, call: int) -> bool:
        """Return whether an answer is the one that a call waits for from this member; it waits no more then."""
        found = self._open.get(call)
        if found is None or member not in found.pending:
            return False
        del found.pending[member]
        if not found.pending:
            del self._open[call]
        return True

    def on_departed(self, gone: Collection[Process]) -> list[tuple[int, Process]]:
        """Return the calls that waited for members that went, and for which of them."""
        waited = [(call, member) for call, found in self._open.items() for member in found.pending if member in gone]
        return [(call, member) for call, member in waited if self.on_answer(member, call)]

    def overdue(self, now_ms: int) -> list[int]:
        """Return the calls whose time is over."""
        return [call for call, it in self._open.items() if it.deadline_ms is not None and it.deadline_ms <= now_ms]

    def end(self, call: int) -> list[Process]:
        """Wait no more; return the members for which the call still waited."""
        found = self._open.pop(call, None)
        return list(found.pending) if found else []
