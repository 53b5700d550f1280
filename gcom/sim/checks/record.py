"""The history of every process of an instance, as its application saw it; all rules read it.

Nothing of the protocol is read here. Runs are kept whole, so that one costs about as much as one message.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gcom.core.messages.effects import Deliver, DoubtSettled, Ended, Installed, Quorum, Skip, Suspected
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View

Span = tuple[Process, int, int]  # sender, first and last number


class Violation(Exception):
    """A broken promise; the text names the rule, the processes and the messages."""


class NumberSet:
    """A set of message numbers of one sender: 1…prefix, and those `beyond` it."""

    __slots__ = ("beyond", "prefix")

    def __init__(self, prefix: int = 0) -> None:
        self.prefix = prefix
        self.beyond: set[int] = set()

    def __contains__(self, number: int) -> bool:
        return number <= self.prefix or number in self.beyond

    @property
    def highest(self) -> int:
        return max(self.beyond, default=self.prefix)

    def first_known(self, first: int, last: int) -> int:
        """Return the first number of first…last that is in; 0 if none is."""
        if first <= self.prefix:
            return first
        return next((n for n in range(first, last + 1) if n in self.beyond), 0) if self.beyond else 0

    def first_missing(self, first: int, last: int) -> int:
        """Return the first number of first…last that is not in; 0 if all are."""
        # Nothing up to the prefix is missing: of a long run only what lies behind it is looked at, number by number.
        return next((n for n in range(max(first, self.prefix + 1), last + 1) if n not in self.beyond), 0)

    def add(self, first: int, last: int) -> None:
        if first == self.prefix + 1 and not self.beyond:  # the usual case
            self.prefix = last
            return
        # Numbers beyond a gap are few and soon joined to the prefix, so a set of single numbers will do.
        self.beyond.update(range(max(first, self.prefix + 1), last + 1))
        while self.prefix + 1 in self.beyond:
            self.prefix += 1
            self.beyond.remove(self.prefix)


@dataclass(slots=True)
class ViewHistory:
    """The history of a process in one view. `next` is the view that follows here; for a leaver, the one without it."""

    view: View
    next: int | None = None
    sent: list[Span] = field(default_factory=list)
    delivered: list[Span] = field(default_factory=list)  # in order


@dataclass(slots=True)
class ProcessHistory:
    """The history of a process. `settled`: delivered, skipped or in its base; `clock`: highest delivered or in base."""

    process: Process
    sections: list[ViewHistory] = field(default_factory=list)
    settled: dict[Process, NumberSet] = field(default_factory=dict)
    skipped: dict[Process, NumberSet] = field(default_factory=dict)
    clock: dict[Process, int] = field(default_factory=dict)
    ended: Ended | None = None

    @property
    def section(self) -> ViewHistory:
        """Return the history in the present view; raises Violation for a process that has none."""
        if not self.sections:
            raise Violation(f"LIFE: {self.process} acts before its first view")
        return self.sections[-1]

    def has_settled(self, sender: Process, number: int) -> bool:
        known = self.settled.get(sender)
        return known is not None and number in known

    def first_unsettled(self, sender: Process, first: int, last: int) -> int:
        """Return the first number of first…last that is not settled; 0 if all are."""
        known = self.settled.get(sender)
        return known.first_missing(first, last) if known else first

    def highest_settled(self, sender: Process) -> int:
        known = self.settled.get(sender)
        return known.highest if known else 0

    def settle(self, sender: Process, first: int, last: int) -> None:
        known = self.settled.get(sender)
        if known is None:
            known = self.settled[sender] = NumberSet()
        known.add(first, last)


@dataclass(frozen=True, slots=True)
class Send:
    """A run first…last, sent at one place of its sender's history; `needs` is what that had delivered before."""

    first: int
    last: int
    view: int
    needs: dict[Process, int]


@dataclass(slots=True)
class SentStream:
    """The sends of one process."""

    payloads: list[Payload] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    lasts: list[int] = field(default_factory=list)  # of `sends`, for bisection

    def of(self, first: int, last: int) -> Iterator[Send]:
        """Yield the sends of which the messages first…last are parts."""
        for index in range(bisect_left(self.lasts, first), len(self.sends)):
            if self.sends[index].first > last:
                return
            yield self.sends[index]


class InstanceHistory:
    """The histories of one instance. Rules look at it before an effect is recorded."""

    def __init__(self, static: tuple[str, ...] = (), earlier: Mapping[str, InstanceHistory] | None = None) -> None:
        self.static = static
        self.earlier = dict(earlier or {})  # the name's instances before this one
        self.histories: dict[Process, ProcessHistory] = {}
        self.streams: dict[Process, SentStream] = {}
        self.views: dict[int, Installed] = {}
        self.suspected: set[Process] = set()  # by anybody, ever
        self.suspecting: set[Process] = set()  # the processes that suspected anybody, ever
        self.detached: set[Process] = set()  # ever
        self.given_up: set[Process] = set()  # by an operator, in a later instance
        self.messages = 0
        self.deliveries = 0

    def history(self, who: Process) -> ProcessHistory:
        known = self.histories.get(who)
        if known is None:
            known = self.histories[who] = ProcessHistory(who)
        return known

    def stream(self, who: Process) -> SentStream:
        known = self.streams.get(who)
        if known is None:
            known = self.streams[who] = SentStream()
        return known

    @property
    def has_had_all(self) -> bool:
        """Tell whether the names of a static group have all been in one view."""
        views = (installed.view for installed in self.views.values())
        return bool(self.static) and any(set(view.names) == set(self.static) for view in views)

    @property
    def has_started(self) -> bool:
        """Tell whether a static group has started, by its own word."""
        return bool(self.static) and any(installed.view.started for installed in self.views.values())

    def install(self, history: ProcessHistory, installed: Installed) -> None:
        view = installed.view
        self.views.setdefault(view.number, installed)
        if installed.succeeds and installed.succeeds.instance in self.earlier:
            self.earlier[installed.succeeds.instance].given_up.update(installed.succeeds.gives_up)
        if history.sections:
            history.sections[-1].next = view.number
        else:
            # A base is settled and counts as delivered, though this process never saw it: its state holds it.
            for sender, number in (installed.base or {}).items():
                history.settled[sender] = NumberSet(number)
                history.clock[sender] = number
        history.sections.append(ViewHistory(view))

    def send(self, history: ProcessHistory, run: Run) -> None:
        stream = self.stream(history.process)
        stream.payloads += run.payloads
        # A copy: the sender's clock goes on, and this send's needs are those of now.
        stream.sends.append(Send(run.first, run.last, run.view, dict(history.clock)))
        stream.lasts.append(run.last)
        history.section.sent.append((run.sender, run.first, run.last))
        self.messages += len(run.payloads)

    def deliver(self, history: ProcessHistory, delivery: Deliver) -> None:
        run = delivery.run
        history.settle(run.sender, run.first, run.last)
        # The highest, as a clock has it: over BASIC a lower one may come later.
        if run.last > history.clock.get(run.sender, 0):
            history.clock[run.sender] = run.last
        history.section.delivered.append((run.sender, run.first, run.last))
        self.deliveries += len(run.payloads)

    def skip(self, history: ProcessHistory, skip: Skip) -> None:
        if not skip.count or not skip.sender:
            return
        last = skip.first + skip.count - 1
        history.settle(skip.sender, skip.first, last)
        history.skipped.setdefault(skip.sender, NumberSet()).add(skip.first, last)

    def end(self, history: ProcessHistory, ended: Ended) -> None:
        history.ended = ended
        if history.sections:
            # A leaver with `settled` is in the class of those who go on to that view (DELIVERY_LOG.md, Class).
            history.sections[-1].next = ended.settled


class Rule:
    """A family of rules. Each method is called before an effect is recorded, and raises Violation.

    Where a comment says what a rule is broken by, a mutant of the core does just that, and the rule catches it
    (tests/sim/mutants).
    """

    def __init__(self, record: InstanceHistory) -> None:
        self.record = record

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        """Check a view that is installed."""

    def sent(self, history: ProcessHistory, run: Run) -> None:
        """Check a run that got its numbers."""

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        """Check a run that is delivered."""

    def skipped(self, history: ProcessHistory, skip: Skip) -> None:
        """Check messages that are given up."""

    def suspects(self, history: ProcessHistory, suspected: Suspected) -> None:
        """Check a suspicion that begins."""

    def heard_quorum(self, history: ProcessHistory, quorum: Quorum) -> None:
        """Check that a quorum is heard again, or no more."""

    def settled(self, history: ProcessHistory, settled: DoubtSettled) -> None:
        """Check the fate of own messages that were in doubt."""

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        """Check the end of a session."""
