"""A process that holds a block: `python -m tests.blocks.worker KIND NAME REGISTRY`."""

from __future__ import annotations

import sys

import gcom
import gcom.blocks


def main(kind: str, name: str, registry: str) -> None:
    with gcom.connect(name, registry, timeout_s=30.0) as node:
        if kind == "lock":
            with gcom.blocks.Lock(node, "nightly") as lock, lock.hold() as token:
                print(f"token {token}", flush=True)
                sys.stdin.read()
        elif kind == "election":
            with gcom.blocks.Election(node, "boss", on_gain=lambda token: print(f"token {token}", flush=True)):
                sys.stdin.read()
        else:
            with gcom.blocks.WorkQueue(node, "work") as queue:
                task = queue.take()
                print(f"took {task.payload}", flush=True)
                sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
