"""Wishes about a group that is still being joined: a create, a leave, other groups."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator

import pytest
from gcom_chat.model.group_state import GroupStanding
from gcom_chat.model.rows import ChatRow
from gcom_chat.view.window import ChatWindow

import gcom
from tests.chat_gui.windows import is_in, wait_until
from tests.running import Child, environment

pytestmark = pytest.mark.slow
Opener = Callable[..., ChatWindow]
GROUPS = ("news", "work", "fun", "rest", "last")

# Bob leads all groups, and admits nobody while he is stopped.
BOB = f"""
import sys, gcom
with gcom.connect("bob", sys.argv[1]) as bob:
    for name in {GROUPS!r}:
        bob.join(name, create=gcom.Definition.parse(name, "FIFO"))
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def bob(registry: str) -> Iterator[Child]:
    """A leader that is silent."""
    with Child([sys.executable, "-c", BOB, registry], environment()) as child:
        child.until(lambda: "ready" in child.out)
        child.signal(signal.SIGSTOP)
        yield child
        child.signal(signal.SIGCONT)


def _is_joining(window: ChatWindow, *groups: str) -> bool:
    found = [window.chat.groups.get(group) for group in groups]
    return all(state and state.standing is GroupStanding.JOINING for state in found)


def test_a_create_follows_a_join_that_is_under_way(opened: Opener, registry: str, bob: Child) -> None:
    window = opened("alice", registry, "news")
    wait_until(lambda: window.client._joins._next)  # the join has begun
    window.join("news", gcom.Definition.parse("news", "TOTAL"))
    wait_until(lambda: not window.client._joins.is_wanted("news"))  # the create follows it
    assert _is_joining(window, "news")
    bob.signal(signal.SIGCONT)
    wait_until(lambda: is_in(window, "news", 2))
    said = [row.text for row in window.chat.groups["news"].conversation.rows]
    wait_until(lambda: any("with other promises (FIFO)" in row.text for row in _rows(window)), "word of the promises")
    assert not any("already" in text and "promises" not in text for text in said)


@pytest.mark.usefixtures("bob")
def test_joins_that_wait_keep_nobody_from_another_group(opened: Opener, registry: str) -> None:
    window = opened("alice", registry, *GROUPS)
    wait_until(lambda: len(window.client._joins._next) == len(GROUPS))
    window.join("mine", gcom.Definition("mine"))
    wait_until(lambda: is_in(window, "mine", 1))
    assert _is_joining(window, *GROUPS)


def test_a_tab_that_is_closed_while_it_joins_stays_closed(opened: Opener, registry: str, bob: Child) -> None:
    window = opened("alice", registry, "news", "work")
    wait_until(lambda: len(window.client._joins._next) == 2)
    window.close_tab("news")
    bob.signal(signal.SIGCONT)
    wait_until(lambda: is_in(window, "work", 2) and "news" not in window.client._joins._next)
    assert window.client.group("news") is None
    assert list(window.tabs) == ["work"]


def _rows(window: ChatWindow) -> list[ChatRow]:
    return list(window.chat.groups["news"].conversation.rows)
