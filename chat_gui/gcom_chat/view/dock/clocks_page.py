"""The page of the clocks: a matrix, members by members; a number that changed a moment ago stands out."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QPalette
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidgetItem, QVBoxLayout, QWidget

from gcom_chat.model.insight.clocks import ClockMatrix
from gcom_chat.model.insight.group_insight import GroupInsight
from gcom_chat.model.insight.names import called, short
from gcom_chat.view import colours
from gcom_chat.view.dock.page import FactTable, InsightPage, quiet_label

MEMBERS_MAX = 40  # more are told in numbers: a matrix of them is no picture any more


class ClocksPage(InsightPage):
    """Shows the vector clock of every member."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Clocks")
        self._about = quiet_label(self)
        self._about.setText(
            self.tr(
                "Row: what a member is known to have delivered, by sender. Your own row is exact; another’s is as old "
                "as its last message. Bold: changed just now. ▾: this member is not known to have all that is known of."
            )
        )
        self.table = FactTable([], self.tr("Vector clocks"), self)
        # A selection would paint over the grounds, which mean something here.
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setAlternatingRowColors(False)
        self.table.setShowGrid(True)
        self.table.verticalHeader().show()
        self.table.verticalHeader().setHighlightSections(False)
        self.table.horizontalHeader().setStretchLastSection(False)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.table.horizontalHeader().setDefaultSectionSize(84)
        self.table.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignCenter)
        self.table.viewport().setBackgroundRole(QPalette.ColorRole.Window)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._about)
        layout.addWidget(self.table, 1)

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show the matrix."""
        clocks = insight.clocks
        members = clocks.members[:MEMBERS_MAX]
        names = [short(member) for member in members]
        # Only at another membership: four times a second the
        # rest is a change of numbers in cells that are there.
        if self.table.rowCount() != len(members) or self.table.property("names") != names:
            self.table.setRowCount(len(members))
            self.table.setColumnCount(len(members))
            own = self.tr("{} (you)")
            rows = [own.format(called(each)) if each == clocks.own else called(each) for each in members]
            self.table.show_heads(names, rows, names)
            self.table.setProperty("names", names)
        for row, member in enumerate(members):
            for column, sender in enumerate(members):
                self._show_cell(clocks, row, column, member, sender, now_ms)

    def _show_cell(self, clocks: ClockMatrix, row: int, column: int, member: str, sender: str, now_ms: int) -> None:
        cell = clocks.cell(member, sender, now_ms)
        text = f"{cell.value:,}" + (" ▾" if cell.behind else "")
        item = self.table.put(row, column, text)
        look = (cell.fresh, bool(cell.behind), row == column)
        # 1,600 cells of 40 members: to style one costs more than all else of a look, and few change.
        if item.data(Qt.ItemDataRole.UserRole) != look:
            item.setData(Qt.ItemDataRole.UserRole, look)
            self._style(item, *look)
        words = clocks.sentence(member, sender, now_ms)
        item.setToolTip(words)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, words)

    def _style(self, item: QTableWidgetItem, fresh: bool, behind: bool, own: bool) -> None:
        palette = self.palette()
        item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
        font = self.font()
        font.setBold(fresh)
        item.setFont(font)
        faint = colours.faint(palette)
        item.setForeground(faint if behind and not fresh else palette.text())
        ground = palette.base().color()
        if fresh or own:
            ground = colours.tint(palette, colours.accent(palette) if fresh else faint, 0.25 if fresh else 0.12)
        item.setBackground(QBrush(ground))
