"""A segment's rows of one (group, instance), judged as columns, batch by batch.

A batch lies between two events that change more than counts: a view, the end of a session, a gap, an opening. Where a
sender's numbers in it do not simply go up (loss, disorder, a violation), its rows are gone through one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from gcom.audit.input.records import ADOPT, CONFIRM, DELIVER, DETACH, ELECT, LEAVE, SEND, SKIP, VIEW, Ints, Record, Rows
from gcom.audit.scan.breaks import Break
from gcom.audit.summary.fingerprints import BUCKET, fingerprints, word_of
from gcom.audit.summary.intervals import Intervals
from gcom.audit.summary.lineage import next_after, note_end, note_evidence
from gcom.audit.summary.messages import MessageRecorder
from gcom.audit.summary.position import Key, LogPosition
from gcom.audit.summary.process import ProcessSummary, add_prints
from gcom.audit.summary.runs import merged, runs_of
from gcom.audit.summary.sections import SectionSummary
from gcom.audit.summary.tally import Tally


@dataclass(slots=True)
class BatchScan:
    """Judges the rows of `summary.key` in one segment; `clock` are its sends' clock entries, as Rows has them.

    `words` are the hashes of `rows.senders`. What the judging needs besides goes in and out by `place`, `summary`,
    `notes` and, where a closer look is taken, `run_table` or `dependencies`.
    """

    position: LogPosition
    summary: ProcessSummary
    rows: Rows
    words: Any
    clock: dict[str, tuple[Ints, Ints]]
    path: str
    seeds: tuple[int, int]
    notes: list[str]
    recorder: MessageRecorder | None

    @property
    def process(self) -> str:
        return self.summary.process

    def go(self, mine: Ints, breaks: list[Break], *, seeded: bool) -> None:
        """Judge the rows `mine`, in order; `seeded` if the place already is what the first opening's state says."""
        controls = mine[self.rows.kind[mine] > SKIP]
        stops: list[tuple[int, int, Break | None]] = [(int(row), 1, None) for row in controls]
        stops += [(each.row, 0, each) for each in breaks]
        stops.sort(key=lambda stop: stop[:2])
        begin = 0
        for row, _, broken in stops:
            end = int(np.searchsorted(mine, row))
            self._batch(mine[begin:end])
            begin = end if broken is not None else end + 1
            if broken is None:
                self._control(row)
            elif broken.gap:
                self._lose(broken)
            else:
                self._open(broken, seeded=seeded)
        self._batch(mine[begin:])

    # Events that change more than counts

    def _control(self, row: int) -> None:
        kind, record = int(self.rows.kind[row]), self.rows.rare[row]
        where = {"process": self.process, "file": self.path, "line": row + 2}
        self.position.present = True
        if kind == VIEW:
            self._install({**record, **where})
        elif kind in (LEAVE, DETACH):
            note_end(self.summary, self.position, {**record, **where})
            self._end(next_after(record))
            self.position.left = True
        elif kind in (CONFIRM, ADOPT):
            note_evidence(self.summary, {**record, **where})
        elif kind == ELECT:
            self.summary.elects.append({**record, **where})

    def _install(self, record: Record) -> None:
        position, view = self.position, record["view"]
        members, base = tuple(record["members"]), record.get("base", {})
        tally = self.summary.tally("VIEW_AGREEMENT")
        tally.evaluated += 1
        where = {"view": view, "at": record["at"], "file": self.path, "line": record["line"]}
        if self.process not in members or record["leader"] not in members:
            tally.violate(1, **where, kind="outsider")
        if position.last_view and view != position.last_view + 1:
            tally.violate(1, **where, kind="jump", before=position.last_view)
        if position.left:
            tally.violate(1, **where, kind="again")
        self._close(view)
        certain = position.certain
        if position.last_view == 0:  # who goes over from another instance goes on in its own stream
            position.number = max(position.number or 0, base.get(self.process, 0))
        position.install(view, members, base, record.get("base_serial", 0))
        start = {who: position.settled_of(who).highest for who in members} if certain else None
        self.summary.views.append(record)
        self.summary.sections.append(
            SectionSummary(view, installed=True, start=start, covered=certain, serial=position.serial or 0)
        )

    def _end(self, following: int | str) -> None:
        self._close(following)
        self.position.view = None
        self.position.ended = True

    def _close(self, following: int | str) -> None:
        section = self._section()
        if section is None:
            return
        jump = isinstance(following, int) and following != section.view + 1 and not section.covered
        section.next = "unknown" if jump else following
        section.settled = {who: settled.copy() for who, settled in self.position.settled.items()}

    def _section(self) -> SectionSummary | None:
        """The section that is open."""
        sections = self.summary.sections
        return sections[-1] if sections and sections[-1].next == "open" else None

    def _lose(self, gap: Break) -> None:
        position, key = self.position, self.summary.key
        has_state = gap.told and _state_of(gap.state, key) is not None
        if position.ended or (gap.told and not position.present and not has_state):
            return
        self.summary.gaps.append((gap.at, has_state))
        position.lose()
        section = self._section()
        if section is not None:
            section.covered = False
        if gap.told and not has_state:
            self._end("unknown")

    def _open(self, opening: Break, *, seeded: bool) -> None:
        position, state = self.position, _state_of(opening.state, self.summary.key)
        position.told = {}
        if seeded:
            return
        if state is None:
            if position.certain and position.view is not None:
                self._note_unlike(opening)
            return
        position.present = True
        if position.certain:
            if not position.is_state(state, self.process):
                self._note_unlike(opening)
            return
        self.summary.known_sent = max(self.summary.known_sent, state.get("number", 0))
        section = self._section()
        if section is None or section.view != state["view"]:
            self._close("unknown")
            self.summary.sections.append(SectionSummary(state["view"], installed=False, start=None, covered=False))
        position.restore(state)

    def _note_unlike(self, opening: Break) -> None:
        self.notes.append(f"{self.path}:1: the state of {self.process} at {opening.at} is not what precedes it")

    # Stretches

    def _batch(self, mine: Ints) -> None:
        if not len(mine):
            return
        self.position.present = True
        self.position.outside |= self.position.in_force is None
        kind = self.rows.kind[mine]
        sends, delivers = mine[kind == SEND], mine[kind == DELIVER]
        passed = mine[kind != SEND]
        self._judge_own_sends(sends)
        self._judge_own_deliveries(sends, delivers)
        heard_at_sends = self._judge_clocks(sends, delivers)
        self._judge_sending_views(delivers)
        self._judge_views_of_sends(sends)
        if self.recorder is not None and (dependencies := self.recorder.dependencies) is not None:
            named = passed[self.rows.sender[passed] >= 0]
            dependencies.record_deliveries(self.rows, named, self.position, self.path)
            dependencies.record_sends(self.rows, sends, heard_at_sends, self.position.certain)
        self._note_sends(sends, heard_at_sends)
        before = self._judge_senders(passed)
        self._judge_serials(passed)
        self._note_digests(sends, delivers)
        if self.recorder is not None:
            places = np.full(len(mine), -1)
            places[kind != SEND] = before
            section = len(self.summary.sections) - 1 if self._in_section() else None
            self.recorder.record(self.rows, mine, places, self.position.view, section, self.path)

    def _in_section(self) -> bool:
        section = self._section()
        return section is not None and self.position.view == section.view

    def _first_last(self, rows: Ints) -> tuple[Ints, Ints]:
        first = self.rows.number[rows]
        return first, first + self.rows.count[rows] - 1

    def _where(self, row: int, **more: Any) -> dict[str, Any]:
        rows = self.rows
        sender = rows.senders[rows.sender[row]] if rows.sender[row] >= 0 else self.process
        return {
            "at": int(rows.at[row]),
            "view": int(rows.view[row]),
            "file": self.path,
            "line": row + 2,
            "sender": sender,
            "number": int(rows.number[row]),
            **more,
        }

    def _where_of(self, row: int, number: int) -> dict[str, Any]:
        """Where that message of a run is."""
        return self._where(row, at=int(self.rows.at[row]) + number - int(self.rows.number[row]), number=number)

    def _judge_own_sends(self, sends: Ints) -> None:
        """NO_CREATION: a process's sends are 1, 2, 3 …"""
        if not len(sends):
            return
        first, last = self._first_last(sends)
        before = np.concatenate(
            ([self.position.number if self.position.number is not None else first[0] - 1], last[:-1])
        )
        for index in np.flatnonzero(first != before + 1).tolist():
            self.summary.tally("NO_CREATION").violate(
                1, kind="jump", before=int(before[index]), **self._where(int(sends[index]))
            )
        self.summary.known_sent = max(self.summary.known_sent, int(last.max()))

    def _judge_own_deliveries(self, sends: Ints, delivers: Ints) -> None:
        """NO_CREATION: one's own is delivered after its send; of the rest the highest number is noted."""
        if not len(delivers):
            return
        rows, summary = self.rows, self.summary
        tally = summary.tally("NO_CREATION")
        count = rows.count[delivers]
        tally.evaluated += int(count.sum())
        summary.deliveries += int(count.sum())
        _, last = self._first_last(delivers)
        own = rows.senders.index(self.process) if self.process in rows.senders else -1
        mine = rows.sender[delivers] == own
        early = np.zeros(len(delivers), np.bool_)
        if mine.any():
            _, sent = self._first_last(sends)
            sent = np.concatenate(([self.position.number if self.position.number is not None else 1 << 62], sent))
            known = sent[np.searchsorted(sends, delivers[mine])]
            early[mine] = last[mine] > known
            for index in np.flatnonzero(last[mine] > known).tolist():
                row = int(delivers[mine][index])
                above = int(min(last[mine][index] - known[index], rows.count[row]))
                first = max(int(rows.number[row]), int(known[index]) + 1)
                tally.violate(above, kind="early", **self._where_of(row, first))
        for code in np.unique(rows.sender[delivers]).tolist():
            which = (rows.sender[delivers] == code) & ~early
            if which.any():
                who = rows.senders[code]
                summary.highest[who] = max(summary.highest.get(who, 0), int(last[which].max()))

    def _judge_clocks(self, sends: Ints, delivers: Ints) -> dict[str, Ints]:
        """CLOCK. Returns what had been delivered of each other process, or was in base, at each send."""
        position, rows = self.position, self.rows
        if not len(sends):
            return {}
        heard: dict[str, Ints] = {}
        senders = {rows.senders[code] for code in np.unique(rows.sender[delivers]).tolist()}
        entries = {who: _within(each, sends) for who, each in self.clock.items()}
        entries = {who: each for who, each in entries.items() if len(each[0])}
        judged = position.view is not None and position.certain
        tally = self.summary.tally("CLOCK")
        if judged:
            tally.evaluated += int(rows.count[sends].sum())
        _, last = self._first_last(delivers)
        for who in sorted({*position.heard, *senders, *position.told, *entries} - {self.process}):
            true = np.full(len(sends), position.heard.get(who, 0))
            if who in senders:
                of = np.flatnonzero(rows.sender[delivers] == rows.senders.index(who))
                steps = np.maximum.accumulate(np.concatenate(([position.heard.get(who, 0)], last[of])))
                true = steps[np.searchsorted(delivers[of], sends)]
            said = np.full(len(sends), position.told.get(who, 0))
            if who in entries:
                where, values = entries[who]
                said = np.concatenate(([position.told.get(who, 0)], values))[np.searchsorted(where, sends, "right")]
                position.told[who] = int(said[-1])
            heard[who] = true
            if judged and position.members is not None and who in position.members:
                self._judge_clock(tally, sends, who, said, true)
            elif judged and position.members is None and (said != true).any():  # who is in the view, others tell
                assert position.view is not None, "it is judged"
                unplaced = self.summary.unplaced.setdefault((position.view, who, position.hides_members), Tally())
                self._judge_clock(unplaced, sends, who, said, true)
        return heard

    def _judge_clock(self, tally: Tally, sends: Ints, who: str, said: Ints, true: Ints) -> None:
        for index in np.flatnonzero(said != true).tolist():
            row = int(sends[index])
            more = {"other": who, "said": int(said[index]), "true": int(true[index])}
            tally.violate(int(self.rows.count[row]), **self._where(row, **more))

    def _judge_sending_views(self, delivers: Ints) -> None:
        """SENDING_VIEW as far as the record and the view in force tell."""
        if not len(delivers):
            return
        position, rows, summary = self.position, self.rows, self.summary
        tally = summary.tally("SENDING_VIEW")
        tally.evaluated += int(rows.count[delivers].sum())
        view, sent_view = rows.view[delivers], rows.sent_view[delivers]
        wrong = (view != sent_view) | self._is_not_in_force(view)
        for index in np.flatnonzero(wrong).tolist():
            row = int(delivers[index])
            more = {"sent_view": int(sent_view[index]), "in_force": position.in_force}
            tally.violate(int(rows.count[row]), kind="here", **self._where(row, **more))
        right = delivers[~wrong]
        for who, in_view, ranges in merged(rows, right):
            into = summary.heard_in.setdefault((who, in_view), Intervals())
            for first, last in ranges:
                into.add(first, last)

    def _judge_views_of_sends(self, sends: Ints) -> None:
        """SENDING_VIEW: what is sent names the view in force, and nothing is sent outside of a session."""
        wrong = self._is_not_in_force(self.rows.view[sends])
        for row in sends[wrong].tolist():
            where = self._where(row, in_force=self.position.in_force)
            self.summary.tally("SENDING_VIEW").violate(int(self.rows.count[row]), kind="send", **where)

    def _is_not_in_force(self, view: Ints) -> Any:
        """Of each view whether it is surely not the one in force."""
        position = self.position
        if position.knows_in_force and position.in_force is None:
            return np.ones(len(view), np.bool_)
        return view != (view if position.in_force is None else position.in_force)

    def _note_sends(self, sends: Ints, heard: dict[str, Ints]) -> None:
        position, rows, summary = self.position, self.rows, self.summary
        if not len(sends):
            return
        first, last = self._first_last(sends)
        for a, b, view in runs_of(first, last, rows.view[sends]):
            new = Intervals([(a, b)]).minus(summary.sent)
            for x, y in new:
                summary.sent_in.setdefault(view, Intervals()).add(x, y)
                summary.sent.add(x, y)
            if self._in_section():
                summary.sections[-1].sends.add(a, b)
        for who, true in heard.items():
            if who not in summary.dependent_from and true[-1] > 0:
                summary.dependent_from[who] = int(first[np.argmax(true > 0)])
        position.number = int(last[-1])

    def _judge_senders(self, passed: Ints) -> Ints:
        """FIFO and NO_DUPLICATION; returns the place of each row in the order: how much was settled before it."""
        rows, position, summary = self.rows, self.position, self.summary
        named = rows.sender[passed] >= 0
        places = np.zeros(len(passed), np.int64)
        passed = passed[named]
        if not len(passed):
            return places
        delivered = rows.kind[passed] == DELIVER
        for rule in ("FIFO", "NO_DUPLICATION"):
            summary.tally(rule).evaluated += int(rows.count[passed][delivered].sum())
        before = sum(len(settled) for settled in position.settled.values())
        fresh = rows.count[passed].copy()  # how many of a row were not settled before
        codes = rows.sender[passed]
        for code in np.unique(codes).tolist():
            of = np.flatnonzero(codes == code)
            who = rows.senders[code]
            first, last = self._first_last(passed[of])
            settled = position.settled_of(who)
            if first[0] == settled.highest + 1 and (first[1:] == last[:-1] + 1).all():
                settled.add(int(first[0]), int(last[-1]))
                if position.since_gap is not None and delivered[of].any():
                    position.since_gap.setdefault(who, int(first[np.argmax(delivered[of])]))
            else:
                fresh[of] -= self._judge_one_by_one(who, passed[of])
            if delivered[of].any():
                position.heard[who] = max(position.heard.get(who, 0), int(last[delivered[of]].max()))
        places[named] = before + np.cumsum(fresh) - fresh
        section = summary.sections[-1] if self._in_section() else None
        for who, _, ranges in merged(rows, passed[delivered], by_view=False):
            for into in (summary.delivered, *([section.delivered] if section is not None else [])):
                numbers = into.setdefault(who, Intervals())
                for a, b in ranges:
                    numbers.add(a, b)
        if section is not None:
            self._note_order(section, passed[delivered], places[named][delivered])
        return places

    def _judge_one_by_one(self, who: str, passed: Ints) -> Ints:
        """As above where numbers do not simply go up; returns how many of each row were settled before."""
        rows, position, summary = self.rows, self.position, self.summary
        settled = position.settled_of(who)
        overlaps = np.zeros(len(passed), np.int64)
        for index, row in enumerate(passed.tolist()):
            first, count = int(rows.number[row]), int(rows.count[row])
            last = first + count - 1
            followed = first == 1 or first - 1 in settled
            highest = settled.highest
            again = settled.lowest_in(first, last)
            overlaps[index] = settled.add(first, last)
            if rows.kind[row] != DELIVER:
                continue
            if overlaps[index]:
                summary.tally("NO_DUPLICATION").violate(int(overlaps[index]), **self._where_of(row, again))
            since = position.since_gap.setdefault(who, first) if position.since_gap is not None else 0
            if not followed and first <= since:
                summary.tally("FIFO").doubt(1, f"{self.process} has a gap before position {int(rows.at[row])}")
            elif not followed:
                summary.tally("FIFO").violate(1, **self._where(row, highest=highest))
        return overlaps

    def _note_order(self, section: SectionSummary, delivers: Ints, places: Ints) -> None:
        rows = self.rows
        words = self.words[rows.sender[delivers]] if len(delivers) else np.zeros(0, np.uint64)
        number, count = rows.number[delivers], rows.count[delivers]
        prints = fingerprints(words, number, places, count, self.seeds)
        add_prints(section.order, prints)

    def _judge_serials(self, passed: Ints) -> None:
        """SERIAL_CONTIGUOUS, and fingerprints for SERIAL_UNIQUE."""
        rows, position, summary = self.rows, self.position, self.summary
        delivered = rows.kind[passed] == DELIVER
        summary.deliveries_without_serial += int(rows.count[passed][delivered & (rows.serial[passed] < 0)].sum())
        placed = passed[rows.serial[passed] >= 0]
        if not len(placed):
            return
        first = rows.serial[placed]
        last = first + rows.count[placed] - 1
        tally = summary.tally("SERIAL_CONTIGUOUS")
        tally.evaluated += int(rows.count[placed].sum()) - (position.serial is None)
        before = np.concatenate(([position.serial if position.serial is not None else first[0] - 1], last[:-1]))
        for index in np.flatnonzero(first != before + 1).tolist():
            more = {"serial": int(first[index]), "before": int(before[index])}
            tally.violate(1, **self._where(int(placed[index]), **more))
        highest = np.maximum.accumulate(np.concatenate(([summary.last_serial], last)))
        for index in np.flatnonzero(first <= highest[:-1]).tolist():
            summary.late_serials |= {*range(int(first[index]) // BUCKET, int(last[index]) // BUCKET + 1)}
        summary.first_serial = summary.first_serial or int(first[0])
        summary.last_serial, position.serial = int(highest[-1]), int(last[-1])
        named = placed[rows.sender[placed] >= 0]
        for who, _, ranges in merged(rows, named[rows.kind[named] == SKIP], by_view=False):
            summary.skipped[who] = summary.skipped.get(who, Intervals()).union(Intervals(ranges))
        summary.tally("SERIAL_UNIQUE").evaluated += int(rows.count[named].sum())
        words = self.words[rows.sender[named]] if len(named) else np.zeros(0, np.uint64)
        prints = fingerprints(words, rows.number[named], rows.serial[named], rows.count[named], self.seeds)
        add_prints(summary.serials, prints)

    def _note_digests(self, sends: Ints, delivers: Ints) -> None:
        rows, summary = self.rows, self.summary
        if not rows.digests:
            return
        for chosen, into in ((sends, summary.sent_digests), (delivers, summary.heard_digests)):
            told = np.array([row for row in chosen.tolist() if row in rows.digests], np.int64)
            lists = [rows.digests[row][:n] for row, n in zip(told.tolist(), rows.count[told].tolist(), strict=True)]
            lengths = np.array([len(each) for each in lists], np.int64)
            self._note_digested(told, lengths)
            digest = np.fromiter(chain.from_iterable(lists), np.int64)
            number = np.repeat(rows.number[told] - (np.cumsum(lengths) - lengths), lengths) + np.arange(len(digest))
            own = len(rows.senders)
            code = np.repeat(np.where(rows.kind[told] == DELIVER, rows.sender[told], own), lengths)
            for each in np.unique(code).tolist():
                of = code == each
                who = self.process if each == own else rows.senders[each]
                # The digest takes the place of the offset: a message's print is of its number and digest.
                salted = np.uint64(word_of(who)) ^ digest[of].view(np.uint64)
                prints = fingerprints(salted, number[of], number[of], np.ones_like(number[of]), self.seeds)
                add_prints(into, {(who, bucket): found for bucket, found in prints.items()})

    def _note_digested(self, told: Ints, lengths: Ints) -> None:
        """Of which messages the rows `told` have digests: of so many each."""
        rows, summary = self.rows, self.summary
        told, lengths = told[lengths > 0], lengths[lengths > 0]
        first = rows.number[told]
        for a, b, code in runs_of(first, first + lengths - 1, rows.sender[told]) if len(told) else ():
            of = summary.digested if code < 0 else summary.heard_digested.setdefault(rows.senders[code], Intervals())
            of.add(a, b)


def _state_of(states: Record | None, key: Key) -> Record | None:
    state: Record | None = (states or {}).get(key[0])
    return state if state is not None and state.get("instance", "") == key[1] else None


def _within(entries: tuple[Ints, Ints], sends: Ints) -> tuple[Ints, Ints]:
    where, said = entries
    low, high = np.searchsorted(where, (sends[0], sends[-1] + 1))
    return where[low:high], said[low:high]
