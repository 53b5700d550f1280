"""The search bar: a text, the hits in this tab or in all, and the way from one to the next."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QLineEdit, QPushButton, QToolButton, QWidget

from gcom_chat.model.conversation import Conversation
from gcom_chat.model.query import MATCH_CASE, Query
from gcom_chat.model.search import Search
from gcom_chat.model.updates import FoundOnDisk

ASK_MS = 300  # after the last key, until the disk is searched
Talks = Callable[[bool], list[Conversation]]  # of the tab in front, or of all


class SearchBar(QWidget):
    """Emits `found` with group and key of the hit that is looked at, and `marked` with the query to be marked."""

    found = Signal(str, int)
    marked = Signal(object)
    disk_wanted = Signal(str, list)  # a text, and groups with the key before which the disk is to be searched
    older_wanted = Signal(object)  # the FoundOnDisk that is to be shown

    def __init__(self, talks: Talks, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._talks = talks
        self._search = Search()
        self.field = QLineEdit(self, clearButtonEnabled=True)
        self.field.setPlaceholderText(self.tr("Search"))
        self.field.setAccessibleName(self.tr("Search text"))
        self.field.setToolTip(
            self.tr("A text; or with from:bob number:7 view:3 concurrent-with:bob#17 the messages of which that holds.")
        )
        self.everywhere = QCheckBox(self.tr("in &all tabs"), self)
        self.match_case = QCheckBox(self.tr("&match case"), self)
        self.count = QLabel(self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 2, 8, 4)
        layout.addWidget(self.field, 1)
        for text, name, step in (("↑", self.tr("Previous hit"), -1), ("↓", self.tr("Next hit"), 1)):
            button = QToolButton(self)
            button.setText(text)
            button.setToolTip(name)
            button.setAccessibleName(name)
            button.clicked.connect(self.previous if step < 0 else self.next)
            layout.addWidget(button)
        layout.addWidget(self.match_case)
        layout.addWidget(self.everywhere)
        layout.addWidget(self.count)
        self.older = QPushButton(self)
        self.older.hide()
        self.older.clicked.connect(lambda: self.older_wanted.emit(self._on_disk))
        layout.addWidget(self.older)
        self._on_disk: FoundOnDisk | None = None
        self._asking = QTimer(self, singleShot=True, interval=ASK_MS)
        self._asking.timeout.connect(self._ask)
        close = QToolButton(self)
        close.setText("✕")
        close.setToolTip(self.tr("Close the search (Esc)"))
        close.setAccessibleName(self.tr("Close the search"))
        close.clicked.connect(self.end)
        layout.addWidget(close)
        self.field.textChanged.connect(self.renew)
        for box in (self.everywhere, self.match_case):
            box.toggled.connect(self.renew)
        self.hide()

    def open(self) -> None:
        """Show the bar, ready to type."""
        self.show()
        self.field.setFocus()
        self.field.selectAll()
        self.renew()

    def end(self) -> None:
        """Hide the bar and the marks."""
        self.hide()
        self.marked.emit(Query.parse(""))

    def renew(self) -> None:
        """Search anew, after another text or another tab."""
        if self.isHidden():
            return
        self._on_disk = None
        self.older.hide()
        # It begins anew with every key, so the disk is searched once, when the typing rests.
        self._asking.start()
        self._search.begin(self._line, self._talks(self.everywhere.isChecked()))
        self.marked.emit(Query.parse(self._line))
        self._show_count()

    @property
    def _line(self) -> str:
        """Return the query in the line; empty if there is none."""
        text = self.field.text()
        return f"{MATCH_CASE} {text}" if text and self.match_case.isChecked() else text

    def _ask(self) -> None:
        """Search the disk for what is older than all that is in memory."""
        text, talks = self._line, self._talks(self.everywhere.isChecked())
        # The bar may have been closed since the last key.
        if text and not self.isHidden():
            self.disk_wanted.emit(text, [(talk.group, talk.rows[0].key) for talk in talks if talk.rows])

    def on_found(self, found: FoundOnDisk) -> None:
        """Offer what was found on disk, if it is still what is searched for."""
        # The disk answers late: by then somebody may search for something else.
        if found.text == self._line and found.found and not self.isHidden():
            self._on_disk = found
            more = "+" if found.more else ""
            self.older.setText(self.tr("{} older, on disk…").format(f"{len(found.found)}{more}"))
            self.older.show()
            self._show_count()

    def next(self) -> None:
        """Go to the next hit."""
        self._step(1)

    def previous(self) -> None:
        """Go to the hit before."""
        self._step(-1)

    def _step(self, by: int) -> None:
        if hit := self._search.step(by):
            self.found.emit(hit.group, hit.key)
        self._show_count()

    def _show_count(self) -> None:
        hits = len(self._search.hits)
        # Not "nothing" beside a button that opens what was found on disk.
        nothing = self.tr("nothing in memory") if self._on_disk else self.tr("nothing found")
        text = nothing if self._search.text else ""
        if hits:
            place = self._search.place
            text = self.tr("{} of {}").format(place, hits) if place else self.tr("%n found", "", hits)
        self.count.setText(text)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter goes up to the older hits, as they are read from the newest; Shift+Enter goes down; Esc ends."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._step(1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else -1)
        elif event.key() == Qt.Key.Key_Escape:
            self.end()
        else:
            super().keyPressEvent(event)
