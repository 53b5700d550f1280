"""`Lock`: one holder at a time among processes, the longest waiting first, with a fencing token."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from secrets import token_hex
from threading import Event
from typing import Any

import gcom
from gcom.blocks.block import Block, BlockView
from gcom.errors import GComError, LocalError
from gcom.replicated import Change, ContactLost, Refused, StateReplaced
from gcom.replicated.machine import Machine, command, query
from gcom.runtime.user_process.entry import uninterrupted

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


class LockView(BlockView[LockTable], ABC):
    """A lock as it is read, and the ticket of one that asks for it."""

    kind = LockTable
    prefix = "lock"
    _ticket = ""
    _granted = False

    @property
    def holder(self) -> str:
        """The process that holds the lock, as this process knows; empty: nobody."""
        found: str = self._machine.held_by()
        return found

    def _new_ticket(self) -> str:
        if self._ticket:
            raise LocalError(f"this Lock object holds {self.name!r} already; open another one for another holder")
        self._granted, self._ticket = False, token_hex(8)
        return self._ticket

    @abstractmethod
    def _lose(self) -> None:
        """Set `lost`; by the thread that applies."""

    def _note(self, change: Change) -> None:
        if not self._ticket:
            return
        try:
            holds = self._machine.token_of(self._ticket) > 0
        except GComError:  # the state has ended
            holds = False
        # While it waits, contact may be lost and come back: the turn comes later, and counts from then.
        if (holds and isinstance(change, ContactLost | StateReplaced)) or (self._granted and not holds):
            self._lose()
        self._granted |= holds


class Lock(LockView, Block[LockTable]):
    """A lock that one thread of one process holds, among all that open it.

        with lock.hold(timeout_s=5) as token:
            storage.write(data, token)     # the storage refuses tokens below the highest that it has seen

    Consistency: one total order of asking and freeing; at most one holder at any place of it. The lock is freed when
    its holder closes it, dies, or is out of the view. A holder that is paused or cut off may go on for a while as if it
    held the lock: `lost` is set once it runs and knows, and a resource that checks the token refuses it before.
    """

    def __init__(self, node: gcom.Node, name: str, *, timeout_s: float = 10.0, **options: Any) -> None:
        self._lost = Event()
        super().__init__(node, name, timeout_s=timeout_s, **options)

    @property
    def lost(self) -> Event:
        """Set when the lock that was acquired last is held no more, or when nobody can say."""
        return self._lost

    @uninterrupted(undone_by="release")
    def acquire(self, timeout_s: float | None = None) -> int:
        """Wait for the lock; return its token, which is above that of each holder before. Raises GComTimeout."""
        ticket = self._new_ticket()
        self._lost = Event()
        done = False
        try:
            if not self._machine.ask(ticket):
                self._await(lambda: self._machine.token_of(ticket) > 0, timeout_s, f"turn, behind {self.holder}")
            token: int = self._machine.token_of(ticket)
            done = True
        finally:
            if not done:
                self._ticket = ""
                self._surely("give_up", ticket)
        if not token:
            self._lost.set()  # it was held for a moment, and this process was put out
        return token

    @uninterrupted()
    def release(self) -> None:
        """Free the lock. Not an error if it was lost meanwhile; after another error it is freed once it can be."""
        ticket, self._ticket = self._ticket, ""
        if not ticket:
            return
        done = False
        try:
            self._machine.give_up(ticket)
            done = True
        finally:
            if not done:
                self._surely("give_up", ticket)

    def abandon(self, ticket: str) -> None:
        """Free the lock that a block held whose end was interrupted, without a wait."""
        if ticket == self._ticket:
            self._ticket = ""
            self._surely("give_up", ticket)

    def hold(self, timeout_s: float | None = None) -> AbstractContextManager[int]:
        """Hold the lock within a block, which is given its token."""
        return _HeldLock(self, timeout_s)

    def _lose(self) -> None:
        self._lost.set()


class _HeldLock(AbstractContextManager[int]):
    """A block that holds a lock. It is no generator: that could be interrupted between `acquire` and its `try`."""

    _ticket = ""  # while it holds the lock; of the class, since an interrupted object has nothing of its own

    def __init__(self, lock: Lock, timeout_s: float | None) -> None:
        self._lock, self._timeout_s = lock, timeout_s

    def __enter__(self) -> int:
        token = self._lock.acquire(self._timeout_s)
        self._ticket = self._lock._ticket  # no call, which a handler could interrupt
        return token

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._ticket = ""

    def __del__(self) -> None:
        # 1. The block ends. 2. A signal's handler raises before the first line of `__exit__`. 3. The block is dropped.
        if self._ticket:
            self._lock.abandon(self._ticket)
