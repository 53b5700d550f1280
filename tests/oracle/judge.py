"""The naive oracle: reads a log folder and says, rule by rule, what DELIVERY_LOG.md says of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.continuity import continuity
from tests.oracle.events import Coverage, Deliver, History, Process, Send, View
from tests.oracle.read import Key, read
from tests.oracle.replay import state_faults
from tests.oracle.rules import RULES, Tally, Verdict

_ALWAYS = ("NO_CREATION", "NO_DUPLICATION", "SENDING_VIEW", "CLOCK", "VIEW_AGREEMENT", "ONE_LEADER", "CONTINUITY")
_RELIABLE = ("SELF_DELIVERY", "AGREEMENT", "VIRTUAL_SYNCHRONY")
_TOTAL = ("TOTAL", "SERIAL_UNIQUE", "SERIAL_CONTIGUOUS")
_BY_ORDERING: dict[str, tuple[str, ...]] = {
    "NONORDERED": (),
    "FIFO": ("FIFO",),
    "CAUSAL": ("FIFO", "CAUSAL"),
    "TOTAL": _TOTAL,
    "CAUSALTOTAL": ("FIFO", "CAUSAL", *_TOTAL),
}


@dataclass(frozen=True, slots=True)
class GroupReport:
    """`verdict` is that of the expected rules together; VACUOUS if the group showed nothing that could be judged.

    `within` is the same of the rules within one instance: all but CONTINUITY.
    """

    tallies: dict[str, Tally]
    expected: frozenset[str]
    verdict: Verdict
    within: Verdict

    def verdicts(self) -> dict[str, Verdict]:
        return {rule: tally.verdict for rule, tally in self.tallies.items()}

    def failed(self) -> dict[str, list[str]]:
        """The violations of the expected rules."""
        wrong = {rule: tally.violations for rule, tally in self.tallies.items() if rule in self.expected}
        return {rule: violations for rule, violations in wrong.items() if violations}


@dataclass(frozen=True, slots=True)
class Report:
    """`notes` are faults of the logs themselves: damage, gaps, states that do not fit; a writer's logs have none."""

    groups: dict[Key, GroupReport]
    coverage: dict[Process, Coverage]
    notes: list[str]
    unknown_types: Counter[str]

    def group(self, name: str) -> GroupReport:
        """The report of the one instance of `name`."""
        (found,) = [report for (group, _), report in self.groups.items() if group == name]
        return found


def judge(folder: Path) -> Report:
    logs = read(folder)
    notes = [*logs.notes]
    for histories in logs.groups.values():
        notes += [fault for history in histories for fault in state_faults(history)]
    coverage = {process: log.coverage for process, log in logs.processes.items()}
    names = sorted({name for name, _ in logs.groups})
    closed = {process for process, state in coverage.items() if state == "closed"}
    lives = {name: {i: it for (n, i), it in logs.groups.items() if n == name} for name in names}
    lineages = {name: continuity(each, closed) for name, each in lives.items()}
    groups = {key: _judge_group(it, lineages[key[0]][key[1]]) for key, it in sorted(logs.groups.items())}
    return Report(groups, coverage, notes, logs.unknown_types)


def _judge_group(histories: list[History], lineage: Tally) -> GroupReport:
    tallies = {**{rule: function(histories) for rule, function in RULES.items()}, "CONTINUITY": lineage}
    expected = _expected(histories)
    verdict, within = (_verdict(histories, tallies, rules) for rules in (expected, expected - {"CONTINUITY"}))
    return GroupReport(tallies, expected, verdict, within)


def _expected(histories: list[History]) -> frozenset[str]:
    view = next((event for history in histories for event in history.events if isinstance(event, View)), None)
    rules = [*_ALWAYS]
    if any(isinstance(event, Send | Deliver) and event.digest is not None for it in histories for event in it.events):
        rules.append("INTEGRITY")
    if view is not None:
        rules += _BY_ORDERING[view.ordering]
    if view is not None and view.multicast == "RELIABLE":
        rules += [*_RELIABLE, *(["TOTAL_GAP_FREE"] if "TOTAL" in view.ordering else [])]
    return frozenset(rules)


def _verdict(histories: list[History], tallies: dict[str, Tally], expected: frozenset[str]) -> Verdict:
    verdicts = {tallies[rule].verdict for rule in expected}
    if "FAIL" in verdicts:
        return "FAIL"
    if "UNKNOWN" in verdicts:
        return "UNKNOWN"
    deliveries = [event for history in histories for event in history.events if isinstance(event, Deliver)]
    no_serials = "SERIAL_UNIQUE" in expected and any(event.serial is None for event in deliveries)
    return "VACUOUS" if not deliveries or no_serials else "PASS"
