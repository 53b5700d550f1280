"""Heartbeats of one group for which another group's stand: how many go, and what is found in time all the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gcom.core.links import Readiness, Relay
from gcom.core.machine import GroupMachine
from gcom.core.member import Member
from gcom.core.messages import events
from gcom.core.messages.frames import Frame, Probe, Reply
from gcom.core.unicast.channel import Pace
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.making import A, B, C
from tests.core.network import STEP_MS, Network, Observer

LONG_MS = 10 * limits.OWN_EXCHANGE_MS


class InTwoGroups(Network):
    """Processes that are in another group, too, whose heartbeats go every HEARTBEAT_MS; `mute` ones are not in it."""

    def __init__(self, definition: Definition | None = None) -> None:
        super().__init__(definition)
        self.mute: set[Process] = set()

    def _call(self, who: Process, peer: Process, machine: GroupMachine) -> None:
        due_ms, beats = machine.due_ms(peer), machine.heartbeats
        waits = due_ms is not None and due_ms <= self.now_ms and beats is not None and beats.put_off(peer, self.now_ms)
        if waits and self.alive(peer) and peer not in self._hanging and peer not in self.mute:
            for one, other in ((who, peer), (peer, who)):
                if known := self.machines[one].heartbeats:
                    known.heard(other, self.now_ms)
        super()._call(who, peer, machine)


class Told(Observer):
    """How much of the other's messages each said last that it has read."""

    def __init__(self) -> None:
        self.consumed: dict[Process, int] = {}

    def called(self, frame: Frame) -> None:
        self.consumed[frame.source] = frame.status.consumed

    def replied(self, callee: Process, caller: Process, reply: Reply) -> None:
        if isinstance(reply, Frame):
            self.consumed[callee] = reply.status.consumed


def _formed(*names: str) -> InTwoGroups:
    net = InTwoGroups()
    net.form(*names)
    net.pass_ms(2 * limits.OWN_EXCHANGE_MS)  # all that was new is told
    net.carried.clear()
    return net


def test_a_group_with_nothing_new_to_say_has_few_heartbeats() -> None:
    net = _formed("a", "b", "c")
    net.pass_ms(LONG_MS)
    # Of each pair one calls, and the other never does: both would pay.
    assert {(frame.source, frame.target) for frame in net.carried} == {(C, A), (C, B), (B, A)}
    assert 3 * 10 <= len(net.carried) <= 3 * 12
    assert [net.suspected(who) for who in (A, B, C)] == [[], [], []]


def test_what_is_new_is_told_with_the_next_heartbeat() -> None:
    net = _formed("a", "b")
    net.observer = told = Told()
    net.slow.add(B)
    net.send(A, "read late")
    net.pass_ms(limits.OWN_EXCHANGE_MS // 2)
    assert told.consumed[B] == 0
    net.handle(B, events.Consumed(A, 1, 100))  # too little credit to be told at once
    net.pass_ms(limits.HEARTBEAT_MS + STEP_MS)
    assert told.consumed[B] == 1


def test_a_process_that_is_not_heard_in_the_other_group_is_called_in_this_one() -> None:
    net = _formed("a", "b")
    net.mute = {A, B}
    net.pass_ms(LONG_MS)
    # One waits in vain, and the next goes.
    assert LONG_MS // (2 * limits.HEARTBEAT_MS) - 1 <= len(net.carried) <= LONG_MS * 3 // (4 * limits.HEARTBEAT_MS)
    assert [net.suspected(who) for who in (A, B)] == [[], []]


@pytest.mark.parametrize("who", [A, C])  # who is called by all others, and who calls all
def test_who_lives_and_is_in_the_group_no_more_is_found(who: Process) -> None:
    net = _formed("a", "b", "c")
    net.handle(who, events.Exit())  # it says nothing, as one that reads nothing does not
    rest = {A, B, C} - {who}
    net.until(lambda: all(net.members(it) == rest for it in rest), limits.OWN_EXCHANGE_MS + limits.HEARTBEAT_MS)


def test_who_is_cut_off_in_this_group_alone_is_put_out() -> None:
    """As one whom a rule keeps out of one of its groups: the others are as they were."""
    net = _formed("a", "b", "c")
    net.lose = lambda frame: A in (frame.source, frame.target)
    net.until(lambda: net.members(B) == net.members(C) == {B, C} and not net.members(A), 3 * limits.OWN_EXCHANGE_MS)


@pytest.mark.parametrize("network", [Network, InTwoGroups])
def test_who_hangs_is_suspected_as_soon_as_ever(network: Callable[[], Network]) -> None:
    net = network()
    net.form("a", "b", "c")
    net.pass_ms(2 * limits.OWN_EXCHANGE_MS)
    net.pause(A)
    net.until(lambda: (A, "silence") in net.suspected(B) + net.suspected(C), 2 * limits.SILENCE_MIN_MS)


def _item(member: Member) -> None:
    member._links[A].control.append(Probe(1, ()))


def _with_the_heartbeat(member: Member) -> None:
    member._links[A].later = Probe(1, ())


def _status(member: Member) -> None:
    member._links[A].owed = True


def _messages(member: Member) -> None:
    member._links[A].relays[A] = Relay(1, 0, 1)


def _news(member: Member) -> None:
    member._links[A].told = None
    member.heartbeats.version += 1  # as with each step that may bring news


def _too_long(member: Member) -> None:
    member._links[A].exchanged_ms -= limits.OWN_EXCHANGE_MS


def _silent(member: Member) -> None:
    member._links[A].heard_ms -= limits.HEARTBEAT_MS + limits.HEARTBEATS_TOGETHER_MS


def _in_flight(member: Member) -> None:
    member._links[A].become(Readiness.IN_FLIGHT)


def _a_change(member: Member) -> None:
    member._view_change.busy = True


def _not_installed(member: Member) -> None:
    member._view_change.behind.add(A)


def _envelopes(member: Member) -> None:
    member.unicast.channels.outboxes[A].pace = Pace.STALLED


def _a_stranger(member: Member) -> None:
    member._view_change.view = replace(member._view_change.view, members=(B,))


@pytest.mark.parametrize(
    "change",
    [
        _item,
        _with_the_heartbeat,
        _status,
        _messages,
        _news,
        _too_long,
        _silent,
        _in_flight,
        _a_change,
        _not_installed,
        _envelopes,
        _a_stranger,
    ],
    ids=lambda it: it.__name__,
)
def test_a_heartbeat_that_has_something_to_say_does_not_wait(change: Callable[[Member], None]) -> None:
    net = _formed("a", "b")
    net.until(lambda: bool(net.carried))
    member = net.machines[B]._member
    assert member is not None
    link = member._links[A]
    assert member.heartbeats.put_off(A, net.now_ms + limits.HEARTBEAT_MS)
    due_ms = link.due_ms
    change(member)
    assert not member.heartbeats.put_off(A, net.now_ms + limits.HEARTBEAT_MS)
    assert link.due_ms == due_ms


def test_a_failed_call_is_not_passed_over() -> None:
    net = _formed("a", "b")
    net.cuts = {("b", "a")}
    net.until(lambda: bool(net.machines[B]._links[A].failures), limits.OWN_EXCHANGE_MS)
    beats = net.machines[B].heartbeats
    assert beats is not None
    assert not beats.put_off(A, net.now_ms)
    due_ms = net.machines[B].due_ms(A)
    beats.heard(A, net.now_ms)
    assert net.machines[B].due_ms(A) == due_ms


def test_to_ask_whether_a_heartbeat_may_wait_tells_nothing() -> None:
    net = _formed("a", "b")
    net.handle(A, events.SendUnicast(B, b"one"))
    net.pass_ms(limits.HEARTBEAT_MS)
    net.handle(B, events.UnicastRead(A))
    member = net.machines[B]._member
    assert member is not None
    inbox = member.unicast.channels._inboxes[A]
    assert (inbox.unread.read, inbox.told) == (1, 0)
    assert not member.heartbeats.put_off(A, net.now_ms)
    assert inbox.told == 0


def test_who_is_suspected_here_shows_no_life_for_other_groups() -> None:
    net = _formed("a", "b", "c")
    beats = net.machines[B].heartbeats
    assert beats is not None
    assert beats.shows_life(A)
    assert not beats.shows_life("d#1")
    net.pause(A)
    net.until(lambda: bool(net.suspected(B)))
    assert not beats.shows_life(A)


def test_a_stranger_has_no_heartbeat_to_put_off() -> None:
    net = _formed("a", "b")
    beats = net.machines[B].heartbeats
    assert beats is not None
    assert not beats.put_off(C, net.now_ms)
    beats.heard(C, net.now_ms)
    assert net.machines[B].peers == [A]
