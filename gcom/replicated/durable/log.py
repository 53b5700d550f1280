"""`DurableLog`: a durable replica with its disk and its group around it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from gcom.errors import BadValue
from gcom.replicated.durable.agreement import (
    AppendEntry,
    BecameLive,
    DurableReplica,
    EntryApplied,
    LogStage,
    LogTaken,
    ReadReady,
    SayHello,
    SayToAll,
    TellSynced,
    Write,
    WriteLog,
    WritePromise,
)
from gcom.replicated.durable.entries import apply_entry
from gcom.replicated.durable.rounds import Configuration, DiskFacts
from gcom.replicated.durable.storage import LogStorage, StoredLog
from gcom.replicated.durable.writer import LogWriter, Written
from gcom.replicated.errors import StorageFailed
from gcom.replicated.logs import DiskRecords, LogPlace, LogUser
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import ReplicaMessage, SyncedTold, encode
from gcom.replicated.replica import Replica
from gcom.values.names import member_name, name_of


class DurableUser(LogUser, Protocol):
    """The state that a durable log is of."""

    def multicast_later(self, payload: bytes) -> None: ...

    def tell_others_later(self, payload: bytes) -> None: ...

    def on_written(self, written: Callable[[], None]) -> None:
        """Call `written` with the lock held; in the writer's thread."""
        ...

    def on_storage_failed(self, error: StorageFailed) -> None: ...


class DiskWriter(Protocol):
    """Carries out writes, one after the other; `Written` is called after each sync."""

    @property
    def is_here(self) -> bool: ...

    def put(self, write: Write, committed: int) -> None: ...

    def close(self) -> None: ...


class DurableLog:
    """Drives a `DurableReplica`: its writes go to the disk, its words into the group. Guarded by the state's lock."""

    def __init__(
        self, user: DurableUser, durable: DurableReplica, writer: Callable[[Written], DiskWriter] | None
    ) -> None:
        self._user = user
        self.records: DiskRecords | None = None
        self._last = 0  # of the log that was taken last
        self._durable = durable
        self._writer = writer(self._on_written) if writer is not None else None

    @classmethod
    def opened(
        cls,
        kind: MachineKind,
        user: DurableUser,
        name: str,
        process_name: str,
        data: Path | None,
        names: tuple[str, ...],
    ) -> DurableLog:
        """Return the log in a folder; without one, that of a member that is no replica. Raises BadValue."""
        names = _checked(names)
        if data is None:
            if process_name in names:
                raise BadValue(f"{process_name!r} is one of the replicas, so it needs data=FOLDER for its log")
            nothing = StoredLog(b"", 0, 0, [], 0, DiskFacts(0, 0, 0, Configuration(0, names)))
            return cls(user, restored(kind, process_name, nothing), None)
        storage = LogStorage(data, name, process_name, names)
        with ExitStack() as stack:
            stack.callback(storage.close)
            durable = restored(kind, process_name, storage.log)
            stack.pop_all()
        return cls(user, durable, lambda written: LogWriter(storage, written, user.on_storage_failed))

    @property
    def replica(self) -> Replica:
        """The replica that the committed part of the log makes."""
        return self._durable.replica

    @property
    def waits_for(self) -> str:
        """Return what is waited for before commands flow; empty: they flow."""
        return self._durable.waits_for

    @property
    def place(self) -> LogPlace:
        """Return what a record of this log says of it."""
        durable = self._durable
        return LogPlace(durable.term, self._last, durable.configuration.names, durable.synced)

    @property
    def durable(self) -> DurableReplica:
        """The pure part."""
        return self._durable

    def in_writer(self) -> bool:
        """Tell whether this is the writer's thread."""
        return self._writer is not None and self._writer.is_here

    def deliver(self, process: str, view: int, payload: bytes, message: ReplicaMessage) -> None:
        """Deal with the next message of the group."""
        self._durable.deliver(process, view, payload, message)
        self._carry_out()

    def mark(self, caller: str, number: int) -> None:
        """Answer a mark once all before it is applied."""
        self._durable.mark(caller, number)
        self._carry_out()

    def told(self, process: str, message: ReplicaMessage) -> None:
        """Take note of how far another replica has synced."""
        if isinstance(message, SyncedTold):
            self._durable.on_synced(name_of(process), message.term, message.index)
            self._carry_out()

    def dump(self) -> bytes:
        """Return what a member that joins is given."""
        return self._durable.dump()

    def load(self, data: bytes) -> None:
        """Take what a member gave, unless this disk is ahead of it."""
        self._durable.load(data)
        self._carry_out()

    def on_view(self, view: int, process: str) -> None:
        """Take note of a view."""
        self._durable.on_view(view, process)
        self._carry_out()

    def on_instance(self) -> None:
        """Take note that another instance was entered."""
        self._durable.on_instance()

    def on_quorum(self) -> None:
        """Say again what may not have arrived."""
        self._durable.on_quorum()
        self._carry_out()
        if self._durable.stage is LogStage.LIVE:
            self._user.on_live()

    def take_snapshot(self) -> None:
        """Write the state in the place of the entries that it covers, if entries flow here."""
        if self._durable.stage is LogStage.LIVE and self._durable.votes:
            self._durable.take_snapshot()
            self._carry_out()

    def nudge(self) -> None:
        """Ask for a round again, since nothing has come of the last one for long."""
        self._durable.nudge()
        self._carry_out()

    def on_own_state(self, lost: bool) -> None:
        """Compare disks anew: nobody in the group has a state to give."""
        self._durable.on_own_state()
        self._carry_out()

    def close(self) -> None:
        """Write what waits, and close the folder. Called without the lock."""
        if self._writer is not None:
            self._writer.close()

    # effects

    def _carry_out(self) -> None:
        while effects := self._durable.take_effects():
            for effect in effects:
                match effect:
                    case SayToAll(payload):
                        self._user.multicast_later(payload)
                    case TellSynced(term, index):
                        if self.records is not None:
                            self.records.on_told(term, index)
                        self._user.tell_others_later(encode(SyncedTold(term, index)))
                    case EntryApplied(applied):
                        self._user.on_applied(applied)
                    case LogTaken(last):
                        self._last = last
                        self._user.on_state_taken()
                    case BecameLive():
                        self._user.on_live()
                    case ReadReady(caller, number):
                        self._user.on_read(caller, number)
                    case _:
                        if self._writer is not None:
                            self._writer.put(effect, self.replica.index)

    def _on_written(self, writes: list[Write], facts: DiskFacts) -> None:
        self._user.on_written(lambda: self._note_written(writes, facts))

    def _note_written(self, writes: list[Write], facts: DiskFacts) -> None:
        if any(isinstance(it, AppendEntry | WriteLog) for it in writes):
            if self.records is not None:
                self.records.on_disk(facts.term, facts.index)
            self._durable.written(facts.term, facts.index, facts)
        for write in writes:
            if isinstance(write, WritePromise):
                self._durable.promise_written(write.term, facts)
            elif isinstance(write, SayHello) and (said := self._durable.hello(write)):
                self._user.multicast_later(said)
        self._carry_out()


def _checked(names: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(names, str) or not names:
        raise BadValue(f'replicas must be names, as ("a", "b", "c"); got {names!r}')
    found = tuple(dict.fromkeys(member_name(it) for it in names))
    if len(found) != len(tuple(names)):
        raise BadValue(f"replicas must be different names; got {names!r}")
    return found


def restored(kind: MachineKind, name: str, log: StoredLog) -> DurableReplica:
    """Return a replica as its disk has it: applied as far as a majority was known to have synced."""
    replica = Replica(kind)
    if log.snapshot:
        replica.load(log.snapshot)
    term = log.term
    known = [it for it in log.entries if it.index <= log.committed]
    for entry in known:
        apply_entry(replica, entry)
        term = entry.term
    return DurableReplica(replica, name, log.facts, log.entries[len(known) :], term)
