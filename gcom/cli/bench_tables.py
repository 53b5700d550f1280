"""The output of `gcom bench`, but for throughput's: progress, tables or JSON rows.

Each command measures, shows the result, and returns 1 if a delivery was wrong, or what its docstring says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from gcom.bench.audit import run as audit_run
from gcom.bench.benchmark import MEBIBYTE, Bounded, Figure, Tell
from gcom.bench.failover import membership
from gcom.bench.failover import trials as failover_trials
from gcom.bench.failover.scenario import Scenario
from gcom.bench.idle import cost as idle_cost
from gcom.bench.latency import turns as latency_turns
from gcom.bench.performance import page
from gcom.bench.performance import plan as performance
from gcom.bench.performance.computer import Computer
from gcom.bench.processes import usage
from gcom.bench.replicated import measuring as replicated_bench
from gcom.bench.security import tls as tls_bench
from gcom.bench.sessions import measuring as sessions_bench
from gcom.bench.topics import measuring as topics_bench
from gcom.cli.output import Output, notice
from gcom.cli.progress import show
from gcom.values.definition import Ordering

HARDEST = Ordering.TOTAL  # the order that asks most of the survivors
ROUNDS_MAX = 3  # of each scene of the membership
NOTICE_S = 5.0  # where there is no terminal, a line this often


def failover(setup: failover_trials.FailoverSetup, output: Output, as_json: bool) -> int:
    """Return 1 if a group did not go on."""
    # Whoever asks for one kind of kill wants that figure and not ten minutes of scenes.
    everything = setup.kills == tuple(failover_trials.Kill)
    rounds = min(ROUNDS_MAX, setup.trials) if everything else 0
    kills: list[failover_trials.FailoverResult] = []
    figures: list[Figure] = []
    with _progress(setup.trials * len(setup.wanted) + membership.steps(rounds)) as tell:
        with Scenario() as scenario:
            for outcome in failover_trials.measure(setup, scenario, tell):
                kills.append(outcome)
                _row(outcome.row(), output, as_json)
        if everything:
            for figure in membership.measure(setup.definition, rounds, tell):
                figures.append(figure)
                _row(figure.row(), output, as_json)
    if not as_json:
        show(_kill_table(setup, kills), output)
        if figures:
            show(_figure_table(figures), output)
    failed = sum(outcome.failed for outcome in kills)
    text = f"in {failed} trials the survivors did not go on within {failover_trials.RESUME_S:g} s"
    return _report_faults([text] if failed else [])


def everything(out: Path, quick: bool, output: Output, as_json: bool) -> int:
    """Measure all, and write the page."""
    # First: a page that cannot be written, or a package that is missing, must not cost a quarter of an hour.
    page.refuse(out)
    usage.require()
    machine = Computer.here()  # before the measurement, which is itself a load
    with _progress(None) as tell:
        findings = performance.measure(performance.plan(quick), tell)
    for row in findings.rows():
        _row(row, output, as_json)
    for path in page.write(out, findings, machine, quick):
        notice(f"written: {path}")
    return _report_faults([f"wrong: {wrong}" for wrong in findings.wrong])


def audit(setup: audit_run.AuditBenchSetup, output: Output, as_json: bool) -> int:
    """Return 1 if a log was not found to be as it was made."""
    outcomes: list[audit_run.AuditBenchResult] = []
    with _progress(None) as tell:
        for outcome in audit_run.measure(setup, tell):
            outcomes.append(outcome)
            _row(outcome.row(), output, as_json)
    if not as_json:
        show(_audit_table(setup, outcomes), output)
    if setup.twice:
        times = audit_run.growth(outcomes)
        _row({"twice_the_input": times and round(times, 2)}, output, as_json)
        if times is None:
            notice("half of the input takes no longer than the start-up: measure with more --deliveries")
    # A broken log that passes is as wrong as a sound one that fails.
    return 1 if any(outcome.verdict != ("FAIL" if setup.broken else "PASS") for outcome in outcomes) else 0


def latency(setup: latency_turns.LatencySetup, output: Output, as_json: bool) -> int:
    outcome = _measured(partial(latency_turns.measure, setup), setup.turns, _latency_table, output, as_json)
    return _wrong_deliveries(outcome.wrong)


def idle(setup: idle_cost.IdleSetup, output: Output, as_json: bool) -> int:
    _measured(partial(idle_cost.measure, setup), None, _idle_table, output, as_json)
    return 0


def topics(setup: topics_bench.TopicsBenchSetup, output: Output, as_json: bool) -> int:
    outcome = _measured(partial(topics_bench.measure, setup), None, _topics_table, output, as_json)
    if not as_json:
        show(_ways_table(outcome), output)
    return 0


def sessions(setup: sessions_bench.SessionBenchSetup, output: Output, as_json: bool) -> int:
    _measured(partial(sessions_bench.measure, setup), None, _sessions_table, output, as_json)
    return 0


def replicated(setup: replicated_bench.ReplicatedBenchSetup, output: Output, as_json: bool) -> int:
    _measured(partial(replicated_bench.measure, setup), None, _replicated_table, output, as_json)
    return 0


def tls(setup: tls_bench.TlsBenchSetup, output: Output, as_json: bool) -> int:
    steps = 2 * len(tls_bench.SIDES) * setup.rounds
    return _wrong_deliveries(_measured(partial(tls_bench.measure, setup), steps, _tls_table, output, as_json).wrong)


class _BenchResult(Protocol):
    def row(self) -> dict[str, object]: ...


R = TypeVar("R", bound=_BenchResult)


def _measured(
    measure: Callable[[Tell], R], steps: int | None, table: Callable[[R], Table], output: Output, as_json: bool
) -> R:
    """Measure and show a bench's one result, and return it."""
    with _progress(steps) as tell:
        outcome = measure(tell)
    _row(outcome.row(), output, as_json)
    if not as_json:
        show(table(outcome), output)
    return outcome


def _wrong_deliveries(wrong: Sequence[str]) -> int:
    return _report_faults([f"wrong delivery: {each}" for each in wrong])


def _report_faults(faults: Sequence[str]) -> int:
    """Print each fault; return the exit status."""
    for text in faults:
        notice(text)
    return 1 if faults else 0


def _table(title: str, titles: Sequence[str], left: Sequence[str] = ("",)) -> Table:
    """Return a table without rows; numbers stand at the right, so all columns do but for those of `left`."""
    table = Table(title=title)
    for each in titles:
        table.add_column(each, justify="left" if each in left else "right")
    return table


def _reach_table(title: str, figures: Iterable[Bounded], further: Sequence[str] = ()) -> Table:
    """Return a table of figures and their bounds, with columns more for what stands beside them."""
    table = _table(title, ("", "value", "to reach", " ", *further), ("", " "))
    for it in figures:
        table.add_row(it.name, f"{it.value:,.2f}", f"{it.bound:,g}", _met(it.met))
    return table


def _topics_table(outcome: topics_bench.TopicsBenchResult) -> Table:
    title = f"Topics in a file: bodies of {outcome.setup.size:,} bytes; c0, a bare commit, is {outcome.c0_ms:.2f} ms"
    return _reach_table(title, outcome.figures)


def _sessions_table(outcome: sessions_bench.SessionBenchResult) -> Table:
    title = "Sessions: a store of three replicas, one of them in this process"
    table = _reach_table(title, outcome.figures, ("reads per s", "of none", "writes per s", "of none "))
    for price in outcome.prices:
        shares = f"{price.reads_share:.0%}", f"{price.writes_share:.0%}"
        name = "no guarantee" if price.guarantee == "none" else price.guarantee
        table.add_row(name, "", "", "", f"{price.reads_per_s:,.0f}", shares[0], f"{price.writes_per_s:,.0f}", shares[1])
    return table


def _replicated_table(outcome: replicated_bench.ReplicatedBenchResult) -> Table:
    title = "A replicated state of three replicas, one of them in this process; values of 100 bytes"
    table = _reach_table(title, outcome.figures)
    for key, value in outcome.beside.items():
        table.add_row(replicated_bench.BESIDE.get(key, key.replace("_", " ")), f"{value:,.2f}")
    return table


def _tls_table(outcome: tls_bench.TlsBenchResult) -> Table:
    return _reach_table(f"TLS beside plain loopback: {outcome.setup.members} members", outcome.figures)


def _row(row: dict[str, object], output: Output, as_json: bool) -> None:
    """Print the JSON row at once, if asked for: the next may take minutes."""
    if as_json:
        output.row(row)
        output.flush()


def _kill_table(setup: failover_trials.FailoverSetup, kills: list[failover_trials.FailoverResult]) -> Table:
    titles = ("killed", "trials", "median ms", "p90 ms", "worst ms", "first message, worst ms", "to reach", "")
    title = f"From a kill until the rest goes on: {setup.members} members, {setup.promises}"
    table = _table(title, titles, ("killed", ""))
    # Judged by the stricter time, which ends with a view without the dead. Beside it the other one: an order that
    # waits for nobody goes on delivering before that view.
    for outcome in kills:
        resumed = failover_trials.spread_ms(outcome.resumed_s)
        table.add_row(
            str(outcome.kill),
            f"{len(outcome.trials)}",
            *[_number(resumed[name]) for name in ("median", "p90", "worst")],
            _number(failover_trials.spread_ms(outcome.first_s)["worst"]),
            ", ".join(f"{goal.most * 1000:.0f}" for goal in failover_trials.GOALS),
            _met(outcome.met),
        )
    return table


def _figure_table(figures: list[Figure]) -> Table:
    table = _table("Membership", ("", "rounds", "which", "value", "to reach", " "), ("", "which", " "))
    for figure in figures:
        goal = figure.goal
        shown = (goal.shown(figure.value), goal.shown(goal.most))
        table.add_row(goal.name, f"{len(figure.values)}", goal.by, *shown, _met(figure.met))
    return table


def _latency_table(outcome: latency_turns.LatencyResult) -> Table:
    setup, turns = outcome.setup, outcome.turns
    title = f"{setup.rate:g} messages of {setup.size} B a second, {setup.members} members"
    table = _table(title, ("", "p50 ms", "p99 ms", "share of a core", "waited for one"))
    sides = {
        setup.promises: [turn.slowest for turn in turns],
        "at its own sender": [turn.own for turn in turns],
        "sent later than planned": [turn.late for turn in turns],
        "bare pyro": [turn.echo for turn in turns if turn.echo],
    }
    for side, spreads in sides.items():
        if spreads:
            p50, p99 = median(it.p50 for it in spreads), median(it.p99 for it in spreads)
            table.add_row(side, f"{p50:.3f}", f"{p99:.3f}")
    if outcome.ratio is not None:
        table.add_row("ratio", f"{outcome.ratio:.2f}")
    for name, length in outcome.stages_ms.items():
        table.add_row(f"  {name}", f"{length:.3f}")
    # Per process: which of them waited for a core tells whether the machine was slow, or GCom.
    for name in turns[0].cores:
        waited = median(turn.waited[name] for turn in turns)
        table.add_row(name, "", "", f"{outcome.cores(name):.2f}", f"{waited:.2f}")
    return table


def _idle_table(outcome: idle_cost.IdleResult) -> Table:
    setup = outcome.setup
    title = f"Nothing is sent: {setup.members} members, {setup.groups} groups, {setup.promises}"
    table = _table(title, ("", "percent of a core", "to reach", "switches per s", " "), ("", " "))
    for name, used in outcome.percent.items():
        table.add_row(name, f"{used:.2f}", "", f"{outcome.switches[name]:.0f}" if name in outcome.switches else "")
    for it in outcome.figures:
        table.add_row("median member", f"{it.value:.2f}", f"{it.bound:.2f}", "", _met(it.met))
    return table


def _ways_table(outcome: topics_bench.TopicsBenchResult) -> Table:
    batch = topics_bench.BATCH
    titles = ("for each message", "commits", "processor µs", f"commits, by {batch}", f"processor µs, by {batch}")
    table = _table("Ways of processing: one by one, and in batches", titles, titles[:1])
    costs = {(it.way, it.batch): it for it in outcome.ways}
    for way in dict.fromkeys(it.way for it in outcome.ways):
        one, many = costs[way, 1], costs[way, batch]
        table.add_row(way, f"{one.commits:.2f}", f"{one.cpu_us:,.0f}", f"{many.commits:.4f}", f"{many.cpu_us:,.0f}")
    return table


def _audit_table(setup: audit_run.AuditBenchSetup, outcomes: list[audit_run.AuditBenchResult]) -> Table:
    titles = ("deliveries", "records", "log MiB", "seconds", "deliveries/s", "peak MiB", "shuffled", "verdict")
    title = f"The audit of {setup.members} members' logs, runs of {setup.run_length} on average"
    table = _table(title, titles, ("verdict",))
    for each in outcomes:
        table.add_row(
            f"{each.deliveries:,}",
            f"{each.records:,}",
            f"{each.log_bytes / MEBIBYTE:,.0f}",
            f"{each.seconds:,.1f}",
            f"{each.deliveries / each.seconds:,.0f}",
            f"{each.peak_bytes / MEBIBYTE:,.0f}",
            f"{each.shuffle_bytes / each.log_bytes:.4%}",
            each.verdict,
        )
    if setup.twice:
        times = audit_run.growth(outcomes)
        table.add_row("twice the input", "", "", f"x {times:.2f}" if times else "-")
    return table


def _number(value: float | None) -> str:
    return "never" if value is None else f"{value:,.0f}"


def _met(met: bool) -> str:
    return "reached" if met else "MISSED"


@contextmanager
def _progress(total: int | None) -> Iterator[Tell]:
    """Yield a callable for the text of each step, shown by a bar on a terminal, else by a line every few seconds."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _throttled()
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=total)
        yield lambda text: progress.update(task, advance=1, description=text)


# The log of a build would have thousands of lines else; a line now and then shows that the bench goes on.
def _throttled() -> Tell:
    last_s = 0.0

    def tell(text: str) -> None:
        nonlocal last_s
        if monotonic() - last_s >= NOTICE_S:
            last_s = monotonic()
            notice(text)

    return tell
