"""The sequencer, hosted by the registry: a pure machine with soft state (ARCHITECTURE 7; CORFU, Balakrishnan et al.
2012).

It calls nobody: a member's WANT is answered with what follows the member's own log, and the member tells its peers. A
WANT is cumulative: repeating it changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from gcom.core.messages.sequencer import Close, Open, Opened, SequencerAnswer, SequencerRequest, Unknown, Want
from gcom.core.ordering.order_log import OrderLog
from gcom.values import limits

SPANS_MAX = 4096  # not yet held by all; at the bound nothing more is ordered until members have caught up
GROUPS_MAX = limits.DIRECTORY_GROUPS_MAX  # at the bound the one opened first is served no more


@dataclass(slots=True)
class _Served:
    view: int
    log: OrderLog


class Sequencer:
    """The orders of all groups, each in its open view; they end with this object, which is one life of the registry."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str], _Served] = {}

    def __len__(self) -> int:
        """Return the number of instances whose orders it serves."""
        return len(self._served)

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
        # A view that is open already keeps its serials: an OPEN that came twice must not set them back. An older view's
        # leader is behind, and must not close the present one.
        if served and served.view >= request.view:
            return Opened() if served.view == request.view else Unknown()
        if served is None and len(self._served) >= GROUPS_MAX:
            self._served.pop(next(iter(self._served)))  # the one opened first; it moves to its leader if it lives
        # Taken out first, so that it comes to the end: the order of the table is that of opening.
        self._served.pop(key, None)
        # The leader has both from the view change: nothing up to this serial is given out again.
        self._served[key] = _Served(request.view, OrderLog(request.serial, request.settled))
        return Opened()

    def _on_want(self, request: Want) -> SequencerAnswer:
        served = self._served.get((request.group, request.instance))
        # Only what was opened in this life is served. 1. The registry starts again, and knows no view. 2. If it made
        # one up from a WANT, it would give serials a second time. 3. So it says UNKNOWN, and the view changes.
        if served is None or served.view != request.view:
            return Unknown()
        log = served.log
        # A process outside the view is told nothing. By saying that all members hold the order it would have spans
        # dropped that some member lacks.
        if request.process not in log.ordered:
            return Unknown()
        log.drop(min(request.stable, log.end))
        # More spans than that mean that some member does not catch up: nothing more is ordered, and senders wait.
        if len(log) < SPANS_MAX:
            log.append(request.process, request.upto)
        return log.piece(request.view, request.after, limits.ORDERS_MAX)
