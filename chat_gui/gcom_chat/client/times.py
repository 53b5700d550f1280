"""The times when each message of a group came, was ordered and was delivered, by the group's watch."""

from __future__ import annotations

from collections.abc import Sequence

import gcom
from gcom_chat.model.rows import MessageTimes

WATCHED_MAX = 20_000  # messages that are delivered and not read yet; of older ones the times are not known


class TimesOfMessages:
    """An open watch of a group; for one thread."""

    def __init__(self, group: gcom.Group) -> None:
        self._watch = group.watch(WATCHED_MAX)
        self._waiting: dict[tuple[str, int], gcom.Trace] = {}  # delivered, and not read yet

    def of(self, events: Sequence[gcom.Event]) -> dict[tuple[str, int], MessageTimes]:
        """Return the times of the messages among some events, by sender and number."""
        names = [(event.sender, event.number) for event in events if isinstance(event, gcom.Message)]
        if not names:
            return {}
        # Deliveries come before they are read, so times wait here for their messages.
        for trace in self._watch.take():
            self._waiting[trace.sender, trace.number] = trace
        found = {name: self._times(self._waiting.pop(name)) for name in names if name in self._waiting}
        if len(self._waiting) > WATCHED_MAX:
            self._waiting.clear()
        return found

    def close(self) -> None:
        """Watch no more."""
        self._watch.close()

    def _times(self, trace: gcom.Trace) -> MessageTimes:
        return MessageTimes(
            self._ms(trace.received_s),
            self._ms(trace.delivered_s),
            None if trace.sent_s is None else self._ms(trace.sent_s),
            None if trace.ordered_s is None else self._ms(trace.ordered_s),
            trace.serial or 0,
            None if trace.clock is None else {process: trace.clock[process] for process in trace.clock},
        )

    def _ms(self, monotonic_s: float) -> float:
        return 1000 * self._watch.wall_s(monotonic_s)
