"""The picture of a duel: a panel for each ordering, two screens in it, and lines that join the same message on both.

Where both agree the lines run side by side; where they disagree a line crosses others, and is drawn heavier. An arrow
beside a screen leads from an answer to its question further down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPainterPath, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gcom_chat.model.insight.duel import ORDERINGS, SCRIPT, DuelLine, DuelRun, DuelScore, as_text, findings, score
from gcom_chat.model.name_colours import NameColours
from gcom_chat.model.texts.words import QT_TRANSLATE_NOOP, translate
from gcom_chat.view import colours

PANEL, MARGIN, ARC = QSize(276, 402), 10, 16
COLUMN, BETWEEN, ROW, BUBBLE = 96, 40, 26, 21
HEAD, TOP, FOOT = 44, 66, 8
HEADLINE, PAIR = 62, ("NONORDERED", "CAUSALTOTAL")
PROMISES = {
    "NONORDERED": QT_TRANSLATE_NOOP("duel", "shown as it arrives"),
    "FIFO": QT_TRANSLATE_NOOP("duel", "each speaker’s own lines in order"),
    "CAUSAL": QT_TRANSLATE_NOOP("duel", "no answer before its question"),
    "TOTAL": QT_TRANSLATE_NOOP("duel", "one order for all"),
    "CAUSALTOTAL": QT_TRANSLATE_NOOP("duel", "one order, no answer before its question"),
}
LEGEND = (
    QT_TRANSLATE_NOOP("duel", "Alice, Bob and Carol talk about lunch"),
    QT_TRANSLATE_NOOP("duel", "and keys, over the same bad network."),
    QT_TRANSLATE_NOOP("duel", "Each panel has the screens of Carol"),
    QT_TRANSLATE_NOOP("duel", "and Dave, from top to bottom."),
)
LIVE_LEGEND = (
    QT_TRANSLATE_NOOP("duel", "You are Alice. Bob and Carol answer as"),
    QT_TRANSLATE_NOOP("duel", "soon as they see your line, over the"),
    QT_TRANSLATE_NOOP("duel", "same bad network. Carol’s and Dave’s"),
    QT_TRANSLATE_NOOP("duel", "screens, your last three lines."),
)
_COLOURS = NameColours(dict.fromkeys(line.speaker for line in SCRIPT))
_CENTRE, _LEFT = Qt.AlignmentFlag.AlignCenter, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class DuelPicture(QWidget):
    """Paints runs as they come; a panel whose run is not there yet says so."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs: dict[str, DuelRun] = {}
        self.setAccessibleName(self.tr("Ordering duel"))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumWidth(PANEL.width())

    def show_runs(self, runs: Mapping[str, DuelRun]) -> None:
        """Show these runs, by ordering."""
        self._runs = dict(runs)
        self.setAccessibleDescription("\n".join(as_text(run) for run in self._runs.values()))
        self.update()

    def hasHeightForWidth(self) -> bool:
        """Tell that the panels stand in as many rows as they need."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of all rows."""
        return PANEL.height() * -(-(len(ORDERINGS) + 1) // _columns(width))

    def sizeHint(self) -> QSize:
        """Return the size of two rows of three."""
        return QSize(3 * PANEL.width(), 2 * PANEL.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint all panels."""
        painter = QPainter(self)
        paint_duel(painter, self._runs, self.width(), self.palette(), self.font())


def _columns(width: int) -> int:
    # Five panels and the legend: by these numbers no row has a gap.
    return max(count for count in (1, 2, 3, 6) if count == 1 or count * PANEL.width() <= width)


def render_duel(runs: Mapping[str, DuelRun], palette: QPalette, font: QFont, scale: float = 2.0) -> QImage:
    """Return a picture of a duel, two rows of three, for a file."""
    size = QSize(3 * PANEL.width(), 2 * PANEL.height())
    image, painter = _paper(size, palette, scale)
    paint_duel(painter, runs, size.width(), palette, font)
    painter.end()
    return image


def render_pair(runs: Mapping[str, DuelRun], palette: QPalette, font: QFont, scale: float = 2.0) -> QImage:
    """Return the panels without an order and with the strongest one, side by side below a headline."""
    size = QSize(2 * PANEL.width(), PANEL.height() + HEADLINE)
    image, painter = _paper(size, palette, scale)
    _Panel(painter, palette, font).headline(size.width())
    painter.translate(0, HEADLINE)
    paint_duel(painter, runs, size.width(), palette, font, PAIR)
    painter.end()
    return image


def _paper(size: QSize, palette: QPalette, scale: float) -> tuple[QImage, QPainter]:
    image = QImage(size * scale, QImage.Format.Format_RGB32)
    # Before the painter is made, which then counts in the units of a panel.
    image.setDevicePixelRatio(scale)
    image.fill(palette.color(QPalette.ColorRole.Base))
    return image, QPainter(image)


def paint_duel(
    painter: QPainter,
    runs: Mapping[str, DuelRun],
    width: int,
    palette: QPalette,
    font: QFont,
    orderings: Sequence[str] = (*ORDERINGS, ""),
) -> None:
    """Paint a panel for each ordering, the legend for an empty name, in as many columns as the width has room for."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    columns = _columns(width)
    step = max(PANEL.width(), width // columns)
    for at, ordering in enumerate(orderings):
        row, column = divmod(at, columns)
        painter.save()
        painter.translate(column * step + (step - PANEL.width()) / 2, row * PANEL.height())
        panel = _Panel(painter, palette, font)
        if ordering:
            panel.paint(ordering, runs.get(ordering))
        else:
            panel.legend(LIVE_LEGEND if any(run.goes_on for run in runs.values()) else LEGEND)
        painter.restore()


class _Panel:
    """A panel's painter, with its origin at the panel's corner."""

    def __init__(self, painter: QPainter, palette: QPalette, font: QFont) -> None:
        self._painter, self._palette = painter, palette
        self._font, self._small, self._bold = QFont(font), QFont(font), QFont(font)
        for each, pixels in ((self._font, 13), (self._small, 11), (self._bold, 14)):
            # In pixels: a panel has a fixed size, into which the text must fit at every zoom.
            each.setPixelSize(pixels)
        self._bold.setBold(True)
        self._text = palette.color(QPalette.ColorRole.Text)
        self._faint, self._wrong = colours.faint(palette), colours.warning(palette)
        side = (PANEL.width() - 2 * COLUMN - BETWEEN) / 2
        self._left = (side, side + COLUMN + BETWEEN)

    def paint(self, ordering: str, run: DuelRun | None) -> None:
        """Paint an ordering and its run."""
        self._frame()
        self._write(QRectF(0, 12, PANEL.width(), 20), ordering, self._bold, self._text, _CENTRE)
        promise = translate("duel", PROMISES[ordering])
        self._write(QRectF(0, 30, PANEL.width(), 16), promise, self._small, self._faint, _CENTRE)
        if run is None:
            self._write(
                QRectF(0, 160, PANEL.width(), 20), translate("duel", "talking …"), self._font, self._faint, _CENTRE
            )
            return
        found = score(run)
        self._joins(run, found)
        for number, screen in enumerate(run.screens):
            where = QRectF(self._left[number], HEAD + 4, COLUMN, 18)
            self._write(where, translate("duel", "{} sees").format(screen.member), self._small, self._faint, _CENTRE)
            marked = {later for at, later, _ in (*found.early, *found.swapped) if at == number}
            for at, line in enumerate(screen.lines):
                self._bubble(number, at, run.script[line], line in marked)
        self._arcs(run, found)
        self._score(run, found)

    def _frame(self) -> None:
        self._painter.setPen(QPen(colours.tint(self._palette, self._faint, 0.35), 1))
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        self._painter.drawRoundedRect(QRectF(4.5, 4.5, PANEL.width() - 9, PANEL.height() - 9), 6, 6)

    def _write(self, where: QRectF, text: str, font: QFont, colour: QColor, flags: Qt.AlignmentFlag) -> None:
        self._painter.setFont(font)
        self._painter.setPen(colour)
        fitting = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, where.width())
        self._painter.drawText(where, flags, fitting)

    def headline(self, width: int) -> None:
        """Paint what the two panels of a pair have in common, and what red means."""
        self._bold.setPixelSize(19)
        said = translate("duel", "One conversation, two promises about order")
        self._write(QRectF(0, 12, width, 26), said, self._bold, self._text, _CENTRE)
        red = translate("duel", "The same lines over the same bad network. Red is wrong on a member’s screen.")
        self._write(QRectF(0, 38, width, 18), red, self._font, self._faint, _CENTRE)

    # the screens

    def _middle(self, at: int) -> float:
        return TOP + at * ROW + ROW / 2

    def _bubble(self, number: int, at: int, said: DuelLine, marked: bool) -> None:
        painter = self._painter
        colour = colours.of_number(_COLOURS.of(said.speaker), self._palette)
        where = QRectF(self._left[number], self._middle(at) - BUBBLE / 2, COLUMN, BUBBLE)
        painter.setBrush(colours.tint(self._palette, colour, 0.12))
        painter.setPen(QPen(self._wrong, 1.6) if marked else QPen(colours.tint(self._palette, colour, 0.3), 1))
        painter.drawRoundedRect(where, 5, 5)
        self._chip(QPointF(where.left() + 10, where.center().y()), said.speaker)
        self._write(where.adjusted(20, 0, -2, 0), said.text, self._small, self._text, _LEFT)

    def _chip(self, centre: QPointF, speaker: str) -> None:
        """Paint a speaker's initial on its colour, so that the colour does not stand alone."""
        self._painter.setBrush(colours.of_number(_COLOURS.of(speaker), self._palette))
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.drawEllipse(centre, 7, 7)
        where = QRectF(centre.x() - 7, centre.y() - 7.5, 14, 14)
        self._write(where, speaker[0].upper(), self._small, self._palette.color(QPalette.ColorRole.Base), _CENTRE)

    def _joins(self, run: DuelRun, found: DuelScore) -> None:
        """Join the same message on both screens, what has moved last and heavier."""
        left, right = (list(screen.lines) for screen in run.screens)
        both = [line for line in left if line in right]
        # False sorts before True: what has moved is painted last, over the others.
        for line in sorted(both, key=lambda line: line in found.moved):
            wrong = line in found.moved
            colour = self._wrong if wrong else colours.tint(self._palette, self._faint, 0.5)
            self._painter.setPen(QPen(colour, 2 if wrong else 1))
            begin = QPointF(self._left[0] + COLUMN, self._middle(left.index(line)))
            self._painter.drawLine(begin, QPointF(self._left[1], self._middle(right.index(line))))

    def _arcs(self, run: DuelRun, found: DuelScore) -> None:
        """Lead from each answer to its question further down, outside of the screens; dashed: a line out of turn."""
        for kind, pairs in ((Qt.PenStyle.SolidLine, found.early), (Qt.PenStyle.DashLine, found.swapped)):
            for number, later, earlier in pairs:
                lines = run.screens[number].lines
                self._arc(number, self._middle(lines.index(later)), self._middle(lines.index(earlier)), kind)

    def _arc(self, number: int, begin: float, end: float, kind: Qt.PenStyle) -> None:
        outward = -1 if number == 0 else 1
        x = self._left[number] + (0 if number == 0 else COLUMN)
        depth = x + outward * min(ARC, 7 + (end - begin) / ROW * 3) * 1.2
        path = QPainterPath(QPointF(x, begin))
        path.cubicTo(QPointF(depth, begin), QPointF(depth, end), QPointF(x + outward, end))
        self._painter.setPen(QPen(self._wrong, 1.6, kind))
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        self._painter.drawPath(path)
        tip = QPainterPath(QPointF(x + outward, end))
        tip.lineTo(x + outward * 6, end - 4)
        tip.lineTo(x + outward * 6, end + 3)
        tip.closeSubpath()
        self._painter.fillPath(tip, self._wrong)

    # below

    def _score(self, run: DuelRun, found: DuelScore) -> None:
        top = TOP + len(SCRIPT) * ROW + FOOT
        width = PANEL.width() - 2 * MARGIN
        wrong, right = translate("duel", "✗ {} wrong"), translate("duel", "✓ nothing wrong")
        text = wrong.format(found.wrong) if found.wrong else right if any(each.lines for each in run.screens) else ""
        colour = self._wrong if found.wrong else colours.good(self._palette)
        self._write(QRectF(MARGIN, top, width, 20), text, self._bold, colour, _CENTRE)
        for at, words in enumerate(findings(found)[:3]):
            self._write(QRectF(MARGIN, top + 20 + at * 15, width, 15), words, self._small, self._text, _CENTRE)
        wait = translate("duel", "shown after {} ms on average").format(run.wait_ms)
        self._write(QRectF(MARGIN, PANEL.height() - 26, width, 16), wait, self._small, self._faint, _CENTRE)

    def legend(self, lines: Sequence[str]) -> None:
        """Paint what is shown, and what the signs mean."""
        self._write(QRectF(20, 12, 240, 20), translate("duel", "How to read it"), self._bold, self._text, _LEFT)
        for at, text in enumerate(lines):
            self._write(QRectF(20, 40 + at * 17, 246, 17), translate("duel", text), self._small, self._text, _LEFT)
        grey = QPen(colours.tint(self._palette, self._faint, 0.5), 1)
        joins = (
            (grey, translate("duel", "the same message on both screens")),
            (QPen(self._wrong, 2), translate("duel", "a message where the two disagree")),
        )
        for at, (pen, text) in enumerate(joins):
            self._painter.setPen(pen)
            y = 136 + at * 30
            self._painter.drawLine(QPointF(20, y - 5 * at), QPointF(54, y + 5 * at))
            self._write(QRectF(66, y - 9, 204, 18), text, self._small, self._text, _LEFT)
        signs = (
            (Qt.PenStyle.SolidLine, translate("duel", "an answer before its question")),
            (Qt.PenStyle.DashLine, translate("duel", "a speaker’s own lines out of turn")),
        )
        for at, (kind, text) in enumerate(signs):
            y = 186 + at * 40
            self._painter.save()
            self._painter.translate(44 - self._left[0], 0)
            self._arc(0, y, y + 22, kind)
            self._painter.restore()
            self._write(QRectF(66, y + 2, 204, 18), text, self._small, self._text, _LEFT)
        for at, name in enumerate(dict.fromkeys(line.speaker for line in SCRIPT)):
            self._chip(QPointF(28 + at * 72, 284), name)
            self._write(QRectF(40 + at * 72, 275, 56, 18), name, self._small, self._text, _LEFT)
