"""`Bridge`: the one object that crosses from the client's threads into the window's.

Updates collect for TICK_MS and come as one batch, so that a flood costs a look per tick and not per message. A queue
that is full makes its caller wait: then the group's own flow control slows the senders down.
"""

from __future__ import annotations

from collections import deque
from threading import Condition

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from gcom_chat.model.updates import Arrived, LinesMoved, Update

TICK_MS = 40  # 25 looks per second: text does not seem smoother above that
QUEUE_EVENTS_MAX = 4_000  # half a second of a flood: then the group's own windows hold it back
BATCH_EVENTS_MAX = 300  # about 10 ms of work: the window answers in between


class Bridge(QObject):
    """A queue of updates; `arrived` brings a list of them, in the window's thread."""

    arrived = Signal(list)
    _woken = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._room = Condition()
        self._queue: deque[Update] = deque()
        self._size = 0
        self._scheduled = self._closed = False
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._drain)
        # Queued: it is emitted in the client's threads, and a timer can be started in its own thread alone.
        self._woken.connect(self._on_woken, Qt.ConnectionType.QueuedConnection)

    def post(self, update: Update) -> None:
        """Queue an update, from any thread but the window's; waits while the queue is full."""
        with self._room:
            # A client's thread waits here, its reader's included: so a flood slows the senders by their windows, and
            # not the screen.
            self._room.wait_for(lambda: self._size < QUEUE_EVENTS_MAX or self._closed)
            if self._closed:
                # A flood would have no bound now; what became of the own lines has.
                if isinstance(update, LinesMoved):
                    self._queue.append(update)
                return
            self._queue.append(update)
            self._size += _weight(update)
            # One wake-up for all that comes until the next look: a signal per message would fill Qt's own queue.
            wake, self._scheduled = not self._scheduled, True
        if wake:
            self._woken.emit()

    def close(self) -> None:
        """Make nobody wait any more, and bring nothing by itself; `rest` has what still comes of own lines."""
        with self._room:
            self._closed = True
            self._room.notify_all()
        self._timer.stop()

    def rest(self) -> list[Update]:
        """Return what came and was not brought."""
        with self._room:
            rest, self._queue = list(self._queue), deque()
        return rest

    @Slot()
    def _on_woken(self) -> None:
        self._timer.start(TICK_MS)

    @Slot()
    def _drain(self) -> None:
        batch, weight = [], 0
        with self._room:
            # Only as much as fits a frame of the screen; the rest has another turn, between which keys and the mouse
            # are heard.
            while self._queue and weight < BATCH_EVENTS_MAX:
                update = self._queue.popleft()
                batch.append(update)
                weight += _weight(update)
            self._size -= weight
            self._scheduled = bool(self._queue)
            # All and not one: a caller with a single event may go on where one with hundreds still waits.
            self._room.notify_all()
        if self._scheduled:
            # Sooner than a tick: what is left has waited for one already.
            self._timer.start(TICK_MS // 2)
        if batch:
            # Outside the lock: a slot may paint for long, and the threads that post would wait for all of it.
            self.arrived.emit(batch)


def _weight(update: Update) -> int:
    return len(update.events) if isinstance(update, Arrived) else 1
