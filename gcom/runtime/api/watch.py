"""`Watch`: the traces of a group's messages, for a program that shows or measures them."""

from __future__ import annotations

from time import monotonic, time

from gcom.errors import BadValue
from gcom.runtime.host import Host
from gcom.runtime.membership import Membership
from gcom.runtime.traces import Trace, TraceBuffer
from gcom.runtime.user_process.closable import Closable
from gcom.runtime.user_process.entry import application_call

CAPACITY_MAX = 1_000_000  # some hundred bytes each: a watch must not cost more than the group


class Watch(Closable):
    """The traces of what is delivered while it is open; made by `Group.watch`. Any thread may use it.

        with group.watch() as watch:
            ...
            for trace in watch.take():
                print(trace.sender, trace.number, trace.delivered_s - trace.received_s)

    It keeps the last messages, taken or not, as many as `Group.watch` was told; `dropped` counts those that went before
    they were taken. It goes on when the process returns to the group.
    """

    def __init__(self, host: Host, membership: Membership, capacity: int) -> None:
        if type(capacity) is not int or not 1 <= capacity <= CAPACITY_MAX:
            raise BadValue(f"a watch keeps 1 to {CAPACITY_MAX:,} messages; got {capacity!r}")
        self._host = host
        self._membership = membership
        self._buffer = TraceBuffer(capacity)
        with host.lock:
            membership.watch(self._buffer)
        # Taken once: the wall clock may be set while a watch is open, and its times must agree with each other.
        self._anchor = monotonic(), time()

    @property
    def anchor(self) -> tuple[float, float]:
        """An instant in both clocks: monotonic seconds, and seconds since 1970."""
        return self._anchor

    @property
    @application_call()
    def dropped(self) -> int:
        """Messages that went at the bound before they were taken."""
        with self._host.lock:
            return self._buffer.dropped

    def wall_s(self, monotonic_s: float) -> float:
        """Return a time of a trace in seconds since 1970, as the wall clock was when the watch was opened."""
        return monotonic_s - self._anchor[0] + self._anchor[1]

    @application_call()
    def take(self) -> list[Trace]:
        """Return the traces of all that was delivered since the last time, in the order of delivery."""
        with self._host.lock:
            runs = self._buffer.take()
        # Without the lock: to make a trace of each message takes
        # longer than a step, and a watch must not slow its group.
        return [trace for run in runs for trace in run.traces()]

    @application_call()
    def of(self, sender: str, number: int) -> Trace | None:
        """Return the trace of a message; None: it was not delivered while the watch was open, or is kept no more.

        It may have been taken. `sender` is a process, as in `Message.sender`.
        """
        with self._host.lock:
            run = self._buffer.find(sender, number)
        return run.of(number) if run else None

    @application_call()
    def close(self) -> None:
        """Record nothing more; what is kept stays. May be called again."""
        with self._host.lock:
            self._membership.unwatch(self._buffer)
