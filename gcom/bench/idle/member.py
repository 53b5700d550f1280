"""A member of several groups that sends nothing, and reports its processor time and thread switches when asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import gcom
from gcom.bench.frame import JsonRow
from gcom.bench.processes import child, usage
from gcom.bench.settings import IdleSetup


class IdleMember:
    """A member whose method is the parent's order."""

    def use(self) -> JsonRow:
        return {"cpu_s": usage.cpu_s(), "switches": usage.switches()}


@contextmanager
def member(name: str, setup: JsonRow, registry: str) -> Iterator[IdleMember]:
    wanted = IdleSetup(**setup)
    with gcom.connect(name, registry) as node:
        for number in range(wanted.groups):
            each = replace(wanted.definition, group=f"{wanted.definition.group}{number}")
            node.join(each.group, create=each, timeout_s=child.JOIN_S)
            child.say("in", group=each.group)  # its parent gives up on a child that says nothing for long
        yield IdleMember()
