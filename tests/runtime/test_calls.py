"""Unicast and group calls between nodes: who gets what, what blocks, what a departure does, and real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

import gcom
from gcom.runtime.request_handlers import NESTED_MAX
from gcom.values import limits
from tests.running import stop
from tests.runtime.nodes import LIMIT_S, Cluster, at_once, cluster, next_of, until

ROOT = Path(__file__).resolve().parent.parent.parent
VALUE, ERROR, DEPARTED, PENDING = gcom.Outcome.VALUE, gcom.Outcome.ERROR, gcom.Outcome.DEPARTED, gcom.Outcome.PENDING


@pytest.fixture
def here() -> Iterator[Cluster]:
    with cluster() as it:
        yield it


def echo(payload: bytes | str, _: str) -> bytes | str:
    return payload


def name_it(group: gcom.Group) -> gcom.Group:
    """Have a member answer with its name."""
    group.on_call(lambda payload, caller: group.process)
    return group


class Held:
    """A handler that answers once it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self._let_go = threading.Event()

    def __call__(self, payload: bytes | str, caller: str) -> str:
        self.entered.set()
        assert self._let_go.wait(LIMIT_S)
        return "late"

    def let_go(self) -> None:
        self._let_go.set()


class TestUnicast:
    def test_it_reaches_one_member_by_name_or_process_in_order(self, here: Cluster) -> None:
        alice, bob, carol = here.members("alice", "bob", "carol")
        for index in range(1_500):
            alice.send_to("bob" if index % 2 else bob.process, f"{index}")
        found = [next_of(bob, gcom.Unicast) for _ in range(1_500)]
        assert found == [(alice.process, f"{index}") for index in range(1_500)]
        alice.flush(LIMIT_S)
        assert not any(isinstance(event, gcom.Unicast) for event in carol.events(idle_s=0.1))

    def test_it_knows_its_text_bytes_and_sender(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        alice.send_to("alice", "é")
        alice.send_to("alice", b"\xff")
        text, data = next_of(alice, gcom.Unicast), next_of(alice, gcom.Unicast)
        assert (text.text, text.data, text.name, text.sender) == ("é", "é".encode(), "alice", alice.process)
        assert (data.text, data.data) == ("�", b"\xff")

    def test_a_loop_over_the_group_has_the_multicasts_only(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.send_to("bob", "unicast")
        alice.flush(LIMIT_S)
        alice.send("multicast")
        assert next(iter(bob)).text == "multicast"

    def test_a_listener_has_a_callback_for_it(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        unicasts: list[str] = []
        seen: list[gcom.Event] = []
        bob.listen(on_unicast=lambda unicast: unicasts.append(unicast.text), on_event=seen.append)
        alice.send_to("bob", "hello")
        until(lambda: unicasts == ["hello"])
        assert (alice.process, "hello") in seen

    def test_every_size_up_to_the_limit(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        edge = limits.ENVELOPE_BYTES_MAX
        payloads: list[bytes | str] = [b"", "", b"x" * edge, "é" * (edge // 2), "a" * edge, b"\x00"]
        for payload in payloads:
            alice.send_to("bob", payload)
        assert [next_of(bob, gcom.Unicast).payload for _ in payloads] == payloads
        with pytest.raises(gcom.MessageTooLarge, match="131,073 bytes is over the limit of 131,072"):
            alice.send_to("bob", b"x" * (edge + 1))
        with pytest.raises(gcom.BadValue, match="must be bytes or str; got int"):
            alice.send_to("bob", 7)  # type: ignore[arg-type]

    def test_who_is_not_there_is_an_error_with_those_who_are(self, here: Cluster) -> None:
        alice, _ = here.members("alice", "bob")
        with pytest.raises(gcom.UnknownMember, match="'carol' is not in the view of group 'news', only alice, bob"):
            alice.send_to("carol", "x")

    def test_who_reads_nothing_blocks_its_senders_and_nobody_else(self, here: Cluster) -> None:
        alice, bob, carol = here.members("alice", "bob", "carol")
        name_it(bob)
        for sent in range(limits.UNICASTS_UNREAD_MAX + limits.UNICASTS_WAITING_MAX):
            alice.send_to("bob", f"{sent}")
        with pytest.raises(gcom.GComTimeout, match=r"waits for bob#.* to read its unicasts"):
            alice.send_to("bob", "one more", timeout_s=0.3)
        alice.send_to("carol", "past it")
        assert next_of(carol, gcom.Unicast).text == "past it"
        assert alice.call_to("bob", "still there?") == bob.process
        found = [next_of(bob, gcom.Unicast).text for _ in range(sent + 1)]
        assert found == [f"{index}" for index in range(sent + 1)]

    def test_scenario_11_inside_a_callback_a_full_window_raises(self, here: Cluster) -> None:
        """Scenario 11: sending to one from inside a callback; it raises at once where it would have to wait."""
        alice, bob = here.members("alice", "bob")
        results: list[int | gcom.GComError] = []

        def flood(_: gcom.Message) -> None:
            sent = 0
            try:
                while sent < 10_000:
                    alice.send_to("bob", "x")
                    sent += 1
            except gcom.WouldBlock as error:
                results.extend([sent, error])

        alice.listen(on_message=flood)
        bob.send("go")
        until(lambda: len(results) == 2)
        assert results[0] >= limits.UNICASTS_UNREAD_MAX  # type: ignore[operator]

    def test_one_that_only_sends_drops_its_unicasts_too(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        here.node("bob").join("news", receive=False)
        alice.wait_for_members(2, LIMIT_S)
        for _ in range(limits.UNICASTS_UNREAD_MAX * 3):
            alice.send_to("bob", "x")
        alice.flush(LIMIT_S)

    def test_a_leaver_s_unicasts_arrive_first(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        for index in range(500):
            alice.send_to("bob", f"{index}")
        alice.leave()
        assert [next_of(bob, gcom.Unicast).text for _ in range(500)] == [f"{index}" for index in range(500)]
        with pytest.raises(gcom.NotAMember):
            alice.send_to("bob", "x")
        assert next_of(alice, gcom.Departure).undelivered == 0


class TestGroupCalls:
    def test_each_member_answers_the_caller_too(self, here: Cluster) -> None:
        groups = [name_it(group) for group in here.members("alice", "bob", "carol")]
        alice = groups[0]
        results = alice.call("who?")
        assert list(results) == [group.process for group in groups]
        assert [result.value for result in results.values()] == [group.process for group in groups]
        assert results["bob"].text == groups[1].process
        assert [result.name for result in results.values()] == ["alice", "bob", "carol"]
        assert (results.pending, results.departed, len(results)) == ((), (), 3)
        with pytest.raises(KeyError):
            results["dave"]

    def test_targets_and_leaving_oneself_out(self, here: Cluster) -> None:
        alice, bob, carol = [name_it(group) for group in here.members("alice", "bob", "carol")]
        assert list(alice.call("?", exclude_self=True)) == [bob.process, carol.process]
        assert list(alice.call("?", targets=["carol", alice.process, "carol"])) == [carol.process, alice.process]
        assert list(alice.call("?", targets="carol")) == [carol.process]
        assert len(alice.call("?", targets=[])) == 0
        assert len(alice.call("?", targets=["alice"], exclude_self=True)) == 0
        with pytest.raises(gcom.UnknownMember):
            alice.call("?", targets=["dave"])
        with pytest.raises(gcom.BadValue, match="wait must be one of all, first, majority, none; got 'some'"):
            alice.call("?", "some")  # type: ignore[arg-type]
        with pytest.raises(gcom.MessageTooLarge):
            alice.call(b"x" * (limits.ENVELOPE_BYTES_MAX + 1))

    def test_what_a_handler_gets_and_how_it_fails(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        with pytest.raises(gcom.HandlerFailed, match=r"bob#.* could not answer: no handler"):
            alice.call_to("bob", "?")

        @bob.on_call
        def handler(payload: bytes | str, caller: str) -> bytes | str:
            match payload:
                case b"bytes":
                    return payload + caller.encode()
                case "none":
                    return None  # type: ignore[return-value]
                case "large":
                    return "x" * (limits.ENVELOPE_BYTES_MAX + 1)
                case "exit":
                    raise SystemExit(3)
                case "surrogate":
                    raise OSError("\ud800" + "x" * 5_000)
            raise ZeroDivisionError("by zero")

        assert handler is not None
        assert alice.call_to("bob", b"bytes") == b"bytes" + alice.process.encode()
        expected = {
            "none": "BadValue: a handler's answer must be bytes or str; got NoneType",
            "large": "over the limit of 131,072",
            "exit": "SystemExit: 3",
            "surrogate": r"OSError: \?x+$",
            "other": "ZeroDivisionError: by zero",
        }
        for payload, text in expected.items():
            with pytest.raises(gcom.HandlerFailed, match=text):
                alice.call_to("bob", payload)
        result = alice.call("other", targets=["bob"])["bob"]
        assert (result.outcome, result.text, result.data) == (ERROR, expected["other"], expected["other"].encode())
        bob.on_call(None)
        with pytest.raises(gcom.HandlerFailed, match="no handler"):
            alice.call_to("bob", b"bytes")

    @pytest.mark.parametrize("how", ["with join", "after join"])
    def test_a_newcomer_answers_whoever_calls_as_its_view_comes(self, here: Cluster, how: str) -> None:
        (alice,) = here.members("alice")
        answers: list[bytes | str] = []

        def greet(event: gcom.Event) -> None:
            for process in event.joined if isinstance(event, gcom.ViewChange) else ():
                if process.startswith("newcomer"):
                    answers.append(alice.call_to(process, "welcome", LIMIT_S))

        alice.listen(on_event=greet)
        for _ in range(5):
            with gcom.connect("newcomer", here.registry) as node:
                if how == "with join":
                    group = node.join(alice.name, on_call=lambda payload, caller: "thanks")
                else:
                    group = node.join(alice.name)
                    group.on_call(lambda payload, caller: "thanks")
                until(lambda: len(answers) == 1, "the answer")
                group.leave()
            assert answers.pop() == "thanks"

    def test_first_and_majority_wait_for_no_more(self, here: Cluster) -> None:
        alice, bob, carol = here.members("alice", "bob", "carol")
        held = Held()
        carol.on_call(held)
        name_it(bob)
        results = alice.call("?", gcom.FIRST)
        assert results.first is not None
        assert results.first.value == bob.process
        results = alice.call("?", gcom.MAJORITY)
        assert [results[name].outcome for name in ("alice", "bob", "carol")] == [ERROR, VALUE, PENDING]
        with pytest.raises(gcom.GComTimeout, match=r"carol#.* has not answered yet"):
            _ = results["carol"].value
        held.let_go()
        assert alice.call_to("carol", "?") == "late"
        assert results["carol"].outcome is PENDING, "what a call did not wait for does not come in later"

    def test_first_without_any_value_ends_when_all_have_failed(self, here: Cluster) -> None:
        alice, _ = here.members("alice", "bob")
        results = alice.call("?", gcom.FIRST)
        assert results.first is None
        assert [result.outcome for result in results.values()] == [ERROR, ERROR]

    def test_results_can_be_had_as_they_come(self, here: Cluster) -> None:
        alice, bob, carol = here.members("alice", "bob", "carol")
        held = Held()
        bob.on_call(held)
        name_it(carol)
        with alice.call("?", gcom.NONE, exclude_self=True) as results:
            arriving = results.arriving()
            assert next(arriving).member == carol.process
            assert results.pending == (bob.process,)
            held.let_go()
            assert next(arriving).value == "late"
            assert list(arriving) == []
            assert results.wait() is results
        assert "bob#" in repr(results)

    def test_a_call_that_takes_too_long_raises_with_what_there_is(self, here: Cluster) -> None:
        alice, bob, carol = here.members("alice", "bob", "carol")
        held = Held()
        alice.on_call(None)  # it answers at once, and waits for no handler
        bob.on_call(held)
        name_it(carol)
        with pytest.raises(gcom.CallTimeout, match=r"bob#.* did not answer in time") as caught:
            alice.call("?", timeout_s=0.5)
        results = caught.value.results
        assert results.pending == (bob.process,)
        assert results["carol"].value == carol.process
        held.let_go()
        assert alice.call_to("bob", "again") == "late"
        assert len(alice._session.calls) == 0

    def test_an_open_call_ends_by_itself_at_its_time(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        alice.on_call(None)
        held = Held()
        bob.on_call(held)
        results = alice.call("?", gcom.NONE, timeout_s=0.3)
        assert [result.name for result in results.arriving()] == ["alice"]
        assert results.pending == (bob.process,)
        with pytest.raises(gcom.CallTimeout):
            results.wait()
        held.let_go()

    def test_open_calls_have_a_bound(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        held = Held()
        bob.on_call(held)
        calls = [alice.call("?", gcom.NONE, None, targets=["bob"]) for _ in range(limits.CALLS_OPEN_MAX)]
        with pytest.raises(gcom.GComTimeout, match="256 open calls to end"):
            alice.call("?", timeout_s=0.1)
        held.let_go()
        for results in calls:
            assert results.wait(gcom.ALL, LIMIT_S)["bob"].value == "late"
        assert alice.call_to("bob", "?") == "late"

    def test_many_threads_call_at_once(self, here: Cluster) -> None:
        groups = here.members("a", "b", "c")
        for group in groups:
            group.on_call(echo)

        def work(group: gcom.Group, number: int) -> None:
            for index in range(40):
                text = f"{group.process} {number} {index}"
                assert [result.value for result in group.call(text, timeout_s=LIMIT_S).values()] == [text] * 3

        works = [partial(work, group, number) for group in groups for number in range(4)]
        assert at_once(works) == [None] * len(works)


class TestInside:
    """Scenario 11 for calls: from inside callbacks and handlers, without a deadlock."""

    def test_scenario_11_members_that_call_each_other_inside_handlers(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")

        def nested(group: gcom.Group, other: str) -> None:
            def handler(payload: bytes | str, _: str) -> str:
                depth = int(payload)
                return f"{depth}" if not depth else f"{depth}{group.call_to(other, f'{depth - 1}')!s}"

            group.on_call(handler)

        nested(alice, "bob")
        nested(bob, "alice")
        both = [partial(alice.call_to, "bob", "8"), partial(bob.call_to, "alice", "8")]
        assert at_once(both) == ["876543210"] * 2

    def test_scenario_11_deeper_than_there_are_threads_it_ends_with_a_timeout(self, here: Cluster) -> None:
        (alice,) = here.members("alice")

        def handler(*_: object) -> str:
            try:
                return str(alice.call_to("alice", "deeper", 0.5))
            except gcom.CallTimeout:
                return "too deep"

        alice.on_call(handler)
        assert alice.call_to("alice", "go", LIMIT_S) == "too deep"
        assert len(alice._membership.call_server._threads) <= NESTED_MAX

    def test_scenario_11_a_call_to_all_inside_a_callback(self, here: Cluster) -> None:
        groups = [name_it(group) for group in here.members("alice", "bob", "carol")]
        found: list[list[bytes | str]] = []

        def on_message(group: gcom.Group, message: gcom.Message) -> None:
            found.append([result.value for result in group.call(message.payload).values()])

        for group in groups:
            group.listen(on_message=partial(on_message, group))
        for _ in range(10):
            groups[0].send("ask")
        until(lambda: len(found) == 30)
        assert found == [[group.process for group in groups]] * 30

    def test_scenario_11_a_call_from_inside_a_view_callback(self, here: Cluster) -> None:
        (alice,) = here.members("alice")
        name_it(alice)
        found: list[int] = []

        def on_view(view: gcom.View) -> None:
            # Of two only: the view in which bob has left comes as alice leaves, and a call may fail for that.
            if len(view.members) == 2:
                found.append(len(alice.call("?")))

        alice.listen(on_view=on_view)
        here.members("bob")
        until(lambda: found[-1:] == [2])

    def test_a_handler_may_multicast_and_write(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")

        def handler(_: bytes | str, caller: str) -> str:
            bob.send("to all")
            bob.send_to(caller, "to you")
            return "done"

        bob.on_call(handler)
        assert alice.call_to("bob", "?") == "done"
        assert next_of(alice, gcom.Message).text == "to all"
        assert next_of(alice, gcom.Unicast).text == "to you"

    def test_handlers_take_turns_even_around_their_own_calls(self, here: Cluster) -> None:
        """One at a time, but for those that wait for a call; and none comes back into the middle of another."""
        alice, bob = here.members("alice", "bob")
        name_it(alice)
        at_work, most, count = 0, 0, 0

        def handler(*_: object) -> str:
            nonlocal at_work, most, count
            at_work += 1
            most = max(most, at_work)
            at_work -= 1
            bob.call_to("alice", "?")
            at_work += 1
            most = max(most, at_work)
            count += 1
            at_work -= 1
            return ""

        bob.on_call(handler)
        works = [partial(alice.call_to, "bob", "?", LIMIT_S) for _ in range(30)]
        assert at_once(works) == [""] * 30
        assert (most, count) == (1, 30)


class TestDepartures:
    def test_scenario_41_a_member_that_leaves_in_the_middle_is_departed(self, here: Cluster) -> None:
        alice, bob, carol = here.members("alice", "bob", "carol")
        held = Held()
        carol.on_call(held)
        name_it(bob)
        results = alice.call("?", gcom.NONE, exclude_self=True)
        assert held.entered.wait(LIMIT_S)
        carol.leave()
        results.wait(gcom.ALL, LIMIT_S)
        assert results.departed == (carol.process,)
        with pytest.raises(gcom.MemberDeparted, match="departed before it answered"):
            _ = results["carol"].value
        held.let_go()

    def test_the_caller_s_own_leave_ends_its_calls(self, here: Cluster) -> None:
        alice, bob = here.members("alice", "bob")
        held = Held()
        bob.on_call(held)
        caller = threading.Thread(target=lambda: ends.append(_error(alice)), daemon=True)
        ends: list[gcom.GComError | None] = []
        caller.start()
        assert held.entered.wait(LIMIT_S)
        alice.leave()
        caller.join(LIMIT_S)
        assert isinstance(ends[0], gcom.NotAMember)
        held.let_go()


def _error(group: gcom.Group) -> gcom.GComError | None:
    try:
        group.call("?", timeout_s=None)
    except gcom.GComError as error:
        return error
    return None


class Answerer:
    """tests/runtime/answerer.py as a process of its own."""

    def __init__(self, stack: ExitStack, name: str, registry: str) -> None:
        command = [sys.executable, "-m", "tests.runtime.answerer", name, registry, "news"]
        self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        stack.callback(self._end)

    def expect(self, line: str) -> None:
        assert self.popen.stdout is not None
        assert self.popen.stdout.readline() == f"{line}\n"

    def _end(self) -> None:
        self.popen.kill()
        self.popen.communicate(timeout=LIMIT_S)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["bob", "carol"])
def test_scenario_41_a_process_killed_in_the_middle_of_a_call_of_all(here: Cluster, victim: str) -> None:
    """Scenario 41 with real processes: the call returns with the one that was killed marked departed."""
    with ExitStack() as stack:
        alice = name_it(here.members("alice")[0])
        others = {name: Answerer(stack, name, here.registry) for name in ("bob", "carol")}
        for process in others.values():
            process.expect("joined")
        alice.wait_for_members(3, LIMIT_S)
        assert {result.text for result in alice.call("hi", exclude_self=True).values()} == {
            f"hi from {name} to {alice.process}" for name in others
        }
        gone = next(it for it in alice.view.members if it.startswith(f"{victim}#"))
        for process in others.values():
            process.expect("asked")
        held = alice.call("wait", gcom.NONE, None, targets=[gone])
        all_of_them = alice.call("hi", gcom.NONE, None)
        others[victim].expect("asked")
        until(lambda: all_of_them.pending == (gone,), "the answers of those that live")
        alice.send_to(gone, "too late?")
        others[victim].popen.send_signal(signal.SIGKILL)
        all_of_them.wait(gcom.ALL, LIMIT_S)
        assert all_of_them.departed == held.wait(gcom.ALL, LIMIT_S).departed == (gone,)
        assert sorted(result.name for result in all_of_them.values() if result.outcome is VALUE) == sorted(
            {"alice", "bob", "carol"} - {victim}
        )
        with pytest.raises(gcom.UnknownMember):
            alice.call_to(gone, "hi")


@pytest.mark.slow
def test_a_caller_that_loses_its_quorum_has_what_had_come(here: Cluster) -> None:
    """The two others are paused: the caller, alone, is detached, and may wait again once they run."""
    with ExitStack() as stack:
        alice = name_it(here.members("alice")[0])
        others = [Answerer(stack, name, here.registry) for name in ("bob", "carol")]
        for process in others:
            process.expect("joined")
        alice.wait_for_members(3, LIMIT_S)
        for process in others:
            stop(process.popen)
        results = alice.call("hi", gcom.NONE, None)
        with pytest.raises(gcom.CallDetached, match=r"no quorum of its view: .*bob.* did not answer yet") as caught:
            results.wait(gcom.ALL, LIMIT_S)
        assert caught.value.results is results
        assert results["alice"].value == alice.process
        assert sorted(member.partition("#")[0] for member in results.pending) == ["bob", "carol"]
        with pytest.raises(gcom.Detached):
            list(results.arriving())
        with pytest.raises(gcom.Detached):
            alice.send_to("bob", "x")
        for process in others:
            process.popen.send_signal(signal.SIGCONT)
        alice.wait_for_members(1, LIMIT_S)
        results.wait(gcom.MAJORITY, LIMIT_S)  # one of them it may have put out as it heard the other
        assert len(results.pending) + len(results.departed) <= 1
