"""Runs the ordering duel: the script through real groups of four members each, over calls that are late on purpose.

Each ordering has a group and nodes of its own, since a link between two nodes carries one call at a time: shared ones
would make the orderings wait for each other. All run in a process of their own (`python -m gcom_chat.client.duel SEED`,
a JSON object a line), so that the threads of twenty nodes do not hold up a window. The multicast is BASIC in all of
them: RELIABLE never lets a sender's messages overtake each other, and then NONORDERED would look like FIFO.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from threading import Condition, Event, Thread
from time import monotonic

import gcom
from gcom_chat.client.fault_control import without_faults
from gcom_chat.model.insight.duel import ORDERINGS, SCRIPT, DuelLine, DuelRun, DuelScreen
from gcom_chat.model.texts.words import translate

MEMBERS = ("alice", "bob", "carol", "dave")
SHOWN = ("carol", "dave")  # whose screens are compared
SEED = 11  # a run in which each ordering shows what it lets pass
# Alice is far from Carol and Bob from Dave, so each hears answers before questions; two links let calls overtake.
FAULTS = (
    "delay=4..25ms,delay[alice>carol]=90..200ms,delay[bob>dave]=90..200ms,"
    "reorder[alice>dave]=0.5,reorder[bob>carol]=0.3"
)
LIMIT_S = 30.0  # a duel takes some three seconds; over a machine that is busy, ten times that
QUIET_S = 5.0  # nothing came for so long: what is missing was lost, and a speaker may wait for it
JOIN_S = 30.0
POLL_S = 0.1  # how late a member sees that all is over


class DuelFailed(Exception):
    """The process of a duel ended with an error, which the text has."""


def failure_of(said: str, status: int) -> str:
    """Return why a process ended, by what it wrote on its standard error."""
    return said.strip().rpartition("\n")[2] or translate("duel", "it ended with {}").format(status)


class DuelProcess:
    """A duel in a process of its own. `runs` yields each run as it is done; `stop` ends it, from any thread."""

    def __init__(self, seed: int = SEED) -> None:
        command = [sys.executable, "-m", "gcom_chat.client.duel", str(seed)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=without_faults())

    def runs(self) -> Iterator[DuelRun]:
        """Yield the runs; raises DuelFailed."""
        assert self._process.stdout is not None, "it was asked for"
        for line in self._process.stdout:
            yield _of_json(line)
        _, said = self._process.communicate()
        if self._process.returncode:
            raise DuelFailed(failure_of(said, self._process.returncode))

    def stop(self) -> None:
        """End the process."""
        self._process.kill()


def _as_json(run: DuelRun) -> str:
    screens = [[screen.member, list(screen.lines)] for screen in run.screens]
    return json.dumps({"ordering": run.ordering, "screens": screens, "wait_ms": run.wait_ms})


def _of_json(line: str) -> DuelRun:
    fields = json.loads(line)
    left, right = (DuelScreen(member, tuple(lines)) for member, lines in fields["screens"])
    return DuelRun(fields["ordering"], (left, right), fields["wait_ms"])


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
        # All at once: a duel is mostly waiting, so five take little more time than one.
        runs = [
            pool.submit(
                Arena(ordering, registry.address, gcom.Faults.parse(f"seed={seed},{faults}"), stop).run, limit_s
            )
            for ordering in orderings
        ]
        for done in as_completed(runs):
            tell(done.result())


class Arena:
    """An ordering's group, and what its members see."""

    def __init__(self, ordering: str, registry: str, faults: gcom.Faults, stop: Event) -> None:
        self._definition = gcom.Definition.parse("duel-" + ordering.lower(), ordering, "BASIC")
        self._registry, self._faults, self._stop = registry, faults, stop
        self._changed = Condition()
        self._shown: dict[str, list[int]] = {name: [] for name in MEMBERS}
        self._sent_s: dict[int, float] = {}
        self._waits_s: list[float] = []
        self._newest_s = 0.0
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
        return self.seen()

    def seen(self) -> DuelRun:
        """Return what the two members saw by now."""
        with self._changed:
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
        # Only now: over late links the joins would take seconds, and they are no part of the talk.
        for node in nodes:
            node.inject(self._faults)
        return groups

    def _wait(self, limit_s: float) -> None:
        """Wait until every member has seen every line, or nothing comes any more, or somebody ends it."""
        end_s = monotonic() + limit_s
        with self._changed:
            self._newest_s = monotonic()
            while not self._complete() and not self._stop.is_set():
                if monotonic() > min(end_s, self._newest_s + QUIET_S):
                    break
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
            # Answers come only after their question was seen here: so
            # what a screen shows out of order is the ordering's doing.
            while mine and self._has_seen(name, SCRIPT[mine[0]]):
                self._say(group, mine.pop(0))
            event = group.receive(POLL_S)
            if isinstance(event, gcom.Message):
                self._show(name, int(event.text))

    def _has_seen(self, name: str, line: DuelLine) -> bool:
        # Without the lock: only this member's own thread adds to its list.
        return line.answers is None or line.answers in self._shown[name]

    def _say(self, group: gcom.Group, line: int) -> None:
        with self._changed:
            # Before the send, which delivers here at once: the receiving thread looks the time up.
            self._sent_s[line] = monotonic()
        group.send(str(line))

    def _show(self, name: str, line: int) -> None:
        with self._changed:
            self._shown[name].append(line)
            self._newest_s = monotonic()
            self._waits_s.append(self._newest_s - self._sent_s[line])
            self._changed.notify_all()


def _main(seed: int) -> None:
    try:
        run_duel(lambda run: print(_as_json(run), flush=True), seed)
    except gcom.GComError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(int(sys.argv[1]))
