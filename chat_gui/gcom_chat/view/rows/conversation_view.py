"""The list of a conversation: it follows the end, unless somebody reads further up, who is never moved or trimmed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import (
    QClipboard,
    QContextMenuEvent,
    QDesktopServices,
    QGuiApplication,
    QHelpEvent,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QListView, QMenu, QPushButton, QToolTip, QWidget

from gcom_chat.model.query import Query
from gcom_chat.model.rows import ENDED_BADLY, ChatRow, MessageState
from gcom_chat.model.texts.copies import as_json, as_text, with_header
from gcom_chat.model.texts.words import translate
from gcom_chat.view.rows.row_delegate import OPEN, RowDelegate, TextPart
from gcom_chat.view.rows.row_words import tooltip
from gcom_chat.view.rows.rows_model import LINE_ACTIONS, SHOWN_MAX, RowsModel

OLDER_ROWS = 200  # that are added at the top at a time


class ConversationView(QListView):
    """Shows rows. `older(key, count)` returns rows before a key, oldest first, from memory or disk."""

    row_clicked = Signal(object)
    receipt_wanted = Signal(object)  # the row of an own message
    line_wanted = Signal(str, str)  # an action of LINE_ACTIONS, and the id of an own line
    open_wanted = Signal(object)  # a row whose text is to be shown whole
    older_wanted = Signal(int)  # rows before this key, which are not in memory: they come by `prepend`

    def __init__(
        self, older: Callable[[int, int], Sequence[ChatRow]], parent: QWidget | None = None, group: str = ""
    ) -> None:
        super().__init__(parent)
        self._group = group
        self._older = older
        self._waiting: list[ChatRow] = []  # that came while somebody reads further up
        self._press: tuple[ChatRow, int] | None = None  # where the mouse was pressed in a text
        self._asked = 0  # the key before which older rows were asked for last
        self.rows = RowsModel(self)
        self.setModel(self.rows)
        self.delegate = RowDelegate(self, self.rows)
        self.setItemDelegate(self.delegate)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        # For the hand over a link: Qt else tells of the mouse only while a button is down.
        self.setMouseTracking(True)
        self.setAccessibleName(self.tr("Conversation"))
        self._jump = QPushButton(self)
        self._jump.setAccessibleName(self.tr("Go to the newest message"))
        self._jump.hide()
        self._jump.clicked.connect(self.to_end)
        self.clicked.connect(self._on_clicked)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    # rows

    @property
    def follows(self) -> bool:
        """Tell whether the end is shown, so that what comes is shown too."""
        bar = self.verticalScrollBar()
        return not self._waiting and bar.value() >= bar.maximum() - 4

    def add(self, rows: Sequence[ChatRow]) -> None:
        """Show what came, or keep it back while somebody reads further up."""
        if not rows:
            return
        if self.follows:
            self.rows.append(rows, trim=True)
            self.scrollToBottom()
        else:
            # Not shown yet: a list that grows, or is trimmed at the top, would move what is being read.
            self._waiting = [*self._waiting, *rows][-SHOWN_MAX:]
            self._show_jump()

    def show_outbox(self, rows: Sequence[ChatRow]) -> None:
        """Show own messages that have no place yet."""
        follows = self.follows
        if self.rows.show_outbox(rows) and follows:
            self.scrollToBottom()

    def renew(self, keys: set[int]) -> None:
        """Show rows anew that changed, by their keys."""
        if not keys:
            return
        follows = self.follows
        self.delegate.forget(keys)
        self.rows.refresh(keys)
        # One that ended badly is higher by a line, which Qt would not ask for.
        self.scheduleDelayedItemsLayout()
        if follows:
            self.scrollToBottom()

    def to_end(self) -> None:
        """Show the newest row."""
        waiting, self._waiting = self._waiting, []
        self.rows.append(waiting, trim=True)
        self.scrollToBottom()
        self._show_jump()

    def reveal(self, key: int) -> bool:
        """Scroll to a row, loading older ones as far as there are; return whether it is there."""
        while not (index := self.rows.index_of(key)).isValid() and self._load_older():
            pass
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        return index.isValid()

    def _load_older(self) -> bool:
        first = next((row.key for row in self.rows.rows), 0)
        rows = self._older(first, OLDER_ROWS)
        self.prepend(rows)
        # Memory has no more, so the disk is asked, once per place: an answer without rows is the end.
        if not rows and first != self._asked:
            self._asked = first
            self.older_wanted.emit(first)
        return bool(rows)

    def prepend(self, rows: Sequence[ChatRow]) -> None:
        """Add older rows at the top; what is read stays where it is."""
        first = next((row.key for row in self.rows.rows), 0)
        older = [row for row in rows if row.key < first]
        if older:
            bar = self.verticalScrollBar()
            # Measured from the bottom: rows that come in at the top change every distance from there.
            below = bar.maximum() - bar.value()
            self.rows.prepend(older)
            # Now and not in the next turn of the loop: the bar must know its new range before it is set.
            self.doItemsLayout()
            bar.setValue(bar.maximum() - below)

    def _on_scrolled(self, value: int) -> None:
        # A list that is not shown has no range yet, so its bar stands at the top.
        if value == self.verticalScrollBar().minimum() and self.rows.rows and self.isVisible():
            self._load_older()
        elif self._waiting and value >= self.verticalScrollBar().maximum() - 1:
            self.to_end()

    # the button at the bottom

    def _show_jump(self) -> None:
        self._jump.setVisible(bool(self._waiting))
        self._jump.setText(self.tr("↓ %n new", "", len(self._waiting)))
        self._jump.adjustSize()
        corner = self.viewport().rect().bottomRight()
        self._jump.move(corner - QPoint(self._jump.width() + 8, self._jump.height() + 8))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the end in sight, and the button in its corner."""
        # Asked before: another size gives the bar another range, and the end would be somewhere else.
        follows = self.follows
        super().resizeEvent(event)
        if follows:
            self.scrollToBottom()
        self._show_jump()

    # the mouse

    def viewportEvent(self, event: QEvent) -> bool:
        """Show when a message was sent and delivered, and what became of an own one."""
        if isinstance(event, QHelpEvent):
            index = self.indexAt(event.pos())
            if index.isValid():
                text = self.rows.row(index.row())
                QToolTip.showText(event.globalPos(), tooltip(text), self)
                return True
        return super().viewportEvent(event)

    def _link_at(self, point: QPoint) -> str:
        index = self.indexAt(point)
        if not index.isValid():
            return ""
        return self.delegate.link_at(self.rows.row(index.row()), self.visualRect(index), point)

    def _action_at(self, point: QPoint) -> str:
        index = self.indexAt(point)
        row = self.rows.row(index.row()) if index.isValid() else None
        return self.delegate.action_at(row, self.visualRect(index), point) if row else ""

    def _row_at(self, point: QPoint) -> tuple[ChatRow, int] | None:
        """Return the row at a point, and the place in its text."""
        index = self.indexAt(point)
        if not index.isValid():
            return None
        row = self.rows.row(index.row())
        place = self.delegate.place_at(row, self.visualRect(index), point)
        return None if place is None else (row, place)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to select within a text, or rows."""
        self._press = self._row_at(event.position().toPoint()) if event.button() is Qt.MouseButton.LeftButton else None
        self.select_part(None)
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Select a word."""
        super().mouseDoubleClickEvent(event)
        if found := self._row_at(event.position().toPoint()):
            row, place = found
            words = (word.span() for word in re.finditer(r"\w+", row.text))
            self.select_part(next(((row, *span) for span in words if span[0] <= place <= span[1]), None))

    def select_part(self, part: TextPart | None) -> None:
        """Select a part of a row's text; None: no part."""
        if part != self.delegate.part:
            self.delegate.part = part
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Select within a text, or show a hand over a link."""
        point = event.position().toPoint()
        if self._press and event.buttons() & Qt.MouseButton.LeftButton:
            row, begin = self._press
            found = self._row_at(point)
            if found and found[0] is row:
                first, last = sorted((begin, found[1]))
                self.select_part((row, first, last) if first < last else None)
                return  # not the rows, too
            # Out of the row: rows are selected from here on.
            self._press = None
            self.select_part(None)
        over = self._link_at(point) or self._action_at(point)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Open a link, whose address is what is shown."""
        # A drag over several rows that ends on a link selects them, and opens nothing.
        address = self._link_at(event.position().toPoint())
        alone = len(self.selectedIndexes()) <= 1 and self.delegate.part is None
        if address and event.button() is Qt.MouseButton.LeftButton and alone:
            open_link(address)
        super().mouseReleaseEvent(event)
        self._press = None
        if self.delegate.part and QGuiApplication.clipboard().supportsSelection():
            QGuiApplication.clipboard().setText(self.part, QClipboard.Mode.Selection)
        if action := self._action_at(event.position().toPoint()):
            self._act(action, self.rows.row(self.indexAt(event.position().toPoint()).row()))
            return
        index = self.indexAt(event.position().toPoint())
        # The sign of an own message stands in the last column: a click on it asks who has the message.
        if index.isValid() and event.position().x() > self.viewport().width() - self.delegate.sign_width:
            self.ask_receipt(self.rows.row(index.row()))

    def _act(self, action: str, row: ChatRow) -> None:
        if action == OPEN:
            self.open_wanted.emit(row)
        else:
            self.line_wanted.emit(action, row.id)

    def ask_receipt(self, row: ChatRow) -> None:
        """Ask who has an own message, where somebody can know."""
        if row.own and row.number and row.delivery is not MessageState.NONE:
            self.receipt_wanted.emit(row)

    def _on_clicked(self, index: QModelIndex) -> None:
        self.row_clicked.emit(self.rows.row(index.row()))

    # copies

    def selected(self) -> list[ChatRow]:
        """Return the selected rows, oldest first."""
        return [self.rows.row(index.row()) for index in sorted(self.selectedIndexes(), key=QModelIndex.row)]

    @property
    def part(self) -> str:
        """The part of a text that is selected; empty: none."""
        if self.delegate.part is None:
            return ""
        row, first, last = self.delegate.part
        return row.text[first:last]

    def copy(self, form: str) -> None:
        """Copy the selected rows: as `text`, with `header`, or as `json`; or the part of a text that is selected."""
        if self.part and form == "text":
            QGuiApplication.clipboard().setText(self.part)
        elif rows := self.selected():
            plain_forms = {"text": as_text, "header": with_header}
            text = plain_forms[form](rows) if form in plain_forms else as_json(self._group, rows)
            QGuiApplication.clipboard().setText(text)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with the rows under the mouse."""
        index = self.indexAt(event.pos())
        if not index.isValid():
            return
        if not self.selectionModel().isSelected(index):
            self.setCurrentIndex(index)
        row = self.rows.row(index.row())
        self.menu_for(row, self._link_at(event.pos())).exec(event.globalPos())

    def menu_for(self, row: ChatRow, link: str) -> QMenu:
        """Return the menu of a row, and of a link in it."""
        menu = QMenu(self)
        # Its parent would keep the menu of every right click as long as the list lives.
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("&Copy"), lambda: self.copy("text"))
        menu.addAction(self.tr("Copy with &header"), lambda: self.copy("header"))
        menu.addAction(self.tr("Copy as &JSON"), lambda: self.copy("json"))
        menu.addAction(self.tr("Op&en the text…"), lambda: self.open_wanted.emit(row))
        if link:
            menu.addAction(self.tr("Copy the &link"), lambda: QGuiApplication.clipboard().setText(link))
            menu.addAction(self.tr("&Open {}").format(link[:60]), lambda: open_link(link))
        if row.own and row.number and row.delivery is not MessageState.NONE:
            menu.addAction(self.tr("&Who has this message?"), lambda: self.ask_receipt(row))
        if row.own and row.id and row.delivery in ENDED_BADLY:
            menu.addSeparator()
            for name, text in LINE_ACTIONS.items():
                menu.addAction(translate("lines", text), partial(self.line_wanted.emit, name, row.id))
        return menu

    # the look

    def mark(self, query: Query) -> None:
        """Mark the text of a query wherever it stands; empty: no more."""
        # Painted again, and not measured: marks change no height.
        self.delegate.marked = query
        self.viewport().update()

    def changeEvent(self, event: QEvent) -> None:
        """Measure anew after a change of font."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "delegate"):
            follows = self.follows
            self.delegate.restyle()
            # Delayed: several changes within one turn of the event loop are laid out once.
            self.scheduleDelayedItemsLayout()
            if follows:
                self.scrollToBottom()


def open_link(address: str) -> None:
    """Open an address, which is http or https, in the browser."""
    # Strict: Qt would else mend a wrong address, into one that nobody was shown.
    QDesktopServices.openUrl(QUrl(address, QUrl.ParsingMode.StrictMode))
