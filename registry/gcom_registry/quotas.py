"""Quotas of groups: in all, of each member, and for how long one that nobody joins is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gcom.core.messages.registry import Create, Refusal, Register, Request
from gcom.values import limits
from gcom.values.identity import Identity
from gcom.values.names import GroupName, InstanceId

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class GroupQuotas:
    """`in_all` groups, `each` of one member; an empty group is removed after `empty_s` of running time, 0: never."""

    in_all: int = limits.DIRECTORY_GROUPS_MAX
    each: int = 500
    empty_s: float = 7 * DAY_S


DEFAULT_QUOTAS = GroupQuotas()


class GroupCounts:
    """The groups that each member brought here: it created them, or was the first to register them."""

    def __init__(self, quotas: GroupQuotas, creator_of: Callable[[GroupName], str | None]) -> None:
        self._quotas, self._creator_of = quotas, creator_of
        self._brought: dict[GroupName, str] = {}  # what this registry did not know, and a member registered

    def refusal(self, request: Request, who: Identity | None, groups: Iterable[GroupName]) -> Refusal | None:
        """Return why a group that is not there may not come, or None; `groups` are those that are there."""
        if not isinstance(request, Create | Register):
            return None
        there, name = list(groups), min(who.members) if who and who.members else ""
        if len(there) >= self._quotas.in_all:
            return Refusal("Unavailable", f"{_no_room(request)}: the registry holds its {len(there)} groups; {_ADVICE}")
        owned = Counter(self._brought.get(group) or self._creator_of(group) for group in there)[name] if name else 0
        if owned >= self._quotas.each:
            return Refusal("Unavailable", f"{_no_room(request)}: {name} has its {owned} groups here; {_ADVICE}")
        return None

    def note(self, request: Request, who: Identity | None, groups: Iterable[GroupName]) -> None:
        """Remember who registered a group that was not there; `groups` are those that are there now."""
        if isinstance(request, Register) and who and who.members:
            there = set(groups)
            self._brought = {group: name for group, name in self._brought.items() if group in there}
            self._brought[request.definition.group] = min(who.members)


class EmptyGroups:
    """The empty groups, and since when this registry knows each; asked now and then. It forgets that at its end."""

    def __init__(self, empty_s: float) -> None:
        self._empty_s = empty_s
        self._since_s: dict[tuple[GroupName, InstanceId], float] = {}

    def expired(self, empty: Iterable[tuple[GroupName, InstanceId]], now_s: float) -> list[GroupName]:
        """Return the groups that have been empty for too long."""
        self._since_s = {it: self._since_s.get(it, now_s) for it in empty}
        return [group for (group, _), s in self._since_s.items() if self._empty_s and now_s - s >= self._empty_s]


_ADVICE = "remove some (gcom remove 'PATTERN*'), or ask the operator for more (docs/operating.md)"


def _no_room(request: Create | Register) -> str:
    return f"no room for group {request.definition.group!r}"
