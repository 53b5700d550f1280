"""Lives of a replicated state: records are compared within one.

A durable state has one life, restarts included. One in memory lives in an instance of its group, until a view in which
no member has it any more: there a new life begins, at index 0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from gcom.audit.applications.rule import ApplicationCase
from gcom.audit.input.applications import Record

StateLife = tuple[str, int]
DURABLE: StateLife = ("", 0)


class StateLives:
    """The lives that a state's records tell of."""

    def __init__(self, case: ApplicationCase) -> None:
        begun: dict[str, set[int]] = defaultdict(set)
        for _, record in case.records("start"):
            if not record.get("term") and not record["index"]:
                begun[record.get("instance", "")].add(record.get("view", 0))
        self._begun = {instance: sorted(views) for instance, views in begun.items()}

    def of(self, record: Record) -> StateLife:
        """Return the life that a record is of."""
        if record.get("term"):
            return DURABLE
        instance = record.get("instance", "")
        return instance, bisect_right(self._begun.get(instance, []), record.get("view", 0))
