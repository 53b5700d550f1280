"""The group under a replicated state: how it is entered, sent into, left, and entered anew.

One thread, besides the group's listener, sends what a listener must not wait for: `later` puts a job into its queue.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread, get_ident
from time import monotonic
from typing import NamedTuple, Protocol

from loguru import logger

import gcom
from gcom.errors import Detached, GComError, GComTimeout, NotAMember, UnknownMember, WouldBlock
from gcom.values.detection import Detection


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

    def on_event(self, event: gcom.Event) -> None: ...

    def on_defect(self) -> None: ...


class ReplicaGroup:
    """A TOTAL, safe group, in which this process stays until `close`."""

    def __init__(self, node: gcom.Node, definition: gcom.Definition, user: GroupUser) -> None:
        self._node = node
        self._definition = definition
        self._user = user
        self._changed = Condition()
        self._closing = False
        self._entering = True  # for the first time, or anew
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=f"gcom replicated {definition.group}", daemon=True)
        self._listener: int | None = None
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
        entered = self._node.join(
            name, create=self._definition, get_state=user.get_state, set_state=user.set_state, timeout_s=timeout_s
        )

        def on_event(event: gcom.Event) -> None:
            self._listener = get_ident()
            # Of a group that was left to be entered anew: its end is no news.
            if entry == self._entered:
                user.on_event(event)
                self._notify()

        self.group = entered  # before the first event
        entered.listen(on_event=on_event)
        self._entering = False

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    @property
    def in_callback(self) -> bool:
        """Tell whether this thread is the one that applies commands: it must not wait for any."""
        return get_ident() == self._listener

    @property
    def leads(self) -> bool:
        """Tell whether this process is the oldest of its view."""
        return self.group.view.members[0] == self.group.process

    # sending

    def send(self, payload: bytes, deadline: float | None) -> None:
        """Multicast; wait while this process is out of its group, or hears no quorum.

        Raises Detached, NotAMember, GComTimeout, WouldBlock or MessageTooLarge: nothing was sent then.
        """
        while True:
            try:
                self.group.send(payload, None if deadline is None else max(0.0, deadline - monotonic()))
                return
            except (Detached, NotAMember) as error:
                if self.in_callback or self._closing or (isinstance(error, NotAMember) and not self._entering):
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
        self._entering = True
        self._entered += 1
        self.group.leave()
        self._join(timeout_s)

    def close(self, timeout_s: float) -> None:
        """Leave for good."""
        self._closing = True
        self._jobs.put(None)
        self._notify()
        if self._entered:
            with suppress(GComError):
                self.group.leave(timeout_s)
