"""Rights by group and identity: the rules that a registry keeps, and that members hold each other to.

The first rule that is about a right, a member and a group decides, as in a firewall; where none is, holders of a
certificate may create, join and send, and only creators and administrators remove (docs/protocols/security.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gcom.errors import BadValue
from gcom.values import names, spelling
from gcom.values.identity import Identity

RULES_MAX = 1000  # all of them are told to each member in one answer
PATTERNS_MAX = 100  # in one rule, of each kind
_KEYS = ("allow", "deny", "members", "groups")


class Right(StrEnum):
    """The rights of a member in a group."""

    CREATE = "create"
    JOIN = "join"
    SEND = "send"
    REMOVE = "remove"
    ADMIN = "admin"  # remove, fork and look at it, whoever created it or is in it


ALL_RIGHTS = tuple(right.value for right in Right)
_BY_DEFAULT = frozenset([Right.CREATE, Right.JOIN, Right.SEND])


@dataclass(frozen=True, slots=True)
class AccessRule:
    """A rule: it allows or denies some rights to members in groups; patterns may have `*`."""

    allows: bool
    rights: frozenset[Right]
    members: tuple[str, ...]
    groups: tuple[str, ...]

    def is_about(self, right: Right, member: str, group: str) -> bool:
        """Return whether the rule applies to a right of a member in a group."""
        return (
            right in self.rights
            and any(matches(pattern, member) for pattern in self.members)
            and any(matches(pattern, group) for pattern in self.groups)
        )

    def __str__(self) -> str:
        rights = ", ".join(right for right in ALL_RIGHTS if right in self.rights)
        word, where = "allow" if self.allows else "deny", ", ".join(self.groups)
        return f"{word} {rights} to {', '.join(self.members)} in {where}"

    def as_row(self) -> dict[str, object]:
        """Return the rule in plain values, as `table_of` takes them."""
        rights = [right for right in ALL_RIGHTS if right in self.rights]
        return {
            "allow" if self.allows else "deny": rights,
            "members": list(self.members),
            "groups": list(self.groups),
        }


@dataclass(frozen=True, slots=True)
class RightsTable:
    """The rules, in their order."""

    rules: tuple[AccessRule, ...] = ()

    def verdict(self, right: Right, member: str, group: str) -> bool | None:
        """Return whether the first rule that applies allows the right; None: no rule applies."""
        return next((rule.allows for rule in self.rules if rule.is_about(right, member, group)), None)

    def may(self, right: Right, member: str, group: str) -> bool:
        """Tell whether a holder of that member's certificate has a right by the rules, or else by default."""
        verdict = self.verdict(right, member, group)
        return right in _BY_DEFAULT if verdict is None else verdict

    def administers(self, who: Identity, group: str) -> bool:
        """Tell whether an identity is an administrator of a group: by a rule, or else by its certificate."""
        # A rule outranks the certificate, whichever it says: a rule can be changed at once, and a certificate lasts
        # until it ends or is revoked.
        verdicts = {name: self.verdict(Right.ADMIN, name, group) for name in who.members | who.admins}
        return any(name in who.admins if verdict is None else verdict for name, verdict in verdicts.items())

    def as_rows(self) -> list[dict[str, object]]:
        """Return the rules in plain values."""
        return [rule.as_row() for rule in self.rules]


def matches(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern, in which `*` stands for any characters, also none."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    at = len(first)
    # Each part as far to the left as it fits: that leaves the most to the parts behind it, so no other way has to be
    # tried.
    for part in rest[:-1]:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    # The last part must not overlap the parts before it: `a` does not match `a*a`.
    return text.startswith(first) and text.endswith(rest[-1]) and len(text) - len(rest[-1]) >= at


def table_of(rows: object) -> RightsTable:
    """Return the table of a list of rules in plain values, as a TOML file has them.

    Raise BadValue, naming the rule that is wrong by its place in the list, from 1.
    """
    if not isinstance(rows, list | tuple) or len(rows) > RULES_MAX:
        raise BadValue(f"the rules must be a list of at most {RULES_MAX}: [[rule]] before each")
    return RightsTable(tuple(_rule(row, number) for number, row in enumerate(rows, 1)))


def rule_of(allows: bool, rights: Iterable[str], members: Iterable[str], groups: Iterable[str]) -> AccessRule:
    """Return a rule; raise BadValue for a right or a pattern that is not allowed, or for an empty list of them."""
    row = {"allow" if allows else "deny": list(rights), "members": list(members), "groups": list(groups)}
    return _rule(row, 1)


def _rule(row: object, number: int) -> AccessRule:
    if not isinstance(row, Mapping):
        raise BadValue(f"rule {number} is no table: [[rule]] before each")
    unknown = next((key for key in row if key not in _KEYS), None)
    if unknown is not None:
        raise BadValue(f"rule {number} has an unknown key {str(unknown)[:50]!r}; known are {', '.join(_KEYS)}")
    if ("allow" in row) == ("deny" in row):
        raise BadValue(f'rule {number} must have one of allow and deny: allow = ["join"]')
    allows = "allow" in row
    rights = _words(row, "allow" if allows else "deny", number)
    wrong = next((word for word in rights if word not in ALL_RIGHTS), None)
    if wrong is not None:
        raise BadValue(f"rule {number}: {wrong[:50]!r} is no right; rights are {', '.join(ALL_RIGHTS)}")
    members, groups = (_patterns(row, key, number) for key in ("members", "groups"))
    return AccessRule(allows, frozenset(map(Right, rights)), members, groups)


def _patterns(row: Mapping[object, object], key: str, number: int) -> tuple[str, ...]:
    words = tuple(map(spelling.normal, _words(row, key, number)))
    for word in words:
        parts = [spelling.problem_of_part(part, spaced=key == "members") for part in word.split("*")]
        if not 0 < len(word) <= names.GROUP_CHARS_MAX or any(parts):
            why = next(filter(None, parts), f"expected 1 to {names.GROUP_CHARS_MAX} characters")
            raise BadValue(f"rule {number}: {word[:70]!r} in {key} is no name, nor a name with * in it: {why}")
    return words


def _words(row: Mapping[object, object], key: str, number: int) -> tuple[str, ...]:
    words = row.get(key)
    if not isinstance(words, list | tuple) or not 0 < len(words) <= PATTERNS_MAX:
        raise BadValue(f'rule {number} must have {key}, a list of 1 to {PATTERNS_MAX} texts: {key} = ["…"]')
    if not all(isinstance(word, str) for word in words):
        raise BadValue(f'rule {number}: {key} must be texts: {key} = ["…"]')
    return tuple(words)
