"""The instances of a name, and what the sessions in them show: for CONTINUITY."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.oracle.events import Confirm, Deliver, End, Gap, History, Message, Process, Succession, View
from tests.oracle.replay import at_end, walk
from tests.oracle.rules import Tally

_GONE_FOR_GOOD = ("request", "exit", "expelled", "defect")  # of who ends so, and goes nowhere, nothing is owed


@dataclass(slots=True)
class Instance:
    """One life of a name; `firsts` are the records of its view 1, by process."""

    name: str
    histories: list[History]
    tally: Tally = field(default_factory=Tally)
    views: dict[int, View] = field(default_factory=dict)
    firsts: dict[Process, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for history in sorted(self.histories, key=lambda each: each.process):
            for event in history.events:
                if isinstance(event, View):
                    self.views.setdefault(event.view, event)
                    if event.view == 1:
                        self.firsts.setdefault(history.process, event)

    @property
    def definition(self) -> View | None:
        return self.views[min(self.views)] if self.views else None

    @property
    def primary(self) -> bool:
        return self.definition is None or self.definition.netsplit == "PRIMARY"

    @property
    def reliable(self) -> bool:
        return self.definition is not None and self.definition.multicast == "RELIABLE"

    @property
    def succeeds(self) -> tuple[Succession, ...]:
        return self.firsts[min(self.firsts)].succeeds if self.firsts else ()

    @property
    def dissolved(self) -> bool:
        """All members of the last view have left by their own will."""
        ends = {history.process: end_of(history) for history in self.histories}
        last = [ends.get(who) for who in self.views[max(self.views)].members] if self.views else []
        return bool(last) and all(end is not None and end.reason == "request" for end in last)

    def confirmed(self) -> set[Message]:
        if self.definition is not None and self.definition.safe:
            return {message for history in self.histories for message in delivered(history)}
        told = [(history.process, each) for history in self.histories for each in history.events]
        return {(who, each.number) for who, each in told if isinstance(each, Confirm)}

    def parents(self) -> list[str]:
        return sorted({each.instance for each in self.succeeds})


@dataclass(frozen=True, slots=True)
class Link:
    old: Instance
    new: Instance
    said: Succession

    def required(self) -> set[Message]:
        """Return the messages in the cut, without those that nobody held."""
        return self.whole() - self.said.without

    def whole(self) -> set[Message]:
        return {(who, n) for who, last in (self.said.cut or {}).items() for n in range(1, last + 1)}

    def required_anew(self) -> set[Message]:
        """Of what is required, what has a number in the new instance: its base has it."""
        base = self.new.firsts[min(self.new.firsts)].base
        return {(who, n) for who, n in self.required() if n <= base.get(who, 0)}

    def concerns(self, sender: Process) -> bool:
        """The streams of others ended in earlier views."""
        later = [view for number, view in self.old.views.items() if number >= (self.said.view or 0)]
        return sender in (self.said.cut or {}) or any(sender in view.members for view in later)


def end_of(history: History) -> End | None:
    return next((event for event in history.events if isinstance(event, End) and event.seen), None)


def goes_into(history: History) -> str | None:
    end = end_of(history)
    return None if end is None else end.into


def outlives(history: History) -> bool:
    """Whether the process went on, as far as its log tells."""
    if not any(isinstance(event, View) for event in history.events):
        return False
    end = end_of(history)
    return history.closed if end is None else end.into is not None or end.reason not in _GONE_FOR_GOOD


def installed(history: History) -> list[int]:
    return [event.view for event in history.events if isinstance(event, View)]


def delivered(history: History) -> set[Message]:
    return {event.message for event in history.events if isinstance(event, Deliver)}


def settled_at_end(history: History) -> set[Message]:
    """At the end of the session."""
    for place, event in walk(history):
        if isinstance(event, End) and event.seen:
            return set(place.settled)
    return at_end(history).settled


def has_gap(history: History) -> bool:
    return any(isinstance(event, Gap) for event in history.events)


def name_of(process: Process) -> str:
    return process.partition("#")[0]


def ancestors(name: str, instances: dict[str, Instance]) -> tuple[set[str], bool]:
    """All that lie before `name`, and whether these are all."""
    found: set[str] = set()
    whole = True
    open_ends = [name]
    while open_ends:
        each = instances.get(open_ends.pop())
        if each is None or not each.firsts:
            whole = False
            continue
        new = set(each.parents()) - found
        found |= new
        open_ends += sorted(new)
    return found, whole


def descends(name: str, ancestor: str, instances: dict[str, Instance]) -> bool | None:
    """None: the logs do not tell."""
    found, whole = ancestors(name, instances)
    return True if ancestor in found else False if whole else None
