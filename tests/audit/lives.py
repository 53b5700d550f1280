"""Small lives of a group that keeps every promise of CAUSALTOTAL over RELIABLE, as records, for tests to damage.

A sequencer's life: what is sent in a view is delivered in it by all, in one order; then one member may come, or go.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.audit.damage import Record, write

WALL_NS = 1_795_219_200_000_000_000
VIEW_US = 4_000_000


@dataclass(slots=True)
class Life:
    """One member's records, and what it has done so far."""

    member: str
    records: list[Record] = field(default_factory=list)
    sent: int = 0
    clock: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)

    @property
    def process(self) -> str:
        return f"{self.member}#1"


@dataclass(frozen=True, slots=True)
class Group:
    """`members` are there in turn: of views 1, 2, ... the names."""

    members: list[list[str]]
    messages: int = 30
    group: str = "news"
    seed: int = 1


def live(group: Group) -> dict[str, Life]:
    """The lives by member name."""
    chance = random.Random(group.seed)
    lives: dict[str, Life] = {}
    totals: dict[str, int] = {}
    serial = 0
    for number, names in enumerate(group.members, 1):
        start = (number - 1) * VIEW_US
        processes = [f"{name}#1" for name in names]
        for name in names:
            life = lives.setdefault(name, Life(name))
            _install(life, group, number, processes, totals, serial, start)
        serial = _pass_view(chance, group, number, [lives[name] for name in names], totals, serial, start)
        following = group.members[number] if number < len(group.members) else []
        for name in set(names) - set(following):
            _log(lives[name], group, number, start + VIEW_US - 1, "leave", settled=number + 1, reason="request")
            lives[name].records.append({"type": "close", "at": 0, "records": 0, "crc32": 0, "reason": "exit"})
    return lives


def write_lives(folder: Path, lives: dict[str, Life]) -> Path:
    for life in lives.values():
        home = folder / life.member / "1"
        home.mkdir(parents=True)
        write(home / "000000.jsonl", [dict(record) for record in life.records])
    return folder


def _log(life: Life, group: Group, view: int, t: int, kind: str, **more: Any) -> None:
    life.records.append({"type": kind, "at": 0, "t": t, "group": group.group, "instance": "k1", "view": view, **more})


def _install(
    life: Life, group: Group, number: int, processes: list[str], totals: dict[str, int], serial: int, start: int
) -> None:
    more: dict[str, Any] = {"members": processes, "leader": processes[0]}
    more |= {"ordering": "CAUSALTOTAL", "multicast": "RELIABLE"}
    if not life.records:
        opening: Record = {"type": "open", "at": 1, "version": 1, "member": life.member, "incarnation": "1"}
        life.records.append({**opening, "process": life.process, "segment": 0, "wall_ns": WALL_NS})
        if serial:
            more |= {"base": dict(totals), "base_serial": serial}
            life.clock = {who: n for who, n in totals.items() if n and who != life.process}
    _log(life, group, number, start, "view", **more)


def _pass_view(
    chance: random.Random, group: Group, view: int, lives: list[Life], totals: dict[str, int], serial: int, start: int
) -> int:
    """Everybody sends and delivers; events are gone through by time, sends first."""
    sent_at = sorted(start + chance.randrange(10_000, VIEW_US - 1_000_000) for _ in range(group.messages))
    senders = [chance.choice(lives) for _ in sent_at]
    events: list[tuple[int, int, Life, Life, int]] = []  # when, serial or 0, who, sender, hold-back
    before = {life.process: 0 for life in lives}
    for place, (when, sender) in enumerate(zip(sent_at, senders, strict=True), 1):
        events.append((when, 0, sender, sender, 0))
        for life in lives:
            arrives = when + 800 + int(chance.lognormvariate(8.2, 0.7))
            delivered = max(arrives, before[life.process] + 1)
            before[life.process] = delivered
            events.append((delivered, serial + place, life, sender, delivered - arrives))
    numbers: dict[int, int] = {}
    sequence = iter(range(serial + 1, serial + group.messages + 1))
    for when, place, life, sender, held in sorted(events, key=lambda event: event[:2]):
        if not place:
            numbers[next(sequence)] = _send(life, group, view, when)
            totals[life.process] = life.sent
        else:
            more = {"sent_view": view, "sender": sender.process, "number": numbers[place], "serial": place}
            _log(life, group, view, when, "deliver", **more, **({"held": held} if held else {}))
            if sender is not life:
                life.clock[sender.process] = numbers[place]
    return serial + group.messages


def _send(life: Life, group: Group, view: int, when: int) -> int:
    life.sent += 1
    changed = {who: n for who, n in life.clock.items() if life.told.get(who) != n}
    life.told.update(changed)
    _log(life, group, view, when, "send", number=life.sent, clock=changed)
    return life.sent


# Ways to break a life; each names the rule that it breaks first of all


def swap_deliveries(records: list[Record]) -> None:
    """Two deliveries of different senders change places, and take each other's serials."""
    places = [
        place
        for place, (one, other) in enumerate(pairwise(records))
        if one["type"] == other["type"] == "deliver" and one["sender"] != other["sender"]
    ]
    at = places[len(places) // 2]
    one, other = records[at], records[at + 1]
    for name in ("serial", "t"):
        one[name], other[name] = other[name], one[name]
    records[at], records[at + 1] = other, one


def deliver_twice(records: list[Record]) -> None:
    places = _places(records, "deliver")
    records.insert(places[len(places) // 2] + 3, dict(records[places[len(places) // 2]]))


def forget_delivery(records: list[Record]) -> None:
    places = _places(records, "deliver")
    del records[places[len(places) // 2]]


def lie_in_clock(records: list[Record]) -> None:
    clock = next(records[place]["clock"] for place in _places(records, "send") if records[place]["clock"])
    clock[min(clock)] += 1


def skip_number(records: list[Record]) -> None:
    places = _places(records, "send")
    del records[places[len(places) // 2]]


def deliver_unsent(records: list[Record]) -> None:
    """The last delivery becomes one of a number that nobody has sent."""
    records[_places(records, "deliver")[-1]]["number"] += 1_000


def name_another_leader(records: list[Record]) -> None:
    view = records[_places(records, "view")[-1]]
    view["leader"] = view["members"][-1]


def mistake_view(records: list[Record]) -> None:
    records[_places(records, "deliver")[-1]]["sent_view"] -= 1


def _places(records: list[Record], kind: str) -> list[int]:
    return [place for place, record in enumerate(records) if record["type"] == kind]


BREAKS: dict[str, Callable[[list[Record]], None]] = {
    "SERIAL_UNIQUE": swap_deliveries,
    "NO_DUPLICATION": deliver_twice,
    "AGREEMENT": forget_delivery,
    "CLOCK": lie_in_clock,
    "NO_CREATION": skip_number,
    "FIFO": deliver_unsent,
    "ONE_LEADER": name_another_leader,
    "SENDING_VIEW": mistake_view,
}
VIEWS = [["alice", "bob", "carol"], ["alice", "bob", "carol", "dave"], ["alice", "bob", "dave"]]


def broken(folder: Path, *rules: str, member: str = "bob", group: Group | None = None) -> Path:
    """A group's logs in which `member` breaks these rules; none: all keep all."""
    lives = live(group or Group(VIEWS))
    for rule in rules:
        BREAKS[rule](lives[member].records)
    return write_lives(folder, lives)
