"""`gcom-registry allow`, `deny` and `rights`: the rules about rights, in their file and in force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gcom.errors import BadValue
from gcom.values.rights import ALL_RIGHTS, AccessRule, rule_of, table_of
from gcom_registry import rights_file
from gcom_registry.enrolment import ADDRESS
from gcom_registry.operation.asking import ask_rights
from gcom_registry.operation.serving import authority_folder, rights_path
from gcom_registry.operation.settings import ServiceSettings

_LATER = "no registry runs with these settings: the rules are in force when it starts"


def put_rule(
    wanted: ServiceSettings, allows: bool, rights: Sequence[str], members: Sequence[str], groups: Sequence[str]
) -> Iterator[str]:
    """Write a rule before the others, and have the registry read it; yield what to tell. Raises GComError."""
    _refuse_loopback(wanted)
    rule = rule_of(allows, ALL_RIGHTS if list(rights) == ["all"] else rights, members, groups)
    path = rights_path(wanted)
    # The file first, then the registry: one that is killed in between starts with the rule in force.
    rights_file.put_first(path, rule)
    yield f"{rule} (in {str(path)!r}, before all other rules)"
    told = ask_rights(wanted, "reread")
    if told is None:
        yield _LATER
    # The rule is in the file, and is not in force: an exit status of 0 would say that it is.
    elif told["trouble"]:
        raise BadValue(str(told["trouble"]))


def rights_in_force(wanted: ServiceSettings, reread: bool) -> tuple[tuple[AccessRule, ...], str, list[str]]:
    """Return the rules, what is wrong with their file, and what else to tell. Raises GComError."""
    _refuse_loopback(wanted)
    told = ask_rights(wanted, "reread") if reread else None
    # The answer to `reread` has only the number of rules, so they are asked for once more.
    told = told and ask_rights(wanted, "file") if reread else ask_rights(wanted, "file")
    path = rights_path(wanted)
    if told is None:
        found = rights_file.read(path).rules if path.exists() else ()
        return found, "", [_LATER, *([] if found else [_no_rules(wanted)])]
    rules = table_of(told["rules"]).rules
    return rules, str(told["trouble"]), [] if rules else [_no_rules(wanted)]


def _no_rules(wanted: ServiceSettings) -> str:
    return (
        f"no rules in {str(rights_path(wanted))!r}: holders of a certificate may create, join and send, and only "
        "creators and administrators remove"
    )


def _refuse_loopback(wanted: ServiceSettings) -> None:
    if not wanted.get("cert") and not (authority_folder(wanted.get("data")) / ADDRESS).exists():
        raise BadValue(
            "no registry has run here with --listen ADDRESS: rights are for one that has; on loopback all are the same "
            "user, who may do everything"
        )
