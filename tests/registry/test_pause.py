"""A registry's own pause, and groups that are dead: real processes, stopped and killed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic

import pytest

import gcom
from gcom.core.messages.registry import Claim, GroupInfo, Refusal, Register
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import limits
from gcom.values.definition import Definition
from tests.core.making import A, B, address, view
from tests.runtime.nodes import at_once, until
from tests.runtime.processes import Registry, Workers

NEWS, EMPTY = Definition.parse("news"), Definition.parse("empty")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as found:
        yield found


def refused(answer: object) -> str:
    """Why a claim was not granted."""
    assert isinstance(answer, Refusal), answer
    return f"{answer.code}: {answer.text}"


@pytest.mark.slow
def test_a_registry_that_was_stopped_longer_than_a_lease_grants_no_claim_that_waited(stack: ExitStack) -> None:
    """Both claims would be granted if the pause counted: nobody who has the name could renew it meanwhile."""
    registry = stack.enter_context(Registry())
    clients = [DirectoryClient(registry.address, timeout_s=60.0) for _ in range(2)]
    for client in clients:
        stack.callback(client.close)
    first = clients[0]
    first.create(NEWS)
    empty = first.create(EMPTY)
    first.ask(Register(NEWS, "k1", view(A), A))
    registry.signal(signal.SIGSTOP)
    began = monotonic()
    until(lambda: monotonic() - began > limits.LEASE_MS / 1000 + 1, "the end of the pause")
    claims = [Claim("news", "k1", 1, B, address(B), gone=(A,)), Claim("empty", empty.instance, 0, B, address(B))]
    works = [
        lambda: first.ask(claims[0]),
        lambda: clients[1].ask(claims[1]),
        lambda: registry.signal(signal.SIGCONT),
    ]
    of_news, of_empty, _ = at_once(works)
    assert "its lease runs" in refused(of_news)
    assert refused(of_empty).startswith("RegistryStarting")
    renewed = first.ask(Register(NEWS, "k1", view(A), A))
    assert isinstance(renewed, GroupInfo)
    assert renewed.alive

    def granted() -> bool:
        return isinstance(first.ask(claims[1]), GroupInfo)

    until(granted, "the claim of an empty group, once all had the time to register")


@pytest.mark.slow
def test_a_group_whose_members_were_all_killed_leaves_the_list_by_itself(stack: ExitStack) -> None:
    registry = stack.enter_context(gcom.embedded())
    directory = gcom.Directory(registry.address)
    stack.callback(directory.close)
    alice, bob = [Workers(registry.address, stack).start(name) for name in ("alice", "bob")]
    until(lambda: [len(entry.members) for entry in directory.groups()] == [2], "both")
    alice.signal(signal.SIGKILL)
    alice.end()
    bob.signal(signal.SIGSTOP)  # which is no proof of anything
    until(lambda: [entry.alive for entry in directory.groups()] == [False], "the end of the lease")
    began = monotonic()
    until(lambda: monotonic() - began > 2, "some more looks at who is dead")
    assert [entry.alive for entry in directory.groups()] == [False]
    bob.signal(signal.SIGKILL)
    bob.end()
    until(lambda: directory.groups() == (), "the end of the group")
