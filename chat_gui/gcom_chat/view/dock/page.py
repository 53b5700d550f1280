"""A page of the dock, and the plain tables that several of them have."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QLabel, QTableWidget, QTableWidgetItem, QWidget

import gcom
from gcom_chat.model.insight.group_insight import GroupInsight

HEAD_MAX = 160  # the width of a name over a column or before a row


class InsightPage(QWidget):
    """A page; `show_insight` is called when it is in front and something may have changed."""

    message_wanted = Signal(str, int)  # sender, number: the conversation shows it

    title = ""

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show what is known of a group; each page in its own way."""


class FactTable(QTableWidget):
    """A table of texts without an editor; cells that did not change are left alone."""

    def __init__(self, heads: Sequence[str], name: str, parent: QWidget | None = None) -> None:
        super().__init__(0, len(heads), parent)
        self.setHorizontalHeaderLabels(list(heads))
        self.setAccessibleName(name)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 8)
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setStretchLastSection(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setWordWrap(False)
        self.setFrameShape(QTableWidget.Shape.NoFrame)

    def show_heads(self, columns: Sequence[str], rows: Sequence[str], names: Sequence[str]) -> None:
        """Show whose columns and rows these are; a long name is cut, and its tip has all of it."""
        self.setHorizontalHeaderLabels([gcom.isolated(text) for text in columns])
        self.setVerticalHeaderLabels([f" {gcom.isolated(text)} " for text in rows])
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.horizontalHeader().setMaximumSectionSize(HEAD_MAX)
        self.verticalHeader().setMaximumWidth(HEAD_MAX)
        for at, name in enumerate(names):
            for item in (self.horizontalHeaderItem(at), self.verticalHeaderItem(at)):
                if item is not None:
                    item.setToolTip(name)

    def show_rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Show these texts, row by row."""
        if self.rowCount() != len(rows):
            self.setRowCount(len(rows))
        for at, row in enumerate(rows):
            for column, text in enumerate(row):
                self.put(at, column, text)

    def put(self, row: int, column: int, text: str) -> QTableWidgetItem:
        """Show a text in a cell, and return its item."""
        text = gcom.isolated(text)
        item = self.item(row, column)
        if item is None:
            item = QTableWidgetItem(text)
            self.setItem(row, column, item)
        elif item.text() != text:
            item.setText(text)
        # A cell is cut at its column's width, so the tip has all of it.
        if item.toolTip() != text:
            item.setToolTip(text)
        return item


def quiet_label(parent: QWidget) -> QLabel:
    """Return a label for a sentence above or below a page's picture."""
    label = QLabel(parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setContentsMargins(8, 4, 8, 4)
    return label
