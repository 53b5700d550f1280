"""A replica as sessions use it: writes once and in order, and reads of a state that is new enough."""

from __future__ import annotations

from collections.abc import Callable
from secrets import token_hex
from time import monotonic
from typing import NamedTuple, Protocol, TypeVar

from gcom.replicated import Change
from gcom.runtime.user_process.entry import InterruptibleCondition, uninterrupted
from gcom.sessions.errors import SessionTimeout
from gcom.sessions.table import INDEX_BYTES, SessionRecords
from gcom.sessions.tokens import SessionToken

T = TypeVar("T")
LOOK_AGAIN_S = 0.5  # a replica that has ended meanwhile is asked, and says so


class SessionAnswer(NamedTuple):
    """The answer to a read or write, and the replica that gave it."""

    answer: bytes  # of the machine's own codec
    version: int  # the index of the state that it is of
    at: str


class SessionReplica(Protocol):
    """The part of a replica that a session uses; arguments and answers are bytes of the machine's own codec."""

    def write(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer: ...

    def read(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer: ...

    def end(self, token: SessionToken, timeout_s: float) -> None: ...


class LocalReplica:
    """The replica of this process. Any thread may use it."""

    def __init__(self, table: SessionRecords) -> None:
        self._table = table
        self._changed = InterruptibleCondition()
        self._unwatch = table.replicas.watch(self._on_change)
        self.name = str(table.replicas.process).partition("#")[0]

    def begin(self, secret: str, timeout_s: float) -> SessionAnswer:
        """Open a session: the answer's version is its number, and its bytes are the store's identity."""
        number = self._table.within(timeout_s).begin(secret)
        return SessionAnswer(self.identity(timeout_s).encode(), number, self.name)

    def identity(self, timeout_s: float) -> str:
        """Return what the state is known by; a state that began anew gets a name now."""
        return self._table.known_as() or self._table.within(timeout_s).identify(token_hex(8))

    def write(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer:
        """Carry out the next write of a session, behind those before it."""
        return self.write_once(token, name, body, timeout_s)[0]

    def write_once(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> tuple[SessionAnswer, bool]:
        """Carry out the next write of a session; return its answer, and whether it had been carried out before."""
        deadline = monotonic() + timeout_s
        in_order = "MW" in token.guarantees
        if in_order and token.written:
            self._await(
                lambda: self._table.progress(token.session, token.secret) >= token.written or None,
                deadline,
                lambda: (
                    f"write {token.written + 1} of session {token.session} waits for write {token.written}, "
                    f"index {token.write_index}"
                ),
                token,
            )
        numbered = (token.session, token.secret, token.written + 1, in_order)
        answer, index, repeated = self._table.within(max(0.0, deadline - monotonic())).write(*numbered, name, body)
        return SessionAnswer(answer, index, self.name), repeated

    def read(self, token: SessionToken, name: str, body: bytes, timeout_s: float) -> SessionAnswer:
        """Answer a query once this replica has what the session's guarantees demand."""
        written = token.write_index if "RYW" in token.guarantees else 0
        seen = token.read_index if "MR" in token.guarantees else 0
        least = max(written, seen)
        asked = (token.store, token.session, token.secret, least, name, body)
        found = self._table.read(*asked) or self._await(
            lambda: self._table.read(*asked),
            monotonic() + timeout_s,
            lambda: (
                f"a read of session {token.session} waits for its own write {token.written}, index {written}"
                if written >= seen
                else f"a read of session {token.session} waits for index {seen}, which it has read already"
            ),
            token,
        )
        return SessionAnswer(found[INDEX_BYTES:], int.from_bytes(found[:INDEX_BYTES], "big"), self.name)

    def end(self, token: SessionToken, timeout_s: float) -> None:
        """Close a session."""
        self._table.within(timeout_s).end(token.session, token.secret)

    def close(self) -> None:
        """Wait for changes no more."""
        self._unwatch()

    def _on_change(self, _: Change) -> None:
        with self._changed:
            self._changed.notify_all()

    @uninterrupted()
    def _await(
        self, reached: Callable[[], T | None], deadline: float, waits: Callable[[], str], token: SessionToken
    ) -> T:
        with self._changed:
            while (found := reached()) is None:
                left = deadline - monotonic()
                if left <= 0:
                    last = f"; it was seen last at replica {token.at!r}" if token.at else ""
                    here = f"replica {self.name!r} has not applied: it is at {self._table.position()}"
                    raise SessionTimeout(f"{waits()}, which {here}{last}")
                self._changed.wait(min(left, LOOK_AGAIN_S))
        return found
