"""The scale benchmark: for each size of the group one flood with all members sending, and then a steady rate of one.

The groups' detection is `wan`, whatever was asked for, as no silence is measured here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Annotated

from gcom.bench.benchmark import BenchSetup, Between, Tell
from gcom.bench.latency import turns as latency_turns
from gcom.bench.latency.turns import LatencyResult, LatencySetup
from gcom.bench.throughput import turns as throughput_turns
from gcom.bench.throughput.load import SIZE_MAX, SIZE_MIN, percentile
from gcom.bench.throughput.turns import Side, ThroughputSetup
from gcom.errors import BadValue
from gcom.values.definition import Definition
from gcom.values.detection import WAN

SMALL, LARGE = 3, 16  # the sizes that the ratio is of


def parse_sizes(text: str) -> tuple[int, ...]:
    """Return the sizes that a list such as "2,3,5" names, in its order; raises BadValue."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) > 1 for word in words):
        raise BadValue(f"members {text!r} must be numbers from 2 on, with commas between them: 3,8,16")
    # Each size once, in the order given: to measure one twice would only take twice the time.
    return tuple(dict.fromkeys(map(int, words)))


@dataclass(frozen=True, slots=True)
class ScaleSetup(BenchSetup):
    """The sizes of the group, the largest of which is `members`, and the load for each."""

    sizes: tuple[int, ...]
    size: Annotated[int, Between(SIZE_MIN, SIZE_MAX)]
    rate: Annotated[float, Between(1, 100_000)]
    seconds: Annotated[float, Between(0.1, 3600.0)]

    def flood(self, members: int) -> ThroughputSetup:
        return ThroughputSetup(self._patient, members, members, self.size, self.seconds)

    def steady(self, members: int) -> LatencySetup:
        return LatencySetup(self._patient, members, 1, self.rate, self.size, self.seconds)

    @property
    def _patient(self) -> Definition:
        # The flood of 32 processes on 2 cores leaves some of them without a turn for more than SILENCE_MAX_MS: members
        # were put out, and it was their return that was measured.
        return replace(self.definition, detection=WAN)


@dataclass(frozen=True, slots=True)
class ScaleStep:
    """One size of the group."""

    members: int
    flood: Side
    single: LatencyResult

    @property
    def deliveries_per_s(self) -> float:
        """Return what all members together delivered in a second of the flood."""
        return median(sum(member.rate for member in turn.members) for turn in self.flood.turns)

    @property
    def cores_sender(self) -> float:
        return self.single.cores("m0")

    @property
    def cores_receiver(self) -> float:
        # m0 alone sends; the others are alike, and a median passes over one that was disturbed.
        return median(self.single.cores(name) for name in self.single.setup.names[1:])

    @property
    def wrong(self) -> list[str]:
        found = [*(what for turn in self.flood.turns for what in turn.wrong), *self.single.wrong]
        return [f"{self.members} members: {what}" for what in found]

    def row(self, setup: ScaleSetup) -> dict[str, object]:
        latencies = self.flood.latencies_ms
        return {
            **setup.row("scale"),
            "members": self.members,
            "size": setup.size,
            "rate": setup.rate,
            "ok": not self.wrong,
            "wrong": self.wrong,
            "deliveries_per_s": round(self.deliveries_per_s),
            "messages_per_s": round(self.flood.rate),
            "flood_p50_ms": round(percentile(latencies, 0.5), 3),
            "p50_ms": round(self.single.p50, 3),
            "p99_ms": round(self.single.p99, 3),
            "cores_sender": round(self.cores_sender, 3),
            "cores_receiver": round(self.cores_receiver, 3),
        }


@dataclass(frozen=True, slots=True)
class ScaleResult:
    """All sizes together."""

    setup: ScaleSetup
    steps: tuple[ScaleStep, ...]

    @property
    def ratio(self) -> float | None:
        """Return the deliveries in all of the largest group up to LARGE ÷ those of the smallest from SMALL on."""
        # Nothing above LARGE: the figure must not depend on what further sizes were asked for.
        there = [step for step in self.steps if SMALL <= step.members <= LARGE]
        small = min(there, key=lambda step: step.members, default=None)
        large = max(there, key=lambda step: step.members, default=None)
        return large.deliveries_per_s / small.deliveries_per_s if small and large and small is not large else None

    @property
    def wrong(self) -> list[str]:
        return [what for step in self.steps for what in step.wrong]


def measure(setup: ScaleSetup, tell: Tell = lambda _text: None) -> Iterator[ScaleStep]:
    """Yield the figures of each size. Raises Unavailable or GComTimeout when a process fails."""
    for members in setup.sizes:
        # One turn: no two sides are compared here, but one size with the next.
        flood = Side((throughput_turns.take_turn(setup.flood(members), throughput_turns.OURS, 1),))
        step = ScaleStep(members, flood, latency_turns.measure(setup.steady(members)))
        tell(f"{members} members: {step.deliveries_per_s:,.0f} deliveries/s in all, p50 {step.single.p50:.3f} ms")
        yield step
