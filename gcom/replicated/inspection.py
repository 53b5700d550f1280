"""The part of a replicated state that is looked at, by the application and before each call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import getpid
from threading import RLock

import gcom
from gcom.errors import Forked, GComError, WouldBlock
from gcom.replicated.calls import OpenCalls
from gcom.replicated.changes import Change, ChangeTeller
from gcom.replicated.durable.log import DurableLog
from gcom.replicated.logs import ReplicaLog
from gcom.replicated.machine import MachineKind
from gcom.replicated.membership import ReplicaGroup
from gcom.runtime.user_process.callbacks import check_callback


class StateInspection:
    """A replicated state, as it describes itself."""

    _guard: RLock  # by itself, and not by the condition on it: no interrupt leaves it taken
    _log: ReplicaLog
    _durable: DurableLog | None
    _calls: OpenCalls
    _group: ReplicaGroup
    _teller: ChangeTeller
    _kind: MachineKind
    _name: str
    _failure: GComError | None
    _pid: int

    @property
    def name(self) -> str:
        """The name that the state was opened by."""
        return self._name

    @property
    def failure(self) -> GComError | None:
        """The error that calls raise, if this replica has ended or was closed."""
        return self._failure

    def is_query(self, name: str) -> bool:
        """Tell whether the machine has a query of that name."""
        return name in self._kind.queries

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
        with self._guard:
            return not self._log.waits_for and self._calls.window.opened

    @property
    def waits_for(self) -> str:
        """Return what commands wait for, in words; empty: they flow."""
        with self._guard:
            return self._log.waits_for

    @property
    def configured(self) -> tuple[str, ...]:
        """The names of the replicas of a durable state; empty: it lives in memory alone."""
        with self._guard:
            return self._durable.durable.configuration.names if self._durable else ()

    def _raise_if_over(self) -> None:
        # Before any lock: in the child of a fork another thread may hold it for good.
        if getpid() != self._pid:
            raise Forked(f"the replicated state {self._name!r} lives on in the parent alone: open it anew in the child")
        if self._failure is not None:
            raise self._failure

    def _in_callback(self) -> bool:
        """Tell whether this thread applies commands: one that it waited for would never come."""
        writes = self._durable is not None and self._durable.in_writer()
        return self._group.in_callback or writes or self._teller.is_here

    def _raise_if_callback(self, name: str) -> None:
        if self._in_callback():
            raise WouldBlock(f"a callback of {self._name!r} must not wait for {name}: use submit.{name}")

    def watch(self, on_change: Callable[[Change], object]) -> Callable[[], None]:
        """Call back after each change, in their order; returns a function that ends that.

        One thread at a time calls, without a lock: queries see at least that change. It must not wait for commands:
        `submit` them. Raises BadValue for an async function.
        """
        check_callback("on_change", on_change, 1)
        with self._guard:
            self._teller.watchers.append(on_change)
        return partial(self._teller.unwatch, on_change)
