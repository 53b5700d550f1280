"""Drawn histories of a group: who sent which runs, knowing what, and in which order a sequencer put them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from gcom.core.messages.orders import Span
from gcom.core.ordering.order_log import OrderLog
from gcom.values.clock import VectorClock
from gcom.values.names import Process
from gcom.values.run import Run
from tests.core.making import A, B, C, run

SENDERS = (A, B, C)
NOTHING = VectorClock()
Message = tuple[Process, int]


@dataclass
class History:
    """`past[sender, first]` is all that the sender of a run knew when it sent it, its own stream included.

    A run's own clock has only what changed since its sender's last run, or with `whole` all of it. The order is that of
    a sequencer, and nobody heard of a message before it had its serial.
    """

    runs: list[Run] = field(default_factory=list)
    past: dict[Message, VectorClock] = field(default_factory=dict)
    order: list[Span] = field(default_factory=list)

    def of(self, sender: Process) -> list[Run]:
        return [each for each in self.runs if each.sender == sender]


@st.composite
def histories(draw: st.DrawFn, whole: bool = False) -> History:
    """Each step, somebody sends some messages, has what it sent ordered, or hears another, whose messages then are."""
    made, log = History(), OrderLog(0, dict.fromkeys(SENDERS, 0))
    knows = dict.fromkeys(SENDERS, NOTHING)
    told = dict.fromkeys(SENDERS, NOTHING)
    number = dict.fromkeys(SENDERS, 0)
    steps = st.tuples(st.sampled_from(["send", "send", "order", "hear", "hear"]), *[st.sampled_from(SENDERS)] * 2)
    for what, who, other in draw(st.lists(steps, min_size=12, max_size=40)):
        match what:
            case "send":
                fresh = knows[who] if whole else knows[who].changed_since(told[who])
                clock = {sender: known for sender, known in fresh.items() if sender != who}
                made.runs.append(run(who, number[who] + 1, draw(st.integers(1, 3)), clock=clock))
                made.past[who, number[who] + 1] = knows[who].merge(VectorClock({who: number[who]}))
                told[who] = knows[who]
                number[who] = made.runs[-1].last
            case "order":
                log.append(who, number[who])
            case _:
                log.append(other, number[other])
                for each in made.of(other):
                    if who != other:
                        known = made.past[other, each.first].merge(VectorClock({other: each.last}))
                        knows[who] = knows[who].merge(known)
    made.order = log.between(0, log.end)
    return made
