"""The demo's parent process: a registry, a process per member, one turn per ordering, and the results."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gcom.bench.processes.children import START_S, Children, Report
from gcom.bench.throughput.load import percentile
from gcom.demo.checks import DemoResult, DemoStream, StreamSummary, faults, promises_order, sequence_faults
from gcom.demo.folder import empty_log_folder
from gcom.demo.texts import Text
from gcom.values.definition import Ordering

QUIET_S = 40.0  # members give up a stalled turn sooner, and say so
SAMPLES = 500  # of each sender's messages are timed


class Watcher(Protocol):
    """An observer of the demo's progress."""

    def begin(self, ordering: str, deliveries: int) -> None:
        """Begin a turn with that many deliveries."""

    def delivered(self, deliveries: int) -> None:
        """Note how many of them are done."""


def run(texts: Sequence[Text], log_dir: Path, watcher: Watcher) -> list[DemoResult]:
    """Take every ordering's turn; logs go to `log_dir`, emptied first.

    Raises BadValue for a folder that is not to be emptied, Unavailable or GComTimeout when a process fails.
    """
    empty_log_folder(log_dir)
    names = [text.name for text in texts]
    with tempfile.TemporaryDirectory() as copies, Children() as children:
        registry = children.start_registry()
        for text in texts:
            # By a file and not by standard input, which carries the orders.
            files = _copied(text, Path(copies))
            children.start(text.name, "gcom.demo.member", registry, text.name, str(log_dir.resolve()), *files)
        # Before the first turn: the start of many Pythons would be taken for the first ordering's slowness.
        children.gather("ready", names, START_S)
        results = [_Turn(children, texts, ordering, watcher).take() for ordering in Ordering]
        # A second life of the last group: only a name that was founded anew shows what CONTINUITY judges.
        _live_again(children, names, f"demo-{results[-1].ordering.lower()}", results[-1].ordering)
        # By a word: each then closes its node, and seals its log, before the registry goes.
        children.tell_all(names, "end")
    return results


def _live_again(children: Children, names: Sequence[str], group: str, ordering: str) -> None:
    """Have all join a group that all have left, say something, and leave it."""
    children.tell_all(names, "again", group=group, ordering=ordering, members=len(names))
    children.gather("again", names, QUIET_S)


def _copied(text: Text, folder: Path) -> list[str]:
    """Copy a text to a file for its sender, as the original may change during the demo; return its path, if any."""
    if not text.lines:
        return []
    path = folder / text.name
    path.write_bytes(b"".join(line + b"\n" for line in text.lines))
    return [str(path)]


class _Turn:
    """An ordering's turn."""

    def __init__(self, children: Children, texts: Sequence[Text], ordering: Ordering, watcher: Watcher) -> None:
        self._children = children
        self._ordering = ordering
        self._watcher = watcher
        self._names = [text.name for text in texts]
        self._sent = {text.name: DemoStream(text.lines).report() for text in texts if text.lines}
        self._messages = sum(seen.count for seen in self._sent.values())
        self._progress = dict.fromkeys(self._names, 0)

    def take(self) -> DemoResult:
        group = f"demo-{self._ordering.lower()}"
        self._children.tell_all(
            self._names, "join", group=group, ordering=str(self._ordering), members=len(self._names)
        )
        self._children.gather("joined", self._names, QUIET_S)
        self._watcher.begin(self._ordering, self._messages * len(self._names))
        # By sender: of a short text all lines are timed, of a long one no more than are needed.
        strides = {name: max(1, seen.count // SAMPLES) for name, seen in self._sent.items()}
        self._children.tell_all(self._names, "go", count=self._messages, strides=strides)
        done = self._children.gather("done", self._names, QUIET_S, self._on_progress)
        # Only when all are done: a view change in between would be measured too.
        self._children.tell_all(self._names, "leave")
        left = self._children.gather("left", self._names, QUIET_S)
        self._watcher.delivered(sum(report["count"] for report in left.values()))
        # The slowest member's time: until then somebody waited for a line.
        return self._result(max(report["seconds"] for report in done.values()), left)

    def _on_progress(self, name: str, report: Report) -> None:
        self._progress[name] = report["count"]
        self._watcher.delivered(sum(self._progress.values()))

    def _result(self, seconds: float, left: dict[str, Report]) -> DemoResult:
        delivered = {
            member: {sender: StreamSummary(**seen) for sender, seen in report["streams"].items()}
            for member, report in left.items()
        }
        ordered = promises_order(self._ordering)
        sets, orders = faults(self._sent, delivered, ordered)
        # One sequence for all: compared only where the sets are equal, as a lost line is told already.
        if self._ordering.is_total and not sets:
            orders = [*orders, *sequence_faults({member: report["sequence"] for member, report in left.items()})]
        latencies = _latencies_ms(left)
        return DemoResult(
            self._ordering,
            len(self._names),
            self._messages,
            sum(report["count"] for report in left.values()),
            self._messages / max(seconds, 1e-9),
            percentile(latencies, 0.5),
            percentile(latencies, 0.99),
            not sets,
            not orders and not sets if ordered else None,
            (*sets, *orders),
        )


def _latencies_ms(left: dict[str, Report]) -> list[float]:
    """Return the milliseconds from sending to delivery, sorted; all processes of a machine have one monotonic clock."""
    return sorted(
        (delivered_ns - left[sender]["sent_ns"][number]) / 1e6
        for report in left.values()
        for sender, times in report["delivered_ns"].items()
        for number, delivered_ns in times.items()
        if number in left[sender]["sent_ns"]
    )
