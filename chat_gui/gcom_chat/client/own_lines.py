"""`OwnLines`: the lines that were typed for one group, from the input to all members, or to their end as not sent.

`send` takes a message before the group has it, and its number holds for one life of this process in the group (process
and instance). So lines are kept by their own ids here, and each event that names numbers is applied to the lines of the
life of which it speaks. A line ends once: HELD, LOST or UNCONFIRMED; over BASIC, where nobody tells more, ORDERED.

A line that never arrived goes again by itself while the chat is in the group or on its way back: Settled says so of it,
or it got no number, or the state that a member gives on the return does not have it. It keeps its id, by which all
members know it, so that none shows it twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Lock

import gcom
from gcom_chat.model.chat import departed_text
from gcom_chat.model.rows import MessageState
from gcom_chat.model.texts.words import translate
from gcom_chat.model.updates import LinesMoved
from gcom_chat.model.wire import ChatMessage, decode

WAITING_MAX = 1_000  # own lines that wait for the group
LOOKS_MAX = 64  # receipts per look
_State = MessageState
_Life = tuple[str, str]  # process and instance: numbers are of these


@dataclass(slots=True)
class Line:
    """A line that has not ended; `to` names a member, or is empty for all."""

    message: ChatMessage
    to: str = ""
    state: MessageState = _State.WAITING
    life: _Life | None = None  # in which `send` took it
    number: int = 0  # 0: not taken, or carried over into an instance whose name is not known yet
    delivered: bool = False  # here

    @property
    def taken(self) -> bool:
        """Tell whether `send` has taken it."""
        return self.life is not None


class OwnLines:
    """The lines of one membership; any thread may `add`, one sends, and one reads events.

    `tell` takes each change, in order, from those two.
    """

    def __init__(self, group: gcom.Group, tell: Callable[[LinesMoved], None]) -> None:
        self._group, self._tell = group, tell
        self._reliable = group.definition.multicast is gcom.Multicast.RELIABLE
        self._changed = Condition()
        self._lines: dict[str, Line] = {}  # by id, in the order of typing
        self._last_taken: dict[_Life, int] = {}
        self._life: _Life = group.process, group.instance  # of the events that are read now
        self._doubted: list[Line] = []  # of a life that is over, until a member's state tells of them
        self._carried: list[Line] = []  # by a succession into an instance whose name comes with Returned
        self._attempting = False
        self._events: deque[gcom.Event] = deque()  # that wait for the end of an attempt
        self._moves: deque[LinesMoved] = deque()
        # A lock of its own: `tell` waits while the window falls behind, and the window's thread must not wait in `add`.
        self._telling = Lock()
        self._closed = ""

    # what is typed

    def add(self, message: ChatMessage, to: str = "") -> bool:
        """Take a line; return whether there was room for it, and anybody who would send it."""
        with self._changed:
            waiting = sum(not line.taken for line in self._lines.values())
            if self._closed or waiting >= WAITING_MAX:
                return False
            # At the end also where it went before: it is typed again.
            self._lines.pop(message.id, None)
            self._lines[message.id] = Line(message, to)
            self._changed.notify_all()
        return True

    @property
    def closed(self) -> bool:
        """Tell whether no line is taken any more."""
        return bool(self._closed)

    # the sending thread

    def first(self, timeout_s: float) -> Line | None:
        """Return the first line that `send` has not taken, after waiting for one."""

        def find() -> Line | None:
            return next((line for line in self._lines.values() if not line.taken), None)

        with self._changed:
            return self._changed.wait_for(find, timeout_s)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Keep events waiting while a line is being sent.

        1. `send` gives a line the number 5. 2. The process is put out, and Departure says that one message got no
        number. 3. Only now the number 5 is written down here. Had the Departure been read before, line 4 would have
        been taken for the one that was not sent.
        """
        with self._changed:
            self._attempting = True
        try:
            yield
        finally:
            with self._changed:
                self._attempting = False
                self._read_waiting()
            self._tell_moves()

    def sent(self, line: Line, number: int, life: _Life, all_left: bool) -> None:
        """Record that `send` took a line, and whether nothing that it took still waits; within an attempt."""
        with self._changed:
            line.life, line.number = life, number
            self._last_taken[life] = number
            if all_left:
                self._move(_State.SENT, [each for each in self._of(life) if each.state is _State.WAITING])

    def whispered(self, line: Line) -> None:
        """Record that `send_to` took a line; within an attempt."""
        with self._changed:
            line.life = self._life
            self._move(_State.SENT, [line])

    def refuse(self, line: Line, why: str) -> None:
        """Record that a line cannot be sent."""
        with self._changed:
            self._move(_State.LOST, [line], why)
        self._tell_moves()

    def look(self) -> None:
        """Find out which lines have left, and which all members hold; not within an attempt."""
        with self._changed:
            open_lines = [line for line in self._lines.values() if line.taken]
        if not open_lines:
            return
        life = self._group.process, self._group.instance
        mine = [line for line in open_lines if line.life == life and line.number]
        left = self._with(mine, ("sent", "ordered", "held"), lambda line: line.state is _State.WAITING)
        held = self._with(mine, ("held",), lambda line: line.state is _State.ORDERED) if self._reliable else []
        read = [line for line in open_lines if line.to] if self._private_held(open_lines) else []
        with self._changed:
            # Looked at without the lock: what an event has said meanwhile is newer.
            self._move(_State.SENT, [line for line in left if line.state is _State.WAITING and line.life == life])
            self._move(_State.HELD, [line for line in held if line.state is _State.ORDERED and line.life == life])
            self._move(_State.HELD, [line for line in read if line.message.id in self._lines])
        self._tell_moves()

    def _with(self, lines: list[Line], states: tuple[str, ...], wanted: Callable[[Line], bool]) -> list[Line]:
        """Return the lines that receipts show to be in one of these states."""
        asked = [line for line in lines if wanted(line)]
        # What holds of a message holds of all before it, so the last one says it of all: one receipt, as a rule.
        if asked and self._state_of(asked[-1]) in states:
            return asked
        found = []
        for line in asked[:LOOKS_MAX]:
            if self._state_of(line) not in states:
                break
            found.append(line)
        return found

    def _state_of(self, line: Line) -> str:
        try:
            receipt = self._group.receipt(line.number)
        except gcom.GComError:  # the group was left, or its numbers begin anew
            return ""
        return receipt.state if (receipt.process, receipt.instance) == line.life else ""

    def _private_held(self, lines: list[Line]) -> bool:
        if not any(line.to for line in lines):
            return False
        try:
            self._group.flush(0)
        except gcom.GComError:  # not yet
            return False
        return True

    # the receiving thread

    def on_events(self, events: Iterable[gcom.Event]) -> None:
        """Take events in order, after the window was told of them."""
        with self._changed:
            # A flood of others' messages has nothing to do with lines that are not there.
            self._events.extend(event for event in events if self._lines or not isinstance(event, gcom.Message))
            if not self._attempting:
                self._read_waiting()
        self._tell_moves()

    def on_state(self, has: Collection[tuple[str, str]], reaches_back: bool) -> None:
        """Take a member's state: the names and ids that it `has`, and whether it begins before this chat was away."""
        name = self._group.process.partition("#")[0]
        with self._changed:
            arrived = [line for line in self._doubted if (name, line.message.id) in has]
            self._move(_State.HELD, arrived)
            if reaches_back:
                self._again([line for line in self._doubted if line not in arrived])
            self._end_doubt()
        self._tell_moves()

    def close(self, why: str) -> None:
        """Take nothing more: what `send` has not taken is not sent."""
        with self._changed:
            self._closed = why
            self._changed.wait_for(lambda: not self._attempting, 10)
            self._read_waiting()
            self._move(_State.LOST, [line for line in self._lines.values() if not line.taken], why)
            # A leaver's last event settles all: what is still open has been neither confirmed nor refused.
            self._move(_State.UNCONFIRMED, list(self._lines.values()), why)
        self._tell_moves()

    # events; with the lock

    def _read_waiting(self) -> None:
        while self._events:
            self._on_event(self._events.popleft())

    def _on_event(self, event: gcom.Event) -> None:
        match event:
            case gcom.Message(sender, number) if self._lines:
                # What is delivered in the new life comes behind the state: there was none, then.
                self._end_doubt()
                if sender == self._life[0]:
                    self._on_delivered(decode(event.payload).id, number)
            case gcom.StateLost() | gcom.StateRestored():
                self._end_doubt()
            case gcom.ViewChange(view) if len(view.members) == 1:
                self._end_doubt()
            case gcom.QuorumLost(in_doubt) | gcom.QuorumRegained(in_doubt) if in_doubt:
                self._move(_State.DOUBT, self._of(self._life, *in_doubt))
            case gcom.Settled(first, last, arrived, process, instance):
                found = self._of((process, instance), first, last)
                if arrived:
                    self._move(_State.HELD, [line for line in found if line.delivered])
                    # It will be delivered here too, or a Departure comes first.
                    self._move(_State.SENT, [line for line in found if not line.delivered])
                else:
                    self._again(found)
            case gcom.Undelivered(_, payloads):
                ids = {decode(payload).id for payload in payloads}
                found = [line for line in self._lines.values() if line.to and line.message.id in ids]
                self._move(_State.UNCONFIRMED, found, translate("chat", "its member went before it had read it"))
            case gcom.Departure():
                self._on_departure(event, (event.process, event.instance))
            case gcom.Returned(process, instance):
                self._on_returned((process, instance))

    def _on_delivered(self, identity: str, number: int) -> None:
        line = self._lines.get(identity)
        if line is None or line.to:
            return
        line.life, line.number, line.delivered = self._life, number, True
        if not self._reliable:
            self._move(_State.ORDERED, [line])
        elif line.state is not _State.DOUBT:
            line.state = _State.ORDERED  # the window knows: it has the message itself

    def _on_departure(self, event: gcom.Departure, life: _Life) -> None:
        mine = self._of(life)
        if event.reason == "succession":
            self._carried = [line for line in mine if line.state in (_State.WAITING, _State.SENT)]
            for line in self._carried:
                line.number = 0
        else:
            first, last = event.unconfirmed or (0, -1)
            doubted = [line for line in mine if first <= line.number <= last]
            # The last ones got no number, and so never left.
            numbered = self._last_taken.get(life, 0) - event.unsent
            unsent = [line for line in mine if line.number > numbered]
            self._doubted += doubted
            for line in doubted:
                line.number = 0  # of a life that is over: no event speaks of it any more
            self._move(_State.DOUBT, doubted)
            self._again([line for line in unsent if line not in doubted])
        rest = [line for line in self._of(life) if line.number]
        # As its receipts say: the view that goes on has what is left. Over BASIC nobody says so.
        self._move(_State.HELD if self._reliable else _State.UNCONFIRMED, rest, departed_text(event.reason))
        private = [line for line in self._lines.values() if line.to and line.taken]
        read = len(private) - event.undelivered
        self._move(_State.HELD, private[: max(0, read)])
        self._move(_State.UNCONFIRMED, private[max(0, read) :], departed_text(event.reason))
        if not event.returning:
            self._end_doubt(departed_text(event.reason))
            waiting = [line for line in self._lines.values() if not line.number and not (line.to and line.taken)]
            self._move(_State.LOST, waiting, departed_text(event.reason))

    def _end_doubt(self, why: str = "") -> None:
        doubted, self._doubted = [line for line in self._doubted if line.state is _State.DOUBT], []
        self._move(_State.UNCONFIRMED, doubted, why or translate("chat", "this chat was out of the group"))

    def _on_returned(self, life: _Life) -> None:
        # They went on with the process, before all that it sends there.
        for number, line in enumerate(self._carried, 1):
            line.life, line.number = life, number
        self._carried = []
        self._last_taken = {known: last for known, last in self._last_taken.items() if known == life}
        self._life = life

    def _of(self, life: _Life, first: int = 0, last: int | None = None) -> list[Line]:
        """Return the lines that `send` took in a life, and gave numbers first … last."""
        return [
            line
            for line in self._lines.values()
            if line.life == life and not line.to and first <= line.number and (last is None or line.number <= last)
        ]

    def _again(self, lines: list[Line]) -> None:
        """Have lines sent once more, in the order of typing."""
        for line in lines:
            line.life, line.number, line.delivered = None, 0, False
        self._move(_State.WAITING, lines)
        self._changed.notify_all()

    def _move(self, state: MessageState, lines: list[Line], why: str = "") -> None:
        if not lines:
            return
        for line in lines:
            line.state = state
            if state in _ENDS:
                self._lines.pop(line.message.id, None)
        number = lines[0].number if len(lines) == 1 else 0
        ids = tuple(line.message.id for line in lines)
        self._moves.append(LinesMoved(self._group.name, ids, state, number, why))

    def _tell_moves(self) -> None:
        # One thread at a time, or two moves of one line could be told in the wrong order.
        with self._telling:
            while self._moves:
                self._tell(self._moves.popleft())


_ENDS = (_State.ORDERED, _State.HELD, _State.LOST, _State.UNCONFIRMED)
