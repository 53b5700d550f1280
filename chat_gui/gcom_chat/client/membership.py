"""A group of the chat: a thread that receives, a thread that sends, and the backlog that newcomers are given."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread

import gcom
from gcom_chat.client.own_lines import WAITING_MAX, Line, OwnLines
from gcom_chat.client.times import TimesOfMessages
from gcom_chat.model.backlog import Backlog
from gcom_chat.model.members import Pulse
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate
from gcom_chat.model.updates import Arrived, BacklogCame, HeldBackNow, Left, Update
from gcom_chat.model.wire import ChatMessage, decode, encode

BATCH_MAX = 500  # events per update: more would hold the screen for longer than a frame
NOT_IN = QT_TRANSLATE_NOOP("say", "this chat is not in the group; the banner says why")
HELD_S = 0.5  # what waits for less is no trouble that one could see
POLL_S = 0.25  # how soon a thread sees that it is to stop
PRIVATE_S = 10  # for a member that does not read: all that is typed waits behind it


def wall_ms() -> int:
    """Return the wall clock, in ms since 1970."""
    return time.time_ns() // 1_000_000


class ChatMembership:
    """A group that the chat is in. `send` never waits; what becomes of a message is told to the sink."""

    def __init__(self, group: gcom.Group, backlog: Backlog, sink: Callable[[Update], None]) -> None:
        self.group = group
        self._backlog = backlog
        self._sink = sink
        self._stopped = Event()
        self._lines = OwnLines(group, sink)
        self._times = TimesOfMessages(group)
        self._looked_s = 0.0
        self._held = 0
        self._pulse: Pulse | None = None
        self._state: tuple[frozenset[tuple[str, str]], bool] | None = None  # that came since the last batch
        threads = (self._receive, f"chat receives {group.name}"), (self._send_all, f"chat sends {group.name}")
        self._threads = [Thread(target=run, name=name, daemon=True) for run, name in threads]

    def start(self) -> None:
        """Begin to receive and to send."""
        for thread in self._threads:
            thread.start()

    def send(self, message: ChatMessage, to: str = "") -> str:
        """Send a message to all, or to one member; return why it is not taken, empty: it is."""
        if self._lines.add(message, to):
            return ""
        if self._lines.closed or self._stopped.is_set():
            return translate("say", NOT_IN)
        return translate("chat", "{:,} messages wait for the group already").format(WAITING_MAX)

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

    def set_state(self, data: bytes) -> None:
        """Take a member's state, and tell what it holds; called while the receiving thread reads an event."""
        before = self._backlog.names
        self._backlog.set_state(data)
        self._state = self._backlog.names, bool(before & self._backlog.names)
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
                self._tell_lines(events)
        # `Left` comes last: on hearing it somebody may join again, which is refused while this one is not over.
        self._times.close()
        self._stopped.set()
        self._lines.close(translate("chat", "this group was left"))
        self._sink(Left(self.group.name, reason))

    def _tell_lines(self, events: list[gcom.Event]) -> None:
        state, self._state = self._state, None
        if state is None:
            self._lines.on_events(events)
        else:
            # It came before the last event of the batch, and behind the others.
            self._lines.on_events(events[:-1])
            self._lines.on_state(*state)
            self._lines.on_events(events[-1:])

    def _batch(self) -> list[gcom.Event]:
        """Return the events that are there, after waiting for a first one."""
        events: list[gcom.Event] = []
        try:
            event = self.group.receive(POLL_S)
            while event is not None:
                events.append(event)
                last = isinstance(event, gcom.Departure) and not event.returning
                full = len(events) >= BATCH_MAX or self._state is not None
                event = None if last or full else self.group.receive(0)
        except gcom.StateFailed:
            pass  # a Departure follows
        return events

    # the sending thread

    def _send_all(self) -> None:
        while not self._stopped.is_set():
            if line := self._lines.first(POLL_S):
                self._send_one(line)
            self._look()
        self._lines.close(translate("chat", "this group was left"))

    def _send_one(self, line: Line) -> None:
        """Try to send one; where it has to wait it stays the first."""
        with self._lines.attempt():
            try:
                if line.to:
                    self.group.send_to(line.to, encode(line.message), timeout_s=PRIVATE_S)
                    self._lines.whispered(line)
                else:
                    self._multicast(line)
            except gcom.Detached:
                # Until it hears a quorum, or is back.
                self._stopped.wait(POLL_S)
            except gcom.GComTimeout as error:
                if line.to:
                    self._lines.refuse(line, str(error))
            except gcom.GComError as error:
                self._lines.refuse(line, str(error))

    def _multicast(self, line: Line) -> None:
        group, before = self.group, (self.group.process, self.group.instance)
        # A short wait, again and again: the thread sees in time that it is to stop.
        number = group.send(encode(line.message), timeout_s=POLL_S)
        all_left, after = not group.pending, (group.process, group.instance)
        if before != after:
            # It went over to another instance meanwhile: which of the two gave the number?
            with suppress(gcom.BadValue):
                receipt = group.receipt(number)
                before = receipt.process, receipt.instance
        self._lines.sent(line, number, before, all_left and before == after)

    def _look(self) -> None:
        """Tell, now and then, which own lines have left, and which all members hold."""
        if time.monotonic() - self._looked_s >= POLL_S:
            self._lines.look()
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
