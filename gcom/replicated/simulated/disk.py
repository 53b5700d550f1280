"""A disk that keeps what was synced, and the writer before it: what waits there is lost by a crash, or a part of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from gcom.replicated.durable.agreement import (
    AppendEntry,
    SayHello,
    Write,
    WriteLog,
    WritePromise,
    WriteSnapshot,
)
from gcom.replicated.durable.rounds import Configuration, DiskFacts, LogEntry
from gcom.replicated.durable.storage import StoredLog
from gcom.replicated.durable.writer import Written


@dataclass(slots=True)
class SimulatedDisk:
    """The synced part of one replica's log."""

    names: tuple[str, ...]
    log: StoredLog = field(init=False)

    def __post_init__(self) -> None:
        self.lose()

    def lose(self) -> None:
        """Be empty: the disk was replaced, or its log was found cut and set aside."""
        self.log = StoredLog(b"", 0, 0, [], 0, DiskFacts(0, 0, 0, Configuration(0, self.names)))

    def write(self, write: Write, committed: int) -> None:
        """Carry out one write; what was read of this disk before does not change."""
        log = self.log
        match write:
            case AppendEntry(entry, configuration):
                facts = DiskFacts(log.facts.promised, entry.term, entry.index, configuration)
                log = replace(log, entries=[*log.entries, entry], facts=facts)
            case WritePromise(term, lost):
                log = replace(log, facts=replace(log.facts, promised=term, lost=lost))
            case WriteLog(promised, snapshot, index, term, entries, configuration):
                last = entries[-1] if entries else LogEntry(term, index, "", b"")
                facts = DiskFacts(promised, last.term, last.index, configuration)
                log = StoredLog(snapshot, index, term, list(entries), 0, facts)
            case WriteSnapshot(snapshot, index, term):
                entries_left = [it for it in log.entries if it.index > index]
                log = replace(log, snapshot=snapshot, index=index, term=term, entries=entries_left)
        self.log = replace(log, committed=min(committed, log.facts.index))


class SimulatedWriter:
    """The writes that wait for a sync."""

    AWAITS_SYNC = True  # False, a mutant: a write counts as synced while a crash can still take it

    def __init__(self, disk: SimulatedDisk, written: Written) -> None:
        self._disk = disk
        self._written = written
        self._waiting: deque[tuple[Write, int]] = deque()
        self._cached: deque[StoredLog] = deque(maxlen=8)  # earlier states, that a crash goes back to

    @property
    def is_here(self) -> bool:
        """Tell whether this is the writer's thread: there is but one thread."""
        return False

    @property
    def waits(self) -> bool:
        """Tell whether there is something to sync."""
        return bool(self._waiting)

    def put(self, write: Write, committed: int) -> None:
        """Have something written."""
        self._waiting.append((write, committed))

    def sync(self, count: int) -> None:
        """Sync a batch of at most so many writes, as one transaction, and tell."""
        batch: list[Write] = []
        while self._waiting and len(batch) < count:
            write, committed = self._waiting.popleft()
            batch.append(write)
            if isinstance(write, SayHello):  # it tells what is on disk, so it ends a batch
                break
            self._cached.append(self._disk.log)
            self._disk.write(write, committed)
        self._written(batch, self._disk.log.facts)

    def crash(self, kept: int) -> None:
        """Lose what waits, but for so many writes: the tail of the log may be there in part."""
        if not self.AWAITS_SYNC and kept and len(self._cached) >= kept:
            self._disk.log = self._cached[-kept]
            return
        for write, committed in list(self._waiting)[:kept]:
            if not isinstance(write, SayHello):
                self._disk.write(write, committed)

    def close(self) -> None:
        """Nothing is to be closed."""
