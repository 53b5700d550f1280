"""`gcom audit`: the judgement of delivery logs.

Logs of less than 64 MB are judged in this process, larger ones by Spark. Only what is used is imported: Spark's Java
takes some seconds to start, Matplotlib one, and small logs are judged in less than that.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from traceback import print_exc
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from gcom.audit.explain.advice import advice_of
from gcom.audit.explain.evidence import evidence_of
from gcom.audit.explain.lookup import LogLookup
from gcom.audit.explain.result import IMPOSSIBLE, AuditResult, result_of
from gcom.audit.input.catalogue import Catalogue, catalogue
from gcom.audit.input.importing import SHIVIZ, import_shiviz
from gcom.audit.input.reading import compact, list_segments
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.run import run
from gcom.audit.spark.session import is_submitted
from gcom.cli.output import Output, OutputClosed, harmless, notice
from gcom.cli.signals import SIGNALLED, Interrupted
from gcom.cli.wording import many
from gcom.errors import AuditUnavailable, BadValue, GComError, NotALog

LOCAL_BYTES = 64_000_000  # of logs; more than Spark needs to start is then saved by its tasks
_SHOWN = 10  # incidents and notes on the terminal; --json and the report have them all
_NO_CASE = "no case: nothing happened that it is about"
_MARKS = {"PASS": "pass", "FAIL": "FAIL", "UNKNOWN": "?", "VACUOUS": "-"}


@dataclass(frozen=True, slots=True)
class Outputs:
    """The files and folders that were asked for."""

    json: str | None = None
    report: str | None = None
    witness: str | None = None
    junit: str | None = None
    parquet: str | None = None

    def check(self) -> None:
        """Raise OSError or BadValue for what cannot be written: better now than after all has been judged."""
        for name in (self.json, self.report, self.witness, self.junit, self.parquet):
            if name is not None and name.startswith("--"):
                raise BadValue(f"expected a file or folder, got {name}: the option before it needs one")
        # Not --parquet and --witness: these are folders, which are made where they are missing.
        for path in [Path(name) for name in (self.json, self.report, self.junit) if name is not None]:
            wrong = errno.EISDIR if path.is_dir() else 0 if path.parent.is_dir() else errno.ENOENT
            # Folders that are wrong, and no trial of writing: an old report stays whole until there is a new one.
            if wrong:
                raise OSError(wrong, os.strerror(wrong), str(path))


@dataclass(frozen=True, slots=True)
class Judging:
    """The way to judge: `spark`, `master` and `remote` ask for Spark however small the logs are."""

    spark: bool = False
    master: str | None = None
    remote: str | None = None
    all_rules: bool = False
    incremental: Path | None = None

    def uses_spark(self, log_bytes: int) -> bool:
        """Tell whether logs of that size are judged by Spark, rather than in this process."""
        asked = self.spark or self.master is not None or self.remote is not None
        return asked or is_submitted() or log_bytes >= LOCAL_BYTES


def audit(folders: list[str], how: Judging, outputs: Outputs, *, allow_unknown: bool) -> int:
    """Judge the logs, print and write what was found, and return the exit status."""

    def judge() -> int:
        # Before the logs are even listed: judging may take minutes, and a mistyped path must not cost them.
        outputs.check()
        found = catalogue(list_segments(folders))
        result = _judged(found, how)
        _show(result)
        _write(result, found, outputs, ", ".join(folders), allow_unknown=allow_unknown)
        return result.exit_status(allow_unknown)

    return _attempt(judge)


def _attempt(work: Callable[[], int]) -> int:
    """Return the status of the work; if it failed, print why and return the status for that."""
    try:
        return work()
    except (NotALog, AuditUnavailable, BadValue) as error:
        notice(" ".join(str(error).split()))
    except OSError as error:
        notice(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (GComError, OutputClosed):
        raise
    except Exception:  # outermost: of the command
        print_exc()
        notice("a defect of the audit, not of the logs: please report it with what stands above")
    # 3, and never 1: a script that asks whether a promise was broken must not be told so by a full disk, or a defect.
    return IMPOSSIBLE


def _write(result: AuditResult, found: Catalogue, outputs: Outputs, title: str, *, allow_unknown: bool) -> None:
    witnesses: dict[str, str] = {}
    if outputs.json is not None:
        with _naming(outputs.json):
            Path(outputs.json).write_text(json.dumps(result.as_json(), indent=1) + "\n")
    if outputs.junit is not None:
        from gcom.audit.report.exports import junit_of

        with _naming(outputs.junit):
            Path(outputs.junit).write_bytes(junit_of(result, allow_unknown=allow_unknown))
    if outputs.parquet is not None:
        from gcom.audit.report.exports import write_tables

        with _naming(outputs.parquet):
            write_tables(result, Path(outputs.parquet))
    if outputs.witness is not None:
        from gcom.audit.explain.witness import write_witnesses

        with _naming(outputs.witness):
            witnesses = write_witnesses(result, found, Path(outputs.witness))
    if outputs.report is not None:
        from gcom.audit.report.page import render

        # Last: it shows where the witnesses are.
        page = render(result, evidence_of(result, LogLookup(found)), witnesses, title)
        with _naming(outputs.report):
            Path(outputs.report).write_bytes(page.encode("utf-8", "replace"))
        notice(f"the report is in {outputs.report}: open it in a browser")


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the file's name to the block's OSError where it has none, as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise OSError(error.errno, error.strerror or str(error), path) from error
        raise


def compact_logs(folders: list[str], into: Path) -> int:
    return _attempt(lambda: _compact(folders, into))


def _compact(folders: list[str], into: Path) -> int:
    listing = list_segments(folders)
    with _progress() as tell:
        size = compact(listing, into, tell)
    before = sum(listing.sizes.values())
    segments = many(len(listing.sizes), "segment")
    output = Output()
    output.text(f"{segments}, {before:,} bytes, now {size:,} bytes in {into}: {_saved(size / max(before, 1))}")
    output.flush()
    return 0


def _saved(share: float) -> str:
    # Tell either way: whoever compacts small segments is to know that it does not pay.
    if share < 1:
        return f"{share:.0%} of the space"
    return f"{share:.1f} times the space, as each file has a head of its own: it pays for segments of megabytes"


def import_log(form: str, file: Path, into: Path, regex: str | None) -> int:
    if form != "shiviz":
        raise BadValue(f"FORM must be shiviz, the one form that can be imported; got {form!r}")
    return _attempt(lambda: _import(file, into, regex or SHIVIZ))


def _import(file: Path, into: Path, regex: str) -> int:
    imported = import_shiviz(file, into, regex)
    for note in imported.notes:
        notice(note)
    output = Output()
    events = f"{many(imported.events, 'event')} of {many(imported.hosts, 'host')}"
    output.text(f"{events} {'is' if imported.events == 1 else 'are'} in {into}: gcom audit {into}")
    output.flush()
    return 0


def _judged(found: Catalogue, how: Judging) -> AuditResult:
    # First, as it refuses a folder that holds anything else: that must not be found out after minutes of reading.
    cache = None if how.incremental is None else IncrementalCache(how.incremental)
    if how.uses_spark(sum(found.sizes.values())):
        return _judged_by_spark(found, how, cache)
    with _progress() as tell:
        return result_of(run(found, cache=cache, tell=tell, all_rules=how.all_rules))


def _judged_by_spark(found: Catalogue, how: Judging, cache: IncrementalCache | None) -> AuditResult:
    from gcom.audit.spark import job

    if not sys.stderr.isatty():  # a terminal shows it all the time
        notice(f"Spark starts, which takes some seconds, and then judges {many(len(found.sizes), 'segment')}")
    with _progress() as tell, _spark(how, tell) as spark:
        engine = job.SparkEngine(spark)
        return _in_thread(lambda: result_of(run(found, engine=engine, cache=cache, tell=tell, all_rules=how.all_rules)))


def _in_thread(work: Callable[[], AuditResult]) -> AuditResult:
    """Run the work in a thread of its own, away from signals, which Python handles in this one.

    1. A signal interrupts a call to Java before its answer was read. 2. The next call, to stop Spark say, would read
    that answer as its own.
    """
    found: Future[AuditResult] = Future()

    def go() -> None:
        try:
            found.set_result(work())
        except BaseException as error:  # outermost: of this thread; the waiting one raises it
            found.set_exception(error)

    # A daemon: if the signal ends the command, a call of Java's that never returns must not keep it.
    # Its result is waited for without a limit: a judgement takes as long as the logs are large.
    Thread(target=go, name="gcom-audit", daemon=True).start()
    return found.result()


@contextmanager
def _spark(how: Judging, tell: _StepProgress) -> Iterator[Any]:
    """Open a Spark session whose progress is told.

    A signal to the whole process group ends Java too, so that every later call to it fails.
    """
    from gcom.audit.spark import progress, session

    given = session.given_session()
    tell("starting Spark")
    spark = session.open_session(how.master, how.remote) if given is None else given
    SIGNALLED.restore()  # PySpark has put a handler of its own in its place, which asks Java
    logging.disable()  # py4j tells the root logger, with a traceback, that Java is gone: below it is told in a line
    try:
        try:
            with progress.followed(spark, tell.tasks):
                yield spark
        finally:
            with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # threads of PySpark that listen to Java
                if given is None:  # else its user goes on with it
                    spark.stop()
    except session.errors_of_java():
        # Java shared the signal and is gone; what failed is the signal's doing, and not Java's.
        if SIGNALLED.caught is not None:
            raise Interrupted(SIGNALLED.caught) from None
        text = "Spark's Java ended before the audit did: it was killed, or this machine had no memory for it"
        raise AuditUnavailable(f"{text}. Try again") from None
    finally:
        logging.disable(logging.NOTSET)


class _StepProgress:
    """The current step and its progress, on a terminal's standard error."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None)

    def __call__(self, what: str) -> None:
        # Reset, so that the elapsed time is that of the step.
        self._progress.reset(self._task, description=what, total=None)

    def tasks(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)


@contextmanager
def _progress() -> Iterator[_StepProgress]:
    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    # On standard error, and gone at the end: standard output has the verdict alone.
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        yield _StepProgress(progress)


def _line(text: str) -> str:
    """Return one line: logs may have names of any characters."""
    return harmless(text).replace("\n", " ")


def _show(result: AuditResult) -> None:
    """Print the verdict and its parts.

    A reader who has gone, as `head` does, has what it wanted: that changes neither the exit status nor the files.
    """
    output = Output()
    advice = advice_of(result)
    with suppress(OutputClosed):
        output.text(_line(result.headline()))
        for line in advice:
            output.text(f"  {_line(line)}")
        output.flush()
        _show_groups(result, output)
        _show_incidents(result, output)
        output.flush()
    unfinished = [process for process, state in sorted(result.coverage.items()) if state in ("open", "torn")]
    if unfinished and not advice:
        more = f" and {len(unfinished) - _SHOWN} more" if len(unfinished) > _SHOWN else ""
        # Where the verdict is UNKNOWN the advice says it; of a PASS it is only worth a note.
        notice(_line(f"no close ends the log of {', '.join(unfinished[:_SHOWN])}{more}: its end may be missing"))
    for note in result.notes[:_SHOWN]:
        notice(_line(note))
    if len(result.notes) > _SHOWN:
        notice(f"and {many(len(result.notes) - _SHOWN, 'more note')}; --json has all")


def _show_groups(result: AuditResult, output: Output) -> None:
    for group in result.groups:
        life = f" ({group.instance})" if group.instance else ""
        title = _line(f"{group.group}{life}: {group.verdict} · {group.ordering} {group.multicast}")
        table = Table("rule", "verdict", "evaluated", "violations", "", box=None)
        for rule in group.rules:
            # What was not promised is of interest only where it is broken.
            if rule.expected or rule.verdict == "FAIL":
                remark = "" if rule.expected else "not promised"
                remark = _NO_CASE if rule.verdict == "VACUOUS" else remark
                table.add_row(
                    rule.rule,
                    _MARKS[rule.verdict] if rule.expected else _MARKS[rule.verdict].lower(),
                    f"{rule.evaluated:,}",
                    f"{rule.violations:,}",
                    _line(rule.reason or remark),
                )
        _print(output, title, highlight=False, soft_wrap=True)  # a table's own title breaks at its width
        _print(output, table)


def _show_incidents(result: AuditResult, output: Output) -> None:
    # Of a promise only: with --all-rules what nobody promised may break often, and would bury these.
    broken = [incident for incident in result.incidents if incident.expected]
    for incident in broken[:_SHOWN]:
        caused = f" This also breaks {', '.join(incident.caused)}." if incident.caused else ""
        where = f" ({incident.places[0][0]}:{incident.places[0][1]})" if incident.places else ""
        text = f"[{incident.id}] {incident.group}: {incident.rule}: {incident.sentence}{caused}{where}"
        _print(output, _line(text))
    if len(broken) > _SHOWN:
        notice(f"and {many(len(broken) - _SHOWN, 'more incident')}; --json has all")


def _print(output: Output, thing: str | Table, **how: Any) -> None:
    """Print as Rich shows it; Rich itself would exit with 1 where nobody reads on, and 1 means `violated`."""
    # Without a terminal rich assumes 80 columns, and would cut rule names.
    width = None if output.terminal else 120
    terminal = output.terminal or None
    # markup=False: a group may be called "[red]", which once ended the audit, or vanished.
    console = Console(width=width, force_terminal=terminal, markup=False, emoji=False)  # names are no markup
    with console.capture() as capture:
        console.print(thing, **how)
    output.text(capture.get().removesuffix("\n"))
