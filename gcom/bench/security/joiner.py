"""A process that joins and leaves: `python -m gcom.bench.security.joiner REGISTRY GROUP ORDERING ...`."""

from __future__ import annotations

import sys
from time import perf_counter

import gcom
from gcom.bench.benchmark import parse
from gcom.bench.processes import child

NAME = "joiner"
JOIN_S = 30.0  # a limit for what hangs, not a figure


def main() -> None:
    """Join as often as told, each time as a node of its own, and tell how long it took."""
    registry, definition, _ = parse(sys.argv[1:])
    child.say("ready")
    while child.heard() is not None:
        began = perf_counter()
        # A node of its own each time: a second join of one node would find its connections made.
        with gcom.connect(NAME, registry) as node:
            connected = perf_counter()
            node.join(definition.group, timeout_s=JOIN_S)
            # Said within the block: the leave that follows is no part of the time.
            child.say("joined", connect_s=connected - began, join_s=perf_counter() - connected)
    child.end()


if __name__ == "__main__":
    main()
