"""Faults put in on purpose: what their text means, what becomes of a call, and that a group lives through them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gcom
from gcom.runtime import pyro
from gcom.runtime.fault_injection import HELD_MAX, VARIABLE, FaultInjector
from gcom.runtime.faults import refuse_off_loopback
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
    assert gcom.Faults.parse(text) == gcom.Faults(
        7, 0.1, 0.5, 0.05, 1.0, gcom.Delay("uniform", 40), frozenset([("alice", "bob")])
    )
    said = "seed=7,drop=0.1,drop_reply=0.5,duplicate=0.05,reorder=1,delay=0..40ms,cut=alice>bob"
    assert str(gcom.Faults.parse(text)) == said
    assert gcom.Faults.parse("") == gcom.Faults.parse(" ,\n") == gcom.Faults()
    assert str(gcom.Faults.parse("seed=3")) == "none"
    assert gcom.Faults.parse("delay=20ms").delay == gcom.Delay("fixed", 20)
    both = gcom.Faults.parse("cut=a+b<>c\ncut=a>registry")
    assert both.cuts == {("a", "c"), ("b", "c"), ("c", "a"), ("c", "b"), ("a", "registry")}


def test_anybody_is_a_star() -> None:
    plan = gcom.Faults.parse("cut=alice>*,cut=*>registry")
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
        ("delay=exp:0..40ms", "exp:Ams"),
        ("delay=gauss:40ms", "pareto:Ams"),
        ("delay[alice]=40ms", "delay[alice]"),
        ("drop[alice>]=0.5", "drop[alice>]"),
        ("seed[alice>bob]=1", "seed[alice>bob]"),
        ("freeze=bob", "freeze=A:Tms"),
        ("freeze=bob:999999ms", "600000"),
        ("freeze=b/b:9ms", "'b/b'"),
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


def test_links_have_settings_of_their_own_and_the_closest_counts() -> None:
    faults = gcom.Faults.parse("drop=0.1,delay=5ms,drop[*>bob]=0.2,drop[alice>*]=0.3,delay[alice>bob]=pareto:20ms")
    found = faults.of_link("alice", "bob")
    assert (found.drop, found.delay, found.reorder) == (0.3, gcom.Delay("pareto", 20), 0.0)
    assert faults.of_link("carol", "bob").drop == 0.2
    assert faults.of_link("carol", "dave").delay == gcom.Delay("fixed", 5)
    both = gcom.Faults.parse("reorder[a<>b+c]=1").links
    assert set(both) == {("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")}


@pytest.mark.slow
def test_delays_are_drawn_from_their_distributions_and_bounded() -> None:
    shares = [number / 10_000 for number in range(10_000)]

    def drawn(text: str) -> list[float]:
        return [gcom.Faults.parse(f"delay={text}").delay.seconds(share) * 1000 for share in shares]

    assert set(drawn("20ms")) == {20.0}
    assert min(drawn("10..30ms")) == 10.0
    assert sum(drawn("10..30ms")) / 10_000 == pytest.approx(20, rel=0.01)
    assert sum(drawn("exp:20ms")) / 10_000 == pytest.approx(20, rel=0.01)
    heavy = drawn("pareto:20ms")
    assert min(heavy) == pytest.approx(20 / 3)
    assert sum(heavy) / 10_000 == pytest.approx(20, rel=0.1)
    assert max(heavy) > 5 * max(drawn("exp:20ms"))
    assert gcom.Delay("pareto", 10_000).seconds(0.999999) == 10.0


names_of = st.sampled_from(["alice", "bob", "registry", "*"])
shares = st.integers(0, 10**9).map(lambda number: number / 10**9)
delays = st.one_of(
    st.builds(gcom.Delay, st.sampled_from(["fixed", "exponential", "pareto"]), st.integers(1, 10_000)),
    st.builds(gcom.Delay, st.just("uniform"), st.integers(50, 10_000), st.integers(0, 50)),
)
settings = st.builds(gcom.LinkFaults, shares, st.none() | shares, st.none() | shares, st.none(), st.none() | delays)
links = st.tuples(names_of, names_of)
plans = st.builds(
    gcom.Faults,
    st.integers(0, 10**18 - 1),
    st.just(0.5),
    shares,
    shares,
    shares,
    delays,
    st.frozensets(links),
    st.dictionaries(links, settings),
    st.dictionaries(names_of, st.integers(0, 600_000)),
)


@given(plans)
def test_text_and_json_say_all_of_it(plan: gcom.Faults) -> None:
    assert gcom.Faults.parse(str(plan)) == plan
    assert gcom.Faults.from_json(plan.to_json()) == plan
    assert gcom.Faults.from_json(plan.to_json()).to_json() == plan.to_json()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no JSON"),
        ("[1]", "must be a JSON object; got list"),
        ('{"drop": "often"}', "drop is a probability"),
        ('{"drop": true}', "drop is a probability"),
        ('{"drop": NaN}', "drop is a probability"),
        ('{"seed": -1}', "seed"),
        ('{"frop": 1}', "'frop'"),
        ('{"version": 2}', "version 2"),
        ('{"delay": 20}', "delay=20"),
        ('{"cuts": "a>b"}', "cuts must be a list"),
        ('{"cuts": ["a"]}', "'a'"),
        ('{"links": {"a>b": 1}}', "a link must be"),
        ('{"links": {"a>b": {"cut": 1}}}', "'cut'"),
        ('{"freeze": {"a": "long"}}', "'a' is frozen"),
        ("[" * 60_000, "no JSON"),
    ],
)
def test_bad_json_is_refused_by_what_is_wrong(text: str, named: str) -> None:
    with pytest.raises(gcom.BadValue) as caught:
        gcom.Faults.from_json(text)
    assert named in str(caught.value)


def test_faults_that_cannot_be_are_not_made() -> None:
    makes: list[Callable[[], object]] = [
        lambda: gcom.Faults(drop=2),
        lambda: gcom.Faults(cuts=frozenset({("a", "b", "c")})),  # type: ignore[arg-type]
        lambda: gcom.Faults(links={("a", "b"): {"drop": 1}}),  # type: ignore[dict-item]
        lambda: gcom.Faults(delay=(0, 40)),  # type: ignore[arg-type]
        lambda: gcom.LinkFaults(drop=-0.1),
        lambda: gcom.Delay("fixed", 20, 10),
        lambda: gcom.Delay("uniform", 10_001),
        lambda: gcom.Delay("normal", 5),  # type: ignore[arg-type]
    ]
    for make in makes:
        with pytest.raises(gcom.BadValue):
            make()


@pytest.mark.parametrize("address", ["10.0.0.1:7411", "registry.example:7411", "[2001:db8::1]:7411"])
def test_off_loopback_they_are_refused(address: str) -> None:
    refuse_off_loopback("127.0.0.1:7411@host.life", "[::1]:1", "localhost:1")
    with pytest.raises(gcom.LocalError, match="for tests on loopback"):
        refuse_off_loopback("127.0.0.1:7411", address)


def test_a_node_off_loopback_refuses_them_and_has_none() -> None:
    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as alice:
        alice._host.address = "10.0.0.1:7411"
        with pytest.raises(gcom.BadValue, match=r"10\.0\.0\.1:7411"):
            alice.inject("drop=0.1")
        assert alice.faults == gcom.Faults()


def test_a_node_tells_which_are_in_force(expect_log: ExpectLog, tmp_path: Path) -> None:
    expect_log(ON)
    path = tmp_path / "faults"
    path.write_text("duplicate=0.5")
    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as alice:
        faults = gcom.Faults(seed=3, links={("alice", "bob"): gcom.LinkFaults(drop=0.5)})
        alice.inject(faults)
        assert alice.faults == faults
        with pytest.raises(gcom.BadValue, match=r"or gcom\.Faults; got dict"):
            alice.inject({"drop": 1})  # type: ignore[arg-type]
        assert alice.faults == faults
        alice.inject(f"@{path}")
        assert alice.faults == gcom.Faults(duplicate=0.5)
        alice.inject("")
        assert alice.faults == gcom.Faults()


def test_a_link_of_its_own_faults_leaves_the_others_alone(callee: Callee, expect_log: ExpectLog) -> None:
    expect_log(ON)
    faults = FaultInjector("alice", "drop[alice>bob]=1,drop[carol>*]=1")
    assert put_all(faults, callee, 2) == ["ConnectionLost"] * 2
    assert put_all(faults, callee, 2, "carol#1") == ["answered"] * 2


def test_who_is_frozen_neither_calls_nor_is_called_until_it_is_over(callee: Callee, expect_log: ExpectLog) -> None:
    expect_log(ON)
    for name, peer in (("bob", "carol#1"), ("alice", "bob#1")):
        assert put_all(FaultInjector(name, "freeze=bob:600000ms"), callee, 1, peer) == ["TimedOut"]
    assert put_all(FaultInjector("alice", "freeze=bob:600000ms"), callee, 1, "carol#1") == ["answered"]
    assert FaultInjector("bob", "freeze=bob:50ms").call(callee, "carol#1", b"x", LIMIT_S) == b"answer to x"
    assert callee.arrived == [b"0", b"x"]


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
