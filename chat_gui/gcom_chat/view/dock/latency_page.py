"""The page of latencies: a histogram of own messages from sending to delivery, one of all from arrival to delivery."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gcom_chat.model.insight.group_insight import GroupInsight
from gcom_chat.model.insight.latency import Histogram, bucket_names, held_ms, held_share, histogram, own_ms
from gcom_chat.model.insight.names import milliseconds
from gcom_chat.view import colours
from gcom_chat.view.dock.page import InsightPage, quiet_label

AXIS, PAD = 20, 10


class HistogramView(QWidget):
    """Bars of counts over buckets of time."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self._found = histogram([])
        self.setAccessibleName(title)
        self.setMinimumHeight(90)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """Return a size at which the axis can be read."""
        return QSize(420, 160)

    def show_histogram(self, found: Histogram) -> None:
        """Show these counts."""
        if found != self._found:
            self._found = found
            pairs = zip(bucket_names(), found.counts, strict=True)
            self.setAccessibleDescription(", ".join(f"{name}: {count}" for name, count in pairs if count))
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the bars."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        palette, line = self.palette(), self.fontMetrics().height()
        painter.setPen(palette.text().color())
        painter.drawText(QRectF(PAD, 2, self.width() - 2 * PAD, line), Qt.AlignmentFlag.AlignLeft, self._title)
        base, top = self.height() - AXIS, line * 2 + 6
        # At least 1, by which a histogram without messages is divided.
        names, most = bucket_names(), max(1, *self._found.counts)
        step = (self.width() - 2 * PAD) / len(names)
        bar = colours.of_number(0, palette)
        for at, (name, count) in enumerate(zip(names, self._found.counts, strict=True)):
            left = PAD + at * step
            height = (base - top) * count / most
            if count:
                # A pixel at least: one message among thousands is to be seen.
                painter.fillRect(QRectF(left + 2, base - height, step - 4, max(1.0, height)), bar)
                self._label(
                    painter, QRectF(left, base - height - line, step, line), f"{count:,}", palette.text().color()
                )
            self._label(painter, QRectF(left - 6, base + 2, step + 12, line), name, colours.faint(palette))
        painter.setPen(colours.faint(palette))
        painter.drawLine(PAD, base, self.width() - PAD, base)

    @staticmethod
    def _label(painter: QPainter, where: QRectF, text: str, colour: QColor) -> None:
        font = painter.font()
        font.setPixelSize(10)
        painter.save()
        painter.setFont(font)
        painter.setPen(colour)
        painter.drawText(where, Qt.AlignmentFlag.AlignCenter, text)
        painter.restore()


class LatencyPage(InsightPage):
    """Shows how long messages take, and how much of it they are held back."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Latency")
        self.about = quiet_label(self)
        self.own = HistogramView(self.tr("Own messages, from sending to delivery here (ms, at most)"), self)
        self.held = HistogramView(self.tr("All messages, from arrival to delivery here (ms, at most)"), self)
        bars = QHBoxLayout()
        bars.addWidget(self.own)
        bars.addWidget(self.held)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.about)
        layout.addLayout(bars, 1)

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show both histograms, and what they come to in words."""
        traces = list(insight.traces)
        own, held = own_ms(traces), held_ms(traces)
        found, waits = histogram(own), histogram(held)
        self.own.show_histogram(found)
        self.held.show_histogram(waits)
        if not held:
            self.about.setText(self.tr("No message was delivered since the dock was opened."))
            return
        sent = self.tr("{} own messages: median {}, 95 of 100 within {}, slowest {}. ").format(
            found.total, *map(milliseconds, (found.median_ms, found.high_ms, found.most_ms))
        )
        share = self.tr("Held back for more than 1 ms: {} of {} messages ({:.0%}), for at most {}.").format(
            sum(value > 1 for value in held), len(held), held_share(held), milliseconds(waits.most_ms)
        )
        self.about.setText((sent if own else "") + share)
