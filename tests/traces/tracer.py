"""Chooses what of an exchange is shown, and lays it out: a line for each item, with the time where that has changed.

What says nothing new is left out: heartbeats, statuses as before, and what the registry has been told already. Of a
status, only what has changed since the last one from the same process to the same other is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from gcom.core.messages import effects, registry
from gcom.core.messages.effects import Effect
from gcom.core.messages.frames import Control, Frame, Refused, Reply, Status
from gcom.values.names import Process
from tests.core.network import Network, Observer
from tests.traces import lines
from tests.traces.lines import Asked, Told

# What a trace may show; views, and what users see, are shown in each.
TOPICS = {
    "calls": "control items of joins, view changes, fetches, state and discovery",
    "data": "runs and their fragments, pieces of the order and unicasts, and what is delivered",
    "held": "of a status: how far the target's stream is stored and consumed",
    "stable": "of a status: how far the source's stream is held by all of the view",
    "safe": "of a status: how far the source's stream is held by a majority of the view",
    "order": "of a status: how far the view's order is held",
    "wishes": "of a status: who wants to leave, is wedged, or suspects somebody",
    "receipts": "of a status: how far the target's unicasts and requests are stored and done with",
    "registry": "what the registry is asked, and answers",
    "sequencer": "what its sequencer is asked, and answers",
    "barriers": "when an application is asked for its state, or waits for one",
}
STATUS: dict[str, tuple[str, ...]] = {
    "held": ("held", "partial", "consumed"),
    "stable": ("stable",),
    "safe": ("safe",),
    "order": ("ordered", "agreed", "cut_off"),
    "wishes": ("wedged", "leaving", "suspects"),
    "receipts": ("receipt",),
}
# How a field reads that is no number.
SAID: dict[str, Callable[[Status], str]] = {
    "wedged": lambda status: "wedged" if status.wedged else "takes data",
    "leaving": lambda status: f"wants to leave ({status.leaving})",
    "suspects": lambda status: f"suspects {lines.every(status.suspects)}",
    "cut_off": lambda status: "not served by the sequencer",
    "receipt": lambda status: (
        f"envelopes held {status.receipt.held}, done {status.receipt.read + status.receipt.served}"
    ),
}
NEW = Status(0)  # what all begin with in every view
# The effects that are not shown in each trace, and the topic in which they are.
HIDDEN: dict[type[Effect], str] = {
    effects.Deliver: "data",
    effects.Skip: "data",
    effects.TakeState: "barriers",
    effects.AwaitState: "barriers",
}


class Tracer(Observer):
    """Gathers the lines of a network's play in `found`."""

    def __init__(self, net: Network) -> None:
        self.found: list[str] = []
        self.topics: set[str] = set()
        self._net = net
        self._began_ms = net.now_ms
        self._shown_ms: int | None = None
        self._statuses: dict[tuple[Process, Process], Status] = {}
        self._items_said: dict[tuple[Process, Process, type[Control]], Control] = {}
        self._refusals: dict[tuple[Process, Process], str] = {}
        self._asked: dict[tuple[Process, str], tuple[Asked, str]] = {}
        net.observer = self

    def begin(self, what: str) -> None:
        """Show only this of all that was so far; time begins here."""
        self.found, self._shown_ms = [f"  {what}"], None
        self._began_ms = self._net.now_ms

    def take(self) -> list[str]:
        """Return what was gathered since the last time; the next line says its time again."""
        found, self.found, self._shown_ms = self.found, [], None
        return found

    def _show(self, who: str, what: str) -> None:
        now_ms = self._net.now_ms
        time = "" if now_ms == self._shown_ms else f"t={now_ms - self._began_ms}"
        self._shown_ms = now_ms
        self.found.append(f"  {time:<8}{who:<21}{what}".rstrip())

    def called(self, frame: Frame) -> None:
        self._on_frame(frame, "->")

    def replied(self, callee: Process, caller: Process, reply: Reply) -> None:
        if not isinstance(reply, Refused):
            self._refusals.pop((callee, caller), None)
            self._on_frame(reply, "-->")
        elif self._refusals.get((callee, caller)) != reply.code and "calls" in self.topics:
            self._refusals[callee, caller] = reply.code
            self._show(f"{lines.who(callee)} --> {lines.who(caller)}", f"Refused: {reply.code}")

    def _on_frame(self, frame: Frame, arrow: str) -> None:
        said = [*self._items(frame)]
        status = ", ".join(self._changes(frame))
        if status:
            said[-1:] = [f"{said[-1]}  [{status}]"] if said else [f"[{status}]"]
        for each in said:
            self._show(f"{lines.who(frame.source)} {arrow} {lines.who(frame.target)}", each)

    def _items(self, frame: Frame) -> Iterator[str]:
        if "calls" in self.topics:
            yield from map(lines.control, filter(lambda item: self._is_new(frame, item), frame.control))
        if "data" in self.topics:
            yield from map(lines.run, frame.runs)
            yield from map(lines.fragment, frame.fragments)
            yield from [lines.orders(frame.orders)] if frame.orders else []
            yield from map(lines.envelope, frame.envelopes)

    def _is_new(self, frame: Frame, item: Control) -> bool:
        """Tell whether an item differs from the last of its kind on this way; a question is repeated until answered."""
        way = frame.source, frame.target, type(item)
        last, self._items_said[way] = self._items_said.get(way), item
        return item != last

    def _changes(self, frame: Frame) -> Iterator[str]:
        """Yield what the status says that the last one of its source to its target did not."""
        status, pair = frame.status, (frame.source, frame.target)
        last = self._statuses.get(pair, NEW)
        base = last if last.view == status.view else NEW
        self._statuses[pair] = status
        for topic in STATUS:
            for name in STATUS[topic] if topic in self.topics else ():
                value = getattr(status, name)
                if value != getattr(base, name):
                    yield SAID[name](status) if name in SAID else f"{name} {value}"

    def asked(self, who: Process, request: Asked, answer: Told | None) -> None:
        at_directory = isinstance(request, registry.Request)
        if ("registry" if at_directory else "sequencer") not in self.topics:
            return
        kind, told = type(request).__name__, lines.answer(answer)
        if self._asked.get((who, kind)) != (request, told):
            self._asked[who, kind] = request, told
            other = "registry" if at_directory else "sequencer"
            self._show(f"{lines.who(who)} -> {other}", lines.request(request))
            self._show(f"{other} --> {lines.who(who)}", told)

    def effect(self, who: Process, effect: Effect) -> None:
        topic = next((topic for kind, topic in HIDDEN.items() if isinstance(effect, kind)), "")
        said = lines.effect(effect)
        if said and (not topic or topic in self.topics):
            self._show(lines.who(who), said)


def kind_of_item(name: str) -> type[Control]:
    """Return the class of a control item by its name."""
    found: dict[str, type[Control]] = {kind.__name__: kind for kind in get_args(Control)}
    return found[name]
