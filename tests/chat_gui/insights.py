"""Snapshots and traces made by hand, for what the dock shows of them."""

from __future__ import annotations

from dataclasses import replace

import gcom


def view(number: int, *members: str) -> gcom.View:
    """A view of processes whose addresses nobody asks for."""
    return gcom.View(number, members, ("127.0.0.1:1",) * len(members))


VIEW = view(3, "alice#1", "bob#1", "carol#1")


def snapshot(**changes: object) -> gcom.Snapshot:
    """A group of three in a total order, seen by alice, with nothing held back."""
    made = gcom.Snapshot(
        group="news",
        process="alice#1",
        instance="i",
        definition=gcom.Definition("news", gcom.Ordering.CAUSALTOTAL),
        view=VIEW,
        detached=False,
        waits_for="",
        clocks={member: gcom.VectorClock({"alice#1": 2, "bob#1": 5}) for member in VIEW.members},
        held_back=(),
        held_back_rest=0,
        sequencer=gcom.SequencerInfo("registry", 9, 8, 7, False),
        window=gcom.WindowInfo(1, 2, 100, 0),
        suspected={},
        heard_s={"bob#1": 0.25},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def trace(sender: str, number: int, clock: dict[str, int] | None = None, **changes: object) -> gcom.Trace:
    """A message of one of the three; 2 ms from arrival to delivery."""
    numbers = {**(clock or {}), f"{sender}#1": number}
    own_s = 1.0 if sender == "alice" else None
    made = gcom.Trace(f"{sender}#1", number, 3, own_s, 1.001, None, 1.003, None, gcom.VectorClock(numbers))
    return replace(made, **changes)  # type: ignore[arg-type]
