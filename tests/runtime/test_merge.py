"""A PARTITIONABLE group over Pyro5: both sides go on, and when they meet every member has both states as one."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import gcom
from gcom.core.messages.events import RegistryAnswered
from gcom.core.messages.registry import Refusal, Register
from gcom.values import limits
from tests.oracle import judge
from tests.running import Child
from tests.runtime.nodes import LIMIT_S, Cluster, cluster, until

ExpectLog = Callable[[str], None]
NAMES = ("alice", "bob", "carol", "dave")
# A member in a process of its own, which can be killed.
OTHER = """
import sys, gcom
definition = gcom.Definition.parse("news", "TOTAL", netsplit="PARTITIONABLE")
group = gcom.connect("alice", sys.argv[1]).join(
    "news", create=definition, get_state=bytes, set_state=bytes, merge_states=lambda mine, theirs: mine
)
print("in", flush=True)
for event in group.events():
    pass
"""


def cut_off_the_last(boards: list[Board]) -> None:
    """Of three: until both sides go on, the last one alone with the registry."""
    for board in boards:
        board.group.wait_for_members(3, LIMIT_S)
        board.node.inject("cut=alice+bob<>carol+registry")
    alice, bob, carol = boards
    until(lambda: carol.departures == ["fork"] and carol.group.members == ("carol",), "a side of one")
    until(lambda: set(alice.group.members) == set(bob.group.members) == {"alice", "bob"}, "the other side")
    carol.group.wait_for_members(1, LIMIT_S)


def merge(mine: bytes, theirs: bytes) -> bytes:
    return b"\n".join(sorted({*mine.splitlines(), *theirs.splitlines()}))


class Board:
    """An application whose state is a set of texts; two are merged by their union."""

    def __init__(self, here: Cluster, name: str, merge: Callable[[bytes, bytes], bytes] | None = merge) -> None:
        self.texts: set[str] = set()
        self.unmerged: list[gcom.StateUnmerged] = []
        self.departures: list[str] = []
        self.undelivered: list[int] = []  # unicasts, as each Departure says
        self.fails = False  # its get_state
        self.at_departure: Callable[[], object] = lambda: None
        self.at_message: Callable[[], object] = lambda: None
        self.node = here.node(name)
        definition = gcom.Definition.parse("news", "TOTAL", netsplit="PARTITIONABLE")
        self.group = self.node.join(
            "news", create=definition, get_state=self.get, set_state=self.set, merge_states=merge
        )
        self.group.listen(on_message=self._on_message, on_event=self._on_event)

    def get(self) -> bytes:
        if self.fails:
            raise ValueError("not now")
        return "\n".join(sorted(self.texts)).encode()

    def set(self, data: bytes) -> None:
        self.texts = set(data.decode().splitlines())

    def find_name_taken(self) -> None:
        """Its way back ends as it does when a member says that another has its name."""
        with self.group._host.lock:
            following = self.group._membership.following
            assert following is not None
            self.group._membership.on_failed(following, final=True)

    def _on_message(self, message: gcom.Message) -> None:
        self.texts.add(message.text)
        self.at_message()

    def _on_event(self, event: gcom.Event) -> None:
        if isinstance(event, gcom.Departure):
            self.departures.append(event.reason)
            self.undelivered.append(event.undelivered)
            if event.returning:
                self.at_departure()
        elif isinstance(event, gcom.StateUnmerged):
            self.unmerged.append(event)


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["alice+bob<>carol+dave", "alice+bob+registry<>carol+dave"])
def test_both_sides_go_on_and_become_one(cut: str, tmp_path: Path, expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    with cluster(tmp_path) as here:
        alice, bob, carol, dave = boards = [Board(here, name) for name in NAMES]
        for board in boards:
            board.group.wait_for_members(4, LIMIT_S)
        alice.group.send("before")
        until(lambda: all(board.texts == {"before"} for board in boards), "the first message")
        for board in boards:
            board.node.inject(f"cut={cut}")
        until(lambda: set(alice.group.members) == set(bob.group.members) == {"alice", "bob"}, "one side")
        until(lambda: set(carol.group.members) == set(dave.group.members) == {"carol", "dave"}, "the other")
        carol.group.wait_for_members(2, LIMIT_S)
        bob.group.send("here")
        carol.group.send("there")
        until(lambda: alice.texts == {"before", "here"} and dave.texts == {"before", "there"}, "both go on")
        assert alice.group.instance != dave.group.instance
        assert carol.departures == dave.departures == ["fork"]
        for board in boards:
            board.node.inject("")
        every = {"before", "here", "there"}
        until(lambda: all(board.texts == every for board in boards), "one state", 2 * LIMIT_S)
        until(lambda: all(len(board.group.members) == 4 for board in boards), "one group")
        assert len({board.group.instance for board in boards}) == 1
        alice.group.send("after")
        until(lambda: all("after" in board.texts for board in boards), "a message to all")
    report = judge(tmp_path)
    assert len(report.groups) >= 2
    assert {found.within for found in report.groups.values()} <= {"PASS", "VACUOUS"}  # one may have had one member
    assert [found.failed() for found in report.groups.values() if found.failed()] == []


@pytest.mark.slow
def test_without_merge_states_a_side_is_handed_what_it_had(expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    with cluster() as here:
        alice, bob, carol = boards = [Board(here, name, merge=None) for name in NAMES[:3]]
        cut_off_the_last(boards)
        carol.group.send("there")
        alice.group.send("here")
        until(lambda: carol.texts == {"there"} and bob.texts == {"here"}, "a message of each side")
        for board in boards:
            board.node.inject("")
        until(lambda: all(len(board.group.members) == 3 for board in boards), "one group", 2 * LIMIT_S)
        until(lambda: len({str(board.texts) for board in boards}) == 1, "one state")
        # Which of the two stands above, their ranks say: the others are handed theirs.
        lost = {b"here", b"there"} - {carol.get()}
        assert {it.data for board in boards for it in board.unmerged} >= lost
        assert "gave way" in next(it.reason for board in boards for it in board.unmerged if it.data in lost)


@pytest.mark.slow
def test_a_state_too_large_to_be_brought_is_handed_to_its_application(
    monkeypatch: pytest.MonkeyPatch, expect_log: ExpectLog
) -> None:
    expect_log("on purpose")
    with cluster() as here:
        _, bob, carol = boards = [Board(here, name) for name in NAMES[:3]]
        cut_off_the_last(boards)
        carol.group.send("there " * 10)
        until(lambda: bool(carol.texts), "its own message")
        state = carol.get()
        monkeypatch.setattr(limits, "MESSAGE_BYTES_MAX", len(state) - 1)
        for board in boards:
            board.node.inject("")
        until(lambda: bool(carol.unmerged), "what was kept aside", 2 * LIMIT_S)
        assert [it.data for it in carol.unmerged] == [state]
        assert f"a state of {len(state)} bytes is too large" in carol.unmerged[0].reason
        until(lambda: all(len(board.group.members) == 3 for board in boards), "one group")
        bob.group.send("after")
        until(lambda: all(board.texts == {"after"} for board in boards), "one state")
        carol.group.leave()
        until(lambda: carol.departures[-1] == "request", "the end")
        assert len(carol.unmerged) == 1


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["leaves", "leaves unread", "taken"])
def test_who_ends_on_its_way_back_is_handed_what_it_would_have_brought(ends: str, expect_log: ExpectLog) -> None:
    """1. Carol's side of one loses its instance. 2. It leaves before it has looked for another, or read of the loss."""
    expect_log("on purpose")
    with cluster() as here:
        alice, _, carol = boards = [Board(here, name) for name in NAMES[:3]]
        for board in boards:
            board.group.wait_for_members(3, LIMIT_S)
        carol.group.send("known to all")
        until(lambda: all(board.texts for board in boards), "the message")
        held = threading.Event()
        if ends == "leaves":
            carol.at_departure = carol.group.leave
        elif ends == "taken":
            carol.at_departure = carol.find_name_taken
        else:
            carol.at_message = held.wait
            alice.group.send("read late")
            until(lambda: "read late" in carol.texts, "a message that it is busy with")
        for board in boards:
            board.node.inject("cut=alice+bob<>carol+registry")
        carol.group.send_to("alice", "lost")
        if ends == "leaves unread":
            until(lambda: carol.group._membership.following is not None, "its way back")
            carol.group.leave()
            held.set()
        until(lambda: carol.group._membership.listened_by is None, "the end")
        assert carol.departures == ["fork", *{"leaves": ["request"], "taken": ["taken"]}.get(ends, [])]
        assert sum(carol.undelivered) <= 1  # told once, though its way back ends, too
        assert [it.data for it in carol.unmerged] == [carol.get()]
        assert "others may have merged it" in carol.unmerged[0].reason


@pytest.mark.slow
def test_who_had_asked_to_leave_when_its_side_was_to_go_on_by_itself_has_left(expect_log: ExpectLog) -> None:
    expect_log("on purpose")
    with cluster() as here:
        boards = [Board(here, name) for name in NAMES[:3]]
        carol = boards[2]
        for board in boards:
            board.group.wait_for_members(3, LIMIT_S)
        carol.group.send("known to all")
        until(lambda: all(board.texts for board in boards), "the message")
        for board in boards:
            board.node.inject("cut=alice+bob<>carol")
        carol.group.leave(LIMIT_S)
        until(lambda: bool(carol.departures), "the end")
        ended = carol.group._membership.session.ended
        assert ended is not None
        assert (ended.reason, carol.departures) == ("fork", ["request"])
        # Nobody took its state along, so it is handed back.
        assert [it.data for it in carol.unmerged] == [carol.get()]
        with pytest.raises(gcom.NotAMember, match="'news' was left"):
            carol.group.wait_for_members(2, LIMIT_S)


@pytest.mark.slow
def test_a_get_state_that_raises_when_the_group_is_lost_is_told(
    expect_log: ExpectLog, capfd: pytest.CaptureFixture[str]
) -> None:
    expect_log("on purpose")
    with cluster() as here:
        alice, bob, carol = boards = [Board(here, name) for name in NAMES[:3]]
        for board in boards:
            board.group.wait_for_members(3, LIMIT_S)
        carol.fails = True
        for board in boards:
            board.node.inject("cut=alice+bob<>carol")
        until(lambda: carol.departures == ["state"], "the end")
        with pytest.raises(gcom.StateFailed, match=r"get_state failed.*not now"):
            carol.group.send("lost")
        until(lambda: set(alice.group.members) == set(bob.group.members) == {"alice", "bob"}, "the other side")
    assert "not now" in capfd.readouterr().err


def test_who_merges_gives_and_takes_state_too() -> None:
    with cluster() as here, pytest.raises(gcom.BadValue, match="all three"):
        here.node("alice").join("news", create=gcom.Definition.parse("news"), merge_states=merge)


@pytest.mark.slow
@pytest.mark.parametrize("leaves_first", [False, True])
def test_a_state_outlives_the_others_who_crash_as_a_process_takes_their_place(leaves_first: bool) -> None:
    """A restart of all, one after the other: the registry does not know yet that the last one goes on by itself."""
    with cluster() as here, Child([sys.executable, "-c", OTHER, here.registry]) as alice:
        alice.until(lambda: alice.out, "alice")
        bob = Board(here, "bob")
        bob.group.wait_for_members(2, LIMIT_S)
        bob.group.send("confirmed", LIMIT_S, "all")
        until(lambda: bob.texts == {"confirmed"}, "the message")
        alice.signal(signal.SIGKILL)
        if leaves_first:
            until(lambda: bob.group.members == ("bob",) and bob.departures == ["fork"], "a side of one")
            bob.group.leave(LIMIT_S)
            until(lambda: bob.departures[-1:] == ["request"], "the end")
            assert [it.data for it in bob.unmerged] == [b"confirmed"]
        else:
            carol = Board(here, "carol")
            bob.group.leave(LIMIT_S)
            until(lambda: bob.departures[-1:] == ["request"], "the end")
            assert (carol.texts, bob.unmerged) == ({"confirmed"}, [])


def test_who_finds_that_all_others_have_left_is_handed_its_state() -> None:
    """It was paused, and hears of it from the registry before it has missed the others."""
    with cluster() as here:
        alice, bob = (Board(here, name) for name in NAMES[:2])
        bob.group.wait_for_members(2, LIMIT_S)
        bob.group.send("hers, perhaps alone", LIMIT_S, "all")
        until(lambda: bob.texts == {"hers, perhaps alone"}, "the message")
        session = bob.group._membership.session
        assert session.machine.definition is not None
        assert session.machine.view is not None
        request = Register(session.machine.definition, bob.group.instance, session.machine.view, bob.group.process)
        session.handle(RegistryAnswered(request, Refusal("Superseded", "others went on, and left")))
        until(lambda: bob.departures == ["dissolved"], "the end")
        assert [(it.data, "all others have left" in it.reason) for it in bob.unmerged] == [
            (b"hers, perhaps alone", True)
        ]
        assert alice.unmerged == []


@pytest.mark.slow
def test_the_last_of_a_side_that_leaves_before_the_sides_meet_is_handed_its_state(
    expect_log: ExpectLog,
) -> None:
    expect_log("on purpose")
    with cluster() as here:
        boards = [Board(here, name) for name in NAMES[:3]]
        cut_off_the_last(boards)
        alice, bob, carol = boards
        carol.group.send("hers alone", LIMIT_S, "majority")
        until(lambda: carol.texts == {"hers alone"}, "her own message")
        carol.group.leave(LIMIT_S)
        until(lambda: carol.departures[-1:] == ["request"], "the end")
        assert [(it.data, "before it had met" in it.reason) for it in carol.unmerged] == [(b"hers alone", True)]
        alice.group.leave(LIMIT_S)  # of this side one is left, which has all that it had
        until(lambda: alice.departures == ["request"], "the end")
        assert alice.unmerged == bob.unmerged == []
