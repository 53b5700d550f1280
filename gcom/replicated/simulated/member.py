"""A process of the world: the real log and calls of a replicated state, between a simulated group and disk.

It does what `gcom.replicated.state.ReplicatedState` does, without threads: `jobs` are those of the thread that sends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol

from gcom.errors import BadValue, GComError
from gcom.replicated.calls import OpenCalls, Settlement
from gcom.replicated.durable.agreement import DurableReplica
from gcom.replicated.durable.log import DurableLog, restored
from gcom.replicated.durable.writer import Written
from gcom.replicated.errors import Forgotten, OutcomeUnknown, StorageFailed
from gcom.replicated.evidence.records import StateRecords
from gcom.replicated.evidence.simulated import SimulatedLogs
from gcom.replicated.logs import MemoryLog, ReplicaLog
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import (
    CommandSent,
    DigestTold,
    MembersNoted,
    ReadMarked,
    decode,
    encode,
)
from gcom.replicated.replica import Applied
from gcom.replicated.simulated.arguments import DrawnCommand
from gcom.replicated.simulated.disk import SimulatedDisk, SimulatedWriter
from gcom.replicated.simulated.history import PromiseBroken, StateHistory, described
from gcom.replicated.window import PendingCommand

UNANSWERED_MAX = 12  # commands of one process that wait; more would only wait longer


class MemberWorld(Protocol):
    """The world, as a member sees it."""

    kind: MachineKind
    history: StateHistory
    logs: SimulatedLogs | None

    def view_of(self, name: str) -> tuple[int, tuple[str, ...]] | None: ...

    def place_of(self, name: str) -> tuple[str, int]: ...

    def tell(self, source: str, payload: bytes) -> None: ...

    def identify(self) -> str: ...


class SimulatedMember:
    """A process that has opened the state."""

    def __init__(self, world: MemberWorld, name: str, process: str, disk: SimulatedDisk | None) -> None:
        self.name, self.process = name, process
        self.paused = False
        self.outbox: deque[bytes] = deque()  # sent, and not in the order yet
        self.jobs: deque[Callable[[], None]] = deque([self._send_again])
        self.writer: SimulatedWriter | None = None
        self._world = world
        self._broken: PromiseBroken | None = None  # found by a Future's callback, where nothing may be raised
        self._settled: list[Settlement] = []
        self._calls = OpenCalls(world.kind, lambda _: _no_retry, world.identify)
        self.log: ReplicaLog = MemoryLog(world.kind, self) if disk is None else self._durable(disk)
        find = None if (logs := world.logs) is None else lambda: logs.of(self.process)
        self.records = self.log.records = StateRecords(world.kind.name, self.log, find, lambda: world.place_of(name))

    def _durable(self, disk: SimulatedDisk) -> DurableLog:
        def writer(written: Written) -> SimulatedWriter:
            self.writer = SimulatedWriter(disk, written)
            return self.writer

        durable: DurableReplica = restored(self._world.kind, self.name, disk.log)
        return DurableLog(self, durable, writer)

    @property
    def ready(self) -> bool:
        """Tell whether commands can be sent here."""
        return not self.log.waits_for and self._calls.window.opened

    @property
    def unanswered(self) -> list[CommandSent]:
        """Return this process's commands that have no answer."""
        return [it.message for it in self._calls.window.pending.values()]

    # the application

    def call(self, drawn: DrawnCommand) -> None:
        """Send a command, if it can be sent now."""
        window = self._calls.window
        if not self.ready or len(window.pending) >= UNANSWERED_MAX:
            return
        name, arguments = drawn
        if name not in self._world.kind.commands:
            raise BadValue(f"{self._world.kind.name} has no command {name!r}, which commands= gave")
        self._world.kind.check(name, arguments, {})
        pending = window.begin(name, self._world.kind.codec.pack([list(arguments), {}]))
        self._world.history.on_asked(pending.message, drawn)
        self._await(pending)
        if not window.gather(pending):
            self.outbox.append(encode(pending.message))
            window.sent(pending)

    def retry(self, message: CommandSent) -> None:
        """Send another process's command again."""
        pending = self._calls.adopt(message)
        self._await(pending)
        self.outbox.append(encode(message))

    def read(self) -> None:
        """Ask for a fresh query."""
        mark, future = self._calls.mark()
        future.add_done_callback(partial(self._on_read, self._world.history.answered_upto))
        self.outbox.append(encode(mark))

    def take_snapshot(self) -> None:
        """Take the state as a base, from which others and this one's disk get it."""
        self.log.replica.take_base()
        if isinstance(self.log, DurableLog):
            self.log.take_snapshot()

    def _await(self, pending: PendingCommand) -> None:
        pending.future.add_done_callback(partial(self._on_answer, pending.message))

    def _on_answer(self, message: CommandSent, future: Future[Any]) -> None:
        error = future.exception()
        if isinstance(error, Forgotten):  # no state is lost here while a caller of it lives
            self._broken = PromiseBroken(f"{self.name} was told of {described(message)}: {error}")
        elif not isinstance(error, OutcomeUnknown):
            assert error is None or isinstance(error, GComError)
            self._judged(
                partial(self._world.history.on_answer, message, None if error else future.result(), error, self.name)
            )

    def _on_read(self, needs: int, future: Future[None]) -> None:
        if future.exception() is None:
            self._judged(partial(self._world.history.on_read, needs, self.log.replica.index, self.name))

    def _judged(self, judge: Callable[[], None]) -> None:
        try:
            judge()
        except PromiseBroken as broken:
            self._broken = broken

    # the thread that sends

    def work(self) -> None:
        """Do one job."""
        self.jobs.popleft()()

    def _send_again(self) -> None:
        if not self.log.waits_for:
            self.outbox.extend(self._calls.unanswered())

    def _announce(self) -> None:
        view = self._world.view_of(self.name)
        if view and view[1][0] == self.process and self.log.replica.members != view[1]:
            self.outbox.append(encode(MembersNoted(*view)))

    # the group

    def deliver(self, process: str, view: int, payload: bytes) -> None:
        """Take the next message of the group."""
        match found := decode(payload):
            case ReadMarked(reader, number):
                self.log.mark(reader, number)
            case DigestTold(index, digest):
                if self.log.replica.on_digest(process, index, digest):
                    raise PromiseBroken(f"{self.name} differs from the others at index {index}")
            case _:
                self.log.deliver(process, view, payload, found)
        self.settle()

    def told(self, source: str, payload: bytes) -> None:
        """Take a unicast."""
        self.log.told(source, decode(payload))
        self.settle()

    def on_view(self, number: int) -> None:
        """Note a new view."""
        self.log.on_view(number, self.process)
        self.jobs.append(self._announce)
        self.settle()

    def on_instance(self) -> None:
        """Note another instance, or a return."""
        self.log.on_instance()
        self.settle()

    def on_quorum(self) -> None:
        """Note that some of what was sent may not have arrived."""
        self.log.on_quorum()
        self.jobs.append(self._announce)
        self.settle()

    def load(self, state: bytes) -> None:
        """Take the others' state."""
        self.log.load(state)
        self.settle()

    def settle(self) -> None:
        """Tell callers; raises PromiseBroken if what they are told is wrong."""
        settled, self._settled = self._settled, []
        for it in settled:
            it()
        if self._broken:
            raise self._broken

    # the log's callbacks

    def on_applied(self, applied: Applied) -> None:
        """Judge what was applied, and answer a caller here."""
        # Recorded first, as of a process that nobody judges while it runs: the audit sees what broke a promise.
        self._settled += self.records.on_applied(applied, self._calls.on_applied(applied))
        self._world.history.on_applied(applied, self.log.replica, self.name)
        if self._calls.window.due:
            self.outbox.extend(self._calls.window.take_gathered())
        if digest := self.log.replica.take_digest(applied.index):
            self.multicast_later(encode(DigestTold(*digest)))
        if not self._calls.window.opened and applied.fate == "forgotten":
            self.jobs.append(self._send_again)

    def on_read(self, caller: str, number: int) -> None:
        """Answer a fresh query here."""
        self._settled += self._calls.on_read(caller, number)

    def on_state_taken(self) -> None:
        """Judge a state that came, and answer the callers whose answers came with it."""
        replica = self.log.replica
        self.records.on_state_taken()
        self._world.history.on_state(replica, self.name)
        record = replica.callers.get(self._calls.window.caller)
        self._settled += self._calls.on_state(record, replica.index, self.log.place.last)

    def on_live(self) -> None:
        """Send again what may not have arrived."""
        self.jobs += [self._send_again, self._announce]

    def multicast_later(self, payload: bytes) -> None:
        """Have something said to all."""
        self.jobs.append(partial(self.outbox.append, payload))

    def tell_others_later(self, payload: bytes) -> None:
        """Have something said to each other member."""
        self._world.tell(self.name, payload)

    def on_written(self, written: Callable[[], None]) -> None:
        """Note what is synced."""
        written()
        self.settle()

    def on_storage_failed(self, error: StorageFailed) -> None:
        """A simulated disk takes every write."""
        raise AssertionError(error)


def _no_retry(*_: object) -> None:
    raise AssertionError("the world itself sends commands again")
