"""Scenarios 1, 2, 6, 7, 8, 10 and 11 of the rivals' checklist: in which order all comes, whatever the network does."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from gcom.core.messages import events
from gcom.core.messages.effects import Deliver, Effect, Installed, Skip
from gcom.core.messages.frames import Frame
from gcom.values.definition import Definition, Multicast, Ordering
from gcom.values.names import Process
from tests.core.making import A, B, C, D, E
from tests.core.network import Network

KINDS = list(product(Ordering, Multicast))


@pytest.mark.parametrize(("ordering", "multicast"), KINDS)
def test_scenario_01_all_flood_and_nothing_is_missing_twice_or_out_of_turn(
    ordering: Ordering, multicast: Multicast
) -> None:
    net = Network(Definition("g", ordering, multicast))
    members = net.form("a", "b", "c", "d", "e")
    rng, sent = Random(1), set[object]()
    if multicast is Multicast.RELIABLE:
        net.lose = lambda frame: rng.random() < 0.2
    for index in range(100):
        who = rng.choice(members)
        texts = [f"{who} {index}.{part}" for part in range(rng.randint(1, 4))]
        net.send(who, *texts)
        sent.update(texts)
        if rng.random() < 0.5:
            net.step()
    net.until(lambda: all(len(net.delivered(who)) == len(sent) for who in members))
    assert all(set(net.delivered(who)) == sent for who in members)
    if "TOTAL" in ordering:
        assert {tuple(net.delivered(who)) for who in members} == {tuple(net.delivered(A))}
        assert all([*net.serials(who)] == [*range(1, len(sent) + 1)] for who in members)


@pytest.mark.parametrize("ordering", Ordering)
def test_scenario_02_the_last_message_of_a_burst_is_lost_and_comes_without_another(ordering: Ordering) -> None:
    """Its calls break, and nobody sends anything after it."""
    net = Network(Definition("g", ordering, Multicast.RELIABLE))
    members = net.form("a", "b", "c")
    texts = [f"{number}" for number in range(20)]
    net.send(A, *texts[:-1])
    net.until(lambda: all(net.delivered(who) == texts[:-1] for who in members))
    broken: set[Process] = set()

    def is_lost(frame: Frame) -> bool:
        """The first call to each with it."""
        first = frame.source == A and bool(frame.runs) and frame.target not in broken
        broken.update([frame.target] if first else [])
        return first

    net.lose = is_lost
    net.send(A, texts[-1])
    net.until(lambda: all(net.delivered(who) == texts for who in members), 1_000)
    assert broken == {B, C}


@pytest.mark.parametrize("ordering", ["CAUSAL", "CAUSALTOTAL"])
@pytest.mark.parametrize("multicast", ["RELIABLE", "BASIC"])
def test_scenario_06_a_chain_of_replies_over_a_link_that_is_late(ordering: str, multicast: str) -> None:
    net = Network(Definition.parse("g", ordering, multicast))
    net.form("a", "b", "c")
    late = [net.now_ms + 1_000]
    held: list[Frame] = []

    def slow(frame: Frame) -> bool:
        """Delay each frame from a to c with data in it; over BASIC it comes once, so the late one must be kept."""
        is_late = frame.source == A and frame.target == C and bool(frame.runs) and net.now_ms < late[0]
        held.extend([frame] * is_late)
        return is_late

    net.lose = slow
    net.send(A, "who is there?")
    net.until(lambda: net.delivered(B) == ["who is there?"])
    net.send(B, "b is")
    net.pass_ms(400)
    assert net.delivered(A) == ["who is there?", "b is"]
    assert net.delivered(C) == []  # it holds b's reply and waits
    for frame in held:
        net.arrive(frame)
    net.until(lambda: net.delivered(C) == ["who is there?", "b is"], 2_000)
    assert net.skipped(C) == 0


def test_scenario_07_a_cause_that_nobody_has_blocks_nobody_for_ever() -> None:
    net = Network(Definition.parse("g", "CAUSAL"))
    net.form("a", "b", "c", "d", "e")
    rest = (B, C, D)
    net.lose = lambda frame: bool(frame.runs) and frame.source == E and frame.target != A
    net.send(E, "a cause")
    net.until(lambda: net.delivered(A) == ["a cause"])
    net.send(A, "an effect")
    net.pass_ms(100)
    assert [net.delivered(who) for who in rest] == [[], [], []]  # it is here, and waits for its cause
    net.kill(E)
    net.kill(A)  # who alone had the cause
    net.until_view(*rest)
    net.send(B, "life goes on")
    net.until(lambda: all(net.delivered(who) == ["life goes on"] for who in rest))
    assert [net.of(who, Skip) for who in rest] == [[Skip(A, 1, 1, 5)]] * 3


def test_scenario_08_a_reply_never_gets_a_serial_before_its_cause_though_the_sequencer_moves_between_them() -> None:
    net = Network(Definition.parse("g", "CAUSALTOTAL"))
    members = net.form("a", "b", "c")
    net.send(C, "cause")
    net.until(lambda: net.delivered(B) == ["cause"])
    net.stop_registry()
    net.send(B, "effect")
    net.until(lambda: all(net.delivered(who) == ["cause", "effect"] for who in members))
    assert [net.serials(who) for who in members] == [{1: (C, 1), 2: (B, 1)}] * 3
    assert net.number(A) == 4  # one view for the sequencer's move
    net.start_registry()
    net.until(lambda: all(net.number(who) == 5 for who in members))  # and one for its return
    net.send(A, "effect of both")
    net.until(lambda: all(net.serials(who).get(3) == (A, 1) for who in members))
    assert net.asked[-1][0] == A


def test_scenario_10_frames_out_of_turn_leave_an_ordered_stream_as_it_is() -> None:
    net = Network(Definition.parse("g", "FIFO"))
    net.form("a", "b", "c")
    rng = Random(10)
    for index in range(60):
        net.send(A, f"a{index}")
        net.step()
        for frame in rng.sample(net.carried, 3):  # old frames, some with data, some of views that are over
            net.arrive(frame)
    texts = [f"a{index}" for index in range(60)]
    net.until(lambda: all(net.delivered(who) == texts for who in (A, B, C)))


@pytest.mark.parametrize("ordering", list(Ordering))
def test_scenario_11_applications_send_from_within_their_callbacks(ordering: Ordering) -> None:
    net = Network(Definition("g", ordering))
    answered: set[object] = set()

    def application(who: Process, effect: Effect) -> None:
        """It greets each view, and answers each greeting and each question once."""
        match effect:
            case Installed(view):
                net.later(who, events.Submit([f"{who} greets {view.number}"]))
            case Deliver(run):
                for text in run.payloads:
                    if "answers" not in str(text) and (who, text) not in answered:
                        answered.add((who, text))
                        net.later(who, events.Submit([f"{who} answers: {text!s}"]))
            case _:
                pass

    net.watch = application
    net.form("a", "b", "c")
    net.send(A, "what now?")
    wanted = {f"{who} answers: what now?" for who in (A, B, C)} | {f"{who} answers: {C} greets 3" for who in (A, B, C)}
    net.until(lambda: all(wanted <= set(net.delivered(who)) for who in (A, B, C)))
    net.kill(C)
    net.until(lambda: all({f"{A} answers: {B} greets 4"} <= set(net.delivered(who)) for who in (A, B)))
    if ordering in (Ordering.CAUSAL, Ordering.CAUSALTOTAL):
        for who in (A, B):
            seen = net.delivered(who)
            for text in seen:
                question = str(text).partition(" answers: ")[2]
                assert not question or question not in seen or seen.index(question) < seen.index(text)
