"""The look of a row: time, name, text, and the state of an own message; separators have the width to themselves."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPalette,
    QPen,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

import gcom
from gcom_chat.model.members import Members
from gcom_chat.model.query import Query
from gcom_chat.model.rows import ENDED_BADLY, ChatRow, MessageState, RowKind
from gcom_chat.model.settings import CLOCKS
from gcom_chat.model.text import links
from gcom_chat.model.texts.isolates import ShownText, apart
from gcom_chat.model.texts.words import translate
from gcom_chat.view import colours
from gcom_chat.view.rows.rows_model import DELIVERY_TEXT, LINE_ACTIONS, ROW_ROLE, RowsModel

_Index = QModelIndex | QPersistentModelIndex
PAD, GAP = 3, 10
HEIGHTS_MAX = 20_000  # twice a tab's rows: to measure one costs a layout of its text
MARKS_MAX = 100  # of one row
AT_NOON = datetime(2008, 8, 28, 12, 48, 58)  # as wide as times are
SIGNS = {
    MessageState.WAITING: "…",
    MessageState.SENT: "›",
    MessageState.ORDERED: "✓",
    MessageState.HELD: "✓✓",
    MessageState.DOUBT: "?",
    MessageState.LOST: "✗",
    MessageState.UNCONFIRMED: "?",
}
OPEN = "open"  # the action below a text that is shown in part
TextPart = tuple[ChatRow, int, int]  # from a place in its text to another
_SEPARATORS = (RowKind.DAY, RowKind.VIEW)


class RowDelegate(QStyledItemDelegate):
    """Paints rows, and measures them once per width."""

    def __init__(self, view: QAbstractItemView, rows: RowsModel) -> None:
        super().__init__(view)
        self._view, self._rows = view, rows
        self._heights: dict[int, int] = {}
        self._width = 0
        self.marked = Query.parse("")  # what is searched for
        self.members = Members()  # of the group, for their names' colours
        self.part: TextPart | None = None  # that is selected
        self.private = False  # all is said by one to the other: no arrows say so
        self._clock = CLOCKS[0]
        self.restyle()

    def show_clock(self, clock: str) -> None:
        """Show times in this form, one of CLOCKS."""
        self._clock = clock
        self.restyle()

    def restyle(self) -> None:
        """Measure anew, after a change of font."""
        font = self._view.font()
        self._bold, self._small = QFont(font), QFont(font)
        self._bold.setBold(True)
        # Nothing can be read below 6 points, whatever the zoom.
        self._small.setPointSizeF(max(6.0, font.pointSizeF() * 0.86))
        self._metrics = QFontMetricsF(font)
        self._line = self._metrics.height()
        self._time_width = QFontMetricsF(self._small).horizontalAdvance(AT_NOON.strftime(self._clock)) + GAP
        self._name_width = QFontMetricsF(self._bold).horizontalAdvance("m" * 8) + GAP
        self.sign_width = QFontMetricsF(self._small).horizontalAdvance("✓✓") + GAP
        self._heights.clear()

    def forget(self, keys: set[int]) -> None:
        """Measure rows anew that look otherwise now."""
        for key in keys:
            self._heights.pop(key, None)

    # measures

    def _text_rect(self, rect: QRect) -> QRectF:
        left = rect.left() + GAP + self._time_width + self._name_width
        return QRectF(left, rect.top() + PAD, max(40.0, rect.right() - left - self.sign_width - PAD), rect.height())

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the size of a row at the list's present width."""
        width = self._view.viewport().width()
        if width != self._width:
            self._width = width
            self._heights.clear()
        row = self._rows.row(index.row())  # not by `data`: a flood asks a thousand times per tick
        # Own rows without a place all have the key 0, so their heights are not kept.
        height = self._heights.get(row.key) if row.key else None
        if height is None:
            if len(self._heights) > HEIGHTS_MAX:
                self._heights.clear()
            height = self._heights[row.key] = self._height(row, width)
        return QSize(0, height)

    def _height(self, row: ChatRow, width: int) -> int:
        if row.kind in _SEPARATORS:
            return round(self._line + 4 * PAD)
        return self._text_height(row, width) + (round(self._line) if _has_links(row) else 0)

    def _text_height(self, row: ChatRow, width: int) -> int:
        room = self._text_rect(QRect(0, 0, width, 0)).width()
        # Most texts have one line, which is known without laying them out; where it is close they are, for an advance
        # is rounded otherwise than a layout.
        if "\n" not in row.text and self._metrics.horizontalAdvance(row.text) < room * 0.98:
            return round(self._line + 2 * PAD)
        layout = self._layout(row, room)
        return round(layout.boundingRect().height() + 2 * PAD)

    def _layout(self, row: ChatRow, width: float) -> QTextLayout:
        # A layout breaks no line at "\n"; the separator is as long, so that links and marks keep their places.
        shown = self._shown(row)
        layout = QTextLayout(shown.text.replace("\n", "\N{LINE SEPARATOR}"), self._view.font())
        wrap = QTextOption()
        wrap.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(wrap)
        look = QTextCharFormat()
        look.setFontUnderline(True)
        look.setForeground(self._view.palette().color(QPalette.ColorRole.Link))
        formats = [_format(shown, link.start, link.end, look) for link in links(row.text)]
        layout.setFormats([*formats, *self._marks(row.text, shown)])
        layout.beginLayout()
        height = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0, height))
            height += line.height()
        layout.endLayout()
        return layout

    def _selection(self, row: ChatRow) -> list[QTextLayout.FormatRange]:
        """Return the part of a row's text that is selected."""
        if self.part is None or self.part[0] is not row:
            return []
        palette, look = self._view.palette(), QTextCharFormat()
        look.setBackground(palette.color(QPalette.ColorRole.Highlight))
        look.setForeground(palette.color(QPalette.ColorRole.HighlightedText))
        return [_format(self._shown(row), self.part[1], self.part[2], look)]

    def _marks(self, text: str, shown: ShownText) -> list[QTextLayout.FormatRange]:
        """Return the places of what is searched for, underlined too, so that no colour says it alone."""
        look = QTextCharFormat()
        look.setBackground(colours.tint(self._view.palette(), colours.accent(self._view.palette()), 0.4))
        look.setUnderlineStyle(QTextCharFormat.UnderlineStyle.DashUnderline)
        return [_format(shown, *place, look) for place in islice(self.marked.places(text), MARKS_MAX)]

    def _shown(self, row: ChatRow) -> ShownText:
        return ShownText(row.text, self.members.from_the_right, row.kind is RowKind.NOTICE)

    def link_at(self, row: ChatRow, rect: QRect, point: QPoint) -> str:
        """Return the address of the link at a point of a row; empty: there is none."""
        place = self.place_at(row, rect, point)
        if place is None:
            return ""
        return next((link.address for link in links(row.text) if link.start <= place < link.end), "")

    def place_at(self, row: ChatRow, rect: QRect, point: QPoint) -> int | None:
        """Return the place in a row's text at a point; None: the point is beside it."""
        room = self._text_rect(rect)
        if row.kind in _SEPARATORS or not room.contains(QPointF(point)):
            return None
        layout = self._layout(row, room.width())
        for number in range(layout.lineCount()):
            line = layout.lineAt(number)
            if line.rect().translated(room.topLeft()).contains(QPointF(point)):
                at = line.xToCursor(point.x() - room.left())
                return self._shown(row).original(int(at[0] if isinstance(at, tuple) else at))
        return None

    def _actions(self, row: ChatRow, rect: QRect) -> list[tuple[str, str, QRectF]]:
        """Return the links below a row, by name, and the word before them, which has none."""
        room, metrics = self._text_rect(rect), QFontMetricsF(self._small)
        left, found = room.left(), []
        for name, text in _links_below(row):
            width = metrics.horizontalAdvance(text)
            found.append((name, text, QRectF(left, rect.bottom() - PAD - self._line, width, self._line)))
            left += width + GAP
        return found

    def action_at(self, row: ChatRow, rect: QRect, point: QPoint) -> str:
        """Return the name of the action at a point of a row; empty: there is none."""
        return next(
            (name for name, _, place in self._actions(row, rect) if name and place.contains(QPointF(point))), ""
        )

    # painting

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Paint a row."""
        row: ChatRow = index.data(ROW_ROLE)
        palette, rect = option.palette, option.rect
        painter.save()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(rect, colours.tint(palette, palette.color(QPalette.ColorRole.Highlight), 0.3))
        elif row.mention:
            painter.fillRect(rect, colours.tint(palette, colours.accent(palette)))
            painter.fillRect(QRect(rect.left(), rect.top(), 3, rect.height()), colours.accent(palette))
        if self._rows.marker == row.key:
            painter.setPen(QPen(colours.accent(palette), 2))
            painter.drawLine(rect.topLeft(), rect.topRight())
        if row.kind in _SEPARATORS:
            self._paint_separator(painter, row, rect, palette)
        else:
            self._paint_said(painter, row, rect, palette)
        painter.restore()

    def _paint_separator(self, painter: QPainter, row: ChatRow, rect: QRect, palette: QPalette) -> None:
        painter.setFont(self._small)
        painter.setPen(colours.faint(palette))
        text = gcom.isolated(row.text)
        text = QFontMetricsF(self._small).elidedText(text, Qt.TextElideMode.ElideRight, rect.width() - 12 * GAP)
        width = QFontMetricsF(self._small).horizontalAdvance(text) + 2 * GAP
        middle, half = rect.center().y(), (rect.width() - width) / 2
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)
        painter.setPen(QPen(colours.tint(palette, colours.faint(palette), 0.4), 1))
        painter.drawLine(QPointF(rect.left() + 2 * GAP, middle), QPointF(rect.left() + half, middle))
        painter.drawLine(QPointF(rect.right() - half, middle), QPointF(rect.right() - 2 * GAP, middle))

    def _paint_said(self, painter: QPainter, row: ChatRow, rect: QRect, palette: QPalette) -> None:
        room = self._text_rect(rect)
        faint = colours.faint(palette)
        top = rect.top() + PAD
        painter.setFont(self._small)
        painter.setPen(faint)
        clock = datetime.fromtimestamp(row.at_ms / 1000).strftime(self._clock)
        time = QRectF(rect.left() + GAP, top, self._time_width, self._line)
        painter.drawText(time, Qt.AlignmentFlag.AlignVCenter, clock)
        place = QRectF(time.right(), top, self._name_width - GAP, self._line)
        self._paint_name(painter, row, place, palette)
        # What was missed is said earlier, too, and not read: it looks so only once it is.
        unread = self._rows.marker is not None and row.key >= self._rows.marker
        quiet = row.kind is RowKind.NOTICE or row.delivery is MessageState.WAITING or (row.earlier and not unread)
        painter.setPen(faint if quiet else palette.color(QPalette.ColorRole.Text))
        painter.setFont(self._view.font())
        self._layout(row, room.width()).draw(painter, room.topLeft(), self._selection(row))
        if sign := SIGNS.get(row.delivery):
            painter.setFont(self._small)
            painter.setPen(self._sign_colour(row.delivery, palette))
            at = QRectF(rect.right() - self.sign_width - PAD, top, self.sign_width, self._line)
            painter.drawText(at, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, sign)

        if _has_links(row):
            self._paint_actions(painter, row, rect, palette)

    def _paint_actions(self, painter: QPainter, row: ChatRow, rect: QRect, palette: QPalette) -> None:
        underlined = QFont(self._small)
        underlined.setUnderline(True)
        for name, text, place in self._actions(row, rect):
            painter.setFont(underlined if name else self._small)
            painter.setPen(palette.color(QPalette.ColorRole.Link) if name else colours.warning(palette))
            painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)

    def _paint_name(self, painter: QPainter, row: ChatRow, place: QRectF, palette: QPalette) -> None:
        if row.kind is RowKind.NOTICE:
            return
        shown = row.peer if row.own and row.peer and not self.private else row.name
        before, after = "* " if row.kind is RowKind.ACTION else "", ""
        if row.kind is RowKind.PRIVATE and not self.private:
            before, after = ("→ ", "") if row.own else ("", " →")
        if row.looks_like:
            before = f"⚠ {before}"
        painter.setFont(self._bold)
        painter.setPen(colours.of_number(self.members.colours.of(shown), palette))
        metrics = QFontMetricsF(self._bold)
        room = place.width() - metrics.horizontalAdvance(before + after)
        fitting = metrics.elidedText(apart(shown), Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, before + fitting + after)

    @staticmethod
    def _sign_colour(delivery: MessageState, palette: QPalette) -> QColor:
        if delivery is MessageState.DOUBT or delivery in ENDED_BADLY:
            return colours.warning(palette)
        return colours.good(palette) if delivery is MessageState.HELD else colours.faint(palette)


def _format(shown: ShownText, start: int, end: int, look: QTextCharFormat) -> QTextLayout.FormatRange:
    """Return the look of a part of a text, from a place in the original to another."""
    found = QTextLayout.FormatRange()
    found.start = shown.place(start)
    found.length, found.format = shown.place(end) - found.start, look
    return found


def _ended_badly(row: ChatRow) -> bool:
    return row.own and row.delivery in ENDED_BADLY and bool(row.id)


def _has_links(row: ChatRow) -> bool:
    return row.cut or _ended_badly(row)


def _links_below(row: ChatRow) -> list[tuple[str, str]]:
    """Return the links below a line that ended badly, and below a text that is cut, with their names."""
    found = []
    if _ended_badly(row):
        found = [("", f"{translate('delivery', DELIVERY_TEXT[row.delivery])}:")]
        found += [(name, translate("lines", text)) for name, text in LINE_ACTIONS.items()]
    return [*found, (OPEN, translate("lines", "Open all of it"))] if row.cut else found
