"""Ends that a registry remembers: instances that all members have left, or whose members are all dead."""

from __future__ import annotations

from dataclasses import replace

from gcom.core.directory.refusals import dissolved
from gcom.core.directory.rows import DissolvedInstance, Store
from gcom.core.messages.registry import Farewell, Refusal, Unregister
from gcom.values import limits, lineage


class RegistryTombstones:
    """The last end of each name, at most DISSOLVED_MAX; kept by `store`, and forgotten oldest first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ends = {it.group: it for it in store.dissolved()}

    def of(self, group: str) -> DissolvedInstance | None:
        return self._ends.get(group)

    def farewell(self, group: str) -> Farewell | None:
        """Return the word of the last member of a group of which this registry had a copy."""
        gone = self._ends.get(group)
        if gone is None or not gone.process:
            return None
        return Farewell(Unregister(gone.group, gone.instance, gone.view, gone.process, gone.proof))

    def bury(self, gone: DissolvedInstance) -> None:
        # Taken out first, so that it comes to the end: the oldest give way at the bound.
        self._ends.pop(gone.group, None)
        self._ends[gone.group] = gone
        self._store.bury(gone)
        for oldest in list(self._ends)[: -limits.DISSOLVED_MAX]:
            self.forget(oldest)

    def forget(self, group: str) -> None:
        self._store.forget(group)
        del self._ends[group]

    def ended(self, group: str, instance: str) -> Refusal | None:
        """Return the answer for a process of an instance that all others have left, or of a predecessor of it."""
        gone = self._ends.get(group)
        over = gone and instance and (gone.instance == instance or lineage.descends(gone.instance, instance))
        return dissolved(gone) if gone and over else None

    def told(self, group: str, instance: str) -> Refusal | None:
        """Return that answer for a member; `Superseded` where the others went on first, and then left."""
        over, gone = self.ended(group, instance), self._ends.get(group)
        # Its members may hear each other still: an operator gave them up, and others went on, and left.
        return replace(over, code="Superseded") if over and gone and gone.instance != instance else over
