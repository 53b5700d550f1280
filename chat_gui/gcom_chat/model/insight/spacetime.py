"""The space-time diagram of the last messages: a lane per member, a dot per message, an arrow for each delivery that
its sender is known to have made before it (Lamport 1978; Mattern 1989).

Dots stand from left to right as they were delivered here. A message's clock says what its sender had delivered; where
that grew since the sender's last message, an arrow comes from the newest message that it has heard of. An arrow that
leads to the left is an answer that was delivered here before what it answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gcom
from gcom_chat.model.insight.names import called
from gcom_chat.model.texts.words import translate

DOTS_MAX = 200  # more lie on top of each other on any screen


@dataclass(frozen=True, slots=True)
class SpaceDot:
    """A message. `held_ms`: from its arrival here to its delivery; `lane` is an index of the diagram's lanes."""

    lane: int
    at: int
    sender: str
    number: int
    serial: int | None
    held_ms: float

    @property
    def label(self) -> str:
        """The message in words."""
        serial = translate("spacetime", ", serial {}").format(self.serial) if self.serial else ""
        held = translate("spacetime", ", held back for {:.0f} ms").format(self.held_ms)
        return f"{called(self.sender)} {self.number}{serial}{held}"


@dataclass(frozen=True, slots=True)
class SpaceTime:
    """A diagram. `arrows`: from one dot to another, by their indexes; a number of `backward` ones leads to the left."""

    lanes: tuple[str, ...]
    dots: tuple[SpaceDot, ...]
    arrows: tuple[tuple[int, int], ...]

    @property
    def backward(self) -> int:
        """The number of arrows that lead to the left: answers that were delivered before what they answer."""
        return sum(begin > end for begin, end in self.arrows)


def space_time(traces: Sequence[gcom.Trace], members: Sequence[str] = ()) -> SpaceTime:
    """Return the diagram of the newest traces; `members` have lanes though they said nothing."""
    newest = list(traces)[-DOTS_MAX:]
    lanes = tuple(dict.fromkeys([*members, *(each.sender for each in newest)]))
    lane_of = {process: at for at, process in enumerate(lanes)}
    dots = tuple(
        SpaceDot(
            lane_of[each.sender], at, each.sender, each.number, each.serial, 1000 * (each.delivered_s - each.received_s)
        )
        for at, each in enumerate(newest)
    )
    return SpaceTime(lanes, dots, tuple(_arrows(newest)))


def _arrows(traces: Sequence[gcom.Trace]) -> list[tuple[int, int]]:
    """Return from where to where news went: by what of each sender's clock grew since its last message."""
    place = {(each.sender, each.number): at for at, each in enumerate(traces)}
    # Each sender's in the order of its numbers, whatever the order of delivery: growth is from one message to the next.
    by_sender = sorted(range(len(traces)), key=lambda at: (traces[at].sender, traces[at].number))
    arrows: list[tuple[int, int]] = []
    before: gcom.Trace | None = None
    for at in by_sender:
        trace = traces[at]
        known = before.clock if before is not None and before.sender == trace.sender else None
        if trace.clock is not None:
            for process in trace.clock:
                newest = place.get((process, trace.clock[process]))
                # What it had heard before its last message already led an arrow to that one.
                grew = known is None or trace.clock[process] > known[process]
                if process != trace.sender and grew and newest is not None:
                    arrows.append((newest, at))
        before = trace
    return sorted(arrows)
