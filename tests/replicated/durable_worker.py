"""One durable replica as a program: it adds tokens, says which were answered, and kills itself at a named point.

python -m tests.replicated.durable_worker NAME REGISTRY FOLDER [POINT COUNT]
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

import gcom
import gcom.replicated
from gcom.replicated.durable.agreement import AppendEntry, WriteLog, WritePromise
from gcom.replicated.durable.storage import LogStorage
from gcom.replicated.membership import ReplicaGroup
from gcom.replicated.messages import HelloSaid, decode

NAMES = ("a", "b", "c")
KINDS = {"append": AppendEntry, "promise": WritePromise, "adopt": WriteLog}
POINTS = (
    "append.before",
    "append.after",
    "promise.before",
    "promise.after",
    "adopt.before",
    "adopt.after",
    "hello.sent",
)
_print = Lock()


class Ledger(gcom.replicated.Machine):
    def __init__(self) -> None:
        self.tokens: list[str] = []

    @gcom.replicated.command
    def add(self, token: str) -> int:
        self.tokens.append(token)
        return len(self.tokens)

    @gcom.replicated.query
    def all(self) -> list[str]:
        return self.tokens


def say(kind: str, **fields: Any) -> None:
    with _print:
        print(json.dumps({"type": kind, **fields}), flush=True)


def kill_at(point: str, count: int) -> None:
    """Have this process killed at the count-th time that it passes a point."""
    what, _, when = point.partition(".")
    left = [count]

    def passed() -> None:
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    write, send = LogStorage.write, ReplicaGroup.send

    def killing_write(self: LogStorage, writes: Iterable[Any], committed: int) -> None:
        found = list(writes)
        here = any(isinstance(it, KINDS[what]) for it in found)
        if here and when == "before":
            passed()
        write(self, found, committed)
        if here and when == "after":
            passed()

    def killing_send(self: ReplicaGroup, payload: bytes, deadline: float | None) -> None:
        send(self, payload, deadline)
        if isinstance(decode(payload), HelloSaid):
            passed()

    if what == "hello":
        ReplicaGroup.send = killing_send  # type: ignore[method-assign]
    else:
        LogStorage.write = killing_write  # type: ignore[method-assign]


def main() -> None:
    name, registry, folder, *point = sys.argv[1:]
    if point:
        kill_at(point[0], int(point[1]))
    with (
        gcom.connect(name, registry, log_dir=Path(folder) / "logs") as node,
        gcom.replicated.open(node, "ledger", Ledger, timeout_s=60, data=Path(folder) / name, replicas=NAMES) as ledger,
    ):
        say("ready", tokens=ledger.fresh().all())
        number = 0
        while True:
            number += 1
            token = f"{ledger.replicas.process}/{number}"
            say("answered", token=token, place=ledger.add(token))


if __name__ == "__main__":
    main()
