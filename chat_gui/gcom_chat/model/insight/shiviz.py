"""The last messages of a group as a log for ShiViz (bestchai.bitbucket.io/shiviz), as far as this process knows.

A message's vector clock says what its sender had delivered when it sent it, so the deliveries of all members up to
their last message are known, but for their order among each other, which is taken from here.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import gcom

# The first line of a ShiViz file is the regular expression that parses the rest; the second separates executions.
EXPRESSION = r"(?<host>\S+) (?<clock>{.*})\n(?<event>.*)"


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a process: it sends a message, or delivers another's."""

    trace: gcom.Trace
    sends: bool

    @property
    def message(self) -> tuple[str, int]:
        return self.trace.sender, self.trace.number

    @property
    def text(self) -> str:
        serial = f", serial {self.trace.serial}" if self.trace.serial else ""
        return (
            f"send {self.trace.number}" if self.sends else f"deliver {self.trace.number} of {self.trace.sender}{serial}"
        )


def shiviz(traces: Sequence[gcom.Trace], own: str) -> str:
    """Return the text of a log; `own` is the process that delivered these messages, in their order."""
    lines = [EXPRESSION, ""]
    for process, clock, step in _stamped(_steps(traces, own)):
        lines += [f"{process} {json.dumps(clock)}", step.text]
    return "\n".join(lines) + "\n"


def _steps(traces: Sequence[gcom.Trace], own: str) -> dict[str, deque[_Step]]:
    """Return the steps of each process, first to last."""
    steps: dict[str, deque[_Step]] = {each.sender: deque() for each in traces}
    steps.setdefault(own, deque())
    for process, mine in steps.items():
        rest = deque(each for each in traces if each.sender != process)
        for trace in sorted((each for each in traces if each.sender == process), key=lambda each: each.number):
            known = [each for each in rest if trace.clock is not None and each.number <= trace.clock[each.sender]]
            mine.extend(_Step(each, False) for each in known)
            mine.append(_Step(trace, True))
            rest = deque(each for each in rest if each not in known)
        if process == own:
            mine.extend(_Step(each, False) for each in rest)
    return steps


def _stamped(steps: dict[str, deque[_Step]]) -> list[tuple[str, dict[str, int], _Step]]:
    """Return all steps with the vector clock of their process, no delivery before its send."""
    clocks: dict[str, dict[str, int]] = {process: {} for process in steps}
    sent: dict[tuple[str, int], dict[str, int]] = {}
    found = []
    while waiting := [process for process, mine in steps.items() if mine]:
        ready = [process for process in waiting if steps[process][0].sends or steps[process][0].message in sent]
        # Where none is ready a send is missing, as it was before the
        # watch began: the first one goes, or it would never end.
        for process in ready or waiting[:1]:
            step, clock = steps[process].popleft(), clocks[process]
            for other, number in sent.get(step.message, {}).items() if not step.sends else ():
                clock[other] = max(number, clock.get(other, 0))
            clock[process] = clock.get(process, 0) + 1
            if step.sends:
                sent[step.message] = dict(clock)
            found.append((process, dict(clock), step))
    return found
