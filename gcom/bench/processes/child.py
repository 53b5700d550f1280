"""The child's side of gcom/bench/processes/children.py: hear orders, report, and end when the parent does."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, NoReturn

JOIN_S = 30.0  # a limit for what hangs, not a figure
STALL_S = 10.0  # nothing delivered for this long: the rest is missing
POLL_S = 0.01  # only to see the end: latencies are taken from stamps

_saying = threading.Lock()  # a report of one thread is not cut by another's


def say(kind: str, **fields: object) -> None:
    """Send one report at once; a parent that is gone ends this process."""
    try:
        with _saying:
            sys.stdout.write(json.dumps({"say": kind, **fields}) + "\n")
            sys.stdout.flush()
    except OSError:
        # Without the cleaning up of a normal end, which may wait for a thread that is inside a call.
        os._exit(1)


def heard() -> dict[str, Any] | None:
    """Return the parent's next order when it comes; None: it closed its end."""
    # Its end is the parent's, however that came about: so no child outlives a command that was killed.
    line = sys.stdin.readline()
    order: dict[str, Any] | None = json.loads(line) if line else None
    return order


def hear(*kinds: str) -> dict[str, Any]:
    """Wait for the parent's next order, which is of one of the kinds."""
    order = heard()
    if order is None:
        os._exit(1)
    assert order["say"] in kinds, f"told {order['say']} in place of {kinds}"
    return order


def obey(obeying: object) -> None:
    """Say `ready`, then carry out each order by the method of its name, until the parent closes its end.

    What a method returns is reported as of that order. An `address` of the object is reported as it is ready.
    """
    say("ready", address=getattr(obeying, "address", ""))
    while (order := heard()) is not None:
        kind = order.pop("say")
        say(kind, **(getattr(obeying, kind)(**order) or {}))


def wait_for_deliveries(count: Callable[[], int], wanted: int) -> None:
    """Wait until so many were counted, or none came for STALL_S."""
    pause, seen, seen_at = threading.Event(), -1, monotonic()
    # Progress is what counts: on a slow machine a turn takes longer, and is no failure.
    while seen < wanted and monotonic() - seen_at < STALL_S:
        pause.wait(POLL_S)
        if count() != seen:
            seen, seen_at = count(), monotonic()


def wait_for_release() -> None:
    """Wait until the parent closes its end."""
    while sys.stdin.readline():
        pass


def end(status: int = 0) -> NoReturn:
    """End the process without waiting for threads that may be inside a call."""
    sys.stdout.flush()
    os._exit(status)
