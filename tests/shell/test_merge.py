"""A PARTITIONABLE group over Pyro5: both sides go on, and when they meet every member has both states as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import gcom
from tests.oracle import judge
from tests.shell.nodes import LIMIT_S, Cluster, cluster, until

ExpectLog = Callable[[str], None]
NAMES = ("alice", "bob", "carol", "dave")


class Board:
    """An application whose state is a set of texts; two are merged by their union."""

    def __init__(self, here: Cluster, name: str) -> None:
        self.texts: set[str] = set()
        self.departures: list[str] = []
        self.node = here.node(name)
        definition = gcom.Definition.parse("news", "TOTAL", netsplit="PARTITIONABLE")
        self.group = self.node.join(
            "news", create=definition, get_state=self.get, set_state=self.set, merge_states=merge
        )
        self.group.listen(on_message=lambda message: self.texts.add(message.text), on_event=self._on_event)

    def get(self) -> bytes:
        return "\n".join(sorted(self.texts)).encode()

    def set(self, data: bytes) -> None:
        self.texts = set(data.decode().splitlines())

    def _on_event(self, event: gcom.Event) -> None:
        if isinstance(event, gcom.Departure):
            self.departures.append(event.reason)


def merge(mine: bytes, theirs: bytes) -> bytes:
    return b"\n".join(sorted({*mine.splitlines(), *theirs.splitlines()}))


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


def test_who_merges_gives_and_takes_state_too() -> None:
    with cluster() as here, pytest.raises(gcom.BadValue, match="all three"):
        here.node("alice").join("news", create=gcom.Definition.parse("news"), merge_states=merge)
