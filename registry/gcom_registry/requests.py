"""Counts and times of a registry's requests, as plain numbers: one addition per request."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from threading import Lock

BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5)  # of the times' histogram


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Requests so far. `outcomes`: by kind of request and `ok` or the refusal's name.

    `times`: by kind, how many took up to each bound, not counting those up to the one before; the last had no bound.
    """

    outcomes: dict[tuple[str, str], int]
    times: dict[str, tuple[int, ...]]
    total_s: dict[str, float]


class RequestLog:
    """The counts as they grow. Any thread may note a request."""

    def __init__(self) -> None:
        self._outcomes: Counter[tuple[str, str]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._total_s: Counter[str] = Counter()
        self._lock = Lock()

    # Kinds and outcomes are names of our own classes and errors, so no peer can make these tables grow.
    def note(self, kind: str, outcome: str, seconds: float) -> None:
        with self._lock:
            self._outcomes[kind, outcome] += 1
            times = self._times.get(kind) or self._times.setdefault(kind, [0] * (len(BOUNDS_S) + 1))
            # Not cumulative here, as Prometheus wants it: one addition now, the sums when somebody scrapes.
            times[bisect_left(BOUNDS_S, seconds)] += 1
            self._total_s[kind] += seconds  # type: ignore[assignment]

    def counts(self) -> RequestCounts:
        with self._lock:
            # Copies, taken together: what is counted meanwhile is in the next look as a whole.
            times = {kind: tuple(found) for kind, found in self._times.items()}
            return RequestCounts(dict(self._outcomes), times, dict(self._total_s))
