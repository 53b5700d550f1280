"""Many small cases at once: folders of logs, each with names of its own, cut into segments and damaged from a seed.

So that one Spark job judges hundreds of cases, no name of one case is in another, even if damage flips a bit of it.
"""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.audit import damage
from tests.oracle import judge
from tests.oracle.build import Logs, life, write, write_segments
from tests.oracle.judge import Report
from tests.oracle.read import Key, read
from tests.oracle.replay import Place, walk

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    seed: int
    done: str
    report: Report


def make(folder: Path, seed: int, sources: list[Path]) -> Case | None:
    """A damaged folder with what the oracle says of it; None, and no folder, if the oracle cannot read it."""
    chance = random.Random(seed)
    logs = life() if not sources or chance.random() < 0.5 else logs_in(chance.choice(sources))
    logs = renamed(logs, f"{seed}x{seed}")
    write(folder, logs, {who: "crash" for who in logs if chance.random() < 0.15})
    if chance.random() < 0.4:
        segment(folder, logs, chance)
    done = damage.damage(folder, seed) if chance.random() < 0.9 else "nothing"
    try:
        return Case(seed, done, judge(folder))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
        shutil.rmtree(folder)
        return None


def logs_in(folder: Path) -> Logs:
    """The records of each process under `folder`, without positions."""
    logs: dict[str, list[Record]] = {}
    for path in sorted(folder.rglob("*.jsonl"), key=lambda path: (path.parent, path.name.lstrip("."))):
        opening, *records = damage.read(path)
        kept = [{k: v for k, v in record.items() if k != "at"} for record in records if record["type"] != "close"]
        logs.setdefault(opening["process"], []).extend(kept)
    return logs


def renamed(logs: Logs, prefix: str) -> Logs:
    """The same with other names for all processes and groups."""
    text = json.dumps({who: [{"group": "g", "instance": "i", **each} for each in of] for who, of in logs.items()})
    members = {who for of in logs.values() for each in of for who in each.get("members", [])}
    groups = {each.get("group", "g") for of in logs.values() for each in of}
    for name in sorted({*logs, *members, *groups}):
        text = text.replace(json.dumps(name), json.dumps(f"{prefix}{name}"))
    changed: Logs = json.loads(text)
    return changed


def segment(folder: Path, logs: Logs, chance: random.Random) -> None:
    """Write the logs of some processes in several segments, most with the state, some with a `lost` record."""
    histories = {key: {each.process: each for each in of} for key, of in read(folder).groups.items()}
    for who, records in logs.items():
        if chance.random() < 0.3 or len(records) < 3:
            continue
        cuts = sorted({chance.randrange(1, len(records)) for _ in range(chance.choice((1, 1, 2, 3)))})
        parts = [list(records[a:b]) for a, b in zip([0, *cuts], [*cuts, len(records)], strict=True)]
        ats = [1 + sum(each.get("count", 1) for each in records[:cut]) for cut in [*cuts, len(records)]]
        stated = {number: state_at(histories, who, at) for number, at in enumerate(ats[:-1], 1)}
        if chance.random() < 0.3:
            number = chance.randrange(len(parts))
            _lose(parts[number], state_at(histories, who, ats[number]) if chance.random() < 0.7 else None, chance)
        if chance.random() < 0.15:
            stated.pop(chance.choice(sorted(stated)))
        shutil.rmtree(folder / who.replace("#", "/"))
        write_segments(folder, who, parts, chance.choice(("exit", "exit", "crash", "torn")), stated)


def _lose(part: list[Record], state: Record | None, chance: random.Random) -> None:
    """The last records of a part, as far as they may be lost, become one `lost`."""
    lost = []
    for _ in range(chance.randrange(1, 5)):
        if part and part[-1]["type"] in ("send", "deliver", "skip"):
            lost.append(part.pop())
    if lost:
        said = {"type": "lost", "count": sum(each.get("count", 1) for each in lost)}
        part.append({**said, **({} if state is None else {"state": state})})


def state_at(histories: dict[Key, Any], who: str, at: int) -> Record:
    """What an opening at a position says."""
    states = {}
    for (group, instance), of in histories.items():
        place = _place_at(of[who], at) if who in of else None
        if place is not None and place.view is not None:
            states[group] = {"instance": instance, **_said(place)}
    return states


def _place_at(history: Any, at: int) -> Place:
    place = Place()
    for now, event in walk(history):
        place = now
        if event.at >= at and type(event).__name__ != "Opened":
            return now
    return place


def _said(place: Place) -> Record:
    delivered: dict[str, int] = {}
    beyond: dict[str, list[list[int]]] = {}
    for who in sorted({who for who, _ in place.settled}):
        numbers = sorted(number for name, number in place.settled if name == who)
        prefix = next((n for n, number in enumerate(numbers) if number != n + 1), len(numbers))
        delivered[who] = prefix
        if numbers[prefix:]:
            beyond[who] = [[number, 1] for number in numbers[prefix:]]
    told = {"delivered": delivered, "beyond": beyond, "clock": dict(place.heard), "serial": place.serial}
    return {"view": place.view, "number": place.number, **told}
