"""Members of a PRIMARY group that keep a state, the texts that they have read, through whatever becomes of their group.

One application a name, as in tests/core/islands.py, but nothing is merged: who goes on, or begins anew, has its state,
and who joins gets one. A newcomer that is refused tries again, as a program does that wants to get in.
"""

from __future__ import annotations

from collections.abc import Iterable

from gcom.core.delivery_queue import Handed
from gcom.core.messages.effects import Effect, Ended, EntryFailed, Installed, SetState
from gcom.values.definition import Definition
from gcom.values.names import Process, name_of
from gcom.values.run import StateToMerge
from tests.core.islands import Application, Islands

AGAIN_MS = 100  # between two tries of a newcomer


class Keepers(Islands):
    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self._refused: dict[Process, int] = {}  # newcomers that could not get in, and when they try again

    def _bring(self, who: Process, brought: StateToMerge | None) -> None:
        """A PRIMARY group merges nothing."""

    def _read(self, who: Process, application: Application, item: Handed | Ended) -> None:
        if not isinstance(item, Ended):
            super()._read(who, application, item)

    def hand_over(self, who: Process, effect: Effect) -> None:
        if isinstance(effect, EntryFailed):
            self._refused[who] = self.now_ms + AGAIN_MS
        else:
            super().hand_over(who, effect)

    def step(self) -> None:
        super().step()
        for who in [who for who, at_ms in self._refused.items() if at_ms <= self.now_ms]:
            del self._refused[who]
            name, _, incarnation = who.partition("#")
            self.successors[who] = self.start(name, str(int(incarnation) + 1))

    def confirm(self, who: Process, text: str) -> None:
        """Send a text, and wait until its sender has delivered it: in a SAFE group that is a promise for ever."""
        self.send(who, text)
        self.until(lambda: text in self.texts(who))

    def unite(self, names: str, limit_ms: int = 60_000) -> list[Process]:
        """Wait until these names, whoever they are by now, and nobody else are in one view of one instance, and all
        have read the same; who they are.
        """

        def united() -> bool:
            now = [self.latest(f"{name}#1") for name in names]
            instances = {self.machines[who].instance for who in now}
            return (
                all(self.members(who) == set(now) for who in now)
                and len(instances) == 1
                and all(who in self.handovers and self.handovers[who].is_open for who in now)
                and not any(self.handovers[who].queued for who in now)
            )

        self.until(united, limit_ms)
        self.pass_ms(1_000)  # what was under way has come
        return [self.latest(f"{name}#1") for name in names]

    def lost(self, names: Iterable[str], *confirmed: str) -> list[str]:
        """Return those that lack what was confirmed, with what they have instead."""
        return [
            f"{name} has {sorted(self.applications[name].texts)}"
            for name in names
            if not set(confirmed) <= self.applications[name].texts
        ]

    def got_state(self, name: str) -> bool:
        """Whether somebody gave this name a state when it came."""
        return any(self.of(who, SetState) for who in self.machines if name_of(who) == name)

    def began(self, who: Process) -> bool:
        """Whether a process was the only member of a first view: it began an instance."""
        first = self.views(who)[:1]
        return [(it.view.number, it.view.members) for it in first] == [(1, (who,))]

    def first(self, who: Process) -> Installed:
        """How a process came into its instance."""
        return self.views(who)[0]
