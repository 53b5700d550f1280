"""Each rule of the checkers catches a hand-made violation, and lets pass what only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gcom.core.messages.effects import Deliver, DoubtSettled, Installed, Quorum, Sent
from gcom.sim.checkers import Violation, rules_of
from gcom.sim.checks.calls import Calls
from gcom.sim.checks.record import InstanceHistory, NumberSet
from gcom.sim.checks.state import State, States
from gcom.sim.checks.synchrony import SameSequence
from gcom.sim.checks.total import PrecedenceGraph, TotalOrder
from gcom.values.definition import Definition
from gcom.values.lineage import rank
from gcom.values.view import View
from tests.sim.story import Story, run

Telling = Callable[[Story], Story]
FIFO = Definition.parse("g", "FIFO", "RELIABLE")
BASIC = Definition.parse("g", "FIFO", "BASIC")
LOOSE = Definition.parse("g", "NONORDERED", "RELIABLE")
SAFE = Definition.parse("g", "FIFO", "RELIABLE", safe=True)
CAUSAL = Definition.parse("g", "CAUSAL", "RELIABLE")
TOTAL = Definition.parse("g", "TOTAL", "RELIABLE")
LOSSY = Definition.parse("g", "TOTAL", "BASIC")
BOTH = Definition.parse("g", "CAUSALTOTAL", "RELIABLE")


def pair(story: Story) -> Story:
    return story.view(1, "ab")


def three(story: Story) -> Story:
    """In a view of three, b answers a."""
    return story.view(1, "abc").send("a", 1).deliver("b", "a", 1).send("b", 1, a=1)


def sent(story: Story) -> Story:
    """In a view of three each has sent a message, and nobody has delivered any."""
    return story.view(1, "abc").send_only("a", 1).send_only("b", 1).send_only("c", 1)


def doubtful(story: Story) -> Story:
    """In a view of three, a is told that its three messages are in doubt."""
    return story.view(1, "abc").send("a", 1, 3).see("a", Quorum(1, has=False, in_doubt=(1, 3)))


BROKEN: dict[str, tuple[str, Definition, Telling]] = {
    "a number is left out": ("NO_CREATION", FIFO, lambda s: pair(s).send("a", 1).send("a", 3)),
    "a number is given twice": ("NO_CREATION", FIFO, lambda s: pair(s).send("a", 1).send("a", 1)),
    "another's stream is written": (
        "NO_CREATION",
        FIFO,
        lambda s: pair(s).see("a", Sent(run("b", 1))),
    ),
    "what nobody sent is delivered": ("NO_CREATION", FIFO, lambda s: pair(s).deliver("b", "a", 1)),
    "more is delivered than was sent": ("NO_CREATION", FIFO, lambda s: pair(s).send("a", 1).deliver("b", "a", 1, 2)),
    "another payload is delivered": (
        "NO_CREATION",
        FIFO,
        lambda s: pair(s).send("a", 1).see("b", Deliver(replace(run("a", 1), payloads=["forged"]), 1)),
    ),
    "a message comes twice": (
        "NO_DUPLICATION",
        LOOSE,
        lambda s: pair(s).send("a", 1, 3).deliver("b", "a", 1, 3).deliver("b", "a", 2),
    ),
    "a message comes twice before others": (
        "NO_DUPLICATION",
        LOOSE,
        lambda s: pair(s).send("a", 1, 3).deliver("b", "a", 3).deliver("b", "a", 2, 2),
    ),
    "what was skipped is delivered": (
        "NO_DUPLICATION",
        BASIC,
        lambda s: pair(s).send("a", 1).skip("b", "a", 1).deliver("b", "a", 1),
    ),
    "what was delivered is skipped": (
        "NO_DUPLICATION",
        BASIC,
        lambda s: pair(s).send("a", 1).deliver("b", "a", 1).skip("b", "a", 1),
    ),
    "what the base covers is delivered": (
        "NO_DUPLICATION",
        FIFO,
        lambda s: (
            s.view(1, "a").send("a", 1).install("b", 2, "ab", entering=True, base={"a": 1}).deliver("b", "a", 1, view=2)
        ),
    ),
    "a message crosses into the next view": (
        "SENDING_VIEW",
        LOOSE,
        lambda s: pair(s).send_only("a", 1).install("b", 2, "ab").see("b", Deliver(run("a", 1), 2)),
    ),
    "a message is relabelled": (
        "SENDING_VIEW",
        FIFO,
        lambda s: pair(s).send("a", 1).install("b", 2, "ab").deliver("b", "a", 1, view=2),
    ),
    "a run is sent for another view": ("SENDING_VIEW", FIFO, lambda s: pair(s).send("a", 1, view=2)),
    "a gap is passed over": ("FIFO", FIFO, lambda s: pair(s).send("a", 1, 3).deliver("b", "a", 2)),
    "a gap is passed over in BASIC": ("FIFO", BASIC, lambda s: pair(s).send("a", 1, 3).deliver("b", "a", 3)),
    "the clock is behind": (
        "CLOCK",
        FIFO,
        lambda s: pair(s).send("a", 1, 2).deliver("b", "a", 1, 2).send("b", 1, a=1),
    ),
    "the clock is ahead": ("CLOCK", FIFO, lambda s: pair(s).send("a", 1).send("b", 1, a=1)),
    "the clock forgets the base": (
        "CLOCK",
        FIFO,
        lambda s: s.view(1, "a").send("a", 1).install("b", 2, "ab", entering=True, base={"a": 1}).send("b", 1, view=2),
    ),
    "two sets under one number": (
        "VIEW_AGREEMENT",
        FIFO,
        lambda s: pair(s).install("a", 2, "a", {"b": "request"}).install("b", 2, "b", {"a": "request"}),
    ),
    "two ranks under one number": (
        "VIEW_AGREEMENT",
        FIFO,
        lambda s: pair(s).install("a", 2, "ab").install("b", 2, "ba"),
    ),
    "a view without oneself": ("VIEW_AGREEMENT", FIFO, lambda s: pair(s).install("a", 2, "b")),
    "a view is left out": ("VIEW_AGREEMENT", FIFO, lambda s: pair(s).install("a", 3, "ab")),
    "a base is given to one that stays": (
        "VIEW_AGREEMENT",
        FIFO,
        lambda s: pair(s).install("a", 2, "ab", entering=True),
    ),
    "somebody is put out for nothing": ("EXPULSION", FIFO, lambda s: pair(s).view(2, "a", {"b": "silence"})),
    "somebody finds itself out for nothing": ("EXPULSION", FIFO, lambda s: pair(s).end("b", "expelled")),
    "one that leaves is not told how": ("EXPULSION", FIFO, lambda s: pair(s).end("b", "request")),
    "one that leaves is not told how, and a majority went on": (
        "EXPULSION",
        FIFO,
        lambda s: (
            s.view(1, "abcd")
            .install("a", 2, "abc", {"d": "request"})
            .install("b", 2, "abc", {"d": "request"})
            .end("d", "request")
        ),
    ),
    "somebody finds itself out of a view that has it": (
        "EXPULSION",
        FIFO,
        lambda s: s.view(1, "abc").suspect("b", "c").install("a", 2, "ab", {"c": "silence"}).end("b", "expelled"),
    ),
    "somebody finds itself out of a view that comes and has it": (
        "EXPULSION",
        FIFO,
        lambda s: s.view(1, "abc").suspect("b", "c").end("b", "expelled").install("a", 2, "ab", {"c": "silence"}),
    ),
    "one's own is not delivered": (
        "SELF_DELIVERY",
        FIFO,
        lambda s: pair(s).send_only("a", 1).view(2, "ab"),
    ),
    "a leaver does not settle its own": (
        "SELF_DELIVERY",
        FIFO,
        lambda s: pair(s).send_only("a", 1).end("a", "request", settled=2),
    ),
    "one that stays misses a message": (
        "VIRTUAL_SYNCHRONY",
        FIFO,
        lambda s: pair(s).send("a", 1, 3).deliver("b", "a", 1, 2).view(2, "ab"),
    ),
    "one that leaves misses a message": (
        "VIRTUAL_SYNCHRONY",
        FIFO,
        lambda s: (
            s.view(1, "abc")
            .send("a", 1)
            .deliver("b", "a", 1)
            .view(2, "ab", {"c": "request"})
            .end("c", "request", settled=2)
        ),
    ),
    "two deliver different sets of one size": (
        "VIRTUAL_SYNCHRONY",
        LOOSE,
        lambda s: (
            s.view(1, "abc")
            .send("c", 1, 2)
            .deliver("a", "c", 1)
            .deliver("b", "c", 2)
            .suspect("a", "c")
            .view(2, "ab", {"c": "silence"})
        ),
    ),
    "a newcomer's base falls short": (
        "VIRTUAL_SYNCHRONY",
        FIFO,
        lambda s: (
            s.view(1, "a").send("a", 1, 2).install("a", 2, "ab").install("b", 2, "ab", entering=True, base={"a": 1})
        ),
    ),
    "what was said to have arrived has not": (
        "UNCONFIRMED",
        FIFO,
        lambda s: (
            s.view(1, "abc")
            .send("c", 1, 2)
            .suspect("a", "c")
            .view(2, "ab", {"c": "silence"})
            .end("c", "expelled", unconfirmed=(2, 2))
        ),
    ),
    "what was said to have arrived is left out later": (
        "UNCONFIRMED",
        FIFO,
        lambda s: s.view(1, "abc").send("c", 1, 2).suspect("a", "c").end("c", "quorum").view(2, "ab", {"c": "silence"}),
    ),
    "a cause is overtaken": ("CAUSAL", CAUSAL, lambda s: three(s).deliver("c", "b", 1)),
    "a cause is overtaken in a total order": (
        "CAUSAL",
        BOTH,
        lambda s: (
            s.view(1, "abc")
            .send_only("a", 1)
            .order("b", ("a", 1))
            .send_only("b", 1, a=1)
            .order("c", ("b", 1), ("a", 1))
        ),
    ),
    "another's first message is overtaken": ("FIFO", CAUSAL, lambda s: pair(s).send("a", 1, 2).deliver("b", "a", 2)),
    "a serial is given twice": (
        "SERIAL_UNIQUE",
        TOTAL,
        lambda s: sent(s).order("a", ("a", 1)).order("b", ("b", 1)),
    ),
    "a serial is given again when its first is dead": (
        "SERIAL_UNIQUE",
        TOTAL,
        lambda s: sent(s).order("a", ("a", 1)).end("a", "quorum").order("b", ("b", 1)),
    ),
    "a message has two serials": (
        "SERIAL_UNIQUE",
        LOSSY,
        lambda s: (
            sent(s)
            .order("a", ("a", 1), ("b", 1))
            .skip("b", "a", 1, serial=1)
            .skip("b", "c", 1, serial=2)
            .order("b", ("b", 1), after=2)
        ),
    ),
    "a no-op here is a message there": (
        "SERIAL_UNIQUE",
        LOSSY,
        lambda s: sent(s).order("a", ("a", 1)).skip("b", "c", 1, serial=1),
    ),
    "a serial is left out": (
        "SERIAL_CONTIGUOUS",
        TOTAL,
        lambda s: sent(s).order("a", ("a", 1)).order("a", ("b", 1), after=2),
    ),
    "a serial is skipped and left out": (
        "SERIAL_CONTIGUOUS",
        LOSSY,
        lambda s: sent(s).order("a", ("a", 1)).skip("a", "b", 1, serial=3),
    ),
    "a newcomer begins elsewhere": (
        "SERIAL_CONTIGUOUS",
        TOTAL,
        lambda s: (
            s.view(1, "a")
            .send_only("a", 1)
            .order("a", ("a", 1))
            .install("a", 2, "ab")
            .install("b", 2, "ab", entering=True, base={"a": 1}, base_serial=2)
            .send_only("b", 1, view=2, a=1)
            .deliver("b", "b", 1, view=2, serial=2)
        ),
    ),
    "a newcomer is told another serial": (
        "SERIAL_CONTIGUOUS",
        TOTAL,
        lambda s: (
            s.view(1, "a")
            .send_only("a", 1)
            .order("a", ("a", 1))
            .install("a", 2, "ab")
            .install("b", 2, "ab", entering=True, base={"a": 1})
        ),
    ),
    "a delivery has no serial": ("SERIAL_CONTIGUOUS", TOTAL, lambda s: sent(s).deliver("a", "a", 1)),
    "what one delivered and took to its grave": (
        "SAFE",
        SAFE,
        lambda s: s.view(1, "abc").send("c", 1).suspect("a", "c").view(2, "ab", {"c": "silence"}),
    ),
    "what one delivers when the others have gone on": (
        "SAFE",
        SAFE,
        lambda s: (
            s.view(1, "abc")
            .send_only("c", 1)
            .suspect("a", "c")
            .view(2, "ab", {"c": "silence"})
            .deliver("c", "c", 1)
            .end("c", "expelled", unconfirmed=(1, 1))
        ),
    ),
    "a doubt stays open at the end": (
        "DOUBT",
        FIFO,
        lambda s: doubtful(s).see("a", DoubtSettled(1, 1, arrived=True)).end("a", "exit", unconfirmed=(3, 3)),
    ),
    "a doubt is settled twice": (
        "DOUBT",
        FIFO,
        lambda s: doubtful(s).see("a", DoubtSettled(1, 3, arrived=True)).see("a", DoubtSettled(3, 3, arrived=False)),
    ),
    "what was settled is named as unconfirmed": (
        "DOUBT",
        FIFO,
        lambda s: doubtful(s).see("a", DoubtSettled(1, 3, arrived=True)).end("a", "exit", unconfirmed=(3, 3)),
    ),
    "what was settled is in doubt again": (
        "DOUBT",
        FIFO,
        lambda s: doubtful(s).see("a", DoubtSettled(1, 3, arrived=True)).see("a", Quorum(1, has=True, in_doubt=(3, 3))),
    ),
    "a dead one delivers": ("LIFE", FIFO, lambda s: pair(s).send("a", 1).end("b", "quorum").deliver("b", "a", 1)),
    "a dead one sends": ("LIFE", FIFO, lambda s: pair(s).end("b", "quorum").send("b", 1)),
    "a dead one goes on": ("LIFE", FIFO, lambda s: pair(s).end("b", "quorum").install("b", 2, "ab")),
    "a dead one dies": ("LIFE", FIFO, lambda s: pair(s).end("b", "quorum").end("b", "quorum")),
    "somebody acts before it is in": ("LIFE", FIFO, lambda s: s.send("a", 1)),
}

FINE: dict[str, tuple[Definition, Telling]] = {
    "a doubt is settled in part, and its rest is named at the end": (
        FIFO,
        lambda s: doubtful(s).see("a", DoubtSettled(1, 2, arrived=True)).end("a", "exit", unconfirmed=(3, 3)),
    ),
    "what a successor begins with that those did not have who went on before, and died": (
        SAFE,
        lambda s: (
            s.view(1, "abc")
            .send_only("c", 1)
            .suspect("a", "c")
            .view(2, "ab", {"c": "silence"})
            .deliver("c", "c", 1)
            .end("c", "succession")
        ),
    ),
    "messages, views and a leave": (
        FIFO,
        lambda s: (
            s.view(1, "abc")
            .send("a", 1, 2)
            .deliver("b", "a", 1, 2)
            .send("b", 1, a=2)
            .deliver("a", "b", 1)
            .deliver("c", "a", 1)  # other runs than were sent
            .deliver("c", "a", 2)
            .deliver("c", "b", 1)
            .view(2, "ab", {"c": "request"})
            .end("c", "request", settled=2)
            .send("a", 3, view=2, b=1)
            .deliver("b", "a", 3, view=2)
        ),
    ),
    "a gap without an order": (LOOSE, lambda s: pair(s).send("a", 1, 3).deliver("b", "a", 3).deliver("b", "a", 1, 2)),
    "a gap that was given up": (
        BASIC,
        lambda s: pair(s).send("a", 1, 3).deliver("b", "a", 1).skip("b", "a", 2).deliver("b", "a", 3).view(2, "ab"),
    ),
    "one that is put out has less": (
        FIFO,
        lambda s: pair(s).send("a", 1).suspect("a", "b").view(2, "a", {"b": "silence"}).end("b", "expelled"),
    ),
    "a newcomer's base covers what was given up": (
        CAUSAL,
        lambda s: (
            pair(s)
            .send_only("b", 1)
            .skip("a", "b", 1)
            .suspect("a", "b")
            .install("a", 2, "ac", {"b": "silence"})
            .install("c", 2, "ac", {"b": "silence"}, entering=True, base={"b": 1})
            .send("c", 1, view=2)
            .deliver("a", "c", 1, view=2)
        ),
    ),
    "one that is put out hears it first": (
        FIFO,
        lambda s: pair(s).suspect("a", "b").end("b", "expelled").view(2, "a", {"b": "silence"}),
    ),
    "one that leaves and slept is not told how": (
        FIFO,
        lambda s: (
            pair(s).see("b", Quorum(1, has=False, in_doubt=None)).view(2, "a", {"b": "request"}).end("b", "request")
        ),
    ),
    "one that leaves is not told how, and no majority went on": (
        FIFO,
        lambda s: s.view(1, "abc").install("a", 2, "ab", {"c": "request"}).end("c", "request"),
    ),
    "one that leaves last is told nothing": (FIFO, lambda s: s.view(1, "a").end("a", "request")),
    "one that is put out has more": (
        FIFO,
        lambda s: (
            pair(s).send("b", 1).suspect("a", "b").view(2, "a", {"b": "silence"}).end("b", "quorum", None, (1, 1))
        ),
    ),
    "a cause comes first": (CAUSAL, lambda s: three(s).deliver("c", "a", 1).deliver("c", "b", 1)),
    "a cause was lost": (
        Definition.parse("g", "CAUSAL", "BASIC"),
        lambda s: three(s).skip("c", "a", 1).deliver("c", "b", 1),
    ),
    "one order": (
        TOTAL,
        lambda s: (
            sent(s)
            .order("a", ("a", 1), ("b", 1), ("c", 1))
            .order("b", ("a", 1), ("b", 1))
            .order("c", ("a", 1), ("b", 1), ("c", 1))
            .order("b", ("c", 1), after=2)
            .view(2, "abc")
        ),
    ),
    "one order with different losses": (
        LOSSY,
        lambda s: (
            sent(s)
            .order("a", ("a", 1), ("b", 1))
            .order("b", ("a", 1))
            .skip("b", "b", 1, serial=2)
            .order("b", ("c", 1), after=2)
            .skip("a", "c", 1, serial=3)
            .order("c", ("a", 1), ("b", 1), ("c", 1))
            .view(2, "abc")
        ),
    ),
    "a dead one that delivered what all deliver": (
        SAFE,
        lambda s: (
            s.view(1, "abc")
            .send("c", 1)
            .suspect("a", "c")
            .deliver("a", "c", 1)
            .deliver("b", "c", 1)
            .view(2, "ab", {"c": "silence"})
        ),
    ),
    "a newcomer with a base": (
        FIFO,
        lambda s: (
            s.view(1, "a")
            .send("a", 1, 2)
            .install("a", 2, "ab")
            .install("b", 2, "ab", entering=True, base={"a": 2})
            .send("b", 1, view=2, a=2)
            .deliver("a", "b", 1, view=2)
        ),
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_named(name: str) -> None:
    rule, definition, tell = BROKEN[name]
    with pytest.raises(Violation, match=f"^{rule}: "):
        tell(Story(definition))


@pytest.mark.parametrize("name", FINE)
def test_what_is_right_passes(name: str) -> None:
    definition, tell = FINE[name]
    assert tell(Story(definition)).checker.views


def test_a_group_is_held_to_what_it_promises() -> None:
    names = {kind.__name__ for kind in rules_of(FIFO)}
    assert {"FifoOrder", "Synchrony", "SelfDelivery", "Confirmation"} <= names
    assert not {"CausalOrder", "TotalOrder", "SameSequence", "Safety"} & names
    assert "Safety" in {kind.__name__ for kind in rules_of(SAFE)}
    assert {"CausalOrder", "FifoOrder", "TotalOrder", "SameSequence"} <= {kind.__name__ for kind in rules_of(BOTH)}
    assert "SameSequence" not in {kind.__name__ for kind in rules_of(LOSSY)}
    assert not {"Synchrony", "SelfDelivery"} & {kind.__name__ for kind in rules_of(BASIC)}


def test_one_leader_is_named_by_all() -> None:
    # A view's leader is its first member, so VIEW_AGREEMENT would say it first; the rule stands by itself.
    story = Story(FIFO).view(1, "ab")
    rule = next(kind for kind in rules_of(FIFO) if kind.__name__ == "OneLeader")(story.checker.record)
    rule.installed(story.checker.record.history("a"), Installed(View(1, ("a", "b"), ("a:1", "b:1")), (), {}))
    with pytest.raises(Violation, match=r"^ONE_LEADER: "):
        rule.installed(story.checker.record.history("b"), Installed(View(1, ("b", "a"), ("b:1", "a:1")), (), {}))


def test_calls_are_compared_with_what_came_of_them() -> None:
    story = Story(FIFO, calls=True)
    story.checker.calls.submit("a", ["a 1", "a 2"])
    story.view(1, "ab").send("a", 1)
    with pytest.raises(Violation, match="NO_CREATION: a sends 2…3 otherwise"):
        story.send("a", 2, 2)


@pytest.mark.parametrize("by", ["a view", "its end"])
def test_nobody_leaves_without_asking(by: str) -> None:
    story = Story(FIFO, calls=True).view(1, "ab")
    with pytest.raises(Violation, match=r"^LEAVE: "):
        story.view(2, "a", {"b": "request"}) if by == "a view" else story.end("b", "request", settled=2)
    asked = Story(FIFO, calls=True).view(1, "ab")
    asked.checker.calls.leave("b")
    asked.view(2, "a", {"b": "request"}).end("b", "request", settled=2)


def test_the_checker_that_sees_calls_is_the_one_that_is_told_of_them() -> None:
    assert isinstance(Story(FIFO).checker.calls, Calls)
    Story(FIFO).view(1, "ab").send("a", 1)  # nothing was submitted, and nobody looks


def test_two_orders_contradict_each_other() -> None:
    record = InstanceHistory()
    rule = TotalOrder(record)
    for who, sender in [("a", "x"), ("b", "y"), ("a", "y")]:
        rule.delivered(record.history(who), Deliver(run(sender, 1), 1))
    with pytest.raises(Violation, match=r"^TOTAL: b delivers against the others' order: x 1 before y 1 before x 1"):
        rule.delivered(record.history("b"), Deliver(run("x", 1), 1))


def test_those_who_go_on_together_have_delivered_one_sequence() -> None:
    # Another sequence of the same set breaks TOTAL, and another set AGREEMENT; the rule stands by itself.
    story = sent(Story(LOOSE)).deliver("a", "b", 1).deliver("a", "c", 1).deliver("b", "c", 1).deliver("b", "b", 1)
    rule, record = SameSequence(story.checker.record), story.checker.record
    following = Installed(View(2, ("a", "b"), ("a:1", "b:1")), (), {})
    rule.installed(record.history("a"), following)
    with pytest.raises(Violation, match=r"^TOTAL_GAP_FREE: in view 1 b and a deliver different sequences"):
        rule.installed(record.history("b"), following)


def test_three_that_rotate_contradict_each_other() -> None:
    record = InstanceHistory()
    rule = TotalOrder(record)
    orders = {"a": ("x", "y"), "b": ("y", "z"), "c": ("z", "x")}
    told = [(who, sender) for who, senders in orders.items() for sender in senders]
    for who, sender in told[:-1]:
        rule.delivered(record.history(who), Deliver(run(sender, 1), 1))
    with pytest.raises(Violation, match=r"^TOTAL: c delivers"):
        rule.delivered(record.history("c"), Deliver(run("x", 1), 1))


def test_orders_with_gaps_do_not_contradict_each_other() -> None:
    record = InstanceHistory()
    rule = TotalOrder(record)
    for who, numbers in {"a": (1, 2, 5), "b": (2, 3, 5), "c": (1, 3, 4), "d": (3, 4, 5)}.items():
        for number in numbers:
            rule.delivered(record.history(who), Deliver(run("x", number), 1))


def test_the_line_of_messages_finds_every_cycle() -> None:
    order = PrecedenceGraph()
    pairs = [(1, 5), (3, 4), (4, 1), (5, 6), (2, 3)]
    assert [order.put(("m", one), ("m", other)) for one, other in pairs] == [[]] * 5
    assert order.put(("m", 6), ("m", 2)) == [("m", n) for n in (2, 3, 4, 1, 5, 6)]


def test_a_set_of_numbers_keeps_a_prefix_and_what_is_beyond() -> None:
    numbers = NumberSet(2)
    numbers.add(5, 6)
    assert (numbers.prefix, numbers.highest, 4 in numbers, 5 in numbers) == (2, 6, False, True)
    assert (numbers.first_missing(1, 6), numbers.first_missing(5, 6), numbers.first_known(3, 6)) == (3, 0, 5)
    numbers.add(3, 4)
    assert (numbers.prefix, numbers.beyond) == (6, set())


def test_a_state_that_is_mixed_of_two_is_nobody_s() -> None:
    one, other = State(0, {"a#1": (1, 17)}, 5), State(0, {"a#1": (2, 18)}, 6)
    assert State.load(one.dump()) == one
    mixed = one.dump()[:12] + other.dump()[12:]
    for data in (mixed, one.dump()[:-1], b"", b"[]"):
        with pytest.raises(Violation, match="STATE: "):
            State.load(data)


def test_states_that_began_anew_at_one_view_of_two_instances_have_two_origins() -> None:
    """1. A began anew at a loss in view 3, and went on into a successor. 2. There B does so in view 3, with less."""
    states, had = States(FIFO), {"a#1": (1, 17)}
    states.on_barrier("a", 3, State(3, had, since=rank("i0001", 3)))
    states.on_barrier("b", 3, State(3, {}, since=rank("i0001-1-1", 3)))
    states.on_barrier("c", 3, State(3, had, since=rank("i0001", 3)))
    with pytest.raises(Violation, match="STATE: at the barrier of view 3 d has"):
        states.on_barrier("d", 3, State(3, had, since=rank("i0001-1-1", 3)))
