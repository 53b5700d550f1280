"""Choice of the members that a process asks for the payloads of a cut that it lacks."""

from __future__ import annotations

from gcom.core.membership.flush import Flush
from gcom.core.messages.frames import Decision
from gcom.core.multicast.reliable import Range
from gcom.values import limits
from gcom.values.view import View

DECISION = Decision(View(2, ("a#1", "b#1", "c#1"), ("", "", "")), (), {}, {"c#1": 4})
GAP = Range("c#1", 3, 4, 0)


def test_a_holder_that_is_suspected_is_asked_after_the_others() -> None:
    """1. c and a lose each other for a moment, and a promises to b's change: its suspicion of c stays. 2. The link is
    mended; b's CUT says that c alone holds c's last messages. 3. If a asked only whom it does not suspect, it would
    never have them, and b would wait for it for ever.
    """
    flush = Flush()
    flush.want(DECISION, {"c#1": ("c#1",)}, decided=False)
    asked = []
    for turn in range(4):
        (say,) = flush.ask([GAP], 1, ["b#1"], turn * limits.FETCH_RETRY_MS)
        asked.append(say.to)
    assert asked == ["b#1", "c#1", "b#1", "c#1"]


def test_who_holds_it_is_asked_first() -> None:
    flush = Flush()
    flush.want(DECISION, {"c#1": ("b#1", "c#1")}, decided=False)
    asked = [flush.ask([GAP], 1, ["b#1", "c#1", "d#1"], n * limits.FETCH_RETRY_MS)[0].to for n in range(3)]
    assert asked == ["c#1", "b#1", "d#1"]
