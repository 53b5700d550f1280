"""Rights by group and identity: what the registry refuses, and what members refuse each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic

import pytest
from gcom_registry.rights_file import RightsFile
from gcom_registry.server import RegistryServer

import gcom
from gcom.core.codec import frames as codec
from gcom.core.messages.frames import Frame, Join, JoinRefused, Status
from gcom.core.messages.registry import Claim, Note, Refusal, Register
from gcom.errors import GComError, NotPermitted, PeerError, Untrusted
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import identity, names
from gcom.values.envelope import Envelope, Kind
from gcom.values.rights import RightsTable, table_of
from gcom.values.view import View
from tests.core.making import run
from tests.runtime.authorities import TestAuthority

LIMIT_S = 60.0
ExpectLog = Callable[[str], None]


class World:
    """A registry with a file of rules, and nodes."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.path = folder / "rights.toml"
        self.path.write_text("")
        self.authority = TestAuthority(folder / "ours")
        self._stack = stack
        self.registry = RegistryServer(
            credentials=self.authority.credentials(identity.registry()), rights=RightsFile(self.path)
        )
        self.registry.start()
        stack.enter_context(closing(self.registry))

    def rule(self, *rows: dict[str, list[str]]) -> None:
        """Have these rules in force at the registry, and no others."""
        text = "".join("[[rule]]\n" + "".join(f"{key} = {value}\n" for key, value in row.items()) for row in rows)
        self.path.write_text(text)
        assert self.registry.rights.reread() == ""

    def node(self, name: str) -> gcom.Node:
        node = gcom.connect(name, self.registry.address, certificates=self.authority.member(name))
        self._stack.callback(node._host.close, 0.5)
        return node

    def client(self, name: str, *, admin: bool = False) -> DirectoryClient:
        credentials = self.authority.credentials(identity.member(name, admin=admin))
        client = DirectoryClient(self.registry.address, LIMIT_S, credentials=credentials)
        return self._stack.enter_context(closing(client))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def until(condition: Callable[[], bool]) -> None:
    deadline, pause = monotonic() + LIMIT_S, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.01)


def deny(right: str, *members: str, groups: str = "*") -> dict[str, list[str]]:
    return {"deny": [right], "members": list(members), "groups": [groups]}


def allow(right: str, *members: str, groups: str = "*") -> dict[str, list[str]]:
    return {"allow": [right], "members": list(members), "groups": [groups]}


def knows(node: gcom.Node, table: RightsTable) -> None:
    """Wait until a node has learned rules."""
    rights = node._host.rights
    assert rights is not None
    until(lambda: [it for _, it in rights._known] == [table])


def test_who_may_not_create_is_refused_and_joins_what_is_there(world: World) -> None:
    world.rule(deny("create", "bob"))
    bob = world.client("bob")
    with pytest.raises(NotPermitted, match=r"bob may not create in group 'news', by the registry's rules: .* allow"):
        bob.create(gcom.Definition("news"))
    world.client("alice").create(gcom.Definition("news"))
    bob.create(gcom.Definition("news"))  # an equal one, which is there
    with world.node("bob").join("news", create=gcom.Definition("news")) as news:
        news.send("hello")
        assert next(iter(news)).text == "hello"


def test_who_may_not_join_is_refused_by_the_registry(world: World) -> None:
    world.rule(deny("join", "bob", groups="board"))
    bob = world.node("bob")
    with pytest.raises(NotPermitted, match="bob may not join in group 'board'"):
        bob.join("board", create=gcom.Definition("board"))
    assert bob.groups() == ()  # none was left behind
    with bob.join("news", create=gcom.Definition("news")) as news:
        assert news.members


def test_the_registry_notes_and_lists_nobody_who_may_not_join(world: World) -> None:
    world.rule(deny("join", "bob"))
    with world.node("alice").join("news", create=gcom.Definition("news")) as news:
        mine = names.process("bob", "1")
        alice, bob = world.client("alice"), world.client("bob")
        noted = alice.ask(Note("news", news.instance, 1, ((mine, "127.0.0.1:1"),)))
        assert isinstance(noted, Refusal)
        assert (noted.code, "bob may not join" in noted.text) == ("NotPermitted", True)
        for request in (
            Claim("news", news.instance, 1, mine, "127.0.0.1:1"),
            Register(news.definition, news.instance, View(2, (mine,), ("127.0.0.1:1",)), mine),
        ):
            answer = bob.ask(request)
            assert isinstance(answer, Refusal), request
            assert answer.code == "NotPermitted"


def test_a_leader_that_is_asked_directly_admits_nobody_who_may_not_join(world: World, expect_log: ExpectLog) -> None:
    """The process leaves the registry out: it knows where the leader is, and speaks its protocol."""
    expect_log("Untrusted")
    world.rule(deny("join", "mallory"))
    alice = world.node("alice")
    with alice.join("news", create=gcom.Definition("news")) as news:
        credentials = world.authority.credentials(identity.member("mallory"))
        mine = names.process("mallory", "1")

        def asked(frame: Frame) -> Frame:
            reply = codec.decode_reply(caller.call(codec.encode(frame), LIMIT_S))
            assert isinstance(reply, Frame)
            return reply

        with closing(pyro.Caller(alice.address, pyro.NODE, credentials, "alice")) as caller:
            join = Frame("news", news.instance, mine, news.process, Status(0), (Join("127.0.0.1:1"),))
            refused: list[object] = []

            def answered() -> bool:
                refused.extend(asked(join).control)
                return bool(refused)

            until(answered)
            assert isinstance(refused[0], JoinRefused)
            assert (refused[0].code, "mallory may not join" in refused[0].text) == ("NotPermitted", True)
            with pytest.raises(PeerError, match="mallory may not join"):
                caller.call(codec.encode(Frame("news", news.instance, mine, news.process, Status(1))), LIMIT_S)
        assert news.view.members == (news.process,)


def test_a_right_that_was_just_given_is_found_at_once(world: World) -> None:
    """The leader's rules may be a second old; it asks anew before it refuses somebody."""
    world.rule(deny("join", "bob"))
    with world.node("alice").join("news", create=gcom.Definition("news")):
        bob = world.node("bob")
        world.rule()
        with bob.join("news") as news:
            news.wait_for_members(2)


@pytest.mark.slow
def test_who_may_not_join_any_more_is_put_out(world: World, expect_log: ExpectLog) -> None:
    expect_log("refused from the network")
    expect_log("answered what is no reply of ours")
    nodes = {name: world.node(name) for name in ("alice", "bob", "mallory")}
    groups = {name: node.join("news", create=gcom.Definition("news")) for name, node in nodes.items()}
    groups["alice"].wait_for_members(3)
    world.rule(deny("join", "mallory"))
    until(lambda: set(groups["alice"].members) == {"alice", "bob"})
    groups["bob"].send("without mallory")
    assert next(iter(groups["alice"])).text == "without mallory"


def test_who_may_join_and_not_send_receives(world: World) -> None:
    world.rule(deny("send", "bob", groups="news"))
    with (
        world.node("alice").join("news", create=gcom.Definition("news", "TOTAL")) as alice,
        world.node("bob").join("news") as bob,
    ):
        alice.wait_for_members(2)
        with pytest.raises(NotPermitted, match="bob may not send in group 'news'"):
            bob.send("me too")
        with pytest.raises(NotPermitted, match="bob may not send"):
            bob.send_to("alice", "me too")
        for number in range(50):
            alice.send(f"message {number}")
        read = (message.text for message in bob)
        assert [next(read) for _ in range(50)] == [f"message {number}" for number in range(50)]


@pytest.mark.parametrize("what", ["run", "claim", "envelope"])
def test_members_refuse_what_a_receiver_sends_all_the_same(world: World, what: str, expect_log: ExpectLog) -> None:
    expect_log("Untrusted")
    world.rule(deny("send", "mallory"))
    alice = world.node("alice")
    with alice.join("news", create=gcom.Definition("news")) as news:
        credentials = world.authority.credentials(identity.member("mallory"))
        mine = names.process("mallory", "1")
        plain = Frame("news", news.instance, mine, news.process, Status(1))
        frame = {
            "run": Frame(*_head(plain), Status(1), runs=(run(mine, 1, 1),)),
            "claim": Frame(*_head(plain), Status(1, sent=1)),
            "envelope": Frame(*_head(plain), Status(1), envelopes=(Envelope(1, Kind.UNICAST, 0, "hello"),)),
        }[what]
        with closing(pyro.Caller(alice.address, pyro.NODE, credentials, "alice")) as caller:
            with pytest.raises(PeerError, match="mallory may not send"):
                caller.call(codec.encode(frame), LIMIT_S)
            caller.call(codec.encode(plain), LIMIT_S)  # which is for the core to judge


def _head(frame: Frame) -> tuple[str, str, str, str]:
    return frame.group, frame.instance, frame.source, frame.target


@pytest.mark.slow
def test_who_may_not_send_any_more_comes_back_as_a_receiver(world: World, expect_log: ExpectLog) -> None:
    """It is put out, for what it sent may have reached some and not others; then it reads on."""
    expect_log("refused from the network")
    expect_log("answered what is no reply of ours")
    nodes = {name: world.node(name) for name in ("alice", "bob", "carol")}
    groups = {name: node.join("news", create=gcom.Definition("news")) for name, node in nodes.items()}
    groups["alice"].wait_for_members(3)
    groups["carol"].send("before")
    before = groups["carol"].process
    world.rule(deny("send", "carol"))

    def is_back() -> bool:
        lives = [it for it in groups["alice"].view.members if names.name_of(it) == "carol"]
        return bool(lives) and lives != [before]

    until(is_back)
    groups["alice"].send("after")
    texts = (it.text for it in groups["carol"] if isinstance(it, gcom.Message))
    assert next(text for text in texts if text == "after")
    with pytest.raises(GComError, match="carol may not send"):
        groups["carol"].send("never")


def test_rules_give_and_take_removal_and_administration(world: World) -> None:
    alice = world.client("alice")
    for group in ("one", "two", "three", "four"):
        alice.create(gcom.Definition(group))
    world.rule(
        deny("remove", "alice", groups="one"),
        allow("remove", "bob", groups="two"),
        allow("admin", "carol", groups="t*"),
        deny("admin", "dave", groups="four"),
    )
    with pytest.raises(NotPermitted, match="alice may not remove in group 'one'"):
        alice.remove("one")
    world.client("bob").remove("two")
    with pytest.raises(NotPermitted):
        world.client("carol").remove("four")
    world.client("carol").remove("three")
    with pytest.raises(NotPermitted):
        world.client("dave", admin=True).remove("four")
    world.client("erin", admin=True).remove("one")
    assert [entry.definition.group for entry in alice.groups()] == ["four"]


def test_administrators_look_at_groups_that_they_are_not_in(world: World) -> None:
    world.rule(allow("admin", "bob", groups="news"), deny("admin", "carol", groups="news"))
    alice = world.node("alice")

    def looks(name: str, *, admin: bool) -> bool:
        credentials = world.authority.credentials(identity.member(name, admin=admin))
        with closing(pyro.Caller(alice.address, pyro.STATUS, credentials, "alice")) as caller:
            told = pyro.unpack(caller.call(pyro.pack({"ask": "status", "group": "news"}), LIMIT_S))
        return "status" in told

    with alice.join("news", create=gcom.Definition("news")):
        assert [looks("bob", admin=False), looks("carol", admin=True)] == [True, False]
        assert [looks("dave", admin=False), looks("dave", admin=True)] == [False, True]


def test_the_rules_that_were_learned_stay_while_the_registry_is_down(world: World, expect_log: ExpectLog) -> None:
    expect_log("Untrusted")
    world.rule(deny("join", "mallory"))
    alice = world.node("alice")
    knows(alice, table_of([deny("join", "mallory")]))
    world.registry.close()
    credentials = world.authority.credentials(identity.member("mallory"))
    frame = Frame("news", "i", "mallory#1", "alice#1", Status(1))
    with (
        closing(pyro.Caller(alice.address, pyro.NODE, credentials, "alice")) as caller,
        pytest.raises(PeerError, match="mallory may not join"),
    ):
        caller.call(codec.encode(frame), LIMIT_S)


def test_of_several_registries_each_may_deny_and_any_may_be_down(world: World, expect_log: ExpectLog) -> None:
    """A newcomer needs one that answers; one whose rules deny nothing does not open what another denies."""
    expect_log("registry 127.0.0.1:1 does not answer")
    world.rule(deny("join", "mallory"))
    credentials = world.authority.credentials(identity.registry())
    second = RegistryServer(credentials=credentials)
    second.start()
    with closing(second):
        files = world.authority.member("alice")
        both = [f"127.0.0.1:1,{second.address}", f"{second.address},{world.registry.address}"]
        denied = []
        for addresses in both:
            with gcom.connect("alice", addresses, certificates=files) as alice:
                rights = alice._host.rights
                assert rights is not None
                frame = Frame("news", "i", "mallory#1", "alice#1", Status(1))
                try:
                    rights.judge(frame)
                except Untrusted:
                    denied.append(addresses)
        assert denied == both[1:]


def test_the_rules_are_told_to_members_and_read_anew_for_the_registry_alone(world: World) -> None:
    def ask(who: identity.Identity, question: str) -> object:
        credentials = world.authority.credentials(who)
        with closing(pyro.Caller(world.registry.address, pyro.RIGHTS, credentials)) as caller:
            return pyro.unpack(caller.call(pyro.pack({"ask": question, "have": ""}), LIMIT_S))

    world.rule(deny("join", "bob"))
    told = ask(identity.member("bob"), "rights")
    assert isinstance(told, dict)
    assert table_of(told["rules"]) == table_of([deny("join", "bob")])
    for question in ("reread", "file"):
        refused = ask(identity.member("bob", admin=True), question)
        assert isinstance(refused, dict)
        assert "refused" in refused
        assert ask(identity.registry(), question) != refused
