"""The group under a replicated state: how it is entered, sent into, left, and entered anew.

One thread reads the group's events. It hands over messages together: alone each would cost half as much again. Another
one sends what the first must not wait for: `later` puts a job into its queue.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from queue import SimpleQueue
from threading import RLock, Thread, get_ident
from time import monotonic
from typing import NamedTuple, Protocol, cast

from loguru import logger

import gcom
from gcom.errors import (
    AlreadyReceiving,
    Detached,
    GComError,
    GComTimeout,
    NotAMember,
    StateFailed,
    Unavailable,
    UnknownMember,
    WouldBlock,
)
from gcom.runtime.user_process.entry import InterruptibleCondition
from gcom.values.detection import Detection

EVENTS_MAX = 64  # read at once; callers whose commands were applied first wait for the rest
AGAIN_S = 0.5  # between two tries to enter a group again


class StateOptions(NamedTuple):
    """The choices of `open`."""

    timeout_s: float
    detection: Detection | float | str
    data: Path | None
    replicas: tuple[str, ...]
    stale: bool
    records: bool


class GroupUser(Protocol):
    """The state that a group is for: called back by the thread that listens."""

    def get_state(self) -> bytes: ...

    def set_state(self, data: bytes) -> None: ...

    def on_messages(self, messages: list[gcom.Message]) -> None: ...

    def on_event(self, event: gcom.Event) -> None: ...

    def on_defect(self) -> None: ...

    def on_over(self, reason: str) -> None: ...


class GroupReader:
    """Reads one group until this process has left it.

    A state that is given or taken has its place between messages: all that was read before it is handed over first.
    """

    def __init__(self, user: GroupUser, is_wanted: Callable[[], bool], handed_over: Callable[[], None]) -> None:
        self._user = user
        self._is_wanted = is_wanted
        self._handed_over = handed_over  # called after each event that is no message
        self._events: list[gcom.Event] = []  # read, and not handed over yet
        self._handing = RLock()  # another thread may set the state
        self._thread: Thread

    def start(self, group: gcom.Group) -> None:
        """Begin to read."""
        name = f"gcom listener {group.definition.group}"
        self._thread = Thread(target=self._run, args=(group,), name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Tell whether this thread is the one that reads."""
        return get_ident() == self._thread.ident

    def get_state(self) -> bytes:
        """Return the state behind all that was read."""
        self._hand_over()
        return self._user.get_state()

    def set_state(self, data: bytes) -> None:
        """Set a state that stands behind all that was read."""
        self._hand_over()
        self._user.set_state(data)

    def _run(self, group: gcom.Group) -> None:
        over = False
        while not over:
            try:
                over = self._read(group)
            except AlreadyReceiving:
                self._await_state(group)
            except StateFailed:
                traceback.print_exc()  # a departure follows
            except (Detached, NotAMember):
                over = True
            try:
                self._hand_over()
            except Exception:  # outermost: of this thread; without it a defect would only show as silence
                self._user.on_defect()
                raise

    def _await_state(self, group: gcom.Group) -> None:
        """Wait until another thread, which waits for the state, has set it."""
        with suppress(GComError):  # the next read tells it, too
            group.wait_for_state(None)

    def _read(self, group: gcom.Group) -> bool:
        """Read what has come, once something has; return whether the last departure is among it."""
        for event in chain([group.receive()], group.events(idle_s=0.0)):
            if event is None:
                return False
            self._events.append(event)
            if isinstance(event, gcom.Departure) and not event.returning:
                return True
            if len(self._events) >= EVENTS_MAX:
                return False
        return False

    def _hand_over(self) -> None:
        with self._handing:
            events, self._events = self._events, []
            for are_messages, some in groupby(events, lambda it: isinstance(it, gcom.Message)):
                if not self._is_wanted():
                    return
                if are_messages:
                    self._user.on_messages(cast(list[gcom.Message], list(some)))
                    continue
                for event in some:
                    self._user.on_event(event)
                    self._handed_over()


class ReplicaGroup:
    """A TOTAL, safe group, in which this process stays until `close`."""

    def __init__(self, node: gcom.Node, definition: gcom.Definition, user: GroupUser) -> None:
        self._node = node
        self._definition = definition
        self._user = user
        self._changed = InterruptibleCondition()
        self._ended = False
        self._out = False  # of the group, which is to be entered anew
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=f"gcom replicated {definition.group}", daemon=True)
        self._reader: GroupReader
        self._entered = 0  # how often
        self.group: gcom.Group

    def enter(self, timeout_s: float) -> None:
        """Join, and begin to call back."""
        self._join(timeout_s)
        self._thread.start()

    def _join(self, timeout_s: float) -> None:
        user, name = self._user, self._definition.group
        self._entered += 1
        entry = self._entered
        # Of a group that was left to be entered anew: its end is no news.
        reader = GroupReader(user, lambda: entry == self._entered, self._notify)
        self.group = self._node.join(
            name, create=self._definition, get_state=reader.get_state, set_state=reader.set_state, timeout_s=timeout_s
        )
        self._reader = reader
        reader.start(self.group)
        self._out = False
        if self._ended:  # it was closed meanwhile
            self.group.leave()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    @property
    def in_callback(self) -> bool:
        """Tell whether this thread is the one that applies commands: it must not wait for any."""
        return self._reader.is_here

    @property
    def leads(self) -> bool:
        """Tell whether this process is the oldest of its view."""
        return self.group.view.members[0] == self.group.process

    # sending

    def send(self, payload: bytes, deadline: float | None) -> None:
        """Multicast; wait while this process is out of its group, or hears no quorum.

        Raises Detached, NotAMember, GComTimeout, WouldBlock or MessageTooLarge: nothing was sent then.
        """
        self._send(lambda timeout_s: self.group.send(payload, timeout_s), deadline)

    def send_within(self, payload: bytes, timeout_s: float) -> None:
        """Multicast, as `send` does, with a limit in place of a deadline."""
        self.send(payload, monotonic() + timeout_s)

    def send_many(self, payloads: list[bytes], deadline: float) -> None:
        """Multicast each, as `send` does; after an error some may be sent."""
        self._send(lambda timeout_s: self.group.send_many(payloads, timeout_s), deadline)

    def _send(self, send: Callable[[float | None], object], deadline: float | None) -> None:
        while True:
            try:
                send(None if deadline is None else max(0.0, deadline - monotonic()))
                return
            except (Detached, NotAMember):
                # The thread that is to enter it anew must not wait for that.
                if self.in_callback or self._ended or (self._out and get_ident() == self._thread.ident):
                    raise
                with self._changed:
                    # Looked at again soon: it may have come back between the error and this wait.
                    left = 0.1 if deadline is None else min(0.1, deadline - monotonic())
                    if left <= 0:
                        raise
                    self._changed.wait(left)

    def tell_others(self, payload: bytes, timeout_s: float = 10.0) -> None:
        """Send something to each other member; one that departs meanwhile needs it no more."""
        for process in self.group.view.members:
            if process != self.group.process:
                with suppress(UnknownMember):
                    self.group.send_to(process, payload, timeout_s)

    def tell_others_at_once(self, payload: bytes) -> None:
        """Do as `tell_others` does, in this thread if that needs no wait, and else in the other one."""
        try:
            self.tell_others(payload, 0.0)
        except GComError:
            self.later(partial(self.tell_others, payload))

    def later(self, job: Callable[[], None]) -> None:
        """Have the other thread do something that may wait."""
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except (GComTimeout, WouldBlock) as error:
                logger.warning("replicated state {}: {}; trying again", self._definition.group, error)
                self._jobs.put(job)
            except GComError as error:  # what comes next - a return, a quorum, the end - brings a job of its own
                logger.debug("replicated state {}: {}", self._definition.group, error)
            except Exception:  # outermost: of this thread; without it a defect would only show as silence
                self._user.on_defect()
                raise

    # the ends

    def enter_anew(self, timeout_s: float) -> None:
        """Leave, and join again: so this process is given the state that the others have."""
        self._out = True
        self._entered += 1
        self.group.leave()
        self._join(timeout_s)

    def begin_anew(self, timeout_s: float) -> None:
        """Have the group entered again, or founded, since all others have left it."""
        self._out = True
        self._notify()
        self.later(partial(self._begin_anew, timeout_s))

    def _begin_anew(self, timeout_s: float) -> None:
        try:
            if not self._ended:
                self.enter_anew(timeout_s)
        except Unavailable as error:
            logger.debug("replicated state {}: {}", self._definition.group, error)
            with self._changed:
                self._changed.wait(AGAIN_S)
            self.later(partial(self._begin_anew, timeout_s))
        except GComError as error:
            self._user.on_over(str(error))

    def end(self) -> None:
        """Let nobody wait for the group any more."""
        self._ended = True
        self._notify()

    def close(self, timeout_s: float) -> None:
        """Leave for good."""
        self._jobs.put(None)
        self.end()
        if self._entered:
            with suppress(GComError):
                self.group.leave(timeout_s)
