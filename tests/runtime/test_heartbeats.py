"""Heartbeats of several groups between two nodes: when they go, and which go for which."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

import gcom
from gcom.core.messages.frames import Frame, Reply
from gcom.runtime import pyro
from gcom.runtime.links.link import Link
from gcom.runtime.session import Session
from gcom.runtime.step_lock import StepLock
from gcom.values import limits
from tests.runtime.beating import Beating
from tests.runtime.nodes import LIMIT_S, cluster, until


@pytest.mark.parametrize(("dues", "brought"), [((1_000, 1_050), [1_000]), ((1_001, 1_050), []), ((1_000,), [])])
def test_heartbeats_of_all_groups_of_two_nodes_go_together(dues: tuple[int, ...], brought: list[int]) -> None:
    host: Any = SimpleNamespace(lock=StepLock(), credentials=pyro.UserSecret(), now_ms=lambda: 1_000)
    link = Link(host, "127.0.0.1:1", "bob")
    sessions: list[Any] = [Beating(due) for due in dues]
    for session in sessions:
        link.serve(session, "bob#1")
    link.tick()
    assert [session.brought for session in sessions] == [brought] * len(dues)


def test_only_groups_whose_heartbeat_make_due_are_asked_for_a_frame() -> None:
    host: Any = SimpleNamespace(lock=StepLock(), credentials=pyro.UserSecret(), now_ms=lambda: 1_000, has_faults=False)
    link = Link(host, "127.0.0.1:1", "bob")
    sessions: list[Any] = [Beating(due) for due in (1_000, 1_050, 1_001 + limits.HEARTBEATS_TOGETHER_MS)]
    with host.lock:
        for session in sessions:
            link.serve(session, "bob#1")
    assert [session.asked for session in sessions] == [1, 1, 1]
    with host.lock:
        link.tick()
    assert [session.asked for session in sessions] == [2, 2, 1]


def _shared(link: Link, host: Any, *turns: tuple[Beating, str]) -> list[int]:
    """Serve these, which are due, tick once, and return how often each was asked for a frame by that."""
    with host.lock:
        for session, peer in turns:
            given: Any = session
            link.serve(given, peer)
    before = [session.asked for session, _ in turns]
    with host.lock:
        link.tick()
    return [session.asked - asked for (session, _), asked in zip(turns, before, strict=True)]


@pytest.mark.parametrize(("connected", "asked"), [(True, [1, 1, 1, 0, 1, 1]), (False, [1, 1, 1, 1, 1, 1])])
def test_one_groups_heartbeat_goes_for_all_that_may_wait(connected: bool, asked: list[int]) -> None:
    host: Any = SimpleNamespace(lock=StepLock(), credentials=pyro.UserSecret(), now_ms=lambda: 1_000, has_faults=False)
    over, first, waits, has_news, another = (Beating(1_000) for _ in range(5))
    over.waits = first.waits = waits.waits = another.waits = True
    untrusted = Beating(1_000)
    untrusted.trusted = False
    # It is asked, and found to be over; it speaks for none, since nothing goes to a peer that is none any more.
    over.due = None
    # Another process of that node, as of one that entered again, has a first one of its own.
    link = Link(host, "127.0.0.1:1", "bob")
    turns = [
        (over, "bob#1"),
        (untrusted, "bob#1"),
        (first, "bob#1"),
        (waits, "bob#1"),
        (has_news, "bob#1"),
        (another, "bob#2"),
    ]
    pipeline: Any = SimpleNamespace(close=lambda: None)
    link._pipeline = pipeline if connected else None
    assert _shared(link, host, *turns) == asked
    # What was read is news: it is told first.
    assert [session.read_told for session, _ in turns] == [1] * len(turns)


def test_what_is_heard_in_one_group_is_told_the_others_of_that_process_once_in_a_while() -> None:
    now_ms = [1_000]
    host: Any = SimpleNamespace(
        lock=StepLock(), credentials=pyro.UserSecret(), now_ms=lambda: now_ms[0], has_faults=False
    )
    link = Link(host, "127.0.0.1:1", "bob")
    sessions: list[Any] = [Beating(2_000) for _ in range(3)]
    with host.lock:
        link.serve(sessions[0], "bob#1")
        link.heard(sessions[0], "bob#1")  # there is nobody to tell
        link.serve(sessions[1], "bob#1")
        link.serve(sessions[2], "bob#2")
    for at_ms in (1_001, 1_000 + limits.HEARTBEATS_TOGETHER_MS, 1_001 + limits.HEARTBEATS_TOGETHER_MS):
        now_ms[0] = at_ms
        link.heard(sessions[0], "bob#1")
    assert [session.heard_of for session in sessions] == [[], ["bob#1", "bob#1"], []]


def test_two_nodes_with_several_groups_have_the_heartbeats_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    came: Counter[str] = Counter()
    receive = Session.receive

    def count(self: Session, frame: Frame) -> Reply:
        came[frame.group] += 1
        return receive(self, frame)

    with cluster() as here:
        alice, bob = here.node("alice"), here.node("bob")
        names = ["first", "second", "third", "fourth"]
        groups = [node.join(name, create=gcom.Definition(name)) for name in names for node in (alice, bob)]
        for group in groups:
            group.wait_for_members(2, LIMIT_S)
        monkeypatch.setattr(Session, "receive", count)
        # Longer than a silence may last. On a busy machine some of the others may go late, and then by themselves.
        until(lambda: max(came.values(), default=0) >= 10)
        *others, most = sorted(came[name] for name in names)
        assert max(others) < most
        assert all(len(group.members) == 2 for group in groups)
