"""Intake of what frames bring of the streams: whole runs and fragments, judged before they are taken."""

from __future__ import annotations

from gcom.core.membership.view_change import ViewChanger
from gcom.core.messages.effects import Effect
from gcom.core.messages.frames import Frame
from gcom.core.streams import Streams
from gcom.values.names import Process
from gcom.values.run import Fragment, Run

FORGED = "forged"  # the reason to suspect a member that brought a run which is not of its sender


class Intake:
    """The runs of one member's peers, on their way into its streams."""

    def __init__(self, streams: Streams, view_change: ViewChanger) -> None:
        self.liars: set[Process] = set()  # brought a forged run: nothing more is taken from them
        self._streams = streams
        self._view_change = view_change

    def take(self, frame: Frame, now_ms: int) -> list[Effect]:
        """Take the runs and fragments of a member's frame; return the effects."""
        effects: list[Effect] = []
        for run in frame.runs:
            effects += self._take_run(run, {frame.source}, now_ms)
        for fragment in frame.fragments:
            effects += self._take_fragment(frame.source, fragment, now_ms)
        return effects

    def _take_run(self, run: Run, by: set[Process], now_ms: int) -> list[Effect]:
        """Take a run that the peers in `by` brought, unless it is forged.

        A peer that alone brought a forged run is suspected, and nothing is taken from it any more.
        """
        if self._streams.is_forged(run):
            # A relay counts as well: it checked the run before it stored it. Where several peers brought fragments of
            # it, nobody can say which of them lied.
            for liar in by if len(by) == 1 else ():
                self.liars.add(liar)
                self._view_change.suspect(liar, FORGED)
            return []
        if not self.liars.isdisjoint(by) or not self._streams.may_bring(by, run):
            return []
        effects = self._streams.receive(run, now_ms)
        self._view_change.heard(run.sender, now_ms)
        return effects

    def _take_fragment(self, source: Process, fragment: Fragment, now_ms: int) -> list[Effect]:
        if not self._streams.may_bring({source}, fragment):
            return []
        multicast = self._streams.multicast
        run = multicast.assemble(fragment, now_ms, source)
        self._view_change.heard(fragment.sender, now_ms)
        return self._take_run(run, multicast.assemblies.brought_by, now_ms) if run else []
