"""Whole stays in a group, each told in a sentence, on a network that the test drives by hand."""

from __future__ import annotations

from itertools import count

import pytest

from gcom.core.machine import STAGES, Stage
from gcom.core.messages import events, frames
from gcom.core.messages.effects import Deliver, DoubtSettled, Ended, Quorum
from gcom.core.messages.frames import Control, Frame, Refused
from gcom.errors import NameTaken, NotInvited, Unavailable
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.run import Payload
from tests.core.making import A, B, C, D, E
from tests.core.network import Network


def test_the_table_of_stages_lists_every_stage() -> None:
    assert set(STAGES) == set(Stage)


# data


def test_what_one_sends_all_deliver_once_and_in_order() -> None:
    net = Network()
    net.form("a", "b", "c")
    texts = [f"t{index}" for index in range(5_000)]
    net.send(B, *texts)
    net.until(lambda: all(net.delivered(who) == texts for who in (A, B, C)))


def test_a_member_alone_delivers_its_own_at_once() -> None:
    net = Network()
    net.form("a")
    texts = [str(index) for index in range(limits.WINDOW_MESSAGES_MAX)]
    net.send(A, *texts)
    assert net.delivered(A) == texts
    assert net.machines[A].lacking(net.machines[A].number) == []


def test_a_member_alone_is_held_up_by_its_own_reading_only() -> None:
    net = Network()
    net.form("a")
    net.slow.add(A)
    net.send(A, *["x"] * (limits.WINDOW_MESSAGES_MAX + 1))
    assert net.machines[A].unsent_count == 1
    assert net.machines[A].waits_for == "this process to read its own deliveries"
    net.handle(A, events.Consumed(A, 10, 10))
    assert net.machines[A].unsent_count == 0


def test_scenario_12_a_slow_reader_holds_up_the_sender_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_MESSAGES_MAX", 30)
    net = Network()
    net.form("a", "b", "c")
    net.slow.add(C)
    net.send(A, *["x"] * 100)
    net.pass_ms(1_000)
    assert len(net.delivered(C)) == 30
    assert net.machines[A].unsent_count == 70
    assert net.machines[A].waits_for == f"{C} to read its deliveries"
    net.slow.clear()
    net.handle(C, events.Consumed(A, 30, 30))
    net.until(lambda: len(net.delivered(C)) == 100)


@pytest.mark.parametrize("ends", range(8))
def test_a_run_that_fills_a_frame_to_the_last_byte_still_goes(ends: int) -> None:
    net = Network()
    net.form("a", "b")
    net.send(A, "é" * 40_000, "é" * 40_000, "é" * 30_560 + "x" * ends)
    net.until(lambda: len(net.delivered(B)) == 3)


def test_over_basic_a_broken_call_is_a_skip_and_the_rest_is_delivered() -> None:
    net = Network(Definition.parse("g", multicast="BASIC"))
    net.form("a", "b", "c")
    net.lose = lambda frame: bool(frame.runs) and frame.target == C
    net.send(A, "lost")
    net.until(lambda: net.delivered(B) == ["lost"])
    net.lose = lambda frame: False
    net.send(A, "found")
    net.until(lambda: net.delivered(C) == ["found"] and net.skipped(C) == 1)
    assert net.delivered(A) == net.delivered(B) == ["lost", "found"]


def test_over_reliable_broken_calls_cost_nothing_but_time() -> None:
    net = Network()
    net.form("a", "b", "c")
    lost = iter([True, True, False, True, False, False] * 1_000)
    net.lose = lambda frame: next(lost)
    for index in range(40):
        net.send(A, f"a{index}")
        net.send(C, f"c{index}")
        net.step()
    net.until(lambda: all(len(net.delivered(who)) == 80 for who in (A, B, C)))


# a sender dies


@pytest.mark.parametrize(("sender", "reached", "other"), [(C, A, B), (C, B, A), (A, B, C), (B, C, A)])
def test_scenario_03_a_sender_dies_after_it_reached_one_of_two_and_both_deliver(
    sender: str, reached: str, other: str
) -> None:
    net = Network()
    net.form("a", "b", "c")
    net.lose = lambda frame: bool(frame.runs) and frame.target == other
    net.send(sender, "last words")
    net.until(lambda: net.delivered(reached) == ["last words"])
    net.kill(sender)
    net.lose = lambda frame: False
    net.until_view(reached, other)
    assert net.delivered(other) == ["last words"]
    assert net.views(other)[-1].left == {sender: "dead"}


def test_what_a_dead_sender_put_to_nobody_is_delivered_by_nobody() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.lose = lambda frame: bool(frame.runs)
    net.send(C, "unheard")
    net.until(lambda: net.delivered(C) == ["unheard"])
    net.kill(C)
    net.until_view(A, B)
    assert net.delivered(A) == net.delivered(B) == []


def test_a_survivor_is_one_second_from_a_view_without_the_dead() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.kill(B)
    killed_ms = net.now_ms
    net.until_view(A, C)
    assert net.now_ms - killed_ms < 1_000


# the leader dies in a change


@pytest.mark.parametrize("reached", [1, 2, 3])
@pytest.mark.parametrize("kind", [frames.Prepare, frames.Cut, frames.Install])
def test_scenario_24_the_leader_dies_in_the_middle_of_a_change_and_the_rest_end_in_one_view(
    kind: type[Control], reached: int
) -> None:
    net = Network()
    net.form("a", "b", "c", "d", "e")
    net.lose = lambda frame: bool(frame.runs) and frame.source == E and frame.target != D
    net.send(E, "last words")  # d alone has them
    net.until(lambda: net.delivered(D) == ["last words"])
    net.kill_after(A, kind, reached)
    net.kill(E)
    net.until_view(B, C, D)
    assert not net.alive(A)
    assert net.delivered(B) == net.delivered(C) == net.delivered(D) == ["last words"]
    net.send(B, "on we go")
    net.until(lambda: net.delivered(D)[-1] == "on we go")


def test_after_an_accepted_cut_a_new_proposer_takes_the_very_same_value() -> None:
    net = Network()
    net.form("a", "b", "c", "d", "e")
    net.kill_after(A, frames.Cut, 3)
    net.leave(E)
    net.until_view(B, C, D)
    firsts = [next(installed for installed in net.views(who) if installed.view.number == 6) for who in (B, C, D)]
    assert firsts == [firsts[0]] * 3
    assert firsts[0].left == {E: "request"}
    assert A in firsts[0].view.members  # dead already: that is the business of the view after
    assert net.end(E) == Ended(5, "request", settled=6)


def test_a_change_without_faults_is_three_calls_to_each_one_after_the_other() -> None:
    net = Network()
    net.form("a", "b", "c", "d", "e")
    net.pass_ms(1_000)
    net.carried.clear()
    net.leave(E)
    net.until_view(A, B, C, D)
    items = [(type(item), frame.source) for frame in net.carried for item in frame.control]
    assert items == [(kind, A) for kind in (frames.Prepare, frames.Cut, frames.Install) for _ in (B, C, D, E)]


@pytest.mark.parametrize("kind", [frames.Promise, frames.CutOk])
def test_an_answer_that_is_lost_with_its_reply_is_asked_for_again(kind: type[Control]) -> None:
    net = Network()
    net.form("a", "b", "c")
    left = [2, 0]  # so many replies are lost

    def lose(reply: Frame) -> bool:
        hit = left[0] > 0 and any(isinstance(item, kind) for item in reply.control)
        left[0] -= hit
        left[1] += hit
        return hit

    net.lose_reply = lose
    net.leave(C)
    net.until_view(A, B)
    assert left == [0, 2]


def test_a_paused_member_that_comes_back_while_another_dies_does_not_freeze_the_group() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.cut_off.add(B)
    net.kill(C)  # a suspects it at once, and begins a change with b
    net.until(lambda: (B, "silence") in net.suspected(A))
    net.cut_off.clear()
    net.until_view(A, B)
    net.send(B, "here again")
    net.until(lambda: net.delivered(A) == ["here again"])


# leaving


def test_a_leader_that_leaves_is_settled_and_the_next_in_age_leads() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.send(A, "good bye")
    net.until(lambda: net.machines[A].unsent_count == 0)
    net.leave(A)
    net.until(lambda: net.machines[A].stage is Stage.ENDED)
    net.until_view(B, C)
    assert net.delivered(B) == net.delivered(C) == ["good bye"]
    assert net.end(A) == Ended(3, "request", settled=4)
    last = net.views(B)[-1]
    assert (last.view.leader, last.left) == (B, {A: "request"})


def test_a_leaver_delivers_all_that_its_last_view_delivered() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.lose = lambda frame: bool(frame.runs) and frame.source == A and frame.target == C
    net.send(A, "before you go")
    net.until(lambda: net.delivered(B) == ["before you go"])
    net.leave(C)
    net.until(lambda: net.end(C) is not None)
    assert net.delivered(C) == ["before you go"]


def test_a_leaver_that_hears_of_its_view_two_views_late_is_settled_all_the_same() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.lose = lambda frame: frame.target == C and any(isinstance(item, frames.Install) for item in frame.control)
    net.leave(C)
    net.until_view(A, B)
    net.start("d")
    net.until_view(A, B, D)
    net.lose = lambda frame: False
    net.until(lambda: net.end(C) is not None)
    assert net.end(C) == Ended(3, "request", settled=4)


def test_who_left_long_ago_is_called_no_more() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.leave(C)
    net.until_view(A, B)
    net.pass_ms(limits.TIME_WAIT_MS + limits.HEARTBEAT_MS)
    assert net.machines[A].peers == [B]


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_scenario_25_all_leave_at_once_and_the_group_is_gone(count: int) -> None:
    net = Network()
    members = net.form(*"abcde"[:count])
    for who in members:
        net.leave(who)
    net.until(lambda: all(net.machines[who].stage is Stage.ENDED for who in members))
    assert [end.reason for who in members if (end := net.end(who))] == ["request"] * count
    net.step()
    assert net.machines[net.start("z")].stage is Stage.ENTERING  # a new one: its definition is made anew
    net.until_view("z#1")
    assert net.machines["z#1"].instance == "i0001-1-i0002"  # and follows the one that all have left
    assert [(it.instance, it.by) for installed in net.views("z#1") if (it := installed.succeeds)] == [
        ("i0001", "ended")
    ]


def test_one_joins_while_another_leaves() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.start("d")
    net.leave(B)
    net.until_view(A, C, D)
    net.until(lambda: net.machines[B].stage is Stage.ENDED)
    assert net.end(B) is not None
    net.send(D, "hello")
    net.until(lambda: net.delivered(A) == net.delivered(C) == ["hello"])
    assert net.delivered(B) == []


def test_the_leader_leaves_while_one_joins() -> None:
    net = Network()
    net.form("a", "b")
    net.start("c")
    net.leave(A)
    net.until_view(B, C)


def test_who_goes_without_waiting_says_what_may_not_have_arrived() -> None:
    net = Network()
    net.form("a", "b")
    net.lose = lambda frame: bool(frame.runs)
    net.send(A, "x", "y")
    net.until(lambda: len(net.delivered(A)) == 2)
    net.handle(A, events.Exit())
    assert net.end(A) == Ended(2, "exit", None, (1, 2))
    assert net.machines[A].stage is Stage.ENDED
    assert (net.machines[A].deadline_ms, net.machines[A].peers) == (None, [])


def test_a_process_that_gives_up_while_it_enters_is_simply_gone() -> None:
    net = Network()
    net.form("a")
    net.start("b")
    net.leave(B)
    assert net.machines[B].stage is Stage.ENDED
    assert net.end(B) is None
    net.pass_ms(1_000)
    net.until_view(A)


# joining


def test_a_joiner_delivers_what_is_sent_in_its_first_view_and_nothing_older() -> None:
    net = Network()
    net.form("a", "b")
    net.send(A, "old")
    net.until(lambda: net.delivered(B) == ["old"])
    net.start("c")
    net.until_view(A, B, C)
    assert net.views(C)[0].base == {A: 1}
    net.send(A, "new")
    net.until(lambda: net.delivered(C) == ["new"])


def test_scenario_27_a_joiner_dies_before_it_is_told_and_the_group_goes_on() -> None:
    net = Network()
    net.form("a", "b")
    net.kill_after(C, frames.Join, 1)
    net.start("c")
    net.until(lambda: not net.alive(C))
    net.until(lambda: net.number(A) == 4)  # it is let in, and put out
    net.until_view(A, B)
    net.send(A, "still here")
    net.until(lambda: net.delivered(B) == ["still here"])


def test_several_that_come_together_are_let_in_by_few_views() -> None:
    net = Network()
    net.form("a")
    for name in "bcde":
        net.start(name)
    net.until_view(A, B, C, D, E)
    assert net.number(A) == 2


@pytest.mark.parametrize("ordering", ["FIFO", "CAUSALTOTAL"])
def test_scenario_21_ten_that_join_at_one_instant_are_in_with_three_views_and_miss_nothing_since(ordering: str) -> None:
    net = Network(Definition.parse("g", ordering))
    net.form("a", "b")
    net.send(A, "old")
    net.until(lambda: net.delivered(B) == ["old"])
    joiners = [net.start(f"j{place}") for place in range(10)]
    sent: list[Payload] = []
    while any(net.members(who) != {A, B, *joiners} for who in (A, B, *joiners)):
        sent.append(f"{len(sent)}")
        net.send(B, sent[-1])
        net.step()
        assert len(sent) < 1_000
    assert net.number(A) <= 2 + 3
    net.until(lambda: net.delivered(A) == ["old", *sent])
    for who in joiners:
        base = (net.views(who)[0].base or {}).get(B, 0)
        net.until(lambda who=who, base=base: net.delivered(who) == sent[base:])  # type: ignore[misc]
        net.send(who, f"of {who}")
    for who in (A, B, *joiners):
        net.until(lambda who=who: {f"of {other}" for other in joiners} <= set(net.delivered(who)))  # type: ignore[misc]


@pytest.mark.parametrize("leavers", ["a", "c", "ab", "de", "ace", "abcd"])
def test_scenario_25_leaves_and_joins_at_one_instant_while_all_send(leavers: str) -> None:
    """Every leaver's messages are delivered by all who stay, and none of them by a joiner that came after them."""
    net = Network()
    members = net.form(*"abcde")
    going = [f"{name}#1" for name in leavers]
    staying = [who for who in members if who not in going]
    calls = count()
    net.lose = lambda frame: bool(frame.runs) and next(calls) % 2 == 0  # so some hold what others have yet to get
    for turn in range(3):
        for who in members:
            net.send(who, f"{who} {turn}")
    net.step()  # all have their numbers
    for who in going:
        net.leave(who)
    joiners = [net.start(name) for name in ("x", "y")]
    for who in staying:
        net.send(who, f"{who} 3")
    net.until_view(*staying, *joiners)
    net.until(lambda: all(net.machines[who].stage is Stage.ENDED for who in going))
    assert net.number(staying[0]) <= 5 + 3
    ends = [end for who in going if (end := net.end(who))]
    assert [(end.reason, end.unconfirmed) for end in ends] == [("request", None)] * len(going)
    every = {who: [f"{who} {turn}" for turn in range(3 if who in going else 4)] for who in members}
    for who in staying:
        net.until(lambda who=who: len(net.delivered(who)) == sum(map(len, every.values())))  # type: ignore[misc]
        delivered = [str(text) for text in net.delivered(who)]
        assert {of: [text for text in delivered if text.startswith(of)] for of in members} == every
    for who in joiners:
        base = net.views(who)[0].base or {}
        rest = [text for of in base for text in every[of][base[of] :]]
        net.until(lambda who=who, rest=rest: sorted(map(str, net.delivered(who))) == sorted(rest))  # type: ignore[misc]
    net.send(joiners[0], "hello")
    net.until(lambda: all(net.delivered(who)[-1:] == ["hello"] for who in (*staying, *joiners)))


def test_a_name_is_refused_while_its_holder_answers() -> None:
    net = Network()
    net.form("a", "b")
    other = net.start("b", "2")
    net.until(lambda: net.error(other) is not None)
    assert isinstance(net.error(other), NameTaken)
    net.pass_ms(500)
    net.until_view(A, B)
    assert net.number(A) == 2  # nobody came or went


def test_a_joiner_that_waits_behind_a_living_holder_and_vanishes_makes_no_views() -> None:
    net = Network()
    net.form("a", "b")
    other = net.start("b", "2")
    net.until(lambda: any(isinstance(item, frames.Join) for frame in net.carried[-3:] for item in frame.control))
    net.kill(other)
    net.pass_ms(5_000)
    assert net.number(A) == 2


def test_who_went_is_not_let_in_again_by_an_old_join() -> None:
    net = Network()
    net.form("a", "b", "c")
    old = next(frame for frame in net.carried if frame.source == C and isinstance(frame.control[0], frames.Join))
    net.leave(C)
    net.until_view(A, B)
    reply, _ = net.machines[A].receive(old, net.now_ms)
    assert isinstance(reply, frames.Refused)
    net.pass_ms(1_000)
    net.until_view(A, B)


def test_newcomers_do_not_wait_for_one_another_when_who_admitted_them_is_dead() -> None:
    net = Network()
    net.form("a")
    net.lose = lambda frame: any(isinstance(item, frames.Install) for item in frame.control)
    b, c = net.start("b"), net.start("c")
    net.until(lambda: net.number(A) == 2)
    net.kill(A)
    net.lose = lambda _: False
    net.until(lambda: net.members(b) == {b, c} == net.members(c))


def test_scenario_28_who_died_comes_back_under_its_name_in_the_change_that_takes_it_out() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.kill(B)
    again = net.start("b", "2")
    net.until_view(A, C, again)
    last = net.views(A)[-1]
    assert (last.joined, last.left, last.view.number) == ((again,), {B: "dead"}, 4)


def test_who_asks_while_the_leader_is_dead_is_let_in_by_the_next() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.kill(A)
    net.start("d")
    net.until_view(B, C, D)


def test_who_could_not_reach_the_leader_for_a_while_gets_in_when_it_can() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.lose = lambda frame: frame.source == D and frame.target == A
    net.start("d")
    net.pass_ms(3_000)  # b and c send it to a
    net.lose = lambda frame: False
    net.until_view(A, B, C, D)


def test_a_group_whose_members_are_all_dead_begins_a_new_instance() -> None:
    net = Network()
    net.form("a", "b")
    net.kill(A)
    net.kill(B)
    net.start("c")
    net.until_view(C)
    assert net.machines[C].instance == "i0001-1-1"
    assert net.number(C) == 1
    assert [(it.instance, it.view) for installed in net.views(C) if (it := installed.succeeds)] == [("i0001", 2)]


def test_the_65th_member_is_told_why_it_may_not_enter() -> None:
    net = Network()
    members = [net.start(f"m{number:02}") for number in range(limits.MEMBERS_MAX)]
    net.until_view(*members)
    late = net.start("late")
    net.until(lambda: net.error(late) is not None)
    assert type(net.error(late)) is Unavailable
    assert str(net.error(late)) == (
        "group 'g' is full: it has 64 members, the most there may be; join when one has left, or use several groups"
    )


def test_a_static_group_starts_when_all_are_in_and_takes_nobody_else() -> None:
    net = Network(Definition.parse("g", static=["a", "b", "c"]))
    net.form("a", "b")
    net.send(A, "early")
    net.pass_ms(500)
    assert net.delivered(A) == []
    assert "static group" in net.machines[A].waits_for
    stranger = net.start("d")
    net.until(lambda: net.error(stranger) is not None)
    assert isinstance(net.error(stranger), NotInvited)
    net.start("c")
    net.until(lambda: net.delivered(A) == net.delivered(B) == net.delivered(C) == ["early"])


# expelled, cut off, late


def test_an_expelled_process_is_told_and_ends() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.cut_off.add(C)
    net.send(C, "into the void")
    net.until(lambda: net.members(A) == {A, B})
    net.cut_off.clear()
    net.until(lambda: net.machines[C].stage is Stage.ENDED)
    assert net.end(C) == Ended(3, "expelled", arrived=0)
    assert net.of(C, DoubtSettled) == [DoubtSettled(1, 1, arrived=False)]
    assert net.delivered(A) == net.delivered(B) == []


def test_who_hears_no_quorum_for_long_is_detached_and_stays_a_member() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.pass_ms(limits.DETACH_MS)
    for who in (A, B, C):
        net.cut_off.add(who)
    cut_off_ms = net.now_ms
    net.send(C, "in doubt")
    net.until(lambda: bool(net.of(C, Quorum)))
    assert net.of(C, Quorum) == [Quorum(3, has=False, in_doubt=(1, 1))]
    assert limits.DETACH_MS - 500 <= net.now_ms - cut_off_ms <= limits.DETACH_MS + 500
    net.pass_ms(30_000)
    assert all(net.machines[who].stage is Stage.MEMBER and net.machines[who].detached for who in (A, B, C))
    net.heal()
    net.until(lambda: not any(net.machines[who].detached for who in (A, B, C)))
    net.until(lambda: all(net.delivered(who) == ["in doubt"] for who in (A, B, C)))
    net.until(lambda: net.of(C, DoubtSettled) == [DoubtSettled(1, 1, arrived=True)])
    assert [it.has for it in net.of(C, Quorum)] == [False, True]
    assert net.machines[C].instance == "i0001"
    assert [net.end(who) for who in (A, B, C)] == [None] * 3


def test_one_that_leaves_while_it_is_detached_leaves_when_it_hears_a_quorum_again() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.cut_off |= {A, B, C}
    net.until(lambda: net.machines[C].detached)
    net.leave(C)
    net.pass_ms(5_000)
    assert net.end(C) is None
    net.heal()
    net.until(lambda: net.end(C) is not None)
    net.until_view(A, B)
    assert net.end(C) == Ended(3, "request", settled=net.number(A))


def test_of_two_that_lose_each_other_the_leader_goes_on_and_the_other_is_put_out_when_they_meet() -> None:
    net = Network()
    net.form("a", "b")
    net.split("a registry", "b")
    net.until_view(A)
    net.until(lambda: net.machines[B].detached)
    net.pass_ms(10_000)
    assert net.end(B) is None
    net.heal()
    net.until(lambda: net.end(B) is not None)
    assert [end.reason for end in net.of(B, Ended)] == ["expelled"]
    assert [it.has for it in net.of(B, Quorum)] == [False]


def test_those_who_go_on_are_told_who_was_suspected_and_why_it_went() -> None:
    net = Network()
    net.form("a", "b", "c", "d")
    net.cut_off.add(C)
    net.until_view(A, B, D)
    assert all(net.views(who)[-1].left == {C: "silence"} for who in (A, B, D))
    # A majority suspects it; the last member may be asked for its promise before its own time is over.
    noticed = {who for who in (A, B, D) if (C, "silence") in net.suspected(who)}
    assert len(noticed) >= 2
    net.kill(D)
    net.until_view(A, B)
    for who in (A, B):
        assert net.suspected(who) == [*([(C, "silence")] if who in noticed else []), (D, "dead")]
        assert net.views(who)[-1].left == {D: "dead"}


def test_a_frame_of_an_older_view_brings_nothing() -> None:
    net = Network()
    net.form("a", "b", "c")
    net.send(B, "in view 3")
    net.until(lambda: net.delivered(A) == net.delivered(C) == ["in view 3"])
    old = next(frame for frame in net.carried if frame.runs and frame.target == A)
    net.leave(C)
    net.until_view(A, B)
    reply, effects = net.machines[A].receive(old, net.now_ms)
    assert isinstance(reply, Frame)
    assert not any(isinstance(effect, Deliver) for effect in effects)
    net.until(lambda: net.machines[A].lacking(net.machines[A].number) == [])
    net.send(B, "in view 4")
    net.until(lambda: net.delivered(A) == ["in view 3", "in view 4"])


def test_every_frame_may_come_twice() -> None:
    net = Network()
    net.form("a", "b", "c")
    for index in range(20):
        net.send(B, f"b{index}")
        net.step()
        for frame in net.carried[-8:]:
            machine = net.machines[frame.target]
            _, effects = machine.receive(frame, net.now_ms)
            assert not [effect for effect in effects if isinstance(effect, Deliver)]
    net.until(lambda: all(len(net.delivered(who)) == 20 for who in (A, B, C)))


@pytest.mark.parametrize(
    ("group", "instance", "target", "code"),
    [("x", "i0001", A, "unknown"), ("g", "x", A, "elsewhere"), ("g", "i0001", "x#9", "unknown")],
)
def test_a_frame_for_somebody_else_is_refused_and_changes_nothing(
    group: str, instance: str, target: str, code: str
) -> None:
    net = Network()
    net.form("a", "b")
    reply, effects = net.machines[A].receive(Frame(group, instance, B, target, frames.Status(2)), net.now_ms)
    assert isinstance(reply, Refused)
    assert (reply.code, effects) == (code, [])


def test_a_stranger_changes_nothing() -> None:
    net = Network()
    net.form("a", "b")
    decision = frames.Decision(net.views(A)[-1].view, (), {}, {})
    items: tuple[Control, ...] = (
        frames.Prepare(2, (9, 0)),
        frames.Cut(2, (9, 0), decision, {}),
        frames.Install(decision),
        frames.Fetch(2, A, 1, 9),
    )
    reply, effects = net.machines[A].receive(Frame("g", "i0001", "x#9", A, frames.Status(0), items), net.now_ms)
    assert isinstance(reply, Frame)
    assert effects == []
    net.pass_ms(500)
    net.until_view(A, B)
    assert net.number(A) == 2


# memory


def test_scenario_14_when_all_is_still_nobody_keeps_a_payload() -> None:
    net = Network()
    net.form("a", "b", "c")
    for who in (A, B, C):
        net.send(who, *["x" * 100] * 3_000)
    net.until(lambda: all(len(net.delivered(who)) == 9_000 for who in (A, B, C)))
    net.pass_ms(3 * limits.HEARTBEAT_MS)
    for who in (A, B, C):
        member = net.machines[who]._member
        assert member is not None
        archive = member.streams.multicast._archive(net.number(who))  # type: ignore[union-attr]
        assert all(store.floor == store.last for store in archive.values())
        assert not member.streams.multicast._previous  # type: ignore[union-attr]
