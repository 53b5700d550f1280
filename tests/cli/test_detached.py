"""`gcom join` while it hears no quorum: what is typed then is sent once, when it hears one again."""

from __future__ import annotations

import signal
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

import gcom
from gcom.cli.commands.session import ShellMember
from gcom.cli.output import Output
from gcom.cli.rows import JsonRows
from tests.cli.commands import Command


@pytest.mark.slow
def test_what_is_typed_while_it_is_detached_is_sent_when_it_goes_on(registry: str) -> None:
    words = ("join", "news", "--create", "--json", "--name")
    with (
        Command(*words, "alice", registry=registry) as alice,
        Command(*words, "bob", registry=registry) as bob,
        Command(*words, "carol", registry=registry) as carol,
    ):
        for member in (alice, bob, carol):
            member.until_members(3)
        for member in (bob, carol):
            member.signal(signal.SIGSTOP)
        alice.until(lambda: any(row["has"] is False for row in alice.rows("quorum")), "its detachment")
        alice.write(b"late\n")
        for member in (bob, carol):
            member.signal(signal.SIGCONT)
        alice.until(lambda: any(row["has"] is True for row in alice.rows("quorum")), "its return")
        alice.write(b"later\n")
        alice.until(lambda: len(alice.rows("delivery")) >= 2, "both lines")
        assert [row["text"] for row in alice.rows("delivery")] == ["late", "later"]
        alice.signal(signal.SIGTERM)
        assert alice.end() == 0
        assert alice.rows()[-1]["type"] == "left"


@pytest.mark.slow
def test_a_signal_ends_one_that_is_detached(registry: str) -> None:
    """It waits for some seconds whether a quorum settles its leave, and says that none did."""
    words = ("join", "news", "--create", "--json", "--name")
    with Command(*words, "alice", registry=registry) as alice, Command(*words, "bob", registry=registry) as bob:
        for member in (alice, bob):
            member.until_members(2)
        view = next(row for row in alice.rows() if len(row.get("members", ())) == 2)
        leader, other = (alice, bob) if view["leader"].startswith("alice#") else (bob, alice)
        leader.signal(signal.SIGSTOP)
        other.until(lambda: other.rows("quorum"), "its detachment")
        other.write(b"never\n")
        other.signal(signal.SIGTERM)
        assert other.end() == 1
        left = other.rows()[-1]
        assert (left["type"], left["reason"], left["unconfirmed"]) == ("left", "exit", None)
        assert "not sent: the line 'never', and what came after it on standard input" in other.errors[-1]


LEFT = gcom.Departure("request", None, 0, False, 0, "alice#1", "k1")


@pytest.mark.parametrize(
    ("status", "events"),
    [
        (0, [gcom.Settled(1, 2, True, "alice#1", "k1"), LEFT]),
        (1, [gcom.Settled(1, 2, False, "alice#1", "k1"), LEFT]),
        (1, [gcom.Departure("expelled", (3, 4), 0, True, 0, "alice#1", "k1"), LEFT]),
        (1, [replace(LEFT, unsent=1)]),
        (1, [replace(LEFT, unconfirmed=(1, 1))]),
        (1, [replace(LEFT, reason="exit")]),
    ],
)
def test_the_exit_status_says_whether_all_that_was_sent_arrived(
    status: int, events: list[gcom.Event], capfd: pytest.CaptureFixture[str]
) -> None:
    coming = iter(events)
    view = gcom.View(1, ("alice#1",), ("127.0.0.1:1",))
    group: Any = SimpleNamespace(view=view, process="alice#1", instance="k1")
    group.receive = lambda timeout_s: next(coming, None)
    output = Output()
    # A line that was read as it was told to stop, and not sent, is named; its stop has succeeded all the same.
    feed: Any = SimpleNamespace(start=lambda: None, take_unsent=lambda: "late", failed=False, refused=False)
    member = ShellMember(cast(gcom.Group, group), JsonRows(output, "news"), output, feed, None)
    assert member.run() == status
    assert "not sent: the line 'late'" in capfd.readouterr().err
