"""How long a leaver waits for those who stay."""

from __future__ import annotations

from gcom.core.membership.own_leave import OwnLeave
from gcom.values import limits
from tests.core.making import A, B, C, decision, view

BEAT_MS = limits.HEARTBEAT_MS


def leaving(now_ms: int) -> OwnLeave:
    """A, which leaves B and C behind, neither of whom has gone on."""
    it = OwnLeave(A)
    it.begin(decision(view(A, B, C), B, C), {B, C}, now_ms)
    return it


def test_it_has_waited_once_its_time_has_passed() -> None:
    it = leaving(now_ms=1_000)
    late = [it.is_late(1_000 + passed_ms) for passed_ms in range(0, limits.TIME_WAIT_MS + 1, BEAT_MS)]
    assert late == [False] * (len(late) - 1) + [True]


def test_a_pause_of_its_own_is_not_counted() -> None:
    """While it is paused it gives nobody what he lacks."""
    it = leaving(now_ms=0)
    woken_ms = 10 * limits.TIME_WAIT_MS
    assert not it.is_late(woken_ms)
    late = [it.is_late(woken_ms + passed_ms) for passed_ms in range(BEAT_MS, limits.TIME_WAIT_MS, BEAT_MS)]
    assert late == [False] * (len(late) - 1) + [True]


def test_who_stays_waits_for_nobody() -> None:
    it = OwnLeave(A)
    it.begin(decision(view(A, B, C), A, B), {B, C}, 0)
    assert not any(it.is_late(at_ms) for at_ms in range(0, 2 * limits.TIME_WAIT_MS, BEAT_MS))
