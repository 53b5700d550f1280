"""Safety, checked at every step from what applications see: their own calls and what is handed to them.

No protocol state is read here. The rules are those of DELIVERY_LOG.md that a group's definition promises; the words are
those of Chockler, Keidar and Vitenberg 2001 (§4: safety properties).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gcom.core.messages.effects import Deliver, DoubtSettled, Ended, Installed, Quorum, Sent, Skip, Suspected
from gcom.sim.checks.calls import Calls
from gcom.sim.checks.delivery import Creation, Duplication, LifeRule, NoForgery, SendingView
from gcom.sim.checks.doubt import Doubt
from gcom.sim.checks.envelopes import Envelopes
from gcom.sim.checks.order import CausalOrder, Clocks, FifoOrder, WholePast
from gcom.sim.checks.record import InstanceHistory, Rule, Violation
from gcom.sim.checks.state import States
from gcom.sim.checks.synchrony import Confirmation, Safety, SameSequence, SelfDelivery, Synchrony
from gcom.sim.checks.total import Serials, TotalOrder
from gcom.sim.checks.views import Expulsion, OneLeader, StaticStart, SuccessionRule, ViewAgreement
from gcom.values.definition import Definition, Multicast
from gcom.values.names import Process

__all__ = ["Checker", "Violation"]

# LIFE first: what comes after an end breaks other rules as well, and the first Violation is the one that is read.
_ALWAYS: tuple[type[Rule], ...] = (
    LifeRule,
    ViewAgreement,
    SuccessionRule,
    StaticStart,
    OneLeader,
    Expulsion,
    Creation,
    Duplication,
    SendingView,
    Clocks,
)
# Over BASIC a message may be lost at one member and not at another: none of these is promised then.
_RELIABLE: tuple[type[Rule], ...] = (SelfDelivery, Synchrony, Confirmation)
_TOTAL: tuple[type[Rule], ...] = (TotalOrder, Serials)
_METHODS: dict[type, str] = {
    Installed: "installed",
    Sent: "sent",
    Deliver: "delivered",
    Skip: "skipped",
    Suspected: "suspects",
    Quorum: "heard_quorum",
    DoubtSettled: "settled",
    Ended: "ended",
}


def rules_of(definition: Definition) -> list[type[Rule]]:
    """Return the rules that a group of this definition promises."""
    ordering = definition.ordering
    kinds = [*_ALWAYS, *([FifoOrder] if ordering.is_fifo else []), *([CausalOrder] if ordering.is_causal else [])]
    kinds += _TOTAL if ordering.is_total else ()
    if definition.multicast is Multicast.RELIABLE:
        kinds += [*_RELIABLE, *([SameSequence] if ordering.is_total else [])]
        # Over BASIC a past may be lost, and then a message is delivered without it.
        kinds += [WholePast] if ordering.is_causal else []
    return [*kinds, *([Safety] if definition.safe else [])]


class Checker:
    """The checker of every process of one group instance.

    `before`: those of the name's earlier instances. With `calls`, as in the simulator, where nobody lies, it also
    checks what applications call, and that nobody is taken for a forger.
    """

    def __init__(
        self, definition: Definition, calls: bool = False, before: Mapping[str, Checker] | None = None
    ) -> None:
        earlier = {instance: checker.record for instance, checker in (before or {}).items()}
        self.record: InstanceHistory = InstanceHistory(definition.static, earlier)
        self.calls = Calls(self.record)
        self.states = States(definition)
        self.envelopes = Envelopes(self.record)
        self.doubt = Doubt(self.record)
        rules = [kind(self.record) for kind in rules_of(definition)] + [self.doubt]
        rules += [self.calls, NoForgery(self.record)] if calls else []
        # Most rules look at few kinds of effect, and effects are many: only methods that a rule overrides are called.
        self._checks = {kind: _methods_of(rules, method) for kind, method in _METHODS.items()}

    @property
    def messages(self) -> int:
        return self.record.messages

    @property
    def deliveries(self) -> int:
        return self.record.deliveries

    @property
    def views(self) -> int:
        return len(self.record.views)

    def see(self, who: Process, effect: object) -> None:
        """Check one effect that an application sees; raises Violation."""
        history = self.record.history(who)
        shown = effect.run if isinstance(effect, Sent) else effect
        # Rules first, then the record: each rule compares the effect with what was before it.
        for check in self._checks.get(type(effect), ()):
            check(history, shown)
        match effect:
            case Deliver():
                self.record.deliver(history, effect)
            case Sent(run):
                self.record.send(history, run)
            case Skip():
                self.record.skip(history, effect)
            case Installed():
                self.record.install(history, effect)
            case Suspected(process):
                self.record.suspected.add(process)
                self.record.suspecting.add(who)
            case Quorum(has=False):
                self.record.detached.add(who)
            case Ended():
                self.record.end(history, effect)

    def settled_by(self, who: Process, sender: Process, number: int) -> bool:
        """Tell whether a process has settled 1…number of a sender."""
        return not self.record.history(who).first_unsettled(sender, 1, number)

    def delivered_by(self, who: Process, sender: Process, number: int) -> bool:
        """Tell whether a process has delivered a message, and not skipped it."""
        history = self.record.history(who)
        skipped = history.skipped.get(sender)
        return history.has_settled(sender, number) and not (skipped and number in skipped)

    def sent_by(self, who: Process) -> int:
        """Return the number of messages that a process has sent."""
        return len(self.record.stream(who).payloads)


def _methods_of(rules: list[Rule], method: str) -> list[Callable[[Any, Any], None]]:
    return [getattr(rule, method) for rule in rules if getattr(type(rule), method) is not getattr(Rule, method)]
