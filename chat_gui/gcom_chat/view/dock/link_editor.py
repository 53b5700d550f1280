"""The sliders for the links that are chosen in debug mode."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSlider,
    QSpinBox,
    QWidget,
)

import gcom
from gcom_chat.model.insight.debugging import Link
from gcom_chat.model.texts.isolates import apart

DELAY_MS_MAX = 2_000  # beyond it calls are given up, and the slider would be a cut
FREEZE_S_MAX = 60.0
KINDS = ("fixed", "uniform", "exponential", "pareto")


class ShareSlider(QWidget):
    """A slider with its number."""

    moved = Signal()

    def __init__(self, name: str, most: int, unit: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.slider = QSlider(Qt.Orientation.Horizontal, self)
        self.slider.setMaximum(most)
        self.number = QSpinBox(self, maximum=most)
        self.number.setSuffix(unit)
        self.slider.setAccessibleName(name)
        self.number.setAccessibleName(name)
        # Each sets the other; it ends since setValue tells only of another value.
        self.slider.valueChanged.connect(self.number.setValue)
        self.number.valueChanged.connect(self._on_number)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.slider, 1)
        layout.addWidget(self.number)

    def _on_number(self, value: int) -> None:
        self.slider.setValue(value)
        self.moved.emit()

    @property
    def value(self) -> int:
        """The number."""
        return self.number.value()

    def show_value(self, value: int) -> None:
        """Show a number without telling of it."""
        for widget in (self.slider, self.number):
            widget.blockSignals(True)
            widget.setValue(value)
            widget.blockSignals(False)


class LinkEditor(QWidget):
    """Edits the settings of some links; `edited` brings them, and whether the links are cut."""

    edited = Signal(object, bool)
    freeze_wanted = Signal(int)  # for how many ms

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFixedWidth(330)
        self._title = QLabel(self)
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self.kind = QComboBox(self)
        self.kind.setAccessibleName(self.tr("How delays are spread"))
        texts = (self.tr("fixed"), self.tr("uniform, from 0"), self.tr("exponential"), self.tr("heavy tail"))
        for kind, text in zip(KINDS, texts, strict=True):
            self.kind.addItem(text, kind)
        self.delay = ShareSlider(self.tr("Delay"), DELAY_MS_MAX, " ms", self)
        self.drop = ShareSlider(self.tr("Loss"), 100, " %", self)
        self.duplicate = ShareSlider(self.tr("Duplicates"), 100, " %", self)
        self.reorder = ShareSlider(self.tr("Reordering"), 100, " %", self)
        self.cut = QCheckBox(self.tr("C&ut"), self)
        self.freeze = QPushButton(self.tr("&Freeze for"), self)
        self.freeze.setToolTip(self.tr("The members of the chosen rows neither call nor are called for so long."))
        self.freeze_s = QDoubleSpinBox(self, minimum=0.1, maximum=FREEZE_S_MAX, value=3, decimals=1, suffix=" s")
        self.freeze_s.setAccessibleName(self.tr("How long a freeze lasts"))
        self._lay_out()
        for slider in (self.delay, self.drop, self.duplicate, self.reorder):
            slider.moved.connect(self._tell)
        self.kind.currentIndexChanged.connect(self._tell)
        self.cut.toggled.connect(self._tell)
        self.freeze.clicked.connect(lambda: self.freeze_wanted.emit(round(1000 * self.freeze_s.value())))
        self.show_link([], gcom.LinkFaults(), False)

    def _lay_out(self) -> None:
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setVerticalSpacing(3)
        layout.addWidget(self._title, 0, 0, 1, 2)
        rows = (
            (self.tr("Spread"), self.kind),
            (self.tr("Delay"), self.delay),
            (self.tr("Loss"), self.drop),
            (self.tr("Duplicates"), self.duplicate),
            (self.tr("Reordering"), self.reorder),
        )
        for at, (text, widget) in enumerate(rows, 1):
            layout.addWidget(QLabel(text, self), at, 0)
            layout.addWidget(widget, at, 1)
        last = QHBoxLayout()
        last.addWidget(self.cut)
        last.addStretch(1)
        last.addWidget(self.freeze)
        last.addWidget(self.freeze_s)
        layout.addLayout(last, len(rows) + 1, 0, 1, 2)
        layout.setRowStretch(len(rows) + 2, 1)
        layout.setColumnStretch(1, 1)

    def show_link(self, links: Sequence[Link], settings: gcom.LinkFaults, cut: bool) -> None:
        """Show the settings of the first of some links; none: those of all."""
        if not links:
            title = self.tr("All links")
        elif len(links) == 1:
            title = self.tr("From {} to {}").format(*map(apart, links[0]))
        else:
            title = self.tr("%n links", "", len(links))
        self._title.setText(title)
        delay = settings.delay or gcom.Delay()
        self.delay.show_value(delay.ms)
        self.drop.show_value(round(100 * (settings.drop or 0)))
        self.duplicate.show_value(round(100 * (settings.duplicate or 0)))
        self.reorder.show_value(round(100 * (settings.reorder or 0)))
        # Shown and not edited: `edited` would give the first link's settings to all that are chosen.
        for widget in (self.kind, self.cut):
            widget.blockSignals(True)
        self.kind.setCurrentIndex(KINDS.index(delay.kind))
        self.cut.setChecked(cut)
        for widget in (self.kind, self.cut):
            widget.blockSignals(False)
        self.cut.setEnabled(bool(links))
        self.freeze.setEnabled(bool(links))
        self.freeze_s.setEnabled(bool(links))

    def settings(self) -> gcom.LinkFaults:
        """Return what the sliders say."""
        return gcom.LinkFaults(
            drop=self.drop.value / 100,
            duplicate=self.duplicate.value / 100,
            reorder=self.reorder.value / 100,
            delay=gcom.Delay(self.kind.currentData(), self.delay.value),
        )

    def _tell(self) -> None:
        self.edited.emit(self.settings(), self.cut.isChecked())
