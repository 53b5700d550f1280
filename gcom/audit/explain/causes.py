"""Causes: the grouping of violations that one damage caused, and the choice of the one that heads their incident.

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

from gcom.audit.rules.rule import Example, Mark, ends_of, processes_in
from gcom.audit.rules.table import RULES


def marks_of(rule: str, example: Example) -> set[Mark]:
    """Return the subjects of a violation; violations that share a mark belong together."""
    found: set[Mark] = {("message", sender, number) for sender, number in messages_in(rule, example)}
    marks = RULES[rule].marks
    return found | marks(example) if marks is not None else found


def holes_in(marks: set[Mark]) -> set[Mark]:
    """Return only the holes. Processes that lack one message share its mark, but each has a hole of its own."""
    return {mark for mark in marks if mark[0] == "hole"}


def named_in(rule: str, example: Example) -> list[str]:
    """Return the processes that are named: the violating one first, then those that it is compared with."""
    return processes_in(example, other_is_sender=RULES[rule].other_is_sender)


def messages_in(rule: str, example: Example) -> list[tuple[str, int]]:
    """Return the messages that are named."""
    found = [(each["sender"], each["number"]) for each in ends_of(example) if each.get("number") and each.get("sender")]
    more = RULES[rule].more_messages
    return list(dict.fromkeys(found + (more(example) if more is not None else [])))
