"""Refusals of the registry's table: the reason, and words that say what to do next."""

from __future__ import annotations

from gcom.core.directory.rows import DissolvedInstance, Row
from gcom.core.messages.registry import Refusal
from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.names import Address, Process
from gcom.values.view import View

_NO_DISK = (
    "this registry keeps nothing on a disk, so it cannot be the tie-breaker of a group: start it with --data FOLDER"
)
NO_TIE_BREAKER = Refusal("Unavailable", _NO_DISK)
NO_VOTE = Refusal("NoVote", _NO_DISK)  # in a tie; it may still accept a succession


def unknown(group: str) -> Refusal:
    text = f"there is no group {group!r} here: create it (gcom create {group}), or see what there is (gcom groups)"
    return Refusal("UnknownGroup", text)


def elsewhere(home: Address) -> Refusal:
    """Return the refusal of what the group's home registry alone may answer."""
    text = (
        f"only the home registry of this group, {home}, can answer this: name it among your registries "
        "(--registry HOST:PORT,HOST:PORT); if you do, it does not answer now: try again when it runs"
    )
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


def stranger(row: Row, process: Process) -> Refusal:
    """Return the refusal of a process that nothing makes a member."""
    return stale(row, f"and {process} is none of them: join it first (gcom join {row.definition.group})")


def contested(group: str) -> Refusal:
    """Return the refusal of a detached member, where another process took the name."""
    text = (
        f"another process took the name of group {group!r} while its members were not heard: "
        "a member that hears a quorum takes it back"
    )
    return Refusal("Unavailable", text)


def not_invited(row: Row, name: str) -> Refusal:
    invited = ", ".join(row.definition.static)
    text = f"{name!r} is not in the static group {row.definition.group!r}: its members are {invited}"
    return Refusal("NotInvited", text)


def in_use(row: Row, view: View, state: str, frees_in_ms: int) -> Refusal:
    """Return the refusal to remove a group that has members, or some who may have what it had.

    `state` is `Row.state`, empty while the registry may not have heard yet of those who are there. `frees_in_ms`: as of
    `Row`, where an operator has ordered a fork.
    """
    # Five names: a text for people, and bounded where 256 processes may have the name.
    beside = sorted(map(names.name_of, row.known.keys() - set(view.members)))[:5]
    others = f", and {', '.join(beside)} may have what it had" if beside else ""
    group = row.definition.group
    # To remove it would lose what they have without a word of whom: a fork asks its operator first.
    unheard = {
        "detached": "; no member hears a quorum",
        "doubted": f"; no member has registered for {limits.LEASE_MS // 1000} s",
    }
    advice = f"{unheard[state]}: to give up those who never come back: gcom fork {group}" if state in unheard else ""
    if frees_in_ms:
        advice = f"; a fork was ordered: if no member goes on by it, remove it in {frees_in_ms / 1000:.0f} s"
    return Refusal(
        "GroupInUse",
        f"group {group!r} has {members(row)}{others}: a group can be removed when all have left it; "
        f"one whose members are all proven dead is removed by the registry itself{advice}",
    )


def dissolved(gone: DissolvedInstance) -> Refusal:
    text = f"all members of group {gone.group!r} have left, or are dead, the last one out of view {gone.view}"
    return Refusal("Dissolved", f"{text}: keep what you have, and join anew")


def starting(group: str, grace_ms: int) -> Refusal:
    text = f"it waits {grace_ms / 1000:.1f} s more for members of group {group!r} to register, if there are any"
    return Refusal("RegistryStarting", text)


def full(group: str) -> Refusal:
    return Refusal(
        "Unavailable",
        f"no room for group {group!r}: this registry holds its {limits.DIRECTORY_GROUPS_MAX} groups; remove some",
    )


def members(row: Row) -> str:
    """Return the members in words, shortened: a refusal is read by people."""
    members = row.view.names if row.view else ()
    shown = ", ".join(members[:5]) + (", ..." if len(members) > 5 else "")
    return f"{len(members)} member{'' if len(members) == 1 else 's'} ({shown})" if members else "no members"
