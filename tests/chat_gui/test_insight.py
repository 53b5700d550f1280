"""The dock's pages, from snapshots, traces and events made by hand."""

from __future__ import annotations

import json

import pytest
from gcom_chat.model.insight.clocks import FRESH_MS, ClockMatrix
from gcom_chat.model.insight.facts import heard_facts, held_lines, held_summary, order_facts
from gcom_chat.model.insight.latency import EDGES_MS, bucket_names, held_ms, held_share, histogram, own_ms
from gcom_chat.model.insight.names import milliseconds, seconds, span
from gcom_chat.model.insight.shiviz import EXPRESSION, shiviz
from gcom_chat.model.insight.spacetime import DOTS_MAX, space_time
from gcom_chat.model.insight.timeline import EntryKind, GroupTimeline

import gcom
from tests.chat_gui.insights import VIEW, snapshot, trace, view

ALICE, BOB, CAROL = VIEW.members


def test_a_number_that_grows_is_fresh_for_a_while_and_the_first_look_is_not() -> None:
    clocks = ClockMatrix()
    clocks.on_snapshot(snapshot(), 1_000)
    assert not clocks.cell(ALICE, BOB, 1_000).fresh
    later = snapshot(clocks={ALICE: gcom.VectorClock({BOB: 6}), BOB: gcom.VectorClock({BOB: 6})})
    clocks.on_snapshot(later, 2_000)
    assert clocks.cell(ALICE, BOB, 2_000).fresh
    assert not clocks.cell(ALICE, BOB, 2_000 + FRESH_MS).fresh


def test_a_member_that_is_not_known_to_have_all_is_behind() -> None:
    clocks = ClockMatrix()
    known = {ALICE: gcom.VectorClock({BOB: 6}), BOB: gcom.VectorClock({BOB: 6}), CAROL: gcom.VectorClock({BOB: 4})}
    clocks.on_snapshot(snapshot(clocks=known), 0)
    assert clocks.cell(CAROL, BOB, 0).behind == 2
    assert clocks.sentence(CAROL, BOB, 0) == "carol has delivered of bob: 4, 2 fewer than are known"
    assert clocks.text().splitlines()[3].split() == ["carol", "0", "4", "0"]


def test_members_that_went_leave_the_matrix() -> None:
    clocks = ClockMatrix()
    clocks.on_snapshot(snapshot(), 0)
    clocks.on_snapshot(snapshot(view=view(4, ALICE, BOB)), 0)
    assert clocks.members == (ALICE, BOB)


def test_what_is_held_back_says_what_it_waits_for_longest_first() -> None:
    waits = (gcom.Missing("message", ALICE, 2, 3), gcom.Missing("place"))
    held = (gcom.HeldBack(BOB, 5, 5, (gcom.Missing("majority"),), 0.25), gcom.HeldBack(CAROL, 1, 4, waits, 61.5))
    seen = snapshot(held_back=held)
    first, second = held_lines(seen)
    assert (first.message, first.since) == ("carol 1–4", "1 min 1 s")
    assert first.waits_for == "alice 2–3, a place in the total order"
    assert second.message == "bob 5"
    assert held_summary(seen) == "5 messages are here and not delivered yet."


def test_only_the_first_reasons_are_listed() -> None:
    waits = tuple(gcom.Missing("message", BOB, number, number) for number in range(1, 6))
    (line,) = held_lines(snapshot(held_back=(gcom.HeldBack(CAROL, 1, 1, waits, 1.0),)))
    assert line.waits_for == "bob 1, bob 2, bob 3, and 2 more"


def test_order_facts_say_where_the_sequencer_is() -> None:
    assert dict(order_facts(snapshot()))["Sequencer"] == "in the registry"
    doubted = snapshot(sequencer=gcom.SequencerInfo(BOB, 9, 8, 7, True))
    assert dict(order_facts(doubted))["Sequencer"] == "at bob, and it did not answer lately"
    assert "no total order" in dict(order_facts(snapshot(sequencer=None)))["Sequencer"]


def test_heard_facts_name_suspicions() -> None:
    facts = dict(heard_facts(snapshot(suspected={CAROL: "silence"})))
    assert facts == {"bob": "heard 0.2 s ago", "carol": "not heard yet; suspected: silence"}


def test_the_timeline_tells_elections_from_views() -> None:
    timeline = GroupTimeline()
    timeline.on_view(VIEW, 1)
    timeline.on_events(
        [
            gcom.ViewChange(VIEW, (CAROL,), {}),
            gcom.Suspicion(ALICE, "silence"),
            gcom.ViewChange(view(4, BOB, CAROL), (), {ALICE: "crash"}),
            gcom.QuorumLost(None),
            gcom.ViewChange(view(5, BOB, CAROL, "dave#1"), ("dave#1",), {}),
        ],
        2,
    )
    kinds = [entry.kind for entry in timeline.entries]
    assert kinds == [EntryKind.VIEW, EntryKind.SUSPICION, EntryKind.ELECTION, EntryKind.QUORUM, EntryKind.VIEW]
    election = timeline.entries[2]
    assert election.text == "−alice (crashed); bob leads now, the oldest who is left"
    assert (election.view, election.leader, election.members) == (4, "bob", ("bob", "carol"))


def test_histograms_count_into_buckets() -> None:
    found = histogram([0.1, 0.5, 3, 7_000])
    assert found.counts[0] == 1
    assert found.counts[1] == 1
    assert found.counts[EDGES_MS.index(5)] == 1
    assert found.counts[-1] == 1
    assert found.total == 4
    assert (found.median_ms, found.most_ms) == (0.5, 7_000)
    assert histogram([]).total == 0
    assert len(bucket_names()) == len(found.counts)


def test_own_messages_and_held_back_ones_are_timed() -> None:
    traces = [trace("alice", 1), trace("bob", 1), trace("bob", 2, received_s=1.003)]
    assert own_ms(traces) == pytest.approx([3.0])
    assert held_ms(traces) == pytest.approx([2.0, 2.0, 0.0])
    assert held_share(held_ms(traces)) == pytest.approx(2 / 3)
    assert held_share([]) == 0


def test_an_arrow_comes_from_the_newest_message_that_a_sender_had_delivered() -> None:
    traces = [
        trace("alice", 1),
        trace("alice", 2),
        trace("bob", 1, {ALICE: 2}),
        trace("bob", 2, {ALICE: 2}),
        trace("carol", 1, {ALICE: 1, BOB: 2}),
    ]
    diagram = space_time(traces, VIEW.members)
    assert diagram.lanes == VIEW.members
    assert diagram.arrows == ((0, 4), (1, 2), (3, 4))
    assert diagram.backward == 0


def test_an_answer_that_was_delivered_before_its_question_leads_to_the_left() -> None:
    diagram = space_time([trace("bob", 1, {ALICE: 1}), trace("alice", 1)])
    assert diagram.arrows == ((1, 0),)
    assert diagram.backward == 1


def test_a_diagram_is_of_the_newest_messages_and_takes_those_without_a_clock() -> None:
    diagram = space_time([trace("alice", number, clock=None) for number in range(1, DOTS_MAX + 51)])
    assert len(diagram.dots) == DOTS_MAX
    assert diagram.dots[0].number == 51
    assert space_time([trace("alice", 1, serial=7)]).dots[0].label == "alice 1, serial 7, held back for 2 ms"


def test_short_forms() -> None:
    assert (span(BOB, 5, 5), span(BOB, 5, 7)) == ("bob 5", "bob 5–7")
    assert (seconds(1.25), seconds(125)) == ("1.2 s", "2 min 5 s")
    assert (milliseconds(1.234), milliseconds(123.4), milliseconds(12_345)) == ("1.23 ms", "123 ms", "12.3 s")


def test_the_log_for_shiviz_has_every_step_in_an_order_that_its_clocks_allow() -> None:
    told = [
        trace("bob", 1),
        trace("carol", 1, {BOB: 1}),
        trace("alice", 1, {BOB: 1, CAROL: 1}),
        trace("bob", 2, {CAROL: 1}),
    ]
    head, _, *lines = shiviz(told, ALICE).splitlines()
    assert head == EXPRESSION
    seen: dict[str, dict[str, int]] = {}
    steps = []
    for who, text in zip(lines[::2], lines[1::2], strict=True):
        process, _, stamp = who.partition(" ")
        clock = json.loads(stamp)
        before = seen.get(process, {})
        assert clock[process] == before.get(process, 0) + 1
        assert all(clock.get(other, 0) >= number for other, number in before.items())
        assert all(number <= seen[other][other] for other, number in clock.items() if other != process)
        seen[process] = clock
        steps.append((process, text))
    assert [text for process, text in steps if process == ALICE] == [
        "deliver 1 of bob#1",
        "deliver 1 of carol#1",
        "send 1",
        "deliver 2 of bob#1",
    ]
    assert [text for process, text in steps if process == BOB] == ["send 1", "deliver 1 of carol#1", "send 2"]


def test_no_message_makes_an_empty_log_for_shiviz() -> None:
    assert shiviz([], ALICE).splitlines() == [EXPRESSION, ""]
