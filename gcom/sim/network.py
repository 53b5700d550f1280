"""Calls between simulated processes: delays, resets, lost replies, duplicates, and callees that are gone or paused."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from gcom.sim.plan import Plan

CALL_TIMEOUT_MS = 2_500


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of one call. None: it does not happen."""

    arrives_ms: int | None  # after the call
    again_ms: int | None  # a duplicate arrives
    fails_ms: int | None  # the caller learns of a broken connection
    reply_ms: int  # after it is answered


class Network:
    """Draws the fate of each call from the seed."""

    def __init__(self, plan: Plan, rng: Random) -> None:
        self._plan = plan
        self._rng = rng
        self.healed = False

    def _delay_ms(self) -> int:
        slow = not self.healed and self._rng.random() < 0.02
        return self._rng.randint(1, self._plan.delay_ms) + (self._rng.randint(0, 800) if slow else 0)

    def fate(self) -> Fate:
        """Of the next call."""
        rng, plan = self._rng, self._plan
        delay, reply = self._delay_ms(), self._delay_ms()
        if self.healed:
            return Fate(delay, None, None, reply)
        if rng.random() < plan.reset:
            return Fate(None, None, delay, reply)
        again = delay + rng.randint(1, 1_500) if rng.random() < plan.duplicate else None
        if rng.random() < plan.reply_lost:
            return Fate(delay, again, delay + reply, reply)
        return Fate(delay, again, None, reply)
