"""Exports of a result for other programs: JUnit XML for continuous integration, Parquet tables for queries."""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from pathlib import Path

import pyarrow.parquet

from gcom.audit.explain.applications import ApplicationResult, ApplicationRuleResult
from gcom.audit.explain.result import AuditResult, GroupResult, RuleResult
from gcom.audit.explain.tables import fit

_INCIDENTS_MAX = 20  # incidents in one failure


def junit_of(result: AuditResult, *, allow_unknown: bool = False) -> bytes:
    """Return a suite per group, with a case per rule that it promises.

    UNKNOWN, and a group in which there was nothing to judge, are errors, as they are not proof; with `allow_unknown`
    they are skipped. So is an instance without deliveries where another instance of its group has some, and a promised
    rule of which the logs hold no case.
    """
    root = Xml.Element("testsuites", name="gcom audit")
    deciding = {(group.group, group.instance) for group in result.deciding}
    for group in result.groups:
        accepted = allow_unknown or (group.group, group.instance) not in deciding
        root.append(_suite(group, "skipped" if accepted else "error"))
    root.extend(_suite_of_application(each, "skipped" if allow_unknown else "error") for each in result.applications)
    # Without a suite of failing logs a build would pass on an audit that saw nothing.
    if not (result.groups or result.applications) or result.unread or result.contradictions:
        suite = Xml.SubElement(root, "testsuite", name="logs")
        reason = "\n".join([*result.unread, *result.contradictions]) or "the logs tell of no group"
        _tell(_case(suite, "logs", "groups"), "skipped" if allow_unknown else "error", reason)
        _count(suite)
    _count(root)
    Xml.indent(root)
    written: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _suite(group: GroupResult, unknown: str) -> Xml.Element:
    name = fit(f"{group.group} {group.instance}".strip())
    suite = Xml.Element("testsuite", name=name)
    for rule in group.rules:
        if rule.expected:
            _judge(_case(suite, name, rule.rule), rule, group, unknown)
    # A case of its own: no rule failed, and a build must not take that for success.
    if group.verdict == "VACUOUS":
        _tell(_case(suite, name, "DELIVERIES"), unknown, group.reason or "nothing to judge")
    _count(suite)
    return suite


def _suite_of_application(application: ApplicationResult, unknown: str) -> Xml.Element:
    name = fit(f"{application.about} {application.name}")
    suite = Xml.Element("testsuite", name=name)
    for rule in (rule for rule in application.rules if rule.expected):
        _judge(_case(suite, name, rule.rule), rule, application, unknown)
    _count(suite)
    return suite


def _case(suite: Xml.Element, group: str, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=group, name=name)


def _judge(
    case: Xml.Element,
    rule: RuleResult | ApplicationRuleResult,
    group: GroupResult | ApplicationResult,
    unknown: str,
) -> None:
    match rule.verdict:
        case "FAIL":
            told = [each for each in group.incidents if rule.rule in (each.rule, *each.caused)]
            lines = [f"[{each.id}] {each.sentence_of(rule.rule)}" for each in told[:_INCIDENTS_MAX]]
            text = f"violations: {rule.violations:,}, cases: {rule.evaluated:,}"
            _tell(case, "failure", told[0].sentence_of(rule.rule) if told else text, "\n".join([text, *lines]))
        case "UNKNOWN":
            _tell(case, unknown, rule.reason or "not known")
        case "VACUOUS":
            _tell(case, "skipped", "the logs hold no case of this rule")


def _tell(case: Xml.Element, kind: str, message: str, text: str = "") -> None:
    said = Xml.SubElement(case, kind, message=fit(message))
    # JUnit gives failures and errors a type, and a skipped case none.
    if kind != "skipped":
        said.set("type", case.get("name", ""))
    said.text = fit(text) or None


def _count(parent: Xml.Element) -> None:
    cases = list(parent.iter("testcase"))
    parent.set("tests", str(len(cases)))
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        parent.set(name, str(sum(case.find(kind) is not None for case in cases)))


def write_tables(result: AuditResult, folder: Path) -> None:
    """Write `verdicts.parquet`, `incidents.parquet` and `coverage.parquet`; the fields are those of `--json`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in result.tables()._asdict().items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", compression="zstd")
