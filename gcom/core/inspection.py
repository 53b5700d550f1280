"""A look at a member: the part of a snapshot that the core knows. Only the hold times are kept for it beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from gcom.core.detector.suspicion import Detector
from gcom.core.streams import Streams
from gcom.values.clock import VectorClock
from gcom.values.names import Process
from gcom.values.snapshot import HELD_BACK_MAX, HeldBack, SequencerInfo, WindowInfo
from gcom.values.view import View


@dataclass(frozen=True, slots=True)
class Inspection:
    """The fields of a `Snapshot` of the same names; `window.unnumbered` lacks what the driver still buffers."""

    view: View
    clocks: dict[str, VectorClock]
    held_back: tuple[HeldBack, ...]
    held_back_rest: int
    sequencer: SequencerInfo | None
    window: WindowInfo
    suspected: dict[str, str]
    heard_s: dict[str, float]


def inspect(view: View, streams: Streams, detector: Detector, now_ms: int) -> Inspection:
    """Look at a member's streams and suspicions."""
    # Lazily, and cut: a slow member may hold back thousands of
    # runs, and a snapshot is read by people, under the node's lock.
    held = streams.held_back()
    since_ms = streams.hold_times.since_ms
    shown = tuple(
        HeldBack(sender, first, last, waits_for, (now_ms - since_ms(sender, last, now_ms)) / 1000)
        for sender, first, last, waits_for in islice(held, HELD_BACK_MAX)
    )
    return Inspection(
        view=view,
        clocks={member: VectorClock(clock) for member, clock in streams.clocks().items()},
        held_back=shown,
        held_back_rest=sum(1 for _ in held),
        sequencer=_sequencer(streams),
        window=_window(streams),
        suspected=dict(detector.suspects),
        heard_s=_heard_s(view, streams.process, detector, now_ms),
    )


def _sequencer(streams: Streams) -> SequencerInfo | None:
    serials, delivered = streams.serials, streams.delivered_serial
    if serials is None:
        return None
    where = "registry" if serials.at_registry else serials.view.leader
    return SequencerInfo(where, serials.log.end, serials.agreed, delivered, serials.doubted)


def _window(streams: Streams) -> WindowInfo:
    out = streams.multicast.out
    read = {streams.process: out.self_consumed, **{peer: known.consumed for peer, known in out.peers.items()}}
    unread = {member: out.number - number for member, number in read.items() if number < out.number}
    most = max(unread.values(), default=0)
    return WindowInfo(out.number - out.stable, most, out.flow.most, len(streams.unsent), unread)


def _heard_s(view: View, process: Process, detector: Detector, now_ms: int) -> dict[str, float]:
    spoke_ms = {member: detector.spoke_ms(member) for member in view.members if member != process}
    return {member: (now_ms - ms) / 1000 for member, ms in spoke_ms.items() if ms >= 0}
