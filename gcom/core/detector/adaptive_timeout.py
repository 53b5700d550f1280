"""Adaptive timeout: how long one peer may say nothing before that is evidence (docs/protocols/detector.md).

The limit follows what was seen: mean and mean deviation of the gaps between signs of life, kept as TCP keeps its round
trips (Jacobson 1988; Bertier, Marin and Sens 2002 for failure detectors), with four deviations on top of the mean and
twice this process's own lag (Lifeguard 2018), between SILENCE_MIN_MS and SILENCE_MAX_MS.

At the limit others are asked whether they hear the peer (SWIM 2002): it may be this process's own link. A peer that
they hear is not silent yet. At SILENCE_MAX_MS it is, whoever hears it: what this process cannot tell it can never
become stable.
"""

from __future__ import annotations

from enum import Enum

from gcom.values import limits
from gcom.values.detection import Detection


class Meaning(Enum):
    """The meaning of a peer's silence now."""

    FINE = "fine"
    ASK = "ask"  # others, whether they hear it
    SILENT = "silent"


class AdaptiveTimeout:
    """The signs of life of one peer. Times are of this process's own running time."""

    __slots__ = (
        "_asked_ms",
        "_deviation_4",
        "_indirect_ack_ms",
        "_longest_ms",
        "_max_ms",
        "_mean_8",
        "_probe_ms",
        "_window_ms",
        "heard_ms",
        "min_ms",
    )

    def __init__(self, now_ms: int, detection: Detection) -> None:
        # Two heartbeats at least: one that was just missed, and as long again for the answer to the next.
        self.min_ms = max(detection.scaled_ms(limits.SILENCE_MIN_MS), 2 * limits.HEARTBEAT_MS)
        self._max_ms = detection.silence_max_ms
        self._probe_ms = detection.extended_ms(limits.PROBE_MS)
        self.heard_ms = now_ms
        self._longest_ms = 0  # gap that ended in the present window
        self._window_ms = now_ms
        # Eight times the mean and four times the deviation, as Jacobson has it: integers lose nothing that way. A peer
        # of which nothing is known begins at SILENCE_MS.
        self._mean_8 = 8 * limits.HEARTBEAT_MS
        self._deviation_4 = detection.scaled_ms(limits.SILENCE_MS) - limits.HEARTBEAT_MS
        self._asked_ms: int | None = None  # the others, last
        self._indirect_ack_ms: int | None = None

    def heard(self, now_ms: int) -> None:
        """Record a sign of life."""
        self._longest_ms = max(self._longest_ms, now_ms - self.heard_ms)
        self.heard_ms = now_ms
        # What others said was about the silence that is over now.
        self._asked_ms = self._indirect_ack_ms = None
        # One sample per heartbeat's time, the longest gap in it: a busy link has many short gaps, and must not forget
        # the long one among them.
        if now_ms - self._window_ms >= limits.HEARTBEAT_MS:
            # At most 4 s: one pause of a minute would raise the limit for as long again.
            self._sample(min(self._longest_ms, self._max_ms))
            self._longest_ms, self._window_ms = 0, now_ms

    def _sample(self, gap_ms: int) -> None:
        # Gain 1/8 for the mean, 1/4 for the deviation: the limit falls again within seconds after gaps end.
        error_ms = gap_ms - self._mean_8 // 8
        self._mean_8 += error_ms
        self._deviation_4 += abs(error_ms) - self._deviation_4 // 4

    def forgive(self, lag_ms: int, now_ms: int) -> None:
        """Forgive a gap in which this process itself did not run."""
        self.heard_ms = min(now_ms, self.heard_ms + lag_ms)
        if self._asked_ms is not None:
            self._asked_ms = min(now_ms, self._asked_ms + lag_ms)

    def begin_anew(self, heard_ms: int) -> None:
        """Count from a time on: until then the peer was not expected to say anything."""
        self.heard_ms = self._window_ms = heard_ms
        self._longest_ms = 0
        self._asked_ms = self._indirect_ack_ms = None

    def on_asked(self, now_ms: int) -> None:
        """Record that others are asked already: a peer that they watch has said nothing for long."""
        self._asked_ms = now_ms

    def on_indirect_ack(self, now_ms: int) -> None:
        """Record that some member hears the peer."""
        self._indirect_ack_ms = now_ms

    def has_indirect_ack(self, now_ms: int) -> bool:
        """Return whether some member said lately that it hears the peer."""
        return self._indirect_ack_ms is not None and now_ms - self._indirect_ack_ms < 3 * self._probe_ms

    def limit_ms(self, own_lag_ms: int) -> int:
        """Return how long the peer may say nothing now, in ms."""
        usual_ms = max(limits.HEARTBEAT_MS, self._mean_8 // 8) + self._deviation_4
        # Not below SILENCE_MIN_MS, however regular the peer: a false suspicion costs a view change and a member's
        # state. Own lag counts twice, since a process that runs late also hears late.
        return min(self._max_ms, max(self.min_ms, usual_ms) + 2 * own_lag_ms)

    def is_long(self, now_ms: int, own_lag_ms: int) -> bool:
        """Return whether the peer has said nothing for longer than it may."""
        silent_ms = now_ms - self.heard_ms
        return silent_ms >= self.min_ms and silent_ms >= self.limit_ms(own_lag_ms)

    def meaning(self, now_ms: int, can_ask: bool) -> Meaning:
        """Return what a silence over the limit means; ASK begins a wait for answers. `can_ask`: there are helpers."""
        if now_ms - self.heard_ms >= self._max_ms or not can_ask:
            return Meaning.SILENT
        if self._asked_ms is None:
            self._asked_ms = now_ms
            return Meaning.ASK
        answered = self._indirect_ack_ms is not None and self._indirect_ack_ms >= self._asked_ms
        # Helpers have PROBE_MS to answer; they know already, since each pair of members has a call per heartbeat.
        if now_ms - self._asked_ms < self._probe_ms:
            return Meaning.FINE
        if not answered:
            return Meaning.SILENT
        # Acknowledged indirectly: asked again and again, until 4 s of silence.
        self._asked_ms = now_ms
        return Meaning.ASK
