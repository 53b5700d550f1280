"""One group of the chat: a thread that receives, a thread that sends, and the backlog that newcomers are given."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread

import gcom
from chat_gui.client.own_messages import OwnMessages
from chat_gui.client.times import TimesOfMessages
from chat_gui.model.backlog import Backlog
from chat_gui.model.members import Pulse
from chat_gui.model.texts.words import QT_TRANSLATE_NOOP, translate
from chat_gui.model.updates import (
    Arrived,
    BacklogCame,
    HeldBackNow,
    HeldByAll,
    Left,
    MessageNumbered,
    Unsent,
    Update,
    Whispered,
)
from chat_gui.model.wire import ChatMessage, decode, encode

BATCH_MAX = 500  # events per update: more would hold the screen for longer than a frame
NOT_IN = QT_TRANSLATE_NOOP("say", "this chat is not in the group; the banner says why")
UNSENT_MAX = 1_000  # own messages that wait for the group
HELD_S = 0.5  # what waits for less is no trouble that one could see
POLL_S = 0.25  # how soon a thread sees that it is to stop


def wall_ms() -> int:
    """Return the wall clock, in ms since 1970."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class _Wish:
    """A message to send; `to` names a member, or is empty for all."""

    message: ChatMessage
    to: str = ""


class ChatMembership:
    """A group that the chat is in. `send` never waits; what becomes of a message is told to the sink."""

    def __init__(self, group: gcom.Group, backlog: Backlog, sink: Callable[[Update], None]) -> None:
        self.group = group
        self._backlog = backlog
        self._sink = sink
        self._wishes: Queue[_Wish] = Queue(UNSENT_MAX)
        self._stopped = Event()
        # Without it: 1. `send` sees that nothing has stopped. 2. The sending thread finds its queue empty, and ends.
        # 3. `send` puts its message, which nobody sends or refuses. It is shut before the queue is emptied at last.
        self._door = Lock()
        self._shut = False  # nothing more is taken: nobody would send it
        self._own = OwnMessages(group)
        self._times = TimesOfMessages(group)
        self._looked_s = 0.0
        self._held = 0
        self._pulse: Pulse | None = None
        threads = (self._receive, f"chat receives {group.name}"), (self._send_all, f"chat sends {group.name}")
        self._threads = [Thread(target=run, name=name, daemon=True) for run, name in threads]

    def start(self) -> None:
        """Begin to receive and to send."""
        for thread in self._threads:
            thread.start()

    def send(self, message: ChatMessage, to: str = "") -> str:
        """Send a message to all, or to one member; return why it is not taken, empty: it is."""
        with self._door:
            if self._shut or self._stopped.is_set():
                return translate("say", NOT_IN)
            try:
                self._wishes.put_nowait(_Wish(message, to))
            except Full:
                return translate("chat", "{:,} messages wait for the group already").format(UNSENT_MAX)
        return ""

    def leave(self, timeout_s: float) -> None:
        """Leave the group, and wait until its last event was told."""
        self.group.leave(timeout_s)
        # The receiving thread alone: it says `Left`, while the other one may be in the middle of a send.
        self._threads[0].join(timeout_s)
        # Where that thread did not end in time, the sending one is to end all the same.
        self._stopped.set()

    def join(self, timeout_s: float) -> None:
        """Wait until both threads are through, after the group was left."""
        for thread in self._threads:
            thread.join(timeout_s)

    @property
    def pulse(self) -> Pulse | None:
        """The other members' round trips and silences as last seen; asking waits for nothing."""
        return self._pulse

    @property
    def over(self) -> bool:
        """Tell whether nothing more comes of this membership."""
        return self._stopped.is_set()

    def backlog_then(self) -> Backlog:
        """Return the backlog as it was when this membership ended; an empty one before that."""
        return self._backlog if self.over else Backlog()

    # the receiving thread

    def tell_backlog(self) -> None:
        """Tell what the backlog holds, after a member's state has come."""
        self._sink(BacklogCame(self.group.name, self._backlog.topic, tuple(self._backlog.said)))

    def _receive(self) -> None:
        reason = ""
        while not reason:
            events = self._batch()
            for event in events:
                if isinstance(event, gcom.Message):
                    self._backlog.add(event.name, decode(event.payload))
                elif isinstance(event, gcom.Departure) and not event.returning:
                    reason = event.reason
            if events:
                self._sink(Arrived(self.group.name, wall_ms(), tuple(events), self._times.of(events)))
        # `Left` comes last: on hearing it somebody may join again, which is refused while this one is not over.
        self._times.close()
        self._stopped.set()
        self._sink(Left(self.group.name, reason))

    def _batch(self) -> list[gcom.Event]:
        """Return the events that are there, after waiting for a first one."""
        events: list[gcom.Event] = []
        try:
            event = self.group.receive(POLL_S)
            while event is not None:
                events.append(event)
                last = isinstance(event, gcom.Departure) and not event.returning
                event = None if last or len(events) >= BATCH_MAX else self.group.receive(0)
        except gcom.StateFailed:
            pass  # a Departure follows
        return events

    # the sending thread

    def _send_all(self) -> None:
        while not self._stopped.is_set():
            with suppress(Empty):
                self._send_one(self._wishes.get(timeout=POLL_S))
            self._look()
        with self._door:
            self._shut = True
        # Given back, not dropped: these texts stand in the input again.
        while not self._wishes.empty():
            self._refuse(self._wishes.get(), translate("chat", "this group was left"))

    def _send_one(self, wish: _Wish) -> None:
        """Send one, for as long as that takes: a detached member waits for its quorum."""
        name, payload = self.group.name, encode(wish.message)
        while True:
            try:
                if wish.to:
                    self.group.send_to(wish.to, payload, timeout_s=10)
                    self._sink(Whispered(name, wish.to, wish.message))
                else:
                    # A short wait, again and again: the thread sees in time that it is to stop.
                    number = self.group.send(payload, timeout_s=POLL_S)
                    self._own.sent(number)
                    self._sink(MessageNumbered(name, wish.message.id, number))
                return None
            except gcom.Detached:
                self._look()
                if self._stopped.wait(POLL_S):
                    return self._refuse(wish, translate("chat", "this group was left"))
            except gcom.GComTimeout as error:
                # A private one has waited 10 s for a member that does not read; all that is typed waits behind it.
                if wish.to or self._stopped.is_set():
                    return self._refuse(wish, str(error))
                self._look()
            except gcom.GComError as error:
                return self._refuse(wish, str(error))

    def _look(self) -> None:
        """Tell, now and then, which own messages all members hold."""
        if time.monotonic() - self._looked_s >= POLL_S:
            if last := self._own.held():
                self._sink(HeldByAll(self.group.name, last))
            self._looked_s = time.monotonic()
            self._look_for_held()

    def _look_for_held(self) -> None:
        """Tell how many messages have waited here for HELD_S, where that is another number now."""
        held: tuple[gcom.HeldBack, ...] = ()
        with suppress(gcom.GComError):  # the group was left
            seen = self.group.snapshot()
            held, self._pulse = seen.held_back, Pulse(time.monotonic(), seen.heard_s, seen.round_trip_s)
        count = sum(each.last - each.first + 1 for each in held if each.since_s >= HELD_S)
        if count != self._held:
            self._held = count
            self._sink(HeldBackNow(self.group.name, count))

    def _refuse(self, wish: _Wish, why: str) -> None:
        self._sink(Unsent(self.group.name, wish.message, why, wish.to))
