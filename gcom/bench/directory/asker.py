"""A process that looks groups up, one after the other: `python -m gcom.bench.directory.asker REGISTRY GROUPS`."""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import cycle
from time import monotonic

from gcom.bench.directory.renewer import group_name
from gcom.bench.processes import child
from gcom.runtime.registry.directory_client import DirectoryClient

ASK_S = 10.0  # an answer that takes longer ends the benchmark


def main() -> None:
    """Ask for as long as each order says, until standard input ends."""
    registry, groups = sys.argv[1], int(sys.argv[2])
    with closing(DirectoryClient(registry, ASK_S)) as client:
        client.lookup(group_name(0))  # dials
        child.say("ready")
        while (order := child.heard()) is not None:
            child.say("asked", **_ask(client, groups, order["seconds"]))
    child.end()


def _ask(client: DirectoryClient, groups: int, seconds: float) -> dict[str, object]:
    """Return the number of answers, the seconds, and the longest that one took."""
    began = last = monotonic()
    count, longest = 0, 0.0
    for number in cycle(range(groups)):
        client.lookup(group_name(number))
        now = monotonic()
        count, longest, last = count + 1, max(longest, now - last), now
        if now - began >= seconds:
            break
    return {"count": count, "seconds": last - began, "longest_s": longest}


if __name__ == "__main__":
    main()
