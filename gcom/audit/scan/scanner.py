"""A pass over a process's log, segment by segment: it finds breaks in the sequence, and sorts rows by group.

The rows of each (group, instance) are judged in batches.py. The definitions are DELIVERY_LOG.md's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gcom.audit.input.applications import key_of
from gcom.audit.input.contract import APPLICATION, BAD, ELECT, LOST, OTHER, Record
from gcom.audit.input.rows import Ints, Rows, only_forward
from gcom.audit.input.segments import LogSegment, are_states
from gcom.audit.scan.batches import BatchScan, Break
from gcom.audit.summary.applications import ApplicationKey, ApplicationSummary
from gcom.audit.summary.fingerprints import word_of
from gcom.audit.summary.messages import MessageRecorder
from gcom.audit.summary.position import Key, LogPosition
from gcom.audit.summary.process import ProcessSummary, SectionSummary


class Scanner:
    """The scan of one process's segments in order; `summaries`, `notes` and `contradictions` are its results."""

    def __init__(
        self, process: str, seeds: tuple[int, int], recorders: dict[Key, MessageRecorder] | None = None
    ) -> None:
        """Begin a pass; `recorders` record the messages of their groups."""
        self.process = process
        self.summaries: dict[Key, ProcessSummary] = {}
        self.applications: dict[ApplicationKey, ApplicationSummary] = {}
        self.positions: dict[Key, LogPosition] = {}
        self.notes: list[str] = []
        self.contradictions: list[str] = []  # of the log with itself
        self.unknown_types: dict[str, int] = {}
        self.gaps = 0
        self.hides_groups = False  # some gap may hide views, and so groups; a `lost` record hides no view
        self.expected = 1
        self.seeds = seeds
        self.recorders = recorders or {}
        self._stateless_gaps: list[int] = []
        self._pending: list[Break] = []  # gaps of which the next opening may tell what they hid
        self._words: dict[str, int] = {}
        self._path = ""
        self._kinds = np.zeros(0, np.int64)  # of the segment's rows; `Break.row` is an index into them
        self._wall_ns = 0

    def restore(self, states: Record) -> None:
        """Begin inside a log, at the states in the first segment's opening."""
        for group, state in states.items():
            key = (group, state.get("instance", ""))
            position = self._position(key)
            position.restore(state)
            position.present, position.hides_members = True, False
            self.summaries[key].highest_sent = state.get("number", 0)
            # Covered, though its beginning is in an earlier chain: joining the summaries puts
            # both parts together (rules/groups.py).
            section = SectionSummary(state["view"], installed=False, start=None, covered=True)
            self.summaries[key].sections.append(section)

    def feed(self, segment: LogSegment, missing: bool, first: bool) -> None:
        """Scan a segment; `missing` says that one before it is not there, `first` that this pass begins here."""
        self._path, self._wall_ns = segment.path, segment.opening.wall_ns
        opening = segment.opening
        if not first and opening.at < self.expected:
            # 1. Segments come by number, so an opening below the position that was reached has a second
            #    writer. 2. Its records would overlap those already judged. 3. It counts as a gap, and what was
            #    read so far stays.
            what = f"is at position {opening.at} instead of {self.expected}: two processes claim one incarnation"
            self.lose_segment(f"{segment.path}:1: {self.process} {what}; nothing in it is read")
            return
        # First of all: a record that goes back in position belongs to nobody, and must not be judged with any batch.
        rows = only_forward(segment.rows, opening.at)
        self._kinds = rows.kind
        breaks, self._pending = self._pending, []
        # 1. A segment is missing, which is a gap. 2. Its positions are missing too, which is checked below. 3. Both
        #    are one loss, so _gap() counts them once.
        if missing:
            self._gap(breaks, 0)
        if not first:
            self._check_position(breaks, 0, opening.at, 1)
        self.expected = opening.at
        breaks.append(Break(0, opening.at, gap=False, state=opening.state))
        self._break_rows(rows, breaks)
        # The close says how far the log went. Positions missing before it were lost at the end of the segment.
        if segment.closing is not None and segment.closing.at != self.expected:
            self._check_position(breaks, len(rows), segment.closing.at, len(rows) + 2)
            self.expected = max(self.expected, segment.closing.at)
        # In this order: a gap at the end belongs to the next opening, so it must be gone before states are given out.
        self._keep_gaps_at_end(rows, breaks)
        self._attach_states(breaks)
        self._scan(rows, breaks, seeded=first)

    def lose_segment(self, why: str) -> None:
        """Record a gap for a segment, or an end of one, that cannot be read; the next opening may tell its content."""
        self.notes.append(why)
        self._gap(self._pending, 0)

    def finish(self) -> None:
        """End the pass: the log ends here, or another pass goes on."""
        breaks, self._pending = self._pending, []
        self._scan(Rows.none(), breaks, seeded=False)
        # A log that ends inside a section ends it: if it is closed, the process is in the class END (DELIVERY_LOG.md,
        # Rules), whose members are compared by what they had settled at the end.
        for key, summary in self.summaries.items():
            if summary.sections and summary.sections[-1].next == "open":
                settled = self.positions[key].settled
                summary.sections[-1].settled = {who: each.copy() for who, each in settled.items()}

    # What breaks the sequence of positions

    def _gap(self, breaks: list[Break], row: int, *, hides_groups: bool = True) -> None:
        """Record a gap; several signs of it in one place count as one."""
        # Each gap is one unknown case for every rule that reads the sequence, so how often one loss is counted shows
        # in the report.
        self.gaps += 1
        self.hides_groups |= hides_groups
        # A line that is no record, the positions missing behind it and a segment that is gone may be one loss; three
        # gaps would make three unknown cases of it.
        if breaks and breaks[-1].gap and (self._kinds[breaks[-1].row : row] == BAD).all():
            breaks[-1].row = row
            return
        breaks.append(Break(row, self.expected, gap=True, state=None))

    def _check_position(self, breaks: list[Break], row: int, at: int, line: int) -> None:
        if at == self.expected:
            return
        what = "positions are missing before it" if at > self.expected else "two processes claim one incarnation"
        self.notes.append(f"{self._path}:{line}: {self.process} is at position {at} instead of {self.expected}: {what}")
        self._gap(breaks, row)

    def _break_rows(self, rows: Rows, breaks: list[Break]) -> None:
        if not len(rows):
            return
        # All rows at once: a row is right if it begins where the one before ends. Only those that are
        # not are gone through.
        ends = rows.at + rows.count
        wrong = np.flatnonzero(rows.at != np.concatenate(([self.expected], ends[:-1])))
        odd = np.flatnonzero((rows.kind == BAD) | (rows.kind == LOST))
        # The row behind an odd one is looked at again, as what the odd row claimed was no measure for it.
        for row in sorted({*wrong.tolist(), *odd.tolist(), *(odd + 1).tolist()} - {len(rows)}):
            before = row - 1
            # What is no record has no position that could be expected to go on.
            while before >= 0 and rows.kind[before] == BAD:
                before -= 1
            if before >= 0:
                self.expected = int(ends[before])
            self._break_row(rows, breaks, row)
        last = len(rows) - 1
        while last >= 0 and rows.kind[last] == BAD:
            last -= 1
        if last >= 0:
            self.expected = int(ends[last])

    def _break_row(self, rows: Rows, breaks: list[Break], row: int) -> None:
        if rows.kind[row] == BAD:
            self.notes.append(f"{self._path}:{row + 2}: no record: {rows.rare[row]['reason']}")
            self._gap(breaks, row)
            return
        # A `lost` record stands where its positions begin: only what is missing before it is another gap.
        self._check_position(breaks, row, int(rows.at[row]), row + 2)
        if rows.kind[row] == LOST:
            self.expected = int(rows.at[row])
            self._gap(breaks, row, hides_groups=False)
            state = rows.rare[row].get("state")
            # A `lost` record has its state in itself, as an opening has; a malformed one is as good as none.
            state = state if are_states(state) else None
            breaks.append(Break(row, self.expected, gap=False, state=state))

    def _keep_gaps_at_end(self, rows: Rows, breaks: list[Break]) -> None:
        """Keep the gaps at the segment's end for the next opening."""
        sound = np.flatnonzero(rows.kind != BAD)
        end = int(sound[-1]) + 1 if len(sound) else 0
        # It ends: the opening's own break, which is no gap, is among them.
        while breaks[-1].gap and breaks[-1].row >= end:
            self._pending.insert(0, replace(breaks.pop(), row=0))

    def _attach_states(self, breaks: list[Break]) -> None:
        """Give each gap the state of the opening that follows it at once."""
        for position, each in enumerate(breaks):
            after = next((b for b in breaks[position:] if not b.gap), None)
            if each.gap and after is not None and after.row == each.row and after.state is not None:
                each.state, each.state_follows = after.state, True

    # One pass

    def _scan(self, rows: Rows, breaks: list[Break], *, seeded: bool) -> None:
        for row, record in rows.rare.items():
            if rows.kind[row] == APPLICATION:
                key = key_of(record)
                found = self.applications.setdefault(key, ApplicationSummary(self.process, key))
                found.records.append({**record, "file": self._path, "line": row + 2})
            if rows.kind[row] == OTHER:
                self.unknown_types[record["type"]] = self.unknown_types.get(record["type"], 0) + 1
        words = np.array([self.word(who) for who in rows.senders], np.uint64)
        # All groups of a process share its positions, so a gap is found once for all; then each group's rows are
        # judged by themselves.
        slices = _by_key(rows)
        clocks = _clocks_by_key(rows)
        stated = {(group, each.get("instance", "")) for b in breaks for group, each in (b.state or {}).items()}
        # Sorted, so that notes and examples do not depend on the order of a set. Groups without rows here, too: a gap
        # or a state concerns all that the process is in.
        for key in sorted({*self.positions, *stated, *slices}):
            position = self._position(key)
            summary = self.summaries[key]
            batch_scan = BatchScan(
                position=position,
                summary=summary,
                rows=rows,
                words=words,
                clock=clocks.get(key, {}),
                path=self._path,
                seeds=self.seeds,
                contradictions=self.contradictions,
                recorder=self.recorders.get(key),
            )
            mine = slices.get(key, np.zeros(0, np.int64))
            batch_scan.scan(mine, breaks, seeded=seeded)
            summary.timeline.note(rows, mine, self.process, self._wall_ns)
        for each in breaks:
            if each.gap and not each.state_follows:
                # Of a group that is first seen later, nobody knows whether it was there before such a gap.
                self._stateless_gaps.append(each.at)

    def _position(self, key: Key) -> LogPosition:
        if key not in self.positions:
            self.positions[key] = position = LogPosition()
            summary = self.summaries[key] = ProcessSummary(self.process, key)
            # 1. A gap without a state behind it. 2. The first record of a group that no earlier one names. 3. Its own
            #    beginning may lie in the gap, so the group begins uncertain.
            for at in self._stateless_gaps:
                summary.gaps.append((at, False))
                position.lose()
        return self.positions[key]

    def word(self, who: str) -> int:
        if who not in self._words:
            self._words[who] = word_of(who)
        return self._words[who]


def _by_key(rows: Rows) -> dict[Key, Ints]:
    """Return the rows of each (group, instance), in order."""
    # Without SUSPECT, which decides nothing, and without LOST, BAD and OTHER, which are of no group.
    counted = np.flatnonzero((rows.key >= 0) & ((rows.kind <= ELECT) | (rows.kind > BAD)))
    if not len(counted):
        return {}
    # Most logs have one group: no sort.
    if len(rows.keys) == 1:
        return {rows.keys[0]: counted}
    # Stable, so that each group's rows stay in the order of positions.
    order = counted[np.argsort(rows.key[counted], kind="stable")]
    codes, starts = np.unique(rows.key[order], return_index=True)
    return {rows.keys[code]: part for code, part in zip(codes.tolist(), np.split(order, starts[1:]), strict=True)}


def _clocks_by_key(rows: Rows) -> dict[Key, dict[str, tuple[Ints, Ints]]]:
    found: dict[Key, dict[str, tuple[Ints, Ints]]] = {}
    for who, (where, said) in rows.clock.items():
        codes = rows.key[where]
        for code in np.unique(codes).tolist():
            mine = codes == code
            found.setdefault(rows.keys[code], {})[who] = (where[mine], said[mine])
    return found
