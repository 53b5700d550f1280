"""A message's whole text, in a window in which it can be read, and any part of it selected."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from gcom_chat.model.rows import ChatRow
from gcom_chat.model.texts.copies import log_line
from gcom_chat.model.texts.isolates import apart


class WholeText(QDialog):
    """Shows the text of a row, as far as it is known."""

    def __init__(self, row: ChatRow, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("What {} said").format(apart(row.name)) if row.name else self.tr("The text"))
        head = QLabel(log_line(row).partition("]")[0].removeprefix("["), self)
        self.text = QPlainTextEdit(row.said, self, readOnly=True)
        self.text.setAccessibleName(self.tr("Text"))
        # A text of one line of 256 KiB has no place to break at but between any two letters.
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        gone = QLabel(self.tr("The rest is not kept any more."), self)
        gone.setVisible(row.cut and not row.whole)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        copy = buttons.addButton(self.tr("&Copy all"), QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(row.said))
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        for widget in (head, self.text, gone, buttons):
            layout.addWidget(widget, 1 if widget is self.text else 0)
        self.resize(720, 520)
        self.text.setFocus()
