"""Probes: the questions among members about those that are silent, and their answers (SWIM 2002).

In a small view each pair has heartbeats, so a member that is asked knows. In a large one it calls the silent member
first, and answers once that is heard.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gcom.core.detector.suspicion import Detector
from gcom.core.links import Links
from gcom.core.messages.frames import IndirectAck, Probe
from gcom.values.names import Process


class IndirectProbes:
    """A member's questions and answers in one view."""

    def __init__(self, detector: Detector, links: Links, view: int) -> None:
        self._detector = detector
        self._links = links
        self._view = view
        self._askers: dict[Process, dict[Process, None]] = {}  # by silent member: those that wait for an answer

    def ask(self, asked: Mapping[Process, tuple[Process, ...]]) -> None:
        """Ask helpers about silent members."""
        for helper, silent in asked.items():
            self._links.say(helper, Probe(self._view, silent))

    def answer(self, source: Process, probe: Probe, now_ms: int) -> None:
        """Answer a member that asks whether others are heard here; call those of which nothing is known."""
        if probe.view != self._view:
            return
        heard = self._detector.indirect_ack(probe.silent, now_ms)
        self._tell(source, heard)
        unknown = [peer for peer in probe.silent if peer in self._detector.far and peer not in heard]
        for peer in unknown:
            self._askers.setdefault(peer, {})[source] = None
        self._links.owe_status(self._detector.on_asked(unknown, now_ms))

    def look_at(self, suspects: Collection[Process], now_ms: int) -> None:
        """Call those that a peer suspects, and of which nothing is known here since others watch them."""
        self._links.owe_status(self._detector.on_asked(suspects, now_ms))

    def on_heard(self, peer: Process) -> None:
        """Tell the members that asked for a peer that it is heard here."""
        for asker in self._askers.pop(peer, ()):
            self._tell(asker, (peer,))

    def _tell(self, asker: Process, heard: tuple[Process, ...]) -> None:
        if heard:
            self._links.say(asker, IndirectAck(self._view, heard))
