"""`gcom audit`: what delivery logs say of the promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from gcom.audit.catalogue import catalogue
from gcom.audit.importing import SHIVIZ, import_shiviz
from gcom.audit.job import run
from gcom.audit.kept import Kept
from gcom.audit.reading import compact, list_segments
from gcom.audit.result import IMPOSSIBLE, Result, result_of
from gcom.audit.session import open_session
from gcom.cli.output import Output, notice
from gcom.errors import AuditUnavailable, BadValue, NotALog

_SHOWN = 10  # incidents and notes on the terminal; --json and the report have them all
_MARKS = {"PASS": "pass", "FAIL": "FAIL", "UNKNOWN": "?", "VACUOUS": "-"}


def audit(
    folders: list[str],
    *,
    master: str | None,
    remote: str | None,
    as_json: str | None,
    allow_unknown: bool,
    exact: bool,
    incremental: Path | None,
) -> int:
    """Judge the logs, tell, and answer the exit status."""
    try:
        result = _judged(folders, master, remote, exact=exact, incremental=incremental)
    except (NotALog, AuditUnavailable) as error:
        notice(" ".join(str(error).split()))
        return IMPOSSIBLE
    _show(result)
    if as_json is not None:
        Path(as_json).write_text(json.dumps(result.as_json(), indent=1) + "\n")
    return result.exit_status(allow_unknown)


def compact_logs(folders: list[str], into: Path) -> int:
    """Write logs as Parquet, and tell what that saves."""
    listing = list_segments(folders)
    with _progress() as tell:
        size = compact(listing, into, tell)
    before = sum(listing.sizes.values())
    output = Output()
    output.text(f"{len(listing.sizes):,} segments, {before:,} bytes, are {size:,} bytes in {into}")
    output.flush()
    return 0


def import_log(form: str, file: Path, into: Path, regex: str | None) -> int:
    """Write another system's log as delivery logs."""
    if form != "shiviz":
        raise BadValue(f"{form!r} is no form that can be imported; there is: shiviz")
    imported = import_shiviz(file, into, regex or SHIVIZ)
    for note in imported.notes:
        notice(note)
    output = Output()
    output.text(f"{imported.events:,} events of {imported.hosts:,} hosts are in {into}: gcom audit {into}")
    output.flush()
    return 0


def _judged(
    folders: list[str], master: str | None, remote: str | None, *, exact: bool, incremental: Path | None
) -> Result:
    if exact and incremental is not None:
        raise BadValue("--exact reads everything: it does not go with --incremental")
    kept = None if incremental is None else Kept(incremental)
    found = catalogue(list_segments(folders))
    with _progress() as tell:
        tell("starting Spark")
        spark = open_session(master, remote)
        try:
            tell(f"reading {len(found.sizes):,} segments of {len(found.paths):,} processes")
            return result_of(run(spark, found, kept=kept))
        finally:
            spark.stop()


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task("")
        yield lambda text: progress.update(task, description=text)


def _show(result: Result) -> None:
    output = Output()
    output.text(result.headline())
    output.flush()
    console = Console(width=None if output.terminal else 120)
    for group in result.groups:
        life = f" ({group.instance})" if group.instance else ""
        title = f"{group.group}{life}: {group.verdict} · {group.ordering} {group.multicast}"
        table = Table("rule", "verdict", "evaluated", "violations", "", title=title, title_justify="left", box=None)
        for rule in group.rules:
            if rule.expected or rule.verdict == "FAIL":
                promise = "" if rule.expected else "not promised"
                table.add_row(
                    rule.rule,
                    _MARKS[rule.verdict],
                    f"{rule.evaluated:,}",
                    f"{rule.violations:,}",
                    rule.reason or promise,
                )
        console.print(table)
    for incident in result.incidents[:_SHOWN]:
        if incident.expected:
            console.print(f"[{incident.id}] {incident.rule}: {incident.sentence}", markup=False)
    for note in result.notes[:_SHOWN]:
        notice(note)
    if len(result.notes) > _SHOWN:
        notice(f"and {len(result.notes) - _SHOWN} more notes; --json has them all")
