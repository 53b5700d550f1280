"""Virtual synchrony: processes that go together from view to view delivered the same (Chockler et al. 2001).

A *class* is those who left a view the same way: into the same next view, or by a leave that the next view settles.
Each member of a class is compared with the first that was closed, so a rule costs the same for two members and nine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.core.messages.effects import Deliver, Ended, Installed
from gcom.sim.checks.record import InstanceHistory, ProcessHistory, Rule, Span, ViewHistory, Violation
from gcom.values.names import Process

Transition = tuple[int, int]  # a view and the one that follows
_Ranges = dict[Process, list[tuple[int, int]]]


def ranges(spans: list[Span]) -> _Ranges:
    """Return the messages of some spans in a canonical form: equal sets are equal here."""
    found: _Ranges = {}
    for sender, first, last in joined(sorted(spans)):
        found.setdefault(sender, []).append((first, last))
    return found


def joined(spans: list[Span]) -> list[Span]:
    """Return a sequence of deliveries in a canonical form, however it was cut into runs."""
    found: list[Span] = []
    for sender, first, last in spans:
        if found and found[-1][0] == sender and found[-1][2] + 1 == first:
            found[-1] = (sender, found[-1][1], last)
        else:
            found.append((sender, first, last))
    return found


class TransitionRule(Rule):
    """A rule on a process's change from one view to the next."""

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        if history.sections:
            self.closed(history, history.section, (history.section.view.number, installed.view.number))

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        # A leaver with `settled` went with those who installed that view, though it did not itself.
        if history.sections and ended.settled is not None:
            self.closed(history, history.section, (history.section.view.number, ended.settled))

    def closed(self, history: ProcessHistory, section: ViewHistory, transition: Transition) -> None:
        """Check a process that has ended a view, and is in a class."""
        raise AssertionError("a subclass says what is checked")


class SelfDelivery(TransitionRule):
    """SELF_DELIVERY: a process has settled its own messages of a view when the next begins."""

    def closed(self, history: ProcessHistory, section: ViewHistory, transition: Transition) -> None:
        # Broken where a leaver is let go before it has the cut: its own last messages are in it.
        for sender, first, last in section.sent:
            missing = history.first_unsettled(sender, first, last)
            if missing:
                raise Violation(f"SELF_DELIVERY: {sender} does not settle its own {missing} of view {transition[0]}")


class Synchrony(TransitionRule):
    """AGREEMENT and VIRTUAL_SYNCHRONY: a class delivered one set; all who begin a view stand at one place."""

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._delivered: dict[Transition, tuple[Process, _Ranges]] = {}
        self._starts: dict[int, tuple[Process, list[int]]] = {}

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        super().installed(history, installed)
        base = installed.base or {}
        entering = not history.sections
        # One that enters has its base, one that goes on what it has settled: both must stand at the same place.
        start = [base.get(m, 0) if entering else history.highest_settled(m) for m in installed.view.members]
        other, known = self._starts.setdefault(installed.view.number, (history.process, start))
        # Broken where a joiner is told where the streams stood before the last messages of the cut, as by an
        # application that lags.
        if known != start:
            raise Violation(
                f"VIRTUAL_SYNCHRONY: {history.process} begins view {installed.view.number} after {start} of "
                f"{installed.view.members}, {other} after {known}"
            )

    def closed(self, history: ProcessHistory, section: ViewHistory, transition: Transition) -> None:
        mine = ranges(section.delivered)
        other, known = self._delivered.setdefault(transition, (history.process, mine))
        # Broken where one does not fetch what it lacks of the cut, where messages beyond the cut are delivered, and
        # where a causal order forgets who waits for whom.
        if known != mine:
            senders = sorted(sender for sender in known.keys() | mine.keys() if known.get(sender) != mine.get(sender))
            sender = senders[0]
            raise Violation(
                f"VIRTUAL_SYNCHRONY: of {sender} in view {transition[0]}, before view {transition[1]}, "
                f"{history.process} delivers {mine.get(sender, [])} and {other} {known.get(sender, [])}"
            )


class SameSequence(TransitionRule):
    """TOTAL_GAP_FREE: a class delivered one sequence."""

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._sequences: dict[Transition, tuple[Process, list[Span]]] = {}

    def closed(self, history: ProcessHistory, section: ViewHistory, transition: Transition) -> None:
        mine = joined(section.delivered)
        other, known = self._sequences.setdefault(transition, (history.process, mine))
        if known != mine:
            # The first run in which they differ, however the two sequences were cut.
            place = next((i for i, pair in enumerate(zip(known, mine, strict=False)) if pair[0] != pair[1]), -1)
            raise Violation(
                f"TOTAL_GAP_FREE: in view {transition[0]} {history.process} and {other} deliver different sequences, "
                f"{mine[place : place + 2]} and {known[place : place + 2]}"
            )


@dataclass(slots=True)
class _Claim:
    """A process's claim that every class of a view has settled some messages."""

    by: Process
    spans: list[Span] = field(default_factory=list)


class _Obligation(TransitionRule):
    """The messages that every class of a view must have settled, whichever comes first, the claim or the class.

    Messages with which a successor begins are claimed only against classes that are closed later:

    1. A is put out of view 3, and the others, in view 4, all die.
    2. A goes on alone, in a successor, and delivers its own last message as that begins.
    3. No member of view 4 had this message, and none has broken a promise by that.
    """

    name = ""

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._claims: dict[int, list[_Claim]] = {}  # by view
        self._closed: dict[int, list[ProcessHistory]] = {}  # by view, those in a class

    def claim(self, by: Process, view: int, span: Span, succession: bool = False) -> None:
        """Record that every class of the view must have settled the span, and check the classes closed so far.

        With `succession` a successor begins with the span: then the classes closed so far are not checked.
        """
        known = self._claims.setdefault(view, [])
        mine = next((claim for claim in known if claim.by == by), None)
        if mine is None:
            mine = _Claim(by)
            known.append(mine)
        mine.spans.append(span)
        for history in self._closed.get(view, []) if not succession else ():
            self._check(history, view, by, span)

    def closed(self, history: ProcessHistory, section: ViewHistory, transition: Transition) -> None:
        self._closed.setdefault(transition[0], []).append(history)
        for claim in self._claims.get(transition[0], []):
            for span in claim.spans:
                self._check(history, transition[0], claim.by, span)

    def _check(self, history: ProcessHistory, view: int, by: Process, span: Span) -> None:
        missing = history.first_unsettled(*span)
        if missing:
            raise Violation(
                f"{self.name}: {history.process} leaves view {view} without {span[0]}, {missing}: {by} has it"
            )


class Safety(_Obligation):
    """SAFE: a message that any process delivered in a view, even one dead since, is settled by each class."""

    name = "SAFE"

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._suspended: dict[Process, Violation] = {}  # by claimant; raised unless a successor begins there

    def delivered(self, history: ProcessHistory, delivery: Deliver) -> None:
        run = delivery.run
        try:
            # Broken where one ack is enough, where a receiver counts itself and the sender as a majority of any view,
            # and where a suspicion expels without a quorum: whoever has the message then is not in the next view.
            self.claim(history.process, delivery.view, (run.sender, run.first, run.last))
        except Violation as violation:
            # Not raised yet: 1. the delivery may be the last of a process that goes over to a successor; 2. a
            # message with which a successor begins binds only classes that close later (_Obligation). Its
            # next effect tells which.
            self._suspended.setdefault(history.process, violation)

    def installed(self, history: ProcessHistory, installed: Installed) -> None:
        self._resume(history.process)
        super().installed(history, installed)

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        if ended.reason != "succession":
            self._resume(history.process)
        super().ended(history, ended)

    def _resume(self, process: Process) -> None:
        """Raise the violation held back for a process, if any: no successor begins with its claim."""
        if process in self._suspended:
            raise self._suspended[process]


class Confirmation(_Obligation):
    """UNCONFIRMED: messages that a process which lost its group does not name as unconfirmed, each class has settled.

    SETTLED: where the process is told how far its messages arrived, the survivors have all of these, and no later one.
    """

    name = "UNCONFIRMED"

    def __init__(self, record: InstanceHistory) -> None:
        super().__init__(record)
        self._never: dict[tuple[int, Process], int] = {}  # by view, from which number on none will be delivered

    def ended(self, history: ProcessHistory, ended: Ended) -> None:
        super().ended(history, ended)
        if not history.sections or ended.settled is not None:
            return
        # What is not named as unconfirmed is confirmed: the application was told so by silence.
        first_doubtful = ended.unconfirmed[0] if ended.unconfirmed else None
        # The process was told how far its messages arrived: from there on none may be delivered, by anybody, ever.
        if ended.arrived is not None:
            number = history.section.view.number
            first_doubtful = self._never[number, history.process] = ended.arrived + 1
            for other in self._closed.get(number, []):
                for section in [section for section in other.sections if section.view.number == number]:
                    self._must_not_have(other, section)
        section = history.section
        sent = section.sent
        if ended.reason == "succession":  # messages given up by then are confirmed to nobody
            sent = [span for span in section.delivered if span[0] == history.process]
        for sender, first, last in sent:
            sure = last if first_doubtful is None else min(last, first_doubtful - 1)
            if sure >= first:
                # Broken where silence or a port that refuses counts as death: the others go on without the messages
                # of one that lives, and was told nothing.
                self.claim(history.process, section.view.number, (sender, first, sure), ended.reason == "succession")

    def closed(self, history: ProcessHistory, section: ViewHistory, transition: Transition) -> None:
        super().closed(history, section, transition)
        self._must_not_have(history, section)

    def _must_not_have(self, history: ProcessHistory, section: ViewHistory) -> None:
        for sender, first, last in section.delivered:
            never = self._never.get((section.view.number, sender), last + 1)
            # 1. The process is told that its 5 never arrived, and sends it again in its next session. 2. A survivor
            #    delivers 5 after all. 3. The application has it twice, and was told that this cannot be.
            if last >= never:
                raise Violation(
                    f"SETTLED: {history.process} goes on with {sender}, {first} to {last}, whose sender was told that "
                    f"from {never} on none will be delivered"
                )
