"""Detection: how long a group's members may be silent before they are suspected (docs/protocols/detector.md).

It is part of the definition, so that all members of a group wait alike: a member with a shorter timeout than the others
would force view changes that nobody else needs. Heartbeats go every HEARTBEAT_MS, whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.errors import BadValue
from gcom.values import limits

# Below 2 s members on a busy machine would be expelled; for more than 2 minutes no user waits.
SECONDS_MIN, SECONDS_MAX = 2, 120
WAN_MS = 3 * limits.SILENCE_MAX_MS  # round trips of half a second, and outages while routes change
_WORDS = {"lan": limits.SILENCE_MAX_MS, "wan": WAN_MS}


@dataclass(frozen=True, slots=True)
class Detection:
    """The longest silence before a member is suspected, in ms; `parse` checks and makes it.

    The detector's other times keep the proportions that they have in `lan` (`scaled_ms`), but heartbeats do not change.
    """

    silence_max_ms: int = limits.SILENCE_MAX_MS

    @classmethod
    def parse(cls, given: object) -> Detection:
        """Return the detection of `lan`, `wan` or seconds, also as a text; raise BadValue naming what is allowed."""
        if isinstance(given, Detection):
            given = given.silence_max_ms / 1000
        if isinstance(given, str) and given.lower() in _WORDS:
            return cls(_WORDS[given.lower()])
        try:
            seconds = float(given) if isinstance(given, str | int | float) and not isinstance(given, bool) else -1.0
        except ValueError:
            seconds = -1.0
        if not SECONDS_MIN <= seconds <= SECONDS_MAX:  # nor NaN
            words = ", ".join(_WORDS)
            raise BadValue(f"detection {given!r} is not one of {words}, nor {SECONDS_MIN} to {SECONDS_MAX} seconds")
        return cls(round(1000 * seconds))

    def __str__(self) -> str:
        words = {silence_ms: word for word, silence_ms in _WORDS.items()}
        return words.get(self.silence_max_ms) or f"{self.silence_max_ms / 1000:.12g}"

    def scaled_ms(self, lan_ms: int) -> int:
        """Return a time of `lan`, scaled as the longest silence is."""
        return lan_ms * self.silence_max_ms // limits.SILENCE_MAX_MS

    def extended_ms(self, lan_ms: int) -> int:
        """Return a time of `lan`, scaled as the longest silence is where that makes it longer."""
        return max(lan_ms, self.scaled_ms(lan_ms))


LAN, WAN = Detection(), Detection(WAN_MS)
