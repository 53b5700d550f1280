"""Forks and the end of the user's process: what becomes of its nodes.

*A fork.* The child has a copy of every node, and none of their threads. If it wrote on its parent's connections, the
peer would take its bytes for the parent's: messages would be lost on both sides. So in the child every node is over
without a word to anybody, and the descriptors are let go. The parent is untouched.

*The end.* A program may end without `close`: at the end of its script, by `sys.exit`, by an exception. Then each node
leaves in order, within EXIT_S seconds, and what could not be sent is said on standard error.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from time import monotonic
from typing import Protocol, TypeVar
from weakref import WeakSet

from gcom.runtime.user_process import entry

EXIT_S = 5.0  # for all nodes together to leave, at the end of a program that closes none of them


class Closed(Protocol):
    """A thing with a descriptor, which a child of a fork lets go of."""

    def close(self) -> object: ...


class Copied(Protocol):
    """A thing that lives on in the parent alone."""

    def on_forked(self) -> None:
        """Be over, in the child, without a word and without a lock."""


class Ending(Protocol):
    """A node at the end of the program."""

    name: str

    def close(self, timeout_s: float) -> None: ...

    def unsent(self) -> dict[str, int]:
        """Return the number of messages that will never be sent, by group."""
        ...


T = TypeVar("T", bound=Closed)
_descriptors: WeakSet[Closed] = WeakSet()
_copied: WeakSet[Copied] = WeakSet()
_running: WeakSet[Ending] = WeakSet()


def keep(thing: T) -> T:
    """Have the child of a fork close this; return it."""
    _descriptors.add(thing)
    return thing


def tell_of_forks(thing: Copied) -> None:
    """Tell a thing in the child of a fork that it is a copy."""
    _copied.add(thing)


def end_with_program(node: Ending) -> None:
    """Have a node closed at the end of the program, unless it is by then."""
    _running.add(node)


def _in_child() -> None:
    entry.begin_in_child()
    for thing in list(_copied):
        thing.on_forked()
    for descriptor in list(_descriptors):
        with suppress(OSError):
            descriptor.close()
    _copied.clear()
    _descriptors.clear()
    _running.clear()


def _at_exit() -> None:
    deadline = monotonic() + EXIT_S
    for node in sorted(_running, key=lambda node: node.name):
        with entry.entering():
            node.close(max(0.1, deadline - monotonic()))
        for group, count in node.unsent().items():
            # Not by the library's log, which may be off: the program has ended, and nobody else will say it.
            print(
                f"gcom: not sent before the program ended: {count:,} message{'s' * (count != 1)} of {node.name!r} in "
                f"group {group!r}; close the node first, or flush",
                file=sys.stderr,
            )


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
