"""`ClientSession`: reads and writes of one user, wherever they are carried out, with the chosen guarantees."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import RLock
from typing import Any, Generic, Self, TypeVar

from gcom.errors import BadValue, GComError, LocalError
from gcom.replicated import MachineFailed, OutcomeUnknown
from gcom.replicated.machine import Machine, MachineKind
from gcom.runtime.user_process.entry import firmly, uninterrupted
from gcom.runtime.user_process.uninterrupted import WholeLock
from gcom.sessions.access import SessionReplica
from gcom.sessions.tokens import SessionToken

M = TypeVar("M", bound=Machine)
_SESSION, _KEEP = "_gcom_session", "_gcom_keep"
LEAVE_S = 2.0  # for the close of a session


class ClientSession(Generic[M]):
    """A session. `state` has the machine's commands and queries.

        with store.session(guarantees={"RYW", "MR"}) as s:
            s.state.deposit("ann", 100)
            print(s.state.balance("ann"), s.token)

    One thread at a time uses it; another one waits. `token` is a text with which another process goes on; then this
    object must not be used any more. If a signal's handler raises out of a write, `retry` settles whether it was done.
    """

    def __init__(
        self, kind: MachineKind, replica: SessionReplica, token: SessionToken, timeout_s: float, begun_by: str = ""
    ) -> None:
        """`begun_by`: the secret, where the session is a new one."""
        self._kind = kind
        self._replica = replica
        self._token = token
        self._timeout_s = timeout_s
        self.begun_by = begun_by
        self._guard = RLock()
        self._turn = WholeLock(self._guard)
        self._unknown: tuple[str, bytes] | None = None
        self._untold: deque[Any] = deque()  # the result of a write whose call was interrupted as it returned
        self.keep = self._untold.append
        self._closed = False
        self.state: M = _handle(kind, self)

    @property
    def token(self) -> str:
        """The session's place, for a process that goes on with it: `store.session(token=...)`."""
        return self._token.encode()

    @property
    def guarantees(self) -> frozenset[str]:
        """The guarantees that this session was opened with."""
        return frozenset(self._token.guarantees)

    @uninterrupted(kept_by="keep")
    def retry(self) -> Any:
        """Carry out the write again whose outcome is unknown; it is applied once in all. Returns its result."""
        with self._turn:
            if self._untold:
                return self._untold.popleft()
            if self._unknown is None:
                raise LocalError("no write of this session has an unknown outcome")
            return self._write(*self._unknown, again=True)

    @uninterrupted()
    def close(self) -> None:
        """End the session: its token is refused from now on. May be called again."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            # A session that cannot be closed now can be retired later.
            with suppress(GComError):
                firmly(self._replica.end, self._token, min(LEAVE_S, self._timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_write(self, name: str) -> bool:
        """Tell whether a method of the machine is a command."""
        return name in self._kind.commands

    def command(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Carry out a command of the machine in this session."""
        self._kind.check(name, arguments, keywords)
        body = self._kind.codec.pack([list(arguments), keywords])
        with self._turn:
            self._raise_if_closed()
            if self._unknown is not None or self._untold:
                which = self._unknown[0] if self._unknown else "the last write"
                raise LocalError(f"the outcome of {which} is unknown yet: call retry() on this session first")
            return self._write(name, body)

    def query(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Answer a query of the machine in this session."""
        self._kind.check(name, arguments, keywords)
        body = self._kind.codec.pack([list(arguments), keywords])
        with self._guard:  # which no interrupt leaves taken: it is written in C
            self._raise_if_closed()
            answer, index, at = self._replica.read(self._token, name, body, self._timeout_s)
            if index > self._token.read_index:
                self._token = replace(self._token, read_index=index, at=at)
        return self._result(answer)

    def _write(self, name: str, body: bytes, again: bool = False) -> Any:
        self._unknown, token = (name, body), self._token
        try:
            answer, index, at = self._replica.write(token, name, body, self._timeout_s)
        except OutcomeUnknown as error:
            raise OutcomeUnknown(f"{error}; call retry() on the session", lambda *_: self.retry()) from error
        except GComError as error:
            if not again or isinstance(error, MachineFailed):
                self._unknown = None  # nothing was applied; after an interrupt nobody knows
            raise
        self._unknown = None
        self._token = replace(self._token, written=token.written + 1, write_index=index, at=at)
        return self._result(answer)

    def _result(self, answer: bytes) -> Any:
        how, value = self._kind.codec.unpack(answer)
        if how == "refused":
            raise value
        return value

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise BadValue("this session is closed: open another one")


def _handle(kind: MachineKind, session: ClientSession[Any]) -> Any:
    """Return an object with the machine's methods, each acting in the session."""
    kept = uninterrupted(kept_by=_KEEP)
    methods: dict[str, Any] = {name: kept(_method(name, ClientSession.command)) for name in kind.commands}
    methods |= {name: _method(name, ClientSession.query) for name in kind.queries}
    handle: Any = object.__new__(type(kind.kind.__name__, (kind.kind,), methods))
    object.__setattr__(handle, _SESSION, session)
    object.__setattr__(handle, _KEEP, session.keep)
    return handle


def _method(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return act(object.__getattribute__(self, _SESSION), name, arguments, keywords)

    call.__name__ = name
    return call
