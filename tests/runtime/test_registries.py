"""Two registries in this process: each dies, forgets and comes back while messages flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import gcom
from gcom.runtime.registry.directory_client import DirectoryClient
from tests.runtime.nodes import LIMIT_S, take, until

TIMES_S = {"timeout_s": LIMIT_S}


class Registries:
    """Two, with a folder each, at ports that stay."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folders = [folder / "one", folder / "two"]
        self._stack = stack
        self.running = [gcom.embedded(data=each) for each in self._folders]
        self._ports = [int(it.address.rpartition(":")[2]) for it in self.running]
        for it in self.running:
            stack.callback(it.close)

    @property
    def addresses(self) -> str:
        return ",".join(it.address for it in self.running)

    def start(self, number: int, forgets: bool = False) -> None:
        folder = self._folders[number].with_name("another") if forgets else self._folders[number]
        self.running[number] = gcom.embedded(port=self._ports[number], data=folder)
        self._stack.callback(self.running[number].close)

    def listed(self, number: int) -> set[str]:
        """The members of the group, as one of them lists them."""
        client = DirectoryClient(self.running[number].address)
        try:
            return {who.partition("#")[0] for entry in client.groups() for who in entry.members}
        except gcom.GComError:
            return set()
        finally:
            client.close()


@pytest.fixture
def registries(tmp_path: Path) -> Iterator[Registries]:
    with ExitStack() as stack:
        yield Registries(tmp_path, stack)


def say(sender: gcom.Group, text: str, *all_of_them: gcom.Group) -> None:
    sender.send(text, LIMIT_S)
    for group in all_of_them:
        assert take(group, 1)[0].text == text


def test_either_registry_dies_and_comes_back_while_messages_flow(
    registries: Registries, expect_log: Callable[[str], None]
) -> None:
    expect_log("does not answer")
    wanted = gcom.Definition("news", "TOTAL")
    with ExitStack() as stack:
        nodes = {
            name: stack.enter_context(gcom.connect(name, registries.addresses, **TIMES_S))  # type: ignore[arg-type]
            for name in ("alice", "bob", "carol")
        }
        alice, bob = (nodes[name].join("news", create=wanted) for name in ("alice", "bob"))
        for group in (alice, bob):
            group.wait_for_members(2, LIMIT_S)
        until(lambda: all(registries.listed(number) == {"alice", "bob"} for number in (0, 1)), "a list at both")
        say(alice, "both", alice, bob)
        registries.running[1].close()
        say(bob, "the second is down", alice, bob)
        carol = nodes["carol"].join("news")
        alice.wait_for_members(3, LIMIT_S)
        registries.start(1, forgets=True)
        until(lambda: registries.listed(1) == {"alice", "bob", "carol"}, "a list at one that forgot")
        registries.running[0].close()
        say(carol, "the home is down", alice, bob, carol)
        found = nodes["bob"].info("news")
        assert set(found.members) == {alice.process, bob.process, carol.process}
        assert found.definition.home == registries.running[0].address
        other = nodes["bob"].create("other")
        assert other.definition.home == registries.running[1].address
        registries.start(0)
        with gcom.connect("dave", registries.addresses, **TIMES_S) as node:  # type: ignore[arg-type]
            dave = node.join("news")
            alice.wait_for_members(4, LIMIT_S)
            say(dave, "all are in", alice, bob, carol, dave)


def test_a_registry_that_does_not_answer_is_told_once(registries: Registries) -> None:
    told: list[str] = []
    first, second = (it.address for it in registries.running)
    client = DirectoryClient(registries.addresses, LIMIT_S, tell=told.append)
    with closing(client):
        assert client.groups() == ()
        assert told == []
        for _ in range(2):
            registries.running[0].close()
            client.groups()
            client.create(gcom.Definition("news"))
            assert len(told) == 1
            assert told.pop().startswith(f"registry {first} does not answer, {second} did: no registry at {first}")
            # Told again when it was there meanwhile, for that is news.
            registries.start(0)
            client.groups()
        for running in registries.running:
            running.close()
        # Nobody answers: that is an error, and nothing else.
        with pytest.raises(gcom.RegistryUnavailable):
            client.groups()
    assert told == []


def test_a_process_that_does_not_name_the_home_is_told_so(registries: Registries) -> None:
    with gcom.connect("alice", registries.addresses) as alice, alice.join("news", create=gcom.Definition("news")):
        until(lambda: registries.listed(1) == {"alice"}, "a copy")
        refused = pytest.raises(gcom.Unavailable, match="only the home registry of this group, ")
        with gcom.connect("bob", registries.running[1].address) as bob, refused:
            bob.join("news")
