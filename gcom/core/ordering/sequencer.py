"""The giver of serials, hosted by the registry: a pure machine, its state is soft (ARCHITECTURE 7; CORFU, Balakrishnan 2012).

It serves only the view that a leader opened in its present life, so a registry that starts again cannot give a serial
twice: it knows no view, says so, and the group goes on in another one. It calls nobody: a member's WANT is answered
with what follows the member's own log, and the member tells its peers. A WANT is cumulative: repeating it changes
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.sequencer import Close, Open, Opened, SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.core.ordering.order_log import OrderLog
from gcom.values import limits

SPANS_MAX = 4096  # not yet held by all; at the bound nothing more is ordered until members have caught up
GROUPS_MAX = limits.DIRECTORY_GROUPS_MAX  # At the bound the one opened first is served no more.


@dataclass(slots=True)
class _Served:
    view: int
    log: OrderLog


class Sequencer:
    """All groups' orders, each in the one view that is open. A life is one object."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str], _Served] = {}

    def ask(self, request: SequencerRequest) -> SequencerAnswer:
        match request:
            case Open():
                return self._on_open(request)
            case Want():
                return self._on_want(request)
            case Close(group, instance):
                self._served.pop((group, instance), None)
                return Unknown()

    def _on_open(self, request: Open) -> SequencerAnswer:
        key = request.group, request.instance
        served = self._served.get(key)
        if served and served.view >= request.view:
            return Opened() if served.view == request.view else Unknown()
        if served is None and len(self._served) >= GROUPS_MAX:
            self._served.pop(next(iter(self._served)))  # the one opened first; it moves to its leader if it lives
        self._served.pop(key, None)
        self._served[key] = _Served(request.view, OrderLog(request.serial, request.settled))
        return Opened()

    def _on_want(self, request: Want) -> SequencerAnswer:
        served = self._served.get((request.group, request.instance))
        if served is None or served.view != request.view:
            return Unknown()
        log = served.log
        log.drop(min(request.stable, log.end))
        if request.process in log.ordered and len(log) < SPANS_MAX:
            log.append(request.process, request.upto)
        return log.piece(request.view, request.after, limits.ORDERS_MAX)
