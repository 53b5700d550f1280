"""The latency benchmark: all processes live at once, and take turns of a second at sending.

A machine that others use too is faster at one time than at another, so each turn of ours has a turn of the echo before
it; figures are medians over the turns. The age of a message at the slowest receiver counts; that at its own sender,
which may have to wait until others hold it, is told beside. One more turn, with a watch open at each member, tells the
stages of a message's way; it counts for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import monotonic
from typing import Annotated

from gcom.bench.benchmark import BenchSetup, Between, Tell, refused_load
from gcom.bench.latency.member import STALL_S
from gcom.bench.latency.pacing import SIZE_MIN
from gcom.bench.latency.stages import Stamps, stages_ms
from gcom.bench.processes import usage
from gcom.bench.processes.children import START_S, Children, Report
from gcom.bench.throughput.load import percentile
from gcom.values import limits
from gcom.values.definition import Multicast
from gcom.values.names import Address

BASELINES = ("pyro",)
TURN_S = 1.0  # short, so that both sides meet the same state of the machine
_END_S = 30.0  # on top of a member's own waits
_ECHO, _CALLER, _REGISTRY = "echo", "caller", "registry"


@dataclass(frozen=True, slots=True)
class LatencySetup(BenchSetup):
    """The senders among the members, and the messages per second of all of them together."""

    senders: Annotated[int, Between(1, limits.MEMBERS_MAX)]
    rate: Annotated[float, Between(1, 100_000)]
    size: Annotated[int, Between(SIZE_MIN, limits.MESSAGE_BYTES_MAX)]
    seconds: Annotated[float, Between(0.1, 3600.0)]
    baseline: str | None = None
    loop: bool = False  # members receive by `events`, and not by callbacks

    @property
    def label(self) -> str:
        """Return the group's promises, and how it receives if not as usual."""
        return f"{self.kind}, a loop" if self.loop else self.kind

    def refusal(self) -> str:
        alone = "one member alone has no other to receive: 2 at least" if self.members < 2 else ""
        return alone or refused_load(self, self.senders, self.baseline, BASELINES)

    @property
    def turns(self) -> int:
        return max(1, round(self.seconds / TURN_S))

    @property
    def turn_s(self) -> float:
        return self.seconds / self.turns

    @property
    def count(self) -> int:
        """The messages of one sender in a turn."""
        return max(1, round(self.rate / self.senders * self.turn_s))


@dataclass(frozen=True, slots=True)
class AgeSpread:
    """The ages of one turn's messages, in milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, ages_ns: list[int]) -> AgeSpread:
        return cls(percentile(ages_ns, 0.5) / 1e6, percentile(ages_ns, 0.99) / 1e6)


@dataclass(frozen=True, slots=True)
class LatencyTurn:
    """A turn of the group, and the echo's before it."""

    slowest: AgeSpread  # of what others sent, at the member whose median is longest
    own: AgeSpread  # of what it sent itself, at the member whose median is longest
    late: AgeSpread  # by how much `send` was called later than planned, at the sender whose median is longest
    echo: AgeSpread | None
    cores: dict[str, float]  # of each process: processor time as a share of a core
    waited: dict[str, float]  # of each process: seconds per second that its threads could run and had no core
    switches: dict[str, float]  # of each member's threads, per message
    lost: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LatencyResult:
    """All turns; `ok` if every delivery was right."""

    setup: LatencySetup
    turns: tuple[LatencyTurn, ...]
    stages_ms: dict[str, float]  # of the watched turn: medians at the slowest receiver

    @property
    def wrong(self) -> list[str]:
        return [what for turn in self.turns for what in turn.wrong]

    @property
    def ratio(self) -> float | None:
        """Return our p50 ÷ the echo's; None without a baseline."""
        return self.p50 / self.echo_p50 if self.echo_p50 else None

    @property
    def echo_p50(self) -> float | None:
        """Return the echo's p50 in milliseconds; None without a baseline."""
        echoes = [turn.echo.p50 for turn in self.turns if turn.echo]
        return median(echoes) if echoes else None

    @property
    def p50(self) -> float:
        return median(turn.slowest.p50 for turn in self.turns)

    @property
    def p99(self) -> float:
        return median(turn.slowest.p99 for turn in self.turns)

    @property
    def own_p50(self) -> float:
        return median(turn.own.p50 for turn in self.turns)

    def cores(self, name: str) -> float:
        return median(turn.cores[name] for turn in self.turns)

    @property
    def waited(self) -> float:
        """Return the seconds per second that all processes together could run and had no core."""
        return median(sum(turn.waited.values()) for turn in self.turns)

    def row(self) -> dict[str, object]:
        setup, turns = self.setup, self.turns
        row: dict[str, object] = {
            **setup.row("latency"),
            "senders": setup.senders,
            "rate": setup.rate,
            "size": setup.size,
            "seconds": setup.seconds,
            "loop": setup.loop,
            "ok": not self.wrong,
            "wrong": self.wrong,
            "lost": sum(turn.lost for turn in turns),
            "latency_ms": _row([turn.slowest for turn in turns]),
            "own_ms": _row([turn.own for turn in turns]),
            "late_ms": _row([turn.late for turn in turns]),
            "stages_ms": {name: round(value, 3) for name, value in self.stages_ms.items()},
            "cores": _medians([turn.cores for turn in turns], 3),
            "waited": _medians([turn.waited for turn in turns], 3),
            "switches_per_message": _medians([turn.switches for turn in turns], 1),
        }
        if self.ratio is not None:
            row["baseline"] = {"kind": setup.baseline, "latency_ms": _row([turn.echo for turn in turns if turn.echo])}
            row["ratio"] = round(self.ratio, 2)
        return row


def _row(spreads: list[AgeSpread]) -> dict[str, object]:
    turns_p50 = [round(spread.p50, 3) for spread in spreads]
    p50, p99 = median(spread.p50 for spread in spreads), median(spread.p99 for spread in spreads)
    return {"p50": round(p50, 3), "p99": round(p99, 3), "turns_p50": turns_p50}


def _medians(turns: list[dict[str, float]], digits: int) -> dict[str, float]:
    return {name: round(median(turn[name] for turn in turns), digits) for name in turns[0]}


def measure(setup: LatencySetup, tell: Tell = lambda _text: None) -> LatencyResult:
    """Run every turn; `tell` is called after each. Raises Unavailable or GComTimeout when a process fails."""
    turns: list[LatencyTurn] = []
    with Children() as children:
        start(children, setup)
        take_turn(children, setup)  # not counted: connections are made, code is warm
        for number in range(1, setup.turns + 1):
            turns.append(turn := take_turn(children, setup))
            tell(f"turn {number} of {setup.turns}: p50 {turn.slowest.p50:.3f} ms")
        # Behind all that count: stamps cost time, and the same processes, warm by now, have the stages.
        taken = _taken(children, setup, watched=True)
    stamps = {name: [Stamps(*row) for row in report["stamps"]] for name, report in taken.items()}
    return LatencyResult(setup, tuple(turns), stages_ms(stamps))


def start(children: Children, setup: LatencySetup) -> Address:
    """Start the processes; return the registry's address."""
    pace = str(setup.rate / setup.senders), str(setup.size), "loop" if setup.loop else "callbacks"
    if setup.baseline:
        children.start(_ECHO, "gcom.bench.latency.echo")
        address = children.gather("ready", [_ECHO], START_S)[_ECHO]["address"]
        # All of the rate by one caller, where members share it: as many messages a second on either side.
        children.start(_CALLER, "gcom.bench.latency.echo", address, str(setup.rate), str(setup.size))
        children.gather("ready", [_CALLER], START_S)
    registry = children.start_registry()
    for name in setup.names:
        group = *setup.words(registry), str(setup.members)
        children.start(name, "gcom.bench.latency.member", name, *pace, *group)
    children.gather("ready", setup.names, START_S)
    return registry


def take_turn(children: Children, setup: LatencySetup) -> LatencyTurn:
    """Have the processes take a turn; raises Unavailable or GComTimeout."""
    echo = _echo(children, setup) if setup.baseline else None
    # The registry too: where the order is total each message waits for a serial from it.
    processes = {name: children.process_id(name) for name in (*setup.names, _REGISTRY)}
    before_s = {name: usage.waited_s_of(process) for name, process in processes.items()}
    began, registry_s = monotonic(), usage.cpu_s_of(processes[_REGISTRY])
    taken = _taken(children, setup)
    seconds = monotonic() - began
    used = usage.cpu_s_of(processes[_REGISTRY]) - registry_s
    # A thread that has ended meanwhile takes its time with it.
    after_s = {name: max(before_s[name], usage.waited_s_of(process)) for name, process in processes.items()}
    waited = {name: (after_s[name] - before_s[name]) / seconds for name in processes}
    return counted(setup, taken, used, waited, seconds, echo)


def _taken(children: Children, setup: LatencySetup, watched: bool = False) -> dict[str, Report]:
    children.tell_all(setup.names, "begin")
    children.gather("begun", setup.names, START_S)
    for place, name in enumerate(setup.names):
        load = {"seconds": setup.turn_s, "count": setup.count * setup.senders, "watched": watched}
        children.tell(name, "go", sends=place < setup.senders, **load)
    return children.gather("taken", setup.names, setup.turn_s + STALL_S + _END_S)


def _echo(children: Children, setup: LatencySetup) -> AgeSpread:
    children.tell(_CALLER, "go", seconds=setup.turn_s)
    return AgeSpread.of(children.gather("taken", [_CALLER], setup.turn_s + _END_S)[_CALLER]["ages_ns"])


def counted(
    setup: LatencySetup,
    taken: dict[str, Report],
    registry_s: float,
    waited: dict[str, float],
    seconds: float,
    echo: AgeSpread | None,
) -> LatencyTurn:
    """Return the figures of a turn, from what each member reported and what was looked at from outside."""
    slowest, own, late = (_slowest(taken, kind) for kind in ("ages_ns", "own_ns", "late_ns"))
    wrong = [f"{name}: {what}" for name, report in taken.items() for what in report["wrong"]]
    lost = sum(report["lost"] for report in taken.values())
    if lost and setup.definition.multicast is Multicast.RELIABLE:
        wrong.append(f"{lost} messages were lost")
    cores = {name: taken[name]["cpu_s"] / seconds for name in setup.names}
    switches = {name: taken[name]["switches"] / (setup.count * setup.senders) for name in setup.names}
    cores[_REGISTRY] = registry_s / seconds
    return LatencyTurn(slowest, own, late, echo, cores, waited, switches, lost, tuple(wrong))


def _slowest(taken: dict[str, Report], ages: str) -> AgeSpread:
    # One process's median, not that of all together: the slowest is the one that a user waits for.
    return max((AgeSpread.of(report[ages]) for report in taken.values()), key=lambda spread: spread.p50)
