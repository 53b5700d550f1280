"""`ReplicatedState`: a replica in a group, and the calls that this process makes.

Threads: the application's; the group's listener, which applies what is delivered; one that sends where a listener
must not wait; of a durable state one that writes its log. `_lock` guards replica and calls: nobody sends holding it.
`_sending` keeps commands in the order of their numbers: nobody waits for an answer holding it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from os import getpid
from threading import RLock
from time import monotonic
from typing import Any

from loguru import logger

import gcom
from gcom.errors import BadValue, Detached, GComError, GComTimeout, MalformedFrame, NotAMember, WouldBlock
from gcom.replicated.answers import answer_query, await_barrier, change_of
from gcom.replicated.calls import OpenCalls, Settlement
from gcom.replicated.changes import ChangeTeller, ContactLost, StateReplaced
from gcom.replicated.durable.log import DurableLog
from gcom.replicated.errors import Diverged, OutcomeUnknown, StorageFailed
from gcom.replicated.evidence.records import StateRecords
from gcom.replicated.inspection import StateInspection
from gcom.replicated.logs import MemoryLog, ReplicaLog
from gcom.replicated.machine import MachineKind
from gcom.replicated.membership import ReplicaGroup, StateOptions
from gcom.replicated.messages import (
    CallerClosed,
    CommandSent,
    DigestTold,
    MembersNoted,
    ReadMarked,
    ReplicaMessage,
    decode,
    encode,
)
from gcom.replicated.replica import Applied
from gcom.replicated.window import CommandRetry, PendingCommand
from gcom.runtime.user_process.entry import InterruptibleCondition, uninterrupted
from gcom.runtime.user_process.uninterrupted import WholeFuture, WholeLock, result_of

NUDGE_S = 2.0  # who waits for a durable state to be ready asks again so often
FOREVER_S = 3600.0  # a wait without any limit cannot be interrupted on every system


class ReplicatedState(StateInspection):
    """A state that all members of a group have: `stock.replicas` of an opened machine. Any thread may use it."""

    def __init__(self, node: gcom.Node, name: str, kind: MachineKind, options: StateOptions) -> None:
        self._kind = kind
        self._name = name
        self._options = options
        self.timeout_s = options.timeout_s
        self._guard = RLock()
        self._lock = InterruptibleCondition(self._guard)
        self._sending = WholeLock()
        self._calls = OpenCalls(kind, self._retry_of)
        self._settled: list[Settlement] = []  # to be told to callers once the lock is let go
        self._teller = ChangeTeller()
        self._failure: GComError | None = None
        self._closed = False
        self._pid = getpid()
        self._durable: DurableLog | None = None
        definition = gcom.Definition(name, "TOTAL", "RELIABLE", safe=True, detection=options.detection)
        with ExitStack() as stack:
            self._log: ReplicaLog = self._make_log(node)
            stack.callback(self._log.close)
            recorded = node if options.records else None
            self.records = StateRecords.of_node(recorded, name, lambda: self._group.group, self._log)
            self._log.records = self.records
            self._group = ReplicaGroup(node, definition, self)
            self._group.enter(options.timeout_s)
            stack.callback(self.close)
            self._enter(monotonic() + options.timeout_s)
            stack.pop_all()

    def _make_log(self, node: gcom.Node) -> ReplicaLog:
        data, replicas = self._options.data, self._options.replicas
        if not replicas:
            return MemoryLog(self._kind, self)
        self._durable = DurableLog.opened(self._kind, self, self._name, node.name, data, replicas)
        return self._durable

    def _enter(self, deadline: float) -> None:
        self._group.group.wait_for_state(self.timeout_s)
        self._group.later(self._send_again)
        with self._lock:
            while not self.ready:
                self._raise_if_over()
                if not self._pause(deadline):
                    if self._options.stale:
                        return
                    waits_for = self._log.waits_for or "its group"
                    raise GComTimeout(f"{self._name!r} is not ready after {self.timeout_s} s: it waits for {waits_for}")

    @uninterrupted()
    def barrier(self, deadline: float | None = None) -> Future[None]:
        """Return a Future that is done once this replica has all that was confirmed anywhere before this call."""
        self._raise_if_over()
        with self._lock:
            mark, future = self._calls.mark()
        try:
            self._group.send(encode(mark), monotonic() + self.timeout_s if deadline is None else deadline)
        except GComError:
            with self._lock:
                self._calls.unmark(mark)
            raise
        return future

    @uninterrupted()
    def configure(self, *names: str, timeout_s: float | None = None) -> None:
        """Change the names of the replicas, by one more or one fewer; returns once that is confirmed.

        A new one must have opened the state with `data`; it is given the log. Raises BadValue, GComTimeout.
        """
        if self._durable is None or len(set(names) ^ set(self.configured)) > 1 or not names:
            raise BadValue(f"give the names of the replicas with one more or one fewer than {self.configured}")
        self._raise_if_callback("configure")
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        deadline = monotonic() + limit_s
        late = f"the replicas of {self._name!r} are not changed after {limit_s} s: it waits for "
        while set(self.configured) != set(names):
            with self._lock:
                self._raise_if_over()
                asked = self._durable.durable.names_to_ask(names)
            if asked:  # else an earlier change is not settled
                self._group.send(asked, deadline)
            await_barrier(self.barrier(), deadline, lambda: f"{late}{self.waits_for or 'a majority to sync it'}")

    @uninterrupted()
    def submit(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Future[Any]:
        """Begin a command, or a fresh query; see `Submission`."""
        if name not in self._kind.queries:
            return self.begin(name, arguments, keywords, monotonic() + self.timeout_s).future
        self._kind.check(name, arguments, keywords)
        found: Future[Any] = WholeFuture()
        answer = partial(answer_query, found, partial(self.query, name, arguments, keywords, False, None))
        self.barrier().add_done_callback(answer)
        return found

    @uninterrupted()
    def submit_surely(self, name: str, *arguments: Any) -> Future[Any]:
        """Begin a command that does not wait, and is sent once it can be: it gives something up."""
        try:
            return self.begin(name, arguments, {}, 0.0).future
        except (GComTimeout, Detached, NotAMember, WouldBlock):
            self._raise_if_over()
        with self._lock:
            future = self._calls.window.begin_surely(name, self._kind.codec.pack([list(arguments), {}])).future
        self._group.later(self._send_again)
        return future

    @uninterrupted()
    def command(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], timeout_s: float | None) -> Any:
        """Carry out a command; raises what it raised, OutcomeUnknown, and what Group.send raises."""
        self._raise_if_callback(name)
        timeout_s = FOREVER_S if timeout_s is None else timeout_s
        deadline = monotonic() + timeout_s
        return self.wait(self.begin(name, arguments, keywords, deadline), deadline, timeout_s)

    def query(
        self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], fresh: bool, timeout_s: float | None
    ) -> Any:
        """Answer a query from this replica; with `fresh`, once it has all that was confirmed before."""
        self._raise_if_over()
        if fresh:
            self._await_fresh(name, timeout_s)
        with self._guard:  # which no interrupt leaves taken: it is written in C
            self._raise_if_over()
            found = self._kind.queries[name](self._log.replica.machine, *arguments, **keywords)
            return self._kind.codec.copy(found)

    @uninterrupted()
    def _await_fresh(self, name: str, timeout_s: float | None) -> None:
        self._raise_if_callback(name)
        deadline = monotonic() + (FOREVER_S if timeout_s is None else timeout_s)
        late = f"no fresh answer of {self._name!r} after {timeout_s} s"
        await_barrier(self.barrier(deadline), deadline, lambda: late)

    @uninterrupted()
    def close(self) -> None:
        """Leave the group. Commands without an answer end with OutcomeUnknown. May be called again."""
        if getpid() != self._pid:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle = not self._calls.window.pending and self.ready and not self._failure
        if idle:
            # Best effort: a caller that is not closed is forgotten at the bound.
            with suppress(GComError):
                self._group.group.send(encode(CallerClosed(self._calls.window.caller)), 0.0)
        with self._lock:
            self.records.close()
        self._group.close(self.timeout_s)
        self._log.close()
        self._end(NotAMember(f"the replicated state {self._name!r} was closed"))

    # commands

    def begin(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], deadline: float) -> PendingCommand:
        """Send a command; at a deadline that has passed it is sent if that needs no wait. An error: it was not sent."""
        self._raise_if_over()
        self._kind.check(name, arguments, keywords)
        packed = self._kind.codec.pack([list(arguments), keywords])
        while True:
            self._await_room(deadline)
            with self._turn(deadline):
                with self._lock:
                    self._raise_if_over()
                    window = self._calls.window
                    if window.full or not window.opened:
                        continue  # another thread was first
                    pending = window.begin(name, packed)
                    if window.gather(pending):
                        return pending
                sent = False
                try:
                    self._group.send(encode(pending.message), deadline)
                    window.sent(pending)
                    sent = True
                finally:
                    # Also by an interrupt: had it been sent all the same, it is applied, and none waits for it.
                    if not sent:
                        with self._lock:
                            window.withdraw(pending)
                            self._lock.notify_all()
                return pending

    @contextmanager
    def _turn(self, deadline: float) -> Iterator[None]:
        """Hold `_sending`; another thread may be waiting in it for a quorum, with more time than this one has."""
        if not self._sending.acquire(timeout=max(0.0, deadline - monotonic())):
            raise GComTimeout(f"no command was sent in {self._name!r}: another thread's is still being sent")
        try:
            yield
        finally:
            self._sending.release()
            self._send_gathered()

    def _send_gathered(self) -> None:
        """Send what has gathered, if it is time, without waiting: a thread that sends now looks again after that."""
        while self._calls.window.due and self._sending.acquire(blocking=False):
            try:
                with self._lock:
                    payloads = self._calls.window.take_gathered()
                self._group.send_many(payloads, 0.0)
            except GComError:
                self._group.later(self._send_again)
            finally:
                self._sending.release()

    def _await_room(self, deadline: float) -> None:
        with self._lock:
            while (window := self._calls.window).full or not window.opened:
                self._raise_if_over()
                waits_for = self._log.waits_for or f"{len(window.pending)} commands to be answered"
                if self._in_callback():
                    raise WouldBlock(f"a callback of {self._name!r} must not wait for {waits_for}")
                if not self._pause(deadline):
                    raise GComTimeout(f"no command was sent in {self._name!r}: it waits for {waits_for}")

    def _pause(self, deadline: float) -> bool:
        """Wait for news; return False at the deadline. Holds the lock."""
        left = deadline - monotonic()
        if left > 0 and not self._lock.wait(min(NUDGE_S, left)):
            self._log.nudge()
        return left > 0

    @uninterrupted()
    def wait(self, pending: PendingCommand, deadline: float, timeout_s: float) -> Any:
        """Return a command's result, or raise what it raised; raises OutcomeUnknown."""
        try:
            return result_of(pending.future, max(0.0, deadline - monotonic()))
        except FutureTimeout:
            if pending.future.done():
                raise
            raise self.unknown(pending, f"after {timeout_s} s") from None

    def unknown(
        self, pending: PendingCommand, when: str, advice: str = "call retry() on this error to find out"
    ) -> OutcomeUnknown:
        """Return the error of a command that has no answer."""
        number, name = pending.message.number, pending.message.name
        text = f"no answer to {name} (command {number}) of {self._name!r} {when}: it may be applied later; "
        return OutcomeUnknown(f"{text}{advice}", self._retry_of(pending))

    def _retry_of(self, pending: PendingCommand) -> CommandRetry:
        return CommandRetry(self, pending)

    @uninterrupted()
    def resubmit(self, message: CommandSent, deadline: float) -> PendingCommand:
        """Send a command again, whoever sent it first; it is applied once in all."""
        with self._lock:
            pending = self._calls.adopt(message)
        try:
            self._raise_if_over()
            self._group.send(encode(message), deadline)
        except GComError as error:
            with self._lock:
                self._calls.disown(message)
            raise OutcomeUnknown(f"{message.name} was not sent again: {error}", self._retry_of(pending)) from error
        return pending

    def _send_again(self) -> None:
        """Send all that has no answer, in its order: replicas pass over what they have."""
        with self._sending:
            with self._lock:
                if self._failure or self._log.waits_for:
                    return  # when that is over, it is sent again
                payloads = self._calls.unanswered()
            self._group.send_many(payloads, monotonic() + self.timeout_s)

    def _announce_members(self) -> None:
        view = self._group.group.view
        if self._group.leads and self.members != view.members:
            self._group.send_within(encode(MembersNoted(view.number, view.members)), self.timeout_s)

    # callbacks of the group, by the thread that listens

    def get_state(self) -> bytes:
        """Return the log's bytes, for a member that joins."""
        with self._lock:
            return self._log.dump()

    def set_state(self, data: bytes) -> None:
        """Take the others' state."""
        with self._settling():
            if isinstance(self._failure, Diverged):
                self._failure = None
            self._log.load(data)

    def on_messages(self, messages: list[gcom.Message]) -> None:
        """Deal with messages of the group, under one lock: alone each would cost half as much again."""
        with self._settling():
            for message in messages:
                try:
                    self._on_message(message, decode(message.data))
                except MalformedFrame as error:
                    logger.warning("replicated state {}: {} sent {}", self._name, message.sender, error)

    def on_event(self, event: gcom.Event) -> None:
        """Deal with another event of the group."""
        match event:
            case gcom.Departure(returning=False, reason=reason) if not self._closed and reason != "dissolved":
                self.on_over(reason)
                return
            case gcom.QuorumLost() | gcom.Departure():
                self._teller.tell_now(ContactLost(self.index))
            case gcom.StateUnmerged(reason=reason):
                logger.warning("replicated state {}: what this process had is given up: {}", self._name, reason)
        with self._settling():
            match event:
                case gcom.Unicast(sender):
                    with suppress(MalformedFrame):
                        self._log.told(sender, decode(event.data))
                case gcom.ViewChange(view):
                    self._log.on_view(view.number, self.process)
                    self._group.later(self._announce_members)
                case gcom.Departure(returning=False) if not self._closed:
                    self._begin_anew()
                case gcom.Returned():
                    self._log.on_instance()
                case gcom.QuorumRegained() | gcom.Settled(arrived=False):
                    self._log.on_quorum()
                    self._group.later(self._announce_members)
                case gcom.StateLost(reason=reason):
                    if self.index:
                        logger.warning("the replicated state {} is lost: {}", self._name, reason)
                    self._log.on_own_state(lost=True)
                case gcom.StateRestored():
                    self._log.on_own_state(lost=False)

    def _on_message(self, message: gcom.Message, found: ReplicaMessage) -> None:
        match found:
            case ReadMarked(reader, number):
                self._log.mark(reader, number)
            case DigestTold(index, digest):
                if self._log.replica.on_digest(message.sender, index, digest):
                    self._diverge(index)
            case _:
                self._log.deliver(message.sender, message.view, message.data, found)

    # callbacks of the log, with the lock held

    def on_applied(self, applied: Applied) -> None:
        """Answer a caller here, and tell who watches."""
        self._settled += self.records.on_applied(applied, self._calls.on_applied(applied))
        self._lock.notify_all()
        if self._calls.window.due:
            self._settled.append(self._send_gathered)
        replica = self._log.replica
        if (digest := replica.take_digest(applied.index)) and len(replica.members) > 1:
            self._group.later(partial(self._group.send_within, encode(DigestTold(*digest)), self.timeout_s))
        if applied.defect:
            logger.error("the machine of replicated state {} failed:\n{}", self._name, applied.defect)
        if self._teller.watchers and (change := change_of(self._kind, applied)):
            self._teller.add(change)
        if self._calls.must_send_again(applied):
            self._group.later(self._send_again)

    def on_read(self, caller: str, number: int) -> None:
        """Answer a fresh query here."""
        self._settled += self._calls.on_read(caller, number)

    def on_state_taken(self) -> None:
        """Answer the callers whose answers came with a state."""
        replica = self._log.replica
        self.records.on_state_taken()
        record = replica.callers.get(self._calls.window.caller)
        self._settled += self._calls.on_state(record, replica.index, self._log.place.last)
        self._teller.add(StateReplaced(replica.index))

    def on_live(self) -> None:
        """Send again what may not have arrived."""
        self._lock.notify_all()
        self._group.later(self._send_again)
        self._group.later(self._announce_members)

    def multicast_later(self, payload: bytes) -> None:
        """Have something said to all."""
        self._group.later(partial(self._group.send_within, payload, self.timeout_s))

    def tell_others_later(self, payload: bytes) -> None:
        """Have something said to each other member."""
        if self._durable is not None and self._durable.in_writer():
            # At once, when the lock is let go: callers wait for this, and a switch of threads is a part of their time.
            self._settled.append(partial(self._group.tell_others_at_once, payload))
        else:
            self._group.later(partial(self._group.tell_others, payload))

    def on_written(self, written: Callable[[], None]) -> None:
        """Note what the log's writer has synced; by its thread."""
        with self._settling():
            written()

    def on_storage_failed(self, error: StorageFailed) -> None:
        """End: a replica that cannot write promises nothing any more. By the writer's thread."""
        self._end(error)
        self._group.later(partial(self._group.close, self.timeout_s))

    def _begin_anew(self) -> None:
        """Go on with what is here: this process was cut off, and all others have left meanwhile."""
        logger.warning("replicated state {}: all others left it while they were not heard; going on", self._name)
        self._group.begin_anew(self.timeout_s)
        self._log.on_instance()

    # ends

    def on_over(self, reason: str) -> None:
        """End, since this process cannot be in the group any more."""
        self._teller.tell_now(ContactLost(self.index))
        self._end(NotAMember(f"the group of the replicated state {self._name!r} is over here: {reason}"))

    def _diverge(self, index: int) -> None:
        if self._failure:
            return
        self._failure = Diverged(
            f"the state of {self._name!r} differed from the other replicas' at index {index}: its machine is not "
            "deterministic (time, random, the order of a set?); the others' state is on its way"
        )
        logger.error("{}", self._failure)
        self._group.later(self._take_others_state)

    def _take_others_state(self) -> None:
        try:
            self._group.enter_anew(self.timeout_s)
        except GComError as error:
            self._end(Diverged(f"{self._failure}; but it cannot be had: {error}"))

    def _end(self, failure: GComError) -> None:
        with self._settling():
            self._failure = failure
            self._settled += self._calls.end(failure)
            self._lock.notify_all()
        self._group.end()

    def on_defect(self) -> None:
        """End by a defect of GCom, whose traceback is printed."""
        self._end(GComError(f"a defect in GCom ended {self._name!r}; its traceback was printed"))

    @contextmanager
    def _settling(self) -> Iterator[None]:
        """Hold the lock; once it is let go, tell callers and those who watch, who may call again."""
        with self._lock:
            yield
            settled, self._settled = self._settled, []
        for it in settled:
            it()
        self._teller.tell()
