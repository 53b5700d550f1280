"""Refusals of the registry's table: the reason, and words that say what to do next."""

from __future__ import annotations

from gcom.core.directory.rows import Row
from gcom.core.messages.registry import Refusal
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Address

NO_WITNESS = Refusal(
    "Unavailable",
    "this registry keeps nothing on a disk, so it cannot be the tie-breaker of a group: start it with --data FOLDER",
)


def unknown(group: str) -> Refusal:
    text = f"there is no group {group!r} here: create it (gcom create {group}), or see what there is (gcom groups)"
    return Refusal("UnknownGroup", text)


def starting(group: str, grace_ms: int) -> Refusal:
    text = f"it waits {grace_ms / 1000:.1f} s more for members of group {group!r} to register, if there are any"
    return Refusal("RegistryStarting", text)


def full(group: str) -> Refusal:
    most = limits.DIRECTORY_GROUPS_MAX
    return Refusal("Unavailable", f"no room for group {group!r}: this registry holds its {most} groups; remove some")


def elsewhere(home: Address) -> Refusal:
    """Return the refusal of what the group's home registry alone may answer."""
    text = f"the home registry of this group is {home}: name it among your registries (--registry HOST:PORT,HOST:PORT)"
    return Refusal("Unavailable", text)


def different(present: Definition, wanted: Definition) -> Refusal:
    return Refusal(
        "GroupExists",
        f"group {wanted.group!r} exists with another definition: {present.differences(wanted)}; "
        "use that definition, or another name",
    )


def stale(row: Row, advice: str) -> Refusal:
    present = f"instance {row.instance} in view {row.number} with {members(row)}"
    return Refusal("Stale", f"group {row.definition.group!r} is {present}, {advice}")


def members(row: Row) -> str:
    """Return the members in words, shortened: a refusal is read by people."""
    members = row.view.names if row.view else ()
    shown = ", ".join(members[:5]) + (", ..." if len(members) > 5 else "")
    return f"{len(members)} member{'' if len(members) == 1 else 's'} ({shown})" if members else "no members"
