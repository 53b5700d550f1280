"""Small logs that still break the rule: an incident cut down to the processes and messages that it takes.

A log is projected onto a set of messages: of the others nothing is kept, and numbers, serials and clocks count only
those that are. So a gap stays a gap, and what came first still does. Whether the rule still fails is not argued but
tried: each candidate is written, and audited; the smallest that fails is kept.
"""

from __future__ import annotations

import json
import shutil
import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from gcom.audit.catalogue import Catalogue, catalogue
from gcom.audit.evidence import concerned_by, spot_of
from gcom.audit.finder import Event, Finder, Spot
from gcom.audit.here import run_here
from gcom.audit.incidents import Incident
from gcom.audit.judging import verdict_of
from gcom.audit.place import Key
from gcom.audit.reading import list_segments
from gcom.audit.records import Record
from gcom.audit.result import Result
from gcom.audit.shiviz import shiviz
from gcom.trace.segment import folder_name

INCIDENTS = 100  # incidents of which a witness is sought
_VIEWS = 40  # of one witness
_NAME = 120  # letters of a folder's name
_MESSAGES = 400
_TRIALS = 48  # audits that one incident may cost
_RADII = (0, 1, 4, 12)
_BEFORE = 400  # records in which what a violation follows is looked for
_OF_VIEWS = ("VIEW_AGREEMENT", "ONE_LEADER")

Message = tuple[str, int]


@dataclass(slots=True)
class Witness:
    """Records by process, as they will stand in the log, without `at`, opening and close."""

    incident: Incident
    closed: set[str]
    wall_ns: dict[str, int] = field(default_factory=dict)
    records: dict[str, list[Record]] = field(default_factory=dict)


def write_witnesses(result: Result, found: Catalogue, folder: Path) -> dict[str, str]:
    """Write `folder/<id>/` and `folder/<id>.shiviz.log` for the first incidents; returns the folders' names by id.

    An incident of which no small log fails has none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    finder = Finder(found)
    written = {}
    for incident in [each for each in result.incidents if each.expected][:INCIDENTS]:
        witness = _seek(incident, result, finder)
        if witness is not None:
            home = folder / incident.id
            shutil.rmtree(home, ignore_errors=True)
            write_witness(witness, home)
            (folder / f"{incident.id}.shiviz.log").write_text(shiviz(witness.records), encoding="utf-8")
            written[incident.id] = str(home)
    return written


def write_witness(witness: Witness, home: Path) -> None:
    """A folder of delivery logs, one segment a process."""
    for process, records in sorted(witness.records.items()):
        member, _, incarnation = process.partition("#")
        opening = {"type": "open", "at": 1, "version": 1, "member": member, "incarnation": incarnation}
        lines = [{**opening, "process": process, "segment": 0, "wall_ns": witness.wall_ns.get(process, 0)}]
        for at, record in enumerate(records, 1):
            lines.append({"type": record["type"], "at": at, **record})
        data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        if process in witness.closed:
            closing = {"type": "close", "at": len(records) + 1, "records": len(lines), "crc32": zlib.crc32(data)}
            data += json.dumps({**closing, "reason": "exit"}, separators=(",", ":")).encode() + b"\n"
        place = home / folder_name(member)[:_NAME] / (folder_name(incarnation)[:_NAME] or "-")
        place.mkdir(parents=True)
        (place / "000000.jsonl").write_bytes(data)


def fails(witness: Witness) -> bool:
    """Whether the audit of these logs finds that rule broken, and promised."""
    incident = witness.incident
    with TemporaryDirectory(prefix="gcom-witness-") as scratch:
        home = Path(scratch) / "logs"
        write_witness(witness, home)
        outcome = run_here(catalogue(list_segments([str(home)])))
    for judgement in outcome.judgements:
        if judgement.key == (incident.group, incident.instance):
            return incident.rule in judgement.expected and verdict_of(judgement.tallies[incident.rule]) == "FAIL"
    return False


def _seek(incident: Incident, result: Result, finder: Finder) -> Witness | None:
    """The messages that the incident names, then also those around it, until the rule fails; then as few as do."""
    cutter = _Cutter(incident, result, finder)
    for radius in _RADII:
        messages = cutter.messages(radius)
        witness = cutter.project(messages)
        if witness.records and fails(witness):
            return _shrink(cutter, witness, messages)
    return None


def _shrink(cutter: _Cutter, witness: Witness, messages: list[Message]) -> Witness:
    """Leave out pieces, large ones first, as long as the rule still fails (Zeller, Hildebrandt 2002)."""
    size, trials = max(len(messages) // 2, 1), 0
    while size and messages and trials < _TRIALS:
        for begin in range(0, len(messages), size):
            fewer = messages[:begin] + messages[begin + size :]
            smaller = cutter.project(fewer)
            trials += 1
            if smaller.records and fails(smaller):
                witness, messages = smaller, fewer
                break
        else:
            size //= 2
    return witness


class _Cutter:
    """Projects the logs that an incident concerns onto sets of messages."""

    def __init__(self, incident: Incident, result: Result, finder: Finder) -> None:
        self._incident = incident
        self._finder = finder
        self._key: Key = (incident.group, incident.instance)
        self._closed = {process for process, state in result.coverage.items() if state == "closed"}
        self._spots: dict[str, dict[Message, list[Spot]]] = defaultdict(dict)
        self._serials: set[int] = set()  # that no kept message has, and that must stay gaps

    def messages(self, radius: int) -> list[Message]:
        """Those that the incident names and needs; with a radius also those around it."""
        found = dict.fromkeys(self._incident.messages)
        found.update(dict.fromkeys((sender, number - 1) for sender, number in self._incident.messages if number > 1))
        for process in self._incident.processes:
            spot = spot_of(self._incident, process, self._finder)
            if spot is not None:
                found.update(dict.fromkeys(self._near(spot, radius)))
        return [message for message in found if message[1] > 0][:_MESSAGES]

    def _near(self, spot: Spot, radius: int) -> Iterable[Message]:
        events = self._finder.around(spot, self._key, max(radius, 1), radius)
        if self._incident.rule == "SERIAL_CONTIGUOUS":
            placed = [event for event in self._finder.around(spot, self._key, _BEFORE, 0) if event.serial > 0][-2:]
            if placed and placed[-1].serial > placed[0].serial:
                self._serials.add(placed[-1].serial - 1)
            events = [*placed, *events]
        if radius or self._incident.rule in ("SERIAL_CONTIGUOUS", "NO_CREATION"):
            for event in events:
                yield from ((event.sender, number) for number in (event.number, event.number + event.count - 1))
        if self._incident.rule == "CLOCK":
            heard = [event for event in self._finder.around(spot, self._key, _BEFORE, 0) if event.kind == "deliver"]
            yield from self._finder.clock(spot).items()
            yield from {event.sender: event.number + event.count - 1 for event in heard}.items()

    def project(self, messages: list[Message]) -> Witness:
        kept = _Kept(messages, self._serials)
        witness = Witness(self._incident, self._closed)
        processes = [who for who in concerned_by(self._incident) if self._finder.has(who)]
        processes += [who for who, _ in messages if who not in processes and self._finder.has(who)]
        spots = {process: self._of_messages(process, messages) for process in dict.fromkeys(processes)}
        views = self._views(spots)
        for process, mine in spots.items():
            mine |= self._of_views(process, views)
            ordered = sorted(mine, key=self._finder.place)
            records = [record for spot in ordered for record in self._records(spot, kept)]
            kept.note_serials(records)
            witness.records[process] = records
            witness.wall_ns[process] = self._finder.wall_ns(process)
        everyone = {*spots, *(() if self._incident.rule not in _OF_VIEWS else ("",))}
        for process, records in witness.records.items():
            witness.records[process] = [kept.renumbered(process, record, everyone) for record in records]
        return witness

    def _of_messages(self, process: str, messages: list[Message]) -> set[Spot]:
        known = self._spots[process]
        for message in messages:
            if message not in known:
                sender, number = message
                spots = [self._finder.sending(process, self._key, number)] if sender == process else []
                spots += self._finder.deliveries(process, self._key, sender, number)
                known[message] = [spot for spot in spots if spot is not None]
        found = {spot for message in messages for spot in known[message]}
        for who, at in self._incident.positions:
            spot = self._finder.position(who, at) if who == process else None
            found |= {spot, *self._view_before(spot)} if spot is not None else set()
        return found

    def _view_before(self, spot: Spot) -> list[Spot]:
        """Where views do not go up by one, the one that the process had."""
        events = self._finder.around(spot, self._key, _BEFORE, -1) if self._incident.rule == "VIEW_AGREEMENT" else []
        return [Spot(event.file, event.line - 2) for event in events if event.kind == "view"][-1:]

    def _views(self, spots: dict[str, set[Spot]]) -> range:
        """The views that the kept records speak of, and the one after."""
        seen = {self._finder.view(spot) for mine in spots.values() for spot in mine}
        seen |= {self._incident.view or -1}
        seen = {view for view in seen if view > 0}
        return range(max(min(seen) - (self._incident.rule == "VIEW_AGREEMENT"), 1), max(seen) + 2) if seen else range(0)

    def _of_views(self, process: str, views: range) -> set[Spot]:
        if not views or len(views) > _VIEWS:
            return set()
        found = [self._finder.installing(process, self._key, view) for view in views]
        found.append(self._finder.ending(process, self._key, views[-1] - 1))
        return {spot for spot in found if spot is not None}

    def _records(self, spot: Spot, kept: _Kept) -> list[Record]:
        """A run becomes one record for each of its messages that is kept."""
        event = self._finder.around(spot, self._key, 0, 0)[0]
        record = self._finder.record(spot)
        if event.kind == "send":
            record["clock"] = self._finder.clock(spot)
        if event.record is not None:
            return [record]
        return [_single(record, event, step) for step in range(event.count) if kept.has(event, step)]


def _single(record: Record, event: Event, step: int) -> Record:
    """One message of a run."""
    single = {name: value for name, value in record.items() if name not in ("at", "t", "held", "count", "digests")}
    for name in ("number", "serial"):
        if name in record:
            single[name] = record[name] + step
    if len(record.get("digests", ())) > step:
        single["digests"] = record["digests"][step : step + 1]
    assert event.count > step
    return single


class _Kept:
    """A set of messages, and what numbers and serials become when only these count."""

    def __init__(self, messages: list[Message], serials: set[int]) -> None:
        self._messages = set(messages)
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for sender, number in sorted(messages):
            self._numbers[sender].append(number)
        self._serials = sorted(serials)

    def has(self, event: Event, step: int) -> bool:
        return (event.sender, event.number + step) in self._messages

    def note_serials(self, records: list[Record]) -> None:
        self._serials = sorted({*self._serials, *(record["serial"] for record in records if "serial" in record)})

    def renumbered(self, process: str, record: Record, everyone: set[str]) -> Record:
        """`everyone` are the processes that stay members; with "" all do."""
        changed = {name: value for name, value in record.items() if name not in ("at", "t")}
        if "number" in record:
            changed["number"] = self._rank(record.get("sender", process), record["number"])
        if "serial" in record:
            changed["serial"] = bisect_right(self._serials, record["serial"])
        if record["type"] == "view":
            changed |= self._base(record)
            if "" not in everyone:
                changed["members"] = [who for who in record["members"] if who in everyone or who == record["leader"]]
        if "clock" in record:
            clock = {who: self._rank(who, number) for who, number in record["clock"].items()}
            changed["clock"] = {who: number for who, number in clock.items() if number}
        return changed

    def _base(self, view: Record) -> Record:
        """What one that entered had, where the view tells."""
        base = {who: self._rank(who, number) for who, number in view.get("base", {}).items()}
        rebased: Record = {"base": {who: number for who, number in base.items() if number}} if base else {}
        if "base_serial" in view:
            rebased["base_serial"] = bisect_right(self._serials, view["base_serial"])
        return rebased

    def _rank(self, sender: str, number: int) -> int:
        return bisect_right(self._numbers.get(sender, []), number)
