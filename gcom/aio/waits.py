"""The driver of waits in an event loop: what a thread does by blocking, a future does here (gcom/runtime/waiting.py).

1. A task begins a wait: a step of it, under the host's lock. It ends there, or pauses, and then it is *watched*.
2. A change wakes the watcher, in any thread. The first wake schedules one look in the loop; others add none.
3. The look steps every watched wait under one hold of the lock. Those that end give their tasks the result.

So a loop is woken once for all that came since it looked last, and no wait needs a thread.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, CancelledError, Future, TimerHandle, get_running_loop
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from threading import get_ident
from time import monotonic
from typing import Any, TypeVar

from gcom.runtime.host import Host
from gcom.runtime.user_process.entry import application_call
from gcom.runtime.waiting import Pause, WatchedCondition

R = TypeVar("R")


class Lane:
    """Waits that end in the order in which they began: only the first of them is looked at."""

    __slots__ = ("waits", "watcher")

    def __init__(self) -> None:
        self.waits: deque[LoopWait] = deque()
        self.watcher: LoopWatcher | None = None


class LoopWait:
    """A wait, and the future of its task."""

    __slots__ = ("_begun", "_steps", "future", "timer")

    def __init__(self, steps: Coroutine[Any, Any, Any], future: Future[Any]) -> None:
        self.future = future
        self.timer: TimerHandle | None = None
        self._steps = steps
        self._begun = False

    def step(self, changed: bool) -> Pause | None:
        """Go on; return what it awaits now, None once it is over. Holds the lock."""
        self.end_timer()
        if self.future.done():  # its task was cancelled: to go on would take what nobody will be given
            self._steps.close()
            return None
        try:
            begun, self._begun = self._begun, True
            pause: Pause = self._steps.send(changed if begun else None)
            return pause
        except StopIteration as done:
            self.future.set_result(done.value)
        except Exception as error:  # outermost: of a wait, and its task is told
            self.future.set_exception(error)
        return None

    def end_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def close(self) -> None:
        """Give it up. Holds the lock."""
        self.end_timer()
        self._steps.close()


class LoopWatcher:
    """The watcher of one condition for one event loop."""

    def __init__(self, changed: WatchedCondition, loop: AbstractEventLoop, look: Callable[[LoopWatcher], None]) -> None:
        self.changed = changed
        self.armed = False  # set with the lock held, before the waits are looked at
        self.lanes: dict[Lane, None] = {}  # the loop's thread alone uses it
        self._loop = loop
        self._look = look
        self._thread = get_ident()

    def wake(self) -> None:
        """Have the loop look at its waits, unless it is about to."""
        if not self.armed:
            return
        self.armed = False
        if get_ident() == self._thread:
            self._loop.call_soon(self._look, self)
            return
        with suppress(RuntimeError):  # the loop is closed, and all of its tasks with it
            self._loop.call_soon_threadsafe(self._look, self)


class LoopWaits:
    """The waits of one node in the event loop that runs now. Its loop's thread alone uses it."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loop = get_running_loop()
        self._watchers: dict[WatchedCondition, LoopWatcher] = {}

    async def run(
        self,
        steps: Coroutine[Any, Any, R],
        lane: Lane | None = None,
        deadline: float | None = None,
        give_back: Callable[[R], object] | None = None,
    ) -> R:
        """Run a wait to its end. Cancelled, it is given up; `give_back` takes a result that comes too late.

        `deadline`, in monotonic seconds: when a wait that others in its lane hold up is looked at for itself.
        """
        lane = Lane() if lane is None else lane
        future: Future[R] = self._loop.create_future()
        wait = LoopWait(steps, future)
        lane.waits.append(wait)
        if lane.waits[0] is wait:
            self._look_at([lane])
        elif deadline is not None:
            wait.timer = self._loop.call_later(max(0.0, deadline - monotonic()), self._leave_lane, lane, wait)
        try:
            return await future
        except CancelledError:
            if future.done() and not future.cancelled():
                if give_back is not None and future.exception() is None:
                    give_back(future.result())
            else:
                self._give_up(lane, wait)
            raise

    def _leave_lane(self, lane: Lane, wait: LoopWait) -> None:
        """Look at a wait whose time is over before its turn came."""
        if wait in lane.waits:
            lane.waits.remove(wait)
            alone = Lane()
            alone.waits.append(wait)
            self._look_at([alone])

    def _look(self, watcher: LoopWatcher) -> None:
        self._look_at(tuple(watcher.lanes))

    def _passed(self, lane: Lane, wait: LoopWait) -> None:
        if lane.waits and lane.waits[0] is wait:
            self._look_at([lane], changed=False)

    @application_call()
    def _look_at(self, lanes: Iterable[Lane], changed: bool = True) -> None:
        with self._host.lock:
            for lane in lanes:
                self._advance(lane, changed)

    @application_call()
    def _give_up(self, lane: Lane, wait: LoopWait) -> None:
        with self._host.lock:
            wait.close()
            if wait in lane.waits:
                lane.waits.remove(wait)
            self._advance(lane, changed=True)

    def _advance(self, lane: Lane, changed: bool) -> None:
        """Step the first wait of a lane, and as long as that ends, the next. Holds the lock."""
        while lane.waits:
            wait = lane.waits[0]
            # Armed before it looks: what changes behind the look is a change that wakes.
            if lane.watcher is not None:
                lane.watcher.armed = True
            pause = wait.step(changed)
            if pause is not None:
                self._watch(lane, pause.changed)
                if pause.deadline is not None:
                    left = max(0.0, pause.deadline - monotonic())
                    wait.timer = self._loop.call_later(left, self._passed, lane, wait)
                return
            lane.waits.popleft()
            changed = True
        self._unwatch(lane)

    def _watch(self, lane: Lane, changed: WatchedCondition) -> None:
        watcher = self._watchers.get(changed)
        if watcher is None:
            watcher = self._watchers[changed] = LoopWatcher(changed, self._loop, self._look)
            changed.watchers = (*changed.watchers, watcher)
        if lane.watcher is not watcher:
            self._unwatch(lane)
            lane.watcher = watcher
            watcher.lanes[lane] = None
        watcher.armed = True

    def _unwatch(self, lane: Lane) -> None:
        watcher, lane.watcher = lane.watcher, None
        if watcher is None:
            return
        del watcher.lanes[lane]
        if not watcher.lanes:
            del self._watchers[watcher.changed]
            watcher.changed.watchers = tuple(it for it in watcher.changed.watchers if it is not watcher)
