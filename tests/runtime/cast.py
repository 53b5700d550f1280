"""Members that send all the time in a TOTAL group, and what their delivery logs say of its order."""

from __future__ import annotations

import signal
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.oracle import judge
from tests.oracle.events import Deliver, Message, Skip
from tests.oracle.read import read
from tests.runtime.nodes import until
from tests.runtime.processes import Network, Registry, Worker, Workers, flows

NAMES = ("alice", "bob", "carol", "dave")
RULES = ("TOTAL", "TOTAL_GAP_FREE", "SERIAL_UNIQUE", "SERIAL_CONTIGUOUS", "VIEW_AGREEMENT", "ONE_LEADER")
Place = tuple[int, Message | None]  # the view in which a serial was settled, and the message that it is of
Serials = dict[int, Place]


class Cast:
    """Four members, each sending from so many threads at that pace, and the registry that orders for them."""

    def __init__(self, folder: Path, stack: ExitStack, threads: int = 2, every_ms: int = 2) -> None:
        self.logs = folder / "logs"
        self.network = Network(folder)
        self.registry = stack.enter_context(Registry())
        pace = ("--every-ms", str(every_ms))
        self.words = ("--ordering", "TOTAL", "--log-dir", str(self.logs), *pace, *self.network.words)
        self._stack = stack
        self.threads = threads
        self._workers = Workers(self.registry.address, stack)
        self.workers = {name: self._workers.start(name, *self.words) for name in NAMES}
        self.told_view(4, *NAMES)
        for name in NAMES:
            self.flow(name)
        self.flows()

    def start(self, name: str) -> None:
        """One more member, which sends, too."""
        self.workers[name] = self._workers.start(name, *self.words)
        self.flow(name)

    def flow(self, name: str) -> None:
        self.workers[name].say(f"flow {self.threads}")

    def flows(self, *names: str) -> None:
        """Wait until all have more of each of the names, or of all."""
        wanted = names or tuple(self.workers)
        flows([self.workers[name] for name in wanted], list(wanted), more=20)

    def told_view(self, number: int, *names: str) -> None:
        """Wait until each of the names is told of this view of them."""
        for name in names:
            self.workers[name].told("view", number=number, members=list(names))

    def kill(self, name: str) -> None:
        worker = self.workers.pop(name)
        worker.signal(signal.SIGKILL)
        worker.end()

    def again(self) -> None:
        """The next registry at the same place."""
        self.registry = self._stack.enter_context(self.registry.again())

    def leave(self, name: str) -> Worker:
        """It stops sending, and leaves in good order."""
        worker = self.workers.pop(name)
        worker.say("stop")
        worker.told("stopped")
        return self._left(worker)

    def _left(self, worker: Worker) -> Worker:
        worker.say("leave")
        worker.told("left")
        worker.say("end")
        assert worker.end() == 0
        assert worker.errors == []
        return worker

    def settle(self, away: Collection[str] = ()) -> None:
        """All stop sending, have all of it, and leave; who was `away` lacks what came meanwhile."""
        for worker in self.workers.values():
            worker.say("stop")
        stopped = {name: worker.told("stopped")["sent"] for name, worker in self.workers.items()}
        sent = {name: count for name, count in stopped.items() if name not in away}
        for name in sent:
            worker = self.workers[name]
            until(lambda it=worker: sent.items() <= it.report()["counts"].items(), "all that was sent")  # type: ignore[misc]
        for worker in self.workers.values():
            assert worker.report()["out_of_order"] == 0
            self._left(worker)


def serials(folder: Path) -> dict[str, Serials]:
    """By process and serial: where it was settled, and of which message it is."""
    found: dict[str, Serials] = {}
    for history in [history for histories in read(folder).groups.values() for history in histories]:
        ups = [event for event in history.events if isinstance(event, Deliver | Skip) and event.serial]
        given = [event.serial for event in ups if event.serial]
        assert given == [*range(given[0], given[0] + len(given))], f"a gap or a double at {history.process}"
        found[history.process] = {event.serial: (event.view, event.message) for event in ups if event.serial}
    return found


def skipped(folder: Path) -> dict[str, list[tuple[int, Message | None]]]:
    """By process: the serials of messages that it gave up."""
    histories = [history for histories in read(folder).groups.values() for history in histories]
    return {
        history.process: [(it.serial, it.message) for it in history.events if isinstance(it, Skip) and it.serial]
        for history in histories
    }


def is_one_order(folder: Path, survivors: Sequence[str], *views: int) -> None:
    """A serial is of one message for all, the dead too; survivors have all up to the end, from each of the views."""
    by_process = serials(folder)
    order: Serials = {}
    for each in by_process.values():
        for serial, place in each.items():
            assert order.setdefault(serial, place) == place, f"serial {serial} is given twice"
    assert sorted(order) == [*range(1, len(order) + 1)]
    ended = [process.partition("#")[0] for process, each in by_process.items() if max(each) == len(order)]
    assert {*survivors} <= {*ended}
    messages = [message for _, message in order.values() if message]
    assert len(messages) == len({*messages})
    given = [order[serial][0] for serial in sorted(order)]
    assert given == sorted(given)
    assert {*views} <= {*given}, f"no serial was given in some of the views {views}"


def passes(folder: Path) -> None:
    report = judge(folder).group("news")
    assert report.failed() == {}
    assert {rule: report.verdicts()[rule] for rule in RULES} == dict.fromkeys(RULES, "PASS")
