"""The knowledge of a process at each of its events, and its sections: the definitions under the Rules table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tests.oracle.events import Deliver, End, Event, Gap, History, Message, Opened, Process, Send, Skip, State, View

Next = int | tuple[str, str] | Literal["END", "none", "unknown"]  # ("into", an instance): its view 1


@dataclass(slots=True)
class Place:
    """A process just before one of its events.

    `certain` is false after a gap until a state tells what was lost; then what is missing here may be in the gap.
    None stands for what a gap has made unknown.
    """

    certain: bool = True
    left: bool = False  # the end of its session was seen
    view: int | None = None
    last_view: int | None = 0
    members: tuple[Process, ...] | None = ()  # None: of a view whose record is in a gap
    members_of: int | None = None  # the view whose members they are
    number: int | None = 0
    serial: int | None = 0
    settled: set[Message] = field(default_factory=set)
    heard: dict[Process, int] = field(default_factory=dict)  # highest number delivered from each, or in base
    told: dict[Process, int] = field(default_factory=dict)  # the logged clock, changes applied

    def in_force(self) -> list[int | None]:
        """The view in force, None outside of a session; nothing where a gap hides which it is."""
        if self.left:
            return [None]
        return [self.view] if self.certain or self.view is not None else []

    def highest_settled(self, sender: Process) -> int:
        return max((number for who, number in self.settled if who == sender), default=0)


def walk(history: History) -> Iterator[tuple[Place, Event]]:
    """Each event with the place before it; the place moves on afterwards, so take what you need at once."""
    place = Place()
    for event in history.events:
        yield place, event
        _apply(place, event, history.process)


def _apply(place: Place, event: Event, process: Process) -> None:
    match event:
        case View():
            if place.last_view == 0:  # its own stream goes on from the instance before
                place.number = max(place.number or 0, event.base.get(process, 0))
            _install(place, event)
        case Send():
            place.number = event.number
            place.told.update(event.clock)
        case Deliver():
            place.settled.add(event.message)
            place.heard[event.sender] = max(event.number, place.heard.get(event.sender, 0))
            place.serial = place.serial if event.serial is None else event.serial
        case Skip():
            if event.message is not None:
                place.settled.add(event.message)
            place.serial = place.serial if event.serial is None else event.serial
        case End():
            place.view = None
            place.left = place.left or event.seen
        case Gap():
            place.certain = False
            place.view = place.last_view = place.number = place.serial = None
        case Opened():
            place.told = {}
            if event.state is not None and not place.certain:
                _restore(place, event.state)


def _install(place: Place, event: View) -> None:
    enters = not place.last_view
    if place.last_view == 0:
        place.serial = event.base_serial
    place.view = place.last_view = event.view
    place.members, place.members_of = event.members, event.view
    for sender, number in event.base.items() if enters else ():
        place.settled |= {(sender, n) for n in range(1, number + 1)}
        place.heard[sender] = max(number, place.heard.get(sender, 0))


def _restore(place: Place, state: State) -> None:
    place.certain = True
    place.view = place.last_view = state.view
    if place.members_of != state.view:
        place.members = place.members_of = None
    place.number = state.number
    place.serial = state.serial
    place.settled |= state.settled
    place.heard = dict(state.clock)


@dataclass(slots=True)
class Section:
    """A process's events from installing `view` to its next view or the end of its session.

    `start` is the place at the instant of installing, base included; None if that is not certain.
    """

    process: Process
    view: int
    members: tuple[Process, ...]
    start: dict[Process, int] | None
    serial: int | None
    covered: bool = True
    next: Next = "none"
    sends: list[Message] = field(default_factory=list)
    delivered: list[Message] = field(default_factory=list)
    placed: list[int] = field(default_factory=list)  # serials of messages
    no_ops: list[int] = field(default_factory=list)  # serials of none
    settled: set[Message] = field(default_factory=set)  # at its end, over the whole stay


def sections(history: History) -> list[Section]:
    found: list[Section] = []
    now: Section | None = None
    for place, event in walk(history):
        match event:
            case View():
                _close(now, place, event.view)
                now = _begin(history.process, place, event)
                found.append(now)
            case End():
                _close(now, place, _after_end(event))
                now = None
            case Opened(state=State() as state) if not place.certain and (now is None or now.view != state.view):
                _close(now, place, "unknown")
                now = Section(history.process, state.view, (), None, None, covered=False)
                found.append(now)
            case Gap():
                if now is not None:
                    now.covered = False
            case _:
                _note(now, place, event, history.process)
    if now is not None:
        _close(now, at_end(history), "END" if history.closed else "none" if now.covered else "unknown")
    return found


def _begin(process: Process, place: Place, event: View) -> Section:
    _install(after := Place(settled=set(place.settled), last_view=place.last_view), event)
    start = {who: after.highest_settled(who) for who in event.members} if place.certain else None
    serial = place.serial if place.last_view else event.base_serial
    return Section(process, event.view, event.members, start, serial, covered=place.certain)


def _note(now: Section | None, place: Place, event: Event, process: Process) -> None:
    """After a gap without state nobody knows which view is in force, so what is there counts for no section."""
    if now is None or place.view != now.view:
        return
    if isinstance(event, Send):
        now.sends.append((process, event.number))
    elif isinstance(event, Deliver):
        now.delivered.append(event.message)
    if isinstance(event, Deliver | Skip) and event.serial is not None:
        (now.no_ops if event.message is None else now.placed).append(event.serial)


def _close(now: Section | None, place: Place, following: Next) -> None:
    if now is not None:
        views_missing = isinstance(following, int) and following != now.view + 1 and not now.covered
        now.next = "unknown" if views_missing else following
        now.settled = set(place.settled)


def _after_end(event: End) -> Next:
    """A process that goes over by the decided value that begins the next instance is in a class with those who do."""
    if not event.seen:
        return "unknown"
    if event.settled is not None:
        return event.settled
    return ("into", event.into) if event.into is not None and event.reason == "succession" else "none"


def at_end(history: History) -> Place:
    """The place behind all events."""
    place = Place()
    for event in history.events:
        _apply(place, event, history.process)
    return place


def state_faults(history: History) -> list[str]:
    """Where nothing is missing, an opening's state must equal what precedes it."""
    faults = []
    for place, event in walk(history):
        if not isinstance(event, Opened) or not place.certain or (place.view is None and event.state is None):
            continue
        if event.state is None or _as_state(place, history.process) != _of_members(event.state, place, history.process):
            faults.append(f"{history.process}: the state at position {event.at} is not what precedes it")
    return faults


def _as_state(place: Place, process: Process) -> tuple[object, ...]:
    return (place.view, place.number, place.settled, _clock_of_members(place.heard, place, process), place.serial)


def _clock_of_members(clock: dict[Process, int], place: Place, process: Process) -> dict[Process, int]:
    inside = clock if place.members is None else place.members
    return {who: number for who, number in clock.items() if who in inside and who != process and number}


def _of_members(state: State, place: Place, process: Process) -> tuple[object, ...]:
    clock = _clock_of_members(state.clock, place, process)
    return (state.view, state.number, set(state.settled), clock, state.serial)
