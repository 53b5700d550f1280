"""The result for one thing that stands on groups: a replicated state, a topic."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from typing import Any

from gcom.audit.applications.judging import ApplicationJudgement
from gcom.audit.applications.table import APPLICATION_RULES
from gcom.audit.explain.incidents import Incident
from gcom.audit.rules.judgement import verdict_of
from gcom.audit.rules.rule import Example, ends_of
from gcom.audit.summary.tally import Tally

_WORST_FIRST = ("FAIL", "UNKNOWN", "PASS", "VACUOUS")


@dataclass(frozen=True, slots=True)
class ApplicationRuleResult:
    """The result of one rule; `reason` is that of the first unknown case, and None for other verdicts.

    Not `expected`: it is of sessions that did not ask for it.
    """

    rule: str
    verdict: str
    evaluated: int
    violations: int
    reason: str | None
    expected: bool = True


@dataclass(slots=True)
class ApplicationResult:
    """The result for one state or topic.

    Its verdict is the worst of its expected rules'; VACUOUS where none had a case.
    """

    about: str
    name: str
    verdict: str
    reason: str | None
    rules: list[ApplicationRuleResult]
    incidents: list[Incident]
    processes: list[str]
    records: int

    def row(self) -> dict[str, Any]:
        """Return the result as `--json` has it."""
        rules = [asdict(rule) for rule in self.rules]
        return {"about": self.about, "name": self.name, "verdict": self.verdict, "rules": rules}


def application_result(judgement: ApplicationJudgement) -> ApplicationResult:
    """Return the result of a judgement."""
    rules = [_rule_result(rule, tally) for rule, tally in judgement.tallies.items()]
    verdict = min((rule.verdict for rule in rules), key=_WORST_FIRST.index, default="VACUOUS")
    reason = next((f"{rule.rule}: {rule.reason}" for rule in rules if rule.verdict == verdict and rule.reason), None)
    incidents = [each for rule, tally in judgement.tallies.items() for each in _incidents(judgement, rule, tally)]
    for rule, tally in judgement.unpromised.items():
        rules.append(replace(_rule_result(rule, tally), expected=False))
        incidents += _incidents(judgement, rule, tally, expected=False)
    return ApplicationResult(*judgement.key, verdict, reason, rules, incidents, judgement.processes, judgement.records)


def _rule_result(rule: str, tally: Tally) -> ApplicationRuleResult:
    verdict = verdict_of(tally)
    reason = tally.reason if verdict == "UNKNOWN" else None
    return ApplicationRuleResult(rule, verdict, tally.evaluated, tally.violations, reason)


def _incidents(judgement: ApplicationJudgement, rule: str, tally: Tally, *, expected: bool = True) -> list[Incident]:
    """Return an incident per process and clause that is violated; the first violation tells it."""
    units: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in tally.examples if tally.violations else ():
        units[example["process"], example.get("kind", "")].append(example)
    rest = tally.violations - len(tally.examples)
    found = []
    for (process, kind), examples in sorted(units.items()):
        found.append(_incident(judgement, rule, process, kind, examples, rest, expected))
        rest = 0
    return found


def _incident(
    judgement: ApplicationJudgement,
    rule: str,
    process: str,
    kind: str,
    examples: list[Example],
    rest: int,
    expected: bool,
) -> Incident:
    about, name = judgement.key
    ends = ends_of(examples[0])
    identity = repr((rule, about, name, process, kind) if expected else (rule, about, name, process, kind, expected))
    return Incident(
        hashlib.sha256(identity.encode()).hexdigest()[:12],
        rule,
        name,
        "",
        expected=expected,
        view=None,
        processes=list(dict.fromkeys(end["process"] for end in ends)),
        messages=[],
        positions=[(end["process"], end["at"]) for end in ends],
        places=[(end["file"], end["line"]) for end in ends],
        sentence=APPLICATION_RULES[rule].sentence(examples[0]),
        kind=kind,
        more=len(examples) - 1 + rest,
        about=about,
    )
