"""A limit on notifications: a peer that mentions somebody a thousand times makes one."""

from __future__ import annotations

EVERY_MS = 5_000  # longer than a notification is read


class Alerts:
    """Lets one alert pass per group and time; the others are counted."""

    def __init__(self, every_ms: int = EVERY_MS) -> None:
        self._every_ms = every_ms
        self._last: dict[str, int] = {}
        self._held: dict[str, int] = {}

    def due(self, group: str, now_ms: int) -> int:
        """Return for how many alerts one notification stands now; 0: it is too soon for another."""
        self._held[group] = self._held.get(group, 0) + 1
        if now_ms - self._last.get(group, -self._every_ms) < self._every_ms:
            return 0
        self._last[group] = now_ms
        return self._held.pop(group)
