"""A member of several groups that sends nothing: `python -m gcom.bench.idle.member NAME GROUPS REGISTRY GROUP ...`.

It reports its processor time and thread switches when asked.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import gcom
from gcom.bench.benchmark import parse
from gcom.bench.processes import child, usage

JOIN_S = 30.0  # ends a hang; it measures nothing


def main() -> None:
    """Join, and tell what is used when asked, until standard input ends."""
    name, groups, *words = sys.argv[1:]
    registry, definition, _ = parse(words)
    with gcom.connect(name, registry) as node:
        for number in range(int(groups)):
            each = replace(definition, group=f"{definition.group}{number}")
            node.join(each.group, create=each, timeout_s=JOIN_S)
            child.say("in", group=each.group)  # its parent gives up on a child that says nothing for long
        child.say("joined")
        while child.heard() is not None:
            child.say("used", cpu_s=usage.cpu_s(), switches=usage.switches())
    child.end()


if __name__ == "__main__":
    main()
