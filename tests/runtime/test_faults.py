"""Faults put in on purpose: what their text means, what becomes of a call, and that a group lives through them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import gcom
from gcom.runtime import pyro
from gcom.runtime.fault_injection import HELD_MAX, VARIABLE, FaultInjector, FaultPlan
from tests.runtime.nodes import LIMIT_S, cluster, node_of, take, until

ExpectLog = Callable[[str], None]
ON = "have faults, on purpose"


class Callee(pyro.Caller):
    """Answers by itself, and keeps what arrived."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1:1", pyro.NODE)
        self.arrived: list[bytes] = []

    def call(self, data: bytes, timeout_s: float) -> bytes:
        self.arrived.append(data)
        return b"answer to " + data


@pytest.fixture
def callee() -> Callee:
    return Callee()


def put_all(faults: FaultInjector, callee: Callee, count: int, peer: str = "bob#1") -> list[str]:
    """Calls 0, 1, ...; how each ended."""
    ends = []
    for number in range(count):
        try:
            faults.call(callee, peer, b"%d" % number, 0.2)
            ends.append("answered")
        except (pyro.ConnectionLost, pyro.TimedOut) as error:
            ends.append(type(error).__name__)
    return ends


def test_a_text_says_what_goes_wrong() -> None:
    text = "seed=7,drop=0.1,drop_reply=.5,delay=0..40ms,duplicate=0.05,reorder=1,cut=alice>bob"
    assert FaultPlan.parse(text) == FaultPlan(7, 0.1, 0.5, 0.05, 1.0, (0, 40), frozenset([("alice", "bob")]))
    said = "seed=7,drop=0.1,drop_reply=0.5,duplicate=0.05,reorder=1,delay=0..40ms,cut=alice>bob"
    assert str(FaultPlan.parse(text)) == said
    assert FaultPlan.parse("") == FaultPlan.parse(" ,\n") == FaultPlan()
    assert str(FaultPlan.parse("seed=3")) == "none"
    assert FaultPlan.parse("delay=20ms").delay_ms == (20, 20)
    both = FaultPlan.parse("cut=a+b<>c\ncut=a>registry")
    assert both.cuts == {("a", "c"), ("b", "c"), ("c", "a"), ("c", "b"), ("a", "registry")}


def test_anybody_is_a_star() -> None:
    plan = FaultPlan.parse("cut=alice>*,cut=*>registry")
    pairs = [("alice", "bob"), ("bob", "alice"), ("bob", "registry"), ("bob", "carol")]
    assert [plan.cut(*pair) for pair in pairs] == [True, False, True, False]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("drop", "'drop'"),
        ("drop=", "'drop='"),
        ("drop=.", "'drop=.'"),
        ("drop=1.1", "'drop=1.1'"),
        ("drop=-1", "drop_reply=P"),
        ("drop=nan", "0 to 1"),
        ("frop=0.1", "'frop=0.1'"),
        ("seed=x", "seed=N"),
        ("seed=-1", "seed=N"),
        ("delay=40", "A..Bms"),
        ("delay=9..3ms", "A <= B"),
        ("delay=0..99999ms", "10000"),
        ("cut=alice", "A>B"),
        ("cut=alice<bob", "A>B"),
        ("cut=al/ice>bob", "'al/ice'"),
        ("cut=>bob", "A>B"),
        ("cut=a+>bob", "''"),
        ("@/no/such/file", "/no/such/file"),
        ("seed=1," * 20_000, "too long"),
    ],
)
def test_a_bad_text_is_refused_by_what_is_wrong(text: str, named: str) -> None:
    with pytest.raises(gcom.BadValue) as caught:
        FaultInjector("alice", text)
    assert named in str(caught.value)


def test_a_dropped_request_does_not_arrive_and_a_dropped_answer_came_too_late(
    callee: Callee, expect_log: ExpectLog
) -> None:
    expect_log(ON)
    assert put_all(FaultInjector("alice", "drop=1"), callee, 3) == ["ConnectionLost"] * 3
    assert callee.arrived == []
    assert put_all(FaultInjector("alice", "drop_reply=1"), callee, 2) == ["ConnectionLost"] * 2
    assert callee.arrived == [b"0", b"1"]


def test_a_duplicate_arrives_twice(callee: Callee, expect_log: ExpectLog) -> None:
    expect_log(ON)
    assert put_all(FaultInjector("alice", "duplicate=1"), callee, 2) == ["answered"] * 2
    assert callee.arrived == [b"0", b"0", b"1", b"1"]


def test_a_reordered_request_seems_lost_and_arrives_after_a_later_one(callee: Callee, expect_log: ExpectLog) -> None:
    expect_log(ON)
    faults = FaultInjector("alice", "reorder=1")
    assert put_all(faults, callee, HELD_MAX + 1) == ["ConnectionLost"] * (HELD_MAX + 1)
    assert callee.arrived == []
    faults.change("reorder=0")
    assert faults.call(callee, "bob#1", b"later", 0.2) == b"answer to later"
    assert callee.arrived == [b"later", *[b"%d" % number for number in range(1, HELD_MAX + 1)]]


def test_a_seed_is_one_sequence_of_fates_for_each_pair(callee: Callee, expect_log: ExpectLog) -> None:
    expect_log(ON)
    ends = [put_all(FaultInjector("alice", f"seed={seed},drop=0.5"), callee, 40) for seed in (1, 1, 2)]
    assert ends[0] == ends[1] != ends[2]
    disturbed = FaultInjector("alice", "seed=1,drop=0.5")
    put_all(disturbed, callee, 7, "carol#1")
    assert put_all(disturbed, callee, 40) == ends[0]
    assert put_all(FaultInjector("bob", "seed=1,drop=0.5"), callee, 40) != ends[0]


def test_a_cut_swallows_requests_one_way_and_answers_the_other(callee: Callee, expect_log: ExpectLog) -> None:
    expect_log(ON)
    assert put_all(FaultInjector("alice", "cut=alice>bob"), callee, 1) == ["TimedOut"]
    assert put_all(FaultInjector("alice", "cut=carol>bob"), callee, 1) == ["answered"]
    callee.arrived.clear()
    assert put_all(FaultInjector("bob", "cut=alice>bob"), callee, 2, "alice#1") == ["ConnectionLost"] * 2
    assert callee.arrived == [b"0", b"1"]


def test_a_call_at_a_cut_goes_on_when_it_is_healed(callee: Callee, expect_log: ExpectLog, tmp_path: Path) -> None:
    expect_log(ON)
    path = tmp_path / "faults"
    path.write_text("cut=alice>bob")
    faults = FaultInjector("alice", f"@{path}")
    answers: list[bytes] = []
    call = threading.Thread(target=lambda: answers.append(faults.call(callee, "bob#1", b"x", LIMIT_S)))
    call.start()
    path.write_text("cut=alice>carol")
    call.join(LIMIT_S)
    assert answers == [b"answer to x"]


def test_the_end_of_a_node_ends_its_waits(callee: Callee, expect_log: ExpectLog) -> None:
    expect_log(ON)
    faults = FaultInjector("alice", "delay=10000ms,cut=alice>bob")
    faults.close()
    assert put_all(faults, callee, 1) == ["TimedOut"]


def test_a_file_that_goes_bad_is_said_once_and_changes_nothing(
    callee: Callee, expect_log: ExpectLog, tmp_path: Path
) -> None:
    expect_log(ON)
    expect_log("stay as they were")
    path = tmp_path / "faults"
    path.write_text("drop=1")
    faults = FaultInjector("alice", f"@{path}")
    path.write_text("drop=maybe")
    assert put_all(faults, callee, 2) == ["ConnectionLost"] * 2
    path.unlink()
    assert put_all(faults, callee, 2) == ["ConnectionLost"] * 2
    path.write_text("drop=0")
    assert put_all(faults, callee, 2) == ["answered"] * 2


@pytest.mark.slow
def test_a_node_takes_them_from_the_environment(monkeypatch: pytest.MonkeyPatch, expect_log: ExpectLog) -> None:
    expect_log(ON)
    with gcom.embedded() as registry:
        monkeypatch.setenv(VARIABLE, "drop=sometimes")
        with pytest.raises(gcom.BadValue, match="drop=sometimes"):
            gcom.connect("alice", registry.address)
        monkeypatch.setenv(VARIABLE, "cut=bob>registry")
        with pytest.raises(gcom.RegistryUnavailable):
            gcom.connect("bob", registry.address)
        with gcom.connect("alice", registry.address) as alice:
            alice.join("news", create=gcom.Definition("news"))


def test_a_group_lives_with_faults_in_all_of_its_calls(expect_log: ExpectLog) -> None:
    expect_log(ON)
    with cluster() as here:
        alice, bob = here.members("alice", "bob")
        for group in (alice, bob):
            node_of(group).inject("seed=3,drop=0.1,drop_reply=0.1,delay=0..5ms,duplicate=0.2,reorder=0.1")
        for number in range(200):
            alice.send(f"{number}")
        assert [message.text for message in take(bob, 200)] == [str(number) for number in range(200)]


@pytest.mark.slow
def test_one_that_is_cut_off_goes_and_the_rest_goes_on(expect_log: ExpectLog) -> None:
    expect_log(ON)
    with cluster() as here:
        alice, bob, carol = here.members("alice", "bob", "carol")
        for group in (alice, bob, carol):
            node_of(group).inject("cut=carol<>alice+bob")
        until(lambda: alice.members == bob.members == ("alice", "bob"), "the view without carol")
        alice.send("on we go")
        assert take(bob, 1)[0].text == "on we go"
