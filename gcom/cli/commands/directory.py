"""The commands that only ask the registry: groups, members, create, fork."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gcom.cli.output import Output, notice
from gcom.cli.prompts import is_confirmed
from gcom.cli.rows import describe
from gcom.cli.wording import padded, width_of
from gcom.core.messages.registry import GroupInfo
from gcom.errors import GroupInUse, NotPermitted, UnknownGroup
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.user_process.life import is_dead
from gcom.values import limits
from gcom.values.definition import Definition, Netsplit
from gcom.values.names import Process, name_of, place_of
from gcom.values.rights import matches

STARTING = "the registry is starting: it gives no name away until the groups that are there had time to register"
_LEASE_S = limits.LEASE_MS // 1000
_FORGOTTEN = (
    "the registry does not know this instance from before, and takes no proof that the others are dead: unless a "
    "quorum is heard, it goes on only after gcom fork"
)
_OVER = "all of them are proven dead: there is nobody who could go on, and the registry frees the name by itself"
_MEANINGS = {
    "detached": "its members register, but none of them hears a quorum",
    "in doubt": f"nobody of it has registered for {_LEASE_S} s",
    "to fork": f"an operator lets what is left of it go on; the order is good for {limits.FORK_MS // 1000} s",
}


def show_groups(directory: DirectoryClient, output: Output, as_json: bool) -> None:
    """Print a line per group, sorted by name."""
    found = directory.groups()
    starting = directory.starting()
    if as_json:
        for entry in found:
            output.row({**_row(entry), "starting": starting})
    else:
        titles = ("GROUP", "ORDERING", "MULTICAST", "MEMBERS", "VIEW", "STATE")
        table(output, [titles, *map(_columns, found)] if found else [])
    output.flush()
    if starting:
        notice(STARTING)
    forgotten = [entry.definition.group for entry in found if _is_forgotten(entry)]
    if forgotten and not as_json:
        notice(f"{', '.join(forgotten)}: {_FORGOTTEN}")
    if not found:
        # A notice: a program that counts lines must find none.
        notice("the registry knows no groups; make one with: gcom create GROUP")


def show_members(directory: DirectoryClient, output: Output, group: str, as_json: bool) -> None:
    """Print a line per member, the leader first."""
    entry = directory.lookup(group)
    seats = list(zip(entry.members, entry.addresses, strict=True))
    dead = _proven_dead(entry)
    if as_json:
        for rank, (process, address) in enumerate(seats):
            row = {"name": name_of(process), "process": process, "address": place_of(address), "leader": rank == 0}
            output.row({"type": "member", "group": group, "view": entry.view, **row, "dead": process in dead})
    else:
        rows = [(name_of(process), process, place_of(address)) for process, address in seats]
        table(output, [("NAME", "PROCESS", "ADDRESS"), *rows] if rows else [])
    output.flush()
    _tell_state(entry, dead)
    if directory.starting():
        notice(STARTING)


def _tell_state(entry: GroupInfo, dead: Sequence[Process]) -> None:
    """Print the state of a group, which a list of its members does not show."""
    group, state = entry.definition.group, state_of(entry)
    if state == "empty":
        notice(f"group {group!r} is empty")
    elif state != "alive":
        notice(f"group {group!r} is {state}: {_MEANINGS[state]}")
    over = _is_over(entry)
    if _is_forgotten(entry):
        notice(_FORGOTTEN)
    elif state == "detached" and not over:
        notice("it goes on when one does, or when all others are proven dead")
    if dead:
        notice(f"proven dead: {_names(dead)}")
    if over:
        notice(_OVER)
    elif entry.members and state in ("detached", "in doubt"):
        notice(f"if those who are missing never come back, what is left goes on after: gcom fork {group}")
    if entry.others:
        # By process: under one name there may be several, the one that was put out and the one that took its place.
        beside = ", ".join(f"{it} (proven dead)" if is_dead(address) else it for it, address in entry.others)
        notice(f"not in this view, but known to the registry: {beside}")
        notice("each of these is a joiner, or was put out or missed a view, and may have what the group had")


def create(directory: DirectoryClient, output: Output, wanted: Definition, as_json: bool) -> None:
    """Create a group, and print the registry's entry: somebody else may have made an equal group before."""
    entry = directory.create(wanted)
    if as_json:
        output.row(_row(entry))
        output.flush()
    else:
        notice(f"group {wanted.group!r} is there: {describe(entry.definition)}")


def remove(directory: DirectoryClient, words: Sequence[str], yes: bool) -> int:
    """Remove groups by name, and the empty ones that patterns fit; return the exit status."""
    patterns = [word for word in words if "*" in word]
    known = directory.groups() if patterns else ()
    fit = [it for it in known if any(matches(pattern, it.definition.group) for pattern in patterns)]
    groups = [it.definition.group for it in fit if not it.members]
    if patterns:
        notice(f"{len(groups)} empty groups fit {' '.join(patterns)}; {len(fit) - len(groups)} that fit have members")
        if groups and not yes and not is_confirmed(str(len(groups)), "their number"):
            notice("nothing was changed")
            return 1
    named = [word for word in words if word not in patterns]
    failed = 0
    for group in dict.fromkeys((*named, *groups)):
        try:
            directory.remove(group)
            notice(f"group {group!r} is removed")
        except (GroupInUse, NotPermitted, UnknownGroup) as error:
            # Of several the rest is removed all the same.
            if len(words) == 1 and not patterns:
                raise
            failed += 1
            notice(str(error))
    return 1 if failed else 0


def fork(directory: DirectoryClient, group: str, yes: bool, force: bool) -> int:
    """Order a fork of a stuck group after the operator has confirmed it; return the exit status."""
    entry = directory.lookup(group)
    state, dead = state_of(entry), _proven_dead(entry)
    notice(f"group {group!r} has in view {entry.view}: {_names(entry.members) or 'nobody'}; it is {state}")
    left = [process for process in entry.members if process not in dead]
    # A fork of nobody would only keep the name from being freed.
    if _is_over(entry):
        notice(_OVER)
        return 1
    # Only a leader with a quorum keeps a group alive at the registry: a slip here once put a healthy group's members
    # out for a minute.
    if entry.alive and not force:
        notice("a member that hears a quorum registers, so the group is not stuck, and a fork would put members out")
        notice(
            f"nothing was changed: if they have just died, ask again in {_LEASE_S} s; --force orders it all the same"
        )
        return 1
    if entry.definition.netsplit is Netsplit.PARTITIONABLE:
        return _free(directory, entry, yes)
    if entry.members:
        _tell_price(left, dead)
    # Those beside the view count as well: one of them may be the only one that still has what the group had.
    if beside := [process for process, address in entry.others if not is_dead(address)]:
        notice(f"{', '.join(beside)} may be in service, or have what the group had: given up as well")
    if not yes and not is_confirmed(group, "the group's name"):
        notice("nothing was changed")
        return 1
    # With the instance that was looked at: if another one has begun meanwhile,
    # the registry refuses (Directory._on_fork).
    directory.fork(entry)
    _tell_who_takes_it(entry, left)
    return 0


def _free(directory: DirectoryClient, entry: GroupInfo, yes: bool) -> int:
    """Order a fork of a group whose sides go on by themselves: all that it does is to free the name."""
    group, free_s = entry.definition.group, limits.FREE_MS // 1000
    notice("the group is PARTITIONABLE: each side that runs goes on by itself, and a fork gives nobody up")
    notice(f"it frees the name: if nobody registers, in {free_s} s the first that asks begins {group!r},")
    notice("and sides that run again merge with it")
    if not yes and not is_confirmed(group, "the group's name"):
        notice("nothing was changed")
        return 1
    directory.fork(entry)
    return 0


def _tell_who_takes_it(entry: GroupInfo, left: Sequence[Process]) -> None:
    """Print who takes up an order, and what comes if nobody does."""
    order_s, free_s, group = limits.FORK_MS // 1000, limits.FREE_MS // 1000, entry.definition.group
    if entry.alive:
        notice("the member that hears a quorum registers every second, which makes the order void, unless it has died;")
    if left:
        notice(f"for {order_s} s: a member of view {entry.view} that runs and hears no quorum takes it up by itself,")
        notice("as it registers, which it does every second; nothing is to be started for that")
    nobody = "if none has" if left else f"nobody of view {entry.view} is left to take it up:"
    notice(f"{nobody} in {free_s} s the first that asks begins {group!r}:")
    notice("a newcomer, or one put out that is on its way back")


def _tell_price(left: Sequence[Process], dead: Sequence[Process]) -> None:
    """Print what a fork gives up: members, and their deliveries."""
    # First what is certain, then who may take it up, then what is lost for it: whoever types the name has read all.
    if dead:
        notice(f"proven dead: {_names(dead)}")
    if left:
        notice(f"not proven dead: {_names(left)}; a detached one of these begins a successor, with those whom it hears")
    notice("it gives up the others without proof: if they still run, they are put out once they hear of it, and what")
    notice("they deliver until then, or delivered and nobody who goes on holds, is lost; to wait loses nothing")
    notice(f"if none does so within {limits.FREE_MS // 1000} s, whoever asks first may begin the group anew:")
    notice("a newcomer without its state, or one that was put out with what it had")


def state_of(entry: GroupInfo) -> str:
    """Return the state of a group in one or two words."""
    if not entry.members:
        return "empty"
    # Before the state that it is about: whoever has given an order looks here whether it is in force.
    if entry.forked:
        return "to fork"
    return "alive" if entry.alive else "detached" if entry.detached else "in doubt"


def _is_forgotten(entry: GroupInfo) -> bool:
    """Tell whether some who are left of a group wait for an operator though all others may be proven dead."""
    stuck = entry.members and state_of(entry) in ("detached", "in doubt")
    return bool(stuck) and entry.forgot and entry.definition.netsplit is Netsplit.PRIMARY and not _is_over(entry)


def _proven_dead(entry: GroupInfo) -> list[Process]:
    """Return the members that this machine's kernel knows to be over. Those of other machines count as living."""
    seats = zip(entry.members, entry.addresses, strict=True)
    return [process for process, address in seats if is_dead(address)]


def _is_over(entry: GroupInfo) -> bool:
    """Tell whether all of a group, also beside its view, are proven dead, so that nobody could go on after a fork."""
    return bool(entry.members) and all(map(is_dead, [*entry.addresses, *(address for _, address in entry.others)]))


def _names(processes: Iterable[Process]) -> str:
    return ", ".join(map(name_of, processes))


def _row(entry: GroupInfo) -> dict[str, object]:
    definition = entry.definition
    return {
        "type": "group",
        "group": definition.group,
        "ordering": str(definition.ordering),
        "multicast": str(definition.multicast),
        "static": list(definition.static),
        "safe": definition.safe,
        "signed": definition.signed,
        "netsplit": str(definition.netsplit),
        "tie_breaker": str(definition.tie_breaker),
        "detection": str(definition.detection),
        "instance": entry.instance,
        "view": entry.view,
        "members": list(entry.members),
        "others": [process for process, _ in entry.others],
        "state": state_of(entry),
        "alive": entry.alive,
        "detached": entry.detached,
        "forked": entry.forked,
        "forgot": entry.forgot,
        # Null where it succeeds none: an empty name would have to be known as one.
        "after": {"instance": entry.after[0], "view": entry.after[1]} if entry.after[0] else None,
    }


def _columns(entry: GroupInfo) -> tuple[str, ...]:
    definition = entry.definition
    members = f"{len(entry.members)}" + (f" of {len(definition.static)}" if definition.static else "")
    return (definition.group, definition.ordering, definition.multicast, members, str(entry.view), state_of(entry))


def table(output: Output, rows: Sequence[Sequence[str]]) -> None:
    for line in columns(rows):
        output.text(line)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return columns as wide as their widest value, two spaces apart: a name has no two of them in a row."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(padded(word, width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
