"""State transfer as an application meets it: callbacks in the thread that receives, waiting, and what they raise."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import gcom
from gcom.values import limits
from tests.runtime.nodes import LIMIT_S, Cluster, at_once, cluster, next_of, take, until

ExpectLog = Callable[[str], None]


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as it:
        yield it


class Replica:
    """An application whose state is the texts that it has read."""

    def __init__(self, here: Cluster, name: str, ordering: str = "FIFO", **callbacks: Any) -> None:
        self.texts: list[str] = []
        self.set_by: str = ""
        self.lost: list[gcom.StateLost] = []
        self.departures: list[gcom.Departure] = []
        self.node = here.node(name)
        uses = {"get_state": self.get, "set_state": self.set, **callbacks}
        self.group = self.node.join("news", create=gcom.Definition.parse("news", ordering), **uses)

    def get(self) -> bytes:
        return "\n".join(self.texts).encode()

    def set(self, data: bytes) -> None:
        self.set_by = threading.current_thread().name
        self.texts = data.decode().splitlines()

    def listen(self) -> Replica:
        self.group.listen(on_message=lambda message: self.texts.append(message.text), on_event=self._on_event)
        return self

    def _on_event(self, event: gcom.Event) -> None:
        if isinstance(event, gcom.StateLost):
            self.lost.append(event)
        elif isinstance(event, gcom.Departure):
            self.departures.append(event)


def raises(error: Exception) -> Callable[..., bytes]:
    def call(*_: object) -> bytes:
        raise error

    return call


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
def test_scenario_22_one_that_joins_while_others_send_has_all_of_it(here: Cluster, ordering: str) -> None:
    alice, bob = Replica(here, "alice", ordering).listen(), Replica(here, "bob", ordering).listen()
    stop = threading.Event()

    def send(replica: Replica) -> None:
        count = 0
        while not stop.is_set():
            replica.group.send(f"{replica.node.name} {count}")
            count += 1

    senders = [threading.Thread(target=send, args=(replica,), daemon=True) for replica in (alice, bob)]
    for sender in senders:
        sender.start()
    until(lambda: len(alice.texts) > 500)
    carol = Replica(here, "carol", ordering).listen()
    assert carol.group.wait_for_state(LIMIT_S)
    assert carol.set_by == "gcom listener news"
    already = len(carol.texts)
    until(lambda: len(carol.texts) > already + 500)
    stop.set()
    for sender in senders:
        sender.join(LIMIT_S)
    for replica in (alice, bob):
        replica.group.flush(LIMIT_S)
    until(lambda: len(alice.texts) == len(bob.texts) == len(carol.texts), "the same length")
    if ordering == "TOTAL":
        assert alice.texts == bob.texts == carol.texts
    else:
        for name in ("alice", "bob"):
            streams = [[text for text in it.texts if text.startswith(name)] for it in (alice, bob, carol)]
            assert streams[0] == streams[1] == streams[2]


def test_a_loop_sets_its_state_before_its_first_event(here: Cluster) -> None:
    alice = Replica(here, "alice").listen()
    alice.group.send("before")
    until(lambda: alice.texts == ["before"])
    bob = Replica(here, "bob")
    alice.group.send("after")
    event = bob.group.receive(LIMIT_S)
    assert isinstance(event, gcom.ViewChange)
    assert bob.texts == ["before"]
    assert [message.text for message in take(bob.group, 1)] == ["after"]


def test_waiting_for_the_state_sets_it_where_nobody_reads(here: Cluster) -> None:
    alice = Replica(here, "alice").listen()
    alice.group.send("before")
    until(lambda: alice.texts == ["before"])
    assert alice.group.wait_for_state(LIMIT_S)  # the first has what it has
    bob = Replica(here, "bob")
    assert bob.group.wait_for_state(LIMIT_S)
    assert (bob.texts, bob.set_by) == (["before"], threading.current_thread().name)
    assert bob.group.wait_for_state(LIMIT_S)
    assert isinstance(bob.group.receive(LIMIT_S), gcom.ViewChange)


def test_waiting_has_a_limit_and_names_the_donor(here: Cluster) -> None:
    alice = Replica(here, "alice")  # reads nothing
    bob = Replica(here, "bob")
    with pytest.raises(gcom.GComTimeout, match=f"waits for {alice.group.process}"):
        bob.group.wait_for_state(0.1)
    assert bob.group.receive(0.05) is None
    alice.listen()
    assert bob.group.wait_for_state(LIMIT_S)


def test_a_donor_that_reads_in_a_loop_is_asked_between_two_events(here: Cluster) -> None:
    alice = Replica(here, "alice")
    alice.group.send("x")
    bob = Replica(here, "bob")
    alice.texts.append(take(alice.group, 1)[0].text)
    change = next_of(alice.group, gcom.ViewChange)
    assert change.joined == (bob.group.process,)
    assert bob.group.wait_for_state(LIMIT_S)
    assert bob.texts == ["x"]


def test_ten_that_join_at_once_all_have_it(here: Cluster) -> None:
    alice = Replica(here, "alice").listen()
    alice.group.send_many(f"{i}" for i in range(1000))
    until(lambda: len(alice.texts) == 1000)
    joined = at_once([lambda i=i: Replica(here, f"m{i}").listen() for i in range(10)])  # type: ignore[misc]
    replicas = [it for it in joined if isinstance(it, Replica)]
    assert len(replicas) == 10
    alice.group.send("last")
    until(lambda: len(alice.texts) == 1001 and all(it.texts == alice.texts for it in replicas))


@pytest.mark.parametrize("listens", [True, False])
def test_one_that_reads_of_no_loss_leaves_in_place_of_going_on_empty(here: Cluster, listens: bool) -> None:
    alice = Replica(here, "alice", get_state=None, set_state=None).listen()
    bob = Replica(here, "bob")
    if listens:
        bob.group.listen(on_message=lambda message: bob.texts.append(message.text))
        until(lambda: alice.group.view.number >= 3, "the view without bob")
    else:
        with pytest.raises(gcom.StateFailed, match="no member has it; join again, read StateLost by"):
            list(bob.group)
    with pytest.raises(gcom.StateFailed, match="the state of group 'news' is lost, and it is left"):
        bob.group.send("from an empty replica")
    carol = Replica(here, "carol", allow_empty=True)
    alice.group.send("x")
    assert next(iter(carol.group)).text == "x"


def test_one_that_wants_state_where_nobody_gives_any_is_told_so(here: Cluster) -> None:
    alice = Replica(here, "alice", get_state=None, set_state=None).listen()
    bob = Replica(here, "bob")
    assert not bob.group.wait_for_state(LIMIT_S)
    assert bob.group.receive(LIMIT_S) == gcom.StateLost(2, "no member has it")
    assert isinstance(bob.group.receive(LIMIT_S), gcom.ViewChange)
    assert alice.group.wait_for_state(LIMIT_S)


class TestCallbacksThatFail:
    def test_scenario_23_another_member_gives_the_state(self, here: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
        alice = Replica(here, "alice", get_state=raises(ValueError("not now"))).listen()
        bob = Replica(here, "bob").listen()
        assert not bob.group.wait_for_state(LIMIT_S)  # there was nobody but alice
        alice.group.send("x")
        until(lambda: bob.texts == ["x"])
        until(
            lambda: (
                [it.reason for it in bob.lost] == [f"{alice.group.process}: its get_state raised ValueError: not now"]
            )
        )
        assert "ValueError: not now" in capfd.readouterr().err

    def test_a_state_that_is_text_is_an_error_where_it_was_made(
        self, here: Cluster, capfd: pytest.CaptureFixture[str]
    ) -> None:
        returned: Any = "text"
        Replica(here, "alice", get_state=lambda: returned).listen()
        bob = Replica(here, "bob").listen()
        until(lambda: bool(bob.lost))
        assert "its get_state raised TypeError: a state must be bytes; got str" in bob.lost[0].reason
        assert "a state must be bytes; got str" in capfd.readouterr().err

    def test_a_state_over_the_limit_is_refused_in_words(
        self, here: Cluster, monkeypatch: pytest.MonkeyPatch, expect_log: ExpectLog
    ) -> None:
        monkeypatch.setattr(limits, "STATE_BYTES_MAX", 100)
        expect_log("get_state returned")
        Replica(here, "alice", get_state=lambda: bytes(101)).listen()
        bob = Replica(here, "bob").listen()
        until(lambda: bool(bob.lost))
        assert "101 bytes is over" in bob.lost[0].reason

    def test_a_set_state_that_raises_in_a_loop_raises_there_and_leaves(self, here: Cluster) -> None:
        alice = Replica(here, "alice").listen()
        bob = Replica(here, "bob", set_state=raises(ValueError("torn")))
        with pytest.raises(gcom.StateFailed, match=r"set_state failed in group 'news'.*ValueError: torn") as caught:
            bob.group.receive(LIMIT_S)
        assert isinstance(caught.value.__cause__, ValueError)
        departure = bob.group.receive(LIMIT_S)
        assert isinstance(departure, gcom.Departure)
        assert departure.reason == "state"
        with pytest.raises(gcom.StateFailed):
            bob.group.send("x")
        with pytest.raises(gcom.StateFailed):
            bob.group.receive(LIMIT_S)
        until(lambda: alice.group.members == ("alice",))
        bob.group.leave()

    def test_who_could_not_take_the_state_may_join_again_at_once(self, here: Cluster) -> None:
        alice = Replica(here, "alice").listen()
        bob = Replica(here, "bob", set_state=raises(ValueError("torn")))
        with pytest.raises(gcom.StateFailed):
            bob.group.receive(LIMIT_S)
        again = bob.node.join("news", set_state=bob.set)  # its leave is still under way
        until(lambda: alice.group.members == again.members == ("alice", "bob"))

    def test_a_set_state_that_raises_in_a_listener_is_printed(
        self, here: Cluster, capfd: pytest.CaptureFixture[str]
    ) -> None:
        alice = Replica(here, "alice").listen()
        bob = Replica(here, "bob", set_state=raises(ValueError("torn"))).listen()
        with pytest.raises(gcom.StateFailed):
            bob.group.wait_for_state(LIMIT_S)
        until(lambda: [it.reason for it in bob.departures] == ["state"])
        until(lambda: alice.group.members == ("alice",))
        assert "ValueError: torn" in capfd.readouterr().err

    def test_waiting_raises_what_setting_raises(self, here: Cluster) -> None:
        Replica(here, "alice").listen()
        bob = Replica(here, "bob", set_state=raises(ValueError("torn")))
        with pytest.raises(gcom.StateFailed):
            bob.group.wait_for_state(LIMIT_S)
        with pytest.raises(gcom.StateFailed):
            bob.group.wait_for_state(LIMIT_S)


def test_a_request_waits_for_the_state_that_it_is_about(here: Cluster) -> None:
    alice = Replica(here, "alice")
    bob = Replica(here, "bob").listen()
    bob.group.on_call(lambda request, caller: f"{request!r} of {caller}: {bob.texts}")
    results = alice.group.call("what?", gcom.NONE, LIMIT_S, targets=["bob"])
    alice.texts.append("something")  # before it gets to the barrier
    alice.listen()
    until(lambda: all(result.outcome is gcom.Outcome.VALUE for result in results.values()))
    assert results[bob.group.process].text == f"'what?' of {alice.group.process}: ['something']"


@pytest.mark.slow
def test_one_that_comes_back_gets_the_state_again(here: Cluster, expect_log: ExpectLog) -> None:
    expect_log("have faults, on purpose")
    alice, bob = Replica(here, "alice").listen(), Replica(here, "bob").listen()
    carol = Replica(here, "carol").listen()
    assert carol.group.wait_for_state(LIMIT_S)
    before = carol.group.process
    for replica in (alice, bob, carol):
        replica.node.inject("cut=carol<>alice+bob")
    until(lambda: alice.group.members == ("alice", "bob"))
    alice.group.send("missed")
    until(lambda: bob.texts == ["missed"])
    for replica in (alice, bob, carol):
        replica.node.inject("")
    until(lambda: carol.texts == ["missed"])
    assert carol.group.process != before
    assert carol.lost == []


def test_one_that_leaves_hands_its_state_over_first(here: Cluster) -> None:
    alice = Replica(here, "alice").listen()
    alice.texts += ["x" * 1000] * 20_000  # 20 MB
    bob = Replica(here, "bob").listen()
    alice.group.leave(LIMIT_S)
    assert bob.group.wait_for_state(LIMIT_S)
    assert bob.texts == alice.texts


def test_one_that_leaves_while_a_loop_is_at_work_hands_its_state_over_first(here: Cluster) -> None:
    """A loop in a thread of its own comes to the barrier, though not while it works on an event."""
    at_work, go_on = threading.Event(), threading.Event()

    def read(group: gcom.Group) -> None:
        for event in group.events():
            if isinstance(event, gcom.Message):
                at_work.set()
                assert go_on.wait(LIMIT_S)

    alice = Replica(here, "alice", get_state=lambda: b"all")
    threading.Thread(target=read, args=(alice.group,), daemon=True).start()
    alice.group.send("work")
    assert at_work.wait(LIMIT_S)
    bob = Replica(here, "bob").listen()
    leaving = threading.Thread(target=alice.group.leave, args=(LIMIT_S,), daemon=True)
    leaving.start()
    leaving.join(0.2)
    assert leaving.is_alive(), "it went, and nobody has the state"
    go_on.set()
    assert bob.group.wait_for_state(LIMIT_S)
    leaving.join(LIMIT_S)
    assert (bob.texts, bob.lost) == (["all"], [])


def test_where_all_leave_as_one_joins_it_is_given_the_state_or_begins_anew(here: Cluster) -> None:
    stayed = 0
    for turn in range(12):
        entered = threading.Event()

        def get_state(entered: threading.Event = entered) -> bytes:
            entered.wait(LIMIT_S)  # it takes longer than both leaves would
            return b"confirmed"

        alice, bob = (Replica(here, f"{name}{turn}", get_state=get_state) for name in ("alice", "bob"))
        entered.set()
        alice.listen()
        bob.listen().group.wait_for_state(LIMIT_S)
        alice.group.send("confirmed", LIMIT_S, "all")
        entered.clear()
        instance, number = alice.group.instance, alice.group.view.number

        def join(turn: int = turn, entered: threading.Event = entered) -> Replica:
            try:
                return Replica(here, f"carol{turn}")
            finally:
                entered.set()

        def leave(replica: Replica, oldest: Replica = alice, number: int = number) -> None:
            member = oldest.group._session.machine._member
            assert member is not None

            def comes() -> bool:  # it waits to be let in, or the view has changed since: the other may be out already
                return bool(member._triggers.admission.waiting or member.ended) or member.view.number != number

            until(comes, "the join")
            replica.group.leave(LIMIT_S)

        works: list[Callable[[], Replica | None]] = [join, partial(leave, alice), partial(leave, bob)]
        carol, *left = at_once(works)
        assert isinstance(carol, Replica), carol
        assert left == [None, None]
        carol.listen().group.wait_for_state(LIMIT_S)
        here_before = carol.group.instance == instance
        assert (carol.texts, carol.lost) == (["confirmed"] if here_before else [], [])
        stayed += here_before
        carol.group.leave(LIMIT_S)
    assert stayed, "it never came in time to be let in"


def test_one_that_leaves_while_a_loop_gives_its_state_hands_it_over_first(here: Cluster) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def get_state() -> bytes:
        asked.set()
        assert go_on.wait(LIMIT_S)
        return b"all"

    alice = here.node("alice").join(
        "news", create=gcom.Definition.parse("news"), get_state=get_state, set_state=lambda data: None
    )
    threading.Thread(target=lambda: list(alice.events()), daemon=True).start()
    given: list[bytes] = []
    bob = here.node("bob").join("news", get_state=bytes, set_state=given.append)
    assert asked.wait(LIMIT_S)
    leaving = threading.Thread(target=alice.leave, args=(LIMIT_S,), daemon=True)
    leaving.start()
    until(lambda: alice._session.leaving, "the leave")
    go_on.set()
    assert bob.wait_for_state(LIMIT_S)
    assert given == [b"all"]
    leaving.join(LIMIT_S)


def test_a_process_that_only_sends_has_no_state(here: Cluster) -> None:
    node = here.node("alice")
    node.create("news")
    with pytest.raises(gcom.BadValue, match="receive=False"):
        node.join("news", receive=False, get_state=bytes)
    with pytest.raises(gcom.BadValue, match="receive=False"):
        node.join("news", receive=False, set_state=print)
