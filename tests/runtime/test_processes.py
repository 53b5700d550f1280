"""Members as real processes: killed, paused, interrupted, and without a registry; each wait has a limit."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest

import gcom
from gcom.values import limits
from tests.cases import daily_and_rest
from tests.oracle import judge
from tests.runtime.nodes import LIMIT_S, next_of, take, until
from tests.runtime.processes import Workers, flows


@pytest.fixture
def workers() -> Iterator[Workers]:
    with gcom.embedded() as registry, ExitStack() as stack:
        yield Workers(registry.address, stack)


@pytest.mark.slow
@pytest.mark.parametrize("victim", daily_and_rest([0, 1, 2], 1))
def test_scenario_03_the_others_go_on_when_one_is_killed(workers: Workers, tmp_path: Path, victim: int) -> None:
    members = workers.three("--log-dir", str(tmp_path))
    for member in members:
        member.say("flow")
    flows(members, ["alice", "bob", "carol"])
    killed = members.pop(victim)
    left = [name for index, name in enumerate(["alice", "bob", "carol"]) if index != victim]
    killed.signal(signal.SIGKILL)
    for member in members:
        member.told("view", number=4, members=left)
    flows(members, left)
    sent = 0
    for member in members:
        member.say("stop")
        sent += member.told("stopped")["sent"]
    for member in members:
        until(lambda it=member: sum(it.report()["counts"][name] for name in left) == sent, "the rest")  # type: ignore[misc]
    reports = [member.report() for member in members]
    assert reports[0]["counts"] == reports[1]["counts"]
    assert [report["out_of_order"] for report in reports] == [0, 0]
    for member in members:
        member.say("leave")
        member.told("left")
        member.say("end")
        assert member.end() == 0
        assert member.errors == []
    report = judge(tmp_path)
    assert report.notes == []
    assert report.group("news").failed() == {}
    assert sorted(report.coverage.values())[:2] == ["closed", "closed"]
    assert sorted(report.coverage.values())[2] in ("open", "torn")


@pytest.mark.slow
def test_one_that_was_paused_is_told_that_it_was_expelled(workers: Workers) -> None:
    """It is paused for longer than DETACH_MS: the time that it did not run itself is not taken for a lost quorum."""
    alice, bob, carol = workers.three()
    for member in (alice, bob, carol):
        member.say("flow")
    flows([alice, bob, carol], ["alice", "bob", "carol"])
    at = monotonic()
    carol.signal(signal.SIGSTOP)
    for member in (alice, bob):
        assert member.told("view", number=4, members=["alice", "bob"])["left"] in (["silence"], ["accused"])
    flows([alice, bob], ["alice", "bob"])
    until(lambda: monotonic() - at > limits.DETACH_MS / 1000 + 1, "the end of the pause")
    carol.signal(signal.SIGCONT)
    assert carol.told("departure")["reason"] == "expelled"
    assert carol.told("refused")["error"] == "Detached"
    carol.say("end")
    assert carol.end() == 0
    # What it had sent as it was put out, and nobody took, is told at its end.
    assert [it for it in carol.errors if "not sent before the program ended" not in it] == []
    again = workers.start("carol")
    again.told("view", members=["alice", "bob", "carol"])
    views = [row["members"] for row in alice.rows("view")]
    assert views[-3:] == [["alice", "bob", "carol"], ["alice", "bob"], ["alice", "bob", "carol"]]


@pytest.mark.slow
def test_a_program_that_ends_without_closing_ends(workers: Workers) -> None:
    alice = workers.start("alice")
    bob = workers.start("bob")
    alice.told("view", members=["alice", "bob"])
    bob.say("send bye")
    bob.say("end")
    assert bob.end(5.0) == 0
    assert bob.errors == []
    assert alice.told("view", number=3)["left"] == ["request"]


@pytest.mark.slow
def test_an_interrupt_ends_a_blocking_receive_at_once(workers: Workers) -> None:
    alice = workers.start("alice", "--quiet")
    alice.say("wait")
    alice.told("waiting")
    at = monotonic()
    alice.signal(signal.SIGINT)
    assert alice.told("interrupted")["at"] - at < 2.0
    assert alice.end(5.0) == 0
    assert alice.errors == []


@pytest.mark.slow
def test_a_full_disk_is_said_once_and_messages_go_on(workers: Workers, tmp_path: Path) -> None:
    alice = workers.start("alice", "--log-dir", str(tmp_path), "--warn", file_bytes_max=20_000)
    alice.say("flow")
    flows([alice], ["alice"], more=1500)
    alice.say("leave")
    alice.told("left")
    alice.say("end")
    assert alice.end() == 0
    said = "\n".join(alice.errors)
    assert (said.count("ends here"), said.count("WARNING"), said.count("Traceback")) == (1, 1, 0), said
    assert judge(tmp_path).notes == []


def test_scenario_28_a_killed_holder_of_a_name_does_not_keep_it(workers: Workers) -> None:
    with gcom.connect("zoe", workers.registry) as node:
        zoe = node.join("news", create=gcom.Definition.parse("news"))
        bob = workers.start("bob")
        zoe.wait_for_members(2, LIMIT_S)
        with pytest.raises(gcom.NameTaken), gcom.connect("bob", workers.registry) as other:
            other.join("news")
        bob.signal(signal.SIGKILL)
        bob.end()
        with gcom.connect("bob", workers.registry) as other:
            again = other.join("news", timeout_s=LIMIT_S)
            assert sorted(again.members) == ["bob", "zoe"]
            zoe.send("hello")
            assert take(again, 1)[0].text == "hello"


@pytest.mark.slow
def test_a_group_whose_members_were_all_killed_can_be_entered_again(workers: Workers) -> None:
    alice = workers.start("alice")
    alice.signal(signal.SIGKILL)
    alice.end()
    with gcom.connect("bob", workers.registry) as node:
        # The registry may have buried the group by then, or not: a joiner that may create it gets in either way.
        bob = node.join("news", create=gcom.Definition("news"), timeout_s=LIMIT_S)
        assert bob.members == ("bob",)
        assert next_of(bob, gcom.ViewChange).view.number == 1
