"""The group that an application holds: send, receive, see the view, leave.

Messages wait in a queue that the application empties in its own thread: by iteration, by `receive`, or by a listener's
one thread. What it has read is credit for the senders, so a slow reader slows its senders and memory stays bounded.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from threading import Lock, Thread, get_ident
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from loguru import logger

from gcom.core import events
from gcom.core.effects import Deliver, Ended, Installed, Skip, Suspected
from gcom.core.group import Stage
from gcom.errors import (
    AlreadyReceiving,
    BadValue,
    Detached,
    GComError,
    GComTimeout,
    MessageTooLarge,
    NotAMember,
    WouldBlock,
)
from gcom.shell.stay import Arrival, Stay
from gcom.values import limits, names
from gcom.values.definition import Definition
from gcom.values.names import Process
from gcom.values.run import Payload
from gcom.values.view import View

if TYPE_CHECKING:
    from gcom.shell.node import Node


GOING_S = 1.0  # of the time that a leave is given, what is kept for the view change without this process


class Message(NamedTuple):
    """One delivered message: `number` in the stream of `sender`, delivered in `view`."""

    sender: Process
    number: int
    view: int
    payload: Payload

    @property
    def name(self) -> str:
        """The sender's name, without its incarnation."""
        return names.name_of(self.sender)

    @property
    def text(self) -> str:
        """The payload as text; bytes that are no UTF-8 are replaced."""
        return self.payload if isinstance(self.payload, str) else self.payload.decode(errors="replace")

    @property
    def data(self) -> bytes:
        """The payload as bytes; text as UTF-8."""
        return self.payload if isinstance(self.payload, bytes) else self.payload.encode()


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A view is in force. `left` says why each process went."""

    view: View
    joined: tuple[Process, ...]
    left: dict[Process, str]


@dataclass(frozen=True, slots=True)
class Lost:
    """Messages first … first+count-1 of `sender` will never be delivered here (BASIC)."""

    sender: Process
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """This process began to suspect another; whether it goes is for the next view to say."""

    process: Process
    reason: str


@dataclass(frozen=True, slots=True)
class Departure:
    """This process's stay is over: reason request, expelled, quorum or exit (or defect: one of GCom's own).

    `unconfirmed`: first and last of its own messages that may not have arrived everywhere; `unsent`: how many more
    `send` had taken that never got a number.
    """

    reason: str
    unconfirmed: tuple[int, int] | None
    unsent: int = 0


Event = Message | ViewChange | Lost | Suspicion | Departure


class Group:
    """A membership, from `Node.join` until `leave`, expulsion, or loss of the quorum. Safe to use from any thread."""

    def __init__(self, node: Node, stay: Stay) -> None:
        self._node = node
        self._stay = stay
        self._receiving = Lock()  # held by the one receiver
        self._current: Iterator[Message] = iter(())  # of the run that is being read
        self._reading: Deliver | Skip | None = None
        self._listener: Thread | None = None
        self._listener_id: int | None = None

    # what it is

    @property
    def name(self) -> str:
        """The group's name."""
        return self._stay.machine.group

    @property
    def process(self) -> Process:
        """This process's identity in the group: name#incarnation."""
        return self._stay.machine.process

    @property
    def instance(self) -> str:
        """The id of this life of the group's name."""
        return self._stay.machine.instance

    @property
    def definition(self) -> Definition:
        """What the group's creator picked."""
        definition = self._stay.machine.definition
        assert definition is not None, "a Group is made for a member"
        return definition

    @property
    def view(self) -> View:
        """The view in force; after the end, the last one."""
        view = self._stay.machine.view
        assert view is not None, "a Group is made for a member"
        return view

    @property
    def members(self) -> tuple[str, ...]:
        """The names in the view, oldest first; the first leads."""
        return self.view.names

    @property
    def pending(self) -> int:
        """Messages sent here that have not yet gone into the group."""
        with self._node.lock:
            return self._stay.unnumbered

    # sending

    def send(self, payload: Payload, timeout_s: float | None = 10.0) -> None:
        """Multicast bytes or text to all members, this one included; blocks while the window is full.

        Raises MessageTooLarge, BadValue, NotAMember (once `leave` began), Detached, GComTimeout; WouldBlock inside a
        callback.
        """
        _check(payload)
        stay = self._stay
        with self._node.lock:
            if stay.ended is not None or stay.leaving or not stay.room:
                self._await_room(timeout_s)
            stay.put(payload)

    def send_many(self, payloads: Iterable[Payload], timeout_s: float | None = 10.0) -> None:
        """As `send`, for each; `timeout_s` holds for each. What was sent before an error stays sent."""
        for payload in payloads:
            self.send(payload, timeout_s)

    def _await_room(self, timeout_s: float | None) -> None:
        deadline = None if timeout_s is None else monotonic() + timeout_s
        while True:
            self._raise_if_ended()
            if self._stay.leaving:
                raise NotAMember(f"group {self.name!r} is being left: nothing more is sent in it")
            if self._stay.room:
                return
            if get_ident() == self._listener_id:
                raise WouldBlock(f"the window of group {self.name!r} is full, and a callback must not wait for it")
            if not self._stay.wait(deadline):
                waits_for = self._stay.machine.waits_for or "the members to read"
                raise GComTimeout(
                    f"no room to send in group {self.name!r} after {timeout_s} s: it waits for {waits_for}"
                )

    def _raise_if_ended(self) -> None:
        ended = self._stay.ended
        if ended is None:
            return
        if ended.reason in ("request", "exit"):
            raise NotAMember(f"group {self.name!r} was left: join it again")
        why = {"expelled": "the group went on without it", "quorum": "it lost contact to a quorum of the group"}
        why["defect"] = "a defect in GCom ended this node; its traceback was printed"
        lost = ended.unconfirmed
        open_ones = f"; its messages {lost[0]} to {lost[1]} may not have arrived" if lost else ""
        if self._stay.unnumbered:
            open_ones += f"; {self._stay.unnumbered} more were never sent"
        raise Detached(
            f"{self.process} is detached from group {self.name!r}: {why[ended.reason]}{open_ones}; join again"
        )

    def flush(self, timeout_s: float | None = 10.0) -> None:
        """Wait until every member holds all that was sent here. Raises GComTimeout, NotAMember, Detached."""
        deadline = None if timeout_s is None else monotonic() + timeout_s
        with self._node.lock:
            while self._stay.unnumbered or not self._stay.machine.flushed:
                self._raise_if_ended()
                if not self._stay.wait(_soon(deadline)) and deadline is not None and monotonic() >= deadline:
                    why = self._stay.machine.waits_for or "the members to confirm"
                    text = f"not all that was sent in group {self.name!r} has arrived after {timeout_s} s"
                    raise GComTimeout(f"{text}: it waits for {why}")

    # receiving

    def receive(self, timeout_s: float | None = None) -> Event | None:
        """The next event; None when there is none for `timeout_s` seconds.

        After the Departure it raises NotAMember or Detached. Raises AlreadyReceiving beside a loop or a listener.
        """
        with self._as_receiver():
            return self._next(timeout_s)

    def events(self, idle_s: float | None = None) -> Iterator[Event]:
        """All events, until the Departure, which is the last, or until nothing came for `idle_s` seconds."""
        with self._as_receiver():
            while True:
                yield from self._current
                event = self._next(idle_s)
                if event is None:
                    return
                yield event
                if isinstance(event, Departure):
                    return

    def __iter__(self) -> Iterator[Message]:
        """The messages, until this process leaves; raises Detached if it lost the group instead."""
        for event in self.events():
            if isinstance(event, Message):
                yield event
            elif isinstance(event, Departure) and event.reason not in ("request", "exit"):
                self._raise_if_ended()

    def listen(
        self,
        on_message: Callable[[Message], object] | None = None,
        on_view: Callable[[View], object] | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> None:
        """Call back for each event, in order, from one thread of this group's own, until the Departure.

        A callback may send; it must not wait for other events. What it raises is printed, and the next event goes on.
        Without any callback what comes is read and dropped. Raises AlreadyReceiving beside a loop or a listener;
        NotAMember or Detached after the Departure.
        """
        if not self._receiving.acquire(blocking=False):
            raise AlreadyReceiving(f"group {self.name!r} has a receiver: a loop or a listener")
        self._raise_if_over()
        calls = (on_message, on_view, on_event)
        self._listener = Thread(target=self._listen, args=calls, name=f"gcom listener {self.name}", daemon=True)
        self._listener.start()

    def _raise_if_over(self) -> None:
        try:
            with self._node.lock:
                if not self._stay.arrivals:
                    self._raise_if_ended()
        except GComError:
            self._receiving.release()
            raise

    def _listen(
        self,
        on_message: Callable[[Message], object] | None,
        on_view: Callable[[View], object] | None,
        on_event: Callable[[Event], object] | None,
    ) -> None:
        self._listener_id = get_ident()
        event: Event | None = None
        while not isinstance(event, Departure):
            event = self._next(None)
            try:
                if on_event and event:
                    on_event(event)
                if on_message and isinstance(event, Message):
                    on_message(event)
                elif on_view and isinstance(event, ViewChange):
                    on_view(event.view)
            except Exception:  # outermost: what the application's callback raises is not this thread's end
                traceback.print_exc()  # the library's log may be disabled, and an application's mistake must be seen
                logger.error("a callback of group {} failed", self.name)
        self._receiving.release()

    @contextmanager
    def _as_receiver(self) -> Iterator[None]:
        if not self._receiving.acquire(blocking=False):
            raise AlreadyReceiving(f"group {self.name!r} has a receiver: a loop or a listener")
        try:
            yield
        finally:
            self._receiving.release()

    def _next(self, timeout_s: float | None) -> Event | None:
        message = next(self._current, None)
        if message is not None:
            return message
        arrival = self._arrival(None if timeout_s is None else monotonic() + timeout_s)
        match arrival:
            case None:
                return None
            case Deliver(run, view):
                self._reading = arrival
                numbers = range(run.first, run.last + 1)
                self._current = map(Message._make, zip(repeat(run.sender), numbers, repeat(view), run.payloads))
                return next(self._current)
            case Installed(view, joined, left):
                return ViewChange(view, joined, left)
            case Skip(sender, first, count, _):
                self._reading = arrival
                return Lost(sender, first, count)
            case Suspected(process, _, reason):
                return Suspicion(process, reason)
            case Ended():
                with self._node.lock:
                    return Departure(arrival.reason, arrival.unconfirmed, self._stay.unnumbered)

    def _arrival(self, deadline: float | None) -> Arrival | None:
        stay = self._stay
        with self._node.lock:
            if self._reading is not None:
                reading, self._reading = self._reading, None
                stay.consumed(reading)
            while not stay.arrivals:
                self._raise_if_ended()
                if not stay.wait(deadline):
                    return None
            return stay.arrivals.popleft()

    # membership

    def wait_for_members(self, count: int, timeout_s: float | None = None) -> View:
        """Wait until the view has at least `count` members; raises GComTimeout, NotAMember, Detached."""
        deadline = None if timeout_s is None else monotonic() + timeout_s
        with self._node.lock:
            while len(self.view.members) < count:
                self._raise_if_ended()
                if not self._stay.wait(deadline):
                    present = ", ".join(self.members)
                    raise GComTimeout(
                        f"group {self.name!r} has not {count} members after {timeout_s} s, only {present}"
                    )
            return self.view

    def leave(self, timeout_s: float = 10.0) -> None:
        """Leave: what was sent goes first, the others' view goes on without this process. May be called again.

        Never raises for a group that is lost already; after `timeout_s` seconds it goes without waiting. What the
        members' windows had no room for until then is not sent, and a WARNING says how many messages that were.
        """
        deadline = monotonic() + timeout_s
        stay = self._stay
        with self._node.lock:
            again = stay.leaving or stay.ended is not None
            stay.begin_leaving()
            unsent_until = deadline - min(GOING_S, timeout_s / 2)
            while stay.unnumbered and self.view.started and not stay.ended and stay.wait(unsent_until):
                pass
            if stay.machine.stage is Stage.MEMBER and not stay.ended:
                stay.step(events.Leave())
            while not stay.ended and stay.wait(deadline):
                pass
            if not stay.ended:
                stay.step(events.Exit())
        if stay.unnumbered and not again:
            logger.warning("{} left with {} messages that were never sent", self.process, stay.unnumbered)

    def __repr__(self) -> str:
        return f"<gcom.Group {self.name!r} as {self.process}, view {self.view.number}: {', '.join(self.members)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()


def _soon(deadline: float | None) -> float:
    """Acks change nothing that a waiter is told of, so look again soon."""
    soon = monotonic() + limits.HEARTBEAT_MS / 1000
    return soon if deadline is None else min(deadline, soon)


def _check(payload: object) -> None:
    """Raise BadValue or MessageTooLarge unless `payload` may be sent."""
    if type(payload) is bytes:
        size = len(payload)
    elif type(payload) is str:
        size = len(payload) if payload.isascii() else len(_utf8(payload))
    else:
        raise BadValue(f"a message is bytes or str, not {type(payload).__name__}")
    if size > limits.MESSAGE_BYTES_MAX:
        raise MessageTooLarge(
            f"a message of {size:,} bytes is over the limit of {limits.MESSAGE_BYTES_MAX:,}: cut it up"
        )


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadValue(f"text that cannot be encoded as UTF-8: {error.reason} at {error.start}; send bytes") from error
