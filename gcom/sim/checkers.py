"""Safety, checked at every step from what applications see: their own calls and what is handed to them.

No protocol state is read here. The vocabulary is that of Chockler, Keidar and Vitenberg 2001 (§4: safety properties).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gcom.core.effects import Deliver, Ended, Installed, Sent, Skip, Suspected
from gcom.values.definition import Definition, Multicast, Ordering
from gcom.values.names import Process
from gcom.values.run import Payload

Message = tuple[Process, int]


class Violation(Exception):
    """A promise was broken; the text names the rule, the processes and the messages."""


@dataclass(slots=True)
class _Section:
    """What a process did in one view."""

    view: int
    members: tuple[Process, ...]
    delivered: list[Message] = field(default_factory=list)
    settled: set[Message] = field(default_factory=set)
    sent: list[Message] = field(default_factory=list)
    next: int | None = None  # the view installed after this one


@dataclass(slots=True)
class _Witness:
    """One process as an application saw it. `top[s]`: everything of s up to it is settled; `beyond` is above it."""

    sections: list[_Section] = field(default_factory=list)
    top: dict[Process, int] = field(default_factory=dict)
    beyond: dict[Process, set[int]] = field(default_factory=dict)
    ended: bool = False


class Checker:
    """Watches every process of one group instance."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._witnesses: dict[Process, _Witness] = {}
        self._sent: dict[Message, Payload] = {}
        self._views: dict[int, Installed] = {}
        self._suspected: set[Process] = set()  # by anybody, ever
        self.deliveries = 0

    @property
    def messages(self) -> int:
        """How many messages were sent."""
        return len(self._sent)

    @property
    def views(self) -> int:
        return len(self._views)

    def see(self, who: Process, effect: object) -> None:
        """Something happened to an application; raises Violation."""
        witness = self._witnesses.setdefault(who, _Witness())
        if witness.ended and isinstance(effect, Sent | Deliver | Skip | Installed):
            raise Violation(f"LIFE: {who} goes on after its end: {type(effect).__name__}")
        match effect:
            case Installed():
                self._on_view(who, witness, effect)
            case Sent(run):
                for number, payload in enumerate(run.payloads, run.first):
                    self._on_send(who, witness, number, payload)
            case Deliver(run, view):
                for number, payload in enumerate(run.payloads, run.first):
                    self._on_delivery(who, witness, (run.sender, number), payload, (view, run.view))
            case Skip(sender, first, count, _):
                for number in range(first, first + count):
                    self._settle(who, witness, (sender, number))
            case Suspected(process):
                self._suspected.add(process)
            case Ended():
                self._on_end(who, witness, effect)

    def _on_view(self, who: Process, witness: _Witness, installed: Installed) -> None:
        view = installed.view
        known = self._views.setdefault(view.number, installed)
        if known.view != view:
            raise Violation(f"VIEW_AGREEMENT: view {view.number} is {known.view.members}, at {who} {view.members}")
        if who not in view.members:
            raise Violation(f"VIEW_AGREEMENT: {who} installs view {view.number} without itself")
        if witness.sections:
            last = witness.sections[-1]
            if view.number != last.view + 1:
                raise Violation(f"VIEW_AGREEMENT: {who} goes from view {last.view} to {view.number}")
            last.next = view.number
            self._compare(who, witness, last)
        elif installed.base is not None:
            witness.top.update(installed.base)
        witness.sections.append(_Section(view.number, view.members))

    def _on_send(self, who: Process, witness: _Witness, number: int, payload: Payload) -> None:
        if (who, number) in self._sent or (number > 1 and (who, number - 1) not in self._sent):
            raise Violation(f"NO_CREATION: {who} sends number {number} out of turn")
        self._sent[who, number] = payload
        witness.sections[-1].sent.append((who, number))

    def _on_delivery(
        self, who: Process, witness: _Witness, message: Message, payload: Payload, views: tuple[int, int]
    ) -> None:
        sender, number = message
        if self._sent.get(message) != payload:
            raise Violation(f"NO_CREATION: {who} delivers {message} that was not sent so")
        if set(views) != {witness.sections[-1].view}:
            raise Violation(f"SENDING_VIEW: {who} delivers {message} of view {views[1]} in {witness.sections[-1].view}")
        if self._definition.ordering is Ordering.FIFO and number != witness.top.get(sender, 0) + 1:
            raise Violation(f"FIFO: {who} delivers {message} after {witness.top.get(sender, 0)}")
        self._settle(who, witness, message)
        witness.sections[-1].delivered.append(message)
        self.deliveries += 1

    def _settle(self, who: Process, witness: _Witness, message: Message) -> None:
        sender, number = message
        beyond = witness.beyond.setdefault(sender, set())
        if number <= witness.top.get(sender, 0) or number in beyond:
            raise Violation(f"NO_DUPLICATION: {who} settles {message} twice")
        beyond.add(number)
        while witness.top.get(sender, 0) + 1 in beyond:
            witness.top[sender] = witness.top.get(sender, 0) + 1
            beyond.remove(witness.top[sender])
        if witness.sections:
            witness.sections[-1].settled.add(message)

    def _on_end(self, who: Process, witness: _Witness, ended: Ended) -> None:
        if not witness.sections:
            return
        if ended.reason == "expelled" and who not in self._suspected:
            raise Violation(f"EXPULSION: {who} is put out of view {witness.sections[-1].view}, and nobody suspected it")
        witness.ended = True
        if ended.settled is not None:
            last = witness.sections[-1]
            last.next = ended.settled
            self._compare("a leaver", witness, last)

    def _compare(self, who: str, witness: _Witness, section: _Section) -> None:
        """Virtual synchrony, agreement and self-delivery, against everybody who left the view the same way before."""
        if self._definition.multicast is not Multicast.RELIABLE:
            return
        for message in section.sent:
            if message not in section.settled:
                raise Violation(f"SELF_DELIVERY: {who} does not settle its own {message} in view {section.view}")
        for other, peer in self._same_way(witness, section):
            if set(peer.delivered) != set(section.delivered):
                odd = sorted(set(peer.delivered) ^ set(section.delivered))[:3]
                raise Violation(f"VIRTUAL_SYNCHRONY: {who} and {other} differ in view {section.view}: {odd}")

    def _same_way(self, witness: _Witness, section: _Section) -> Iterable[tuple[Process, _Section]]:
        for other, known in self._witnesses.items():
            if known is not witness:
                for peer in known.sections:
                    if (peer.view, peer.next) == (section.view, section.next):
                        yield other, peer

    def delivered_by(self, who: Process, message: Message) -> bool:
        """Whether a process settled a message, or entered after it."""
        witness = self._witnesses[who]
        return message[1] <= witness.top.get(message[0], 0) or message[1] in witness.beyond.get(message[0], set())

    def sent_by(self, who: Process) -> int:
        """How many messages a process has sent."""
        return sum(len(section.sent) for section in self._witnesses[who].sections)
