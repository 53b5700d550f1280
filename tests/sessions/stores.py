"""Branches of a bank in one process, each with its replica; and one that is held back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Event

import gcom
import gcom.sessions
from gcom.bank.accounts import Bank
from gcom.sessions import SessionStore


class Branches:
    """Nodes of one registry, each with a store."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.registry = stack.enter_context(gcom.embedded())

    def open(self, name: str, timeout_s: float = 30.0) -> SessionStore[Bank]:
        return self.open_at(self._stack.enter_context(gcom.connect(name, self.registry.address)), timeout_s)

    def open_at(self, node: gcom.Node, timeout_s: float = 30.0) -> SessionStore[Bank]:
        return self._stack.enter_context(gcom.sessions.open(node, "bank", Bank, timeout_s=timeout_s))


@contextmanager
def held_back(store: SessionStore[Bank]) -> Iterator[None]:
    """Have a replica apply one more command at most, until the end of the block."""
    go_on = Event()
    unwatch = store.replicas.watch(lambda _: go_on.wait(60.0))
    try:
        yield
    finally:
        go_on.set()
        unwatch()
