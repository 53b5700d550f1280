"""One more member of what is measured, which words name as WHAT:GROUP.

WHAT is `group`, a TOTAL SAFE group; `state`; `durable`, whose third part is its folder; or `lock`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import gcom
import gcom.blocks
import gcom.replicated
from gcom.replicated.machine import Machine, command, query

NAMES = ("m0", "m1", "m2")
OPEN_S = 60.0


class MeasuredTable(Machine):
    """The last value of each key."""

    def __init__(self) -> None:
        self.values: dict[int, bytes] = {}

    @command
    def put(self, key: int, value: bytes) -> int:
        """Set a value; return how many keys there are."""
        self.values[key] = value
        return len(self.values)

    @query
    def size(self, key: int) -> int:
        """Return the length of a value."""
        return len(self.values.get(key, b""))


def open_one(node: gcom.Node, word: str) -> Any:
    """Open what a word names."""
    what, name, *folder = word.split(":", 2)
    if what == "group":
        definition = gcom.Definition(name, "TOTAL", "RELIABLE", safe=True)
        return node.join(name, create=definition, timeout_s=OPEN_S)
    if what == "lock":
        return gcom.blocks.Lock(node, name, timeout_s=OPEN_S)
    options: dict[str, Any] = {"data": folder[0], "replicas": NAMES} if what == "durable" else {}
    return gcom.replicated.open(node, name, MeasuredTable, timeout_s=OPEN_S, **options)


@contextmanager
def replica(name: str, registry: str, words: list[str]) -> Iterator[None]:
    with gcom.connect(name, registry) as node, ExitStack() as stack:
        for word in words:
            opened = stack.enter_context(open_one(node, word))
            if isinstance(opened, gcom.Group):
                opened.listen(on_event=lambda _: None, direct=True)
        yield
