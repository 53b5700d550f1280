"""The delivery log of one process, version 1, which the audit reads (DELIVERY_LOG.md).

Two halves. `record` runs where the event happens, inside the caller's critical section: it takes the event's positions
and appends a small tuple, once per run, never once per message. `flush` runs elsewhere and later: it turns tuples into
lines and hands them to the operating system. The driver keeps two promises: it calls `flush_before_frame` before any
frame leaves, so that nobody knows of a send or a view that our log may not, and `flush` within 100 ms for the rest. No
thread is here.

At a full buffer the event that fills it flushes by itself. At a full or failing disk the log ends at its last whole
line, says so once, and messages go on: what is written stays true, and the audit sees an unknown tail.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import NamedTuple
from zlib import crc32

from gcom.core.messages.effects import Deliver, Effect, Ended, Installed, Quorum, Sent, SetState, Skip, Suspected
from gcom.trace.lines import Adopted, Confirmed, Delivered, LoggedEvent, Noted, Numbered, line, note, opening
from gcom.trace.segment import Segment, folder_name
from gcom.trace.state import LoggedSession
from gcom.values.definition import Definition
from gcom.values.names import Process, name_of
from gcom.values.run import Payload, data_of

SEGMENT_BYTES = 64 * 1024 * 1024
SEGMENT_AGE_US = 600 * 1_000_000  # a quiet member's lines become readable for readers of sealed segments, too
WAITING_MAX = 100_000  # records; at the bound the event that fills the buffer writes it out itself


class _Record(NamedTuple):
    at: int
    next_at: int
    us: int
    definition: Definition | None  # of a record that is of no group: none
    instance: str
    event: LoggedEvent | Noted


class DeliveryLog:
    """The log of one process, for all of its groups. No method raises OSError: `on_trouble` gets the reason, once.

    `wall_ns` is the time of day when `clock_us`, a monotonic clock, is read first: here. `on_trouble` is called in the
    thread that met the trouble: that of the constructor, of a flush or `close`, or of a `record` or `confirm` that
    filled the buffer. That one holds its caller's lock, so `on_trouble` must not wait.
    """

    def __init__(
        self,
        directory: Path,
        process: Process,
        *,
        wall_ns: int,
        clock_us: Callable[[], int],
        on_trouble: Callable[[str], None],
        segment_bytes: int = SEGMENT_BYTES,
        segment_age_us: int | None = SEGMENT_AGE_US,
        digests: bool = False,
    ) -> None:
        self._process = process
        self._clock_us = clock_us
        self._on_trouble = on_trouble
        self._digests = digests  # of each payload; INTEGRITY is judged by them
        self._segment_bytes = segment_bytes
        self._segment_age_us = segment_age_us
        self._started_us = self._opened_us = clock_us()
        self._wall_ns = wall_ns
        # The caller's half.
        self.feeders: list[Callable[[], None]] = []  # called before a flush: they note what they have kept back
        self._waiting: deque[_Record] = deque()
        self._placing = Lock()  # positions are also taken by threads of what stands on groups
        self._next_at = 1
        self._urgent_at = 0  # the last position that must be written before a frame leaves
        # The flusher's half, under the lock.
        self._lock = Lock()
        self._encoded_at = 1  # the first position that is not encoded
        self._written_at = 1  # the first position that is not written
        self._sessions: dict[str, LoggedSession] = {}
        self._folder = directory / folder_name(name_of(process)) / folder_name(process.partition("#")[2])
        self._segment: Segment | None = None
        self._ended = False

    def record(self, definition: Definition, instance: str, effect: Effect) -> None:
        """Log an effect at the next positions; effects that are no event of the log are passed over.

        The caller calls this in the order of events, in the critical section that performs them.
        """
        if self._ended:
            return
        event: LoggedEvent
        # 1. A sends m, and its frame leaves. 2. A is killed before the log has m. 3. B's log delivers a message that no
        # log sends: to the audit, m is made up. So sends are written before a frame leaves; and views, as a peer's log
        # must not show this process in a view that its own does not know.
        urgent = isinstance(effect, Sent | Installed)
        # Positions are taken in the core's step: their order is that in which the application was given things.
        count = 1
        match effect:
            case Deliver():
                run, count = effect.run, len(effect.run.payloads)
                last, digests = run.first + count - 1, self._digests_of(run.payloads)
                event = Delivered(effect.view, run.view, run.sender, run.first, last, effect.serial, digests)
            case Sent():
                run, count = effect.run, len(effect.run.payloads)
                last, digests = run.first + count - 1, self._digests_of(run.payloads)
                event = Numbered(run.view, run.first, last, run.clock, digests)
            case Skip():
                event, count = effect, effect.count
            case SetState(view, _, donor):
                event = Adopted(view, donor)
            case Installed() | Quorum() | Suspected() | Ended():
                event = effect
            case _:
                return
        self._put(count, definition, instance, event, urgent=urgent)

    def _digests_of(self, payloads: Sequence[Payload]) -> tuple[int, ...]:
        return tuple([crc32(data_of(payload)) for payload in payloads]) if self._digests else ()

    def confirm(self, definition: Definition, instance: str, view: int, number: int, by: str) -> None:
        """Log that this process, a sender, was told that its message is held by so many (`by`: majority, all)."""
        if not self._ended:
            self._put(1, definition, instance, Confirmed(view, number, by))

    def note(self, kind: str, fields: str) -> None:
        """Log a record of what stands on groups: `fields` are its fields as JSON, in ASCII, without braces.

        Any thread may call this.
        """
        if not self._ended:
            self._put(1, None, "", Noted(kind, fields))

    def _put(
        self,
        count: int,
        definition: Definition | None,
        instance: str,
        event: LoggedEvent | Noted,
        *,
        urgent: bool = False,
    ) -> None:
        with self._placing:
            at, self._next_at = self._next_at, self._next_at + count
            if urgent:
                self._urgent_at = at
            # deque.append and popleft are atomic, so the two halves share it without a lock.
            self._waiting.append(_Record(at, at + count, self._clock_us(), definition, instance, event))
        # At the bound the caller pays: a log that dropped records silently would make the audit UNKNOWN, and one that
        # grew would take the memory.
        if len(self._waiting) >= WAITING_MAX:
            self.flush()

    def flush_before_frame(self) -> None:
        """Return once every send and view recorded so far has reached the operating system; at once if none waits."""
        # One comparison when nothing waits: this is asked before every frame.
        if self._urgent_at >= self._written_at:
            self.flush()

    def flush(self) -> None:
        """Return once everything recorded so far has reached the operating system. Any thread may call it."""
        self._feed()
        self._guard(self._catch_up)

    def _feed(self) -> None:
        for feeder in self.feeders:
            feeder()

    def close(self) -> None:
        """Write what is due and seal the log; later records and a second close do nothing.

        A sealed log claims that it lacks nothing, and that each group was left, or has delivered everywhere all that
        was sent in it. A caller that cannot claim this flushes and abandons the log instead.
        """
        self._feed()
        self._guard(self._finish)

    def let_go(self) -> None:
        """Close the file without a word and without a lock: in the child of a fork, whose parent goes on writing it."""
        if self._segment is not None:
            self._segment.abandon()

    def abandon(self) -> None:
        """Stop as a crash does: what waits is lost, and the segment stays unsealed."""
        self._guard(self._end)

    def _guard(self, work: Callable[[], None]) -> None:
        trouble = None
        # One flush at a time: two would write the lines of two moments in any order.
        with self._lock:
            if self._ended:
                return
            try:
                work()
            except OSError as error:
                trouble = error
                self._end()
        # Outside the lock: the application's callback may call flush.
        if trouble is not None:
            self._on_trouble(
                f"the delivery log in {self._folder} ends here: {trouble.strerror or trouble}. Messages go on "
                "without it; to log again, make room or pick a folder that can be written, and start this member anew."
            )

    def _end(self) -> None:
        self._ended = True
        self._waiting.clear()
        self._urgent_at = 0
        if self._segment is not None:
            self._segment.abandon()
            self._segment = None

    def _begin(self) -> None:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        # An incarnation writes one log: a folder that is there belongs to another writer.
        self._folder.mkdir()
        self._open(0, self._started_us, None)

    def _catch_up(self) -> None:
        # Not before there is something to say: a process that never gets into a group leaves no folder.
        if self._segment is None:
            if not self._waiting:
                return
            self._begin()
        self._write_waiting()
        now_us = self._clock_us()
        # Nothing may happen for long, and what there is should be readable.
        if self._is_old(now_us):
            self._rotate(now_us)

    def _write_waiting(self) -> None:
        # Only what waits now: the caller's half goes on appending while this runs.
        for _ in range(len(self._waiting)):
            self._encode(self._waiting.popleft())
        # One system call for all lines of a flush.
        self._current_segment.write()
        self._written_at = self._encoded_at

    def _finish(self) -> None:
        if self._segment is None and not self._waiting:
            self._end()
            return
        self._catch_up()
        self._current_segment.seal(self._encoded_at, "exit")
        self._end()

    @property
    def _current_segment(self) -> Segment:
        assert self._segment is not None, "a log without a segment has ended"
        return self._segment

    def _encode(self, record: _Record) -> None:
        # By the time of the record, not of the flush, so that flushes move no line into another segment.
        if self._is_full() or self._is_old(record.us):
            self._rotate(record.us)
        us = max(0, record.us - self._opened_us)  # recorded just before the segment was opened, written after
        self._current_segment.append(self._line(record, us))
        self._encoded_at = record.next_at

    def _line(self, record: _Record, us: int) -> str:
        definition, event = record.definition, record.event
        if definition is None or isinstance(event, Noted):
            assert isinstance(event, Noted), "all others are of a group"
            return note(record.at, us, event)
        session = self._session(definition.group, record.instance)
        found = line(record.at, us, definition, session, event)
        if isinstance(event, Ended):
            # A process enters an instance once. What follows under the group's name is another session,
            # with its own state.
            del self._sessions[definition.group]
        return found

    def _session(self, group: str, instance: str) -> LoggedSession:
        session = self._sessions.get(group)
        if session is None or session.instance != instance:
            session = self._sessions[group] = LoggedSession(self._process, group, instance)
        return session

    def _is_full(self) -> bool:
        # More than the opening line: else a small bound would make segments without records.
        return self._current_segment.records > 1 and self._current_segment.size >= self._segment_bytes

    def _is_old(self, now_us: int) -> bool:
        age_us = self._segment_age_us
        return self._current_segment.records > 1 and age_us is not None and now_us - self._opened_us >= age_us

    def _rotate(self, now_us: int) -> None:
        """Seal, which waits for the disk, and go on in a new segment that can be judged alone."""
        segment = self._current_segment
        segment.seal(self._encoded_at, "rotate")
        self._written_at = self._encoded_at
        self._open(segment.number + 1, now_us, {group: session.state() for group, session in self._sessions.items()})
        # The next segment's first send must carry the whole clock: this segment may be gone when that is judged.
        for session in self._sessions.values():
            session.logged_all = False

    def _open(self, number: int, now_us: int, state: dict[str, dict[str, object]] | None) -> None:
        self._segment = Segment(self._folder, number)
        self._opened_us = now_us
        wall_ns = self._wall_ns + (now_us - self._started_us) * 1000
        self._segment.append(opening(self._encoded_at, self._process, number, wall_ns, state))
        self._segment.write()
