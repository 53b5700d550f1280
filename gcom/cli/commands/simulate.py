"""`gcom sim`: whole groups in one process, from a seed."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gcom import __version__
from gcom.cli.output import Output, notice
from gcom.cli.signals import ignore_interrupts, interrupts_held
from gcom.cli.wording import many
from gcom.errors import BadValue
from gcom.replicated.simulated.runs import ReplicatedResult, run_ledger
from gcom.sim.runs import SeedResult, run_seed, run_seeds

APPLICATIONS = ("group", "replicated")
SEEDS_MAX = 1_000_000  # more than a week of them: a typo, most likely


def seed_range(text: str) -> range:
    """Return the seeds of `A..B`, both included; raises BadValue."""
    # Digits are counted: `int` of a million of them takes seconds.
    match = re.fullmatch(r"([0-9]{1,15})\.\.([0-9]{1,15})", text)
    if not match or not int(match[1]) <= int(match[2]) < int(match[1]) + SEEDS_MAX:
        raise BadValue(f"seeds {text!r} are not A..B with A <= B and at most {SEEDS_MAX:,} of them, as in 1..300")
    return range(int(match[1]), int(match[2]) + 1)


def simulate(
    seed: int | None, seeds: str | None, jobs: int, log_dir: Path | None, as_json: bool, application: str
) -> int:
    """Run the seeds and print each result; return 1 if a promise was broken."""
    if (seed is None) == (seeds is None):
        raise BadValue("give either --seed N or --seeds A..B")
    wanted = seed_range(str(seeds)) if seed is None else range(seed, seed + 1)
    replicated = _is_replicated(application)
    folders = _folders(log_dir, wanted, single=seed is not None)
    output = Output()
    broken = 0
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = len(wanted) == 1 or not console.is_terminal
    with (
        # closing: a generator that is left early must still wait for its processes.
        closing(_results(replicated, folders, min(jobs, len(wanted)))) as results,
        Progress(*columns, console=console, disable=hidden, redirect_stdout=False) as progress,
    ):
        task = progress.add_task("seeds", total=len(wanted))
        for result in results:
            broken += bool(result.violation)
            _show(result, output, as_json)
            progress.advance(task)
    if not as_json and len(wanted) > 1:
        output.text(f"{many(len(wanted), 'seed')}, {broken} with a broken promise")
        if log_dir is not None:
            output.text(f"each run is a world of its own, and is audited alone: gcom audit {folders[wanted[0]]}")
    output.flush()
    return 1 if broken else 0


def _is_replicated(application: str) -> bool:
    if application not in APPLICATIONS:
        raise BadValue(f"--application must be one of {', '.join(APPLICATIONS)}; got {application!r}")
    return application == "replicated"


def _results(replicated: bool, folders: dict[int, Path | None], jobs: int) -> Generator[SeedResult | ReplicatedResult]:
    if replicated:
        return run_seeds(run_ledger, folders, jobs, ignore_interrupts, interrupts_held)
    return run_seeds(run_seed, folders, jobs, ignore_interrupts, interrupts_held)


def _folders(log_dir: Path | None, seeds: range, single: bool) -> dict[int, Path | None]:
    """Return the folder for each seed's logs; raises BadValue for a folder that holds something."""
    if log_dir is None:
        return dict.fromkeys(seeds)
    if log_dir.exists() and not log_dir.is_dir():
        raise BadValue(f"log folder {str(log_dir)!r} is no folder")
    if log_dir.exists() and any(log_dir.iterdir()):
        raise BadValue(f"log folder {str(log_dir)!r} is not empty: name a new one, a run never mixes with another")
    return {seed: log_dir if single else log_dir / str(seed) for seed in seeds}


def _show(result: SeedResult | ReplicatedResult, output: Output, as_json: bool) -> None:
    if as_json:
        # A seed is a run of one commit: another one may draw other troubles from it. Only a broken run is replayed.
        output.row({**result.row(), "commit": commit()} if result.violation else result.row())
    else:
        # Flushed for each seed: a run of many takes hours, and is looked at meanwhile.
        output.text(summary(result) if isinstance(result, SeedResult) else replicated_summary(result))
    output.flush()
    if result.violation:
        for line in result.violation.splitlines():
            notice(f"seed {result.seed}: {line}")
        how = "" if isinstance(result, SeedResult) else "--application replicated "
        notice(f"to replay, at commit {commit()}: gcom sim --seed {result.seed} {how}--log-dir FOLDER")


def summary(result: SeedResult) -> str:
    """Return a run in one line."""
    kind = ["static"] * result.static + [result.ordering, result.multicast] + ["safe"] * result.safe
    faults = ", ".join(many(count, fault) for fault, count in {**result.faults, **result.moves}.items())
    return (
        f"seed {result.seed}: {'BROKEN' if result.violation else 'ok'}, {' '.join(kind)} {result.netsplit}, "
        f"{many(result.members, 'member')}, {many(result.messages, 'message')}, "
        f"{many(result.deliveries, 'delivery')}, {many(result.views, 'view')}, {faults}, digest {result.digest[:12]}"
    )


def replicated_summary(result: ReplicatedResult) -> str:
    """Return a run of replicated states in one line."""
    faults = ", ".join(f"{fault} {count}" for fault, count in result.faults.items())
    return (
        f"seed {result.seed}: {'BROKEN' if result.violation else 'ok'}, {'durable' if result.durable else 'memory'}, "
        f"{many(result.commands, 'command')} applied, {many(result.answers, 'answer')}, "
        f"{many(result.instances, 'instance')}, {faults}, digest {result.digest[:12]}"
    )


def commit() -> str:
    """Return the commit of the checkout that this code runs from, as far as git can say; else the version."""
    folder = Path(__file__).parent
    # Each with a limit: a repository on a disk that hangs must not keep the result back.
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        inside = subprocess.run(  # an installed copy may lie in another project's checkout
            ["git", "-C", str(folder), "ls-files", "--error-unmatch", Path(__file__).name],
            capture_output=True,
            timeout=5,
            check=False,
        )
        if inside.returncode == 0:
            return subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        pass
    return __version__
