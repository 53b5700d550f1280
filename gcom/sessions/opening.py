"""The opening of sessions, of a replica here or of others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from secrets import token_hex
from typing import Generic, Protocol, TypeVar

from gcom.replicated.machine import Machine, MachineKind
from gcom.runtime.api.guards import seconds_of
from gcom.runtime.user_process.entry import uninterrupted
from gcom.sessions.access import SessionAnswer, SessionReplica
from gcom.sessions.session import ClientSession
from gcom.sessions.tokens import GUARANTEES, SessionToken, guarantees_of

M = TypeVar("M", bound=Machine)


class OpeningReplica(SessionReplica, Protocol):
    """A replica that begins sessions."""

    def begin(self, secret: str, timeout_s: float) -> SessionAnswer: ...


class SessionOpening(Generic[M]):
    """The part of a store that opens sessions."""

    def __init__(self, kind: MachineKind, replica: OpeningReplica, timeout_s: float) -> None:
        self._kind = kind
        self._replica = replica
        self._timeout_s = timeout_s
        self._unused: deque[str] = deque()  # secrets of sessions that an interrupted call began, or may have begun
        self._lost: deque[ClientSession[M]] = deque()  # whose call was interrupted as it returned
        self._keep = self._lost.append

    @uninterrupted(kept_by="_keep")
    def session(
        self,
        guarantees: Iterable[str] = GUARANTEES,
        *,
        token: str | None = None,
        timeout_s: float | None = None,
    ) -> ClientSession[M]:
        """Open a session, or go on with that of a token.

        `guarantees`: any of RYW (read your writes), MR (monotonic reads), MW (monotonic writes) and WFR (writes follow
        reads); a token brings those of its session. `timeout_s`: how long a read or write waits for what the session
        has seen. Raises BadToken, BadValue, SessionTimeout, and what a command raises.
        """
        limit_s = seconds_of(self._timeout_s if timeout_s is None else timeout_s)
        if token is not None:
            return ClientSession(self._kind, self._replica, self._known(token), limit_s)
        named, secret = guarantees_of(guarantees), self._secret()
        done = False
        try:
            store, number, at = self._replica.begin(secret, limit_s)
            done = True
        finally:
            if not done:
                self._unused.append(secret)
        found = SessionToken(store.decode(), number, secret, named, at=at)
        return ClientSession(self._kind, self._replica, found, limit_s, begun_by=secret)

    def _secret(self) -> str:
        """Return the secret of a session that nobody has, or a new one: the same secret begins one session."""
        try:
            while self._lost:
                if secret := self._lost.popleft().begun_by:
                    return secret
            return self._unused.popleft()
        except IndexError:  # also where another thread was faster
            return token_hex(8)

    def _known(self, text: str) -> SessionToken:
        return SessionToken.decode(text)
