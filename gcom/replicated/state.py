"""`ReplicatedState`: a replica in a group, and the commands that this process sends.

Threads: the application's, which call; the group's listener, which applies what is delivered; and one that sends where
a listener must not wait. `_lock` guards the replica and the window, and nobody sends while holding it; `_sending` keeps
commands in the order of their numbers.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from secrets import token_hex
from threading import Condition, RLock
from time import monotonic
from typing import Any

from loguru import logger

import gcom
from gcom.errors import GComError, GComTimeout, MalformedFrame, NotAMember, WouldBlock
from gcom.replicated.answers import change_of, complete, fail, settle
from gcom.replicated.changes import Change, StateReplaced
from gcom.replicated.errors import Diverged, Forgotten, OutcomeUnknown
from gcom.replicated.machine import MachineKind
from gcom.replicated.membership import ReplicaGroup
from gcom.replicated.messages import (
    CallerClosed,
    CallerOpened,
    CommandSent,
    DigestTold,
    MembersNoted,
    ReadMarked,
    decode,
    encode,
)
from gcom.replicated.replica import Applied, Replica
from gcom.replicated.window import CallerWindow, PendingCommand
from gcom.values.detection import Detection

Settlement = Callable[[], None]
FOREVER_S = 3600.0  # a wait without any limit cannot be interrupted on every system, so it is in parts


class ReplicatedState:
    """A state that all members of a group have: `stock.replicas` of an opened machine. Any thread may use it."""

    def __init__(
        self, node: gcom.Node, name: str, kind: MachineKind, timeout_s: float, detection: Detection | float | str
    ) -> None:
        self._kind = kind
        self._name = name
        self.timeout_s = timeout_s
        self._lock = Condition(RLock())
        self._sending = RLock()
        self._replica = Replica(kind)
        self._window = CallerWindow(token_hex(8))
        self._adopted: dict[tuple[str, int], PendingCommand] = {}  # other callers' commands, retried here
        self._marks: dict[int, Future[Any]] = {}
        self._mark = 0
        self._reader = token_hex(8)  # in whose name this process marks
        self._watchers: list[Callable[[Change], object]] = []
        self._failure: GComError | None = None
        self._closed = False
        definition = gcom.Definition(name, "TOTAL", "RELIABLE", safe=True, detection=detection)
        self._group = ReplicaGroup(node, definition, self, timeout_s)
        with ExitStack() as stack:
            stack.callback(self.close)
            deadline = monotonic() + timeout_s
            self._group.group.wait_for_state(timeout_s)
            with self._sending:
                self._open_caller(deadline)
            stack.pop_all()

    # what an application sees

    @property
    def group(self) -> gcom.Group:
        """The group: its view, its snapshot. It has its receiver already; do not leave it, but close the state."""
        return self._group.group

    @property
    def index(self) -> int:
        """The index of the last command that was applied here."""
        return self._replica.index

    @property
    def members(self) -> tuple[str, ...]:
        """The processes that have the state, oldest first, as the last `on_members` said."""
        return self._replica.members

    @property
    def process(self) -> str:
        """This process, as commands of its callers know it (`context.process`); another one after a return."""
        return self._group.group.process

    def watch(self, on_change: Callable[[Change], object]) -> Callable[[], None]:
        """Call back after each change, in their order; returns a function that ends that.

        The thread that applies commands calls, without a lock: queries see at least that change. It must not wait for
        commands: `submit` them.
        """
        with self._lock:
            self._watchers.append(on_change)
        return partial(self._unwatch, on_change)

    def _unwatch(self, on_change: Callable[[Change], object]) -> None:
        with self._lock:
            if on_change in self._watchers:
                self._watchers.remove(on_change)

    def barrier(self) -> Future[None]:
        """Return a Future that is done once this replica has all that was confirmed anywhere before this call."""
        self._raise_if_over()
        future: Future[None] = Future()
        with self._lock:
            self._mark += 1
            number = self._mark
            self._marks[number] = future
        try:
            self._group.send(encode(ReadMarked(self._reader, number)), monotonic() + self.timeout_s)
        except GComError:
            with self._lock:
                self._marks.pop(number, None)
            raise
        return future

    def submit(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Future[Any]:
        """Begin a command, or a fresh query; see `Submission`."""
        if name in self._kind.queries:
            self._kind.check(name, arguments, keywords)
            found: Future[Any] = Future()
            self.barrier().add_done_callback(partial(self._answer_query, found, name, arguments, keywords))
            return found
        return self._begin(name, arguments, keywords, monotonic() + self.timeout_s).future

    def command(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], timeout_s: float | None) -> Any:
        """Carry out a command; raises what it raised, OutcomeUnknown, and what Group.send raises."""
        if self._group.in_callback:
            raise WouldBlock(f"a callback of {self._name!r} must not wait for a command: use submit.{name}")
        timeout_s = FOREVER_S if timeout_s is None else timeout_s
        deadline = monotonic() + timeout_s
        pending = self._begin(name, arguments, keywords, deadline)
        return self._wait(pending, deadline, timeout_s)

    def query(
        self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], fresh: bool, timeout_s: float | None
    ) -> Any:
        """Answer a query from this replica; with `fresh`, once it has all that was confirmed before."""
        self._raise_if_over()
        if fresh:
            if self._group.in_callback:
                raise WouldBlock(f"a callback of {self._name!r} must not wait for a fresh query: use submit.{name}")
            try:
                self.barrier().result(FOREVER_S if timeout_s is None else timeout_s)
            except FutureTimeout:
                raise GComTimeout(f"no fresh answer of {self._name!r} after {timeout_s} s") from None
        with self._lock:
            found = self._kind.queries[name](self._replica.machine, *arguments, **keywords)
        return self._kind.codec.copy(found)

    def _answer_query(
        self,
        found: Future[Any],
        name: str,
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        barrier: Future[None],
    ) -> None:
        try:
            barrier.result()
            complete(found, self.query(name, arguments, keywords, False, None))
        except Exception as error:  # outermost: of the application's query, whose error is its caller's
            fail(found, error)

    def close(self) -> None:
        """Leave the group. Commands without an answer end with OutcomeUnknown. May be called again."""
        with self._lock:
            self._closed, was = True, self._closed
            idle = not self._window.pending and self._window.opened
        if was:
            return
        group = getattr(self, "_group", None)
        if group is None:
            return
        if idle and not self._failure:
            # Best effort: a caller that is not closed is forgotten at the bound.
            with suppress(GComError):
                group.group.send(encode(CallerClosed(self._window.caller)), 0.0)
        group.close(self.timeout_s)
        self._end(NotAMember(f"the replicated state {self._name!r} was closed"))

    # commands

    def _begin(
        self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], deadline: float
    ) -> PendingCommand:
        self._kind.check(name, arguments, keywords)
        packed = self._kind.codec.pack([list(arguments), keywords])
        with self._sending:
            with self._lock:
                while self._window.full or not self._window.opened:
                    self._raise_if_over()
                    if self._group.in_callback:
                        raise WouldBlock(f"{len(self._window.pending)} commands of {self._name!r} have no answer yet")
                    if not self._lock.wait(deadline - monotonic()):
                        raise GComTimeout(
                            f"no room for a command of {self._name!r}: {len(self._window.pending)} have no answer yet"
                        )
                self._raise_if_over()
                window = self._window
                pending = window.begin(name, packed)
            sent = False
            try:
                self._group.send(encode(pending.message), deadline)
                window.sent(pending)
                sent = True
            finally:
                # Also by an interrupt: had it been sent all the same, it is applied, and no later command waits for it.
                if not sent:
                    with self._lock:
                        window.withdraw(pending)
                        self._lock.notify_all()
        return pending

    def _wait(self, pending: PendingCommand, deadline: float, timeout_s: float) -> Any:
        try:
            return pending.future.result(max(0.0, deadline - monotonic()))
        except FutureTimeout:
            if pending.future.done():
                raise
            number, name = pending.message.number, pending.message.name
            raise OutcomeUnknown(
                f"no answer to {name} (command {number}) of {self._name!r} after {timeout_s} s: it may be applied "
                "later; call retry() on this error to find out",
                self._retry_of(pending),
            ) from None

    def _retry_of(self, pending: PendingCommand) -> Callable[[Any, float | None], Any]:
        def again(via: Any, timeout_s: float | None) -> Any:
            there: ReplicatedState = self if via is None else via.replicas
            found = pending
            if pending.future.done() or there is not self:
                found = there.resubmit(pending.message)
            limit_s = there.timeout_s if timeout_s is None else timeout_s
            return there._wait(found, monotonic() + limit_s, limit_s)

        return again

    def resubmit(self, message: CommandSent) -> PendingCommand:
        """Send a command again, whoever sent it first; it is applied once in all."""
        pending = PendingCommand(message)
        key = message.caller, message.number
        with self._lock:
            self._adopted[key] = pending
        try:
            self._raise_if_over()
            self._group.send(encode(message), monotonic() + self.timeout_s)
        except GComError as error:
            with self._lock:
                self._adopted.pop(key, None)
            raise OutcomeUnknown(f"{message.name} was not sent again: {error}", self._retry_of(pending)) from error
        return pending

    def _open_caller(self, deadline: float) -> None:
        """Make a new caller known: none of its commands is sent before. Holds `_sending`."""
        with self._lock:
            window = self._window = CallerWindow(token_hex(8))
        self._group.send(encode(CallerOpened(window.caller)), deadline)
        with self._lock:
            while not window.opened:
                self._raise_if_over()
                if not self._lock.wait(min(1.0, deadline - monotonic())) and monotonic() >= deadline:
                    raise GComTimeout(f"the replicated state {self._name!r} is not ready after {self.timeout_s} s")

    def _open_caller_anew(self) -> None:
        with self._sending:
            if not self._window.opened:
                self._open_caller(monotonic() + self.timeout_s)

    def _send_again(self) -> None:
        """Send all that has no answer, in its order: replicas pass over what they have."""
        with self._sending:
            with self._lock:
                commands = [it.message for it in (*self._adopted.values(), *self._window.pending.values())]
                marks = list(self._marks)
            deadline = monotonic() + self.timeout_s
            for message in commands:
                self._group.send(encode(message), deadline)
            for number in marks:
                self._group.send(encode(ReadMarked(self._reader, number)), deadline)

    def _announce_members(self) -> None:
        view = self._group.group.view
        if self._group.leads and self._replica.members != view.members:
            self._group.send(encode(MembersNoted(view.number, view.members)), monotonic() + self.timeout_s)

    # callbacks of the group, by the thread that listens

    def get_state(self) -> bytes:
        """Return the replica's bytes, for a member that joins."""
        with self._lock:
            return self._replica.dump()

    def set_state(self, data: bytes) -> None:
        """Take the others' state."""
        with self._settling() as settled:
            self._replica.load(data)
            if isinstance(self._failure, Diverged):
                self._failure = None
            settled += self._reconcile()
        self._tell(StateReplaced(self._replica.index))
        self._group_later(self._send_again)

    def on_event(self, event: gcom.Event) -> None:
        """Deal with an event of the group."""
        match event:
            case gcom.Message():
                self._on_message(event)
            case gcom.ViewChange() | gcom.QuorumRegained():
                self._group_later(self._announce_members)
            case gcom.Returned() | gcom.Settled(arrived=False):
                self._group_later(self._send_again)
                self._group_later(self._announce_members)
            case gcom.StateLost(reason=reason):
                self._begin_anew(reason)
            case gcom.StateUnmerged(reason=reason):
                logger.warning("replicated state {}: what this process had is given up: {}", self._name, reason)
            case gcom.Departure(returning=False, reason=reason):
                self._end(NotAMember(f"the group of the replicated state {self._name!r} is over here: {reason}"))

    def _group_later(self, job: Callable[[], None]) -> None:
        # An event, or the state, may come while the group is still being entered: then there is nothing to send again.
        if (group := getattr(self, "_group", None)) is not None:
            group.later(job)

    def _on_message(self, message: gcom.Message) -> None:
        try:
            found = decode(message.data)
        except MalformedFrame as error:
            logger.warning("replicated state {}: {} sent {}", self._name, message.sender, error)
            return
        match found:
            case ReadMarked(reader, number):
                if reader == self._reader and (future := self._marks.pop(number, None)):
                    complete(future, None)
            case DigestTold(index, digest):
                with self._lock:
                    differs = self._replica.on_digest(message.sender, index, digest)
                if differs:
                    self._diverge(index)
            case MembersNoted(view) if view != message.view:
                pass  # it waited at its sender, and another view came: another note follows
            case _:
                self._apply(message.sender, found)

    def _apply(self, process: str, message: CallerOpened | CallerClosed | CommandSent | MembersNoted) -> None:
        with self._settling() as settled:
            applied = self._replica.apply(process, message)
            digest = self._replica.take_digest()
            settled += self._settlements(applied)
            change = change_of(self._kind, applied) if self._watchers else None
        if applied.defect:
            logger.error("the machine of replicated state {} failed:\n{}", self._name, applied.defect)
        if digest and len(self._replica.members) > 1:
            self._group_later(partial(self._tell_digest, *digest))
        if change:
            self._tell(change)

    def _tell_digest(self, index: int, digest: bytes) -> None:
        self._group.send(encode(DigestTold(index, digest)), monotonic() + self.timeout_s)

    def _settlements(self, applied: Applied) -> list[Settlement]:
        """Return what callers here are told of a message. Holds the lock."""
        match applied.message:
            case CallerOpened(caller) if caller == self._window.caller:
                self._window.opened = True
                self._lock.notify_all()
            case CommandSent(caller, number):
                mine = caller == self._window.caller
                if mine and applied.fate == "forgotten":
                    return self._forget("the replicas forgot this caller")
                found = self._adopted.get((caller, number)) or (self._window.pending.get(number) if mine else None)
                if found is None or (mine and applied.fate == "early"):
                    return []  # it is sent again, behind the one that it follows
                self._adopted.pop((caller, number), None)
                if mine:
                    self._window.pending.pop(number, None)
                    self._lock.notify_all()
                return [self._settlement(found, applied)]
        return []

    def _settlement(self, found: PendingCommand, applied: Applied) -> Settlement:
        name = found.message.name
        if applied.fate == "forgotten":
            return partial(fail, found.future, Forgotten(f"no replica remembers the caller of {name}"))
        if applied.fate == "early" or not applied.answer:
            why = "an earlier command of its caller is unknown, too: retry that first"
            text = f"{name} was not applied: {why}" if applied.fate == "early" else f"the answer to {name} is gone"
            return partial(fail, found.future, OutcomeUnknown(text, self._retry_of(found)))
        return partial(settle, self._kind, found.future, applied.answer)

    def _reconcile(self) -> list[Settlement]:
        """Compare what is pending with a state that came: it has the answers of what was applied. Holds the lock."""
        window = self._window
        if not window.opened:
            return []
        record = self._replica.callers.get(window.caller)
        if record is None:
            return self._forget("the state that came knows nothing of this caller")
        done = [number for number in window.pending if number <= record.last]
        applied = Applied(self._replica.index, "", CallerOpened(window.caller))
        self._lock.notify_all()
        return [
            self._settlement(
                it := window.pending.pop(number),
                Applied(applied.index, "", it.message, "repeated", record.answers.get(number, b"")),
            )
            for number in done
        ]

    def _forget(self, why: str) -> list[Settlement]:
        """Give up all commands without an answer, and begin as another caller. Holds the lock."""
        lost = [*self._window.pending.values()]
        self._window = CallerWindow(token_hex(8))
        self._lock.notify_all()
        self._group_later(self._open_caller_anew)
        return [partial(fail, it.future, Forgotten(f"{it.message.name}: {why}; it may be applied")) for it in lost]

    def _begin_anew(self, reason: str) -> None:
        with self._settling() as settled:
            if self._replica.index:
                logger.warning("the replicated state {} is lost, and begins anew: {}", self._name, reason)
            self._replica = Replica(self._kind)
            if self._window.opened:
                settled += self._forget("the state was lost")
        self._tell(StateReplaced(0))
        self._group_later(self._announce_members)

    # ends

    def _diverge(self, index: int) -> None:
        with self._lock:
            if self._failure:
                return
            self._failure = Diverged(
                f"the state of {self._name!r} differed from the other replicas' at index {index}: its machine is not "
                "deterministic (time, random, the order of a set?); the others' state is on its way"
            )
        logger.error("{}", self._failure)
        self._group_later(self._take_others_state)

    def _take_others_state(self) -> None:
        try:
            self._group.enter_anew(self.timeout_s)
        except GComError as error:
            self._end(Diverged(f"{self._failure}; but it cannot be had: {error}"))

    def _end(self, failure: GComError) -> None:
        with self._settling() as settled:
            self._failure = failure
            lost = [*self._window.pending.values(), *self._adopted.values()]
            for it in lost:
                text = f"{failure}, before {it.message.name} had an answer: it may be applied; retry(via=...) finds out"
                settled.append(partial(fail, it.future, OutcomeUnknown(text, self._retry_of(it))))
            settled += [partial(fail, it, failure) for it in self._marks.values()]
            self._window.pending.clear()
            self._adopted.clear()
            self._marks.clear()
            self._lock.notify_all()

    def _raise_if_over(self) -> None:
        if self._failure is not None:
            raise self._failure

    @contextmanager
    def _settling(self) -> Iterator[list[Settlement]]:
        """Hold the lock; carry out the settlements once it is let go, since Futures call the application back."""
        settled: list[Settlement] = []
        with self._lock:
            yield settled
        for it in settled:
            it()

    def _tell(self, change: Change) -> None:
        for watcher in list(self._watchers):
            try:
                watcher(change)
            except Exception:  # outermost: what the application's callback raises is not the listener's end
                traceback.print_exc()
