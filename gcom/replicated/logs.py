"""The log of a replicated state, as the state drives it; in memory it is the group's order itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CallerClosed, CallerOpened, CommandSent, MembersNoted, ReplicaMessage
from gcom.replicated.replica import Applied, Replica


class LogPlace(NamedTuple):
    """The term in force, the last index of an earlier term, and the configured names with what each has synced.

    In memory there are no terms, and no names.
    """

    term: int = 0
    last: int = 0
    names: tuple[str, ...] = ()
    synced: Mapping[str, int] = MappingProxyType({})


class DiskRecords(Protocol):
    """The records of a log for the audit; of the disk, those of a durable one."""

    def on_disk(self, term: int, index: int) -> None: ...

    def on_told(self, term: int, index: int) -> None: ...


class LogUser(Protocol):
    """The state that a log is of. All is called with its lock held."""

    def on_applied(self, applied: Applied) -> None: ...

    def on_read(self, caller: str, number: int) -> None: ...

    def on_state_taken(self) -> None: ...

    def on_live(self) -> None: ...


class ReplicaLog(Protocol):
    """Decides when what was delivered is applied. All is called with the state's lock held."""

    records: DiskRecords | None

    @property
    def place(self) -> LogPlace:
        """Return what a record of this log says of it."""
        ...

    @property
    def replica(self) -> Replica: ...

    @property
    def waits_for(self) -> str:
        """Return what is waited for before commands flow; empty: they flow."""
        ...

    def deliver(self, process: str, view: int, payload: bytes, message: ReplicaMessage) -> None: ...

    def mark(self, caller: str, number: int) -> None: ...

    def told(self, process: str, message: ReplicaMessage) -> None: ...

    def dump(self) -> bytes: ...

    def load(self, data: bytes) -> None: ...

    def on_view(self, view: int, process: str) -> None: ...

    def on_instance(self) -> None: ...

    def on_quorum(self) -> None: ...

    def nudge(self) -> None: ...

    def on_own_state(self, lost: bool) -> None: ...

    def close(self) -> None: ...


class MemoryLog:
    """Applies at delivery: a majority of the view holds it (SAFE), and the state lives as long as a member does."""

    def __init__(self, kind: MachineKind, user: LogUser) -> None:
        self._kind = kind
        self._user = user
        self.replica = Replica(kind)
        self.waits_for = ""
        self.records: DiskRecords | None = None

    @property
    def place(self) -> LogPlace:
        """Return what a record of this log says of it."""
        return LogPlace(last=self.replica.index)

    def deliver(self, process: str, view: int, payload: bytes, message: ReplicaMessage) -> None:
        """Apply the next message of the group."""
        if isinstance(message, MembersNoted) and message.view != view:
            return  # it waited at its sender, and another view came: another note follows
        if isinstance(message, CommandSent | CallerOpened | CallerClosed | MembersNoted):
            self._user.on_applied(self.replica.apply(process, message))

    def mark(self, caller: str, number: int) -> None:
        """Answer a mark: all before it is applied."""
        self._user.on_read(caller, number)

    def told(self, process: str, message: ReplicaMessage) -> None:
        """Take note of a unicast: none is of interest."""

    def dump(self) -> bytes:
        """Return the replica's bytes, for a member that joins."""
        return self.replica.dump()

    def load(self, data: bytes) -> None:
        """Take the state of the others."""
        self.replica.load(data)
        self._user.on_state_taken()
        self._user.on_live()

    def on_view(self, view: int, process: str) -> None:
        """Take note of a view: it changes nothing."""

    def on_instance(self) -> None:
        """Take note of another instance: its state came along, or comes."""
        self._user.on_live()

    def on_quorum(self) -> None:
        """Send again what may not have arrived."""
        self._user.on_live()

    def nudge(self) -> None:
        """Nothing is waited for."""

    def on_own_state(self, lost: bool) -> None:
        """Go on with what is here; or, since the state is lost, begin anew, as the others do."""
        if lost:
            self.replica = Replica(self._kind)
            self._user.on_state_taken()
        self._user.on_live()

    def close(self) -> None:
        """Nothing is to be closed."""
