"""The latency benchmark: all processes live at once, and take turns of a second at sending.

Each turn of ours has a turn of the echo before it; figures are medians over the turns. The age of a message at the
slowest receiver counts; that at its own sender, which may have to wait until others hold it, is told beside. One more
turn, with a watch open at each member, tells the stages of a message's way; it counts for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import monotonic
from typing import Any, NamedTuple

from gcom.bench.frame import BenchResult, BenchTable, JsonRow, Tell, in_turns
from gcom.bench.latency.stages import Stamps, stages_ms
from gcom.bench.processes import usage
from gcom.bench.processes.child import STALL_S
from gcom.bench.processes.children import START_S, Children, Report
from gcom.bench.settings import LatencySetup
from gcom.bench.throughput.load import percentile
from gcom.values.definition import Multicast
from gcom.values.names import Address

OURS = "gcom"
TURN_S = 1.0  # short, so that both sides meet the same state of the machine
_END_S = 30.0  # on top of a member's own waits
_ECHO, _CALLER, _REGISTRY = "echo", "caller", "registry"


class AgeSpread(NamedTuple):
    """The ages of one turn's messages, in milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, ages_ns: list[int]) -> AgeSpread:
        return cls(percentile(ages_ns, 0.5) / 1e6, percentile(ages_ns, 0.99) / 1e6)


@dataclass(frozen=True, slots=True)
class LatencyTurn:
    """A turn of the group. Each spread is that of the member whose median is longest."""

    slowest: AgeSpread  # of what others sent
    own: AgeSpread  # of what a member sent itself
    late: AgeSpread  # by how much `send` was called later than planned
    cores: dict[str, float]  # of each process: processor time as a share of a core
    waited: dict[str, float]  # of each process: seconds per second that its threads could run and had no core
    switches: dict[str, float]  # of each member's threads, per message
    lost: int
    wrong: tuple[str, ...]


def measure(setup: LatencySetup, tell: Tell) -> Iterator[BenchResult]:
    """Take every turn. Raises Unavailable or GComTimeout when a process fails."""
    seconds = setup.seconds / (rounds := max(1, round(setup.seconds / TURN_S)))
    with Children() as children:
        if setup.baseline:
            children.run(_ECHO, "gcom.bench.latency.echo:Echo")
            address = children.gather("ready", [_ECHO], START_S)[_ECHO]["address"]
            children.run(_CALLER, "gcom.bench.latency.echo:EchoCaller", address=address, setup=setup.plain())
            children.gather("ready", [_CALLER], START_S)
        start(children, setup)
        # The echo's first, so that each turn of ours has one before it.
        sides: dict[str, Callable[[], Any]] = (
            {setup.baseline: partial(_echo, children, seconds)} if setup.baseline else {}
        )
        sides[OURS] = partial(take_turn, children, setup, seconds)
        in_turns(1, sides)  # not counted: connections are made, code is warm
        turns = in_turns(rounds, sides, tell)
        # Behind all that count: stamps cost time, and the same processes, warm by now, have the stages.
        taken = _taken(children, setup, seconds, "take_watched")
    stamps = {name: [Stamps(*row) for row in report["stamps"]] for name, report in taken.items()}
    yield result(setup, turns[OURS], turns.get(setup.baseline or "", []), stages_ms(stamps))


def start(children: Children, setup: LatencySetup) -> Address:
    """Start the group's processes; return the registry's address."""
    registry = children.start_registry()
    children.run_members("gcom.bench.latency.member:member", setup, registry=registry)
    children.gather("ready", setup.names, START_S)
    return registry


def take_turn(children: Children, setup: LatencySetup, seconds: float) -> LatencyTurn:
    """Have the processes take a turn; raises Unavailable or GComTimeout."""
    # The registry too: where the order is total each message waits for a serial from it.
    processes = {name: children.process_id(name) for name in (*setup.names, _REGISTRY)}
    before_s = {name: usage.waited_s_of(process) for name, process in processes.items()}
    began, registry_s = monotonic(), usage.cpu_s_of(processes[_REGISTRY])
    taken = _taken(children, setup, seconds, "take")
    length = monotonic() - began
    used = usage.cpu_s_of(processes[_REGISTRY]) - registry_s
    # A thread that has ended meanwhile takes its time with it.
    after_s = {name: max(before_s[name], usage.waited_s_of(process)) for name, process in processes.items()}
    waited = {name: (after_s[name] - before_s[name]) / length for name in processes}
    cores = {name: it["cpu_s"] / length for name, it in taken.items()} | {_REGISTRY: used / length}
    return counted(setup, taken, cores, waited, _messages(setup, seconds))


def _echo(children: Children, seconds: float) -> AgeSpread:
    return AgeSpread.of(children.ask([_CALLER], "take", seconds + _END_S, seconds=seconds)[_CALLER]["ages_ns"])


def _messages(setup: LatencySetup, seconds: float) -> int:
    """Return how many messages all senders send in a turn, rounded for each as `pace` does."""
    return setup.senders * max(1, round(setup.rate / setup.senders * seconds))


def _taken(children: Children, setup: LatencySetup, seconds: float, order: str) -> dict[str, Report]:
    children.ask(setup.names, "begin", START_S)
    count = _messages(setup, seconds)
    for place, name in enumerate(setup.names):
        children.tell(name, order, sends=place < setup.senders, seconds=seconds, count=count)
    return children.gather(order, setup.names, seconds + STALL_S + _END_S)


def counted(
    setup: LatencySetup, taken: Mapping[str, Report], cores: dict[str, float], waited: dict[str, float], messages: int
) -> LatencyTurn:
    """Return the figures of a turn, from what each member reported and what was looked at from outside."""
    slowest, own, late = (_slowest(taken, kind) for kind in ("ages_ns", "own_ns", "late_ns"))
    wrong = [f"{name}: {what}" for name, report in taken.items() for what in report["wrong"]]
    lost = sum(report["lost"] for report in taken.values())
    if lost and setup.definition.multicast is Multicast.RELIABLE:
        wrong.append(f"{lost} messages were lost")
    switches = {name: report["switches"] / messages for name, report in taken.items()}
    return LatencyTurn(slowest, own, late, cores, waited, switches, lost, tuple(wrong))


def _slowest(taken: Mapping[str, Report], ages: str) -> AgeSpread:
    # One process's median, not that of all together: the slowest is the one that a user waits for.
    return max((AgeSpread.of(report[ages]) for report in taken.values()), key=lambda spread: spread.p50)


def result(
    setup: LatencySetup, turns: Sequence[LatencyTurn], echoes: Sequence[AgeSpread], stages: Mapping[str, float]
) -> BenchResult:
    """Return the medians over the turns, as an object and as a table."""
    wrong = [what for turn in turns for what in turn.wrong]
    ages = {
        "latency_ms": (setup.promises, [turn.slowest for turn in turns]),
        "own_ms": ("at its own sender", [turn.own for turn in turns]),
        "late_ms": ("sent later than planned", [turn.late for turn in turns]),
    }
    row: JsonRow = {
        **setup.row(),
        "ok": not wrong,
        "wrong": wrong,
        "lost": sum(turn.lost for turn in turns),
        **{key: _ages(spreads) for key, (_, spreads) in ages.items()},
        "stages_ms": {name: round(value, 3) for name, value in stages.items()},
        "cores": _medians([turn.cores for turn in turns], 3),
        "waited": _medians([turn.waited for turn in turns], 3),
        "switches_per_message": _medians([turn.switches for turn in turns], 1),
    }
    cells = [_cells(name, row[key]) for key, (name, _) in ages.items()]
    if echoes:
        row["baseline"] = {"kind": setup.baseline, "latency_ms": _ages(echoes)}
        row["ratio"] = round(median(turn.slowest.p50 for turn in turns) / median(it.p50 for it in echoes), 2)
        cells += [_cells("bare pyro", row["baseline"]["latency_ms"]), ("ratio", f"{row['ratio']:.2f}")]
    cells += [(f"  {name}", f"{length:.3f}") for name, length in stages.items()]
    # Per process: which of them waited for a core tells whether the machine was slow, or GCom.
    cells += [(name, "", "", f"{cores:.2f}", f"{row['waited'][name]:.2f}") for name, cores in row["cores"].items()]
    title = f"{setup.rate:g} messages of {setup.size} B a second, {setup.members} members"
    columns = ("", "p50 ms", "p99 ms", "share of a core", "waited for one")
    return BenchResult(row, [BenchTable(title, columns, cells)], wrong)


def _ages(spreads: Sequence[AgeSpread]) -> JsonRow:
    p50, p99 = median(spread.p50 for spread in spreads), median(spread.p99 for spread in spreads)
    return {"p50": round(p50, 3), "p99": round(p99, 3), "turns_p50": [round(spread.p50, 3) for spread in spreads]}


def _cells(name: str, ages: JsonRow) -> tuple[str, ...]:
    return name, f"{ages['p50']:.3f}", f"{ages['p99']:.3f}"


def _medians(turns: Sequence[Mapping[str, float]], digits: int) -> dict[str, float]:
    return {name: round(median(turn[name] for turn in turns), digits) for name in turns[0]}
