"""Openings that are interrupted at one step after another: what was opened for nobody is closed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import gcom
import gcom.blocks
import gcom.replicated
import gcom.sessions
from gcom.bank.accounts import Bank
from tests.interrupts import interrupt_each_step
from tests.runtime.nodes import until

# 1. A client makes a socket. 2. It is interrupted before anything has that. 3. The collector closes it.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture
def registry() -> Iterator[str]:
    with gcom.embedded() as it:
        yield it.address


def test_an_interrupted_connect_leaves_no_node(registry: str) -> None:
    """1. The node is made. 2. The handler that was held back raises. 3. Nobody has the node."""
    before, opened = set(threading.enumerate()), list[gcom.Node]()

    def check(_: bool) -> None:
        while opened:
            opened.pop().close()
        until(lambda: not [it for it in threading.enumerate() if it not in before and "gcom reader" in it.name])

    interrupt_each_step(lambda: opened.extend(map(gcom.connect, ["alice"], [registry])), check, stride=97)


def stock(node: gcom.Node) -> Any:
    return gcom.replicated.open, [node], ["stock"], [Bank]


def sessions(node: gcom.Node) -> Any:
    return gcom.sessions.open, [node], ["stock"], [Bank]


def block(node: gcom.Node) -> Any:
    return gcom.blocks.Counter, [node], ["stock"]


@pytest.mark.parametrize("made", [stock, sessions, block])
def test_what_an_interrupted_opening_began_can_be_opened_again(registry: str, made: Any) -> None:
    opened = list[Any]()
    with gcom.connect("alice", registry, timeout_s=30.0) as node:

        def work() -> None:
            opened.extend(map(*made(node)))

        def check(_: bool) -> None:
            if not opened:
                work()  # raises LocalError where this process is a member yet
            opened.pop().close()

        interrupt_each_step(work, check, stride=229)
