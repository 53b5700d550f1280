"""A node over real Pyro5 on loopback: groups made, entered, left and removed, and each misuse told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gcom
from gcom.runtime.api.group import Group
from gcom.runtime.api.node import JOIN_TRIES
from gcom.runtime.host import Host
from gcom.runtime.session import Session
from tests.oracle import judge
from tests.runtime.nodes import LIMIT_S, Cluster, at_once, cluster, next_of, take, until

FIFO = gcom.Definition.parse("news")


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as it:
        yield it


def text_of(error: pytest.ExceptionInfo[Any]) -> str:
    return str(error.value)


class TestGroups:
    def test_a_group_is_made_listed_and_removed(self, here: Cluster) -> None:
        alice = here.node("alice")
        made = alice.create("news", "nonordered", "basic")  # type: ignore[arg-type]
        assert (made.view, made.members, made.alive) == (0, (), False)
        assert [entry.definition.group for entry in alice.groups()] == ["news"]
        assert alice.info("news") == made
        assert made.definition.ordering is gcom.Ordering.NONORDERED
        assert made.definition.multicast is gcom.Multicast.BASIC
        alice.remove("news")
        assert alice.groups() == ()

    def test_an_empty_group_is_kept_until_its_last_member_leaves(self, here: Cluster) -> None:
        alice = here.node("alice")
        alice.create("news")
        group = alice.join("news")
        assert alice.info("news").members == (group.process,)
        group.leave()
        until(lambda: alice.groups() == (), "the end of an empty group")

    def test_equal_creates_that_race_make_one_group(self, here: Cluster) -> None:
        nodes = [here.node(f"n{i}") for i in range(4)]
        made = at_once([partial(node.create, "news") for node in nodes for _ in range(4)])
        assert len({entry.instance for entry in made if isinstance(entry, gcom.GroupInfo)}) == 1
        assert all(isinstance(entry, gcom.GroupInfo) for entry in made)

    def test_different_creates_that_race_leave_one_group_and_refuse_the_others(self, here: Cluster) -> None:
        nodes = [here.node(f"n{i}") for i in range(4)]
        orders = [gcom.Ordering.FIFO, gcom.Ordering.NONORDERED]
        made = at_once([partial(node.create, "news", orders[i % 2]) for i, node in enumerate(nodes * 2)])
        refused = [error for error in made if isinstance(error, gcom.GComError)]
        assert len(refused) == 4
        assert all(isinstance(error, gcom.GroupExists) and "'news'" in str(error) for error in refused)
        assert len({entry.instance for entry in made if isinstance(entry, gcom.GroupInfo)}) == 1

    def test_who_names_no_definition_to_create_by_is_told_what_it_takes(self, here: Cluster) -> None:
        with pytest.raises(gcom.BadValue, match=r"create must be a gcom\.Definition, or None; got 'news'"):
            here.node("alice").join("news", create="news")  # type: ignore[arg-type]

    def test_a_directory_alone_lists_creates_and_removes(self, here: Cluster) -> None:
        directory = gcom.Directory(here.registry)
        directory.create(FIFO)
        assert [entry.definition for entry in directory.groups()] == [FIFO]
        directory.remove("news")
        assert directory.groups() == ()
        directory.close()


class TestMembers:
    def test_join_leave_and_join_again(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        assert alice.members == bob.members == ("alice", "bob")
        assert alice.view.leader == alice.process
        node = here.node("carol")
        carol = node.join("news")
        alice.wait_for_members(3, LIMIT_S)
        carol.leave()
        assert isinstance(carol.receive(0), gcom.ViewChange)
        assert next_of(carol, gcom.Departure).reason == "request"
        until(lambda: alice.members == ("alice", "bob"), "the leave")
        again = node.join("news")
        assert again.process != carol.process
        assert again.process.startswith("carol#")
        alice.send("welcome")
        assert take(again, 1)[0].text == "welcome"

    def test_a_view_says_who_came_and_why_each_went(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        assert next_of(alice, gcom.ViewChange).joined == (alice.process,)
        assert next_of(alice, gcom.ViewChange).joined == (bob.process,)
        bob.leave()
        change = next_of(alice, gcom.ViewChange)
        assert (change.view.members, change.joined, change.left) == ((alice.process,), (), {bob.process: "request"})

    def test_a_new_member_sees_nothing_of_before(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.send("before")
        take(bob, 1)
        carol = here.node("carol").join("news")
        alice.wait_for_members(3, LIMIT_S)
        alice.send("after")
        assert [(message.text, message.number) for message in take(carol, 1)] == [("after", 2)]

    def test_ten_that_join_at_one_instant_form_one_group(self, here: Cluster) -> None:
        nodes = [here.node(f"n{i}") for i in range(10)]
        joined = at_once([partial(node.join, "news", create=FIFO) for node in nodes])
        groups = [group for group in joined if isinstance(group, gcom.Group)]
        assert len(groups) == 10, joined
        views = {group.wait_for_members(10, LIMIT_S) for group in groups}
        assert len(views) == 1
        assert len({group.instance for group in groups}) == 1
        for group in groups:
            group.send(group.process)
        for group in groups:
            assert sorted(message.text for message in take(group, 10)) == sorted(it.process for it in groups)

    def test_two_groups_at_one_node_are_apart(self, here: Cluster) -> None:
        alice, bob = here.node("alice"), here.node("bob")
        rooms = ["one", "two"]
        mine = {room: alice.join(room, create=gcom.Definition.parse(room)) for room in rooms}
        theirs = {room: bob.join(room) for room in rooms}
        for room in rooms:
            mine[room].wait_for_members(2, LIMIT_S)
            mine[room].send(f"to {room}")
        assert [take(theirs[room], 1)[0].text for room in rooms] == ["to one", "to two"]
        theirs["one"].leave()
        until(lambda: mine["one"].members == ("alice",), "the leave")
        mine["two"].send("still here")
        assert take(theirs["two"], 1)[0].text == "still here"

    def test_all_that_leave_at_one_instant_leave(self, here: Cluster) -> None:
        groups = here.members("a", "b", "c", "d")
        assert at_once([group.leave for group in groups]) == [None] * 4
        assert {next_of(group, gcom.Departure).reason for group in groups} == {"request"}
        until(lambda: here.node("last").groups() == (), "the end of an empty group")

    @pytest.mark.slow
    def test_whoever_comes_while_others_go_gets_in(self, tmp_path: Path) -> None:
        """The group ends and begins again many times: a join that may create it never finds it unknown."""
        with cluster(tmp_path) as here:
            nodes = [here.node(f"n{i}") for i in range(5)]
            assert at_once([partial(self._come_and_go, node) for node in nodes]) == [None] * len(nodes)
        report = judge(tmp_path)
        assert report.notes == []
        assert [found.failed() for found in report.groups.values() if found.failed()] == []
        assert set(report.coverage.values()) == {"closed"}

    @staticmethod
    def _come_and_go(node: gcom.Node) -> None:
        for turn in range(30):
            with node.join("news", create=FIFO) as group:
                group.send_many(f"{turn} {i}" for i in range(20))
                group.listen()

    def test_a_static_group_starts_when_all_are_in(self, here: Cluster) -> None:
        definition = gcom.Definition.parse("trio", static=["a", "b", "c"])
        first = here.node("a").join("trio", create=definition)
        second = here.node("b").join("trio")
        first.wait_for_members(2, LIMIT_S)
        first.send("early")
        assert not first.view.started
        with pytest.raises(gcom.GComTimeout):
            first.flush(0.3)
        assert first.pending == 1
        third = here.node("c").join("trio")
        for group in (first, second, third):
            assert [message.text for message in take(group, 1)] == ["early"]
            assert group.view.started


class TestDefects:
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
    def test_a_thread_that_dies_ends_every_stay_and_says_so(
        self, here: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (alone,) = here.members("alice")
        monkeypatch.setattr(alone._session, "tick", lambda: 1 // 0)
        assert next_of(alone, gcom.Departure).reason == "defect"
        with pytest.raises(gcom.Detached, match="a defect in GCom"):
            alone.send("into the void")

    def test_a_definition_that_is_none_leaves_the_node_usable(self, here: Cluster) -> None:
        node = here.node("alice")
        with pytest.raises(gcom.BadValue, match=r"FIFI.*NONORDERED, FIFO"):
            node.join("news", create=gcom.Definition("news", "FIFI"))  # type: ignore[arg-type]
        with pytest.raises(gcom.BadValue, match="not a list"):
            gcom.Definition("news", static="abc")  # type: ignore[arg-type]
        made = gcom.Definition("news", "fifo", static=("b", "alice"))  # type: ignore[arg-type]
        assert (made.ordering, made.static) == (gcom.Ordering.FIFO, ("alice", "b"))
        assert node.join("news", create=made).members == ("alice",)


class TestMisuse:
    @pytest.mark.parametrize("name", ["", "a  b", "-a", "x" * 33, "a/b", "a\n", None, 7])
    def test_a_name_that_is_none(self, here: Cluster, name: Any) -> None:
        with pytest.raises(gcom.BadValue, match=r"member name .* is not allowed: expected ") as error:
            gcom.connect(name, here.registry)
        assert repr(name) in text_of(error)

    @pytest.mark.parametrize("name", ["", "a b", "_news", "x" * 64, None])
    def test_a_group_name_that_is_none(self, here: Cluster, name: Any) -> None:
        node = here.node("alice")
        calls: list[Callable[[Any], object]] = [node.create, node.join, node.info, node.remove]
        for call in calls:
            with pytest.raises(gcom.BadValue, match=r"group name .* is not allowed: expected ") as error:
                call(name)
            assert repr(name) in text_of(error)

    @pytest.mark.parametrize(
        ("options", "value", "allowed"),
        [
            ({"ordering": "sorted"}, "'sorted'", "FIFO"),
            ({"ordering": None}, "None", "NONORDERED"),
            ({"multicast": "loud"}, "'loud'", "RELIABLE"),
            ({"netsplit": "both"}, "'both'", "PRIMARY"),
            ({"static": ("a", "b  c")}, "'b  c'", "spaces inside only"),
            ({"static": [f"n{i}" for i in range(65)]}, "65", "at most 64"),
            ({"safe": True, "multicast": "BASIC"}, "safe", "needs RELIABLE"),
        ],
    )
    def test_a_property_that_is_none(self, here: Cluster, options: dict[str, Any], value: str, allowed: str) -> None:
        with pytest.raises(gcom.BadValue) as error:
            here.node("alice").create("news", **options)
        assert value in text_of(error)
        assert allowed in text_of(error)
        assert here.node("bob").groups() == (), "nothing half-created"

    def test_an_unknown_group(self, here: Cluster) -> None:
        node = here.node("alice")
        for call in (node.join, node.info, node.remove):
            with pytest.raises(gcom.UnknownGroup, match=r"'nowhere'.*create it"):
                call("nowhere")

    def test_a_definition_that_differs(self, here: Cluster) -> None:
        here.members("alice")
        with pytest.raises(gcom.GroupExists, match=r"'news'.*ordering is FIFO, not NONORDERED"):
            here.node("bob").join("news", create=gcom.Definition.parse("news", "NONORDERED"))

    def test_a_definition_of_another_group(self, here: Cluster) -> None:
        with pytest.raises(gcom.LocalError, match="'olds', not 'news'"):
            here.node("alice").join("news", create=gcom.Definition.parse("olds"))

    def test_a_group_in_use_is_not_removed(self, here: Cluster) -> None:
        here.members("alice", "bob")
        with pytest.raises(gcom.GroupInUse, match=r"'news'.*alice"):
            here.node("carol").remove("news")

    def test_a_name_is_taken_while_its_holder_answers(self, here: Cluster) -> None:
        (alice, _) = here.members("alice", "bob")
        for name in ("alice", "bob"):
            with pytest.raises(gcom.NameTaken, match=f"'{name}' is taken in group 'news'.*use another"):
                here.node(name).join("news")
        assert alice.members == ("alice", "bob")

    def test_a_stranger_is_not_let_into_a_static_group(self, here: Cluster) -> None:
        definition = gcom.Definition.parse("duo", static=["a", "b"])
        for held in (False, True):
            if held:
                here.node("a").join("duo", create=definition)
            with pytest.raises(gcom.NotInvited, match=r"'mallory'.*'duo'.*a, b"):
                here.node("mallory").join("duo", create=definition)

    def test_joining_twice(self, here: Cluster) -> None:
        node = here.node("alice")
        group = node.join("news", create=FIFO)
        with pytest.raises(gcom.LocalError, match="'alice' is in group 'news' already: leave it first"):
            node.join("news")
        assert group.members == ("alice",)

    def test_a_closed_node(self, here: Cluster) -> None:
        node = here.node("alice")
        group = node.join("news", create=FIFO)
        node.close()
        node.close()
        with pytest.raises(gcom.NotAMember, match="'alice' is closed"):
            node.join("news", create=FIFO)
        with pytest.raises(gcom.NotAMember, match="'news'"):
            group.send("late")

    def test_a_join_ends_when_its_node_is_closed(self, here: Cluster) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = "{}:{}".format(*silent.getsockname())
            self._register(here, "bob#1", address)
            node = here.node("alice")
            found: list[object] = []
            thread = threading.Thread(target=lambda: found.extend(at_once([partial(node.join, "news")])))
            thread.start()
            until(lambda: bool(node._host.sessions), "the start of a join")
            node.close(0.1)
            thread.join(LIMIT_S)
        assert isinstance(found[0], gcom.NotAMember), found

    def test_a_join_that_nobody_answers_names_whom_it_waits_for(self, here: Cluster) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = "{}:{}".format(*silent.getsockname())
            self._register(here, "bob#1", address)
            with pytest.raises(gcom.GComTimeout, match=rf"'news' after 0\.3 s.*bob#1 at {address}"):
                here.node("alice").join("news", timeout_s=0.3)

    @staticmethod
    def _register(here: Cluster, process: str, address: str) -> None:
        """A group in the directory, whose one member is somebody else."""
        from gcom.core.messages.registry import GroupInfo, Register

        directory = gcom.Directory(here.registry)
        entry = directory.create(FIFO)
        view = gcom.View(1, (process,), (address,))
        assert isinstance(directory.ask(Register(FIFO, entry.instance, view, process)), GroupInfo)
        directory.close()

    def test_no_registry(self) -> None:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
            with pytest.raises(gcom.RegistryUnavailable, match=rf"127\.0\.0\.1:{port}.*gcom-registry --port {port}"):
                gcom.connect("alice", f"127.0.0.1:{port}")

    def test_a_registry_that_went_away(self) -> None:
        with gcom.embedded() as registry:
            node = gcom.connect("alice", registry.address)
            group = node.join("news", create=FIFO)
        for call in (node.groups, partial(node.join, "other"), partial(node.create, "other")):
            with pytest.raises(gcom.RegistryUnavailable, match=f"{registry.address}.*start one"):
                call()
        group.send("alone, and well")
        assert take(group, 1)[0].text == "alone, and well"
        node.close()

    def test_a_registry_address_that_is_none(self) -> None:
        with pytest.raises(gcom.BadValue, match="'no where' is not HOST"):
            gcom.connect("alice", "no where")


async def waits_until_it_is_in(session: Session, deadline: float | None) -> bool:
    """Stands in for a wait whose thread runs again only after the deadline, as in a process that was paused."""
    while session.machine.view is None:
        session.changed.wait(LIMIT_S)
    return deadline is None


def test_a_join_that_got_in_when_its_time_was_over_is_in(here: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. A joiner is paused, and its time runs out. 2. It runs again, and is admitted before its thread looks."""
    (alice,) = here.members("alice")
    monkeypatch.setattr(Session, "wait_for_change", waits_until_it_is_in)
    bob = here.node("bob").join("news")
    monkeypatch.undo()
    alice.wait_for_members(2, LIMIT_S)
    assert bob.members == ("alice", "bob")


@pytest.mark.parametrize("error", [KeyboardInterrupt, gcom.GComTimeout])
def test_a_join_that_is_broken_off_leaves_in_order(
    here: Cluster, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """1. The leader lets bob in. 2. His join ends before his thread sees that. 3. He leaves, and is not put out."""
    (alice,) = here.members("alice")
    bob = here.node("bob")

    async def interrupted(session: Session, deadline: float | None) -> bool:
        await waits_until_it_is_in(session, deadline)
        raise error

    monkeypatch.setattr(Session, "wait_for_change", interrupted)
    with pytest.raises(error):
        bob.join("news")
    monkeypatch.undo()
    until(lambda: alice.view.number >= 3, "the view without bob")
    left = [
        why for event in alice.events(idle_s=0.1) if isinstance(event, gcom.ViewChange) for why in event.left.values()
    ]
    assert left == ["request"]
    assert bob.join("news").members == ("alice", "bob")


@pytest.mark.parametrize(("put_out", "enters"), [(1, True), (JOIN_TRIES - 1, True), (JOIN_TRIES, False)])
def test_a_join_that_was_put_out_unheard_is_tried_again_as_another_process(
    here: Cluster, monkeypatch: pytest.MonkeyPatch, put_out: int, enters: bool
) -> None:
    """1. A leader admits bob, and its INSTALL is lost. 2. Bob is put out. 3. He asks again, and is told so."""
    here.members("alice")
    bob = here.node("bob")
    enter, tried = Host.enter, []

    async def unheard(host: Host, *given: Any) -> Any:
        membership = await enter(host, *given)
        group = Group(host, membership)
        tried.append(group.process)
        if len(tried) <= put_out:
            await membership.leaving(LIMIT_S, reads_on=False)
            raise gcom.Detached("bob was in, and is not any more")
        return membership

    monkeypatch.setattr(Host, "enter", unheard)
    if enters:
        assert bob.join("news").members == ("alice", "bob")
    else:
        with pytest.raises(gcom.Detached):
            bob.join("news")
    assert len(tried) == len(set(tried)) == min(put_out + 1, JOIN_TRIES)
