"""The list of a conversation: it follows the end, unless somebody reads further up, who is never moved or trimmed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QContextMenuEvent, QDesktopServices, QGuiApplication, QHelpEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QListView, QMenu, QPushButton, QToolTip, QWidget

import gcom
from chat_gui.model.insight.names import milliseconds
from chat_gui.model.query import Query
from chat_gui.model.rows import ENDED_BADLY, ChatRow, MessageState, MessageTimes, RowKind
from chat_gui.model.texts.copies import as_json, as_text, with_header
from chat_gui.model.texts.words import QT_TRANSLATE_NOOP, translate
from chat_gui.view.row_delegate import RowDelegate
from chat_gui.view.rows_model import DELIVERY_TEXT, LINE_ACTIONS, SHOWN_MAX, RowsModel

OLDER_ROWS = 200  # that are added at the top at a time


class ConversationView(QListView):
    """Shows rows. `older(key, count)` returns rows before a key, oldest first, from memory or disk."""

    row_clicked = Signal(object)
    receipt_wanted = Signal(object)  # the row of an own message
    line_wanted = Signal(str, str)  # an action of LINE_ACTIONS, and the id of an own line
    older_wanted = Signal(int)  # rows before this key, which are not in memory: they come by `prepend`

    def __init__(
        self, older: Callable[[int, int], Sequence[ChatRow]], parent: QWidget | None = None, group: str = ""
    ) -> None:
        super().__init__(parent)
        self._group = group
        self._older = older
        self._waiting: list[ChatRow] = []  # that came while somebody reads further up
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

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand over a link."""
        point = event.position().toPoint()
        over = self._link_at(point) or self._action_at(point)
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Open a link, whose address is what is shown."""
        # A drag over several rows that ends on a link selects them, and opens nothing.
        address = self._link_at(event.position().toPoint())
        if address and event.button() is Qt.MouseButton.LeftButton and len(self.selectedIndexes()) <= 1:
            open_link(address)
        super().mouseReleaseEvent(event)
        if action := self._action_at(event.position().toPoint()):
            self.line_wanted.emit(action, self.rows.row(self.indexAt(event.position().toPoint()).row()).id)
            return
        index = self.indexAt(event.position().toPoint())
        # The sign of an own message stands in the last column: a click on it asks who has the message.
        if index.isValid() and event.position().x() > self.viewport().width() - self.delegate.sign_width:
            self.ask_receipt(self.rows.row(index.row()))

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

    def copy(self, form: str) -> None:
        """Copy the selected rows: as `text`, with `header`, or as `json`."""
        if rows := self.selected():
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


def tooltip(row: ChatRow) -> str:
    """Return the times of a row, and its state."""
    if row.kind in (RowKind.DAY, RowKind.VIEW, RowKind.NOTICE):
        return _time(row.at_ms)
    lines = [translate("times", "sent {}").format(_time(row.sent_ms))] if row.sent_ms else []
    lines += _steps(row.times, row.sent_ms) if row.times else [translate("times", "read {}").format(_time(row.at_ms))]
    if row.number:
        text = translate("times", "message {} of {}, view {}")
        lines.append(text.format(row.number, row.process, row.view))
    if row.looks_like:
        lines.insert(0, translate("names", "careful: this name looks like {}").format(row.looks_like))
    if row.delivery in DELIVERY_TEXT:
        lines.append(translate("delivery", DELIVERY_TEXT[row.delivery]))
    return "\n".join(lines)


def _steps(times: MessageTimes, sent_ms: int) -> list[str]:
    """Return the way of a message through this process: a line for each step, with the time since the one before."""
    steps = [
        (times.received_ms, translate("times", "received {}")),
        (times.delivered_ms, translate("times", "delivered {}")),
    ]
    if times.ordered_ms is not None:
        steps.insert(1, (times.ordered_ms, translate("times", "ordered {}")))
    before, lines = times.sent_ms or float(sent_ms), []
    # By time: the place in the order may be known before the message itself has come.
    for at_ms, text in sorted(steps, key=lambda step: step[0]):
        after = f" (+{milliseconds(at_ms - before)})" if before and at_ms >= before else ""
        lines.append(text.format(f"{_clock(at_ms)}{after}"))
        before = at_ms
    lines.append(translate("times", "held back for {}").format(milliseconds(times.held_ms)))
    if times.serial:
        lines.append(translate("times", "serial {:,} of the group's order").format(times.serial))
    return lines


def _clock(at_ms: float) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000):%H:%M:%S}.{int(at_ms) % 1000:03d}"


def _time(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000).astimezone()
    return f"{at:%Y-%m-%d %H:%M:%S}.{at_ms % 1000:03d} ({at.astimezone(UTC):%H:%M:%S} UTC)"


def receipt_text(receipt: gcom.Receipt) -> str:
    """Return who has an own message, and who is not known to have it."""
    held = ", ".join(process.partition("#")[0] for process in receipt.held_by)
    lacking = ", ".join(process.partition("#")[0] for process in receipt.lacking)
    parts = [translate("receipt", "message {}: {}").format(receipt.number, translate("states", receipt.state))]
    if receipt.serial:
        parts.append(translate("receipt", "number {} in the group's order").format(receipt.serial))
    parts.append(translate("receipt", "held by {}").format(held or translate("receipt", "nobody")))
    if lacking:
        parts.append(translate("receipt", "lacking: {}").format(lacking))
    return "; ".join(parts)


STATES = (
    QT_TRANSLATE_NOOP("states", "waiting"),
    QT_TRANSLATE_NOOP("states", "sent"),
    QT_TRANSLATE_NOOP("states", "ordered"),
    QT_TRANSLATE_NOOP("states", "held"),
    QT_TRANSLATE_NOOP("states", "doubt"),
    QT_TRANSLATE_NOOP("states", "lost"),
)
