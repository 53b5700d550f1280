"""The window's page before there is a tab: what this is, in four sentences, who one is, and how to begin."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from chat_gui.view.dialogs.groups import REGISTRY, connection_problem, registry_list

WIDTH = 520  # some 70 letters: longer lines are hard to read


class StartPage(QWidget):
    """Asks for nick and registry, then offers to create and to join. `connect_wanted` brings both."""

    connect_wanted = Signal(str, str)
    create_wanted = Signal()
    join_wanted = Signal()
    demo_wanted = Signal()

    def __init__(self, nick: str, registry: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looked: tuple[str, bool] = ("", False)  # an address, and whether a registry answers there
        self.nick = QLineEdit(nick, self)
        self.nick.setAccessibleName(self.tr("Nick"))
        self.nick.setPlaceholderText(self.tr("the name under which others see you"))
        self.registry = QLineEdit(registry or REGISTRY, self)
        self.registry.setAccessibleName(self.tr("Registry"))
        self.hint = _label("", self)
        # As high as its longest text from the start: the page would jump with every key that is typed.
        self.hint.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.trouble = _label("", self)
        self.trouble.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.connect_button = QPushButton(self.tr("C&onnect"), self)
        self._create = QPushButton(self.tr("C&reate a group…"), self)
        self._join = QPushButton(self.tr("&Join a group…"), self)
        self.demo = QPushButton(self.tr("De&mo with three companions"), self)
        self.demo.setToolTip(
            self.tr("A window of its own, which needs no registry and keeps nothing: gcom-chat --demo")
        )
        self.demo.clicked.connect(self.demo_wanted)
        self.copy = QPushButton(self.tr("Copy &details"), self)
        self._lay_out()
        self.nick.textChanged.connect(self.check)
        self.registry.textChanged.connect(self.check)
        for field in (self.nick, self.registry):
            field.returnPressed.connect(self.connect_button.click)
        self.connect_button.clicked.connect(self._on_connect)
        self._create.clicked.connect(self.create_wanted)
        self._join.clicked.connect(self.join_wanted)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.trouble.text()))
        self.show_trouble("")
        self.show_connection("", False)

    def _lay_out(self) -> None:
        title = QLabel(self.tr("GCom chat"), self)
        font = title.font()
        font.setPointSizeF(font.pointSizeF() * 2)
        font.setBold(True)
        title.setFont(font)
        text = self.tr(
            "People talk in groups, and each group keeps the promises that its creator picked. "
            "A registry is where groups are found; the talk itself goes from member to member. "
            "Groups may promise that all see one order, or that no answer stands before its question. "
            "Press F12 in a group to see how it keeps its word."
        )
        self._who = QFrame(self)
        self._who.setFixedWidth(WIDTH)
        # In the form a label stands beside it: at full width it would make the form wider than WIDTH.
        self.hint.setMinimumWidth(0)
        form = QFormLayout(self._who)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow(self.tr("&Nick"), self.nick)
        form.addRow(self.tr("&Registry"), self.registry)
        form.addRow("", self.hint)
        buttons = QHBoxLayout()
        for button in (self.connect_button, self._create, self._join, self.demo):
            buttons.addWidget(button)
        buttons.addStretch(1)
        self._status = _label("", self)
        inner = QVBoxLayout()
        inner.setSpacing(14)
        for widget in (title, _label(text, self), self._who, self._status, self.trouble):
            inner.addWidget(widget)
        inner.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignLeft)
        inner.addLayout(buttons)
        middle = QVBoxLayout()
        middle.addStretch(1)
        middle.addLayout(inner)
        middle.addStretch(2)
        outer = QHBoxLayout(self)
        outer.addStretch(1)
        outer.addLayout(middle)
        outer.addStretch(1)

    def check(self) -> str:
        """Say what is wrong with what is typed, and close Connect while something is."""
        problem = connection_problem(self.nick.text(), self.registry.text())
        # Nobody is told of an error before he has typed anything.
        hint = problem if self.nick.text() else ""
        address, answers = self._looked
        if not hint and address and address == self.registry.text().strip():
            hint = (
                self.tr("A registry answers at {}.")
                if answers
                else self.tr("No registry answers at {} yet: start gcom-registry there, or see the demo first.")
            )
            hint = hint.format(address)
        self.hint.setText(hint)
        self.connect_button.setEnabled(not problem)
        return problem

    def on_found(self, registry: str, answers: bool) -> None:
        """Say whether a registry answers at an address; one that does is taken over where none was typed."""
        # What somebody has typed is not replaced by what was found.
        if answers and not self.registry.text().strip():
            self.registry.setText(registry)
        self._looked = registry, answers
        self.check()

    def show_trouble(self, text: str) -> None:
        """Say what failed; empty: nothing did."""
        self.trouble.setText(text)
        self.trouble.setVisible(bool(text))
        self.copy.setVisible(bool(text))

    def show_connection(self, text: str, connected: bool) -> None:
        """Say where this chat is connected, and open what that allows."""
        self._status.setText(text)
        self._status.setVisible(connected)
        self._who.setVisible(not connected)
        self.connect_button.setVisible(not connected)
        self._create.setVisible(connected)
        self._join.setVisible(connected)
        if connected:
            self.show_trouble("")
        self.check()

    def _on_connect(self) -> None:
        if not self.check():
            self.show_trouble("")
            self.connect_wanted.emit(self.nick.text().strip(), registry_list(self.registry.text()))


def _label(text: str, parent: QWidget) -> QLabel:
    label = QLabel(text, parent)
    # Errors have words of peers in them, which Qt would else read as HTML.
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setMinimumWidth(WIDTH)
    label.setMaximumWidth(WIDTH)
    return label
