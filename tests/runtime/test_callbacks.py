"""Callbacks that cannot be called are refused where they are handed over, with a sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import pytest

import gcom


async def later(*given: object) -> None:
    """Stands for an application's coroutine function."""


async def many(given: object) -> AsyncIterator[object]:
    yield given


class Later:
    async def __call__(self, given: object) -> object:
        return given


@pytest.fixture(scope="module")
def held() -> Iterator[tuple[gcom.Group, gcom.Node]]:
    with gcom.embedded() as it, gcom.connect("alice", it.address) as alice, gcom.connect("bob", it.address) as bob:
        yield alice.join("news", create=gcom.Definition("news")), bob


@pytest.fixture
def group(held: tuple[gcom.Group, gcom.Node]) -> gcom.Group:
    return held[0]


@pytest.fixture
def bob(held: tuple[gcom.Group, gcom.Node]) -> gcom.Node:
    return held[1]


def refuses(group: gcom.Group, bob: gcom.Node, name: str, callback: Any) -> Callable[[], object]:
    if name.startswith("on_") and name != "on_call":
        return partial(group.listen, **{name: callback})
    if name == "on_call":
        return partial(group.on_call, callback)
    needed = {"get_state": bytes, "set_state": print} if name == "merge_states" else {}
    return partial(bob.join, "news", **{**needed, name: callback})


@pytest.mark.parametrize(
    "name", ["on_message", "on_view", "on_event", "on_unicast", "on_call", "get_state", "set_state"]
)
@pytest.mark.parametrize(
    "callback",
    [later, many, partial(later, 1), Later(), Later().__call__],
    ids=["function", "generator", "partial", "object", "method"],
)
def test_an_async_function(group: gcom.Group, bob: gcom.Node, name: str, callback: Any) -> None:
    with pytest.raises(gcom.BadValue, match=r"is an async function, which a thread cannot await: join by gcom\.aio"):
        refuses(group, bob, name, callback)()
    group.send("x", held_by="all")
    assert isinstance(group.receive(10.0), gcom.Message | gcom.ViewChange)


@pytest.mark.parametrize(
    ("name", "callback", "text"),
    [
        ("on_message", 5, "on_message must be a function, or left out; got 5"),
        ("on_call", "x", "the handler of calls must be a function, or left out; got 'x'"),
        ("on_message", lambda: None, r"on_message is called with 1 argument; got a function of \(\)"),
        ("on_view", lambda view, more: None, r"on_view is called with 1 argument; got a function of \(view, more\)"),
        ("on_call", len, r"the handler of calls is called with 2 arguments"),
        ("get_state", lambda group: b"", "get_state is called with no arguments"),
        ("set_state", lambda: None, "set_state is called with 1 argument"),
        ("merge_states", lambda mine: mine, "merge_states is called with 2 arguments"),
    ],
)
def test_a_function_that_cannot_be_called_so(
    group: gcom.Group, bob: gcom.Node, name: str, callback: Any, text: str
) -> None:
    with pytest.raises(gcom.BadValue, match=text):
        refuses(group, bob, name, callback)()


def test_functions_that_can_be_called_are_taken(bob: gcom.Node) -> None:
    # In a group of its own: a listener stays, and the other tests read theirs.
    group = bob.join("heard", create=gcom.Definition("heard"))
    group.on_call(lambda payload, *more: payload)
    group.on_call(None)
    found: list[object] = []
    group.listen(on_message=found.append, on_view=partial(print, "", end=""))
