"""A replica's records in its delivery log: what it applied, answered, synced and took over (DELIVERY_LOG.md).

A record is of up to `BATCH` commands, with a checksum of each. One with answers is with the operating system before a
caller has them, but in a burst; the rest follows within 100 ms. Their cost is in docs/replicated.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from threading import RLock
from time import monotonic
from zlib import crc32

import gcom
from gcom.replicated.logs import LogPlace, ReplicaLog
from gcom.replicated.messages import CommandSent, encode
from gcom.replicated.replica import Applied
from gcom.runtime.api.records import log_of
from gcom.trace.writer import DeliveryLog

BATCH = 64  # commands of one record
FLUSH_S = 0.001  # answers that follow one another faster are written by the log's own thread, within 100 ms
CALLERS_MAX = 4_096  # of a state that is taken over; so many has a replica


class StateRecords:
    """Writes the records of one replicated state. Called with the state's lock held, but for `flush`."""

    def __init__(
        self,
        name: str,
        log: ReplicaLog,
        find: Callable[[], DeliveryLog | None] | None,
        place: Callable[[], tuple[str, int]],
    ) -> None:
        self._find = find  # returns the log of this process; None: nothing is recorded
        self._place = place  # returns the instance and the view in which this process is
        self._name = f'"of":{json.dumps(name)}'
        self._log = log
        self._writing = RLock()  # of the batch: it is flushed without the state's lock
        self._flushed = 0.0
        self._target: DeliveryLog | None = None
        self._head = ""
        self._first = 0
        self._commands: list[int] = []
        self._answered: list[tuple[int, str, int]] = []
        self._repeated: list[int] = []  # indexes of these whose command was applied before
        self._held = ""
        self._disk = 0, 0  # term and index up to which the disk has synced
        self._disk_in: DeliveryLog | None = None  # the log that says so

    @classmethod
    def of_node(
        cls, node: gcom.Node | None, name: str, group: Callable[[], gcom.Group], log: ReplicaLog
    ) -> StateRecords:
        """Return the records of a state, written into the log of a node; None: of none."""

        def place() -> tuple[str, int]:
            return group().instance, group().view.number

        return cls(name, log, None if node is None else lambda: log_of(node, group().process), place)

    @property
    def enabled(self) -> bool:
        """Tell whether there is a log to write into."""
        return self._find is not None and self._find() is not None

    def on_applied(self, applied: Applied, settled: list[Callable[[], None]]) -> list[Callable[[], None]]:
        """Record a command; return what is to be told to callers, behind what records it."""
        if self._find is None:
            return settled
        message = applied.message
        with self._writing:
            if not self._commands or applied.index != self._first + len(self._commands):
                self._write_batch()
                self._find_target()
                if self._target is None:
                    return settled
                self._first = applied.index
                self._head = self._where(self._log.place.term)
            if isinstance(message, CommandSent):
                text = f"{applied.process} {message.caller} {message.number} {message.name}"
                self._commands.append(crc32(message.arguments, crc32(text.encode())))
                if settled and applied.fate in ("applied", "repeated"):  # else a caller is told that it has no answer
                    self._answered.append((applied.index, message.caller, message.number))
                    if applied.fate == "repeated":
                        self._repeated.append(applied.index)
                    self._held = _synced(self._log.place)
            else:
                self._commands.append(crc32(encode(message), crc32(applied.process.encode())))
            if len(self._commands) >= BATCH:
                self._write_batch()
        if digest := self._log.replica.take_digest(applied.index):
            self.note("digest", f'"index":{digest[0]},"digest":"{digest[1].hex()}"')
            self._note_invariant(applied.index)
        return [self.flush, *settled] if settled else settled

    def on_state_taken(self) -> None:
        """Record that this replica's state is another one now."""
        replica = self._log.replica
        callers = {caller: it.last for caller, it in [*replica.callers.items()][-CALLERS_MAX:]}
        self.note("start", f'"index":{replica.index},"last":{self._log.place.last},"callers":{json.dumps(callers)}')
        self._note_invariant(replica.index)

    def on_disk(self, term: int, index: int) -> None:
        """Record how far this replica's disk has synced."""
        self._disk = term, index
        self.note("synced", f'"index":{index}', term)
        self._disk_in = self._target

    def on_told(self, term: int, index: int) -> None:
        """Record how far this replica is about to tell the others that it has synced."""
        with self._writing:
            self._find_target()
            # This process was put out, and came back: its new log does not say it.
            if self._disk[0] and self._target is not self._disk_in:
                self.on_disk(*self._disk)
        self.note("told", f'"index":{index}', term)

    def flush(self) -> None:
        """Return once all that was recorded is with the operating system."""
        now = monotonic()
        # A write lets other threads go first: in a burst that would cost more than all the rest.
        if self._target is not None and now - self._flushed >= FLUSH_S:
            self._flushed = now
            self._target.flush()

    def close(self) -> None:
        """Record what is left, and no more after that."""
        if self._find is not None:
            self._note_invariant(self._log.replica.index)
        self._find = None
        with self._writing:
            self._write_batch()
            self._find_target()

    def _note_invariant(self, index: int) -> None:
        """Record what the machine's query `invariant` says, where it has one: a whole number."""
        machine = self._log.replica.machine
        found = getattr(machine, "invariant", lambda: None)()
        if type(found) is int and abs(found) < 1 << 62:
            self.note("invariant", f'"index":{index},"value":{found}')

    def _feed(self) -> None:
        with self._writing:
            self._write_batch()

    def note(self, kind: str, fields: str, term: int | None = None) -> None:
        """Record something else about the state; any thread may call this."""
        with self._writing:
            self._write_batch()
            self._find_target()
            if self._target is not None:
                self._target.note(kind, f"{self._where(self._log.place.term if term is None else term)},{fields}")

    def _write_batch(self) -> None:
        if not self._commands or self._target is None:
            return
        answers = ""
        if self._answered:
            answers = f',"answered":{_compact(self._answered)},"repeated":{_compact(self._repeated)}{self._held}'
        fields = f'{self._head},"index":{self._first},"commands":{_compact(self._commands)}{answers}'
        self._first += len(self._commands)
        self._commands, self._answered, self._repeated = [], [], []
        self._target.note("apply", fields)

    def _find_target(self) -> None:
        """Write into the log of this process, which is another one after a return."""
        found = self._find() if self._find is not None else None
        if found is not self._target:
            if self._target is not None:
                self._target.feeders.remove(self._feed)
            if found is not None:
                found.feeders.append(self._feed)
            self._target = found

    def _where(self, term: int) -> str:
        """Return the fields that place a record: of a durable state its term, in memory the instance and the view."""
        if term:
            return f'{self._name},"term":{term}'
        instance, view = self._place()
        return f'{self._name},"instance":{json.dumps(instance)},"view":{view}'


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _synced(place: LogPlace) -> str:
    held = {name: place.synced[name] for name in place.names if name in place.synced}
    return f',"synced":{json.dumps(held)},"replicas":{len(place.names)}' if place.names else ""
