"""Judging of a segment's rows of one (group, instance), as columns, batch by batch.

A batch lies between two events that change more than counts: a view, the end of a session, a gap, an opening. Where a
sender's numbers in it do not simply go up (loss, disorder, a violation), its rows are judged one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gcom.audit.input.contract import ADOPT, CONFIRM, DELIVER, DETACH, ELECT, LEAVE, SEND, SKIP, VIEW, Record
from gcom.audit.input.rows import Ints, Rows
from gcom.audit.rules.table import RULES
from gcom.audit.rules.views.view_agreement import judge_end, judge_installation
from gcom.audit.summary.batch import Batch
from gcom.audit.summary.fingerprints import fingerprints
from gcom.audit.summary.intervals import Intervals, add_numbers
from gcom.audit.summary.lineage import next_after, note_end, note_evidence
from gcom.audit.summary.messages import MessageRecorder
from gcom.audit.summary.position import Key, LogPosition, reached_by
from gcom.audit.summary.process import ProcessSummary, SectionSummary, add_prints
from gcom.audit.summary.runs import by_code, merged, runs_of
from gcom.audit.summary.tally import EXAMPLES

# In the report's order. No rule sees what another one did: each only reads the position and adds to its own
# part of the summary.
_BY_BATCH = [rule.judge_batch for rule in RULES.values() if rule.judge_batch is not None]


@dataclass(slots=True)
class Break:
    """An interruption for all groups, before `row`: a gap, or the opening after it, with its state."""

    row: int
    at: int
    gap: bool
    state: Record | None
    state_follows: bool = False  # a gap: an opening follows at once that has a state


@dataclass(slots=True)
class BatchScan:
    """The scan of the rows of `summary.key` in one segment; `clock` are its sends' clock entries, as Rows has them.

    `words` are the hashes of `rows.senders`. All other input and output is in `position`, `summary`, `contradictions`
    and, where messages are read again, `recorder`.
    """

    position: LogPosition
    summary: ProcessSummary
    rows: Rows
    words: Any
    clock: dict[str, tuple[Ints, Ints]]
    path: str
    seeds: tuple[int, int]
    contradictions: list[str]
    recorder: MessageRecorder | None

    @property
    def process(self) -> str:
        return self.summary.process

    def scan(self, mine: Ints, breaks: list[Break], *, seeded: bool) -> None:
        """Judge the rows `mine`, in order; `seeded` says that the position already equals the first opening's state."""
        controls = mine[self.rows.kind[mine] > SKIP]
        stops: list[tuple[int, int, Break | None]] = [(int(row), 1, None) for row in controls]
        stops += [(each.row, 0, each) for each in breaks]
        # Of one row, a break comes first: a gap or an opening lies before the row, an event is the row itself.
        stops.sort(key=lambda stop: stop[:2])
        begin = 0
        for row, _, broken in stops:
            end = int(np.searchsorted(mine, row))
            self._batch(mine[begin:end])
            begin = end if broken is not None else end + 1
            if broken is None:
                self._on_event(row)
            elif broken.gap:
                self._on_gap(broken)
            else:
                self._on_opening(broken, seeded=seeded)
        self._batch(mine[begin:])

    # Events that change more than counts

    def _on_event(self, row: int) -> None:
        kind, record = int(self.rows.kind[row]), self.rows.rare[row]
        where = {"process": self.process, "file": self.path, "line": row + 2}
        self.position.present = True
        if kind == VIEW:
            self._install({**record, **where})
        elif kind in (LEAVE, DETACH):
            judge_end(self.summary, self.position, {**record, **where})
            # Before the section is closed: what was settled at the end includes all up to this record.
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
        judge_installation(self.summary, position, record)
        self._close(view)
        # Whether the section begins certain is what was known before the view, which itself makes nothing certain: a
        # gap may hide deliveries of any earlier view.
        certain = position.certain
        if position.last_view == 0:  # who goes over from another instance goes on in its own stream
            position.number = max(position.number or 0, base.get(self.process, 0))
        position.install(view, members, base, record.get("base_serial", 0))
        # Only of members: of others the view change has agreed on nothing.
        start = {who: position.settled_of(who).highest for who in members} if certain else None
        self.summary.views.append(record)
        self.summary.sections.append(
            SectionSummary(view, installed=True, start=start, covered=certain, serial=position.serial or 0)
        )

    def _end(self, following: int | str) -> None:
        """End the session: no view is in force from here on."""
        self._close(following)
        self.position.view = None
        # A gap behind the end does not concern this group any more (_on_gap).
        self.position.ended = True

    def _close(self, following: int | str) -> None:
        section = self._section()
        if section is None:
            return
        # After a gap, a view whose number is not the next says that views in between are hidden: nobody knows with
        # whom the process went on, so it is in no class.
        jump = isinstance(following, int) and following != section.view + 1 and not section.covered
        section.next = "unknown" if jump else following
        # A copy: the position goes on, and the class compares what was settled at this instant.
        section.settled = {who: settled.copy() for who, settled in self.position.settled.items()}

    def _section(self) -> SectionSummary | None:
        """Return the section that is open."""
        sections = self.summary.sections
        return sections[-1] if sections and sections[-1].next == "open" else None

    def _on_gap(self, gap: Break) -> None:
        position, key = self.position, self.summary.key
        has_state = gap.state_follows and _state_of(gap.state, key) is not None
        # A gap concerns a group that the process was in, or may have been: not one whose session ended, nor one that
        # the opening behind the gap, which names all groups, does not name.
        if position.ended or (gap.state_follows and not position.present and not has_state):
            return
        self.summary.gaps.append((gap.at, has_state))
        position.lose()
        section = self._section()
        if section is not None:
            section.covered = False
        # 1. A gap. 2. The opening behind it names all groups that the process is in. 3. This one is not among them,
        #    so its session ended inside the gap; how, nobody knows.
        if gap.state_follows and not has_state:
            self._end("unknown")

    def _on_opening(self, opening: Break, *, seeded: bool) -> None:
        position, state = self.position, _state_of(opening.state, self.summary.key)
        position.logged_clock = {}
        # The scanner has already taken this state as its beginning; the driver holds it against the chain before.
        if seeded:
            return
        # An opening without a word of this group says that the process is not in it; what precedes says that it is.
        if state is None:
            # 1. A state that does not fit what precedes it proves nothing: it is trusted only across a gap. 2. Here
            #    there is none. 3. So it is noted, the process is gone through as a whole, and the records count.
            if position.certain and position.view is not None:
                self._note_unlike(opening)
            return
        position.present = True
        if position.certain:
            if not position.reached(self.process).leads_to(reached_by(state, self.process)):
                self._note_unlike(opening)
            return
        # Across a gap a state proves sends: who delivers one of these has not made it up.
        self.summary.highest_sent = max(self.summary.highest_sent, state.get("number", 0))
        section = self._section()
        # The gap hid a view. Its section is not covered, and has no start: nobody knows what was
        # settled when it began.
        if section is None or section.view != state["view"]:
            self._close("unknown")
            self.summary.sections.append(SectionSummary(state["view"], installed=False, start=None, covered=False))
        position.restore(state)

    def _note_unlike(self, opening: Break) -> None:
        # DELIVERY_LOG.md, `state`: "it is trusted only across a gap, else it must equal what precedes it".
        self.contradictions.append(
            f"{self.path}:1: the state of {self.process} at {opening.at} is not what precedes it"
        )

    # Batches

    def _batch(self, mine: Ints) -> None:
        if not len(mine):
            return
        position, summary, rows = self.position, self.summary, self.rows
        position.present = True
        # A state tells of sessions only: what lies outside of one is lost for a chain
        # that begins later (plan/chains.py).
        position.outside |= position.in_force is None
        batch = Batch(rows, mine, position, summary, self.path, self.words, self.clock, self.seeds)
        summary.deliveries += int(rows.count[batch.delivers].sum())
        if self.recorder is not None and (dependencies := self.recorder.dependencies) is not None:
            # A no-op has a serial and no sender, and settles no message.
            named = batch.passed[rows.sender[batch.passed] >= 0]
            dependencies.record_deliveries(rows, named, position, self.path)
            dependencies.record_sends(rows, batch.sends, batch.true_clock, position.certain)
        # Rules see the position before the batch: 1. all that is certain of the rows is judged; 2. then what they
        # settle is noted, which moves the position.
        for rule in _BY_BATCH:
            rule(batch)
        self._note_sends(batch)
        self._note_serials(batch)
        # Last: it settles the rows, and the rules above needed the position before them.
        before = self._judge_senders(batch)
        if self.recorder is not None:
            places = np.full(len(mine), -1)
            places[rows.kind[mine] != SEND] = before
            section = len(summary.sections) - 1 if self._in_section() else None
            self.recorder.record(rows, mine, places, position.view, section, self.path)

    def _in_section(self) -> bool:
        section = self._section()
        return section is not None and self.position.view == section.view

    def _note_sends(self, batch: Batch) -> None:
        position, rows, summary, sends = self.position, self.rows, self.summary, batch.sends
        if not len(sends):
            return
        first, last = batch.ends(sends)
        for a, b, view in runs_of(first, last, rows.view[sends]):
            # A number that is sent twice counts in the view of its first send: a second send is NO_CREATION's, and
            # must not make the first delivery wrong too.
            new = Intervals([(a, b)]).minus(summary.sent)
            for x, y in new:
                summary.sent_in.setdefault(view, Intervals()).add(x, y)
                summary.sent.add(x, y)
            if self._in_section():
                summary.sections[-1].sends.add(a, b)
        for who, true in batch.true_clock.items():
            # The first send with a dependency is enough to count CAUSAL's cases, as every later one has it too.
            if who not in summary.depends_from and true[-1] > 0:
                summary.depends_from[who] = int(first[np.argmax(true > 0)])
        position.number = int(last[-1])

    def _note_serials(self, batch: Batch) -> None:
        """Note which serials are of messages, and which are no-ops."""
        rows, section = self.rows, self._section()
        placed = batch.passed[rows.serial[batch.passed] >= 0]
        if section is None or not self._in_section() or not len(placed):
            return
        first = rows.serial[placed]
        # By sender or not: consecutive serials join whoever sent them, so they are few ranges.
        for a, b, named in runs_of(first, first + rows.count[placed] - 1, (rows.sender[placed] >= 0).astype(np.int64)):
            (section.placed if named else section.no_ops).add(a, b)
        for row in placed[rows.sender[placed] < 0][:EXAMPLES].tolist():
            if len(section.no_op_places) < EXAMPLES:
                section.no_op_places.append(batch.place(row, serial=int(rows.serial[row])))

    def _judge_senders(self, batch: Batch) -> Ints:
        """Judge FIFO and NO_DUPLICATION; return the place of each row in the order: the number of messages settled
        before it.
        """
        rows, position, summary, passed = self.rows, self.position, self.summary, batch.passed
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
        for code, of in by_code(rows.sender[passed]):
            who = rows.senders[code]
            first, last = batch.ends(passed[of])
            settled = position.settled_of(who)
            # Nearly always a sender's numbers simply go up, and one range is added for the whole batch. Else rows are
            # gone through one by one.
            if first[0] == settled.highest + 1 and (first[1:] == last[:-1] + 1).all():
                settled.add(int(first[0]), int(last[-1]))
                if position.since_gap is not None and delivered[of].any():
                    # Behind a gap the first delivery of each sender cannot be blamed for its number: what it follows
                    # may be hidden.
                    position.since_gap.setdefault(who, int(first[np.argmax(delivered[of])]))
            else:
                fresh[of] -= self._judge_one_by_one(batch, who, passed[of])
            if delivered[of].any():
                position.true_clock[who] = max(position.true_clock.get(who, 0), int(last[delivered[of]].max()))
        # A place counts what was settled, skips included, since the instance began. So processes that hold the same
        # give a message the same place, whatever they entered with.
        places[named] = before + np.cumsum(fresh) - fresh
        section = summary.sections[-1] if self._in_section() else None
        for who, _, ranges in merged(rows, passed[delivered], by_view=False):
            # Twice: per section for the rules of views, and over all for NO_CREATION, TOTAL and CONTINUITY.
            for into in (summary.delivered, *([section.delivered] if section is not None else [])):
                numbers = into.setdefault(who, Intervals())
                for a, b in ranges:
                    numbers.add(a, b)
        if section is not None:
            self._note_order(section, passed[delivered], places[named][delivered])
        for who, _, ranges in merged(rows, passed[~delivered], by_view=False):
            add_numbers(summary.given_up, {who: Intervals(ranges)})
        return places

    def _judge_one_by_one(self, batch: Batch, who: str, passed: Ints) -> Ints:
        """Judge numbers that do not simply go up; return how many messages of each row were settled before."""
        rows, position, summary = self.rows, self.position, self.summary
        settled = position.settled_of(who)
        overlaps = np.zeros(len(passed), np.int64)
        for index, row in enumerate(passed.tolist()):
            first, count = int(rows.number[row]), int(rows.count[row])
            last = first + count - 1
            # After a fault FIFO resumes from n: only what directly precedes is asked for, so one loss is one
            # violation and not one per message behind it.
            followed = first == 1 or first - 1 in settled
            highest = settled.highest
            # Before the row settles itself: the first number of the run that was there already is the one to show.
            again = settled.lowest_in(first, last)
            overlaps[index] = settled.add(first, last)
            if rows.kind[row] != DELIVER:
                continue
            if overlaps[index]:
                summary.tally("NO_DUPLICATION").violate(int(overlaps[index]), **batch.where_of(row, again))
            # 1. A gap hides deliveries of q. 2. The first one behind it may follow on what is hidden: UNKNOWN. 3. A
            #    later one that leaves a number out leaves it out in the open: FAIL.
            since = position.since_gap.setdefault(who, first) if position.since_gap is not None else 0
            if not followed and first <= since:
                summary.tally("FIFO").doubt(1, f"{self.process} has a gap before position {int(rows.at[row])}")
            elif not followed:
                summary.tally("FIFO").violate(1, **batch.where(row, highest=highest))
        return overlaps

    def _note_order(self, section: SectionSummary, delivers: Ints, places: Ints) -> None:
        rows = self.rows
        # Places, not indexes: two processes that hold the same have the same places, though one entered later.
        runs = rows.number[delivers], places, rows.count[delivers]
        add_prints(section.order, fingerprints(self.words[rows.sender[delivers]], *runs, self.seeds))


def _state_of(states: Record | None, key: Key) -> Record | None:
    state: Record | None = (states or {}).get(key[0])
    return state if state is not None and state.get("instance", "") == key[1] else None
