"""The judging of one state or topic, over the records of all processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gcom.audit.applications.rule import ApplicationCase
from gcom.audit.applications.table import APPLICATION_RULES
from gcom.audit.input.applications import Record
from gcom.audit.summary.applications import ApplicationKey, ApplicationSummary
from gcom.audit.summary.tally import Tally


@dataclass(slots=True)
class ApplicationJudgement:
    """The tally of each rule that a state or topic promises.

    `unpromised` has those of rules for sessions that did not ask for them, where one is violated.
    """

    key: ApplicationKey
    tallies: dict[str, Tally]
    unpromised: dict[str, Tally]
    processes: list[str]
    records: int


def judge_application(summaries: Iterable[ApplicationSummary], coverage: dict[str, str]) -> ApplicationJudgement:
    """Judge one thing; each process's summaries come in its log's order."""
    logs: dict[str, list[Record]] = {}
    for summary in summaries:
        logs.setdefault(summary.process, []).extend(summary.records)
    logs = dict(sorted(logs.items()))
    case = ApplicationCase(summary.key, logs, {who: coverage.get(who, "lost") for who in logs})
    tallies, unpromised = dict[str, Tally](), dict[str, Tally]()
    others = replace(case, promised=False)
    for rule in APPLICATION_RULES.values():
        if rule.about == case.key[0]:
            tally = tallies[rule.name] = Tally()
            rule.judge(case, tally)
            for who in logs:
                if case.coverage[who] == "lost":
                    tally.doubt(1, f"{who} has a gap in its log")
            if rule.chosen:
                rule.judge(others, beside := Tally())
                if beside.violations:
                    unpromised[rule.name] = beside
    return ApplicationJudgement(case.key, tallies, unpromised, [*logs], sum(map(len, logs.values())))
