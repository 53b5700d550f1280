"""A process that joins and leaves, as often as told."""

from __future__ import annotations

from time import perf_counter

import gcom
from gcom.bench.frame import JsonRow
from gcom.bench.processes.child import JOIN_S
from gcom.bench.settings import TlsBenchSetup

NAME = "joiner"


class JoiningProcess:
    """A process whose method is the parent's order."""

    def __init__(self, registry: str, setup: JsonRow) -> None:
        self._registry, self._group = registry, TlsBenchSetup(**setup).definition.group

    def join(self) -> JsonRow:
        """Join and leave; return how long it took."""
        began = perf_counter()
        # A node of its own each time: a second join of one node would find its connections made.
        with gcom.connect(NAME, self._registry) as node:
            connected = perf_counter()
            node.join(self._group, timeout_s=JOIN_S)
            # Within the block: the leave that follows is no part of the time.
            return {"connect_s": connected - began, "join_s": perf_counter() - connected}
