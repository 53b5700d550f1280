"""`Lock`: one holder at a time among processes, the longest waiting first, with a fencing token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from threading import Event
from typing import Any

import gcom
from gcom.blocks.block import Block
from gcom.errors import GComError, LocalError
from gcom.replicated import Change, ContactLost, Refused, StateReplaced
from gcom.replicated.machine import Machine, command, query

WAITING_MAX = 10_000


class LockFull(Refused):
    """Too many wait for a lock."""


class LockTable(Machine):
    """The holder of a lock, and those who wait: tickets, each with its process."""

    def __init__(self) -> None:
        self.holder = ""
        self.token = 0
        self.waiting: list[str] = []
        self.owner: dict[str, str] = {}

    @command
    def ask(self, ticket: str) -> int:
        """Hold, or wait behind those who wait; return the token, 0 while it waits."""
        if ticket not in self.owner:
            if len(self.waiting) >= WAITING_MAX:
                raise LockFull(f"{WAITING_MAX:,} wait for this lock already")
            self.owner[ticket] = self.context.process
            self.waiting.append(ticket)
            self._pass_on()
        return self.token if self.holder == ticket else 0

    @command
    def give_up(self, ticket: str) -> None:
        """Hold or wait no more."""
        self._drop(ticket)
        self._pass_on()

    def on_members(self, members: tuple[str, ...]) -> None:
        """Free what processes held that are gone."""
        for ticket in [it for it, process in self.owner.items() if process not in members]:
            self._drop(ticket)
        self._pass_on()

    @query
    def token_of(self, ticket: str) -> int:
        """Return the token of a ticket that holds the lock; 0 of others."""
        return self.token if self.holder == ticket else 0

    @query
    def waiting_tickets(self) -> list[str]:
        """Return the tickets that wait, the longest first."""
        return list(self.waiting)

    @query
    def held_by(self) -> str:
        """Return the process that holds the lock; empty: nobody."""
        return self.owner.get(self.holder, "")

    def _drop(self, ticket: str) -> None:
        self.owner.pop(ticket, None)
        if ticket in self.waiting:
            self.waiting.remove(ticket)
        if ticket == self.holder:
            self.holder = ""

    def _pass_on(self) -> None:
        if not self.holder and self.waiting:
            self.holder = self.waiting.pop(0)
            self.token = self.context.index


class Lock(Block[LockTable]):
    """A lock that one thread of one process holds, among all that open it.

        with lock.hold(timeout_s=5) as token:
            storage.write(data, token)     # the storage refuses tokens below the highest that it has seen

    Consistency: one total order of asking and freeing; at most one holder at any place of it. The lock is freed when
    its holder closes it, dies, or is out of the view. A holder that is paused or cut off may go on for a while as if it
    held the lock: `lost` is set once it runs and knows, and a resource that checks the token refuses it before.
    """

    kind = LockTable
    prefix = "lock"
    _ticket = ""
    _granted = False

    def __init__(self, node: gcom.Node, name: str, *, timeout_s: float = 10.0, **options: Any) -> None:
        self._lost = Event()
        super().__init__(node, name, timeout_s=timeout_s, **options)

    @property
    def lost(self) -> Event:
        """Set when the lock that was acquired last is held no more, or when nobody can say."""
        return self._lost

    @property
    def holder(self) -> str:
        """The process that holds the lock, as this process knows; empty: nobody."""
        found: str = self._machine.held_by()
        return found

    def acquire(self, timeout_s: float | None = None) -> int:
        """Wait for the lock; return its token, which is above that of each holder before. Raises GComTimeout."""
        if self._ticket:
            raise LocalError(f"this Lock object holds {self.name!r} already; open another one for another thread")
        ticket = token_hex(8)
        self._lost, self._granted, self._ticket = Event(), False, ticket
        try:
            if not self._machine.ask(ticket):
                self._await(lambda: self._machine.token_of(ticket) > 0, timeout_s, f"turn, behind {self.holder}")
            token: int = self._machine.token_of(ticket)
        except (GComError, KeyboardInterrupt):
            self._ticket = ""
            # Without waiting for an answer, which may not come: the first error is to be told.
            with suppress(GComError):
                self._machine.submit.give_up(ticket)
            raise
        if not token:
            self._lost.set()  # it was held for a moment, and this process was put out
        return token

    def release(self) -> None:
        """Free the lock. Not an error if it was lost meanwhile."""
        if ticket := self._ticket:
            self._machine.give_up(ticket)
            self._ticket = ""

    @contextmanager
    def hold(self, timeout_s: float | None = None) -> Iterator[int]:
        """Hold the lock within a block; yield its token."""
        token = self.acquire(timeout_s)
        try:
            yield token
        finally:
            self.release()

    def _note(self, change: Change) -> None:
        if not self._ticket:
            return
        holds = self._machine.token_of(self._ticket) > 0
        # While it waits, contact may be lost and come back: the turn comes later, and counts from then.
        if (holds and isinstance(change, ContactLost | StateReplaced)) or (self._granted and not holds):
            self._lost.set()
        self._granted |= holds
