"""The engine that judges, and why: this process, one process per processor, or Spark.

Logs are judged where that is soonest done. Reading starts at once in this process; other processes take most of a
second to start, and Java some seconds, before they read anything.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Literal, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from gcom.audit.explain.result import AuditResult, result_of
from gcom.audit.input.catalogue import Catalogue
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.engine import SOON_BYTES, Engine
from gcom.audit.plan.run import run
from gcom.audit.spark import session
from gcom.cli.output import notice
from gcom.cli.signals import SIGNALLED, Interrupted
from gcom.cli.wording import many
from gcom.errors import AuditUnavailable

T = TypeVar("T")
# Measured with `gcom bench audit` on 2 cores (docs/audit.md, What it costs). Of logs to read: from here on several
# processes are sooner done than one, and from there on Spark is sooner done than these.
POOL_BYTES = SOON_BYTES
SPARK_BYTES = 1 << 62


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that judges, in how many processes, and why."""

    engine: Literal["here", "pool", "spark"]
    why: str
    processes: int = 1

    def told(self, where: str) -> str:
        match self.engine:
            case "here":
                by = "in this process"
            case "pool":
                by = f"by {self.processes} processes"
            case _:
                by = f"by Spark at {where}, which takes some seconds to start"
        return f"judged {by}: {self.why}"


@dataclass(frozen=True, slots=True)
class Judging:
    """The way to judge: `spark`, `master` and `remote` ask for Spark however small the logs are."""

    spark: bool = False
    master: str | None = None
    remote: str | None = None
    all_rules: bool = False
    incremental: Path | None = None

    def choose(self, log_bytes: int, processors: int) -> Choice:
        """Return the engine for logs of which that many bytes are to be read, on a machine with these processors."""
        asked = {"--master": self.master, "--remote": self.remote, "--spark": self.spark}
        words = [word for word, given in asked.items() if given]
        # Kept results are compared sooner than Java starts.
        if self.incremental is not None and not log_bytes:
            return Choice("here", "nothing is new since the last time")
        if words or session.is_submitted():
            return Choice("spark", f"{words[0]} asks for it" if words else "spark-submit runs it")
        if log_bytes >= SPARK_BYTES and session.is_installed():
            return Choice("spark", f"the logs have {_size(SPARK_BYTES)} or more")
        if log_bytes < POOL_BYTES:
            return Choice("here", f"less than {_size(POOL_BYTES)} to read")
        if processors < 2:
            return Choice("here", "this machine has one processor")
        return Choice("pool", f"{_size(POOL_BYTES)} or more to read, and {processors} processors", processors)

    def where(self) -> str:
        """Return where Spark is."""
        return self.remote or self.master or ("the master of spark-submit" if session.is_submitted() else "local[*]")


def _size(count: int) -> str:
    return (
        f"{count / 1e9:,.0f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB" if count >= 1e7 else f"{count:,} bytes"
    )


def judged(found: Catalogue, how: Judging) -> AuditResult:
    """Judge the logs by the engine that is soonest done, and say by which."""
    # First, as it refuses a folder that holds anything else: that must not be found out after minutes of reading.
    cache = None if how.incremental is None else IncrementalCache(how.incremental)
    unread = sum(found.sizes.values()) if cache is None else cache.unread(found)
    choice = how.choose(unread, len(os.sched_getaffinity(0)))
    notice(f"{many(len(found.sizes), 'segment')}, {_size(unread)} to read: {choice.told(how.where())}")

    def judge(engine: Engine | None, tell: StepProgress) -> AuditResult:
        return result_of(run(found, engine=engine, cache=cache, tell=tell, all_rules=how.all_rules))

    with step_progress() as tell:
        match choice.engine:
            case "here":
                return judge(None, tell)
            case "pool":
                return _by_pool(choice.processes, judge, tell)
            case _:
                with spark_of(how, tell) as spark:
                    from gcom.audit.spark.job import SparkEngine

                    return in_thread(lambda: judge(SparkEngine(spark), tell))


_Judge = Callable[[Engine | None, "StepProgress"], AuditResult]


def _by_pool(processes: int, judge: _Judge, tell: StepProgress) -> AuditResult:
    from gcom.audit.plan.pool import PROCESSES_MAX, ProcessPool

    try:
        return judge(ProcessPool(min(processes, PROCESSES_MAX), tell.tasks), tell)
    except AuditUnavailable:
        # A signal to the whole process group ends the pool's processes too.
        if SIGNALLED.caught is not None:
            raise Interrupted(SIGNALLED.caught) from None
        raise


def in_thread(work: Callable[[], T]) -> T:
    """Run the work in a thread of its own, away from signals, which Python handles in this one.

    1. A signal interrupts a call to Java before its answer was read. 2. The next call, to stop Spark say, would read
    that answer as its own.
    """
    found: Future[T] = Future()

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
def spark_of(how: Judging, tell: StepProgress) -> Iterator[Any]:
    """Open a Spark session whose progress is told.

    A signal to the whole process group ends Java too, so that every later call to it fails.
    """
    from gcom.audit.spark import progress

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


class StepProgress:
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
def step_progress() -> Iterator[StepProgress]:
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
        yield StepProgress(progress)
