"""A member of a PRIMARY group that comes back to an instance which has nothing of its own is handed its state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import gcom
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values.definition import Definition
from gcom.values.names import Address
from tests.runtime.nodes import LIMIT_S, until

pytestmark = pytest.mark.slow

ExpectLog = Callable[[str], None]
SAFE = Definition.parse("news", "FIFO", safe=True)


class Notes:
    """An application whose state is a set of texts."""

    def __init__(self, stack: ExitStack, name: str, registry: Address) -> None:
        self.texts: set[str] = set()
        self.events: list[gcom.Event] = []
        self.node = stack.enter_context(gcom.connect(name, registry, timeout_s=LIMIT_S))
        self.group = self.node.join("news", create=SAFE, get_state=self.get, set_state=self.set, timeout_s=LIMIT_S)
        self.group.listen(on_message=lambda message: self.texts.add(message.text), on_event=self.events.append)

    def get(self) -> bytes:
        return "\n".join(sorted(self.texts)).encode()

    def set(self, data: bytes) -> None:
        self.texts = set(data.decode().splitlines())

    @property
    def departures(self) -> list[str]:
        return [event.reason for event in self.events if isinstance(event, gcom.Departure)]

    @property
    def unmerged(self) -> list[gcom.StateUnmerged]:
        return [event for event in self.events if isinstance(event, gcom.StateUnmerged)]


def trio(stack: ExitStack, registry: Address) -> list[Notes]:
    """Three members that have one text."""
    found = [Notes(stack, name, registry) for name in ("alice", "bob", "carol")]
    for member in found:
        member.group.wait_for_members(3, LIMIT_S)
    found[0].group.send("before")
    until(lambda: all(member.texts == {"before"} for member in found), "the first message")
    return found


def put_out(carol: Notes, members: list[Notes], heals: str) -> None:
    """Cut carol off until the others go on without it, then all but these cuts; it hears that it is out."""
    for member in members:
        member.node.inject("cut=carol<>alice+bob+registry")
    alice = members[0]
    until(lambda: set(alice.group.members) == {"alice", "bob"}, "a view without it")
    for member in members:
        member.node.inject(heals)
    until(lambda: carol.departures == ["expelled"], "its end")


@pytest.mark.parametrize("why", ["the registry forgot", "an operator gave it up"])
def test_it_comes_back_to_a_group_that_has_nothing_of_its_own(why: str, tmp_path: Path, expect_log: ExpectLog) -> None:
    """1. Carol is put out, and cannot come back. 2. Nobody else is left. 3. Zoe begins the name, without a state."""
    expect_log("on purpose")
    with ExitStack() as stack:
        with gcom.embedded() as found:
            address = found.address
        host, _, port = address.partition(":")
        first, second = tmp_path / "first", tmp_path / ("second" if why == "the registry forgot" else "first")
        with gcom.embedded(host, int(port), data=first):
            alice, bob, carol = members = trio(stack, address)
            put_out(carol, members, "cut=carol<>bob+registry")
        for member in (alice, bob):
            member.node.close(timeout_s=2.0)
        stack.enter_context(gcom.embedded(host, int(port), data=second))
        if second == first:
            order(address)
        zoe = Notes(stack, "zoe", address)
        zoe.group.send("theirs")
        carol.node.inject("")
        until(lambda: carol.texts == {"theirs"}, "the state of the others")
        assert [it.data for it in carol.unmerged] == [b"before"]
        assert zoe.group.instance in carol.unmerged[0].reason


def order(registry: Address) -> None:
    """Order a fork, as `gcom fork` does."""
    with closing(DirectoryClient(registry)) as directory:
        directory.fork(directory.lookup("news"))


def test_its_own_group_goes_on_with_all_that_it_had(expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        alice, _, carol = members = trio(stack, registry.address)
        put_out(carol, members, "")
        alice.group.send("after")
        until(lambda: carol.texts == {"before", "after"}, "its return")
        assert carol.unmerged == []
