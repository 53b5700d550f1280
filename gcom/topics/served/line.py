"""Connections to servers of topics, of which the first one that answers is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple

from gcom.errors import BadValue, GComError, Unavailable
from gcom.runtime import pyro
from gcom.runtime.security.process import credentials_for
from gcom.runtime.user_process.entry import interruptible
from gcom.runtime.user_process.uninterrupted import WholeEvent
from gcom.topics.served import parts, requests
from gcom.topics.served.requests import SCHEME
from gcom.values import names
from gcom.values.names import Address

ATTEMPT_S = 3.0  # for an answer; asked again, a call is still carried out once
PAUSE_S, PAUSE_S_MAX = 0.01, 0.2  # before something is tried again
CALLERS_KEPT = 8


class ServerAddress(NamedTuple):
    """Where a server is; `member` is the name in its certificate, where it speaks TLS."""

    address: Address
    member: str


def addresses_of(place: str) -> list[ServerAddress]:
    """Return the servers in `gcom://[NAME@]HOST:PORT[,…]`; raise BadValue."""
    found = []
    for text in place.removeprefix(SCHEME).rstrip("/").split(","):
        member, _, address = text.rpartition("@")
        found.append(ServerAddress(names.address(address), member))
    return found


class ServerLine:
    """Connections to servers, tried in order: the one that last answered first. Each call takes a free connection."""

    def __init__(self, addresses: Sequence[ServerAddress], timeout_s: float) -> None:
        self.addresses, self.timeout_s = addresses, timeout_s
        self._first = 0  # the address that last answered
        self._free: deque[tuple[int, pyro.Caller]] = deque()
        self._busy: set[pyro.Caller] = set()
        self._credentials = credentials_for(self.addresses[0].address)
        self.closing = WholeEvent()

    def _caller(self) -> tuple[int, pyro.Caller]:
        with suppress(IndexError):
            while True:
                at, caller = self._free.pop()
                if at == self._first:
                    return at, caller
                caller.close()
        at = self._first
        address, member = self.addresses[at]
        if isinstance(self._credentials, pyro.Credentials) and not member:
            raise BadValue(f"{SCHEME}{address} needs the name in the server's certificate: {SCHEME}NAME@{address}")
        return at, pyro.Caller(address, requests.OBJECT, self._credentials, member or None)

    def once(self, request: bytes, timeout_s: float) -> list[Any]:
        """Ask one server; return the values of its answer. Raises Unavailable, PeerError, and what the server told."""
        at, caller = self._caller()
        self._busy.add(caller)
        done = False
        try:
            if self.closing.is_set():
                raise Unavailable("these connections are closed")
            found = interruptible(parts.exchanged, request, lambda data: caller.call(data, timeout_s))
            done = True
        except GComError as error:
            if isinstance(error, Unavailable) and self._first == at:
                self._first = (at + 1) % len(self.addresses)
            raise
        finally:
            self._busy.discard(caller)
            if not done:
                caller.close()
        if len(self._free) < CALLERS_KEPT and not self.closing.is_set():
            self._free.append((at, caller))
        else:
            caller.close()
        return requests.read_answer(found)

    def ask(self, request: bytes, wait_s: float = 0.0) -> list[Any]:
        """Ask until some server answers, for as long as `timeout_s`. Raises Unavailable, and what the server told."""
        deadline, pause_s = monotonic() + self.timeout_s, PAUSE_S
        while True:
            try:
                return self.once(request, wait_s + ATTEMPT_S)
            except Unavailable:
                if monotonic() + pause_s > deadline or self.closing.wait(pause_s):
                    raise
                pause_s = min(PAUSE_S_MAX, 2 * pause_s)

    def close(self) -> None:
        """Close the connections; calls under way raise Unavailable."""
        self.closing.set()
        while self._free:
            self._free.pop()[1].close()
        for caller in list(self._busy):
            caller.close()
