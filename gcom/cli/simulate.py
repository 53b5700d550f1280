"""`gcom sim`: whole groups in one process, from a seed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gcom.cli.output import Output, notice
from gcom.errors import BadValue
from gcom.sim.runs import Result, run_seed, run_seeds

SEEDS_MAX = 1_000_000


def seed_range(text: str) -> range:
    """The seeds of `A..B`, both included; raises BadValue."""
    match = re.fullmatch(r"([0-9]{1,15})\.\.([0-9]{1,15})", text)
    if not match or not int(match[1]) <= int(match[2]) < int(match[1]) + SEEDS_MAX:
        raise BadValue(f"seeds {text!r} are not A..B with A <= B and at most {SEEDS_MAX:,} of them, as in 1..300")
    return range(int(match[1]), int(match[2]) + 1)


def simulate(seed: int | None, seeds: str | None, jobs: int, log_dir: Path | None, as_json: bool) -> int:
    """Run the seeds and say what came of each; 1 if a promise was broken."""
    if (seed is None) == (seeds is None):
        raise BadValue("give either --seed N or --seeds A..B")
    if log_dir is not None and log_dir.exists() and not log_dir.is_dir():
        raise BadValue(f"log folder {str(log_dir)!r} is no folder")
    if log_dir is not None and log_dir.exists() and any(log_dir.iterdir()):
        raise BadValue(f"log folder {str(log_dir)!r} is not empty: name a new one, a run never mixes with another")
    output = Output()
    broken = 0
    if seed is not None:
        results = iter([run_seed(seed, log_dir)])
        total = 1
    else:
        wanted = seed_range(str(seeds))
        results, total = run_seeds(wanted, log_dir, jobs), len(wanted)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=total == 1 or not console.is_terminal) as progress:
        task = progress.add_task("seeds", total=total)
        for result in results:
            broken += bool(result.violation)
            _show(result, output, as_json)
            progress.advance(task)
    if not as_json and total > 1:
        output.text(f"{total} seeds, {broken} with a broken promise")
    output.flush()
    return 1 if broken else 0


def _show(result: Result, output: Output, as_json: bool) -> None:
    if as_json:
        output.row(result.row())
    else:
        plan = result.plan
        faults = ", ".join(f"{count} {fault}" for fault, count in result.faults.items()) or "no faults"
        output.text(
            f"seed {result.seed}: {'BROKEN' if result.violation else 'ok'}, {plan['ordering']} {plan['multicast']}, "
            f"{plan['members']} members, {result.messages} messages, {result.deliveries} deliveries, "
            f"{result.views} views, {faults}, digest {result.digest[:12]}"
        )
    output.flush()
    if result.violation:
        notice(f"seed {result.seed}: {result.violation}")
        notice(f"to replay, at commit {_commit()}: gcom sim --seed {result.seed} --log-dir FOLDER")


def _commit() -> str:
    """Of the checkout that this code runs from, as far as git can say."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
