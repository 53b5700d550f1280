"""The sheet of shortcuts, made from the actions themselves, and the quick switcher between tabs."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QListWidget,
    QMenu,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

ShortcutSection = tuple[str, Sequence[tuple[str, str]]]  # a heading, and keys with what they do


def section_of(menu: QMenu) -> ShortcutSection:
    """Return the keys of a menu's actions."""
    lines = [(_keys(action), action.text().rstrip("…")) for action in menu.actions() if action.shortcuts()]
    return menu.title(), lines


class ShortcutSheet(QDialog):
    """A table of what each key does, by menus; as high as it needs to be, if the screen is."""

    def __init__(self, sections: Sequence[ShortcutSection], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Shortcuts"))
        lines: list[tuple[str, str, bool]] = []
        for title, keys in sections:
            lines += [(title, "", True), *((key, text, False) for key, text in keys)]
        self.table = QTableWidget(len(lines), 2, self)
        self.table.setAccessibleName(self.tr("Shortcuts"))
        self.table.horizontalHeader().hide()
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 5)
        self.table.setShowGrid(False)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.setSelectionMode(QTableWidget.SelectionMode.NoSelection)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # there is nothing to choose; the screen reader reads it
        self.table.horizontalHeader().setStretchLastSection(True)
        for row, line in enumerate(lines):
            self._put(row, *line)
        self.table.resizeColumnToContents(0)
        self.table.setColumnWidth(0, self.table.columnWidth(0) + 16)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.table)
        layout.addWidget(buttons)
        wanted = len(lines) * self.table.verticalHeader().defaultSectionSize() + buttons.sizeHint().height() + 40
        self.resize(520, min(wanted, round(0.9 * self.screen().availableGeometry().height())))

    def _put(self, row: int, keys: str, text: str, heading: bool) -> None:
        for column, each in enumerate((keys, text)):
            item = QTableWidgetItem(each.replace("&", ""))
            font = item.font()
            font.setBold(heading)
            item.setFont(font)
            self.table.setItem(row, column, item)
        if heading:
            self.table.setSpan(row, 0, 1, 2)


def _keys(action: QAction) -> str:
    return ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts())


class Switcher(QDialog):
    """A list of tabs that shrinks as one types; Enter goes to the one that is marked."""

    def __init__(self, groups: Sequence[str], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Go to a group"))
        self._groups = groups
        self.field = QLineEdit(self, placeholderText=self.tr("Group"))
        self.field.setAccessibleName(self.tr("Group"))
        self.list = QListWidget(self)
        self.list.setAccessibleName(self.tr("Groups"))
        layout = QVBoxLayout(self)
        layout.addWidget(self.field)
        layout.addWidget(self.list)
        self.field.textChanged.connect(self._show)
        self.field.returnPressed.connect(self.accept)
        # The field keeps the focus, so the arrows come to it and not to the list.
        self.field.installEventFilter(self)
        self.list.itemActivated.connect(self.accept)
        self.resize(360, 300)
        self._show()

    def chosen(self) -> str:
        """Return the group that is marked; empty: none."""
        at = self.list.currentRow()
        return self.list.item(at).text() if at >= 0 else ""

    def _show(self) -> None:
        wanted = self.field.text().casefold()
        self.list.clear()
        self.list.addItems([group for group in self._groups if wanted in group.casefold()])
        self.list.setCurrentRow(0)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let Up and Down move in the list while one types."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
            if step and self.list.count():
                self.list.setCurrentRow((self.list.currentRow() + step) % self.list.count())
                return True
        return super().eventFilter(watched, event)
