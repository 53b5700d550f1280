"""Random lives of a reliable FIFO group, message by message, and their logs, cut into runs and segments in any way."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from gcom.core.messages.effects import Deliver, Effect, Ended, Installed, Sent
from gcom.trace.writer import DeliveryLog
from gcom.values.definition import Definition
from gcom.values.run import Run
from gcom.values.view import View

NEWS = Definition("news")
INSTANCE = "k2"


@dataclass(frozen=True)
class Message:
    """A send (`sender` is empty) or a delivery of one message; `clock` is what changed since the previous send."""

    view: int
    number: int
    sender: str = ""
    sent_view: int = 0
    clock: dict[str, int] = field(default_factory=dict)

    def continues(self, last: Message) -> bool:
        """Whether both fit in one run."""
        place = (self.view, self.sender, self.sent_view) == (last.view, last.sender, last.sent_view)
        return place and self.number == last.number + 1 and not self.clock


Event = Message | Installed | Ended
Life = dict[str, list[Event]]


@dataclass
class _Member:
    name: str
    events: list[Event] = field(default_factory=list)
    sent: int = 0
    heard: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)


class Group:
    """Grows a life in which all promises hold. `step` does one random thing."""

    def __init__(self, chance: random.Random) -> None:
        self.life: Life = {}
        self.crashed: list[str] = []
        self._chance = chance
        self._view = 0
        self._members: list[_Member] = []
        self._install([self._new() for _ in range(chance.randint(1, 3))], {})

    def step(self) -> None:
        member = self._chance.choice(self._members)
        match self._chance.randrange(12):
            case 0 if len(self._members) < 4:
                self._change(self._members, [self._new()], {})
            case 1 if len(self._members) > 1:
                self._leave(member)
            case 2 if len(self._members) > 1:
                self.crashed.append(member.name)
                self._change([other for other in self._members if other is not member], [], {member.name: "silence"})
            case 3 | 4 | 5:
                for _ in range(self._chance.randint(1, 5)):
                    self._send(member)
            case _:
                for _ in range(self._chance.randint(1, 5)):
                    self._deliver(member, self._chance.choice(self._members))

    def end(self) -> Life:
        for member in self._members:
            self._flush(member, self._members)
        return self.life

    def _new(self) -> _Member:
        member = _Member(f"{'abcdefgh'[len(self.life) % 8]}_{len(self.life)}#{self._chance.randrange(9)}")
        self.life[member.name] = member.events
        return member

    def _send(self, member: _Member) -> None:
        names = [other.name for other in self._members if other is not member]
        heard = {name: member.heard[name] for name in names if member.heard.get(name)}
        changed = {name: number for name, number in heard.items() if member.told.get(name) != number}
        member.told.update(changed)
        member.sent += 1
        member.events.append(Message(self._view, member.sent, clock=changed))

    def _deliver(self, member: _Member, sender: _Member) -> None:
        number = member.heard.get(sender.name, 0) + 1
        if number <= sender.sent:
            member.heard[sender.name] = number
            member.events.append(Message(self._view, number, sender.name, self._view))

    def _flush(self, member: _Member, senders: list[_Member]) -> None:
        for sender in senders:
            while member.heard.get(sender.name, 0) < sender.sent:
                self._deliver(member, sender)

    def _leave(self, member: _Member) -> None:
        self._flush(member, self._members)
        member.events.append(Ended(self._view, "request", self._view + 1))
        self._change([other for other in self._members if other is not member], [], {member.name: "request"})

    def _change(self, stay: list[_Member], new: list[_Member], left: dict[str, str]) -> None:
        for member in stay:
            self._flush(member, self._members)
        for member in new:
            member.heard = {sender.name: sender.sent for sender in stay if sender.sent}
        self._members = stay
        self._install(new, left)

    def _install(self, new: list[_Member], left: dict[str, str]) -> None:
        self._view += 1
        self._members = [*self._members, *new]
        names = tuple(member.name for member in self._members)
        view = View(self._view, names, tuple("127.0.0.1:1" for _ in names))
        joined = tuple(member.name for member in new)
        for member in self._members:
            base = dict(member.heard) if member in new else None
            member.events.append(Installed(view, joined, left, base))


def damage(life: Life, chance: random.Random) -> None:
    """Drop a message, double it, let two change places, or let one say another number."""
    events = life[chance.choice(sorted(life))]
    places = [index for index, event in enumerate(events) if isinstance(event, Message)]
    if len(places) < 2:
        return
    one, other = chance.sample(places, 2)
    first, second = events[one], events[other]
    match chance.randrange(4):
        case 0:
            del events[one]
        case 1:
            events.insert(other, first)
        case 2:
            events[one], events[other] = second, first
        case _:
            assert isinstance(first, Message)
            events[one] = Message(first.view, first.number + 1, first.sender, first.sent_view, first.clock)


def write(folder: Path, life: Life, crashed: list[str], chance: random.Random, cut: float, segment_bytes: int) -> Path:
    """Write all logs; a run ends with chance `cut` after each message, and the log is flushed now and then."""
    for process, events in life.items():
        ticks = iter(range(10**9))
        log = DeliveryLog(
            folder,
            process,
            wall_ns=0,
            clock_us=lambda ticks=ticks: next(ticks),  # type: ignore[misc]
            on_trouble=_fail,
            segment_bytes=segment_bytes,
        )
        for effect in _runs(process, events, chance, cut):
            log.record(NEWS, INSTANCE, effect)
            if chance.random() < 0.3:
                log.flush()
        if process in crashed:
            log.flush()
            log.abandon()
        else:
            log.close()
    return folder


def _runs(process: str, events: list[Event], chance: random.Random, cut: float) -> list[Effect]:
    pieces: list[list[Message] | Effect] = []
    for event in events:
        last = pieces[-1] if pieces else None
        if not isinstance(event, Message):
            pieces.append(event)
        elif isinstance(last, list) and event.continues(last[-1]) and chance.random() >= cut:
            last.append(event)
        else:
            pieces.append([event])
    return [_run(process, piece) if isinstance(piece, list) else piece for piece in pieces]


def _run(process: str, piece: list[Message]) -> Effect:
    first = piece[0]
    payloads: list[bytes | str] = [b""] * len(piece)
    if first.sender:
        return Deliver(Run(first.sender, first.sent_view, first.number, {}, payloads, b""), first.view)
    return Sent(Run(process, first.view, first.number, first.clock, payloads, b""))


def _fail(trouble: str) -> None:
    raise AssertionError(trouble)
