"""Compares the verdicts of the audit and of the naive oracle of tests/oracle on the same logs."""

from __future__ import annotations

from pathlib import Path

from gcom.audit.plan.run import PlanResult
from gcom.audit.rules.judgement import verdict_of
from tests.oracle import Report

Verdicts = dict[tuple[str, str], dict[str, str]]


def of_oracle(report: Report) -> Verdicts:
    """Return the verdict of each rule, by instance."""
    return {key: dict(group.verdicts()) for key, group in report.groups.items()}


def of_audit(outcome: PlanResult) -> Verdicts:
    """Return the verdict of each rule, by instance."""
    return {each.key: {rule: verdict_of(tally) for rule, tally in each.tallies.items()} for each in outcome.judgements}


def check(folder: Path, what: str, outcome: PlanResult, report: Report) -> None:
    """Assert that both judges agree on coverage, verdicts, counts and expected rules."""
    assert outcome.coverage == report.coverage, what
    ours, theirs = of_audit(outcome), of_oracle(report)
    unlike = {
        (key, rule): (ours.get(key, {}).get(rule), verdict)
        for key, rules in theirs.items()
        for rule, verdict in rules.items()
        if ours.get(key, {}).get(rule) != verdict
    }
    assert unlike == {}, f"{what} in {folder}: (ours, the oracle's)"
    for each in outcome.judgements:
        for rule, tally in report.groups[each.key].tallies.items():
            found = each.tallies[rule]
            counted = (bool(found.violations), bool(found.unknown), _judged(rule, found.evaluated))
            told = (bool(tally.violations), bool(tally.unknowns), _judged(rule, tally.evaluated))
            assert counted == told, f"{what} in {folder}: {rule} (violations, unknown cases, how many were judged)"
    expected = {key: group.expected for key, group in report.groups.items()}
    assert {each.key: each.expected for each in outcome.judgements} == expected, what


def _judged(rule: str, evaluated: int) -> int:
    """Of TOTAL the oracle counts pairs, and the plans processes."""
    return min(evaluated, 1) if rule == "TOTAL" else evaluated
