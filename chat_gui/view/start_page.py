"""What the window shows before there is a tab: what this is, in four sentences, and how to begin."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget


class StartPage(QWidget):
    """Buttons to connect, to create and to join."""

    connect_wanted = Signal()
    create_wanted = Signal()
    join_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        about = QLabel(text, self)
        about.setWordWrap(True)
        about.setMaximumWidth(520)
        self._status = QLabel(self)
        self._status.setWordWrap(True)
        self._status.setMaximumWidth(520)
        self._status.setTextFormat(Qt.TextFormat.PlainText)
        self._connect = QPushButton(self.tr("&Connect to a registry…"), self)
        self._create = QPushButton(self.tr("C&reate a group…"), self)
        self._join = QPushButton(self.tr("&Join a group…"), self)
        buttons = QHBoxLayout()
        pairs = (
            (self._connect, self.connect_wanted),
            (self._create, self.create_wanted),
            (self._join, self.join_wanted),
        )
        for button, signal in pairs:
            button.clicked.connect(signal)
            buttons.addWidget(button)
        buttons.addStretch(1)
        inner = QVBoxLayout()
        for widget in (title, about, self._status):
            inner.addWidget(widget)
        inner.addLayout(buttons)
        inner.setSpacing(14)
        outer = QHBoxLayout(self)
        outer.addStretch(1)
        middle = QVBoxLayout()
        middle.addStretch(1)
        middle.addLayout(inner)
        middle.addStretch(2)
        outer.addLayout(middle, 6)
        outer.addStretch(1)

    def show_connection(self, text: str, connected: bool) -> None:
        """Say where this chat is connected, and open what that allows."""
        self._status.setText(text)
        self._connect.setDefault(not connected)
        self._create.setEnabled(connected)
        self._join.setEnabled(connected)
