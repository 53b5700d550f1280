"""Runs the ordering duel: the script through real groups of four members each, over calls that are late on purpose.

Each ordering has a group and nodes of its own, since a link between two nodes carries one call at a time: shared ones
would make the orderings wait for each other. The multicast is BASIC in all of them: RELIABLE never lets a sender's
messages overtake each other, and then NONORDERED would look like FIFO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from threading import Condition, Event, Thread
from time import monotonic

import gcom
from chat_gui.model.insight.duel import ORDERINGS, SCRIPT, DuelLine, DuelRun, DuelScreen

MEMBERS = ("alice", "bob", "carol", "dave")
SHOWN = ("carol", "dave")  # whose screens are compared
SEED = 7
FAULTS = "delay=20..160ms,reorder=0.3"
LIMIT_S = 20.0
JOIN_S = 30.0
POLL_S = 0.1


def run_duel(
    tell: Callable[[DuelRun], None],
    seed: int = SEED,
    stop: Event | None = None,
    orderings: Sequence[str] = ORDERINGS,
    faults: str = FAULTS,
    limit_s: float = LIMIT_S,
) -> None:
    """Run the script under each ordering at once, and tell each result as it comes; raises GComError."""
    stop = stop or Event()
    with gcom.embedded() as registry, ThreadPoolExecutor(len(orderings), "duel") as pool:
        runs = [
            pool.submit(_Arena(ordering, registry.address, f"seed={seed},{faults}", stop).run, limit_s)
            for ordering in orderings
        ]
        for done in as_completed(runs):
            tell(done.result())


class _Arena:
    """One ordering's group, and what its members see."""

    def __init__(self, ordering: str, registry: str, faults: str, stop: Event) -> None:
        self._definition = gcom.Definition.parse("duel-" + ordering.lower(), ordering, "BASIC")
        self._registry, self._faults, self._stop = registry, faults, stop
        self._changed = Condition()
        self._shown: dict[str, list[int]] = {name: [] for name in MEMBERS}
        self._sent_s: dict[int, float] = {}
        self._waits_s: list[float] = []
        self._over = False

    def run(self, limit_s: float) -> DuelRun:
        """Form the group, let it talk over bad links, and return what the two members saw."""
        with ExitStack() as stack:
            groups = self._join(stack)
            threads = [Thread(target=self._talk, args=(group,), daemon=True) for group in groups]
            for thread in threads:
                thread.start()
            self._wait(limit_s)
            for thread in threads:
                thread.join()
        left, right = (DuelScreen(name, tuple(self._shown[name])) for name in SHOWN)
        mean_s = sum(self._waits_s) / max(1, len(self._waits_s))
        return DuelRun(self._definition.ordering.value, (left, right), round(1000 * mean_s))

    def _join(self, stack: ExitStack) -> list[gcom.Group]:
        """Return the group at each member; calls are late from then on."""
        nodes = [gcom.connect(name, self._registry) for name in MEMBERS]
        for node in nodes:
            stack.callback(node.close, 0)
        groups = [node.join(self._definition.group, create=self._definition, timeout_s=JOIN_S) for node in nodes]
        for group in groups:
            group.wait_for_members(len(MEMBERS), JOIN_S)
        for node in nodes:
            node.inject(self._faults)
        return groups

    def _wait(self, limit_s: float) -> None:
        """Wait until every member has seen every line, but no longer than the limit, or than somebody wants."""
        end_s = monotonic() + limit_s
        with self._changed:
            while not self._complete() and monotonic() < end_s and not self._stop.is_set():
                self._changed.wait(POLL_S)
            self._over = True

    def _complete(self) -> bool:
        return all(len(lines) == len(SCRIPT) for lines in self._shown.values())

    # a member's thread

    def _talk(self, group: gcom.Group) -> None:
        """Say this member's lines, each as soon as its question was seen, and write down what comes."""
        name = group.members[group.view.members.index(group.process)]
        mine = [at for at, line in enumerate(SCRIPT) if line.speaker == name]
        while not self._over:
            while mine and self._has_seen(name, SCRIPT[mine[0]]):
                self._say(group, mine.pop(0))
            event = group.receive(POLL_S)
            if isinstance(event, gcom.Message):
                self._show(name, int(event.text))

    def _has_seen(self, name: str, line: DuelLine) -> bool:
        return line.answers is None or line.answers in self._shown[name]

    def _say(self, group: gcom.Group, line: int) -> None:
        with self._changed:
            self._sent_s[line] = monotonic()
        group.send(str(line))

    def _show(self, name: str, line: int) -> None:
        with self._changed:
            self._shown[name].append(line)
            self._waits_s.append(monotonic() - self._sent_s[line])
            self._changed.notify_all()
