"""How a member says that it stands, and to whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

import gcom
from gcom.errors import NotPermitted, PeerError, UnknownGroup
from gcom.runtime import pyro
from gcom.runtime.inspection import status
from gcom.runtime.inspection.status import MemberStatus, ask_member
from gcom.values import identity
from gcom.values.snapshot import SequencerInfo
from tests.runtime.nodes import LIMIT_S, Cluster, cluster, node_of, until

ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def told_by(group: gcom.Group, name: str = "news") -> MemberStatus:
    return ask_member(node_of(group).address, "", name, pyro.UserSecret(), LIMIT_S)


def test_a_member_tells_what_its_snapshot_says(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob", ordering="TOTAL")
    alice.send("one", held_by="all")
    until(lambda: bob.process in alice.snapshot().round_trip_s)
    told, seen = told_by(alice), alice.snapshot()
    assert (told.process, told.instance, told.view) == (seen.process, seen.instance, seen.view.number)
    assert (told.members, told.detached, told.waits_for) == (seen.view.members, False, "")
    assert told.sequencer == SequencerInfo("registry", 1, 1, 1, False)
    assert (told.window, told.held_back, told.suspected) == (seen.window.size, (), {})
    assert set(told.round_trip_s) == {bob.process}


def test_it_tells_who_holds_it_up(here: Cluster) -> None:
    alice, bob = here.members("alice", "bob")
    for number in range(3):
        alice.send(f"{number}", held_by="all")
    assert told_by(alice).unread_by == {alice.process: 3, bob.process: 3}
    for _ in range(3):
        while not isinstance(alice.receive(LIMIT_S), gcom.Message):
            pass
    alice.receive(0)
    until(lambda: told_by(alice).unread_by == {bob.process: 3})
    assert told_by(bob).unread_by == {}


def test_a_node_that_is_not_in_the_group_says_so(here: Cluster) -> None:
    (alice,) = here.members("alice")
    with pytest.raises(UnknownGroup, match="not in group 'olds'"):
        told_by(alice, "olds")
    alice.leave()
    with pytest.raises(UnknownGroup, match="not in group 'news'"):
        told_by(alice)


def test_who_is_not_in_the_view_is_told_nothing(here: Cluster) -> None:
    alice, _ = here.members("alice", "bob")
    seen = alice.snapshot()
    for who in (None, identity.member("bob"), identity.member("ann", admin=True)):
        assert "status" in pyro.unpack(status.answer("news", seen, who, bool(who and who.admins)))
    for who in (identity.member("mallory"), identity.registry(), identity.NOBODY):
        told = pyro.unpack(status.answer("news", seen, who, admin=False))
        assert told["refused"] == "NotPermitted"
        assert "the members of group 'news' may, and an administrator" in told["text"]
        assert "status" not in told


@pytest.mark.parametrize(
    "question", [b"", b"\xc1", pyro.pack({"ask": "all"}), pyro.pack({"ask": "status", "group": 1})]
)
def test_another_question_is_refused(here: Cluster, expect_log: ExpectLog, question: bytes) -> None:
    expect_log("MalformedFrame")
    (alice,) = here.members("alice")
    with (
        closing(pyro.Caller(node_of(alice).address, pyro.STATUS, pyro.UserSecret())) as caller,
        pytest.raises(PeerError, match="MalformedFrame"),
    ):
        caller.call(question, LIMIT_S)
    assert told_by(alice).process == alice.process


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"refused": "NotPermitted", "text": "no"}, NotPermitted),
        ({"status": {}}, PeerError),
        ({"status": {"process": "x"}}, PeerError),
        ("x", PeerError),
    ],
)
def test_an_answer_that_is_none_is_refused(told: object, error: type[Exception]) -> None:
    with closing(pyro.Server("127.0.0.1", 0, {pyro.STATUS: pyro.Endpoint(lambda _: pyro.pack(told))})) as server:
        server.start()
        with pytest.raises(error):
            ask_member(server.address, "", "news", None, LIMIT_S)  # type: ignore[arg-type]
