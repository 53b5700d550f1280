"""A watch over logs that grow: it tells each new segment and each incident once, over restarts too."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gcom.audit.spark.watching import LogWatch, WatchReport
from gcom.errors import AuditUnavailable, BadValue, NotALog
from tests.audit.lives import Group, broken, live, write_lives
from tests.runtime.nodes import until

LIMIT_S = 120.0  # Spark plans a stream in a second, and much longer beside other work


def test_spark_tells_what_is_new_once(spark: Any, tmp_path: Path) -> None:
    logs, state = tmp_path / "logs", tmp_path / "state"
    write_lives(logs, live(Group([["alice", "bob"]], group="quiet")))
    told: list[WatchReport] = []
    watch = LogWatch(spark, [str(logs)], state, told.append)
    thread = Thread(target=watch.run, args=(0.1,))
    thread.start()
    try:
        until(lambda: bool(told) or not thread.is_alive(), "a first verdict", LIMIT_S)
        # Written aside: a segment is there at once, as members seal it.
        broken(tmp_path / "aside", "FIFO", group=Group([["dora", "emil"], ["dora", "emil"]]), member="emil")
        (tmp_path / "aside").rename(logs / "more")
        until(lambda: sum(report.new for report in told) == 4, "a verdict over all", LIMIT_S)
        note = state / "told.json"
        until(lambda: note.exists() and json.loads(note.read_text()) != [], "a note of what was told", LIMIT_S)
    finally:
        watch.stop()
        thread.join()
    assert told[0].result.verdict == "PASS"
    assert [each.id for report in told for each in report.incidents] == [each.id for each in told[-1].result.incidents]
    # It may have been stopped before Spark noted its last batch: then that comes again, without an incident.
    again: list[WatchReport] = []
    for _ in range(2):
        LogWatch(spark, [str(logs)], state, again.append).run(None)
    assert [report.incidents for report in again] in ([], [[]])
    again.clear()
    write_lives(logs / "last", live(Group([["finn", "gina"]], group="late")))
    LogWatch(spark, [str(logs)], state, again.append).run(None)
    (report,) = again
    assert (report.new, report.result.verdict, report.incidents) == (2, "FAIL", [])


def test_spark_ends_a_watch_with_the_error_of_its_listener(spark: Any, tmp_path: Path) -> None:
    write_lives(tmp_path / "logs", live(Group([["alice", "bob"]])))

    def refuse(_: WatchReport) -> None:
        raise BadValue("no more")

    with pytest.raises(BadValue, match="no more"):
        LogWatch(spark, [str(tmp_path / "logs")], tmp_path / "state", refuse).run(None)


def test_folders_that_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(NotALog, match="is no folder: expected one in which delivery logs are, or will be"):
        LogWatch(None, [str(tmp_path / "nowhere")], tmp_path / "state", str)
    with pytest.raises(BadValue, match=r"is inside of .*: expected a folder beside the logs"):
        LogWatch(None, [str(tmp_path)], tmp_path / "state", str)


def test_a_connect_session_is_refused() -> None:
    session = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(AuditUnavailable, match="a watch needs a Spark session of this machine or of a master"):
        LogWatch(session, ["logs"], Path("state"), str)
