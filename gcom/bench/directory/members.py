"""Several nodes in one process: `python -m gcom.bench.directory.members REGISTRY PLACE GROUPS`.

Each is in some of the groups, and one of them in every group: a group has as many members as there are processes.
"""

from __future__ import annotations

import sys

import gcom
from gcom.bench.processes import child

NODES = 5  # of a process: each is in a fifth of the groups
PROCESSES = 4
JOIN_S = 60.0  # a machine may be busy


def group_name(number: int) -> str:
    return f"restart-{number}"


def main() -> None:
    """Join, say so when all groups are whole, and stay until standard input ends."""
    registry, place, groups = sys.argv[1], sys.argv[2], int(sys.argv[3])
    nodes = [gcom.connect(f"m{place}-{slot}", registry) for slot in range(min(NODES, groups))]
    joined = []
    for number in range(groups):
        kind = gcom.Definition(group_name(number))
        # Nothing is sent, so nobody needs to read.
        joined.append(nodes[number % len(nodes)].join(kind.group, create=kind, timeout_s=JOIN_S, receive=False))
    for group in joined:
        group.wait_for_members(PROCESSES, JOIN_S)
    child.say("ready")
    child.wait_for_release()
    child.end()


if __name__ == "__main__":
    main()
