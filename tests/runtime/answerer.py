"""A member as a process of its own that answers group calls: `python -m tests.runtime.answerer NAME REGISTRY GROUP`.

It prints `joined` once it is in and answers, and `asked` for each request. The request `wait` is never answered. It
ends when its input does.
"""

from __future__ import annotations

import sys
import threading

import gcom


def answer(payload: bytes | str, caller: str) -> str:
    print("asked", flush=True)
    if payload == "wait":
        threading.Event().wait()
    return f"{payload!s} from {sys.argv[1]} to {caller}"


def main() -> None:
    _, name, registry, group = sys.argv
    with gcom.connect(name, registry) as node, node.join(group) as member:
        member.on_call(answer)
        member.listen()
        print("joined", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
