"""Dialogs: connect to a registry, create a group, join one from a list that stays up to date."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

import gcom
from gcom_chat.model.settings import REGISTRY
from gcom_chat.model.texts.orderings import ORDERINGS
from gcom_chat.model.texts.words import translate

WORD_MAX = 40  # letters of a word that are shown of what is wrong
ASK_MS = 250  # after the last key, until it is looked how a connection is protected


class FormDialog(QDialog):
    """A form whose OK is open only while what is typed makes sense; what is wrong stands above the buttons."""

    def __init__(self, title: str, accept: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.form = QFormLayout()
        self.form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._problem = QLabel(self)
        self._problem.setWordWrap(True)
        self._problem.setTextFormat(Qt.TextFormat.PlainText)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, self
        )
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText(accept)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._layout = QVBoxLayout(self)
        self._layout.addLayout(self.form)
        self._layout.addWidget(self._problem)
        self._layout.addWidget(self.buttons)
        self.setMinimumWidth(460)

    def showEvent(self, event: QShowEvent) -> None:
        """Begin in the first field, with OK for Enter."""
        super().showEvent(event)
        roles = QFormLayout.ItemRole.FieldRole, QFormLayout.ItemRole.SpanningRole
        items = [self.form.itemAt(row, role) for row in range(self.form.rowCount()) for role in roles]
        widgets = [item.widget() for item in items if item]
        fields = [each for each in widgets if each and each.focusPolicy() != Qt.FocusPolicy.NoFocus]
        # Qt goes by the order in which they were made, and the buttons were the first: Enter would cancel.
        for field, following in pairwise([*fields, self.buttons]):
            self.setTabOrder(field, following)
        fields[0].setFocus()
        self.buttons.button(QDialogButtonBox.StandardButton.Cancel).setAutoDefault(False)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setDefault(True)

    def problem(self) -> str:
        """Return what is wrong with what is typed; empty: nothing. Each dialog has its own."""
        return ""

    def check(self) -> None:
        """Say what is wrong, and close OK while something is."""
        problem = self.problem()
        # A name of 200 letters has no place to break at, and would be cut off with all that is said of it.
        self._problem.setText(
            " ".join(word if len(word) <= WORD_MAX else f"{word[:WORD_MAX]}…" for word in problem.split())
        )
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(not problem)
        # A dialog stays as high as it was when it was shown: what is said then would squeeze the fields.
        if self.isVisible() and (needed := self._layout.totalHeightForWidth(self.width())) > self.height():
            self.resize(self.width(), needed)


class ConnectDialog(FormDialog):
    """Nick and registry, or an invitation that has both; says how the connection is protected.

    `protection_wanted` asks for that, by nick and registry; `show_protection` takes the answer.
    """

    protection_wanted = Signal(str, str)

    def __init__(self, nick: str, registry: str, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent)
        self.setWindowTitle(self.tr("Connect to a registry"))
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText(self.tr("Connect"))
        self.nick = QLineEdit(nick, self)
        self.registry = QLineEdit(registry or REGISTRY, self)
        self.form.addRow(self.tr("&Nick"), self.nick)
        self.form.addRow(self.tr("&Registry"), self.registry)
        self.invitation = QLineEdit(self)
        self.invitation.setPlaceholderText(self.tr("for a registry on another machine: gcom1/…"))
        self.form.addRow(self.tr("&Invitation"), self.invitation)
        self.protection = QLabel(self)
        self.protection.setWordWrap(True)
        self.protection.setTextFormat(Qt.TextFormat.PlainText)
        self.protection.setAccessibleName(self.tr("Protection"))
        # As high as the longest text from the start: the dialog would jump with every key that is typed.
        self.protection.setMinimumHeight(3 * self.fontMetrics().lineSpacing())
        self.protection.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.form.addRow("", self.protection)
        self._asking = QTimer(self, singleShot=True, interval=ASK_MS)
        self._asking.timeout.connect(self._ask)
        # Connected before `check`, which judges the nick and the registry that this fills in.
        self.invitation.textChanged.connect(self._on_invitation)
        for field in (self.nick, self.registry, self.invitation):
            field.textChanged.connect(self.check)
            # Each key begins the wait anew: only what is typed to its end is asked about.
            field.textChanged.connect(self._asking.start)
        self.check()

    def problem(self) -> str:
        """Return what is wrong with nick, registry or invitation."""
        return self._invited()[1] or connection_problem(self.nick.text(), self.registry.text())

    def wish(self) -> tuple[str, str]:
        """Return nick and registry."""
        return self.nick.text().strip(), registry_list(self.registry.text())

    def show_protection(self, nick: str, registry: str, text: str, trouble: bool) -> None:
        """Say how a connection is protected, or why it cannot be made, where it is still the one that is asked for."""
        # The answer comes later than what is typed; one for other words would be read as theirs.
        if (nick, registry) == self.wish() and not self.invitation.text().strip():
            self.protection.setText(f"⚠ {text}" if trouble else text)

    def showEvent(self, event: QShowEvent) -> None:
        """Say at once how what stands there is protected."""
        super().showEvent(event)
        self._ask()

    def _ask(self) -> None:
        if self.invitation.text().strip():
            found, _ = self._invited()
            text = self.tr("Makes a key on this machine, and gets its certificate from {}; it works once.")
            self.protection.setText(text.format(found.registry) if found else "")
        elif not self.problem():
            self.protection_wanted.emit(*self.wish())
        else:
            self.protection.clear()

    def _invited(self) -> tuple[gcom.Invitee | None, str]:
        return invited(self.invitation.text())

    def _on_invitation(self) -> None:
        """Take nick and registry from an invitation, which is for these alone."""
        found, _ = self._invited()
        if found:
            self.nick.setText(found.name)
            self.registry.setText(found.registry)
        for field in (self.nick, self.registry):
            field.setEnabled(not self.invitation.text().strip())
        ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        ok.setText(self.tr("Accept and connect") if found else self.tr("Connect"))


def invited(invitation: str) -> tuple[gcom.Invitee | None, str]:
    """Return what an invitation says, and what is wrong with it; an empty one says nothing, and is not wrong."""
    text = invitation.strip()
    try:
        return (gcom.invitee(text) if text else None), ""
    except gcom.BadValue as error:
        return None, str(error)


def registry_list(text: str) -> str:
    """Return one address, or several with a comma between, in one form: the scrollback is kept by it."""
    return ",".join(address.strip() for address in text.split(","))


def connection_problem(nick: str, registry: str) -> str:
    """Return what is wrong with a nick or the address of a registry; empty: nothing."""
    try:
        # By the library's own rule for names, of which a second one here would differ some day.
        gcom.Definition("x", static=(nick.strip(),))
    except gcom.BadValue as error:
        return str(error)
    for address in registry.split(","):
        host, _, port = address.strip().rpartition(":")
        # isdigit alone lets "²" pass, which int() refuses.
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            wrong = translate("connect", "The registry is HOST:PORT, as in {}, or several of these, with commas.")
            return wrong.format(REGISTRY)
    return ""


class CreateDialog(FormDialog):
    """The properties of a new group of `nick`; `certified`: who has a certificate, and can sign."""

    def __init__(self, nick: str, certified: bool, parent: QWidget | None = None, name: str = "") -> None:
        super().__init__("", "", parent)
        self._nick = nick
        self.setWindowTitle(self.tr("Create a group"))
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText(self.tr("Create and join"))
        self.name = QLineEdit(name, self)
        self.ordering, self.about = QComboBox(self), QLabel(self)
        self.ordering.addItems(list(ORDERINGS))
        self.ordering.setCurrentText("CAUSALTOTAL")
        self.about.setWordWrap(True)
        self.multicast = QComboBox(self)
        self.multicast.addItem(self.tr("reliable: what one has, all have"), "RELIABLE")
        self.multicast.addItem(self.tr("basic: one copy to each; a loss is told, not mended"), "BASIC")
        self.static = QLineEdit(self)
        self.static.setPlaceholderText(self.tr("empty: dynamic; else static, of these names"))
        self.safe = QCheckBox(self.tr("show a message only once a majority holds it"), self)
        self.netsplit = QComboBox(self)
        self.netsplit.addItem(self.tr("primary: the side with a majority goes on"), "PRIMARY")
        self.netsplit.addItem(self.tr("partitionable: every side goes on, and they merge"), "PARTITIONABLE")
        self.detection = QComboBox(self)
        self.detection.addItem(self.tr("4 s of silence: for a local network"), "lan")
        self.detection.addItem(self.tr("12 s: for networks with slow or broken ways"), "wan")
        self.detection.addItem(self.tr("60 s: for computers that sleep now and then"), "60")
        self.signed = QCheckBox(self.tr("sign each message; every member needs a certificate"), self)
        if not certified:
            self.signed.setEnabled(False)
            self.signed.setText(self.tr("sign each message: needs a certificate (Ctrl+R)"))
        rows = (
            (self.tr("&Name"), self.name),
            (self.tr("&Ordering"), self.ordering),
            ("", self.about),
            (self.tr("&Multicast"), self.multicast),
            (self.tr("M&embers"), self.static),
            (self.tr("&Safe"), self.safe),
            (self.tr("Nets&plit"), self.netsplit),
            (self.tr("S&uspected after"), self.detection),
            (self.tr("Si&gned"), self.signed),
        )
        for label, field in rows:
            self.form.addRow(label, field)
        for signal in (self.name.textChanged, self.static.textChanged, self.ordering.currentTextChanged):
            signal.connect(self.check)
        for box in (self.safe, self.signed):
            box.toggled.connect(self.check)
        self.multicast.currentIndexChanged.connect(self.check)
        self.check()

    def definition(self) -> gcom.Definition:
        """Return what was chosen; raises BadValue."""
        return gcom.Definition.parse(
            self.name.text().strip(),
            self.ordering.currentText(),
            self.multicast.currentData(),
            tuple(name.strip() for name in self.static.text().split(",") if name.strip()),
            self.safe.isChecked(),
            self.netsplit.currentData(),
            detection=self.detection.currentData(),
            signed=self.signed.isChecked(),
        )

    def problem(self) -> str:
        """Return what is wrong with the definition."""
        self.about.setText(translate("orderings", ORDERINGS[self.ordering.currentText()]))
        if not self.name.text().strip():
            return self.tr("A group needs a name.")
        try:
            static = self.definition().static
        except gcom.BadValue as error:
            return str(error)
        if static and self._nick not in static:
            return self.tr("You are {}, and not among the members: nobody else gets in.").format(self._nick)
        return ""


class JoinDialog(FormDialog):
    """A table of the groups that the registry knows; `inside`: those in which this chat is."""

    def __init__(
        self, groups: Sequence[gcom.GroupInfo], inside: Collection[str] = (), parent: QWidget | None = None
    ) -> None:
        super().__init__("", "", parent)
        self._inside = inside
        self.setWindowTitle(self.tr("Join a group"))
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText(self.tr("Join"))
        self.setMinimumWidth(600)  # of its own: the table is wider than the fields of a form
        self.table = QTableWidget(0, 4, self)
        self.table.setHorizontalHeaderLabels(
            [self.tr("Group"), self.tr("Ordering"), self.tr("Members"), self.tr("State")]
        )
        self.table.setAccessibleName(self.tr("Groups"))
        self.table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QTableWidget.SelectionMode.SingleSelection)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.verticalHeader().hide()
        self.table.setMinimumSize(560, 240)
        self.table.itemSelectionChanged.connect(self.check)
        self.table.itemActivated.connect(lambda _: self.accept())
        self.form.addRow(self.table)
        self.show_groups(groups)

    def show_groups(self, groups: Sequence[gcom.GroupInfo]) -> None:
        """Show what the registry says now; the selection stays."""
        # Before the rows are filled anew, and by name: a group may stand in another row then.
        chosen = self.chosen()
        self.table.setRowCount(len(groups))
        for at, group in enumerate(groups):
            names = ", ".join(process.partition("#")[0] for process in group.members) or self.tr("nobody")
            state = self.tr("in service") if group.alive else self.tr("in doubt") if group.members else self.tr("empty")
            signed = self.tr(", signed") if group.definition.signed else ""
            ordering = f"{group.definition.ordering.value}{signed}"
            state = self.tr("you are in it") if group.definition.group in self._inside else state
            texts = (group.definition.group, ordering, f"{len(group.members)}: {names}", state)
            for column, text in enumerate(texts):
                self.table.setItem(at, column, QTableWidgetItem(gcom.isolated(text)))
            if group.definition.group == chosen or (not chosen and at == 0):
                self.table.selectRow(at)
        self.table.resizeColumnsToContents()
        # The members are what may be long: they have all the room that the others leave.
        self.table.horizontalHeader().setSectionResizeMode(2, QHeaderView.ResizeMode.Stretch)
        self.check()

    def chosen(self) -> str:
        """Return the name of the group that is selected; empty: none."""
        rows = self.table.selectionModel().selectedRows()
        item = self.table.item(rows[0].row(), 0) if rows else None
        return item.text() if item else ""

    def problem(self) -> str:
        """Return why nothing can be joined."""
        if not self.table.rowCount():
            return self.tr("The registry knows no groups yet: create one.")
        return "" if self.chosen() else self.tr("Choose a group.")
