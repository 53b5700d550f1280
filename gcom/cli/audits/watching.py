"""`gcom audit watch`: a line for each judgement of logs that grow, and the incidents that are new in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from gcom.audit.explain.result import UNDECIDED
from gcom.audit.spark.watching import LogWatch, WatchReport, check_folders
from gcom.cli.audits.judging import Judging, in_thread, spark_of, step_progress
from gcom.cli.audits.verdicts import attempt
from gcom.cli.output import Output, harmless, notice
from gcom.cli.wording import many

_SHOWN = 10  # new incidents of one judgement; --json has them all


def watch(folders: list[str], state: Path, how: Judging, every_s: float | None, *, as_json: bool) -> int:
    """Judge the logs whenever segments are sealed, until a signal, or once; return the exit status."""
    told = _Told(as_json)

    def work() -> int:
        check_folders(folders, state)
        with step_progress() as tell, spark_of(how, tell) as spark:
            watching = LogWatch(spark, folders, state, told)
            notice("watching for sealed segments: Ctrl-C ends it" if every_s is not None else "judging what is new")
            tell("waiting for sealed segments")
            in_thread(lambda: watching.run(every_s))
        if told.last is None:
            notice("no segment was sealed since the last time: nothing was judged")
            return UNDECIDED
        return told.last.result.exit_status()

    return attempt(work)


class _Told:
    """The judgement that was told last; a call tells another."""

    def __init__(self, as_json: bool) -> None:
        self.last: WatchReport | None = None
        self._as_json = as_json
        self._output = Output()

    def __call__(self, report: WatchReport) -> None:
        self.last = report
        result, now = report.result, datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        if self._as_json:
            row = {"time": now, "new_segments": report.new, "verdict": result.verdict, "headline": result.headline()}
            self._output.row({**row, "rules": result.rules, "incidents": [each.row() for each in report.incidents]})
        else:
            self._output.text(_line(f"{now} {many(report.new, 'new segment')}: {result.headline()}"))
            for incident in report.incidents[:_SHOWN]:
                text = f"  new: [{incident.id}] {incident.group}: {incident.rule}: {incident.sentence}"
                self._output.text(_line(text))
            if len(report.incidents) > _SHOWN:
                self._output.text(f"  and {many(len(report.incidents) - _SHOWN, 'more new incident')}: --json has all")
        self._output.flush()


def _line(text: str) -> str:
    return harmless(text).replace("\n", " ")
