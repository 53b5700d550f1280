"""Answers of members in a group call, and when they are enough (Derecho's QueryResults; JGroups' response modes)."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum


class Outcome(StrEnum):
    """The state of one member's answer."""

    PENDING = "pending"
    VALUE = "value"  # the handler's
    ERROR = "error"  # the handler raised, or there is none
    DEPARTED = "departed"  # a view without the member came before its answer


class Wait(StrEnum):
    """The number of answers for which a call waits."""

    ALL = "all"  # each member answered or departed
    FIRST = "first"  # one value, or no value can come any more: every answer is an error, or its member departed
    MAJORITY = "majority"  # more than half of those asked answered, with a value or an error
    NONE = "none"  # for no answer


def enough(wait: Wait, outcomes: Collection[Outcome]) -> bool:
    """Tell whether a call need wait no longer: it has the answers that it waits for, or can never have them."""
    found = list(outcomes)
    pending = found.count(Outcome.PENDING)
    values = found.count(Outcome.VALUE)
    match wait:
        case Wait.ALL:
            return not pending
        case Wait.FIRST:
            return values > 0 or not pending
        case Wait.MAJORITY:
            answered = values + found.count(Outcome.ERROR)
            # Also over when too few are left to answer: departed members never will.
            return 2 * answered > len(found) or 2 * (answered + pending) <= len(found)
        case Wait.NONE:
            return True
