"""The companions' words and deeds, by the second; the script begins anew when it is through."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import gcom

GROUP = "lounge"
DEFINITION = gcom.Definition(GROUP, "CAUSALTOTAL")
COMPANIONS = ("bob", "carol", "dave")
VISITOR = "visitor"  # no word that people say: each would count as a mention


class Act(StrEnum):
    """An act of a companion."""

    SAY = "say"
    WAVE = "wave"  # /me
    TOPIC = "topic"
    LEAVE = "leave"
    RETURN = "return"
    CRASH = "crash"  # at once, as a process that is killed; the demonstration starts it again


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """An act of one companion, `at_s` seconds after the script's beginning."""

    at_s: float
    name: str
    act: Act
    text: str = ""


SCRIPT = (
    ScriptLine(1.0, "bob", Act.TOPIC, "A room where nothing is out of order"),
    ScriptLine(2.5, "bob", Act.SAY, "Hello! I am bob, a process of my own. So are carol and dave."),
    ScriptLine(4.0, "carol", Act.SAY, "Hi, visitor! Whatever bob asks: my answer never comes before his question."),
    ScriptLine(5.5, "dave", Act.SAY, "And all of us see these lines in the same order: this group is CAUSALTOTAL."),
    ScriptLine(8.0, "bob", Act.SAY, "Say something, and watch the sign at its right: ✓ is ordered, ✓✓ held by all."),
    ScriptLine(11.0, "carol", Act.WAVE, "looks at the clocks: F12 shows them"),
    ScriptLine(14.0, "dave", Act.SAY, "I have to go for a moment."),
    ScriptLine(15.0, "dave", Act.LEAVE),
    ScriptLine(18.0, "bob", Act.SAY, "Did you see the line? Leaving makes a new view, and all who stay agree on it."),
    ScriptLine(22.0, "carol", Act.SAY, "Now I will crash, without a word to anybody."),
    ScriptLine(24.0, "carol", Act.CRASH),
    ScriptLine(26.0, "bob", Act.SAY, "Her kernel says that her process is gone, so the view changes in a blink."),
    ScriptLine(29.0, "dave", Act.RETURN),
    ScriptLine(31.0, "dave", Act.SAY, "Back! The topic and the last lines came with the group's state."),
    ScriptLine(35.0, "carol", Act.SAY, "I am back too, as another process: see the number behind my name."),
    ScriptLine(39.0, "bob", Act.SAY, "The crown is the leader's, who is the oldest member. Watch what becomes of me."),
    ScriptLine(42.0, "bob", Act.CRASH),
    ScriptLine(
        45.0, "carol", Act.SAY, "bob crashed. Whoever is the oldest now leads; nothing was lost, nothing doubled."
    ),
    ScriptLine(49.0, "dave", Act.SAY, "View > Ordering duel shows what all this is good for."),
    ScriptLine(52.0, "bob", Act.SAY, "I am here again. From the top!"),
)
LENGTH_S = 56.0
