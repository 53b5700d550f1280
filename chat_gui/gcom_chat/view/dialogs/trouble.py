"""A dialog about a failure: what failed, why, and what to do. Its details can be copied, for somebody who helps."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

from gcom import __version__


class TroubleDialog(QDialog):
    """Three texts, and a button that copies them."""

    def __init__(self, what: str, why: str, todo: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(what)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        layout = QVBoxLayout(self)
        for text, bold in ((what, True), (why, False), (todo, False)):
            label = QLabel(text, self)
            # Errors have words of peers in them, which Qt would else read as HTML.
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            font = label.font()
            font.setBold(bold)
            label.setFont(font)
            label.setVisible(bool(text))
            layout.addWidget(label)
        self.details = f"gcom-chat {__version__}\n{what}\n{why}\n{todo}".strip()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        self.copy = self.buttons.addButton(self.tr("Copy &details"), QDialogButtonBox.ButtonRole.ActionRole)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.details))
        self.buttons.rejected.connect(self.reject)
        layout.addWidget(self.buttons)
        self.setMinimumWidth(440)
