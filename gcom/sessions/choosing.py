"""The replicas that a remote store may ask, and which of them comes first."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from random import SystemRandom
from threading import Lock
from time import monotonic

from gcom.runtime import pyro
from gcom.runtime.security.process import Security
from gcom.runtime.user_process.entry import interruptible
from gcom.values.names import Address, Process, name_of

AVOID_S = 10.0  # after a failure or a slow answer others come first for so long
IDLE_CONNECTIONS_MAX = 16  # to one replica


@dataclass(slots=True)
class ReplicaSeat:
    """A replica, its connections that nobody uses now, and until when others come before it."""

    process: Process
    address: Address
    avoid_until_s: float = 0.0
    idle: list[pyro.Caller] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The member's name."""
        return name_of(self.process)


class ReplicaChoice:
    """The replicas as the registry listed them last; the one in use comes first. Any thread may ask."""

    def __init__(self, object_id: str, credentials: Security) -> None:
        self._object_id = object_id
        self._credentials = credentials
        self._seats: list[ReplicaSeat] = []
        self._lock = Lock()
        self._closed = False

    def learn(self, members: Iterable[tuple[Process, Address]]) -> None:
        """Take the registry's list: who is in it already stays where it is, others come in any order."""
        listed = dict(members)
        with self._lock:
            kept = [it for it in self._seats if listed.get(it.process) == it.address]
            gone = [it for it in self._seats if it not in kept]
            known = {it.process for it in kept}
            new = [ReplicaSeat(process, at) for process, at in listed.items() if process not in known]
            SystemRandom().shuffle(new)  # so that clients spread over the replicas
            self._seats = kept + new
        for seat in gone:
            _close(seat)

    def ordered(self) -> list[ReplicaSeat]:
        """Return the replicas, those first that gave no trouble lately."""
        now = monotonic()
        with self._lock:
            return sorted(self._seats, key=lambda it: max(0.0, it.avoid_until_s - now))

    def avoid(self, seat: ReplicaSeat) -> None:
        """Put others before a replica, for a while."""
        with self._lock:
            seat.avoid_until_s = monotonic() + AVOID_S

    def prefer(self, seat: ReplicaSeat) -> None:
        """Put a replica that answered before those that are as good."""
        with self._lock:
            if seat in self._seats and self._seats[0] is not seat:
                self._seats.remove(seat)
                self._seats.insert(0, seat)

    def call(self, seat: ReplicaSeat, data: bytes, timeout_s: float) -> bytes:
        """Put a request to a replica; raises what `Caller.call` raises."""
        with self._lock:
            caller = seat.idle.pop() if seat.idle else None
        if caller is None:
            caller = pyro.Caller(seat.address, self._object_id, self._credentials, seat.name)
        done = False
        try:
            answer = interruptible(caller.call, data, timeout_s)
            done = True
        finally:
            if not (done and self._keep(seat, caller)):
                caller.close()
        return answer

    def _keep(self, seat: ReplicaSeat, caller: pyro.Caller) -> bool:
        with self._lock:
            if self._closed or len(seat.idle) >= IDLE_CONNECTIONS_MAX:
                return False
            seat.idle.append(caller)
            return True

    def close(self) -> None:
        """End the connections that nobody uses; others end with their requests."""
        with self._lock:
            self._closed = True
            seats = list(self._seats)
        for seat in seats:
            _close(seat)


def _close(seat: ReplicaSeat) -> None:
    with suppress(IndexError):
        while True:
            seat.idle.pop().close()
