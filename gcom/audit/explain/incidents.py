"""Violations as incidents: what belongs together, with the messages, the positions, and a sentence for people."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from gcom.audit.explain.causes import ROOT_FIRST, Example, Mark, ends_of, holes_in, marks_of, messages_in, processes_in
from gcom.audit.rules.continuity import sentence
from gcom.audit.rules.judging import Judgement


@dataclass(frozen=True, slots=True)
class Effect:
    """A violation, or those of one rule by one process, that an incident has caused; the first of them tells it."""

    rule: str
    processes: list[str]
    sentence: str


@dataclass(slots=True)
class Incident:
    """One thing that went wrong, under the rule that tells it best.

    `more` counts the further violations of that rule that belong to it; `caused` are the other rules that it broke;
    `effects` name what it broke of others, or in others, once for each process and rule.
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
    effects: list[Effect] = field(default_factory=list)

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
            "effects": [asdict(each) for each in self.effects],
        }


@dataclass(slots=True)
class _Unit:
    """The violations of one rule by one process, by position."""

    rule: str
    examples: list[Example]
    marks: set[Mark]
    count: int


def incidents_of(judgement: Judgement) -> list[Incident]:
    """The incidents of one group: expected rules first, each rule's by process, what they caused beneath them."""
    rules = sorted(judgement.tallies, key=lambda rule: (rule not in judgement.expected, ROOT_FIRST.index(rule)))
    found: list[tuple[set[Mark], Incident]] = []
    for unit in (unit for rule in rules for unit in _units(judgement, rule)):
        incident = _incident(judgement, unit.rule, unit.examples[0], unit.count - 1)
        marks, root = next(((marks, root) for marks, root in found if marks & unit.marks), (unit.marks, None))
        if root is None:
            found.append((marks, incident))
        else:
            marks |= holes_in(unit.marks)
            _put_under(root, incident)
    incidents = [incident for _, incident in found]
    return sorted(incidents, key=lambda each: (not each.expected, ROOT_FIRST.index(each.rule), each.id))


def each_of(judgement: Judgement, rule: str) -> list[Incident]:
    """An incident for each violation of the rule of which all is known, whatever caused it."""
    return [_incident(judgement, rule, example, 0) for example in judgement.tallies[rule].examples]


def _units(judgement: Judgement, rule: str) -> list[_Unit]:
    """One for each process that violates the rule."""
    tally = judgement.tallies[rule]
    by_process: dict[str, list[Example]] = defaultdict(list)
    for example in tally.examples if tally.violations else ():
        by_process[example.get("process", "")].append(example)
    rest = max(tally.violations - sum(map(len, by_process.values())), 0)
    units = []
    for _, examples in sorted(by_process.items()):
        marks = {mark for example in examples for mark in marks_of(rule, example)}
        # What is only seen where views begin has its cause elsewhere.
        ordered = sorted(examples, key=lambda each: (each.get("kind") == "start", each.get("at", 0)))
        units.append(_Unit(rule, ordered, marks, len(examples) + rest))
        rest = 0
    return units


def _put_under(root: Incident, effect: Incident) -> None:
    root.effects.append(Effect(effect.rule, effect.processes, effect.sentence))
    if effect.rule == root.rule:
        root.more += 1 + effect.more
    elif effect.rule not in root.caused:
        root.caused.append(effect.rule)


def _incident(judgement: Judgement, rule: str, example: Example, more: int) -> Incident:
    seen = ends_of(example)
    processes, messages = processes_in(rule, example), messages_in(rule, example)
    positions = [(each["process"], each["at"]) for each in seen if each.get("at") and each.get("process")]
    places = [(each["file"], each["line"]) for each in seen if each.get("file")]
    group, instance = judgement.key
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


_WHEN = {
    "delivered": " (which it delivered after it)",
    "skipped": " (which it skipped after it)",
    "settled": " (which was settled there only after it)",
    "": " (which it never delivered)",
}


def _causal(e: Example) -> str:
    when = _WHEN[e["later"]] if "later" in e else ""
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


def _contiguous(e: Example) -> str:
    if e.get("kind") == "start":
        return (
            f"{e['process']} installed view {e['view']} after serial {e['before']}, "
            f"{e['other']} after serial {e['serial']}."
        )
    return f"{e['process']} went from serial {e['before']} to serial {e['serial']}."


def _sending_view(e: Example) -> str:
    if e.get("kind") == "sent":
        return f"{e['process']} delivered {_said(e)} in view {e['view']}, but it was sent in view {e['sent_view']}."
    force = "no view" if e.get("in_force") is None else f"view {e['in_force']}"
    if e.get("kind") == "send":
        return f"{e['process']} sent its number {e['number']} with view {e['view']}, while {force} was in force there."
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
        case "again":
            return f"{e['process']} installed view {e['view']} after the end of its session."
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
    "SERIAL_CONTIGUOUS": _contiguous,
    "SENDING_VIEW": _sending_view,
    "VIEW_AGREEMENT": _views,
    "VIRTUAL_SYNCHRONY": _synchrony,
    "CONTINUITY": sentence,
    "ONE_LEADER": lambda e: f"View {e['view']} has more than one leader: {', '.join(e['leaders'])}.",
}
