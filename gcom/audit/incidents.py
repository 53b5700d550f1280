"""Violations as incidents: what belongs together, with the messages, the positions, and a sentence for people."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gcom.audit.judging import Judgement
from gcom.audit.place import Tally

Example = dict[str, Any]

# Where one fault breaks several rules at one message, the incident is told under the first of these.
_ROOT_FIRST = (
    "NO_CREATION",
    "INTEGRITY",
    "NO_DUPLICATION",
    "SENDING_VIEW",
    "VIEW_AGREEMENT",
    "ONE_LEADER",
    "FIFO",
    "CAUSAL",
    "SERIAL_UNIQUE",
    "SERIAL_CONTIGUOUS",
    "AGREEMENT",
    "SELF_DELIVERY",
    "VIRTUAL_SYNCHRONY",
    "TOTAL",
    "TOTAL_GAP_FREE",
    "CLOCK",
)


@dataclass(slots=True)
class Incident:
    """One thing that went wrong, under the rule that tells it best.

    `more` counts the further violations of that rule by the same process; `caused` are other rules that it broke.
    """

    id: str
    rule: str
    group: str
    instance: str
    expected: bool
    view: int | None
    processes: list[str]
    messages: list[tuple[str, int]]
    positions: list[tuple[str, int]]
    places: list[tuple[str, int]]  # file, line
    sentence: str
    kind: str = ""  # which clause of the rule
    more: int = 0
    caused: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """As `--json` has it."""
        return {
            "id": self.id,
            "rule": self.rule,
            "group": self.group,
            "instance": self.instance,
            "expected": self.expected,
            "view": self.view,
            "processes": self.processes,
            "messages": [list(each) for each in self.messages],
            "positions": [list(each) for each in self.positions],
            "files": [{"file": file, "line": line} for file, line in self.places],
            "sentence": self.sentence,
            "more": self.more,
            "caused": self.caused,
        }


def incidents_of(judgement: Judgement) -> list[Incident]:
    """The incidents of one group: expected rules first, each rule's by process, what they caused beneath them."""
    found: list[Incident] = []
    for rule in sorted(judgement.tallies, key=lambda rule: (rule not in judgement.expected, _ROOT_FIRST.index(rule))):
        found += _of_rule(judgement, rule, judgement.tallies[rule])
    return _under_roots(found)


def each_of(judgement: Judgement, rule: str) -> list[Incident]:
    """An incident for each violation of the rule of which all is known, whatever caused it."""
    return [_incident(judgement, rule, example, 0) for example in judgement.tallies[rule].examples]


def _of_rule(judgement: Judgement, rule: str, tally: Tally) -> list[Incident]:
    """One incident for each process that violates the rule; the first example tells it."""
    if not tally.violations:
        return []
    by_process: dict[str, list[Example]] = defaultdict(list)
    for example in tally.examples:
        by_process[example.get("process", "")].append(example)
    rest = tally.violations - sum(len(each) for each in by_process.values())
    found = []
    for process, examples in sorted(by_process.items()):
        first = min(examples, key=lambda example: example.get("at", 0))
        found.append(_incident(judgement, rule, first, len(examples) - 1 + rest))
        rest = 0
        assert process in found[-1].processes or not process
    return found


def _incident(judgement: Judgement, rule: str, example: Example, more: int) -> Incident:
    seen = [example, *(each for each in _others(example))]
    processes = list(dict.fromkeys([each["process"] for each in seen if each.get("process")]))
    other = example.get("other")
    if isinstance(other, str) and rule not in ("CLOCK", "CAUSAL"):
        processes = list(dict.fromkeys([*processes, other]))
    messages = [(each["sender"], each["number"]) for each in seen if each.get("number") and each.get("sender")]
    if rule == "CAUSAL":
        messages.append((example["other"], example["needed"]))
    positions = [(each["process"], each["at"]) for each in seen if each.get("at") and each.get("process")]
    places = [(each["file"], each["line"]) for each in seen if each.get("file")]
    group, instance = judgement.key
    messages = list(dict.fromkeys(messages))
    identity = repr((rule, group, instance, sorted(processes), messages, example.get("kind"), example.get("view")))
    return Incident(
        hashlib.sha256(identity.encode()).hexdigest()[:12],
        rule,
        group,
        instance,
        rule in judgement.expected,
        example.get("view"),
        processes,
        messages,
        list(dict.fromkeys(positions)),
        list(dict.fromkeys(places)),
        sentence_of(rule, example),
        example.get("kind", ""),
        max(more, 0),
    )


def _others(example: Example) -> list[Example]:
    """The other ends of a violation."""
    found = [
        each for each in (example.get("theirs"), example.get("mine"), example.get("other")) if isinstance(each, dict)
    ]
    for step in example.get("steps", []):
        found += [step["before"], step["after"]]
    return found


def _under_roots(found: list[Incident]) -> list[Incident]:
    """What concerns the same process and message as an incident of a rule that comes first belongs to it."""
    roots: dict[tuple[str, str, str, tuple[str, int] | None], Incident] = {}
    kept = []
    for each in sorted(found, key=lambda incident: _ROOT_FIRST.index(incident.rule)):
        marks = [(each.group, each.instance, who, message) for who in each.processes[:1] for message in each.messages]
        root = next((roots[mark] for mark in marks if mark in roots and roots[mark].expected >= each.expected), None)
        if root is None:
            kept.append(each)
            roots.update({mark: each for mark in marks if mark not in roots})
        else:
            root.caused.append(each.rule)
    return sorted(kept, key=lambda incident: (not incident.expected, _ROOT_FIRST.index(incident.rule), incident.id))


def _said(example: Example, name: str = "message") -> str:
    return f"{name} {example['number']} of {example['sender']}"


def sentence_of(rule: str, example: Example) -> str:
    """What happened, in a sentence that names who, which message, and what it contradicts."""
    return _SENTENCES[rule](example)


def _no_creation(e: Example) -> str:
    match e.get("kind"):
        case "jump":
            return f"{e['process']} sent its number {e['number']} right after its number {e['before']}."
        case "early":
            return f"{e['process']} delivered its own number {e['number']} before it had sent it."
        case _:
            return (
                f"{e['process']} delivered {_said(e)}, but {e['sender']}, whose log is complete, "
                f"sent no more than {e['known']}."
            )


def _fifo(e: Example) -> str:
    highest = e.get("highest", 0)
    if highest > e["number"]:
        return f"{e['process']} delivered {_said(e)} after number {highest}, and without number {e['number'] - 1}."
    return f"{e['process']} delivered {_said(e)} without having delivered number {e['number'] - 1}."


def _causal(e: Example) -> str:
    when = {None: "", True: " (which it delivered after it)", False: " (which it never delivered)"}[e.get("later")]
    return (
        f"{e['process']} delivered {_said(e)} before number {e['needed']} of {e['other']}{when}, "
        f"but {e['sender']} had delivered that when it sent {e['number']}."
    )


def _total(e: Example) -> str:
    parts = [
        f"{step['before']['process']} delivered {_said(step['before'])} before {_said(step['after'])}"
        for step in e["steps"]
    ]
    return f"{'; '.join(parts)}: no single order fits."


def _gap_free(e: Example) -> str:
    match e.get("kind"):
        case "set":
            without = e["other"] if e["lone"] == e["process"] else e["process"]
            return f"In view {e['view']} {e['lone']} delivered {_said(e)}, and {without} did not."
        case "inverted":
            mine = e["steps"][0]
            return (
                f"In view {e['view']} {e['process']} delivered {_said(mine['before'])} before {_said(mine['after'])}, "
                f"{e['other']} the other way round."
            )
    mine, theirs = (f"was {_said(each)}" if each else "did not happen" for each in (e["mine"], e["theirs"]))
    return f"In view {e['view']} delivery {e['place']} {mine} at {e['process']}, and {theirs} at {e['other_process']}."


def _unique(e: Example) -> str:
    other = e["other"]
    if e["kind"] == "serial":
        return f"Serial {e['serial']} is {_said(e)} at {e['process']} and {_said(other)} at {other['process']}."
    where = f"{e['serial']} at {e['process']} and {e['other_serial']} at {other['process']}"
    return f"{_said(e).capitalize()} has serial {where}."


def _sending_view(e: Example) -> str:
    if e.get("kind") == "sent":
        return f"{e['process']} delivered {_said(e)} in view {e['view']}, but it was sent in view {e['sent_view']}."
    force = "no view" if e.get("in_force") is None else f"view {e['in_force']}"
    return (
        f"{e['process']} delivered {_said(e)} with view {e['view']} and sending view {e['sent_view']}, "
        f"while {force} was in force there."
    )


def _views(e: Example) -> str:
    match e.get("kind"):
        case "outsider":
            return f"{e['process']} installed view {e['view']}, of which it or the leader is no member."
        case "jump":
            return f"{e['process']} installed view {e['view']} right after view {e['before']}."
        case _:
            return f"View {e['view']} at {e['process']} is not what {e['other']} installed under that number."


def _synchrony(e: Example) -> str:
    if e.get("kind") == "start":
        return (
            f"When they installed view {e['view']}, {e['process']} had settled number {e['mine']} of {e['sender']}, "
            f"{e['other']} number {e['theirs']}."
        )
    return (
        f"{e['process']} and {e['other']} went together from view {e['view']}, "
        f"but only {e['lone']} delivered {_said(e)} in it."
    )


_SENTENCES: dict[str, Callable[[Example], str]] = {
    "NO_CREATION": _no_creation,
    "NO_DUPLICATION": lambda e: f"{e['process']} delivered {_said(e)} though it was settled there before.",
    "INTEGRITY": lambda e: f"{e['process']} delivered {_said(e)} with another payload than was sent.",
    "SELF_DELIVERY": lambda e: (
        f"{e['process']} sent number {e['number']} in view {e['view']} and went on from it without delivering it."
    ),
    "AGREEMENT": lambda e: (
        f"{e['other']} delivered {_said(e)} in view {e['view']}, and {e['process']}, which went on with it, never did."
    ),
    "FIFO": _fifo,
    "CAUSAL": _causal,
    "CLOCK": lambda e: (
        f"{e['process']} sent number {e['number']} with a clock that says {e['said']} for {e['other']}, "
        f"having delivered {e['true']}."
    ),
    "TOTAL": _total,
    "TOTAL_GAP_FREE": _gap_free,
    "SERIAL_UNIQUE": _unique,
    "SERIAL_CONTIGUOUS": lambda e: f"{e['process']} went from serial {e['before']} to serial {e['serial']}.",
    "SENDING_VIEW": _sending_view,
    "VIEW_AGREEMENT": _views,
    "VIRTUAL_SYNCHRONY": _synchrony,
    "ONE_LEADER": lambda e: f"View {e['view']} has more than one leader: {', '.join(e['leaders'])}.",
}
