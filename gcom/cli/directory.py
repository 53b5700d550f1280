"""What the commands say that only ask the registry: groups, members, create."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gcom.cli.output import Output, notice
from gcom.cli.rows import describe
from gcom.core.requests import Entry
from gcom.shell.directory import DirectoryClient
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import name_of


def show_groups(directory: DirectoryClient, output: Output, as_json: bool) -> None:
    """A line a group, sorted by name."""
    found = directory.groups()
    if as_json:
        for entry in found:
            output.row(_row(entry))
    else:
        titles = ("GROUP", "ORDERING", "MULTICAST", "MEMBERS", "VIEW", "STATE")
        _table(output, [titles, *map(_columns, found)] if found else [])
    output.flush()
    if not found:
        notice("the registry knows no groups; make one with: gcom create GROUP")


def show_members(directory: DirectoryClient, output: Output, group: str, as_json: bool) -> None:
    """A line a member, the leader first."""
    entry = directory.lookup(group)
    both = list(zip(entry.members, entry.addresses, strict=True))
    if as_json:
        for rank, (process, address) in enumerate(both):
            row = {"name": name_of(process), "process": process, "address": address, "leader": rank == 0}
            output.row({"type": "member", "group": group, "view": entry.view, **row})
    else:
        rows = [(name_of(process), process, address) for process, address in both]
        _table(output, [("NAME", "PROCESS", "ADDRESS"), *rows] if rows else [])
    output.flush()
    if not both:
        notice(f"group {group!r} is empty")
    elif not entry.alive:
        notice(f"group {group!r} is in doubt: its leader has not been heard for a while")


def create(directory: DirectoryClient, output: Output, wanted: Definition, as_json: bool) -> None:
    """Create a group, and say what is there now."""
    entry = directory.create(wanted)
    if as_json:
        output.row(_row(entry))
        output.flush()
    else:
        notice(f"group {wanted.group!r} is there: {describe(entry.definition)}")


def fork(directory: DirectoryClient, group: str, yes: bool, force: bool) -> int:
    """Order a fork, once it is clear that it is meant, and that the group is stuck; the exit status."""
    entry = directory.lookup(group)
    lease_s = limits.LEASE_MS // 1000
    state = f"alive: its leader has registered in the last {lease_s} s" if entry.alive else "in doubt"
    members = ", ".join(map(name_of, entry.members)) or "nobody"
    notice(f"group {group!r} has in view {entry.view}: {members}; it is {state}")
    if entry.alive and not force:
        notice("only a leader with a quorum registers, so the group is not stuck, and a fork would put its members out")
        notice(f"nothing was changed: if they have just died, ask again in {lease_s} s; --force orders it all the same")
        return 1
    if not yes:
        notice("a detached member may begin it anew; members of this instance that still run will have to give way,")
        notice("and what they deliver until then is lost to the new one")
        notice(f"to go on, type the group's name ({group}):")
        if sys.stdin is None or sys.stdin.readline().strip() != group:
            notice("nothing was changed")
            return 1
    directory.fork(entry)
    notice(f"within {limits.FORK_MS // 1000} s the first detached member to ask begins group {group!r} anew")
    return 0


def _row(entry: Entry) -> dict[str, object]:
    definition = entry.definition
    return {
        "type": "group",
        "group": definition.group,
        "ordering": str(definition.ordering),
        "multicast": str(definition.multicast),
        "static": list(definition.static),
        "safe": definition.safe,
        "netsplit": str(definition.netsplit),
        "tie_breaker": str(definition.tie_breaker),
        "instance": entry.instance,
        "view": entry.view,
        "members": list(entry.members),
        "alive": entry.alive,
    }


def _columns(entry: Entry) -> tuple[str, ...]:
    definition = entry.definition
    state = "to fork" if entry.forked else "alive" if entry.alive else "in doubt" if entry.members else "empty"
    members = f"{len(entry.members)}" + (f" of {len(definition.static)}" if definition.static else "")
    return (definition.group, definition.ordering, definition.multicast, members, str(entry.view), state)


def _table(output: Output, rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest; names hold no blanks, so programs can split the lines."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        output.text("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())
