"""A member of a PRIMARY group that comes back to an instance which has nothing of its own is handed its state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event

import pytest

import gcom
from gcom.runtime.registry import last_words
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values.definition import Definition
from gcom.values.names import Address
from tests.runtime.nodes import LIMIT_S, until

pytestmark = pytest.mark.slow

ExpectLog = Callable[[str], None]
SAFE = Definition.parse("news", "FIFO", safe=True)


class Notes:
    """An application whose state is a set of texts."""

    def __init__(self, stack: ExitStack, name: str, registry: Address, definition: Definition = SAFE) -> None:
        self.texts: set[str] = set()
        self.fails = False
        self.may_give = Event()
        self.may_give.set()
        self.events: list[gcom.Event] = []
        self.node = stack.enter_context(gcom.connect(name, registry, timeout_s=LIMIT_S))
        self.group = self.node.join(
            "news", create=definition, get_state=self.get, set_state=self.set, timeout_s=LIMIT_S
        )
        self.group.listen(on_message=lambda message: self.texts.add(message.text), on_event=self.events.append)

    def get(self) -> bytes:
        if self.fails:
            raise RuntimeError("get_state fails on purpose")
        self.may_give.wait(LIMIT_S)
        return "\n".join(sorted(self.texts)).encode()

    def set(self, data: bytes) -> None:
        self.texts = set(data.decode().splitlines())

    @property
    def departures(self) -> list[str]:
        return [event.reason for event in self.events if isinstance(event, gcom.Departure)]

    @property
    def restored(self) -> list[gcom.StateRestored]:
        return [event for event in self.events if isinstance(event, gcom.StateRestored)]

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
def test_it_comes_back_to_a_group_that_has_nothing_of_its_own(
    why: str, tmp_path: Path, expect_log: ExpectLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. Carol is put out, and cannot come back. 2. Nobody else is left. 3. Zoe begins the name, without a state."""
    expect_log("on purpose")
    # The computer of the others is lost, with the word that they left.
    monkeypatch.setattr(last_words, "folder", lambda: tmp_path / "words")
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
        for word in last_words.kept():
            last_words.drop(word.path)
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
    with closing(DirectoryClient(registry, 120.0)) as directory:
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


def test_all_who_had_the_state_are_gone_when_it_comes_back(expect_log: ExpectLog) -> None:
    """1. Carol is put out. 2. Zoe comes, is given no state, and goes on alone. 3. Carol comes back to her."""
    expect_log("on purpose")
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        alice, bob, carol = members = trio(stack, registry.address)
        put_out(carol, members, "cut=carol<>bob+registry")
        alice.fails = bob.fails = True
        zoe = Notes(stack, "zoe", registry.address)
        until(lambda: any(isinstance(event, gcom.StateLost) for event in zoe.events), "the loss")
        for member in (alice, bob):
            member.node.close(timeout_s=2.0)
        zoe.group.send("theirs")
        carol.node.inject("")
        until(lambda: carol.texts == {"theirs"} and bool(carol.unmerged), "the state of who went on")
        assert [it.data for it in carol.unmerged] == [b"before"]
        assert "went on without what this process has" in carol.unmerged[0].reason


def test_who_comes_back_gives_what_it_had_where_nobody_has_more(expect_log: ExpectLog) -> None:
    """1. Carol is put out, and comes back. 2. Zoe comes. 3. Alice, who alone has the state, goes as she gives it."""
    expect_log("on purpose")
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        alice, bob, carol = members = trio(stack, registry.address)
        put_out(carol, members, "cut=carol<>bob+registry")
        bob.node.close()
        alice.group.send("missed")
        until(lambda: alice.texts == {"before", "missed"}, "her own message")
        alice.may_give.clear()
        carol.node.inject("")
        until(lambda: any(isinstance(event, gcom.Returned) for event in carol.events), "her return")
        zoe = Notes(stack, "zoe", registry.address)
        zoe.group.wait_for_members(3, LIMIT_S)
        alice.node.close(timeout_s=0.5)
        alice.may_give.set()
        assert carol.group.wait_for_state(LIMIT_S)
        assert zoe.group.wait_for_state(LIMIT_S)
        until(lambda: zoe.texts == carol.texts == {"before"}, "what she had")
        assert carol.restored
        assert not [event for event in (*carol.events, *zoe.events) if isinstance(event, gcom.StateLost)]
        assert not zoe.restored  # she has all that she held
        carol.group.send("after")
        until(lambda: zoe.texts == carol.texts == {"before", "after"}, "that both go on")


def test_who_held_what_the_state_of_one_that_is_back_lacks_is_told(expect_log: ExpectLog) -> None:
    """1. Carol is put out. 2. Zoe comes, and awaits Alice's state; all hold what Zoe sends. 3. Carol is back, and Alice
    goes as she gives it.
    """
    expect_log("on purpose")
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        alice, bob, carol = members = trio(stack, registry.address)
        put_out(carol, members, "cut=carol<>bob+registry")
        bob.node.close()
        alice.may_give.clear()
        zoe = Notes(stack, "zoe", registry.address)
        zoe.group.send("held", LIMIT_S, "all")
        carol.node.inject("")
        until(lambda: any(isinstance(event, gcom.Returned) for event in carol.events), "her return")
        zoe.group.wait_for_members(3, LIMIT_S)
        carol.group.send("since then", LIMIT_S, "all")
        alice.node.close(timeout_s=0.5)
        alice.may_give.set()
        until(lambda: zoe.texts == carol.texts == {"before", "since then"}, "what Carol had")
        until(lambda: bool(zoe.restored and carol.restored), "that both are told")
        assert "it may lack what came while this one waited" in zoe.restored[0].reason
        assert zoe.restored[0].reason.startswith(carol.group.process)


def test_the_older_of_two_groups_of_one_name_keeps_it_whatever_their_definitions(
    tmp_path: Path, expect_log: ExpectLog
) -> None:
    """1. The registry forgets a group that cannot reach it. 2. Zoe founds the name, in another order. 3. They meet."""
    expect_log("on purpose")
    with ExitStack() as stack:
        with gcom.embedded(data=tmp_path / "first") as found:
            host, _, port = found.address.partition(":")
            members = trio(stack, found.address)
            for member in members:
                member.node.inject("cut=alice+bob+carol<>registry")
        registry = stack.enter_context(gcom.embedded(host, int(port), data=tmp_path / "second"))
        zoe = Notes(stack, "zoe", registry.address, Definition.parse("news", "TOTAL"))
        zoe.group.send("theirs")
        until(lambda: zoe.texts == {"theirs"}, "her own message")
        for member in members:
            member.node.inject("")
        until(lambda: zoe.departures == ["merge", "taken"], "her end")
        assert [it.data for it in zoe.unmerged] == [b"theirs"]
        members[0].group.send("after")
        until(lambda: all(member.texts == {"before", "after"} for member in members), "the older group goes on")


def test_whose_name_another_process_has_taken_is_handed_what_it_had(expect_log: ExpectLog) -> None:
    """It ends for good, and nothing tells it whether the others have its state."""
    expect_log("on purpose")
    with ExitStack() as stack:
        registry = stack.enter_context(gcom.embedded())
        alice, bob, carol = members = trio(stack, registry.address)
        put_out(carol, members, "cut=carol<>bob+registry")
        for member in (alice, bob):
            member.node.inject("")
        Notes(stack, "carol", registry.address).group.wait_for_members(3, LIMIT_S)
        carol.node.inject("")
        until(lambda: carol.departures == ["expelled", "taken"], "its end")
        assert [it.data for it in carol.unmerged] == [b"before"]
