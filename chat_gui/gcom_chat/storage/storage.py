"""`Storage`: the one thread that touches the disk. Whoever gives it something never waits; answers go into the sink.

What waits is written in one go, so a flood of messages costs a transaction per look and not per message.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from threading import Condition, Thread

from gcom_chat.model.outbox import OwnLine
from gcom_chat.model.query import Query
from gcom_chat.model.rows import ChatRow
from gcom_chat.model.texts.words import translate
from gcom_chat.model.updates import Exported, FoundOnDisk, HistoryCame, StorageTold, SurroundingsCame, Update
from gcom_chat.storage.export import export
from gcom_chat.storage.scrollback import Scrollback, is_damage
from gcom_chat.storage.toml_files import write_text

FIRST_ROWS = 200  # that a tab opens with
PENDING_MAX = 50_000  # rows that wait for a disk that takes none; the oldest go
FOUND_MAX = 500  # rows that a search shows
AROUND_ROWS = 40  # before and after a row that is looked at
RETRY_S = 5.0  # a disk that is full is freed by hand: sooner, each try would only cost
TRIM_EVERY = 500  # rows of a group between two trims
KEY_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A search of talks, each before a key; or, without a text, what is around the key of the one talk."""

    text: str
    talks: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Request:
    """Rows of a group before a key."""

    group: str
    key: int
    count: int


@dataclass(frozen=True, slots=True)
class _Export:
    """Rows of a group that go into a file, behind those that are older."""

    group: str
    rows: tuple[ChatRow, ...]
    path: str


class Storage:
    """Keeps scrollback and small files. `sink` takes what comes of it, from the storage's own thread.

    What it calls a group is a talk (scrollback.py); `home`: the registry of what an old file holds.
    """

    def __init__(self, history: Path, sink: Callable[[Update], None], keep_max: int, home: str = "") -> None:
        self._path, self._sink, self._keep_max, self._home = history, sink, keep_max, home
        self._more = Condition()
        self._rows: deque[tuple[str, ChatRow]] = deque(maxlen=PENDING_MAX)
        self._lines: dict[tuple[str, str], OwnLine | None] = {}  # by talk and id; of one that changes twice the last
        self._files: dict[Path, str] = {}
        self._requests: list[_Request | _Export] = []
        self._search: _Lookup | None = None  # the newest alone counts
        self._around: _Lookup | None = None
        self._closed = False
        # the thread's own
        self._scrollback: Scrollback | None = None
        self._unwritten: dict[Path, str] = {}  # files that could not be written: again at each look
        self._since_trim: dict[str, int] = {}
        self._mute: set[str] = set()  # groups whose earlier rows could not be read: their numbers are not known
        self._said: set[str] = set()
        self._thread = Thread(target=self._run, name="chat storage", daemon=True)
        self._thread.start()

    # for any thread

    def add(self, group: str, rows: Sequence[ChatRow]) -> None:
        """Keep rows that are new."""
        if rows:
            with self._more:
                # A copy of one with a long text, of which the window lets go at its bound.
                self._rows.extend((group, replace(row) if row.whole else row) for row in rows)
                self._more.notify()

    def keep(self, group: str, lines: Mapping[str, OwnLine | None]) -> None:
        """Keep own lines that have not ended, by id; None: forget one that has."""
        if lines:
            with self._more:
                # Copies: the window goes on changing its own.
                self._lines.update(
                    ((group, identity), line and replace(line, row=replace(line.row)))
                    for identity, line in lines.items()
                )
                self._more.notify()

    def load(self, group: str, before: int = KEY_MAX, count: int = FIRST_ROWS) -> None:
        """Ask for rows before a key; they come as a HistoryCame, an empty one where there are none."""
        with self._more:
            self._requests.append(_Request(group, before, count))
            self._more.notify()

    def export(self, group: str, rows: tuple[ChatRow, ...], path: str) -> None:
        """Write all rows of a group that are on disk before these, and these, to a file; tell so by an Exported."""
        with self._more:
            self._requests.append(_Export(group, rows, path))
            self._more.notify()

    def search(self, text: str, talks: Sequence[tuple[str, int]]) -> None:
        """Search talks, each before a key; what is found comes as a FoundOnDisk, unless another search is begun."""
        with self._more:
            self._search = _Lookup(text, tuple(talks))
            self._more.notify()

    def look_around(self, group: str, key: int) -> None:
        """Ask for a row with those around it; they come as a SurroundingsCame."""
        with self._more:
            self._around = _Lookup("", ((group, key),))
            self._more.notify()

    def write(self, path: Path, text: str) -> None:
        """Replace a small file; of several texts that wait for one file the last is written."""
        with self._more:
            self._files[path] = text
            self._more.notify()

    def set_bound(self, keep_max: int) -> None:
        """Keep so many rows per group from now on."""
        with self._more:
            self._keep_max = keep_max

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what waits, and end."""
        with self._more:
            self._closed = True
            self._more.notify()
        # With a limit: a disk that hangs must not keep the window from closing.
        self._thread.join(timeout_s)

    # the thread

    def _run(self) -> None:
        closed = False
        while not closed:
            with self._more:
                # Rows that could not be written wait for new ones, or for a while: the disk may have room again.
                self._more.wait_for(self._has_work, RETRY_S)
                # All is taken under the lock, and done without it: nobody waits for the disk.
                closed, files, requests = self._closed, self._files, self._requests
                rows, self._rows = self._rows, deque(maxlen=PENDING_MAX)
                lines, self._lines = self._lines, {}
                self._files, self._requests = {}, []
                search, around, self._search, self._around = self._search, self._around, None, None
            files, self._unwritten = {**self._unwritten, **files}, {}
            for path, text in files.items():
                self._write(path, text)
            self._add(rows, lines)
            for request in requests:
                if isinstance(request, _Export):
                    self._export(request)
                else:
                    self._answer(request)
            # Last, since a search may take seconds: a tab that opens waits for its rows before it joins.
            for lookup in (around, search):
                if lookup and not closed:
                    self._look(lookup)
        if self._scrollback:
            self._scrollback.close()

    def _export(self, wanted: _Export) -> None:
        first = wanted.rows[0].key if wanted.rows else KEY_MAX
        try:
            rows = (self._in_full(wanted.group, row) for row in wanted.rows)
            text = export(chain(self._opened().older(wanted.group, first), rows), wanted.path)
        except (sqlite3.Error, OSError):  # of a scrollback that cannot be read: what is in memory is there all the same
            text = export(wanted.rows, wanted.path)
        self._sink(Exported(wanted.group, text))

    def _in_full(self, group: str, row: ChatRow) -> ChatRow:
        """Return a row with its whole text, which may be on disk alone."""
        if not row.cut or row.whole:
            return row
        return next((kept for kept in self._opened().around(group, row.key, 0) if kept.key == row.key), row)

    def _has_work(self) -> bool:
        asked = self._requests or self._search or self._around
        return bool(self._closed or self._files or asked or self._fresh())

    def _look(self, lookup: _Lookup) -> None:
        """Search, or look around; a scrollback that cannot be read has nothing, as its loading says."""
        found: list[tuple[str, ChatRow]] = []
        more = False
        with suppress(sqlite3.Error, OSError):
            for group, key in lookup.talks:
                if not lookup.text:
                    self._sink(SurroundingsCame(group, key, tuple(self._opened().around(group, key, AROUND_ROWS))))
                    return
                rows, cut = self._opened().find(group, Query.parse(lookup.text), key, FOUND_MAX, self._superseded)
                found, more = [*found, *((group, row) for row in rows)], more or cut
        if not self._superseded():
            self._sink(FoundOnDisk(lookup.text, tuple(found[:FOUND_MAX]), more or len(found) > FOUND_MAX))

    def _superseded(self) -> bool:
        """Tell whether another search, or the end, makes this one needless."""
        # Without the lock: a look that comes too early only costs STOP_EVERY rows more.
        return self._search is not None or self._closed

    def _fresh(self) -> bool:
        # Rows that could not be written do not wake the thread, which would spin on them; RETRY_S does.
        return bool(self._rows or self._lines) and "rows" not in self._said

    def _write(self, path: Path, text: str) -> None:
        try:
            write_text(path, text)
        except OSError as error:
            # Kept, so that it is written as soon as there is room, without another change by the user.
            self._unwritten[path] = text
            self._say(
                "files",
                translate(
                    "storage",
                    "{} cannot be written ({}): what is open now, and settings that change, will not be there at the "
                    "next start. Make room, or make the folder writable",
                ).format(path, error.strerror),
            )
        else:
            self._said.discard("files")

    def _add(self, rows: deque[tuple[str, ChatRow]], lines: dict[tuple[str, str], OwnLine | None]) -> None:
        kept = [(group, row) for group, row in rows if group not in self._mute]
        if not kept and not lines:
            return
        try:
            # Lines first: one that was typed and is lost by a kill can be found nowhere else.
            self._opened().keep((*name, line) for name, line in lines.items())
            self._opened().add(kept)
            self._trim([group for group, _ in kept])
        except (sqlite3.Error, OSError) as error:
            if self._damaged(error):
                self._add(rows, lines)
                return
            self._say(
                "rows",
                translate(
                    "storage",
                    "the scrollback cannot be saved ({}): the chat goes on, and tries again. Make room, or make {} "
                    "writable",
                ).format(error, self._path.parent),
            )
            # Before those that came meanwhile, so that the rows keep their order; at the bound the oldest go.
            with self._more:
                self._rows = deque([*kept, *self._rows], maxlen=PENDING_MAX)
                self._lines = {**lines, **self._lines}
        else:
            self._said.discard("rows")

    def _trim(self, groups: list[str]) -> None:
        for group in dict.fromkeys(groups):
            # Trimmed with the first rows too: the bound may have been lowered since they were written.
            self._since_trim[group] = self._since_trim.get(group, TRIM_EVERY) + groups.count(group)
            if self._since_trim[group] >= TRIM_EVERY:
                self._opened().trim(group, self._keep_max)
                self._since_trim[group] = 0

    def _answer(self, request: _Request) -> None:
        rows: list[ChatRow] = []
        lines: list[OwnLine] = []
        first = request.key == KEY_MAX
        try:
            rows = self._opened().before(request.group, request.key, request.count)
            lines = self._opened().lines(request.group) if first else []
        except (sqlite3.Error, OSError) as error:
            if self._damaged(error):
                self._answer(request)
                return
            # Rows that follow would be numbered from 1, and take the places of those that cannot be read now.
            self._mute.add(request.group)
            self._say(
                "read",
                translate(
                    "storage",
                    "what was said earlier cannot be read ({}): this chat goes on without, and saves nothing of these "
                    "groups until its next start. Look at {}",
                ).format(error, self._path),
            )
        # Told without rows as well: a group is joined only once its scrollback has come.
        self._sink(HistoryCame(request.group, tuple(rows), not first, lines=tuple(lines)))

    def _opened(self) -> Scrollback:
        # Opened here and not in the constructor: an SQLite connection belongs to the thread that made it.
        if self._scrollback is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._scrollback = Scrollback(self._path, self._home)
        return self._scrollback

    def _damaged(self, error: Exception) -> bool:
        """Keep a damaged file aside, so that the next look begins a new one; return whether that was done."""
        if not isinstance(error, sqlite3.Error) or not is_damage(error):
            return False
        if self._scrollback:
            with suppress(sqlite3.Error):
                self._scrollback.close()
            self._scrollback = None
        aside = _free(self._path)
        try:
            self._path.replace(aside)
            # They go with it: SQLite would replay an old log into the new file of that name.
            for ending in ("-wal", "-shm"):
                beside = self._path.with_name(self._path.name + ending)
                if beside.exists():
                    beside.replace(aside.with_name(aside.name + ending))
        except OSError:
            return False
        text = translate("storage", "the scrollback was damaged: it is kept as {}, and a new one begins")
        self._say(f"damaged {aside}", text.format(aside))
        return True

    def _say(self, about: str, text: str) -> None:
        """Tell a trouble once, until it is over."""
        if about not in self._said:
            self._said.add(about)
            self._sink(StorageTold(text))


def _free(path: Path) -> Path:
    """Return a name for a damaged file that no other has."""
    names = (path.with_name(f"{path.name}.damaged{at or ''}") for at in range(1_000))
    return next((name for name in names if not name.exists()), path.with_name(f"{path.name}.damaged"))
