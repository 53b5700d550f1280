"""The result of an audit, and the forms in which it is reported."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from gcom.audit.explain.applications import ApplicationResult, application_result
from gcom.audit.explain.incidents import Incident, incidents_of
from gcom.audit.explain.tables import AuditTables, tables_of
from gcom.audit.plan.run import PlanResult
from gcom.audit.rules.judgement import Judgement, verdict_of
from gcom.audit.rules.table import RULES
from gcom.audit.summary.history import History

WORST_FIRST = ("FAIL", "UNKNOWN", "VACUOUS", "PASS")
# Of one rule over several groups: that one of them had no case does not take back what the others showed.
_MOST_TELLING = ("FAIL", "UNKNOWN", "PASS", "VACUOUS")
PASS, VIOLATED, UNDECIDED, IMPOSSIBLE = range(4)  # exit status
_NAMES_MAX = 3  # groups that a headline names


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of one rule for one group. `verdict` is PASS, FAIL, UNKNOWN or VACUOUS; `reason` is that of the first
    unknown case, and None for other verdicts.
    """

    rule: str
    expected: bool
    verdict: str
    evaluated: int
    violations: int
    reason: str | None


@dataclass(slots=True)
class GroupResult:
    """The result for one (group, instance)."""

    group: str
    instance: str
    ordering: str
    multicast: str
    verdict: str
    reason: str | None
    rules: list[RuleResult]
    incidents: list[Incident]
    processes: list[str]
    views: int
    deliveries: int
    sends: int
    has_ends: bool  # a process's log shows how it went on, or nothing depends on that
    carried: list[str] = field(default_factory=list)  # of an imported log, the rules that its records can carry
    history: History = field(default_factory=History)
    spread: dict[str, dict[int, int]] = field(default_factory=dict)  # violations of each rule by bin of the history


@dataclass(slots=True)
class AuditResult:
    """The result of the whole audit. `verdict` is the worst of the groups': FAIL, UNKNOWN, VACUOUS, PASS.

    An instance in which nothing was delivered counts only where nothing was in any.
    `coverage` says of each process whose log is there how complete it is: closed, open, torn or lost
    (DELIVERY_LOG.md, Files). `positions` is the last position in each process's log.
    `unread` names logs, and gaps in logs, that may hide more groups, and `contradictions` what a log says against
    itself: with either, no verdict is better than UNKNOWN.
    """

    verdict: str
    groups: list[GroupResult]
    coverage: dict[str, str]
    positions: dict[str, int]
    notes: list[str] = field(default_factory=list)
    unknown_types: dict[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    applications: list[ApplicationResult] = field(default_factory=list)

    @property
    def deciding(self) -> list[GroupResult]:
        """Return the groups that decide the verdict.

        An instance in which nothing was delivered is left out where something was in another.
        """
        # A group that nobody spoke in, or a member that was alone for a moment, in an instance of its own, must not
        # make the whole audit VACUOUS.
        heard = {group.group for group in self.groups if group.deliveries}
        return [each for each in self.groups if not (heard and each.verdict == "VACUOUS" and _is_silent(each, heard))]

    @property
    def incidents(self) -> list[Incident]:
        """Return those of groups, then those of what stands on them."""
        judged: tuple[GroupResult | ApplicationResult, ...] = (*self.groups, *self.applications)
        return [incident for each in judged for incident in each.incidents]

    @property
    def rules(self) -> dict[str, str]:
        """Return the verdict of each promised rule: the worst over the groups that promise it and decide."""
        found = {rule.rule: set[str]() for group in self.deciding for rule in group.rules if rule.expected}
        for rule in (rule for group in self.deciding for rule in group.rules if rule.expected):
            found[rule.rule].add(rule.verdict)
        for each in (each for application in self.applications for each in application.rules if each.expected):
            found.setdefault(each.rule, set()).add(each.verdict)
        return {rule: min(verdicts, key=_MOST_TELLING.index) for rule, verdicts in found.items()}

    def tables(self) -> AuditTables:
        """Return verdicts, incidents and coverage as Arrow tables."""
        return tables_of(self.as_json())

    def to_pandas(self) -> AuditTables:
        """Return verdicts, incidents and coverage as pandas DataFrames."""
        import pandas as pd  # takes half a second, and the command has no use for it

        # Else a column of integers in which one is absent would be one of floating point numbers.
        integers = {pa.int64(): pd.Int64Dtype()}.get
        return AuditTables(*(table.to_pandas(types_mapper=integers) for table in self.tables()))

    def to_spark(self, spark: Any) -> AuditTables:
        """Return verdicts, incidents and coverage as DataFrames of a Spark session, classic or Connect."""
        return AuditTables(*(spark.createDataFrame(table) for table in self.tables()))

    @property
    def unjudged(self) -> list[str]:
        """Return the expected rules for which some group with deliveries had no case to judge.

        A name with one instance has no boundary between instances: CONTINUITY is not missing there.
        """
        return [rule for rule in RULES if rule in set().union(*self._unjudged)]

    @property
    def _unjudged(self) -> list[set[str]]:
        """The expected rules without a case, of each group that has such."""
        lives = Counter(group.group for group in self.groups)
        each = [
            {
                rule.rule
                for rule in group.rules
                if rule.expected and rule.verdict == "VACUOUS" and (rule.rule != "CONTINUITY" or lives[group.group] > 1)
            }
            for group in self.groups
            if group.deliveries
        ]
        return [rules for rules in each if rules]

    def exit_status(self, allow_unknown: bool = False) -> int:
        """Return the command's exit status (docs/audit.md). `allow_unknown` accepts UNKNOWN and VACUOUS."""
        if self.verdict == "FAIL":
            return VIOLATED
        return PASS if self.verdict == "PASS" or allow_unknown else UNDECIDED

    def headline(self) -> str:
        """Return the first line: the verdict, and its subject."""
        deliveries = sum(group.deliveries for group in self.groups)
        counted = Counter(each.about for each in self.applications)
        processes = _many(len(self.coverage), "process", "processes")
        parts = [_many(len(self.groups), "group"), processes, _many(deliveries, "delivery", "deliveries")]
        if counted and not self.groups:  # topics in a file
            parts = [processes]
        about = ", ".join([*parts, *(_many(count, what) for what, count in sorted(counted.items()))])
        broken = [incident for incident in self.incidents if incident.expected]
        if broken:
            return f"FAIL: {broken[0].sentence} ({_many(len(broken), 'incident')}; {about})"
        reasons = [f"{group.group}: {group.reason}" for group in self.deciding if group.verdict == self.verdict]
        reasons += [f"{each.name}: {each.reason}" for each in self.applications if each.verdict == self.verdict]
        reasons += [f"{each}; nobody knows which groups it tells of" for each in self.unread]
        reasons += [f"{each}, so the log contradicts itself" for each in self.contradictions]
        if self.verdict != "PASS":
            return f"{self.verdict}: {reasons[0] if reasons else 'there is nothing to judge'} ({about})"
        # "Every promise held" would be read as more than the logs show.
        short = self._shortcomings()
        return f"PASS: {'; '.join(['no promise was broken', *short]) if short else 'every promise held'} ({about})"

    def _shortcomings(self) -> list[str]:
        """Return what a PASS does not show."""
        found = []
        silent = sorted({group.group for group in self.groups if not group.deliveries})
        if silent:
            more = ", ..." if len(silent) > _NAMES_MAX else ""
            count = sum(not group.deliveries for group in self.groups)
            names = ", ".join(silent[:_NAMES_MAX])
            found.append(f"nothing was delivered in {count} of {len(self.groups)} groups ({names}{more})")
        carried = sorted({rule for group in self.groups for rule in group.carried}, key=[*RULES].index)
        if carried:
            found.append(f"imported records carry no rules but {', '.join(carried)}")
        if self.unjudged:
            some = f" in {len(self._unjudged)} of {len(self.groups)} groups" if len(self.groups) > 1 else ""
            found.append(f"without a case to judge{some}: {', '.join(self.unjudged)}")
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints, by version 1 of its contract."""
        return {
            "version": 1,
            "verdict": self.verdict,
            "groups": [_group_row(group) for group in self.groups],
            "applications": [each.row() for each in self.applications],
            "coverage": [
                {"process": process, "positions": self.positions.get(process, 0), "state": state}
                for process, state in sorted(self.coverage.items())
            ],
            "incidents": [incident.row() for incident in self.incidents],
            "notes": self.notes,
            "unknown_types": self.unknown_types,
        }


def _is_silent(group: GroupResult, heard: set[str]) -> bool:
    """Tell whether nothing was delivered in an instance, and nothing shows that something should have been; `heard` are
    the groups with deliveries.
    """
    return not group.deliveries and (not group.sends or (group.group not in heard and group.has_ends))


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"


def _group_row(group: GroupResult) -> dict[str, Any]:
    return {
        "group": group.group,
        "instance": group.instance,
        "ordering": group.ordering,
        "multicast": group.multicast,
        "verdict": group.verdict,
        "rules": [asdict(rule) for rule in group.rules],
    }


def result_of(outcome: PlanResult) -> AuditResult:
    """Return the result of an audit, from its plan's outcome."""
    groups = [_group_result(judgement) for judgement in outcome.judgements]
    logs = (outcome.coverage, outcome.positions, outcome.notes, outcome.unknown_types)
    applications = [application_result(judgement) for judgement in outcome.applications]
    result = AuditResult("PASS", groups, *logs, outcome.unread, outcome.contradictions, applications)
    found = {group.verdict for group in result.deciding}
    # A log that nobody could read may be of any group, so the groups that were read do not decide the whole.
    found |= {"UNKNOWN"} if outcome.unread or outcome.contradictions else set()
    # Of an application in which nothing happened there is nothing to say.
    found |= {each.verdict for each in applications} - {"VACUOUS"}
    found |= set() if found else {"VACUOUS"}
    result.verdict = next((each for each in WORST_FIRST if each in found), "PASS")
    return result


def _group_result(judgement: Judgement) -> GroupResult:
    rules = []
    for rule in RULES:
        tally = judgement.tallies[rule]
        reason = tally.reason if verdict_of(tally) == "UNKNOWN" else None
        expected = rule in judgement.expected
        rules.append(RuleResult(rule, expected, verdict_of(tally), tally.evaluated, tally.violations, reason))
    verdict, reason = _verdict(judgement, rules)
    group, instance = judgement.key
    return GroupResult(
        group=group,
        instance=instance,
        ordering=judgement.definition.get("ordering", ""),
        multicast=judgement.definition.get("multicast", ""),
        verdict=verdict,
        reason=reason,
        rules=rules,
        incidents=incidents_of(judgement),
        processes=judgement.processes,
        views=judgement.views,
        deliveries=judgement.deliveries,
        sends=judgement.sends,
        has_ends=not judgement.missing_records,
        carried=[rule for rule in RULES if rule in judgement.expected] if "carries" in judgement.definition else [],
        history=judgement.history,
        spread={rule: found for rule in RULES if (found := judgement.history.violations(judgement.tallies[rule]))},
    )


def _verdict(judgement: Judgement, rules: list[RuleResult]) -> tuple[str, str | None]:
    """Return the verdict of the expected rules together, and its reason. It is VACUOUS where nothing was delivered, or
    where the logs lack the records that would show a promise.
    """
    # The order of the questions is the contract's: what is violated outweighs what is unknown, and what is unknown
    # outweighs that there was nothing to judge.
    expected = [rule for rule in rules if rule.expected]
    if any(rule.verdict == "FAIL" for rule in expected):
        return "FAIL", None
    for rule in expected:
        if rule.verdict == "UNKNOWN":
            return "UNKNOWN", f"{rule.rule}: {rule.reason}"
    if not judgement.deliveries:
        # Its instance, as others of the name may have deliveries, which the line would seem to deny.
        sent = f"; {_many(judgement.sends, 'message')} sent" if judgement.sends else ""
        return "VACUOUS", f"no log has a delivery in instance {judgement.key[1]}{sent}"
    return ("VACUOUS", judgement.missing_records) if judgement.missing_records else ("PASS", None)
