"""Changes of a replicated state, as `ReplicatedState.watch` tells them, in one order at every replica."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import Any


@dataclass(frozen=True, slots=True)
class CommandApplied:
    """A command was applied: its `result`, or the `error` that its caller got."""

    index: int
    process: str  # the caller's, name#incarnation
    command: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    result: Any = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class MembersChanged:
    """`on_members` was called with these processes, oldest first."""

    index: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateReplaced:
    """The state is another one now: this process was away, and was given what the others have. Read all anew."""

    index: int


@dataclass(frozen=True, slots=True)
class ContactLost:
    """This process hears no majority: the others may change the state, and it does not see that."""

    index: int


Change = CommandApplied | MembersChanged | StateReplaced | ContactLost


class ChangeTeller:
    """Tells those who watch, one thread at a time, in the order of the changes, and without any other lock."""

    def __init__(self) -> None:
        self.watchers: list[Callable[[Change], object]] = []
        self._changes: deque[Change] = deque()
        self._telling = Lock()
        self._teller: int | None = None

    @property
    def is_here(self) -> bool:
        """Tell whether this thread is the one that tells."""
        return self._teller == get_ident()

    def add(self, change: Change) -> None:
        """Have a change told by the next `tell`."""
        self._changes.append(change)

    def unwatch(self, on_change: Callable[[Change], object]) -> None:
        """Tell one no more."""
        if on_change in self.watchers:
            self.watchers.remove(on_change)

    def tell(self) -> None:
        """Tell what is to be told; a thread that finds another at it leaves all to that one."""
        while self._changes and self._telling.acquire(blocking=False):
            try:
                self._teller = get_ident()
                while self._changes:
                    self.tell_now(self._changes.popleft())
            finally:
                self._teller = None
                self._telling.release()

    def tell_now(self, change: Change) -> None:
        """Tell a change, whatever waits."""
        for watcher in list(self.watchers):
            try:
                watcher(change)
            except Exception:  # outermost: what the application's callback raises is not the listener's end
                traceback.print_exc()
