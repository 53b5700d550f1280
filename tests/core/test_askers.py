"""Rights to ask a registry: each request beside the processes that it speaks for."""

from __future__ import annotations

import pytest

from gcom.core.directory.askers import NOBODY, askers, sequencer_askers
from gcom.core.directory.rows import Row
from gcom.core.messages.registry import (
    Claim,
    Create,
    Fork,
    ListGroups,
    Lookup,
    Note,
    Register,
    Remove,
    Request,
    Unregister,
)
from gcom.core.messages.sequencer import Close, Open, SequencerRequest, Want
from gcom.core.messages.witness import WitnessPrepare
from gcom.values.definition import Definition
from gcom.values.view import View

NEWS = Definition.parse("news")
A, B, C, D = "alice#1", "bob#1", "carol#1", "dave#1"
VIEW = View(3, (A, B), ("h:1", "h:2"))
ROWS = {"news": Row(NEWS, "i1", VIEW, noted=((C, "h:3"),), noted_view=4, older=((D, "h:4"),))}
ALL = frozenset([A, B, C, D])


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Create(NEWS), None),
        (Lookup("news"), None),
        (ListGroups(), None),
        (Claim("news", "i1", 3, D, "h:4"), {D}),
        (Register(NEWS, "i1", VIEW, B), {B}),
        (Note("news", "i1", 3, ()), ALL),
        (Note("other", "i1", 3, ()), None),
        (Unregister("news", "i1", 3, A), {A}),
        (Fork("news", "i1"), ALL),
        (Remove("news"), NOBODY),
        (WitnessPrepare("i1", 3, (5, 0)), {A}),
        (WitnessPrepare("i1", 3, (5, 1)), {B}),
        (WitnessPrepare("i1", 3, (5, 2)), NOBODY),
        (WitnessPrepare("i1", 2, (5, 0)), ALL),
        (WitnessPrepare("i9", 3, (5, 0)), None),
    ],
    ids=lambda it: type(it).__name__,
)
def test_the_directory(request_: Request, expected: frozenset[str] | None) -> None:
    assert askers(request_, ROWS) == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Want("news", "i1", 3, B, 1, 0, 0), {B}),
        (Open("news", "i1", 3, 0, {}), ALL),
        (Open("other", "i1", 3, 0, {}), None),
        (Close("news", "i1"), ALL),
    ],
    ids=lambda it: type(it).__name__,
)
def test_the_sequencer(request_: SequencerRequest, expected: frozenset[str] | None) -> None:
    assert sequencer_askers(request_, ROWS) == expected
