"""A member's dealings with the registry's sequencer: what it asks, and what follows from the answers.

The order itself is `gcom.core.ordering.agreement`'s; here it meets streams, links, and the reasons for a view change.
"""

from __future__ import annotations

from gcom.core.links import Links
from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages.effects import AskSequencer
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest
from gcom.core.streams import Streams


class Sequencing:
    """The questions of one member to the registry's sequencer; none without a total order."""

    def __init__(self, streams: Streams, links: Links, view_change: ViewChanger) -> None:
        self._streams = streams
        self._links = links
        self._view_change = view_change
        self._triggers = view_change.triggers

    def on_answer(self, request: SequencerRequest, answer: SequencerAnswer | None, refused: bool, now_ms: int) -> None:
        """Take an answer, or that there was none."""
        serials, change = self._streams.serials, self._view_change
        orders = serials.on_answer(request, answer, now_ms, refused) if serials else None
        if orders:
            change.effects += self._streams.on_orders(orders, fresh=True)
        self._links.wake_all()  # runs that waited for their order go, with it or without
        if serials and serials.cut_off and change.process not in self._triggers.unserved:
            self._triggers.unserved[change.process] = None
            self._links.owe_status(change.others)

    def ask(self, now_ms: int) -> None:
        """Ask for what is due; see whether the registry serves this process."""
        serials, process = self._streams.serials, self._view_change.process
        if serials is None:
            return
        if serials.cut_off or serials.reaches != (process in self._triggers.reaching):
            self._triggers.on_registry(process, serials.cut_off, serials.reaches)
            self._view_change.review()  # a change may be wanted now: the next tick must not wait as in a calm group
        if not serials.asking and (serials.restless or self._streams.unplaced):
            asked = serials.due(self._streams.multicast.out.number, now_ms)
            self._view_change.effects += map(AskSequencer, asked)
