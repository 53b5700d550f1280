"""Two pages of the preferences: the network, and the keys of all actions. Both apply at once."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gcom_chat.model.updates import ProtectionTold
from gcom_chat.view.desktop.actions import Actions, plain_text, shown_keys
from gcom_chat.view.desktop.keeper import Keeper
from gcom_chat.view.dialogs.groups import connection_problem, registry_list


class NetworkPage(QWidget):
    """The registry, where others reach this chat, and how calls are protected. Each change connects anew."""

    connect_wanted = Signal(str, str)
    protection_wanted = Signal(str, str)

    def __init__(self, keeper: Keeper, nick: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper, self._nick = keeper, nick or keeper.settings.nick
        self.registry = QLineEdit(keeper.settings.registry, self)
        self.listen = QLineEdit(keeper.settings.listen, self)
        self.listen.setPlaceholderText(self.tr("empty: where the registry reaches this computer"))
        self.advertise = QLineEdit(keeper.settings.advertise, self)
        self.advertise.setPlaceholderText(self.tr("empty: the same"))
        self.protection, self.problem = QLabel(self), QLabel(self)
        form = QFormLayout(self)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        for text, field in (
            (self.tr("Re&gistry"), self.registry),
            (self.tr("&Listen at"), self.listen),
            (self.tr("Addr&ess for others"), self.advertise),
        ):
            form.addRow(text, field)
            field.setAccessibleName(text.replace("&", ""))
            field.editingFinished.connect(self._on_edited)
        for label in (self.protection, self.problem):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            form.addRow("", label)

    def reset(self) -> None:
        """Listen where the registry reaches this computer."""
        self.listen.clear()
        self.advertise.clear()
        self._on_edited()

    def showEvent(self, event: QShowEvent) -> None:
        """Ask how calls are protected."""
        super().showEvent(event)
        if self._nick and self.registry.text():
            self.protection_wanted.emit(self._nick, self.registry.text())

    @Slot(object)
    def show_protection(self, told: ProtectionTold) -> None:
        """Say how calls are protected, or what is wrong with a certificate."""
        self.protection.setText(f"⚠ {told.text}" if told.trouble else told.text)

    def _on_edited(self) -> None:
        settings, registry = self._keeper.settings, registry_list(self.registry.text())
        listen, advertise = self.listen.text().strip(), self.advertise.text().strip()
        if (registry, listen, advertise) == (settings.registry, settings.listen, settings.advertise):
            self.problem.clear()
            return
        problem = connection_problem(self._nick, registry) if self._nick or registry else ""
        self.problem.setText(problem)
        if not problem:
            # Not the registry, which is kept once the chat is connected to it.
            self._keeper.change(listen=listen, advertise=advertise)
            if self._nick and registry:
                self.protection_wanted.emit(self._nick, registry)
                self.connect_wanted.emit(self._nick, registry)


class ShortcutsPage(QWidget):
    """A table of actions and their keys; new ones are pressed below. Keys that are taken are refused: it says why."""

    def __init__(self, keeper: Keeper, actions: Actions, parent: QWidget) -> None:
        super().__init__(parent)
        self._keeper, self._actions, self._names = keeper, actions, list(actions.all)
        self.table = QTableWidget(len(self._names), 2, self)
        self.table.setHorizontalHeaderLabels([self.tr("Action"), self.tr("Keys")])
        self.table.setAccessibleName(self.tr("Actions and their keys"))
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        # Tab leaves the table: it would go from cell to cell, and never reach the field below.
        self.table.setTabKeyNavigation(False)
        self.table.setShowGrid(False)
        self.table.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 5)
        self.table.setMinimumHeight(11 * (self.fontMetrics().height() + 5))
        self.table.verticalHeader().hide()
        self.table.horizontalHeader().setStretchLastSection(True)
        self.keys = QKeySequenceEdit(self)
        # One key at a time: Qt would else wait a second for a second one, and nobody would know why.
        self.keys.setMaximumSequenceLength(1)
        self.keys.setAccessibleName(self.tr("New keys"))
        self.none = QPushButton(self.tr("&None"), self)
        self.first = QPushButton(self.tr("As at &first"), self)
        for button in (self.none, self.first):
            button.setAutoDefault(False)
        self.problem = QLabel(self)
        self.problem.setWordWrap(True)
        self.problem.setTextFormat(Qt.TextFormat.PlainText)
        line = QHBoxLayout()
        label = QLabel(self.tr("Ne&w keys"), self)
        label.setBuddy(self.keys)
        line.addWidget(label)
        for widget in (self.keys, self.none, self.first):
            line.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.addWidget(self.table)
        layout.addLayout(line)
        layout.addWidget(self.problem)
        self.refresh()
        self.table.resizeColumnToContents(0)
        self.table.itemSelectionChanged.connect(self._on_selected)
        self.keys.editingFinished.connect(lambda: self._choose(self.keys.keySequence()))
        self.none.clicked.connect(lambda: self._choose(QKeySequence()))
        self.first.clicked.connect(self._forget)
        self.table.selectRow(0)

    def refresh(self) -> None:
        """Show the keys that the actions have now."""
        for row, name in enumerate(self._names):
            action = self._actions.all[name]
            for column, text in enumerate((plain_text(action), shown_keys(action.shortcuts()))):
                item = QTableWidgetItem(text)
                font = item.font()
                font.setBold(column == 1 and not self._actions.is_default(name))
                item.setFont(font)
                self.table.setItem(row, column, item)

    def _name(self) -> str:
        return self._names[max(0, self.table.currentRow())]

    def _on_selected(self) -> None:
        self.keys.clear()
        self.problem.clear()

    def _choose(self, keys: QKeySequence) -> None:
        name = self._name()
        if problem := self._actions.problem(name, keys) if not keys.isEmpty() else "":
            self.problem.setText(problem)
            self.keys.clear()
            return
        self.problem.clear()
        self._keep([f"{name}={keys.toString(QKeySequence.SequenceFormat.PortableText)}"])

    def _forget(self) -> None:
        name = self._name()
        taken = [self._actions.problem(name, key) for key in self._actions.first_keys(name)]
        self.problem.setText(next((text for text in taken if text), ""))
        if not self.problem.text():
            self._keep([])

    def _keep(self, chosen: list[str]) -> None:
        others = [line for line in self._keeper.settings.shortcuts if line.partition("=")[0] != self._name()]
        self._keeper.change(shortcuts=(*others, *chosen))
        self.refresh()
