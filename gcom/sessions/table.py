"""The table of sessions, beside the state that they are of. Pure: it is part of the replicated state.

Source: Terry, Demers, Petersen, Spreitzer, Theimer, Welch, "Session guarantees for weakly consistent replicated data",
1994. All writes are in one total order here, so a session needs two numbers in place of their version vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zlib import crc32

from gcom.errors import BadValue
from gcom.replicated import Refused
from gcom.replicated.machine import Machine, MachineKind, command, query
from gcom.sessions.errors import BadToken, SessionForked, SessionUnknown, WriteMissing

OTHER_STORE = "the token is of another store, or of a state of this one that was lost: open a new session"
INDEX_BYTES = 8
SESSIONS_MAX = 100_000  # none gives way: at the bound no session is opened


@dataclass(slots=True)
class SessionRecord:
    """A session: the last write of it, and the answer, for a retry."""

    secret: str
    written: int = 0
    index: int = 0
    crc: int = 0
    answer: bytes = b""


class SessionRecords(Machine):
    """A machine of the user's, and the sessions in which it is written."""

    def __init__(self, kind: MachineKind) -> None:
        self._kind = kind
        self._inner = kind.build()
        self._identity = ""
        self._last = 0  # the index of the last command
        self._records: dict[int, SessionRecord] = {}
        self._numbers: dict[str, int] = {}  # of sessions, by their secrets

    # the replicated state

    def snapshot(self) -> Any:
        """Return the user's state and all sessions as plain values."""
        rows = [[no, it.secret, it.written, it.index, it.crc, it.answer] for no, it in self._records.items()]
        return [self._kind.state_of(self._inner), self._identity, self._last, rows]

    def restore(self, state: Any) -> None:
        """Take the place of a state that `snapshot` returned."""
        inner, self._identity, self._last, rows = state
        self._inner = self._kind.machine_of(inner)
        self._records = {row[0]: SessionRecord(*row[1:]) for row in rows}
        self._numbers = {it.secret: no for no, it in self._records.items()}

    def on_members(self, members: tuple[str, ...]) -> None:
        """Tell the user's machine."""
        self._kind.enter(self._inner, self.context)
        try:
            self._inner.on_members(members)
        finally:
            self._kind.enter(self._inner, None)

    # sessions

    @command
    def identify(self, proposed: str) -> str:
        """Return what this state is known by; the first that asks names it."""
        self._identity = self._identity or proposed
        return self._identity

    @command
    def begin(self, secret: str) -> int:
        """Open a session; return its number. The same secret again, after a lost answer, opens no second one."""
        if secret in self._numbers:
            return self._numbers[secret]
        if len(self._records) >= SESSIONS_MAX:
            raise Refused(f"{SESSIONS_MAX:,} sessions are open: close some, or retire those that nobody uses")
        self._last = self.context.index
        self._records[self._last] = SessionRecord(secret, index=self._last)
        self._numbers[secret] = self._last
        return self._last

    @command
    def end(self, session: int, secret: str) -> None:
        """Close a session."""
        self._record(session, secret)
        self._forget(session)

    @command
    def retire(self, before: int) -> int:
        """Close the sessions that have not written since an index; return how many these were."""
        idle = [no for no, it in self._records.items() if it.index < before]
        for no in idle:
            self._forget(no)
        return len(idle)

    @command
    def write(
        self, session: int, secret: str, number: int, in_order: bool, name: str, body: bytes
    ) -> tuple[bytes, int, bool]:
        """Carry out write `number` of a session, once; return its answer, its index, and whether it is a repetition."""
        record = self._record(session, secret)
        crc = crc32(body, crc32(name.encode()))
        if number == record.written and crc == record.crc:
            return record.answer, record.index, True
        if number <= record.written:
            raise SessionForked(
                f"write {number} of session {session} was another one, and {record.written} were done: somebody else "
                "goes on with a copy of this token"
            )
        if in_order and number > record.written + 1:
            raise WriteMissing(f"write {record.written + 1} of session {session} has not come; this one is {number}")
        record.answer = self._perform(name, body)
        record.written, record.index, record.crc = number, self.context.index, crc
        self._last = record.index
        return record.answer, record.index, False

    @query
    def position(self) -> int:
        """Return the index of the last command that this state has."""
        return self._last

    @query
    def progress(self, session: int, secret: str) -> int:
        """Return how many writes of a session this state has; none of one that it has not heard of yet."""
        return self._record(session, secret).written if session <= self._last else 0

    @query
    def invariant(self) -> int | None:
        """Return what the user's machine says never changes, for the audit; None if it says nothing."""
        found: int | None = getattr(self._inner, "invariant", lambda: None)()
        return found

    @query
    def size(self) -> int:
        """Return how many sessions are open."""
        return len(self._records)

    @query
    def known_as(self) -> str:
        """Return what this state is known by; empty until one has named it."""
        return self._identity

    @query
    def read(self, store: str, session: int, secret: str, least: int, name: str, body: bytes) -> bytes | None:
        """Answer a query of the user's machine in a session, once this state has index `least`; None: it has not.

        Returns the index of the state that the answer is of, in INDEX_BYTES, and the answer: as one value of bytes,
        which a query gives out without a copy. Raises BadToken, SessionUnknown.
        """
        if self._identity not in (store, ""):
            raise BadToken(OTHER_STORE)
        if self._last < least or not self._identity:
            return None  # a replica without any name for its state is far behind
        if session <= self._last:
            self._record(session, secret)
        arguments, keywords = self._kind.codec.unpack(body)
        try:
            answer = ["value", self._kind.queries[name](self._inner, *arguments, **keywords)]
        except Refused as refusal:
            answer = ["refused", refusal]
        return self._last.to_bytes(INDEX_BYTES, "big") + self._kind.codec.pack(answer)

    def _forget(self, session: int) -> None:
        del self._numbers[self._records.pop(session).secret]

    def _record(self, session: int, secret: str) -> SessionRecord:
        record = self._records.get(session)
        if record is None or record.secret != secret:
            raise SessionUnknown(f"session {session} was closed, or was never opened in this store: open a new one")
        return record

    def _perform(self, name: str, body: bytes) -> bytes:
        method = self._kind.commands.get(name)
        if method is None:
            raise BadValue(f"the machine of this replica has no command {name!r}: give all the same program")
        arguments, keywords = self._kind.codec.unpack(body)
        self._kind.enter(self._inner, self.context)
        try:
            return self._kind.codec.pack(["value", method(self._inner, *arguments, **keywords)])
        except Refused as refusal:
            return self._kind.codec.pack(["refused", refusal])
        finally:
            self._kind.enter(self._inner, None)
