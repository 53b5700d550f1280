"""Hand-made histories for the checkers: what processes do, one effect after the other, as a test tells it."""

from __future__ import annotations

from gcom.core.messages.effects import Deliver, Effect, Ended, Installed, Skip, Suspected
from gcom.core.messages.effects import Sent as SentEffect
from gcom.sim.checkers import Checker
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload, Run
from gcom.values.view import View


def run(sender: Process, first: int, count: int = 1, view: int = 1, clock: dict[Process, int] | None = None) -> Run:
    """Messages of a sender; each says which it is."""
    payloads: list[Payload] = [f"{sender} {number}" for number in range(first, first + count)]
    return Run(sender, view, first, clock or {}, payloads, b"")


class Story:
    """Members `a`, `b`, … are processes; each method is something that one of them sees."""

    def __init__(self, definition: Definition, calls: bool = False) -> None:
        self.checker = Checker(definition, calls)
        self._members: dict[int, tuple[Process, ...]] = {}

    def see(self, who: Process, effect: Effect) -> Story:
        self.checker.see(who, effect)
        return self

    def view(self, number: int, members: str, left: dict[str, str] | None = None, joined: str = "") -> Story:
        """All of `members` install a view; those who are in their first have nothing behind them."""
        for who in members:
            self.install(who, number, members, left, entering=number == 1 or who in joined)
        return self

    def install(
        self,
        who: Process,
        number: int,
        members: str,
        left: dict[str, str] | None = None,
        entering: bool = False,
        base: dict[Process, int] | None = None,
        base_serial: int = 0,
    ) -> Story:
        view = View(number, tuple(members), tuple(f"{member}:1" for member in members))
        joined = tuple(member for member in members if member not in self._members.get(number - 1, members))
        self._members.setdefault(number, tuple(members))
        return self.see(who, Installed(view, joined, left or {}, (base or {}) if entering else None, base_serial))

    def send(self, who: Process, first: int, count: int = 1, view: int = 1, **clock: int) -> Story:
        """Send and deliver at oneself."""
        sent = run(who, first, count, view, clock)
        return self.see(who, SentEffect(sent)).see(who, Deliver(sent, view))

    def send_only(self, who: Process, first: int, count: int = 1, view: int = 1, **clock: int) -> Story:
        return self.see(who, SentEffect(run(who, first, count, view, clock)))

    def deliver(
        self, who: Process, sender: Process, first: int, count: int = 1, view: int = 1, serial: int = 0
    ) -> Story:
        return self.see(who, Deliver(run(sender, first, count, view), view, serial))

    def order(self, who: Process, *messages: tuple[Process, int], after: int = 0) -> Story:
        """Deliver messages of view 1 with the serials that follow `after`."""
        for serial, (sender, number) in enumerate(messages, after + 1):
            self.deliver(who, sender, number, serial=serial)
        return self

    def skip(self, who: Process, sender: Process, first: int, count: int = 1, view: int = 1, serial: int = 0) -> Story:
        return self.see(who, Skip(sender, first, count, view, serial))

    def suspect(self, who: Process, other: Process) -> Story:
        return self.see(who, Suspected(other, 1, "silence"))

    def end(
        self, who: Process, reason: str, settled: int | None = None, unconfirmed: tuple[int, int] | None = None
    ) -> Story:
        return self.see(who, Ended(1, reason, settled, unconfirmed))
