"""Witnesses: an incident cut down to the smallest logs that still break the rule.

A log is projected onto a set of messages. Records of other messages are dropped, and numbers, serials and clocks count
only the kept messages: a gap stays a gap, and the first message stays first. Each candidate is written and audited to
see that the rule still fails; the smallest that fails is kept.
"""

from __future__ import annotations

import json
import shutil
import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from gcom.audit.explain.evidence import concerned_by, event_of
from gcom.audit.explain.incidents import Incident, each_of
from gcom.audit.explain.lookup import Hole, LogEvent, LogLookup
from gcom.audit.explain.result import AuditResult
from gcom.audit.explain.shiviz import shiviz
from gcom.audit.input.catalogue import Catalogue, catalogue
from gcom.audit.input.contract import Record
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.run import run
from gcom.audit.rules.judgement import verdict_of
from gcom.audit.rules.table import RULES
from gcom.audit.summary.lineage import confirms_in, renumbered
from gcom.audit.summary.position import Key
from gcom.trace.segment import folder_name

INCIDENTS = 100  # incidents of which a witness is sought
_VIEWS_MAX = 40  # of one witness
_FOLDER_NAME_MAX = 120  # letters of a folder's name
_MESSAGES_MAX = 400  # a witness is searched for by judging again and again: with more it would take minutes
_RECORDS_MAX = 2_000  # of a group that is taken whole
_TRIALS_MAX = 600  # audits that one incident may cost
# How many messages around the violation are tried: few suffice nearly always, and each candidate costs an audit.
_RADII = (0, 1, 4, 12)
_BEFORE = 400  # records before a violation in which its predecessors are looked for

_Message = tuple[str, int]
# The origin of a record of a witness: the process, the index among its chosen records, and the message's index in
# the run (of a `confirm`, the index among its confirmations).
_Source = tuple[str, int, int]


@dataclass(slots=True)
class MinimalLog:
    """Records by process, as they will stand in the log, without `at`, opening and close; and the source of each."""

    incident: Incident
    closed: set[str]
    kept: _KeptMessages
    wall_ns: dict[str, int] = field(default_factory=dict)
    records: dict[str, list[Record]] = field(default_factory=dict)
    sources: dict[str, list[_Source]] = field(default_factory=dict)


def write_witnesses(result: AuditResult, found: Catalogue, folder: Path) -> dict[str, str]:
    """Write `folder/<id>/` and `folder/<id>.shiviz.log` for the first incidents; return the folders' names by id.

    An incident of which no small log fails has none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lookup = LogLookup(found)
    written = {}
    for incident in [each for each in result.incidents if each.expected and each.about == "group"][:INCIDENTS]:
        witness = _seek(incident, result, lookup)
        if witness is not None:
            home = folder / incident.id
            # What an earlier audit wrote there would be judged as part of this witness.
            shutil.rmtree(home, ignore_errors=True)
            write_witness(witness, home)
            (folder / f"{incident.id}.shiviz.log").write_text(shiviz(witness.records), encoding="utf-8")
            written[incident.id] = str(home)
    return written


def write_witness(witness: MinimalLog, home: Path) -> None:
    """Write a folder of delivery logs, one segment per process."""
    for process, records in sorted(witness.records.items()):
        member, _, incarnation = process.partition("#")
        opening = {"type": "open", "at": 1, "version": 1, "member": member, "incarnation": incarnation}
        lines = [{**opening, "process": process, "segment": 0, "wall_ns": witness.wall_ns.get(process, 0)}]
        for at, record in enumerate(records, 1):
            lines.append({"type": record["type"], "at": at, **record})
        data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        # Whether a log is complete decides between FAIL and UNKNOWN, so a witness's logs end as the logs did.
        if process in witness.closed:
            closing = {"type": "close", "at": len(records) + 1, "records": len(lines), "crc32": zlib.crc32(data)}
            data += json.dumps({**closing, "reason": "exit"}, separators=(",", ":")).encode() + b"\n"
        place = home / folder_name(member)[:_FOLDER_NAME_MAX] / (folder_name(incarnation)[:_FOLDER_NAME_MAX] or "-")
        place.mkdir(parents=True, exist_ok=True)
        (place / ("000000.jsonl" if process in witness.closed else ".000000.jsonl")).write_bytes(data)


def broken_by(witness: MinimalLog, home: Path) -> frozenset[str]:
    """Return the promised rules that the audit finds broken in these logs; none if the incident's violation is gone.

    They are written to `home` in place of what is there.
    """
    incident = witness.incident
    for path in home.rglob("*.jsonl"):
        path.unlink()
    # Without a message that the sentence names it would be another incident.
    if not witness.records or not witness.kept.all_of(incident.messages):
        return frozenset()
    write_witness(witness, home)
    # By the audit itself, in this process: a witness is what the audit finds broken, and not what this
    # file thinks it would.
    outcome = run(catalogue(list_segments([str(home)])))
    for judgement in outcome.judgements:
        if judgement.key == (incident.group, incident.instance) and incident.rule in judgement.expected:
            # The same rule may break elsewhere in the smaller log: only the same clause,
            # processes and messages count.
            named = incident.kind, set(incident.processes), {witness.kept.renamed(each) for each in incident.messages}
            found = [(each.kind, set(each.processes), set(each.messages)) for each in each_of(judgement, incident.rule)]
            if named in found:
                return frozenset(rule for rule in judgement.expected if verdict_of(judgement.tallies[rule]) == "FAIL")
    return frozenset()


def _seek(incident: Incident, result: AuditResult, lookup: LogLookup) -> MinimalLog | None:
    """Return the smallest log found in which the rule fails, or None. The messages that the incident names are tried
    first, then those around it, then all of them.
    """
    cutter = _Cutter(incident, result, lookup)
    with TemporaryDirectory(prefix="gcom-witness-") as scratch:
        for selection in cutter.candidates():
            witness = cutter.project(selection)
            # The first that breaks is where shrinking begins: candidates come from small to large.
            broken = broken_by(witness, Path(scratch))
            if broken:
                return _Shrinking(cutter, selection, witness, broken, Path(scratch)).shrunk()
    return None


@dataclass(frozen=True, slots=True)
class _Selection:
    """A choice of log records: these messages, but for the records `without`, and no log of the processes `gone`.

    Records of no message, such as views, are all kept if it is `whole`, else only those that concern the messages.
    """

    messages: tuple[_Message, ...]
    whole: bool = False
    without: frozenset[_Source] = frozenset()
    gone: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Shrinking:
    """The search for a minimal log: the incident must stay, and no other promise may break.

    Pieces of the messages are left out first, large ones before small (Zeller, Hildebrandt 2002), then whole logs, then
    records. The result is minimal, unless _TRIALS_MAX audits did not suffice: with any one record less the incident is
    gone, or another promise is broken.
    """

    cutter: _Cutter
    selection: _Selection
    witness: MinimalLog
    broken: frozenset[str]
    scratch: Path
    trials: int = 0

    def shrunk(self) -> MinimalLog:
        self._messages()
        before = -1
        # Until a round removes nothing (1-minimal, in Zeller and Hildebrandt's words): a record that one log needed
        # may be superfluous once that log is gone. It ends: each round but the last makes the witness smaller.
        while before != self._size() and self.trials < _TRIALS_MAX:
            before = self._size()
            for who in sorted(self.witness.records):
                # Whole logs before records: a process that is not needed at all goes in one audit.
                self._try(replace(self.selection, gone=self.selection.gone | {who}))
            for source in [each for of in self.witness.sources.values() for each in of]:
                self._try(replace(self.selection, without=self.selection.without | {source}))
            self._messages()
        return self.witness

    def _size(self) -> int:
        return len(self.witness.records) + sum(map(len, self.witness.records.values()))

    def _messages(self) -> None:
        # Halves, then quarters, down to single messages: where most are superfluous this takes log N audits, not N.
        size = max(len(self.selection.messages) // 2, 1)
        while size and self.selection.messages and self.trials < _TRIALS_MAX:
            begin = 0
            # It ends: at each turn `begin` comes nearer to the end, or messages are left out.
            while begin < len(self.selection.messages):
                messages = self.selection.messages[:begin] + self.selection.messages[begin + size :]
                # What succeeds leaves the next piece at the same place.
                begin += 0 if self._try(replace(self.selection, messages=messages)) else size
            size //= 2

    def _try(self, selection: _Selection) -> bool:
        if self.trials >= _TRIALS_MAX:
            return False
        self.trials += 1
        smaller = self.cutter.project(selection)
        broken = broken_by(smaller, self.scratch)
        # A smaller log that breaks another promise would show another damage.
        if not broken or not broken <= self.broken:
            return False
        self.selection, self.witness, self.broken = selection, smaller, broken
        return True


class _Cutter:
    """The projection of the logs that an incident concerns onto sets of messages."""

    def __init__(self, incident: Incident, result: AuditResult, lookup: LogLookup) -> None:
        self._incident = incident
        self._keeps = RULES[incident.rule].projection
        self._lookup = lookup
        self._key: Key = (incident.group, incident.instance)
        self._closed = {process for process, state in result.coverage.items() if state == "closed"}
        self._found: dict[str, dict[_Message, list[LogEvent]]] = defaultdict(dict)
        self._serials: set[int] = set()  # that no kept message has, and that must stay gaps
        self._keys = _keys_of(incident, result)
        groups = [each for each in result.groups if (each.group, each.instance) in self._keys]
        members = dict.fromkeys(process for group in groups for process in group.processes)
        self._members = [process for process in members if lookup.has(process)]
        self._whole: dict[str, list[LogEvent | Hole]] = {}

    def candidates(self) -> Iterator[_Selection]:
        # Where several instances are concerned only whole logs will do: what succeeds what is in no neighbourhood.
        for radius in _RADII if len(self._keys) == 1 else ():
            yield _Selection(tuple(self.messages(radius)))
        everything: dict[_Message, None] = {}
        for process in self._members:
            self._whole[process] = list(islice(self._lookup.whole(process, *self._keys), _RECORDS_MAX + 1))
            # Too large to be taken whole: then there is no witness, and the incident's evidence has to do.
            if len(self._whole[process]) > _RECORDS_MAX:
                return
            for event in (each for each in self._whole[process] if isinstance(each, LogEvent)):
                if len(everything) + event.count > _RECORDS_MAX:
                    return
                numbers = range(event.number, event.number + event.count) if event.number > 0 else ()
                everything.update(dict.fromkeys((event.sender, number) for number in numbers))
        # Last: everything that the group's logs have, if that is little. What breaks nowhere near
        # the incident breaks here.
        yield _Selection(tuple(everything), whole=True)

    def messages(self, radius: int) -> list[_Message]:
        """Return the messages that the incident names and needs; with a radius also those around it."""
        found = dict.fromkeys(self._incident.messages)
        # The message before, too: without it each named message would be its sender's first, which FIFO lets pass.
        found.update(dict.fromkeys((sender, number - 1) for sender, number in self._incident.messages if number > 1))
        for process in self._incident.processes:
            event = event_of(self._incident, process, self._lookup)
            if event is not None:
                found.update(dict.fromkeys(self._near(event, radius)))
        return [message for message in found if message[1] > 0][:_MESSAGES_MAX]

    def _near(self, middle: LogEvent, radius: int) -> Iterable[_Message]:
        events = self._lookup.around(middle, self._key, max(radius, 1), radius)
        # SERIAL_CONTIGUOUS compares with the delivery before, which no message of the incident names.
        if self._keeps.serials:
            placed = [event for event in self._lookup.around(middle, self._key, _BEFORE, 0) if event.serial > 0][-2:]
            if placed and placed[-1].serial > placed[0].serial:
                # One serial in between stands for all that were missed: so the gap stays a gap when
                # serials are counted anew.
                self._serials.add(placed[-1].serial - 1)
            events = [*placed, *events]
        # Rules of single messages need no neighbours; FIFO's and the orders' violations are between two.
        if radius or self._keeps.neighbours:
            for event in events:
                yield from ((event.sender, number) for number in (event.number, event.number + event.count - 1))
        # CLOCK compares an entry with what was delivered before: the last delivery of each sender must stay.
        if self._keeps.clock:
            heard = [event for event in self._lookup.around(middle, self._key, _BEFORE, 0) if event.kind == "deliver"]
            yield from self._lookup.clock(middle).items()
            yield from {event.sender: event.number + event.count - 1 for event in heard}.items()

    def project(self, selection: _Selection) -> MinimalLog:
        kept = _KeptMessages(selection.messages, self._serials)
        witness = MinimalLog(self._incident, self._closed, kept)
        events = self._whole if selection.whole else self._chosen(selection.messages)
        for process in [who for who in events if who not in selection.gone]:
            numbered = enumerate(events[process])
            found = [each for place, event in numbered for each in self._records(process, place, event, kept)]
            # Serials are numbered anew only after all records are known, as a skip's serial counts like a delivery's.
            kept.note_serials([record for _, record in found])
            # Serials are noted before records are left out, so that a serial that is passed over stays a gap
            # and does not close.
            found = [(source, record) for source, record in found if source not in selection.without]
            witness.records[process] = [record for _, record in found]
            witness.sources[process] = [source for source, _ in found]
            witness.wall_ns[process] = self._lookup.wall_ns(process)
        members_kept = {*witness.records, *(("",) if self._keeps.members else ())}
        for process, records in witness.records.items():
            witness.records[process] = [kept.renumbered(process, record, members_kept) for record in records]
        return witness

    def _chosen(self, messages: tuple[_Message, ...]) -> dict[str, list[LogEvent | Hole]]:
        """Return the records of the messages in the logs of the processes concerned, and of the views that they
        name.
        """
        processes = [*concerned_by(self._incident), *(who for who, _ in messages)]
        chosen = {who: self._of_messages(who, messages) for who in dict.fromkeys(processes) if self._lookup.has(who)}
        views = self._views([event for mine in chosen.values() for event in mine])
        return {
            process: [*sorted(mine | self._of_views(process, views), key=self._lookup.place)]
            for process, mine in chosen.items()
        }

    def _of_messages(self, process: str, messages: tuple[_Message, ...]) -> set[LogEvent]:
        known = self._found[process]
        for message in messages:
            # Looked up once per message: shrinking asks for the same ones hundreds of times.
            if message not in known:
                sender, number = message
                sent = self._lookup.sending(process, self._key, number) if sender == process else None
                known[message] = self._lookup.deliveries(process, self._key, sender, number)
                known[message] += [sent] if sent is not None else []
        found = {event for message in messages for event in known[message]}
        for who, at in self._incident.positions:
            event = self._lookup.position(who, at) if who == process else None
            found |= {event, *self._view_before(event)} if event is not None else set()
        return found

    def _view_before(self, event: LogEvent) -> list[LogEvent]:
        """Return the record of the process's previous view, where views do not go up by one."""
        events = self._lookup.around(event, self._key, _BEFORE, -1) if self._keeps.view_before else []
        return [event for event in events if event.kind == "view"][-1:]

    def _views(self, events: list[LogEvent]) -> range:
        """Return the views that the kept records name, and the one after."""
        seen = {view for view in (self._incident.view or -1, *(event.view for event in events)) if view > 0}
        # And the view after: its installation is the end of the session in the one before.
        return range(max(min(seen) - self._keeps.view_before, 1), max(seen) + 2) if seen else range(0)

    def _of_views(self, process: str, views: range) -> set[LogEvent]:
        if not views or len(views) > _VIEWS_MAX:
            return set()
        found = [self._lookup.installing(process, self._key, view) for view in views]
        # Without the end of the session the process would be in no class, and a rule of classes would have no case.
        found.append(self._lookup.ending(process, self._key, views[-1] - 1))
        return {event for event in found if event is not None}

    def _records(
        self, process: str, place: int, event: LogEvent | Hole, kept: _KeptMessages
    ) -> Iterator[tuple[_Source, Record]]:
        """Yield the records at a place: one per kept message of a run, or a `lost` for a hole."""
        if isinstance(event, Hole):
            yield (process, place, 0), {"type": "lost", "count": 1, **self._state(event)}
            return
        record = event.record
        # With its whole clock: what the entry was compared with may stand in a send that is left out.
        if event.kind == "send":
            record = {**record, "clock": self._lookup.clock(event)}
        if event.kind == "confirm":
            for step, single in enumerate(confirms_in(record)):
                if kept.all_of([(process, single["number"])]):
                    yield (process, place, step), single
        elif event.number < 0:
            yield (process, place, 0), record
        else:
            for step in range(event.count):
                # Message by message: a witness of a run of a thousand needs one of them.
                if kept.has(event, step):
                    yield (process, place, step), _single(record, step)

    def _state(self, hole: Hole) -> Record:
        """Return the hole's state cut to this group: empty if it does not name the group, absent if the hole has no
        state.
        """
        group, instance = self._key
        if hole.state is None:
            return {}
        # Of this group alone: the others' states would need records that the witness does not have.
        state = hole.state.get(group)
        return {"state": {group: state} if state is not None and state.get("instance", "") == instance else {}}


def _single(record: Record, step: int) -> Record:
    """Return one message of a run."""
    single = {name: value for name, value in record.items() if name not in ("at", "t", "held", "count", "digests")}
    # A run has the number and the serial of its first message; those of the others follow one by one.
    for name in ("number", "serial"):
        if name in record:
            single[name] = record[name] + step
    if len(record.get("digests", ())) > step:
        single["digests"] = record["digests"][step : step + 1]
    return single


def _keys_of(incident: Incident, result: AuditResult) -> list[Key]:
    """Return the instances whose records the incident's rule reads."""
    if not RULES[incident.rule].projection.instances:
        return [(incident.group, incident.instance)]
    return [(each.group, each.instance) for each in result.groups if each.group == incident.group]


class _KeptMessages:
    """The messages that a witness keeps, and their new numbers and serials, which count only these."""

    def __init__(self, messages: Iterable[_Message], serials: set[int]) -> None:
        self._messages = set(messages)
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for sender, number in sorted(messages):
            self._numbers[sender].append(number)
        self._serials = sorted(serials)

    def all_of(self, messages: list[_Message]) -> bool:
        return self._messages.issuperset(messages)

    def renamed(self, message: _Message) -> _Message:
        """Return the message under its new number, where numbers count only kept messages."""
        return message[0], self.rank(*message)

    def has(self, event: LogEvent, step: int) -> bool:
        return (event.sender, event.number + step) in self._messages

    def note_serials(self, records: list[Record]) -> None:
        told = [record["serial"] for record in records if "serial" in record]
        self._serials = sorted({*self._serials, *told})

    def renumbered(self, process: str, record: Record, members_kept: set[str]) -> Record:
        """Return the record with new numbers. `members_kept` are the processes that stay members; "" keeps all."""
        changed = {name: value for name, value in record.items() if name not in ("at", "t")}
        if "number" in record:
            changed["number"] = self.rank(record.get("sender", process), record["number"])
        if "serial" in record:
            # How many of the kept serials are up to this one: order and gaps stay, and counting begins at 1.
            changed["serial"] = bisect_right(self._serials, record["serial"])
        if record["type"] == "view":
            changed |= self._base(record)
            if "" not in members_kept:
                # Without a log a member makes rules UNKNOWN; the leader stays, as a view without it
                # would break another rule.
                changed["members"] = [
                    who for who in record["members"] if who in members_kept or who == record["leader"]
                ]
            if "succeeds" in record:
                changed["succeeds"] = [renumbered(each, self.rank, self._serials) for each in record["succeeds"]]
        if "cut" in record:
            changed["cut"] = self._counts(record["cut"])
        if "clock" in record:
            changed["clock"] = self._counts(record["clock"])
        if "state" in record:
            changed["state"] = {group: self._state(process, each) for group, each in record["state"].items()}
        return changed

    def _counts(self, counts: dict[str, int]) -> dict[str, int]:
        ranked = {who: self.rank(who, number) for who, number in counts.items()}
        return {who: number for who, number in ranked.items() if number}

    def _state(self, process: str, state: Record) -> Record:
        beyond: dict[str, list[list[int]]] = {}
        for who, ranges in state.get("beyond", {}).items():
            ranked = [[self.rank(who, first - 1) + 1, self.rank(who, first + count - 1)] for first, count in ranges]
            beyond[who] = [[first, last - first + 1] for first, last in ranked if last >= first]
        maps = {name: self._counts(state[name]) for name in ("delivered", "clock")}
        number = self.rank(process, state.get("number", 0))
        serial = bisect_right(self._serials, state.get("serial", 0))
        return {**state, **maps, "beyond": beyond, "number": number, "serial": serial}

    def _base(self, view: Record) -> Record:
        """Return the base of a process that entered, where the view tells it."""
        rebased: Record = {"base": self._counts(view["base"])} if view.get("base") else {}
        if "base_serial" in view:
            rebased["base_serial"] = bisect_right(self._serials, view["base_serial"])
        return rebased

    def rank(self, sender: str, number: int) -> int:
        """Return the new number of a kept message; of another one, that of the last kept message before it, or 0."""
        return bisect_right(self._numbers.get(sender, []), number)
