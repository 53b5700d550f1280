"""What one damage has caused: which violations tell of the same thing, and under which of them it is told.

Where a message is lost, swapped, doubled or made up, several rules break, and one rule once for each process that is
compared with the damaged one. Two violations belong together where they are about the same

1. message: one that they name, or whose absence they tell without naming it (the number before, for FIFO);
2. view of one process: what it installed, or did not, and what it says of itself in it;
3. hole: a process lacks a message in a view, so its serials have a gap there and its sequence differs from others';
4. process whose serials are not those of others.

The violation heads its incident that is nearest to the cause: what was delivered and should not have been, then views,
then what was not delivered and should have been, then orders, then what only compares. No incident joins another: who
delivers a message twice, and another therefore never, has two.
"""

from __future__ import annotations

from typing import Any

Example = dict[str, Any]
Mark = tuple[str, Any, Any]

# Nearest to the cause first.
ROOT_FIRST = (
    "NO_CREATION",
    "INTEGRITY",
    "NO_DUPLICATION",
    "VIEW_AGREEMENT",
    "ONE_LEADER",
    "SENDING_VIEW",
    "AGREEMENT",
    "SELF_DELIVERY",
    "CONTINUITY",
    "FIFO",
    "CAUSAL",
    "SERIAL_UNIQUE",
    "SERIAL_CONTIGUOUS",
    "VIRTUAL_SYNCHRONY",
    "TOTAL",
    "TOTAL_GAP_FREE",
    "CLOCK",
)
_NUMBERS = 1_000  # from each end of what is missing
_VIEWS = 100  # that a jump passes over, at most


def marks_of(rule: str, example: Example) -> set[Mark]:
    """What a violation is about; those that share one belong together."""
    found: set[Mark] = {("message", sender, number) for sender, number in messages_in(rule, example)}
    process: str = example.get("process", "")
    view: int = example.get("view") or 0
    match rule:
        case "FIFO":
            found.add(("message", example["sender"], example["number"] - 1))
        case "CLOCK":
            found.add(("message", example["other"], max(example["said"], example["true"])))
        case "VIRTUAL_SYNCHRONY" if example.get("kind") == "start":
            found.add(("message", example["sender"], min(example["mine"], example["theirs"]) + 1))
        case "AGREEMENT" | "SELF_DELIVERY":
            found.add(("hole", process, view))
            found |= {("message", example["sender"], number) for number in _missing(example)}
        case "SERIAL_CONTIGUOUS" if example.get("kind") == "start":
            found |= {("hole", who, view - 1) for who in processes_in(rule, example)}  # what one lacks there
        case "SERIAL_CONTIGUOUS" if example["serial"] > example["before"] + 1:
            found |= {("hole", process, each) for each in (view, view - 1)}  # seen at the next delivery
        case "TOTAL_GAP_FREE":
            found |= {("hole", who, view) for who in processes_in(rule, example)}
        case "SERIAL_UNIQUE":
            found |= {("serials", who, None) for who in processes_in(rule, example)}
        case "VIEW_AGREEMENT" | "ONE_LEADER":
            passed = range(example["before"] + 1, view)[:_VIEWS] if example.get("kind") == "jump" else ()
            found |= {("view", who, each) for who in processes_in(rule, example) for each in (*passed, view)}
        case "SENDING_VIEW" if example.get("kind") != "sent":
            found.add(("view", process, view))
    return found


def _missing(example: Example) -> list[int]:
    """The numbers that are missing; of long ranges both ends, whose neighbours other violations name."""
    found: list[int] = []
    for first, last in example.get("missing", ()):
        found += {*range(first, min(last, first + _NUMBERS) + 1), *range(max(first, last - _NUMBERS), last + 1)}
    return found


def holes_in(marks: set[Mark]) -> set[Mark]:
    """Of these the holes: who lacks the same message as another has one of its own."""
    return {mark for mark in marks if mark[0] == "hole"}


def ends_of(example: Example) -> list[Example]:
    """The violation and the other ends of it, each with its process, message and place as far as there is one."""
    others = [example.get("theirs"), example.get("mine"), example.get("other")]
    steps = [end for step in example.get("steps", []) for end in (step["before"], step["after"])]
    return [example, *(each for each in others if isinstance(each, dict)), *steps]


def processes_in(rule: str, example: Example) -> list[str]:
    """Who is named: who violates first, then with whom it is compared."""
    found = [each["process"] for each in ends_of(example) if each.get("process")]
    other = example.get("other")
    if isinstance(other, str) and rule not in ("CLOCK", "CAUSAL"):
        found.append(other)
    return list(dict.fromkeys(found))


def messages_in(rule: str, example: Example) -> list[tuple[str, int]]:
    """The messages that are named."""
    found = [(each["sender"], each["number"]) for each in ends_of(example) if each.get("number") and each.get("sender")]
    if rule == "CAUSAL":
        found.append((example["other"], example["needed"]))
    return list(dict.fromkeys(found))
