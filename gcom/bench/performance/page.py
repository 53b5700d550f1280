"""The page of figures in Markdown, and the plots beside it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from gcom.bench.frame import filled, joined
from gcom.bench.latency.stages import STAGES
from gcom.bench.performance import plots
from gcom.bench.performance.computer import Computer
from gcom.bench.performance.plots import Findings, Measured, labelled

PICTURES = "pictures"  # the folder of the plots, beside the page

LOAD = {"": "{label}", "size": "{size:,} B"}
SINGLE = LOAD | {
    "rate": "{rate:g}/s",
    "p50 ms": "{latency_ms[p50]:.2f}",
    "p99 ms": "{latency_ms[p99]:.2f}",
    "own ms": "{own_ms[p50]:.2f}",
    "echo p50 ms": "{baseline[latency_ms][p50]:.3f}",
    "ratio": "{ratio:.1f}",
    "sender": "{sender:.3f}",
    "receiver": "{receiver:.3f}",
    "registry": "{registry:.3f}",
    "waited": "{all_waited:.2f}",
}
IDLE = {
    "": "{label}",
    "members": "{members}",
    "groups": "{groups}",
    "member": "{percent_per_member:.2f}",
    "registry": "{percent[registry]:.2f}",
    "switches of threads per second": "{switches:.0f}",
}
FLOODS = LOAD | {
    "send": "{senders} of {members}",
    "messages/s": "{messages_per_s:,}",
    "p50 ms": "{latency_ms[p50]:.0f}",
    "baseline": "{baseline[kind]}: {baseline_messages_per_s:,}",
    "ratio": "{ratio:.2f}",
}

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
    none = dict.fromkeys(STAGES, 0.0)
    small = [row | {"stages_ms": none | row["stages_ms"]} for row in labelled(plots.small(findings))]
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
        _single(findings["single"]),
        "Where the time goes, from stamps of one turn more; medians in ms at the slowest receiver:",
        filled("", {"": "{label}"} | {name: f"{{stages_ms[{name}]:.3f}}" for name in STAGES}, small).markdown(),
        *[f"- *{name}*: {words}" for name, words in STAGES.items()],
        f"![Stages of a message's way]({pictures['stages']})",
        "## Nothing is sent",
        "Processor time of the median member, in hundredths of a core; all members are in all groups.",
        _idle(findings["idle"]),
        "## Floods",
        "Messages per second at the slowest member, with whole windows under way; every delivery is compared byte by "
        "byte. `frames` are bare Pyro5 frames of 200 messages, `tcp` raw TCP in Python, one way.",
        filled("", FLOODS, labelled(findings["floods"])).markdown(),
        f"![Floods]({pictures['floods']})",
    ]
    if findings["failover"]:
        parts += [
            "## Failover",
            "From SIGKILL until the slowest survivor has delivered a message of each other survivor that was sent "
            "after it, in a view without the dead; 5 members, TOTAL, all sending.",
            *_tables(findings["failover"]),
        ]
    parts += [
        "## Sessions",
        "A store of three replicas, one of them in the process that measures. A round trip is a remote read without "
        "any guarantee. Then the price of each guarantee: one session, beside one without any, in turns.",
        *_tables(findings["sessions"]),
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


def _tables(found: Iterable[Measured]) -> list[str]:
    """Return the tables of the benches themselves."""
    return [table.markdown() for table in joined(it for _, result in found for it in result.tables)]


def _single(found: Iterable[Measured]) -> str:
    # m0 sends. Of the others the busiest counts, as of their latencies the longest does.
    rows = []
    for row in labelled(found):
        sender, *others, registry = row["cores"].values()
        used = {"sender": sender, "receiver": max(others), "registry": registry}
        rows.append(row | used | {"all_waited": sum(row["waited"].values())})
    return filled("", SINGLE, rows).markdown()


def _idle(found: Iterable[Measured]) -> str:
    rows = [row | {"switches": median(row["switches_per_s"].values())} for row in labelled(found)]
    return filled("", IDLE, rows).markdown()
