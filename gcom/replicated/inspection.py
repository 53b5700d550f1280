"""The part of a replicated state that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Condition

import gcom
from gcom.replicated.calls import OpenCalls
from gcom.replicated.changes import Change
from gcom.replicated.durable.log import DurableLog
from gcom.replicated.logs import ReplicaLog
from gcom.replicated.membership import ReplicaGroup


class StateInspection:
    """A replicated state, as it describes itself."""

    _lock: Condition
    _log: ReplicaLog
    _durable: DurableLog | None
    _calls: OpenCalls
    _group: ReplicaGroup
    _watchers: list[Callable[[Change], object]]

    @property
    def group(self) -> gcom.Group:
        """The group: its view, its snapshot. It has its receiver already; do not leave it, but close the state."""
        return self._group.group

    @property
    def index(self) -> int:
        """The index of the last command that was applied here."""
        return self._log.replica.index

    @property
    def members(self) -> tuple[str, ...]:
        """The processes that have the state, oldest first, as the last `on_members` said."""
        return self._log.replica.members

    @property
    def process(self) -> str:
        """This process, as commands of its callers know it (`context.process`); another one after a return."""
        return self._group.group.process

    @property
    def ready(self) -> bool:
        """Tell whether commands flow. A durable state before that is as this disk has it: it may be old."""
        with self._lock:
            return not self._log.waits_for and self._calls.window.opened

    @property
    def waits_for(self) -> str:
        """Return what commands wait for, in words; empty: they flow."""
        with self._lock:
            return self._log.waits_for

    @property
    def configured(self) -> tuple[str, ...]:
        """The names of the replicas of a durable state; empty: it lives in memory alone."""
        with self._lock:
            return self._durable.durable.configuration.names if self._durable else ()

    def watch(self, on_change: Callable[[Change], object]) -> Callable[[], None]:
        """Call back after each change, in their order; returns a function that ends that.

        One thread at a time calls, without a lock: queries see at least that change. It must not wait for commands:
        `submit` them.
        """
        with self._lock:
            self._watchers.append(on_change)
        return partial(self._unwatch, on_change)

    def _unwatch(self, on_change: Callable[[Change], object]) -> None:
        with self._lock:
            if on_change in self._watchers:
                self._watchers.remove(on_change)
