"""`Keeper`: what outlives the window: settings, what is open, and the scrollback.

All is handed to the storage as soon as it changes, so that a chat that is killed finds its tabs, drafts and scrollback
at its next start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from gcom_chat.model.outbox import OwnLine
from gcom_chat.model.rows import ChatRow
from gcom_chat.model.settings import SavedSession, Settings, session_of, settings_of
from gcom_chat.model.updates import Exported, FoundOnDisk, HistoryCame, SurroundingsCame, Update
from gcom_chat.storage.export import export
from gcom_chat.storage.places import Places
from gcom_chat.storage.scrollback import talk_of
from gcom_chat.storage.storage import Storage
from gcom_chat.storage.toml_files import read_table, session_text, settings_text


class Keeper(QObject):
    """Reads settings and session at once, and writes them as they change; without places it keeps nothing."""

    changed = Signal()  # the settings

    def __init__(self, places: Places | None, sink: Callable[[Update], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.settings, self.session, self.troubles = Settings(), SavedSession(), list[str]()
        self._places = places
        self._storage: Storage | None = None
        self._untouched: set[Path] = set()  # files that could not be read, and are not replaced
        self.registry = ""  # whose groups are shown
        self._sink = sink
        self._last: dict[str, int] = {}  # by group whose scrollback has come: the last row that is on disk
        if places:
            self.settings, self.session = (
                settings_of(self._read(places, "settings")),
                session_of(self._read(places, "session")),
            )
            self.registry = self.settings.registry
            self._storage = Storage(places.history, self._on_told, self.settings.history_max, self.registry)

    def _read(self, places: Places, name: str) -> dict[str, Any]:
        path: Path = getattr(places, name)
        read = read_table(path)
        self.troubles += [read.trouble] if read.trouble else []
        if not read.replaceable:
            self._untouched.add(path)
        return read.values

    def _write(self, path: Path, text: str) -> None:
        if self._storage and path not in self._untouched:
            self._storage.write(path, text)

    # settings and session

    def change(self, **fields: Any) -> None:
        """Change settings, here and on disk; whoever shows them hears of it."""
        settings = replace(self.settings, **fields)
        # A field tells that it was edited whenever it loses the focus, though nothing was typed.
        if settings == self.settings:
            return
        self.settings = settings
        if self._storage and self._places:
            self._storage.set_bound(settings.history_max)
            self._write(self._places.settings, settings_text(settings))
        self.changed.emit()

    def save_session(self, session: SavedSession) -> None:
        """Keep what is open, where it is not kept already."""
        if session != self.session:
            self.session = session
            if self._places:
                self._write(self._places.session, session_text(session))

    # scrollback

    def turn_to(self, registry: str) -> bool:
        """Keep what is said at this registry from now on; return whether it is another: tabs are opened anew then."""
        another = registry != self.registry
        if another:
            # Keys are per talk: those of a group at the registry
            # before say nothing of the group of that name here.
            self.registry, self._last = registry, {}
        return another

    def is_current(self, update: HistoryCame) -> bool:
        """Return whether what came from disk is of the registry whose groups are shown."""
        return update.registry == self.registry

    def _on_told(self, update: Update) -> None:
        """Pass on what the storage says, with the group of a talk; in the storage's thread."""
        if isinstance(update, HistoryCame):
            registry, _, group = update.group.rpartition("/")
            update = replace(update, group=group, registry=registry)
        elif isinstance(update, SurroundingsCame | Exported):
            update = replace(update, group=update.group.rpartition("/")[2])
        elif isinstance(update, FoundOnDisk):
            registry = update.found[0][0].rpartition("/")[0] if update.found else ""
            found = tuple((talk.rpartition("/")[2], row) for talk, row in update.found)
            update = replace(update, found=found, registry=registry)
        self._sink(update)

    def load(self, group: str) -> bool:
        """Ask for the last rows of a group; return whether they will come: without a disk there are none."""
        if self._storage:
            self._storage.load(talk_of(self.registry, group))
        else:
            # Nothing is on disk, so the group need not wait to be joined.
            self._last[group] = 0
        return self._storage is not None

    def load_older(self, group: str, key: int) -> None:
        """Ask for rows before a key."""
        if self._storage:
            self._storage.load(talk_of(self.registry, group), key)

    def search(self, text: str, groups: Sequence[tuple[str, int]]) -> None:
        """Search what is on disk of groups, each before a key."""
        if self._storage:
            self._storage.search(text, [(talk_of(self.registry, group), key) for group, key in groups])

    def look_around(self, group: str, key: int) -> bool:
        """Ask for a row on disk with those around it; return whether there is a disk."""
        if self._storage:
            self._storage.look_around(talk_of(self.registry, group), key)
        return self._storage is not None

    def export(self, group: str, rows: Sequence[ChatRow], path: str) -> None:
        """Write rows to a file, behind those on disk that were before them; what became of it comes as an Exported."""
        if self._storage:
            self._storage.export(talk_of(self.registry, group), tuple(rows), path)
        else:
            self._sink(Exported(group, export(rows, path)))

    def on_history(self, update: HistoryCame) -> None:
        """Take note of what came from disk."""
        if not update.older:
            self._last[update.group] = max((row.key for row in update.rows), default=0)

    def is_loaded(self, group: str) -> bool:
        """Return whether a group's scrollback has come, so that new rows can follow it."""
        return group in self._last

    def add(self, group: str, rows: Sequence[ChatRow]) -> None:
        """Keep new rows. Before its scrollback has come, a group's rows have no numbers that fit, and are not kept."""
        if self._storage and rows and group in self._last:
            last = self._last[group]
            # Rows that came from the disk are among them, and would be written back for nothing.
            self._storage.add(talk_of(self.registry, group), [row for row in rows if row.key > last])

    def rewrite(self, group: str, rows: Sequence[ChatRow]) -> None:
        """Keep rows anew whose content is another."""
        if self._storage and rows and group in self._last:
            self._storage.add(talk_of(self.registry, group), rows)

    def keep(self, group: str, lines: Mapping[str, OwnLine | None]) -> None:
        """Keep own lines that have not ended, and forget those that have."""
        if self._storage:
            self._storage.keep(talk_of(self.registry, group), lines)

    def forget(self, group: str) -> None:
        """Take note that a tab was closed: it is loaded anew when it is opened again."""
        self._last.pop(group, None)

    def close(self) -> None:
        """Write what waits, and end."""
        if self._storage:
            self._storage.close()
