"""The audit from Python: `audit` for verdicts, `deliveries`, `sends` and `views` for queries over the logs.

What does the work is imported when a function is called: the audit's packages are an extra, and NumPy, Arrow and Spark
take a second to come.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gcom.errors import BadValue, ExtraMissing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from gcom.audit.explain.result import AuditResult
    from gcom.audit.input.catalogue import Catalogue
    from gcom.audit.spark.frames import LogFrames

LogPaths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
_NOTES_SHOWN = 5


def audit(
    paths: LogPaths,
    spark: SparkSession | None = None,
    *,
    processes: int = 1,
    all_rules: bool = False,
    incremental: str | os.PathLike[str] | None = None,
) -> AuditResult:
    """Judge the delivery logs under `paths`, and return the verdict, the rules, the incidents and the coverage.

    `spark` is a classic or a Connect session: it judges, and is left as it was. Without one this process judges, or as
    many `processes` (the script then needs `if __name__ == "__main__":`). `all_rules` also judges what groups do not
    promise. `incremental` names a folder of its own that keeps results: the next call reads only new segments.

    Raises NotALog, BadValue, ExtraMissing, AuditUnavailable, OSError.
    """
    if processes < 1:
        raise BadValue(f"processes must be a number from 1 on; got {processes!r}")
    if spark is not None and processes > 1:
        raise BadValue("either spark or processes can judge: expected one of them, got both; leave one out")
    with _extra():
        from gcom.audit.explain.result import result_of
        from gcom.audit.plan.cache import IncrementalCache
        from gcom.audit.plan.engine import InProcess
        from gcom.audit.plan.pool import ProcessPool
        from gcom.audit.plan.run import run
        from gcom.audit.spark.job import SparkEngine
    found = _catalogue(paths)
    cache = None if incremental is None else IncrementalCache(Path(incremental))
    if spark is not None:
        return result_of(run(found, engine=SparkEngine(spark), cache=cache, all_rules=all_rules))
    engine = ProcessPool(processes) if processes > 1 else InProcess()
    return result_of(run(found, engine=engine, cache=cache, all_rules=all_rules))


def deliveries(spark: SparkSession, paths: LogPaths) -> DataFrame:
    """Return a row per message and process that delivered it; docs/audit-python.md lists the columns.

    Segments that are still written are read too, as far as they went at this call. A file that cannot be read is a
    warning: `audit` says what it hides. Raises NotALog, ExtraMissing, AuditUnavailable.
    """
    return _frames(spark, paths).deliveries()


def sends(spark: SparkSession, paths: LogPaths) -> DataFrame:
    """Return a row per message that was sent, delivered or not. As `deliveries`."""
    return _frames(spark, paths).sends()


def views(spark: SparkSession, paths: LogPaths) -> DataFrame:
    """Return a row per view and process that installed it. As `deliveries`."""
    return _frames(spark, paths).views()


def _frames(spark: SparkSession, paths: LogPaths) -> LogFrames:
    with _extra():
        from gcom.audit.spark.frames import LogFrames
    found = _catalogue(paths)
    for note in found.notes[:_NOTES_SHOWN]:
        warnings.warn(note, stacklevel=3)
    if len(found.notes) > _NOTES_SHOWN:
        warnings.warn(f"and {len(found.notes) - _NOTES_SHOWN} more notes: gcom.audit.audit(...).notes", stacklevel=3)
    return LogFrames(spark, found)


def _catalogue(paths: LogPaths) -> Catalogue:
    from gcom.audit.input.catalogue import catalogue
    from gcom.audit.input.reading import list_segments

    each = [paths] if isinstance(paths, str | os.PathLike) else [*paths]
    return catalogue(list_segments([os.fspath(path) for path in each]))


@contextmanager
def _extra() -> Iterator[None]:
    """Say which extra brings a package that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"{error.name} is not installed: pip install 'gcom[audit]'") from None
