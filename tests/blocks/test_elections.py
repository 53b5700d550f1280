"""Elections that are closed from their own callbacks, and a leader that loses contact."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import permutations
from threading import Event

import pytest

import gcom
import gcom.blocks
from gcom.errors import BadValue
from tests.runtime.nodes import until


def connected(stack: ExitStack, *names: str) -> list[gcom.Node]:
    registry = stack.enter_context(gcom.embedded())
    return [stack.enter_context(gcom.connect(name, registry.address, timeout_s=30.0)) for name in names]


def test_an_async_callback_is_refused() -> None:
    async def gain(_: object) -> None: ...

    with ExitStack() as stack:
        (node,) = connected(stack, "a")
        with pytest.raises(BadValue, match="on_gain is an async function"):
            gcom.blocks.Election(node, "scheduler", on_gain=gain)
        shared = stack.enter_context(gcom.blocks.Dict(node, "config"))
        with pytest.raises(BadValue, match="on_change is an async function"):
            shared.watch(gain)


def test_a_leader_may_close_its_election_as_it_gains_it() -> None:
    with ExitStack() as stack:
        one, two = connected(stack, "one", "two")
        made, told = Event(), list[str]()

        def gain(_: int) -> None:
            assert made.wait(30)
            told.append("gain")
            first.close()
            told.append("closed")

        first = gcom.blocks.Election(one, "boss", on_gain=gain, on_loss=lambda: told.append("loss"), timeout_s=30.0)
        until(lambda: first.leader.startswith("one#"))
        second = stack.enter_context(gcom.blocks.Election(two, "boss", timeout_s=30.0))
        made.set()
        until(lambda: second.token > 0)
        first.close()
        assert told == ["gain", "closed", "loss"]
        assert first.token == 0


def test_a_leader_that_loses_contact_is_told_and_another_leads(expect_log: Callable[[str], None]) -> None:
    expect_log("on purpose")
    expect_log("all others left it")
    with ExitStack() as stack:
        nodes = connected(stack, "a", "b", "c")
        told: list[str] = []

        def gained(token: int) -> None:
            told.append(f"gain {token}")

        first = stack.enter_context(
            gcom.blocks.Election(nodes[0], "boss", on_gain=gained, on_loss=lambda: told.append("loss"), timeout_s=30.0)
        )
        until(lambda: first.token > 0)
        token = first.token
        others = [stack.enter_context(gcom.blocks.Election(node, "boss", timeout_s=30.0)) for node in nodes[1:]]
        until(lambda: all(it.leader.startswith("a#") for it in others))
        cuts = frozenset({("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")})
        for node in nodes:
            node.inject(gcom.Faults(seed=1, cuts=cuts))
        until(lambda: any(it.token > token for it in others))
        until(lambda: told == [f"gain {token}", "loss"])
        # Heard again, and the others close before it is in their group: it is the only candidate, so it leads.
        for node in nodes:
            node.inject("")
        for other in others:
            other.close()
        until(lambda: len(told) == 3)
        assert told[2].startswith("gain ")


def test_a_wait_that_ends_without_contact_gives_up_its_place(expect_log: Callable[[str], None]) -> None:
    expect_log("on purpose")
    with ExitStack() as stack:
        nodes = connected(stack, "a", "b", "c")
        a, b, c = (stack.enter_context(gcom.blocks.Lock(node, "nightly", timeout_s=30.0)) for node in nodes)
        held = b.acquire(30)
        with ThreadPoolExecutor() as pool:
            waits = pool.submit(a.acquire, 5)
            until(lambda: len(b._machine.waiting_tickets()) == 1)
            for node in nodes:  # each alone, so that nobody is put out
                node.inject(gcom.Faults(seed=1, cuts=frozenset(permutations("abc", 2))))
            with pytest.raises(gcom.GComTimeout, match="no turn, behind b#"):
                waits.result()
        for node in nodes:
            node.inject("")
        b.release()
        taken = c.acquire(30)
        assert taken > held
        c.release()
        assert a.acquire(30) > taken  # behind all that it sent while it heard nobody
