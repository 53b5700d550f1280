"""Histories of two to four instances of one name, from a seed: right ones, and ways to damage what lies between them.

Everybody who is in a view delivers all that is sent in it, in one order. Then some of it crash, and those who are left
begin the next instance; or all leave, and somebody begins anew. Others come back, or come new, with a state.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.oracle.build import Ending, Logs, Record, write_segments

NAMES = ("a", "b", "c", "d", "e")


@dataclass(slots=True)
class History:
    """The log so far of the name `g`; `living` are the processes in the present view."""

    chance: random.Random
    kind: dict[str, Any]
    logs: Logs = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)
    living: list[str] = field(default_factory=list)
    instance: str = "i1"
    number: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    serial: int = 0
    away: list[str] = field(default_factory=list)  # put out, and not back; the latest last
    stateful: bool = True
    anew: bool = False  # numbers begin at 1 again in each instance, and what those before had is in no base
    openings: dict[str, tuple[int, Record]] = field(
        default_factory=dict
    )  # where a second segment begins, and its state

    def log(self, who: str, kind: str, **more: Any) -> None:
        record = {"type": kind, "instance": self.instance, "view": self.number, **more}
        self.logs.setdefault(who, []).append(record)

    def install(self, entering: list[str], said: list[Record] | None = None) -> None:
        """The next view, of all who live; `said` is what the first of an instance succeeds."""
        self.number += 1
        more: dict[str, Any] = {"members": list(self.living), "leader": self.living[0], **self.kind}
        base = {who: n for who, n in self.sent.items() if n}
        enters = {"base": base, "base_serial": self.serial} if base or self.serial else {}
        for who in self.living:
            self.log(who, "view", **more, **({"succeeds": said} if said else {}), **(enters if who in entering else {}))

    def talk(self) -> None:
        """Some messages, delivered by all."""
        for _ in range(self.chance.randint(0, 4)):
            sender, count = self.chance.choice(self.living), self.chance.choice((1, 1, 3))
            heard = {who: n for who, n in self.sent.items() if n and who != sender and who in self.living}
            first = self.sent.get(sender, 0) + 1
            self.log(sender, "send", number=first, count=count, clock=heard)
            self.sent[sender] = first + count - 1
            placed = {"serial": self.serial + 1} if self.kind["ordering"] == "TOTAL" else {}
            self.serial += count if placed else 0
            for who in self.living:
                more = {"sent_view": self.number, "sender": sender, "number": first, "count": count}
                self.log(who, "deliver", **more, **placed)
            if self.chance.random() < 0.5:
                self.log(sender, "confirm", number=first, count=count, by=self.chance.choice(("majority", "all")))

    def come(self, names: list[str]) -> None:
        """New incarnations enter the present instance, with a state if the application has one."""
        incarnations = {name: sum(who.startswith(f"{name}#") for who in self.logs) + 1 for name in names}
        new = [f"{name}#{incarnation}" for name, incarnation in incarnations.items()]
        self.living += new
        self.away = [who for who in self.away if who[0] not in names]
        self.install(new)
        for who in new if self.stateful else ():
            self.log(who, "adopt", **{"from": self.living[0], "cut": {each: n for each, n in self.sent.items() if n}})

    def succeed(self) -> None:
        """Some crash, the rest goes over."""
        dead = self.chance.sample(self.living, self.chance.randrange(len(self.living)))
        said: Record = {"instance": self.instance, "view": self.number, "cut": dict(self.sent), "serial": self.serial}
        said |= {"by": "proof", "gone": dict.fromkeys(dead, "lock"), "gives_up": []}
        following = f"i{int(self.instance[1:]) + 1}"
        for who in dead:
            self.endings[who] = self.chance.choice(("crash", "torn"))
        self.living = [who for who in self.living if who not in dead]
        for who in self.living:
            self.log(who, "leave", into=following, reason="succession")
        self.instance, self.number = following, 0
        self.sent = {} if self.anew else self.sent
        self.install(list(self.living), [said])

    def put_out(self) -> None:
        """One is put out, and the others go on."""
        self.away.append(self.living.pop(self.chance.randrange(len(self.living))))
        self.log(self.away[-1], "detach", reason="expelled")
        self.install([])

    def begin_anew(self) -> None:
        """All leave, or all crash but one that was put out; one begins the name again, with what that one has."""
        back = self.away[-1] if self.away and self.chance.random() < 0.7 else ""
        for who in self.living:
            if back:
                self.endings[who] = self.chance.choice(("crash", "torn"))
            else:
                self.log(who, "leave", reason="request")
        said = {"instance": self.instance, "view": self.number, "by": "ended", "gone": {}, "gives_up": []}
        self.instance, self.number, self.serial = f"i{int(self.instance[1:]) + 1}", 0, 0
        name = back[0] if back else self.chance.choice(NAMES)
        self.away = []
        self.living = [f"{name}#{sum(who.startswith(f'{name}#') for who in self.logs) + 1}"]
        self.sent = {}
        self.install(list(self.living), [said])


def history(seed: int) -> History:
    """A right one."""
    chance = random.Random(seed)
    kind: dict[str, Any] = {"ordering": chance.choice(("FIFO", "TOTAL")), "multicast": "RELIABLE"}
    kind |= chance.choice(({}, {}, {"safe": True}, {"multicast": "BASIC"}, {"netsplit": "PARTITIONABLE"}))
    made = History(chance, kind, stateful=chance.random() < 0.8, anew=chance.random() < 0.5)
    made.living = [f"{name}#1" for name in NAMES[: chance.randint(1, 4)]]
    made.install(list(made.living))
    for _ in range(chance.randint(1, 3)):
        made.talk()
        _let_come(made)
        if len(made.living) > 1 and chance.random() < 0.4:
            made.put_out()
            made.talk()
        if chance.random() < (0.6 if made.away else 0.8):
            made.succeed()
        else:
            made.begin_anew()
        made.talk()
        _let_come(made)
    for who in made.living:
        if chance.random() < 0.7:
            made.log(who, "leave", reason="exit")
    for who, records in made.logs.items():
        if chance.random() < 0.6:
            at = chance.randint(1, len(records))
            made.openings[who] = at, _state(who, records[:at])
    return made


def _let_come(made: History) -> None:
    absent = sorted({*NAMES} - {who[0] for who in made.living})
    if absent and made.chance.random() < 0.6:
        made.come(made.chance.sample(absent, 1))
        made.talk()


def write_history(folder: Path, made: History) -> None:
    """Some logs in two segments."""
    for who, records in made.logs.items():
        at, state = made.openings.get(who, (len(records), {}))
        parts = [records[:at], records[at:]] if at < len(records) else [records]
        write_segments(folder, who, parts, made.endings.get(who, "exit"), {1: state} if len(parts) > 1 else {})


def _state(process: str, records: list[Record]) -> Record:
    """The sum of the records, as an opening states it of the name's group."""
    state: Record = {}
    for record in records:
        count = record.get("count", 1)
        match record["type"]:
            case "view":
                if record["instance"] != state.get("instance"):
                    base = record.get("base", {})
                    clock = {who: n for who, n in base.items() if who != process}
                    state = {"instance": record["instance"], "number": base.get(process, 0), "delivered": dict(base)}
                    state |= {"beyond": {}, "clock": clock, "serial": record.get("base_serial", 0)}
                state |= {"view": record["view"]}
                members = record["members"]
                state["clock"] = {who: n for who, n in state["clock"].items() if who in members}
            case "send":
                state["number"] = record["number"] + count - 1
            case "deliver":
                last = record["number"] + count - 1
                state["delivered"][record["sender"]] = last
                if record["sender"] != process:
                    state["clock"][record["sender"]] = last
                state["serial"] = record.get("serial", state["serial"] - count + 1) + count - 1
            case "leave" | "detach":
                state = {}
    return {"g": state} if state else {}


# Damage


Operator = Callable[[random.Random, History], bool]


def _some(made: History, *kinds: str, field: str = "type") -> list[Record]:
    return [each for who in made.logs for each in made.logs[who] if each["type"] in kinds and field in each]


def _entry(chance: random.Random, made: History) -> Record | None:
    """One entry of a `succeeds`, of one process's record alone or of all."""
    views = _some(made, "view", field="succeeds")
    if not views:
        return None
    view = chance.choice(views)
    if chance.random() < 0.3:
        view["succeeds"] = [dict(each) for each in view["succeeds"]]
    entry: Record = view["succeeds"][0]
    return entry


def _cut(chance: random.Random, made: History) -> bool:
    entry = _entry(chance, made)
    if entry is None or not entry.get("cut"):
        return False
    entry["cut"] = dict(entry["cut"])
    who = chance.choice(sorted(entry["cut"]))
    entry["cut"][who] = max(0, entry["cut"][who] + chance.choice((-2, -1, 1)))
    return True


def _without(chance: random.Random, made: History) -> bool:
    entry = _entry(chance, made)
    if entry is None or not entry.get("cut"):
        return False
    entry["without"] = {chance.choice(sorted(entry["cut"])): [[chance.randint(1, 3), chance.randint(1, 2)]]}
    return True


def _said(name: str, *values: Any) -> Operator:
    def operate(chance: random.Random, made: History) -> bool:
        entry = _entry(chance, made)
        if entry is None:
            return False
        value = chance.choice(values)
        if value is None:
            entry.pop(name, None)
        else:
            entry[name] = value
        return True

    return operate


def _named(name: str) -> Operator:
    """Somebody more is gone, or given up; or nobody is."""

    def operate(chance: random.Random, made: History) -> bool:
        entry = _entry(chance, made)
        if entry is None:
            return False
        who = chance.sample(sorted(made.logs), chance.randint(0, min(2, len(made.logs))))
        entry[name] = dict.fromkeys(who, "lock") if name == "gone" else who
        if name == "gives_up" and entry.get("by") == "proof" and chance.random() < 0.8:
            entry["by"] = "operator"
        return True

    return operate


def _field(kind: str, name: str, *values: Any) -> Operator:
    def operate(chance: random.Random, made: History) -> bool:
        records = _some(made, kind)
        if not records:
            return False
        record, value = chance.choice(records), chance.choice(values)
        if value is None:
            record.pop(name, None)
        else:
            record[name] = value
        return True

    return operate


def _adopted(chance: random.Random, made: History) -> bool:
    records = [each for each in _some(made, "adopt") if each["cut"]]
    if not records:
        return False
    record = chance.choice(records)
    record["cut"] = dict(record["cut"])
    record["cut"].pop(chance.choice(sorted(record["cut"])))
    return True


def _dropped(*kinds: str) -> Operator:
    def operate(chance: random.Random, made: History) -> bool:
        places = [(who, i) for who in made.logs for i, each in enumerate(made.logs[who]) if each["type"] in kinds]
        if not places:
            return False
        who, place = chance.choice(places)
        del made.logs[who][place]
        return True

    return operate


def _moved(chance: random.Random, made: History) -> bool:
    """An `adopt` or a `confirm` comes later."""
    places = [(w, i) for w in made.logs for i, e in enumerate(made.logs[w]) if e["type"] in ("adopt", "confirm")]
    if not places:
        return False
    who, place = chance.choice(places)
    records = made.logs[who]
    records.insert(chance.randint(place, len(records)), records.pop(place))
    return True


def _ended(chance: random.Random, made: History) -> bool:
    who = chance.choice(sorted(made.logs))
    made.endings[who] = chance.choice(("exit", "crash", "torn"))
    return True


def _cut_off(chance: random.Random, made: History) -> bool:
    """A log ends earlier."""
    who = chance.choice(sorted(made.logs))
    del made.logs[who][chance.randint(1, len(made.logs[who])) :]
    return True


def _gone(chance: random.Random, made: History) -> bool:
    if len(made.logs) < 2:
        return False
    del made.logs[chance.choice(sorted(made.logs))]
    return True


DAMAGES: dict[str, Operator] = {
    "cut": _cut,
    "without": _without,
    "view succeeded": _said("view", 1, 2, 3, None),
    "instance succeeded": _said("instance", "i1", "i2", "i3", "nowhere"),
    "by": _said("by", "proof", "ended", "merge", "operator"),
    "serial": _said("serial", 0, 3, None),
    "no cut": _said("cut", None),
    "gone": _named("gone"),
    "gives up": _named("gives_up"),
    "no succeeds": _field("view", "succeeds", None),
    "base": _field("view", "base_serial", 1, 4, None),
    "into": _field("leave", "into", "i1", "i2", "i3", "i4", "nowhere", None),
    "reason": _field("leave", "reason", "request", "expelled", "merge", "succession", "dissolved", None),
    "detach": _field("leave", "type", "detach"),
    "settled": _field("leave", "settled", 1, 2, 3),
    "confirmed": _field("confirm", "number", 1, 3, 9),
    "adopted": _adopted,
    "no adopt": _dropped("adopt"),
    "no end": _dropped("leave"),
    "no delivery": _dropped("deliver"),
    "no view": _dropped("view"),
    "later": _moved,
    "ending": _ended,
    "short": _cut_off,
    "no log": _gone,
}


def damage(made: History, chance: random.Random) -> str:
    """Damage it in one to three ways; returns which."""
    names = [chance.choice(sorted(DAMAGES)) for _ in range(chance.choice((1, 1, 2, 3)))]
    return "+".join(name for name in names if DAMAGES[name](chance, made))
