"""Logs that grow, judged again whenever segments are sealed: Structured Streaming says which are new.

A stream over the log folders yields the names of new sealed segments, and its checkpoint remembers which were seen,
over restarts. Each batch is one judgement of all logs: sealed segments from the results that are kept of them, so that
only new ones are read, and what is still written as far as it goes. A segment that comes late, or in any order, changes
nothing: what is judged is what is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gcom.audit.explain.incidents import Incident
from gcom.audit.explain.result import AuditResult, result_of
from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.files import WRITTEN_BY, absolute, is_remote, local
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.cache import IncrementalCache
from gcom.audit.plan.engine import SOON_BYTES
from gcom.audit.plan.run import run
from gcom.audit.spark.job import SparkEngine
from gcom.errors import AuditUnavailable, BadValue, NotALog

_FILES = "path string, modificationTime timestamp, length bigint, content binary"  # of Spark's `binaryFile`
_SEALED = "*.{jsonl,parquet}"
TOLD_MAX = 10_000  # ids of incidents that are remembered as told


@dataclass(frozen=True, slots=True)
class WatchReport:
    """A judgement of a watch: of how many new segments it came, and the incidents that no earlier one had."""

    new: int
    result: AuditResult
    incidents: list[Incident]


class LogWatch:
    """A watch over log folders. Its own folder `state` has the checkpoint, the kept results, and what was told.

    Raises BadValue, NotALog or AuditUnavailable for folders and sessions that will not do.
    """

    def __init__(self, spark: Any, folders: list[str], state: Path, tell: Callable[[WatchReport], object]) -> None:
        if "connect" in type(spark).__module__:
            raise AuditUnavailable(
                "a watch needs a Spark session of this machine or of a master: Spark Connect would run it at the "
                "server; leave --remote and SPARK_REMOTE out"
            )
        self._spark, self._state, self._tell = spark, state, tell
        self._folders = [absolute(folder) for folder in folders]
        check_folders(folders, state)
        # First, as it refuses a folder that holds anything else.
        self._cache = IncrementalCache(state / "segments")
        self._told_file = state / "told.json"
        self._told: list[str] = _read(self._told_file)
        self._failure: BaseException | None = None
        self._query: Any = None
        self._stopped = False

    def run(self, every_s: float | None) -> None:
        """Judge now and then until `stop`, or, with None, what is new since the last time, once."""
        names = None
        for folder in self._folders:
            files = self._spark.readStream.format("binaryFile").schema(_FILES)
            files = files.option("recursiveFileLookup", "true").option("pathGlobFilter", _SEALED)
            mine = files.load(folder).select("path")
            names = mine if names is None else names.unionByName(mine)
        assert names is not None, "Typer asks for a folder"
        writer = names.writeStream.option("checkpointLocation", str(self._state / "checkpoint"))
        trigger = (
            {"availableNow": True} if every_s is None else {"processingTime": f"{round(every_s * 1000)} milliseconds"}
        )
        self._query = writer.foreachBatch(self._judge_batch).trigger(**trigger).start()
        if self._stopped:  # while it started
            self._query.stop()
        try:
            self._query.awaitTermination()
        except self._errors_of_query():
            # What failed in a batch comes back as a text of Java's: the error itself says what to do.
            raise self._failure or AuditUnavailable(f"the watch ended: {self._query.exception()}") from None

    def stop(self) -> None:
        """End the watch, from any thread."""
        self._stopped = True
        if self._query is not None:
            self._query.stop()

    def _judge_batch(self, names: Any, _batch: int) -> None:
        try:
            new = names.count()
            result = self._judge()
            told = {*self._told}
            fresh = [incident for incident in result.incidents if incident.expected and incident.id not in told]
            self._tell(WatchReport(new, result, fresh))
            # After it was told: a watch that is killed in between tells it again, and loses nothing.
            self._told = [*self._told, *(incident.id for incident in fresh)][-TOLD_MAX:]
            _write(self._told_file, self._told)
        except BaseException as error:  # outermost: of a callback, in a thread of Py4J's; `run` raises it
            self._failure = error
            raise

    def _judge(self) -> AuditResult:
        found = catalogue(list_segments(self._folders))
        few = self._cache.unread(found) < SOON_BYTES
        return result_of(run(found, engine=None if few else SparkEngine(self._spark), cache=self._cache))

    @staticmethod
    def _errors_of_query() -> type[Exception]:
        from pyspark.errors import StreamingQueryException

        return StreamingQueryException


def check_folders(folders: list[str], state: Path) -> None:
    """Raise NotALog or BadValue for folders that cannot be watched, before Spark is started for them."""
    for folder in map(absolute, folders):
        if not is_remote(folder):
            _check(folder, state)


def _check(folder: str, state: Path) -> None:
    if not local(folder).is_dir():
        raise NotALog(f"{folder} is no folder: expected one in which delivery logs are, or will be; {WRITTEN_BY}")
    if state.resolve().is_relative_to(local(folder).resolve()):
        raise BadValue(f"{state} is inside of {folder}: expected a folder beside the logs; name another for --state")


def _read(file: Path) -> list[str]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return []
    return [each for each in found if type(each) is str] if isinstance(found, list) else []


def _write(file: Path, told: list[str]) -> None:
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(told))
    os.replace(draft, file)
