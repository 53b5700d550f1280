"""Elections that are closed from their own callbacks, and a leader that loses contact."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from threading import Event

import gcom
import gcom.blocks
from tests.runtime.nodes import until


def connected(stack: ExitStack, *names: str) -> list[gcom.Node]:
    registry = stack.enter_context(gcom.embedded())
    return [stack.enter_context(gcom.connect(name, registry.address, timeout_s=30.0)) for name in names]


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
        for node in nodes:
            node.inject("")
