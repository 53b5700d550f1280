"""The listener of a group: its callbacks, and the thread that calls them, or the workers of the server, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from threading import Thread, get_ident
from typing import NamedTuple

from loguru import logger

from gcom.core.machine import GroupMachine
from gcom.core.messages.effects import Deliver
from gcom.errors import StateFailed
from gcom.runtime.api import guards
from gcom.runtime.api.events import Departure, Event, Message, Unicast, ViewChange
from gcom.runtime.membership import Membership
from gcom.runtime.step_lock import StepLock
from gcom.runtime.user_process.callbacks import check_callback
from gcom.runtime.user_process.entry import called_outside
from gcom.values.names import Process
from gcom.values.run import Run, StateToMerge
from gcom.values.view import View

# So many runs a worker hands over before it reads on, as few deliver many at once; the rest is the listener's thread's.
DIRECT_RUNS_MAX = 8


class Callbacks(NamedTuple):
    """The application's functions, by what they are called for."""

    on_message: Callable[[Message], object] | None
    on_view: Callable[[View], object] | None
    on_event: Callable[[Event], object] | None
    on_unicast: Callable[[Unicast], object] | None

    @classmethod
    def checked(
        cls,
        on_message: Callable[[Message], object] | None,
        on_view: Callable[[View], object] | None,
        on_event: Callable[[Event], object] | None,
        on_unicast: Callable[[Unicast], object] | None,
        awaited: bool = False,
    ) -> Callbacks:
        """Return them; raises BadValue for those that cannot be called with an event. `awaited`: by an event loop."""
        callbacks = cls(on_message, on_view, on_event, on_unicast)
        for name, callback in zip(cls._fields, callbacks, strict=True):
            check_callback(name, callback, 1, awaited)
        return callbacks

    def for_event(self, event: Event) -> Iterator[Callable[[], object]]:
        """Return the calls for an event: the one for all events, then the one for its kind."""
        if self.on_event:
            yield partial(self.on_event, event)
        if self.on_message and isinstance(event, Message):
            yield partial(self.on_message, event)
        elif self.on_unicast and isinstance(event, Unicast):
            yield partial(self.on_unicast, event)
        elif self.on_view and isinstance(event, ViewChange):
            yield partial(self.on_view, event.view)


class ListenerSource(NamedTuple):
    """The receiving part of a group, as its listener uses it."""

    next_event: Callable[[], Event | None]  # for the listener's thread, which waits for it; raises StateFailed
    consumed: Callable[[Deliver], None]  # it is read; called with the lock held
    over: Callable[[], None]  # the listener ends
    messages: Callable[[Deliver], Iterator[Message]]  # of a run that is read
    raise_if_lost: Callable[[Event], None]  # the state, and nobody hears of it
    on_defect: Callable[[], None]  # GCom has failed, and not a callback


class GroupListener:
    """Calls back for each event, one at a time, in order, until a Departure without return.

    `membership.listened_by` is the thread that calls back. With `direct` only that one takes from the queue: the
    listener's, or a worker whose frame has delivered while the listener's waits.
    """

    def __init__(
        self, lock: StepLock, membership: Membership, callbacks: Callbacks, source: ListenerSource, direct: bool
    ) -> None:
        self._lock = lock
        self._membership = membership
        self._callbacks = callbacks
        self._source = source
        self._direct = direct
        name = f"gcom listener {membership.session.machine.group}"
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to call back."""
        self._thread.start()

    def _run(self) -> None:
        # For a `leave` within a callback: it must not wait until a joiner has the state that only this thread can take.
        with self._lock:
            self._membership.listened_by = get_ident()
            self._membership.direct_listener = self if self._direct else None
        try:
            self._call_until_departure()
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._source.on_defect()
            raise
        finally:
            with self._lock:
                self._membership.direct_listener = self._membership.listened_by = None
            self._source.over()

    def _call_until_departure(self) -> None:
        event: Event | None = None
        while not isinstance(event, Departure) or event.returning:
            try:
                event = self._source.next_event()
                if event is not None and not self._callbacks.on_event:
                    self._source.raise_if_lost(event)
            except StateFailed:
                guards.print_error()  # a departure follows
                continue
            if event is not None:
                self._call(event)

    @called_outside
    def _call_all(self, delivery: Deliver) -> None:
        for message in self._source.messages(delivery):
            self._call(message)

    def _call(self, event: Event) -> None:
        on_message, on_view, on_event, on_unicast = self._callbacks
        try:
            if on_event:
                on_event(event)
            if on_message and isinstance(event, Message):
                on_message(event)
            elif on_unicast and isinstance(event, Unicast):
                on_unicast(event)
            elif on_view and isinstance(event, ViewChange):
                on_view(event.view)
        # Whatever it was: `sys.exit` would end no program here, but a thread of GCom's.
        except BaseException:  # outermost: what the application's callback raises is not this thread's end
            guards.print_error()  # the library's log may be disabled, and an application's mistake must be seen
            logger.error("a callback of group {} failed", self._membership.session.machine.group)

    # in a worker of the server, after it has answered its peer

    def call_back(self) -> None:
        """Call back for runs that wait, in this thread; all else is for the listener's own."""
        handed = 0
        try:
            delivery = self._begin()
            while delivery is not None:
                handed += 1
                self._call_all(delivery)
                delivery = self._go_on(delivery, handed < DIRECT_RUNS_MAX)
        except Exception:  # outermost: of what is ours in the worker's thread, whose own loop is Pyro5's
            try:
                self._source.on_defect()
                guards.print_error()
            finally:
                with self._lock:
                    self._give_up_turn()  # the listener's thread has a departure to tell
            raise

    def wake(self) -> None:
        """Have the listener's thread call back, unless somebody does, who looks at the queue again. Holds the lock."""
        if self._membership.listened_by is None:
            self._membership.changed.notify_all()

    def _begin(self) -> Deliver | None:
        """Return the first run that waits, if nobody else calls back; the next one is for this thread alone then."""
        membership = self._membership
        with self._lock:
            if membership.direct_listener is not self or membership.listened_by is not None:
                return None  # who calls back now looks at the queue again
            delivery = self._take()
            if delivery is not None:
                membership.listened_by = membership.read_by = get_ident()
            return delivery

    def _go_on(self, done: Deliver, may: bool) -> Deliver | None:
        """Take a run as read; return the next one, or let the listener's thread go on."""
        with self._lock:
            self._source.consumed(done)
            delivery = self._take() if may else None
            if delivery is None:
                self._give_up_turn()
            return delivery

    def _give_up_turn(self) -> None:
        membership = self._membership
        if membership.listened_by == get_ident():
            membership.listened_by, membership.read_by = None, self._thread.ident
        if membership.queued:
            membership.changed.notify_all()

    def _take(self) -> Deliver | None:
        queued = self._membership.queued
        if queued and isinstance(first := queued[0], Deliver) and not isinstance(first.run.payloads[0], StateToMerge):
            queued.popleft()
            return first
        if queued:
            self._membership.changed.notify_all()
        return None


class MessageReader:
    """Makes messages of runs as they are read. A run's clock has only what changed since its sender's last one."""

    def __init__(self) -> None:
        self._base: dict[Process, int] = {}
        self._pasts: dict[Process, dict[Process, int]] = {}

    def begin(self, base: dict[Process, int]) -> None:
        """Begin with another session: what every member had delivered."""
        self._base, self._pasts = base, {}

    def note(self, run: Run) -> dict[Process, int]:
        """Return how much of each process the sender of a run had delivered."""
        past = self._pasts.get(run.sender)
        if past is None or run.clock:
            past = self._pasts[run.sender] = {**(self._base if past is None else past), **run.clock}
            past.pop(run.sender, None)  # its own are told by their numbers
        return past

    def messages(self, delivery: Deliver, machine: GroupMachine) -> Iterator[Message]:
        """Return a run's messages, each made as it is asked for."""
        # The loop over the messages runs in C: work in Python is per run (ARCHITECTURE 2). And no handler of a signal
        # raises between its steps, by which a message that is half made would be lost. `_make` is written in Python.
        run, serial, definition = delivery.run, delivery.serial, machine.definition
        past = self.note(run) if definition is not None and definition.ordering.is_causal else None
        numbers = range(run.first, run.last + 1)
        serials = range(serial, serial + len(run.payloads)) if serial else repeat(None)
        view, instance = repeat(delivery.view), repeat(machine.instance)
        return map(
            partial(tuple.__new__, Message),
            zip(repeat(run.sender), numbers, view, run.payloads, serials, instance, repeat(past), strict=False),
        )
