"""The receiving part of an `AsyncGroup`: events by `async for`, by `receive`, or by callbacks of a listening task.

An event is taken from the queue in one step, and handed over without a wait: a cancelled receive has taken nothing.
What is about the application's state may call it back, and so it is dealt with in a worker's thread, which has the
loop call back. A receive that is cancelled meanwhile leaves that for the next one.
"""

from __future__ import annotations

from asyncio import Future, Task, current_task, wait
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from loguru import logger

from gcom.aio.handle import AsyncHandle
from gcom.aio.tasks import awaited
from gcom.core.messages.effects import MergeState, SetState, StateUnavailable, TakeState
from gcom.errors import AlreadyReceiving, StateFailed
from gcom.runtime.api import guards
from gcom.runtime.api.events import Departure, Event, Message, Unicast
from gcom.runtime.api.guards import deadline_of
from gcom.runtime.api.listener import Callbacks
from gcom.runtime.api.receiving import ReceivingWaits
from gcom.runtime.queue_items import Entered, Gone, QueueItem
from gcom.runtime.user_process.entry import application_call
from gcom.values.view import View

AboutState = TakeState | SetState | MergeState | StateUnavailable | Gone | Entered
OF_STATE = (TakeState, SetState, MergeState, StateUnavailable, Gone, Entered)  # these may call the application back


# Classes, not generators: a generator that is cancelled once is over, and the next message would have no reader.
class EventIterator:
    """The events of a group, for `async for`; goes on after a cancellation."""

    def __init__(self, receive: Callable[[], Awaitable[Event | None]]) -> None:
        self._receive = receive
        self._over = False

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = None if self._over else await self._receive()
        if event is None:
            raise StopAsyncIteration
        self._over = isinstance(event, Departure) and not event.returning
        return event


class MessageIterator:
    """The messages of a group, for `async for`; goes on after a cancellation."""

    def __init__(self, events: AsyncIterator[Event], check: Callable[[Event], None]) -> None:
        self._events = events
        self._check = check

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        async for event in self._events:
            if isinstance(event, Message):
                return event
            self._check(event)
        raise StopAsyncIteration


class AsyncReceiving(AsyncHandle, ReceivingWaits):
    """The methods of a group that hand over events."""

    _handling: Future[Event | None] | None = None  # an item that the worker deals with
    _reader: Task[Any] | None = None  # the task that has read last

    async def receive(self, timeout_s: float | None = None) -> Event | None:
        """Return the next event; None when there is none for `timeout_s` seconds.

        Cancelled, it has taken nothing: the next receive returns that event. After the last Departure it raises
        NotAMember or Detached. Raises AlreadyReceiving beside another task that receives, and beside a listener.
        """
        deadline = deadline_of(timeout_s)
        self._raise_beside_listener()
        taker = object()
        try:
            self._take_place(taker)
            return await self._next(deadline)
        finally:
            self._receiver.takers.pop(taker, None)

    def events(self, idle_s: float | None = None) -> AsyncIterator[Event]:
        """Yield events until the last Departure, after which nothing comes, or until none came for `idle_s` seconds."""
        deadline_of(idle_s)
        return EventIterator(lambda: self.receive(idle_s))

    def __aiter__(self) -> AsyncIterator[Message]:
        """Yield the multicast messages until this process leaves; raises Detached if it lost the group for good.

        Other events are passed over, unicasts too, and what was missed while it was away: `events` tells of all.
        """
        return MessageIterator(self.events(), self._check_message_loop)

    def listen(
        self,
        on_message: Callable[[Message], object] | None = None,
        on_view: Callable[[View], object] | None = None,
        on_event: Callable[[Event], object] | None = None,
        on_unicast: Callable[[Unicast], object] | None = None,
    ) -> None:
        """Have a task call back for each event, one at a time and in order, until a Departure with `returning=False`.

        As `gcom.Group.listen`. A callback is a function or an `async def`; the next event waits until it has returned.
        What it raises is printed, and the next event goes on.
        """
        self._raise_beside_listener()
        callbacks = Callbacks.checked(on_message, on_view, on_event, on_unicast, awaited=True)
        self._check_listening()
        self._listening = self._tasks.start(self._call_back(callbacks))

    async def wait_for_state(self, timeout_s: float | None = 10.0) -> bool:
        """Wait until `set_state` has been called, by this task unless another one receives.

        As `gcom.Group.wait_for_state`.
        """
        deadline = deadline_of(timeout_s)
        while (
            state := await self._waits.run(self._await_state(timeout_s, deadline), give_back=self._put_back_state)
        ) is not None:
            try:
                self._handling = self._worker.post(partial(self._handle, state))
                await self._handled_by_worker()
            finally:
                self._receiver.takers.pop(self._state_taker, None)
        return not self._session.state.lost

    async def _next(self, deadline: float | None) -> Event | None:
        self._reader = current_task()
        await self._give_way()
        if self._given_back:
            return self._given_back.popleft()
        message = next(self._current, None)
        while message is None:
            if self._handling is None:
                found = await self._waits.run(self._next_found(deadline), give_back=self._put_back)
                if not isinstance(found, OF_STATE):
                    return found
                self._handling = self._worker.post(partial(self._handle, found))
            if event := await self._handled_by_worker():
                return event
        return message

    async def _next_found(self, deadline: float | None) -> Event | AboutState | None:
        """Return the next event, or what the worker has to make one of; None at the deadline. Holds the lock."""
        while (item := await self._next_item(deadline)) is not None:
            if isinstance(item, OF_STATE):
                return item
            if event := self._handled(item):
                return event
        return None

    async def _handled_by_worker(self) -> Event | None:
        """Return what the worker made of an item. Cancelled, it leaves that for the next call."""
        assert self._handling is not None, "an item was posted"
        await wait([self._handling])
        handled, self._handling = self._handling, None
        return handled.result()

    @application_call()
    def _handle(self, item: QueueItem) -> Event | None:
        return self._handled(item)

    @application_call()
    def _put_back(self, found: Event | AboutState | None) -> None:
        if isinstance(found, OF_STATE):
            with self._host.lock:
                self._membership.queued.appendleft(found)
        else:
            self._give_back(found)

    def _put_back_state(self, state: SetState | None) -> None:
        if state is not None:
            self._put_back(state)
            self._receiver.takers.pop(self._state_taker, None)

    @property
    def _reads_on(self) -> bool:
        """Tell whether another task comes to a barrier at which a joiner is given this member's state."""
        return self._reader is not None and not self._reader.done() and self._reader is not current_task()

    @application_call()
    def _check_listening(self) -> None:
        self._raise_if_through()

    def _check_message_loop(self, event: Event) -> None:
        """Raise what a loop over messages ends by."""
        self._leave_if_empty(event)
        if isinstance(event, Departure) and not event.returning and event.reason not in ("request", "exit"):
            guards.raise_if_ended(self._membership, self._session)

    def _raise_beside_listener(self) -> None:
        if self._listening is not None and not self._listening.done() and not self._in_callback:
            raise AlreadyReceiving(f"group {self._session.machine.group!r} has a receiver: a loop or a listener")

    async def _call_back(self, callbacks: Callbacks) -> None:
        event: Event | None = None
        taker = object()
        try:
            self._take_place(taker)
            while not isinstance(event, Departure) or event.returning:
                try:
                    event = await self._next(None)
                    if event is not None and callbacks.on_event is None:
                        self._leave_if_empty(event)
                except StateFailed:
                    guards.print_error()  # a departure follows
                    continue
                if event is not None:
                    await self._call(callbacks.for_event(event))
        finally:
            self._receiver.takers.pop(taker, None)

    async def _call(self, calls: Iterable[Callable[[], object]]) -> None:
        try:
            for call in calls:
                await awaited(call())
        except Exception:  # outermost: what the application's callback raises is not this task's end
            guards.print_error()  # the library's log may be disabled, and an application's mistake must be seen
            logger.error("a callback of group {} failed", self._membership.session.machine.group)
