"""Incidents: violations that one damage caused, under the one that is nearest to the cause, with a sentence for people.

Where a message is lost, swapped, doubled or made up, several rules break, and one rule once per process that is
compared with the damaged one. Two violations belong together where they are about the same

1. message: one that they name, or whose absence they tell without naming it (the number before, for FIFO);
2. view of one process: its installation, or the lack of it, and the process's records about itself in it;
3. hole: a process lacks a message in a view, so its serials have a gap there and its sequence differs from others';
4. process whose serials are not those of others.

The violation heads its incident that is nearest to the cause (ROOT_FIRST in rules/table.py). Incidents are never
joined: a process that delivers one message twice, and therefore another one never, has two.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from gcom.audit.rules.judgement import Judgement
from gcom.audit.rules.rule import Example, Mark, ends_of
from gcom.audit.rules.table import ROOT_FIRST, RULES


@dataclass(frozen=True, slots=True)
class Consequence:
    """The violations of one rule by one process that an incident caused; `sentence` tells the first of them."""

    rule: str
    processes: list[str]
    sentence: str


@dataclass(slots=True)
class Incident:
    """One damage, under the rule that tells it best.

    `more` counts the further violations of that rule that belong to it. `caused` names the other rules that the damage
    broke. `effects` has an entry per rule and process that it also violates: another rule, or another process.
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
    effects: list[Consequence] = field(default_factory=list)
    about: str = "group"  # or what stands on groups: then `group` is its name, and there is no instance

    def sentence_of(self, rule: str) -> str:
        """Return the sentence about a rule that the damage broke."""
        return next((each.sentence for each in self.effects if each.rule == rule != self.rule), self.sentence)

    def row(self) -> dict[str, Any]:
        """Return the incident as `--json` has it."""
        row = asdict(self)
        del row["kind"]
        row |= {name: [list(each) for each in row[name]] for name in ("messages", "positions")}
        row["files"] = [{"file": file, "line": line} for file, line in row.pop("places")]
        return row


@dataclass(slots=True)
class _Unit:
    """The violations of one rule by one process, by position; those that show only where a view begins come last."""

    rule: str
    examples: list[Example]
    marks: set[Mark]
    count: int


def incidents_of(judgement: Judgement) -> list[Incident]:
    """Return the incidents of one group, those of expected rules first, then by ROOT_FIRST, then by id."""
    # From the root down: an incident exists before the violations that it caused are looked at.
    rules = sorted(judgement.tallies, key=lambda rule: (rule not in judgement.expected, ROOT_FIRST.index(rule)))
    found: list[tuple[set[Mark], Incident]] = []
    for unit in (unit for rule in rules for unit in _units(judgement, rule)):
        incident = _incident(judgement, unit.rule, unit.examples[0], unit.count - 1)
        # The first incident with a mark in common: they are in the order of causes, so it is the likeliest one.
        marks, root = next(((marks, root) for marks, root in found if marks & unit.marks), (unit.marks, None))
        # Nothing that breaks a rule nearer to the cause has a mark in common: this is a damage of its own.
        if root is None:
            found.append((marks, incident))
        else:
            # Only the holes: processes that lack one message share its mark, but each has a hole of its own.
            marks |= {mark for mark in unit.marks if mark[0] == "hole"}
            _put_under(root, incident)
    incidents = [incident for _, incident in found]
    return sorted(incidents, key=lambda each: (not each.expected, ROOT_FIRST.index(each.rule), each.id))


def each_of(judgement: Judgement, rule: str) -> list[Incident]:
    """Return an incident for each violation of the rule that is kept as an example, whatever caused it."""
    return [_incident(judgement, rule, example, 0) for example in judgement.tallies[rule].examples]


def _units(judgement: Judgement, rule: str) -> list[_Unit]:
    """Return one unit per process that violates the rule."""
    tally = judgement.tallies[rule]
    by_process: dict[str, list[Example]] = defaultdict(list)
    for example in tally.examples if tally.violations else ():
        by_process[example.get("process", "")].append(example)
    # Violations that were counted and not kept as examples name no process: the first unit counts them.
    rest = max(tally.violations - sum(map(len, by_process.values())), 0)
    units = []
    for _, examples in sorted(by_process.items()):
        # All violations of the rule at this process together: several lost messages of one run are one damage.
        marks = {mark for example in examples for mark in RULES[rule].marks_of(example)}
        # A violation that shows only where a view begins has its cause elsewhere: it comes last.
        ordered = sorted(examples, key=lambda each: (each.get("kind") == "start", each.get("at", 0)))
        units.append(_Unit(rule, ordered, marks, len(examples) + rest))
        rest = 0
    return units


def _put_under(root: Incident, effect: Incident) -> None:
    root.effects.append(Consequence(effect.rule, effect.processes, effect.sentence))
    if effect.rule == root.rule:
        root.more += 1 + effect.more
    elif effect.rule not in root.caused:
        root.caused.append(effect.rule)


def _incident(judgement: Judgement, rule: str, example: Example, more: int) -> Incident:
    seen = ends_of(example)
    processes, messages = RULES[rule].processes_in(example), RULES[rule].messages_in(example)
    positions = [(each["process"], each["at"]) for each in seen if each.get("at") and each.get("process")]
    places = [(each["file"], each["line"]) for each in seen if each.get("file")]
    group, instance = judgement.key
    # The id leaves out positions and files: the same damage keeps its id when the logs are cut into other segments,
    # or read in part.
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
        RULES[rule].sentence(example),
        example.get("kind", ""),
        max(more, 0),
    )
