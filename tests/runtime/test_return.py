"""Nodes that lose their group and come back: what the application is told, and may do meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import gcom
from gcom.values import lineage
from gcom.values.names import name_of
from tests.oracle import judge
from tests.runtime.nodes import LIMIT_S, Cluster, at_once, cluster, end_of, next_of, node_of, take, until
from tests.runtime.processes import Workers, flows

ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@contextmanager
def standing_still(group: gcom.Group) -> Iterator[None]:
    """As a paused process."""
    with group._host.lock:
        yield


@pytest.mark.slow
def test_an_expelled_member_is_told_and_comes_back_under_another_identity(tmp_path: Path) -> None:
    with cluster(tmp_path) as here:
        alice, bob, carol = here.members("alice", "bob", "carol")
        other = node_of(carol).join("other", create=gcom.Definition.parse("other"))
        first = carol.process
        assert other.process == first
        take_view(carol)
        with standing_still(carol):
            until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")
        departure = next_of(carol, gcom.Departure)
        assert (departure.reason, departure.unconfirmed, departure.returning) == ("expelled", None, True)
        assert (departure.process, departure.instance) == (first, alice.instance)
        back = next_of(carol, gcom.Returned)
        change = next_of(carol, gcom.ViewChange)
        assert back == gcom.Returned(carol.process, alice.instance)
        assert carol.process != first == other.process
        assert name_of(carol.process) == "carol"
        assert change.view == carol.view
        assert change.joined == (carol.process,)
        carol.send("back")
        assert [take(group, 1)[0].text for group in (alice, bob, carol)] == ["back"] * 3
        folders = sorted(path.name for path in (tmp_path / "carol").iterdir())
        assert folders == sorted(process.partition("#")[2] for process in (first, carol.process))
    report = judge(tmp_path)
    assert report.group("news").failed() == {}
    assert report.group("news").verdict == "PASS"


def take_view(group: gcom.Group) -> None:
    next_of(group, gcom.ViewChange)


@pytest.fixture
def apart(here: Cluster, expect_log: ExpectLog) -> list[gcom.Group]:
    """Three members, of which the third does not reach the others."""
    expect_log("on purpose")
    members = here.members("alice", "bob", "carol")
    inject(members, "cut=carol<>alice+bob")
    return members


def inject(members: list[gcom.Group], faults: str) -> None:
    for member in members:
        node_of(member).inject(faults)


@pytest.mark.slow
def test_while_it_is_away_it_cannot_send_and_others_wait_for_it(apart: list[gcom.Group]) -> None:
    alice, _bob, carol = apart
    next_of(carol, gcom.Departure)
    with pytest.raises(gcom.Detached, match="it is on its way back, and waits for "):
        carol.send("late")
    assert carol.receive(0.05) is None
    with pytest.raises(gcom.LocalError, match="already"):
        node_of(carol).join("news")
    waits: list[Callable[[], object]] = [
        lambda: carol.wait_for_members(3, LIMIT_S),
        lambda: next_of(carol, gcom.Returned),
        lambda: inject(apart, ""),
    ]
    assert not any(isinstance(result, gcom.GComError) for result in at_once(waits))
    carol.send("in time")
    assert take(alice, 1)[0].text == "in time"


@pytest.mark.slow
def test_who_leaves_while_it_is_away_stays_away(apart: list[gcom.Group]) -> None:
    alice, bob, carol = apart
    next_of(carol, gcom.Departure)
    seen: list[gcom.Event] = []
    reader = threading.Thread(target=lambda: seen.extend(carol.events()), daemon=True)
    reader.start()
    carol.leave()
    reader.join(LIMIT_S)
    assert [(event.reason, event.returning) for event in seen if isinstance(event, gcom.Departure)] == [
        ("request", False)
    ]
    assert len(seen) == 1
    with pytest.raises(gcom.NotAMember):
        carol.send("late")
    with pytest.raises(gcom.NotAMember):
        carol.receive()
    inject(apart, "")
    again = node_of(carol).join("news")
    again.wait_for_members(3, LIMIT_S)
    until(lambda: alice.members == bob.members == ("alice", "bob", "carol"), "the view of three")


@pytest.mark.slow
def test_an_end_that_was_not_read_is_the_last_when_it_leaves_meanwhile(apart: list[gcom.Group]) -> None:
    alice, bob, carol = apart
    until(lambda: carol._session.ended is not None, "the end")
    carol.leave()
    assert [type(event) for event in carol.events()][-1] is gcom.Departure
    until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")


@pytest.mark.slow
def test_a_node_that_is_closed_while_it_is_away_ends(apart: list[gcom.Group]) -> None:
    _alice, _bob, carol = apart
    next_of(carol, gcom.Departure)
    node_of(carol).close()
    assert end_of(carol) == ("request", None, False)


@pytest.mark.slow
def test_without_rejoin_the_end_is_the_end(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol", rejoin=False)
    with standing_still(carol):
        until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")
    next_of(carol, gcom.Departure)
    with pytest.raises(gcom.Detached, match="join again"):
        carol.send("late")
    with pytest.raises(gcom.Detached):
        carol.receive()
    # Of a message that was sent before, and for which a thread still waits, it is said which one it is.
    session = carol._session
    named = rf"went on without it: message 1 of {carol.process} in group 'news' is not held by all; join again"
    with carol._host.lock, pytest.raises(gcom.Detached, match=named):
        carol._is_held(session, 1, "all", f"message 1 of {carol.process} in group 'news' is not held by all")
    assert node_of(carol).join("news").process != carol.process


@pytest.mark.slow
def test_whose_name_was_taken_meanwhile_does_not_come_back(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    with standing_still(carol):
        until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")
        other = here.node("carol").join("news", timeout_s=LIMIT_S)
    assert next_of(carol, gcom.Departure).reason == "expelled"
    assert end_of(carol) == ("taken", None, False)
    with pytest.raises(gcom.Detached, match="the name was another's when it came back; join again"):
        carol.send("late")
    with pytest.raises(gcom.Detached):
        carol.receive()
    alice.send("hello")
    assert take(other, 1)[0].text == "hello"


@pytest.mark.slow
def test_what_all_others_have_left_is_over_for_who_was_away(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    with standing_still(carol):
        until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")
        alice.leave()
        bob.leave()
    while (departure := next_of(carol, gcom.Departure)).returning:
        pass  # it hears of the view without it before it hears of the end
    assert departure.reason == "dissolved"
    with pytest.raises(gcom.Detached, match="all others have left the group, or are dead; join again"):
        carol.send("late")


@pytest.mark.slow
def test_a_listener_hears_of_the_end_and_of_the_return(here: Cluster) -> None:
    alice, bob, carol = here.members("alice", "bob", "carol")
    seen: list[gcom.Event] = []
    carol.listen(on_event=seen.append)
    with standing_still(carol):
        until(lambda: alice.members == bob.members == ("alice", "bob"), "the expulsion")
    until(lambda: any(isinstance(event, gcom.Returned) for event in seen), "the return")
    carol.wait_for_members(3, LIMIT_S)
    alice.send("hello")
    until(lambda: isinstance(seen[-1], gcom.Message), "the message")
    kinds = [type(event) for event in seen if not isinstance(event, gcom.Suspicion)]
    assert kinds[-4:] == [gcom.Departure, gcom.Returned, gcom.ViewChange, gcom.Message]


@pytest.mark.slow
def test_trace_10_the_last_of_three_processes_goes_on_and_the_others_names_are_free(tmp_path: Path) -> None:
    with gcom.embedded() as registry, ExitStack() as stack:
        workers = Workers(registry.address, stack)
        alice, bob, carol = workers.three("--persist", "--log-dir", str(tmp_path))
        carol.say("flow")
        flows([alice, bob, carol], ["carol"])
        before = carol.rows("view")[-1]["instance"]
        for victim in (alice, bob):
            victim.signal(signal.SIGKILL)
        assert carol.told("departure")["reason"] == "succession"
        carol.told("returned")
        again = workers.start("alice", "--log-dir", str(tmp_path))
        assert lineage.descends(again.told("view", members=["carol", "alice"])["instance"], before)
        flows([again, carol], ["carol"])
        assert carol.errors == []


@pytest.mark.slow
def test_scenario_34_of_two_processes_either_survives_the_other_with_the_registry_as_witness(tmp_path: Path) -> None:
    with gcom.embedded(data=tmp_path) as registry, ExitStack() as stack:
        for number, victim in enumerate(("alice", "bob")):
            alice, bob = [stack.enter_context(gcom.connect(name, registry.address)) for name in ("alice", "bob")]
            definition = gcom.Definition.parse(f"news{number}", tie_breaker="registry")
            groups = {node.name: node.join(definition.group, create=definition) for node in (alice, bob)}
            for group in groups.values():
                group.wait_for_members(2, LIMIT_S)
            dead, left = (groups[name] for name in (victim, "bob" if victim == "alice" else "alice"))
            instance = left.instance
            dead._host.server.close()  # its port refuses, and it says nothing more
            with standing_still(dead):
                until(lambda group=left: len(group.members) == 1, "the view of one")  # type: ignore[misc]
            left.send("on")
            assert take(left, 1)[0].text == "on"
            assert left.instance == instance
