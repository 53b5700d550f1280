"""The throughput benchmark: turns of real processes, and the figures from their reports.

With something to compare with, turns alternate (the baseline, ours, the baseline, ours), since a machine that others
use too is faster at one time than at another; each side's rate is the median of its turns, and a turn's rate is that of
its slowest member. The cost of delivery logs is the ratio of ours with them to ours without, in the same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated

from gcom.bench.benchmark import MEBIBYTE, BenchSetup, Between, Tell, refused_load
from gcom.bench.processes.children import START_S, Children, Report
from gcom.bench.throughput.load import SIZE_MAX, SIZE_MIN, percentile
from gcom.bench.throughput.turn import STALL_S, TurnPlan
from gcom.values import limits
from gcom.values.definition import Multicast

BASELINES = ("frames", "tcp", "pysyncobj")
OURS, UNLOGGED = "gcom", "gcom without logs"
_END_S = 30.0  # on top of a member's own waits


@dataclass(frozen=True, slots=True)
class ThroughputSetup(BenchSetup):
    """The senders among the members, the load, and what to compare with."""

    senders: Annotated[int, Between(1, limits.MEMBERS_MAX)]
    size: Annotated[int, Between(SIZE_MIN, SIZE_MAX)]
    seconds: Annotated[float, Between(0.1, 3600.0)]
    baseline: str | None = None
    log: bool = False  # also write delivery logs, and measure without them
    log_dir: Path | None = None  # else a temporary folder

    def refusal(self) -> str:
        if refused := refused_load(self, self.senders, self.baseline, BASELINES):
            return refused
        folder = self.log_dir
        if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            return f"log folder {str(folder)!r} is no empty folder: name a new one"
        return ""

    @property
    def turns(self) -> tuple[str, ...]:
        """Return the sides in the order in which they take turns."""
        # Each side twice where there are several, so that a machine that grows slower meanwhile is not taken for one
        # side.
        sides = [*filter(None, [self.baseline]), *([UNLOGGED] if self.log else []), OURS]
        return tuple(sides) * (2 if len(sides) > 1 else 1)

    @property
    def promises_one_sequence(self) -> bool:
        """Tell whether all members deliver all messages in the same order; over BASIC some may have lost some."""
        return self.definition.total and self.definition.multicast is Multicast.RELIABLE

    def plan(self, name: str) -> TurnPlan:
        # All turns of ours together take the time that was asked for, so a comparison costs as much for each side.
        seconds = self.seconds / self.turns.count(OURS)
        # In TOTAL all come in one order, but not each sender's in its own: that is FIFO's promise, and CAUSAL's.
        ordered = self.definition.ordering.is_fifo
        return TurnPlan(name, self.members, self.senders, self.size, seconds, ordered)


@dataclass(frozen=True, slots=True)
class TurnMember:
    """A process in one turn."""

    turn: int
    name: str
    rate: float
    lost: int
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of one side."""

    side: str
    members: tuple[TurnMember, ...]
    latencies_ms: tuple[float, ...]
    messages: int
    wrong: tuple[str, ...]

    @property
    def rate(self) -> float:
        """Return the messages per second of the slowest member: a group is as fast as that one opens the windows."""
        return min(member.rate for member in self.members)


@dataclass(frozen=True, slots=True)
class Side:
    """All turns of one side together."""

    turns: tuple[Turn, ...]

    @property
    def rate(self) -> float:
        return median(turn.rate for turn in self.turns)

    @property
    def latencies_ms(self) -> list[float]:
        return sorted(value for turn in self.turns for value in turn.latencies_ms)

    def row(self) -> dict[str, object]:
        """Return the side as one object of plain values; memory in MiB."""
        latencies = self.latencies_ms
        return {
            "messages_per_s": round(self.rate),
            "turns_messages_per_s": [round(turn.rate) for turn in self.turns],
            "messages": sum(turn.messages for turn in self.turns),
            "lost": sum(member.lost for turn in self.turns for member in turn.members),
            "latency_ms": {"p50": round(percentile(latencies, 0.5), 3), "p99": round(percentile(latencies, 0.99), 3)},
            "processes": [
                {
                    "turn": member.turn,
                    "name": member.name,
                    "messages_per_s": round(member.rate),
                    "cpu_s": round(member.cpu_s, 3),
                    "peak_mib": round(member.peak_bytes / MEBIBYTE, 1),
                }
                for turn in self.turns
                for member in turn.members
            ],
        }


@dataclass(frozen=True, slots=True)
class ThroughputResult:
    """All sides together; `ok` if every delivery of every turn was right."""

    setup: ThroughputSetup
    ours: Side
    baseline: Side | None = None
    unlogged: Side | None = None

    @property
    def ratio(self) -> float | None:
        """Return ours ÷ baseline; None without one."""
        return self.ours.rate / self.baseline.rate if self.baseline else None

    @property
    def log_ratio(self) -> float | None:
        """Return ours with delivery logs ÷ ours without; None if no logs were written."""
        return self.ours.rate / self.unlogged.rate if self.unlogged else None

    @property
    def wrong(self) -> list[str]:
        turns = [turn for side in (self.ours, self.baseline, self.unlogged) if side for turn in side.turns]
        return [f"{turn.side}: {what}" for turn in turns for what in turn.wrong]

    @property
    def ok(self) -> bool:
        return not self.wrong

    def row(self) -> dict[str, object]:
        setup = self.setup
        row: dict[str, object] = {
            **setup.row("throughput"),
            "log": setup.log,
            "senders": setup.senders,
            "size": setup.size,
            "seconds": setup.seconds,
            "ok": self.ok,
            "wrong": self.wrong,
            **self.ours.row(),
        }
        if self.baseline and self.ratio is not None:
            row["baseline_messages_per_s"] = round(self.baseline.rate)
            row["ratio"] = round(self.ratio, 4)
            row["baseline"] = {"kind": setup.baseline, **self.baseline.row()}
        if self.unlogged and self.log_ratio is not None:
            row["log_ratio"] = round(self.log_ratio, 4)
            row["without_logs"] = self.unlogged.row()
        return row


def measure(setup: ThroughputSetup, tell: Tell = lambda _text: None) -> ThroughputResult:
    """Run every turn; `tell` is called after each. Raises Unavailable or GComTimeout when a process fails."""
    turns: dict[str, list[Turn]] = {}
    with _log_folder(setup) as logs:
        for number, side in enumerate(setup.turns, 1):
            # Before it begins as well: a turn may take minutes, and somebody watches.
            tell(f"turn {number} of {len(setup.turns)}: {side}")
            turn = take_turn(setup, side, number, logs if side == OURS else "")
            tell(f"turn {number} of {len(setup.turns)}: {side}, {turn.rate:,.0f} messages/s")
            turns.setdefault(side, []).append(turn)
    sides = {side: Side(tuple(found)) for side, found in turns.items()}
    return ThroughputResult(setup, sides[OURS], sides.get(setup.baseline or ""), sides.get(UNLOGGED))


@contextmanager
def _log_folder(setup: ThroughputSetup) -> Iterator[str]:
    """Return the folder of the delivery logs; empty if none are written."""
    if setup.log and setup.log_dir is None:
        with TemporaryDirectory(prefix="gcom-bench-") as folder:
            yield folder
    else:
        yield str(setup.log_dir or "") if setup.log else ""


def take_turn(
    setup: ThroughputSetup, side: str, number: int, logs: str = "", environment: Mapping[str, str] | None = None
) -> Turn:
    """Run one turn of a side, with `environment` added to its processes'; raises Unavailable or GComTimeout."""
    names = setup.names
    with Children(environment) as children:
        # Fresh processes for each turn: a side must not run with the other's warm caches and grown memory.
        _start(children, setup, side, logs)
        peers = {name: ready["address"] for name, ready in children.gather("ready", names, START_S).items()}
        children.tell_all(names, "peers", peers=peers)
        children.gather("joined", names, START_S)
        children.tell_all(names, "go")
        sent = children.gather("sent", names, setup.seconds + STALL_S + _END_S)
        # Each is told what the others sent, so a loss at the very end is seen too.
        counts = {name: report["count"] for name, report in sent.items() if report["count"]}
        children.tell_all(names, "expect", counts=counts)
        results = children.gather("result", names, STALL_S + _END_S)
    return _turn(setup, side, number, results, sum(counts.values()))


def _start(children: Children, setup: ThroughputSetup, side: str, logs: str) -> None:
    # A baseline has no registry: its members are told each other's addresses (`peers`).
    if side in BASELINES:
        for name in setup.names:
            children.start(name, f"gcom.bench.throughput.{side}", *setup.plan(name).words())
        return
    registry = children.start_registry()
    for name in setup.names:
        children.start(name, "gcom.bench.throughput.member", *setup.words(registry), logs, *setup.plan(name).words())


def _turn(setup: ThroughputSetup, side: str, number: int, results: dict[str, Report], messages: int) -> Turn:
    members = tuple(
        TurnMember(number, name, float(r["rate"]), int(r["lost"]), float(r["cpu_s"]), int(r["peak_bytes"]))
        for name, r in sorted(results.items())
    )
    latencies = tuple(value / 1e6 for report in results.values() for value in report["latencies_ns"])
    wrong = [f"{name} of {what}" for name, report in results.items() for what in report["wrong"]]
    # BASIC may lose, and says so.
    if setup.definition.multicast is not Multicast.BASIC:
        wrong += [f"{member.name} lost {member.lost} messages" for member in members if member.lost]
    sequences = {report["sequence"] for report in results.values()}
    # A baseline promises no common order; only what is promised is held against a side.
    if side not in BASELINES and setup.promises_one_sequence and len(sequences) > 1:
        wrong.append("not all members delivered in the same order")
    return Turn(side, members, latencies, messages, tuple(wrong))
