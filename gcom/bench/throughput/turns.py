"""The throughput benchmark: turns of real processes, and the figures from their reports.

Each side's rate is the median of its turns, and a turn's rate is that of its slowest member. The cost of delivery logs
is the ratio of turns with them to turns without, in the same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median
from tempfile import TemporaryDirectory

from gcom.bench.frame import MEBIBYTE, BenchResult, JsonRow, Tell, filled, in_turns
from gcom.bench.processes.child import STALL_S
from gcom.bench.processes.children import START_S, Children, Report
from gcom.bench.settings import ThroughputSetup
from gcom.bench.throughput.load import percentile
from gcom.values.definition import Multicast

BASELINES = {
    "frames": "gcom.bench.throughput.frames:BareFrames",
    "tcp": "gcom.bench.throughput.tcp:TcpMesh",
    "pysyncobj": "gcom.bench.throughput.pysyncobj:LogMesh",
}
OURS, UNLOGGED = "gcom", "gcom without logs"
COLUMNS = {
    "": "{name}",
    "messages/s": "{messages_per_s:,}",
    "p50 ms": "{latency_ms[p50]:.1f}",
    "p99 ms": "{latency_ms[p99]:.1f}",
    "CPU s a process": "{mean_cpu_s:.2f}",
    "peak MiB": "{peak_mib:.0f}",
}
_END_S = 30.0  # on top of a member's own waits


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of one side; `rate` is the messages per second of the slowest member."""

    rate: float  # a group is as fast as its slowest member opens the windows
    members: dict[str, Report]
    messages: int
    wrong: list[str]


def measure(setup: ThroughputSetup, tell: Tell) -> Iterator[BenchResult]:
    """Take every turn. Raises Unavailable or GComTimeout when a process fails."""
    with ExitStack() as stack:
        logs = ""
        if setup.log or setup.log_dir:
            logs = str(setup.log_dir or stack.enter_context(TemporaryDirectory(prefix="gcom-bench-")))
        sides = [*filter(None, [setup.baseline]), *([UNLOGGED] if logs else []), OURS]
        # Each side twice where there are several, so that a machine that grows slower meanwhile is not taken for one
        # side. All turns of ours together take the time that was asked for: a comparison costs as much for each side.
        rounds = 2 if len(sides) > 1 else 1
        turn = partial(take_turn, setup, seconds=setup.seconds / rounds)
        turns = in_turns(rounds, {it: partial(turn, it, logs=logs if it == OURS else "") for it in sides}, tell)
    yield result(setup, turns)


def result(setup: ThroughputSetup, turns: Mapping[str, list[Turn]]) -> BenchResult:
    """Return the figures of all sides, as an object and as a table."""
    wrong = [f"{side}: {what}" for side, taken in turns.items() for turn in taken for what in turn.wrong]
    found = {side: _side_row(taken) for side, taken in turns.items()}
    logs = UNLOGGED in found
    row = {**setup.row(), "log": logs, "ok": not wrong, "wrong": wrong, **found[OURS]}
    shown = [{"name": f"{setup.promises}, with logs" if logs else setup.promises, **found[OURS]}]
    ratios = []
    for side, key, name in (
        (UNLOGGED, "log_ratio", f"{setup.promises}, without"),
        (setup.baseline, "ratio", f"{setup.baseline} alone"),
    ):
        if side in found:
            ratio = median(it.rate for it in turns[OURS]) / median(it.rate for it in turns[side])
            row[key] = round(ratio, 4)
            shown.append({"name": name, **found[side]})
            ratios.append((key.replace("_", " "), f"{ratio:.2f}"))
    if logs:
        row["without_logs"] = found[UNLOGGED]
    if setup.baseline:
        row["baseline_messages_per_s"] = found[setup.baseline]["messages_per_s"]
        row["baseline"] = {"kind": setup.baseline, **found[setup.baseline]}
    title = f"{setup.members} members, {setup.senders} senders, {setup.size} B"
    table = filled(title, COLUMNS, shown)
    return BenchResult(row, [table._replace(rows=[*table.rows, *ratios])], wrong)


def _side_row(turns: list[Turn]) -> JsonRow:
    """Return the turns of a side as one object of plain values; memory in MiB."""
    latencies = sorted(it / 1e6 for turn in turns for member in turn.members.values() for it in member["latencies_ns"])
    processes = [
        {
            "turn": number,
            "name": name,
            "messages_per_s": round(member["rate"]),
            "cpu_s": round(member["cpu_s"], 3),
            "peak_mib": round(member["peak_bytes"] / MEBIBYTE, 1),
        }
        for number, turn in enumerate(turns, 1)
        for name, member in turn.members.items()
    ]
    return {
        "messages_per_s": round(median(turn.rate for turn in turns)),
        "turns_messages_per_s": [round(turn.rate) for turn in turns],
        "messages": sum(turn.messages for turn in turns),
        "lost": sum(member["lost"] for turn in turns for member in turn.members.values()),
        "latency_ms": {"p50": round(percentile(latencies, 0.5), 3), "p99": round(percentile(latencies, 0.99), 3)},
        "processes": processes,
        "mean_cpu_s": round(sum(it["cpu_s"] for it in processes) / len(processes), 3),
        # The largest: a machine must have room for each of them, and a mean would hide one that grows.
        "peak_mib": max(it["peak_mib"] for it in processes),
    }


def take_turn(
    setup: ThroughputSetup,
    side: str,
    seconds: float,
    logs: str = "",
    environment: Mapping[str, str] | None = None,
) -> Turn:
    """Take one turn of a side, with `environment` added to its processes'; raises Unavailable or GComTimeout."""
    names, ours = setup.names, side in (OURS, UNLOGGED)
    # Fresh processes for each turn: a side must not run with the other's warm caches and grown memory.
    with Children(environment) as children:
        # A baseline has no registry: its members are told each other's addresses.
        if ours:
            registry = children.start_registry()
            children.run_members("gcom.bench.throughput.member:member", setup, registry=registry, logs=logs)
        else:
            children.run_members(BASELINES[side], setup)
        ready = children.gather("ready", names, START_S)
        children.ask(names, "open", START_S, peers={name: it["address"] for name, it in ready.items()})
        sent = children.ask(names, "flood", seconds + STALL_S + _END_S, seconds=seconds)
        # Each is told what the others sent, so a loss at the very end is seen too.
        counts = {name: report["count"] for name, report in sent.items() if report["count"]}
        members = children.ask(names, "judge_all", STALL_S + _END_S, counts=counts)
    wrong = [f"{name} of {what}" for name, report in members.items() for what in report["wrong"]]
    group = setup.definition
    # BASIC may lose, and says so.
    if group.multicast is Multicast.RELIABLE:
        wrong += [f"{name} lost {it['lost']} messages" for name, it in members.items() if it["lost"]]
        # A baseline promises no common order; only what is promised is held against a side.
        if ours and group.total and len({it["sequence"] for it in members.values()}) > 1:
            wrong.append("not all members delivered in the same order")
    return Turn(min(it["rate"] for it in members.values()), members, sum(counts.values()), wrong)
