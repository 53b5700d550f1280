"""The page of a result: its choice of content, limits and words."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from itertools import islice
from pathlib import PurePath
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markupsafe import Markup

from gcom.audit.applications.table import APPLICATION_RULES
from gcom.audit.explain.advice import advice_of
from gcom.audit.explain.evidence import Evidence
from gcom.audit.explain.incidents import Incident
from gcom.audit.explain.plain import PLAIN
from gcom.audit.explain.result import WORST_FIRST, AuditResult, GroupResult
from gcom.audit.report.plots import over_time
from gcom.audit.report.spacetime import diagram_of
from gcom.audit.rules.table import RULES
from gcom.audit.summary.timeline import Counts
from gcom.values.spelling import isolated

BYTES = 5_500_000  # of a page; where names from the logs make it larger, less is shown
# What is shown at most; the totals are always said, and --json has the rest.
GROUPS, ROWS, PROCESSES, NOTES, TOLD_GROUPS, TOLD_VIEWS, TOLD_PROCESSES = 400, 1_000, 300, 100, 8, 40, 40
REASONS = 20  # why a group's promises are not known
_EFFECTS = 6  # of one incident
_TEXT = 300  # letters of any one text from the logs
_MARKS = {"PASS": "✓", "FAIL": "✗", "UNKNOWN": "?", "VACUOUS": "–"}
_SPANS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
_REASONS = {
    "PASS": "Every promised rule held, and all that it takes to know that was there.",
    "FAIL": "At least one promised rule is violated.",
    "UNKNOWN": "No promised rule is seen violated, but some records that it takes to be sure are missing.",
    "VACUOUS": "There was nothing to judge.",
}


@dataclass(frozen=True, slots=True)
class Latency:
    """The latencies of one process, or of all (no name), as text: the number of samples, then four percentiles; no text
    without samples. `own` is from a send to the process's own delivery, `held` the time in hold-back.
    """

    name: str
    own: list[str]
    held: list[str]


def render(
    result: AuditResult,
    evidence: Mapping[str, Evidence] | None = None,
    witnesses: Mapping[str, str] | None = None,
    title: str = "delivery logs",
) -> str:
    """Return the page. `evidence` is by incident id, and so are `witnesses`, the folders that --witness wrote."""
    page = _template()
    evidence, groups = evidence or {}, sorted(result.groups, key=lambda group: WORST_FIRST.index(group.verdict))
    # Not cut by `share`: pictures are of a bounded size, and drawn once.
    told = [(group, _plot(group), _latencies(group), _changes(group)) for group in groups[:TOLD_GROUPS]]
    share = 1
    # Only a finished page tells its size, as what the logs say is escaped, and may be any text. Each round halves
    # what is shown.
    while True:
        some = dict(islice(evidence.items(), len(evidence) // share))
        text: str = page.render(
            **_shown(result, groups, share),
            told=told,
            evidence=some,
            diagrams={each: diagram_of(found) for each, found in some.items()},
            totals={each: sum(result.positions.get(who, 0) for who in found.events) for each, found in some.items()},
            witnesses=witnesses or {},
            title=title,
        )
        # At a share above ROWS every list is empty. Then the names in the logs alone are too long, and the page stays
        # too large.
        if len(text.encode("utf-8", "replace")) <= BYTES or share > ROWS:
            return text
        share *= 2


def _isolated(value: object) -> object:
    """Return what an expression of the template shows."""
    return isolated(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _template() -> Template:
    files = resources.files("gcom.audit.report") / "templates"
    environment = Environment(
        loader=DictLoader({"report.html": (files / "report.html").read_text("utf-8")}),
        autoescape=True,
        # A name that is misspelt in the template ends the rendering, instead of leaving a hole in the page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_isolated,
    )
    environment.filters |= {
        "clip": _clip,
        "name": _name,
        "thousands": _thousands,
        "brief": _brief,
        "clock": _clock,
        "tail": _tail,
    }
    script = (files / "report.js").read_text("utf-8")
    environment.globals |= {
        "script": Markup(script),  # ours, as the style is; what the logs say is never marked so
        "style": Markup((files / "report.css").read_text("utf-8")),
        # The page's own policy allows this script by its digest and no other: a log's text cannot become code.
        "digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "marks": _MARKS,
        "means": {name: it.means for name, it in RULES.items()}
        | {name: it.means for name, it in APPLICATION_RULES.items()},
        "plain": PLAIN,
        "on_groups": list(APPLICATION_RULES.values()),
        "EFFECTS": _EFFECTS,
    }
    return environment.get_template("report.html")


def _shown(result: AuditResult, groups: list[GroupResult], share: int) -> dict[str, Any]:
    """Return the page's lists, each cut to its limit divided by `share`."""
    counted = [incident for incident in result.incidents if incident.expected]
    order = _order(result)
    coverage = sorted(result.coverage.items(), key=lambda item: (item[1] == "closed", item[0]))
    return {
        "result": result,
        "headline": _headline(result, counted),
        "first": counted[0] if counted else None,
        "advice": advice_of(result),
        "facts": _facts(result, counted),
        "rules": [RULES[rule] for rule in order],
        "ordered": lambda group: sorted(group.rules, key=lambda rule: order.index(rule.rule)),
        "reasons": [(name, why) for name, why in _reasons(result, groups) if why][: REASONS // share],
        "applications": sorted(result.applications, key=lambda each: WORST_FIRST.index(each.verdict))[
            : GROUPS // share
        ],
        "groups": [(group, _covered(result, group)) for group in groups[: GROUPS // share]],
        "incidents": counted[: ROWS // share],
        "counted": len(counted),
        "uncounted": len(result.incidents) - len(counted),
        "by_rule": Counter(incident.rule for incident in counted).most_common(),
        "coverage": coverage[: PROCESSES // share],
        "states": Counter(result.coverage.values()).most_common(),
        "notes": result.notes[: NOTES // share],
    }


def _reasons(result: AuditResult, groups: list[GroupResult]) -> list[tuple[str, str | None]]:
    """Return why the promises of groups, and of what stands on them, are not known."""
    return [(group.group, group.reason) for group in groups] + [
        (each.name, each.reason) for each in result.applications
    ]


def _order(result: AuditResult) -> list[str]:
    """Return all rules, those first that some group has not kept; else as the table of rules has them."""

    def rank(rule: str) -> int:
        found = {each.verdict for group in result.groups for each in group.rules if each.expected and each.rule == rule}
        return 0 if "FAIL" in found else 1 if "UNKNOWN" in found else 2

    return sorted(RULES, key=rank)


def _headline(result: AuditResult, counted: list[Incident]) -> str:
    if counted:
        return PLAIN[counted[0].rule].headline
    reasons = [f"{name}: {why}" for name, why in _reasons(result, result.groups) if why]
    return reasons[0] if result.verdict != "PASS" and reasons else _REASONS[result.verdict]


def _facts(result: AuditResult, counted: list[Incident]) -> list[tuple[str, str]]:
    processes = len({*result.coverage, *(who for group in result.groups for who in group.processes)})
    closed = sum(state == "closed" for state in result.coverage.values())
    return [
        (_thousands(len(counted)), "incident" if len(counted) == 1 else "incidents"),
        (_thousands(len(result.groups)), "group" if len(result.groups) == 1 else "groups"),
        *[
            (_thousands(count), f"{what}s")
            for what, count in Counter(each.about for each in result.applications).items()
        ],
        (_brief(sum(group.deliveries for group in result.groups)), "deliveries"),
        (_thousands(processes), "process" if processes == 1 else "processes"),
        (f"{closed / processes:.0%}" if processes else "–", "of the logs complete"),
    ]


def _covered(result: AuditResult, group: GroupResult) -> str:
    """Return the number of the group's processes whose log is complete."""
    closed = sum(result.coverage.get(process) == "closed" for process in group.processes)
    return f"{closed}/{len(group.processes)}"


def _plot(group: GroupResult) -> Markup:
    views = [(number, when) for number, _, _, when in group.history.views if when is not None]
    expected = {rule.rule for rule in group.rules if rule.expected}
    violations = {rule: found for rule, found in group.spread.items() if rule in expected}
    return Markup(over_time(group.history.whole, views, violations))  # numbers and rules' names only


def _latencies(group: GroupResult) -> list[Latency]:
    history = group.history
    each = [
        Latency(process, _percentiles(timeline.own), _percentiles(timeline.held))
        for process, timeline in sorted(history.timelines.items())
        if timeline.own.total or timeline.held.total
    ][:TOLD_PROCESSES]
    if not each:
        return []
    return [Latency("", _percentiles(history.whole.own), _percentiles(history.whole.held)), *each]


def _percentiles(counts: Counts) -> list[str]:
    if not counts.total:
        return []
    return [_thousands(counts.total), *(_span(counts.percentile(share)) for share in (0.5, 0.9, 0.99, 1.0))]


def _changes(group: GroupResult) -> list[tuple[int, int, list[str], list[str], str, int | None]]:
    """Return, per view: its number, size, processes that came, processes that went, leader, and about when."""
    found = []
    before: list[str] = []
    for number, members, leader, when in group.history.views[:TOLD_VIEWS]:
        came = [who for who in members if who not in before]
        gone = [who for who in before if who not in members]
        found.append((number, len(members), came, gone, leader, when))
        before = members
    return found


# Filters: what comes from the logs may be long, or strange


def _clip(text: object, most: int = _TEXT) -> str:
    clipped = str(text)
    return clipped if len(clipped) <= most else f"{clipped[: most - 1]}…"


def _name(instance: str, most: int) -> str:
    """Return both ends of an instance's name: a successor's begins as its predecessor's does."""
    half = (most - 1) // 2
    return instance if len(instance) <= most else f"{instance[:half]}…{instance[-half:]}"


def _thousands(number: int) -> str:
    return f"{number:,}"


def _brief(number: int) -> str:
    """Return the number in about four characters: 999, 12.3k, 4.56M."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def _span(microseconds: float) -> str:
    size, unit = next(((size, unit) for size, unit in _SPANS if microseconds >= size), _SPANS[-1])
    return f"{microseconds / size:.3g} {unit}"


def _clock(microseconds: int | None) -> str:
    if microseconds is None or not 0 <= microseconds < 1 << 56:
        return ""
    # A log's clock may say any year; beyond 9999 there is no date to print.
    seconds = min(microseconds // 1_000_000, 253_402_300_799)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _tail(path: str) -> str:
    """Return the end of a path, which names member, incarnation and segment."""
    return "/".join(PurePath(path).parts[-3:])
