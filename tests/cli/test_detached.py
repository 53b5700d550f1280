"""`gcom join` while it hears no quorum: what is typed then is sent once, when it hears one again."""

from __future__ import annotations

import signal

import pytest

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
