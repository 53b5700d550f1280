"""The naive oracle: reads a log folder and says, rule by rule, what DELIVERY_LOG.md says of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.applications import judge_applications
from tests.oracle.continuity import continuity
from tests.oracle.events import Coverage, Deliver, History, Message, Process, Send, View
from tests.oracle.instances import installed
from tests.oracle.read import Key, read
from tests.oracle.replay import sections, state_faults
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
    sends: int
    deliveries: int
    within: Verdict
    lacks_coverage: bool

    def verdicts(self) -> dict[str, Verdict]:
        return {rule: tally.verdict for rule, tally in self.tallies.items()}

    def failed(self) -> dict[str, list[str]]:
        """The violations of the expected rules."""
        wrong = {rule: tally.violations for rule, tally in self.tallies.items() if rule in self.expected}
        return {rule: violations for rule, violations in wrong.items() if violations}


@dataclass(frozen=True, slots=True)
class Report:
    """`notes` are faults of the logs themselves: damage, gaps, states that do not fit; a writer's logs have none.

    `unread` are logs of which nobody knows all groups.
    """

    groups: dict[Key, GroupReport]
    coverage: dict[Process, Coverage]
    notes: list[str]
    unknown_types: Counter[str]
    unread: list[str]
    contradictions: list[str]  # of a log with itself
    applications: dict[str, dict[str, Verdict]]  # by name, and by rule

    @property
    def verdict(self) -> Verdict:
        """The worst of all groups' verdicts."""
        found = {report.verdict for key, report in self.groups.items() if self._decides(key)}
        found |= {verdict for rules in self.applications.values() for verdict in rules.values() if verdict != "VACUOUS"}
        if "FAIL" in found:
            return "FAIL"
        if "UNKNOWN" in found or self.unread or self.contradictions:
            return "UNKNOWN"
        return "VACUOUS" if "VACUOUS" in found or not found else "PASS"

    def _decides(self, key: Key) -> bool:
        """An instance without any delivery says nothing where there are some in another."""
        report = self.groups[key]
        heard = {name for (name, _), each in self.groups.items() if each.deliveries}
        owes = report.sends and (key[0] in heard or report.lacks_coverage)
        return report.verdict != "VACUOUS" or bool(report.deliveries or owes) or not heard

    def group(self, name: str) -> GroupReport:
        """The report of the one instance of `name`."""
        (found,) = [report for (group, _), report in self.groups.items() if group == name]
        return found


def judge(folder: Path) -> Report:
    logs = read(folder)
    faults = [fault for each in logs.groups.values() for history in each for fault in state_faults(history)]
    notes = [*logs.notes, *faults]
    coverage = {process: log.coverage for process, log in logs.processes.items()}
    names = sorted({name for name, _ in logs.groups})
    closed = {process for process, state in coverage.items() if state == "closed"}
    lives = {name: {i: it for (n, i), it in logs.groups.items() if n == name} for name in names}
    entered = {each.process for it in logs.groups.values() for each in it if installed(each)}
    lineages = {name: continuity(each, closed, coverage.keys() - entered) for name, each in lives.items()}
    groups = {key: _judge_group(it, lineages[key[0]][key[1]]) for key, it in sorted(logs.groups.items())}
    applications = judge_applications({who: log.items for who, log in logs.processes.items()}, dict(coverage))
    return Report(groups, coverage, notes, logs.unknown_types, logs.unread, faults, applications)


def _judge_group(histories: list[History], lineage: Tally) -> GroupReport:
    tallies = {**{rule: function(histories) for rule, function in RULES.items()}, "CONTINUITY": lineage}
    expected = _expected(histories)
    events = [event for history in histories for event in history.events]
    sends, deliveries = (sum(isinstance(event, kind) for event in events) for kind in (Send, Deliver))
    verdict, within = (_verdict(histories, tallies, rules) for rules in (expected, expected - {"CONTINUITY"}))
    lacks = _lacks_coverage(histories, tallies, expected)
    return GroupReport(tallies, expected, verdict, sends, deliveries, within, lacks)


def _expected(histories: list[History]) -> frozenset[str]:
    views = [event for history in histories for event in history.events if isinstance(event, View)]
    always = [*_ALWAYS]
    if any(isinstance(event, Send | Deliver) and event.digest is not None for it in histories for event in it.events):
        always.append("INTEGRITY")
    expected = set() if views else {*always}
    for view in views:
        rules = [*always, *_BY_ORDERING[view.ordering]]
        if view.multicast == "RELIABLE":
            rules += [*_RELIABLE, *(["TOTAL_GAP_FREE"] if "TOTAL" in view.ordering else [])]
        expected |= {rule for rule in rules if view.carries is None or rule in view.carries}
    return frozenset(expected)


def _verdict(histories: list[History], tallies: dict[str, Tally], expected: frozenset[str]) -> Verdict:
    verdicts = {tallies[rule].verdict for rule in expected}
    if "FAIL" in verdicts:
        return "FAIL"
    if "UNKNOWN" in verdicts:
        return "UNKNOWN"
    deliveries = [event for history in histories for event in history.events if isinstance(event, Deliver)]
    no_serials = "SERIAL_UNIQUE" in expected and any(event.serial is None for event in deliveries)
    shown = deliveries and expected and not no_serials and not _digests_on_one_side(histories)
    return "PASS" if shown and not _lacks_coverage(histories, tallies, expected) else "VACUOUS"


def _digests_on_one_side(histories: list[History]) -> bool:
    """Of a message that one sent and another delivered, only one of them logged a digest."""
    sent: dict[Message, bool] = {}
    for history in histories:
        for event in history.events:
            if isinstance(event, Send):
                message = (history.process, event.number)
                sent[message] = sent.get(message, False) or event.digest is not None
    for history in histories:
        heard: dict[Message, bool] = {}
        for event in history.events:
            if isinstance(event, Deliver):
                heard[event.message] = heard.get(event.message, False) or event.digest is not None
        if any(message in sent and sent[message] != told for message, told in heard.items()):
            return True
    return False


def _lacks_coverage(histories: list[History], tallies: dict[str, Tally], expected: frozenset[str]) -> bool:
    """No process's end is known, and so an expected rule has no case that would have one."""
    found = [section for history in histories for section in sections(history)]
    closed = any(history.closed and history.events for history in histories)
    if closed or any(section.next not in ("none", "unknown") for section in found):
        return False
    together = max(Counter(section.view for section in found).values(), default=0) > 1
    of_two = ("AGREEMENT", "VIRTUAL_SYNCHRONY", "TOTAL_GAP_FREE")
    concerned = {*(of_two if together else ()), *(["SELF_DELIVERY"] if any(each.sends for each in found) else [])}
    return any(rule in expected and tallies[rule].verdict == "VACUOUS" for rule in concerned)
