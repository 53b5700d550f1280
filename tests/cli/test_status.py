"""`gcom status`: how a group stands, as its members say."""

from __future__ import annotations

import json
import re
import signal

import pytest

from gcom.cli.commands.status import MemberAnswer, lines
from gcom.core.messages.registry import GroupInfo
from gcom.runtime.inspection.status import MemberStatus
from gcom.values.definition import Definition
from gcom.values.snapshot import SequencerInfo
from tests.cli.commands import Command, no_traceback, run_gcom

ALICE, BOB = "alice#1", "bob#2"
ENTRY = GroupInfo(
    Definition("news", "TOTAL"), "i", 2, (ALICE, BOB), ("127.0.0.1:1", "127.0.0.1:2"), True, False, (), False, ("", 0)
)


def status(process: str, **changes: object) -> MemberStatus:
    values: dict[str, object] = {
        "process": process,
        "instance": "i",
        "view": 2,
        "members": (ALICE, BOB),
        "detached": False,
        "waits_for": "",
        "held_back": (),
        "held_back_rest": 0,
        "sequencer": SequencerInfo("registry", 9, 8, 7, False),
        "unstable": 0,
        "unsent": 0,
        "unread_by": {},
        "window": 100,
        "suspected": {},
        "heard_s": {},
        "round_trip_s": {},
    }
    return MemberStatus(**{**values, **changes})  # type: ignore[arg-type]


def page(alice: MemberStatus | None, bob: MemberStatus | None) -> list[str]:
    answers = [
        MemberAnswer(process, f"127.0.0.1:{rank}", found, "" if found else "nobody listens", 0.0)
        for rank, (process, found) in enumerate(((ALICE, alice), (BOB, bob)), 1)
    ]
    return list(lines(ENTRY, answers))


def test_who_holds_up_whom_is_said_in_words() -> None:
    alice = status(
        ALICE, unread_by={BOB: 100, ALICE: 1}, waits_for=f"{BOB} to read its deliveries", round_trip_s={BOB: 0.0125}
    )
    text = page(alice, status(BOB))
    assert text[1] == "order: from the registry; at alice serial 9 is known, 8 agreed, 7 delivered"
    assert text[3].split() == ["alice", "127.0.0.1:1", "leader", "-", "100/100", "0", "0", "0", "-"]
    assert text[4].split() == ["bob", "127.0.0.1:2", "member", "12.5ms", "0/100", "0", "0", "0", "-"]
    assert text[5:] == [
        "alice cannot send: it waits for bob#2 to read its deliveries",
        "bob holds up alice: it has 100 of its messages to read",
        "alice has 1 of its own messages to read",
    ]


def test_silence_suspicions_and_what_is_held_back_are_said() -> None:
    held = (("bob#2 3-5 waits for alice#1 4", 1.25),)
    alice = status(ALICE, suspected={BOB: "silence"}, heard_s={BOB: 2.5}, held_back=held, held_back_rest=4, view=1)
    text = page(alice, None)
    assert text[3].split()[-2:] == ["5", "-"]
    assert text[4].split() == ["bob", "127.0.0.1:2", "silent", "-", "-", "-", "-", "-", "alice"]
    assert text[5:] == [
        "bob did not tell: nobody listens",
        "alice is in view 1, and the registry knows view 2",
        "alice holds back bob#2 3-5 waits for alice#1 4, for 1.2 s",
        "alice suspects bob (silence), silent for 2.5 s",
    ]


@pytest.mark.slow
def test_it_asks_each_member(registry: str) -> None:
    with Command("join", "news", "--name", "alice", "--create", "--json", registry=registry) as alice:
        alice.until_members(1)
        with Command("tail", "news", "--name", "bob", "--json", registry=registry) as bob:
            bob.until_members(2)
            alice.until_members(2)
            done = run_gcom("status", "news", registry=registry)
            rows = [
                json.loads(line) for line in run_gcom("status", "news", "--json", registry=registry).stdout.splitlines()
            ]
            with Command("status", "news", "--watch", "--every", "0.1", registry=registry) as watching:
                watching.until(lambda: sum(line.startswith("NAME") for line in watching.out) > 2, "third look")
                watching.signal(signal.SIGINT)
                assert watching.end() == 130
                assert no_traceback(*watching.errors)
    assert (done.returncode, done.stderr) == (0, b"")
    assert [line.split()[0] for line in done.stdout.decode().splitlines()] == ["news:", "NAME", "alice", "bob"]
    assert [(row["type"], row["name"], row["view"], len(row["members"])) for row in rows] == [
        ("status", "alice", 2, 2),
        ("status", "bob", 2, 2),
    ]


@pytest.mark.slow
def test_a_member_that_does_not_answer_is_named(registry: str) -> None:
    with Command("join", "news", "--name", "alice", "--create", "--json", registry=registry) as alice:
        alice.until_members(1)
        alice.signal(signal.SIGKILL)
        alice.end()
        done = run_gcom("status", "news", registry=registry)
    assert done.returncode == 1
    assert re.search(rb"alice did not tell: nobody listens at 127\.0\.0\.1:\d+", done.stdout)


@pytest.mark.slow
def test_an_empty_group_and_one_that_is_not_there(registry: str) -> None:
    assert run_gcom("create", "news", registry=registry).returncode == 0
    empty, missing = run_gcom("status", "news", registry=registry), run_gcom("status", "olds", registry=registry)
    assert (empty.returncode, missing.returncode) == (0, 1)
    assert b"gcom join news --name NAME" in empty.stderr
    assert b"olds" in missing.stderr
