"""Changes of a replicated state, as `ReplicatedState.watch` tells them, in one order at every replica."""

from __future__ import annotations

from dataclasses import dataclass
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
