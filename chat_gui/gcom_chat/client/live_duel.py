"""A live ordering duel: what one says as Alice goes through all five orderings, and Bob and Carol answer at once.

`python -m gcom_chat.client.live_duel SEED`: a text a line on the standard input, a JSON object a line on the standard
output, for each line that one of the two compared members has seen.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from threading import Event, Lock, Thread

import gcom
from gcom_chat.client.duel import FAULTS, POLL_S, SEED, SHOWN, Arena, DuelFailed, failure_of
from gcom_chat.client.fault_control import without_faults
from gcom_chat.model.insight.duel import ORDERINGS, DuelRun, DuelScreen
from gcom_chat.model.insight.live_duel import LINES_A_TURN, PLACES, live_run

FORM_S = 60.0  # five groups of four nodes each, all at once, on a slow machine


class LiveDuel:
    """A live duel in a process of its own. `say` goes to all groups; `runs` yields what is seen, until `stop`."""

    def __init__(self, seed: int = SEED) -> None:
        # A process of its own: the threads of its nodes would hold up the window.
        command = [sys.executable, "-m", "gcom_chat.client.live_duel", str(seed)]
        pipe = subprocess.PIPE
        environment = without_faults()
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
        self.said: list[str] = []

    def say(self, text: str) -> None:
        """Say a text as Alice, in each of the groups, as soon as they are formed."""
        self.said.append(text)
        assert self._process.stdin is not None, "it was asked for"
        with suppress(OSError, ValueError):  # it has ended, which `runs` says
            self._process.stdin.write(json.dumps(text) + "\n")
            self._process.stdin.flush()

    def runs(self) -> Iterator[DuelRun]:
        """Yield a run whenever one of its two screens has another line; raises DuelFailed."""
        process = self._process
        assert process.stdout is not None, "it was asked for"
        assert process.stderr is not None, "it was asked for"
        with process:
            for line in process.stdout:
                fields = json.loads(line)
                left, right = (DuelScreen(name, tuple(lines)) for name, lines in fields["screens"])
                yield live_run(DuelRun(fields["ordering"], (left, right), fields["wait_ms"]), self.said)
            why = process.stderr.read()
        # Below 0 it was ended by a signal, as `stop` does: that is no failure.
        if process.returncode > 0:
            raise DuelFailed(failure_of(why, process.returncode))

    def stop(self) -> None:
        """End the process."""
        self._process.kill()


class LiveArena(Arena):
    """An ordering's group in a live duel. `turn` lets Alice say a line; `tell` takes what was seen."""

    def __init__(self, ordering: str, registry: str, faults: gcom.Faults, tell: Callable[[DuelRun], None]) -> None:
        super().__init__(ordering, registry, faults, Event())
        self._tell = tell
        self._texts: list[str] = []
        self._groups: list[gcom.Group] = []

    def form(self, stack: ExitStack) -> None:
        """Form the group, and begin to talk; leaving the stack ends it."""
        self._groups = self._join(stack)
        threads = [Thread(target=self._talk, args=(group,), daemon=True) for group in self._groups]
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
        # Registered last, so that it runs first: the threads
        # that are joined after it then see that it is over.
        stack.callback(self._end)

    def turn(self, text: str) -> None:
        """Say a text as Alice; the others answer."""
        # Without a lock: one thread adds, the others only read.
        self._texts.append(text)

    def _end(self) -> None:
        self._over = True

    def _talk(self, group: gcom.Group) -> None:
        """Say this member's lines: Alice's at once, an answer as soon as its question was seen."""
        name = group.members[group.view.members.index(group.process)]
        turn = 0
        while not self._over:
            while name in PLACES and turn < len(self._texts) and self._may_say(name, turn):
                self._say(group, turn * LINES_A_TURN + PLACES[name])
                turn += 1
            # What Alice is to say wakes nobody here: it is looked for when this wait is over, so the wait is short.
            event = group.receive(POLL_S / 4)
            if isinstance(event, gcom.Message):
                self._show(name, int(event.text))

    def _may_say(self, name: str, turn: int) -> bool:
        return PLACES[name] == 0 or turn * LINES_A_TURN in self._shown[name]

    def _show(self, name: str, line: int) -> None:
        super()._show(name, line)
        if name in SHOWN:
            self._tell(self.seen())


def _main(seed: int, orderings: Sequence[str] = ORDERINGS) -> None:
    printing = Lock()

    def tell(run: DuelRun) -> None:
        screens = [[screen.member, list(screen.lines)] for screen in run.screens]
        # Members see lines in threads of their own, and half a line of each would be no JSON.
        with printing:
            print(json.dumps({"ordering": run.ordering, "screens": screens, "wait_ms": run.wait_ms}), flush=True)

    with gcom.embedded() as registry, ExitStack() as stack:
        faults = gcom.Faults.parse(f"seed={seed},{FAULTS}")
        arenas = [LiveArena(ordering, registry.address, faults, tell) for ordering in orderings]
        forming = [Thread(target=arena.form, args=(stack.enter_context(ExitStack()),)) for arena in arenas]
        for thread in forming:
            thread.start()
        for thread in forming:
            # What is said meanwhile waits in the pipe.
            thread.join(FORM_S)
        for line in sys.stdin:
            for arena in arenas:
                arena.turn(json.loads(line))


if __name__ == "__main__":
    _main(int(sys.argv[1]))
