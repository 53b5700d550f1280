"""The page of figures in Markdown, and the plots beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from gcom.bench.failover.trials import FailoverResult, spread_ms
from gcom.bench.idle.cost import IdleResult
from gcom.bench.latency.stages import STAGES
from gcom.bench.latency.turns import LatencyResult
from gcom.bench.performance import plots
from gcom.bench.performance.computer import Computer
from gcom.bench.performance.plan import Findings
from gcom.bench.sessions.measuring import SessionBenchResult
from gcom.bench.throughput.load import percentile
from gcom.bench.throughput.turns import ThroughputResult
from gcom.errors import BadValue

PICTURES = "pictures"  # the folder of the plots, beside the page

_BUSY = " The machine was busy with other work meanwhile: times, p99 before all, are longer than on one that is not."
# Measured by hand, once; each new page has them as they are.
_OTHERS = """
| | 100 B, 3 senders | 1 KB | 100 B, 1 sender | p50 / p99 at 1,000/s | sender / receiver at 1,000/s |
|---|---|---|---|---|---|
| JGroups 5.5 FIFO (tuned) | 986 k/s | 451 k/s | 1,166 k/s | 0.15 / 2.7 ms | 0.24 / 0.16 |
| JGroups 5.5 SEQUENCER (tuned) | 389 k/s | 212 k/s | 632 k/s | 0.24 / 2.8 ms | 0.27 / 0.16 |
| Corosync 3.1 (agreed) | 15 k/s | 10 k/s | 14 k/s | 0.46 / 1.0 ms | 0.41 / 0.32 |
| PySyncObj | 12 k/s | - | - | 240 / 330 ms | 0.22 / 0.09 |
"""


def refuse(out: Path) -> None:
    """Raise, before all work, BadValue if the file cannot be written, Unavailable if the plots cannot be drawn."""
    if out.suffix != ".md" or not out.parent.is_dir():
        raise BadValue(f"--out {str(out)!r} must be a file NAME.md in a folder that is there")
    plots.require()


def write(out: Path, findings: Findings, machine: Computer, quick: bool) -> list[Path]:
    """Write the page and its plots; return their paths."""
    folder = out.parent / PICTURES
    folder.mkdir(exist_ok=True)
    written = [out]
    pictures: dict[str, str] = {}
    for name, drawn in plots.plots(findings).items():
        path = folder / f"{out.stem}-{name}.svg"
        path.write_text(drawn, "utf-8")
        written.append(path)
        pictures[name] = f"{PICTURES}/{path.name}"
    # Last: the pictures that it shows are there by then.
    out.write_text(page(findings, machine, pictures, quick), "utf-8")
    return written


def page(findings: Findings, machine: Computer, pictures: dict[str, str], quick: bool) -> str:
    """Return the page; `pictures` are the plots' paths from it."""
    busy = _BUSY if machine.load > machine.cores / 2 else ""
    command = f"gcom bench all{' --quick' if quick else ''} --out FILE"
    parts = [
        "# Performance",
        f"Written by `{command}`, at commit {machine.commit}. {machine.processor}, {machine.cores} cores, "
        f"{machine.system}, Python {machine.python}; load average {machine.load:.1f} at the start. All processes are "
        "on this machine. Each side of a ratio takes turns with the other within the same run: the ratios can be "
        "compared between machines, the rest cannot." + busy,
        "## Single messages",
        "Time from `send` to the application of the slowest receiver, which is called back by the thread that has read "
        "the message (`listen(direct=True)`), or where it says so loops over `events`; `own` is p50 at the message's "
        "sender, which in a total order, and with SAFE, waits until others hold it. `ratio` is p50 ÷ that of one bare "
        "Pyro5 call of that size at the same rate, there and back. Processor time is a share of a core; `waited` is "
        "for how many seconds per second all processes together could have run and had no core: where it is large, "
        "p50 and p99 are the machine's and not GCom's ([decision 0010](decisions/0010-frames-in-flight.md)).",
        _single(findings.single),
        "Where the time goes, from stamps of one turn more; medians in ms at the slowest receiver:",
        _stages(plots.paced(findings)),
        *[f"- *{name}*: {words}" for name, words in STAGES.items()],
        f"![Stages of a message's way]({pictures['stages']})",
        "## Nothing is sent",
        "Processor time of the median member, in hundredths of a core; all members are in all groups.",
        _idle(findings.idle),
        "## Floods",
        "Messages per second at the slowest member, with whole windows under way; every delivery is compared byte by "
        "byte. `frames` are bare Pyro5 frames of 200 messages, `tcp` raw TCP in Python, one way.",
        _floods(findings.floods),
        f"![Floods]({pictures['floods']})",
    ]
    if findings.failover:
        parts += [
            "## Failover",
            "From SIGKILL until the slowest survivor has delivered a message of each other survivor that was sent "
            "after it, in a view without the dead; 5 members, TOTAL, all sending.",
            _failover(findings.failover),
        ]
    if findings.sessions:
        parts += ["## Sessions", *sessions_parts(findings.sessions)]
    parts += [
        "## Others",
        "Measured on another day on a machine of 2 cores, beside other work: 3 members, and not in turns with the "
        "figures above. They need a Java machine or root, so `gcom bench` does not run them.",
        _OTHERS.strip(),
    ]
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    """Return the parts with an empty line between them, but for the lines of one list."""
    text = ""
    for part in parts:
        text += "\n" if text and not (part[0] == "-" and text.rpartition("\n\n")[2][:1] == "-") else ""
        text += f"{part}\n"
    return text


def _single(results: Sequence[LatencyResult]) -> str:
    rows = []
    for it in results:
        names = it.setup.names
        ratio = "" if it.ratio is None else f"{it.ratio:.1f}"
        echo = "" if it.echo_p50 is None else f"{it.echo_p50:.3f}"
        # m0 sends. Of the others the busiest counts, as of their latencies the longest does.
        cores = [it.cores("m0"), max(it.cores(name) for name in names[1:]), it.cores("registry")]
        load = it.setup.label, f"{it.setup.size:,} B", f"{it.setup.rate:g}/s"
        shown = [f"{core:.3f}" for core in cores]
        ages = f"{it.p50:.2f}", f"{it.p99:.2f}", f"{it.own_p50:.2f}"
        rows.append([*load, *ages, echo, ratio, *shown, f"{it.waited:.2f}"])
    titles = ["", "size", "rate", "p50 ms", "p99 ms", "own ms", "echo p50 ms", "ratio"]
    return _table([*titles, "sender", "receiver", "registry", "waited"], rows)


def _idle(results: Sequence[IdleResult]) -> str:
    rows = []
    for it in results:
        (figure,) = it.figures
        switches = median(it.switches.values())
        shown = [f"{figure.value:.2f}", f"{it.percent['registry']:.2f}", f"{switches:.0f}"]
        rows.append([it.setup.kind, f"{it.setup.members}", f"{it.setup.groups}", *shown])
    return _table(["", "members", "groups", "member", "registry", "switches of threads per second"], rows)


def _stages(results: Sequence[LatencyResult]) -> str:
    rows = [[it.setup.label, *[f"{it.stages_ms.get(name, 0.0):.3f}" for name in STAGES]] for it in results]
    return _table(["", *STAGES], rows)


def _floods(results: Sequence[ThroughputResult]) -> str:
    rows = []
    for it in results:
        baseline = f"{it.setup.baseline}: {it.baseline.rate:,.0f}" if it.baseline else ""
        load = it.setup.kind, f"{it.setup.size:,} B", f"{it.setup.senders} of {it.setup.members}"
        p50 = percentile(it.ours.latencies_ms, 0.5)
        ratio = "" if it.ratio is None else f"{it.ratio:.2f}"
        rows.append([*load, f"{it.ours.rate:,.0f}", f"{p50:.0f}", baseline, ratio])
    return _table(["", "size", "send", "messages/s", "p50 ms", "baseline", "ratio"], rows)


def _failover(results: Sequence[FailoverResult]) -> str:
    rows = []
    for it in results:
        spread = spread_ms(it.resumed_s)
        shown = ["never" if value is None else f"{value:.0f}" for value in spread.values()]
        rows.append([str(it.kill), f"{len(it.trials)}", *shown])
    return _table(["killed", "trials", "median ms", "p90 ms", "worst ms"], rows)


def sessions_parts(result: SessionBenchResult) -> list[str]:
    """Return the section about sessions, without its title."""
    figures = [
        [it.name, f"{it.value:,.2f}", f"{it.bound:,g}", "reached" if it.met else "short"] for it in result.figures
    ]
    prices = [
        [
            it.guarantee,
            f"{it.reads_per_s:,.0f}",
            f"{it.reads_share:.2f}",
            f"{it.writes_per_s:,.0f}",
            f"{it.writes_share:.2f}",
        ]
        for it in result.prices
    ]
    return [
        "A store of three replicas, one of them in the process that measures. A round trip is a remote read without "
        "any guarantee.",
        _table(["", "value", "to reach", ""], figures),
        "The price of each guarantee: one session, beside one without any, in turns.",
        _table(["guarantee", "reads/s", "of none", "writes/s", "of none"], prices),
    ]


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
