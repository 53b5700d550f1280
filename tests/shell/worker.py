"""A member as a process of its own: told what to do by lines on its input, it tells what it sees on its output.

    python -m tests.shell.worker NAME REGISTRY GROUP [LOG_DIR [--quiet] [--warn]]

`--quiet`: without a listener; `--warn`: with GCom's log on standard error.

Input: `flow` (send numbered texts, about a thousand a second), `stop`, `send TEXT`, `report`, `leave`, `end` (end
without closing anything), `wait` (block in receive until interrupted). Output: one JSON object a line, with `at`, the
seconds of the monotonic clock that all processes of a machine share.
"""

from __future__ import annotations

import json
import sys
import threading
from time import monotonic
from typing import Any

from loguru import logger

import gcom

_telling = threading.Lock()  # a line of one thread is not cut by another's


def tell(kind: str, **fields: Any) -> None:
    with _telling:
        print(json.dumps({"type": kind, "at": monotonic(), **fields}), flush=True)


class Worker:
    """Joins, listens, and obeys."""

    def __init__(self, name: str, registry: str, group: str, log_dir: str | None) -> None:
        self._node = gcom.connect(name, registry, log_dir=log_dir)
        self._group = self._node.join(group, create=gcom.Definition.parse(group))
        self._counts: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._out_of_order = 0
        self._stop = threading.Event()
        self._sent = 0

    def listen(self) -> None:
        self._group.listen(on_message=self._on_message, on_event=self._on_event)

    def _on_message(self, message: gcom.Message) -> None:
        self._out_of_order += message.number <= self._last.get(message.sender, 0)
        self._last[message.sender] = message.number
        self._counts[message.name] = self._counts.get(message.name, 0) + 1

    def _on_event(self, event: gcom.Event) -> None:
        match event:
            case gcom.ViewChange():
                tell("view", number=event.view.number, members=event.view.names, left=list(event.left.values()))
            case gcom.Departure():
                tell("departure", reason=event.reason)
            case gcom.Lost():
                tell("lost", count=event.count)

    def report(self) -> None:
        tell("report", counts=self._counts, sent=self._sent, out_of_order=self._out_of_order)

    def flow(self) -> None:
        self._stop.clear()
        threading.Thread(target=self._flow, daemon=True).start()

    def _flow(self) -> None:
        try:
            while not self._stop.wait(0.001):
                self._group.send(f"text {self._sent}")
                self._sent += 1
        except gcom.GComError as error:
            tell("refused", error=type(error).__name__, text=str(error))

    def obey(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        match word:
            case "flow":
                self.flow()
            case "stop":
                self._stop.set()
                self._group.flush()
                tell("stopped", sent=self._sent)
            case "send":
                self._group.send(rest)
            case "report":
                self.report()
            case "leave":
                self._node.close()
                tell("left")

    def run(self) -> None:
        for line in sys.stdin:
            if line.strip() == "end":
                return
            if line.strip() == "wait":
                self.wait()
                return
            self.obey(line)

    def wait(self) -> None:
        """Block in receive, which nothing but an interrupt ends."""
        self._group.receive()  # its own view
        try:
            tell("waiting")
            self._group.receive()
        except KeyboardInterrupt:
            tell("interrupted")


def main() -> None:
    if "--warn" in sys.argv:
        logger.enable("gcom")
    name, registry, group, log_dir = [*sys.argv[1:5], ""][:4]
    worker = Worker(name, registry, group, log_dir or None)
    tell("joined")
    if "--quiet" not in sys.argv:
        worker.listen()
    worker.run()


if __name__ == "__main__":
    main()
