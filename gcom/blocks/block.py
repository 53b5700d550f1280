"""The part that all blocks share: a replicated machine, and waits for its changes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Generic, Self, TypeVar

import gcom
import gcom.replicated
from gcom.errors import GComError, GComTimeout, NotAMember
from gcom.replicated import Change
from gcom.replicated.machine import Machine
from gcom.runtime.user_process.entry import InterruptibleCondition, firmly, uninterrupted

M = TypeVar("M", bound=Machine)
LOOK_AGAIN_S = 0.5  # a state that has ended meanwhile is asked, and says so


class BlockClosed(NotAMember):
    """A block that was closed."""


class BlockView(Generic[M]):
    """A block as it is read: from this process's replica, at once."""

    kind: type[Machine]
    prefix = ""
    name: str
    _machine: Any

    @property
    def members(self) -> tuple[str, ...]:
        """The processes that have this block open, oldest first."""
        found: tuple[str, ...] = self._machine.replicas.members
        return found

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} of {len(self.members)} members>"

    def _note(self, change: Change) -> None:
        """Note a change, in the thread that applies: it must not wait."""

    def _surely(self, command: str, *arguments: Any) -> None:
        """Have something given up that this process would hold without knowing: sent once it can be, without a wait."""
        with suppress(GComError):
            firmly(self._machine.replicas.submit_surely, command, *arguments)


class Block(BlockView[M]):
    """A block of that name: all processes that open it share it. Any thread may use it.

    `options` are those of `gcom.replicated.open`: with `data=` and `replicas=` the block survives that all are killed.
    """

    @uninterrupted(undone_by="close")
    def __init__(self, node: gcom.Node, name: str, *, timeout_s: float = 10.0, **options: Any) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._changed = InterruptibleCondition()
        self._is_closed = False
        self._machine: Any = gcom.replicated.open(
            node, f"{self.prefix}-{name}", self.kind, timeout_s=timeout_s, **options
        )
        self._unwatch = self._machine.replicas.watch(self._on_change)

    @uninterrupted()
    def close(self) -> None:
        """Leave the group. What this process holds is freed by the others. May be called again."""
        if not self._is_closed:
            self._is_closed = True
            self._unwatch()
            self._machine.close()
            self._wake()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @uninterrupted()
    def _await(self, reached: Callable[[], bool], timeout_s: float | None, waits_for: str) -> None:
        """Wait until a query says so; raises GComTimeout."""
        deadline = None if timeout_s is None else monotonic() + timeout_s
        with self._changed:
            while not reached():
                if self._is_closed:
                    raise BlockClosed(f"{type(self).__name__} {self.name!r} was closed")
                left = LOOK_AGAIN_S if deadline is None else deadline - monotonic()
                if left <= 0:
                    raise GComTimeout(f"{type(self).__name__} {self.name!r}: no {waits_for} after {timeout_s} s")
                self._changed.wait(min(left, LOOK_AGAIN_S))

    def _on_change(self, change: Change) -> None:
        self._note(change)
        self._wake()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
