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

from gcom_chat.model.settings import REGISTRY
from gcom_chat.view.dialogs.groups import connection_problem, invited, registry_list

LOOPBACK = "127.0.0.1", "localhost"
WIDTH = 520  # some 70 letters: longer lines are hard to read


class StartPage(QWidget):
    """Asks for nick and registry, or an invitation that has both; then offers to create and to join."""

    connect_wanted = Signal(str, str)
    accept_wanted = Signal(str)
    registry_wanted = Signal(str)  # to be started on this machine, at this address
    create_wanted = Signal()
    join_wanted = Signal()
    demo_wanted = Signal()

    def __init__(self, nick: str, registry: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._starting = ""  # where a registry was started that does not answer yet
        self._looked: tuple[str, bool] = ("", False)  # an address, and whether a registry answers there
        self.nick = QLineEdit(nick, self)
        self.nick.setAccessibleName(self.tr("Nick"))
        self.nick.setPlaceholderText(self.tr("the name under which others see you"))
        self.registry = QLineEdit(registry or REGISTRY, self)
        self.registry.setAccessibleName(self.tr("Registry"))
        self.invitation = QLineEdit(self)
        self.invitation.setAccessibleName(self.tr("Invitation"))
        self.invitation.setPlaceholderText(self.tr("for a registry on another machine: gcom1/…"))
        self.hint = _label("", self)
        # As high as its longest text from the start: the page would jump with every key that is typed.
        self.hint.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.trouble = _label("", self)
        self.trouble.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.connect_button = QPushButton(self.tr("C&onnect"), self)
        self.start_button = QPushButton(self.tr("&Start a registry here"), self)
        self.start_button.setToolTip(
            self.tr("Starts gcom-registry on this machine, for this user's programs; it goes on when the chat ends.")
        )
        self.start_button.clicked.connect(self._on_start)
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
        self.invitation.textChanged.connect(self._on_invitation)
        for field in (self.nick, self.registry, self.invitation):
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
        form.addRow(self.tr("&Invitation"), self.invitation)
        form.addRow("", self.hint)
        buttons = QHBoxLayout()
        for button in (self.connect_button, self.start_button, self._create, self._join, self.demo):
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
        found, wrong = invited(self.invitation.text())
        problem = wrong or connection_problem(self.nick.text(), self.registry.text())
        address, answers = self._looked
        self.start_button.setEnabled(self._may_start())
        # Nobody is told of an error before he has typed anything.
        hint = problem if self.nick.text() or wrong else ""
        if not hint and found:
            text = self.tr("Makes a key on this machine, and gets its certificate from {}; it works once.")
            hint = text.format(found.registry)
        elif not hint and self._starting == self.registry.text().strip():
            hint = self.tr("A registry starts at {}…").format(self._starting)
        elif not hint and address and address == self.registry.text().strip():
            text = self.tr("A registry answers at {}.") if answers else self.tr("No registry answers at {} yet.")
            hint = text.format(address)
        self.hint.setText(hint)
        self.connect_button.setEnabled(not problem)
        self.connect_button.setText(self.tr("&Accept and connect") if found else self.tr("C&onnect"))
        return problem

    def _may_start(self) -> bool:
        """Tell whether a registry can be started at what is typed: it is on this machine, and none is known there."""
        address = self.registry.text().strip()
        host, _, port = address.rpartition(":")
        known = self._looked == (address, True)
        return not self._starting and not known and host in LOOPBACK and port.isdecimal() and 0 < int(port) < 65536

    def _on_start(self) -> None:
        self._starting = self.registry.text().strip()
        self.show_trouble("")
        self.check()
        self.registry_wanted.emit(self._starting)

    def on_started(self, address: str, why: str) -> None:
        """Say that a registry that was started here answers, or why it does not."""
        self._starting = ""
        if why:
            self.show_trouble(self.tr("The registry at {} did not start: {}").format(address, why))
        self.on_found(address, not why)

    def _on_invitation(self) -> None:
        """Take nick and registry from an invitation, which is for these alone."""
        found, _ = invited(self.invitation.text())
        if found:
            self.nick.setText(found.name)
            self.registry.setText(found.registry)
        for field in (self.nick, self.registry):
            field.setEnabled(not self.invitation.text().strip())
        self.check()

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
        self.start_button.setVisible(not connected)
        self._create.setVisible(connected)
        self._join.setVisible(connected)
        if connected:
            self.show_trouble("")
        self.check()

    def _on_connect(self) -> None:
        if self.check():
            return
        self.show_trouble("")
        if invitation := self.invitation.text().strip():
            self.accept_wanted.emit(invitation)
        else:
            self.connect_wanted.emit(self.nick.text().strip(), registry_list(self.registry.text()))


def _label(text: str, parent: QWidget) -> QLabel:
    label = QLabel(text, parent)
    # Errors have words of peers in them, which Qt would else read as HTML.
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setMinimumWidth(WIDTH)
    label.setMaximumWidth(WIDTH)
    return label
