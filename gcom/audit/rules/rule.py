"""The type of a rule: one value with its promise, its judging, and the telling of its violations.

Each rule is one file, which makes one `AuditRule`; table.py lists them. `judge_batch` finds a process's violations by
itself, during the scan; `judge` compares the summaries of all processes; `ask` requests the messages themselves where
they are needed, which then come in excerpts (summary/excerpts.py), and `judge_bucket` or `judge_stream` decides over
these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from gcom.audit.rules.groups import InstanceLogs
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.excerpts import Excerpt, MessageRequest
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.tally import Tally
from gcom.values.definition import Ordering

LoggedDefinition = Mapping[str, Any]  # a `view` record, of which each has the group's definition
Example = dict[str, Any]  # one violation
Mark = tuple[str, Any, Any]  # what a violation is about; two that share a mark have one cause (explain/incidents.py)
_RANGES = 16  # of numbers that one example tells
_MARKED = 1_000  # messages from each end of a range


@dataclass(slots=True)
class Case:
    """A (group, instance) that is judged: its logs, and each rule's tally so far.

    A rule may depend on another one's request, so each is asked once, when first needed.
    """

    group: InstanceLogs
    tallies: dict[str, Tally]
    rules: Mapping[str, AuditRule]
    _requests: dict[str, MessageRequest | None] = field(default_factory=dict)

    def request(self, name: str) -> MessageRequest | None:
        """Return the messages that the rule requests; None if the summaries decide it."""
        if name not in self._requests:
            ask = self.rules[name].ask
            self._requests[name] = ask(self, self.tallies[name]) if ask is not None else None
        return self._requests[name]


@dataclass(frozen=True, slots=True)
class Projection:
    """Records that a witness (explain/witness.py) keeps beside the messages that the incident names."""

    neighbours: bool = False  # the messages before and after the violation
    serials: bool = False  # the two deliveries with serials that end at it, and the gap between their serials
    clock: bool = False  # what the clock at the violation says, and what had been delivered
    view_before: bool = False  # the view that was in force before
    members: bool = False  # all members of each view: one less would be another violation
    instances: bool = False  # the records of all instances of the name


@dataclass(frozen=True, slots=True)
class AuditRule:
    """A rule of docs/DELIVERY_LOG.md. `means` is its sentence in the report."""

    name: str
    means: str
    promised: Callable[[LoggedDefinition], bool]  # by which groups
    sentence: Callable[[Example], str]  # what happened, for people
    # What a process violates by itself, as its log is scanned: rows between two events that change more than counts.
    judge_batch: Callable[[Batch], None] | None = None
    # What the summaries of all processes show together.
    judge: Callable[[Case, Tally], None] | None = None
    # `ask` returns a request for the messages that decide the rule; None where the summaries decide it. The excerpts of
    # these messages go to one of two functions. `judge_bucket` is called per bucket, with the request, the subject of
    # the bucket (a sender, the index of a class, or ""), its excerpts, and the processes whose logs are complete.
    # `judge_stream` is called once, with all excerpts of the group in the order of their buckets. `join` adds up the
    # tallies of buckets that are not independent.
    ask: Callable[[Case, Tally], MessageRequest | None] | None = None
    judge_bucket: Callable[[MessageRequest, str, list[Excerpt], frozenset[str]], Tally] | None = None
    judge_stream: Callable[[MessageRequest, Iterable[tuple[int, Excerpt]]], Tally] | None = None
    join: Callable[[Iterable[Tally]], Tally] | None = None
    # What a violation is about beside the messages that it names, so that those with one cause make one incident.
    marks: Callable[[Example], set[Mark]] | None = None
    other_is_sender: bool = False  # `other` in an example is no process that is compared
    more_messages: Callable[[Example], list[tuple[str, int]]] | None = None
    # Which gaps in a log make the rule UNKNOWN: any; only gaps without a `state` behind them; or none, as for
    # INTEGRITY, which compares only messages that are there.
    open_by_gaps: Literal["any", "without_state", "none"] = "any"
    needs_ends: bool = False  # has a case only where logs tell how processes went on from views
    projection: Projection = Projection()

    def processes_in(self, example: Example) -> list[str]:
        """Return the processes named: the violating one first, then those that it is compared with."""
        return processes_in(example, other_is_sender=self.other_is_sender)

    def messages_in(self, example: Example) -> list[tuple[str, int]]:
        """Return the messages named."""
        ends = [each for each in ends_of(example) if each.get("number") and each.get("sender")]
        found = [(each["sender"], each["number"]) for each in ends]
        return list(dict.fromkeys(found + (self.more_messages(example) if self.more_messages is not None else [])))

    def marks_of(self, example: Example) -> set[Mark]:
        """Return the marks of a violation: its subjects. Violations that share one belong to one incident."""
        found: set[Mark] = {("message", sender, number) for sender, number in self.messages_in(example)}
        return found | self.marks(example) if self.marks is not None else found


# When a rule is promised


def always(_: LoggedDefinition) -> bool:
    """Return True: every group promises the rule."""
    return True


def where_fifo(definition: LoggedDefinition) -> bool:
    """Return whether the group's ordering keeps each sender's order, and so promises the rule."""
    return any(ordering.is_fifo for ordering in _ordering(definition))


def where_causal(definition: LoggedDefinition) -> bool:
    """Return whether the group's ordering is causal, and so promises the rule."""
    return any(ordering.is_causal for ordering in _ordering(definition))


def where_total(definition: LoggedDefinition) -> bool:
    """Return whether the group has one order of all messages, and so promises the rule."""
    return any(ordering.is_total for ordering in _ordering(definition))


def _ordering(definition: LoggedDefinition) -> list[Ordering]:
    """Return the group's ordering; nothing for one that nobody knows, which promises nothing."""
    return [ordering for ordering in Ordering if ordering == definition.get("ordering")]


def where_reliable(definition: LoggedDefinition) -> bool:
    """Return whether the group has RELIABLE multicast, and so promises the rule."""
    return bool(definition.get("multicast") == "RELIABLE")


# What rules share


def named(example: Example) -> str:
    """Return the message as a sentence names it."""
    return f"message {example['number']} of {example['sender']}"


def some_ranges(numbers: Intervals) -> list[list[int]]:
    """Return the first ranges, as an example lists them."""
    return [[first, last] for first, last in islice(numbers, _RANGES)]


def marks_of_range(sender: str, first: int, last: int) -> set[Mark]:
    """Return the marks of messages; of a long range those at both ends, whose neighbours other violations name."""
    numbers = {*range(first, min(last, first + _MARKED) + 1), *range(max(first, last - _MARKED), last + 1)}
    return {("message", sender, number) for number in numbers}


def place_of(record: Mapping[str, Any]) -> Example:
    """Return the process, view and place in the log of a record that the scan kept, as an example has them."""
    return {name: record[name] for name in ("process", "at", "view", "file", "line")}


def ends_of(example: Example) -> list[Example]:
    """Return the violation and its other ends, each with its process, message and position as far as it has them."""
    others = [example.get("theirs"), example.get("mine"), example.get("other")]
    steps = [end for step in example.get("steps", []) for end in (step["before"], step["after"])]
    return [example, *(each for each in others if isinstance(each, dict)), *steps]


def processes_in(example: Example, *, other_is_sender: bool = False) -> list[str]:
    """Return the processes named: the violating one first, then those that it is compared with."""
    found = [each["process"] for each in ends_of(example) if each.get("process")]
    other = example.get("other")
    if isinstance(other, str) and not other_is_sender:
        found.append(other)
    return list(dict.fromkeys(found))
