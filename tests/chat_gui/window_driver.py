"""A chat window in a process of its own, whose keys and mouse are moved by lines on its standard input.

    python -m tests.chat_gui.window_driver NICK REGISTRY GROUP…

Each line is a JSON list: a command and its arguments; the answer is a line of JSON. All goes through the widgets, as a
person's hands and eyes do.
"""

from __future__ import annotations

import json
import sys
from threading import Thread

from gcom_chat.model.rows import RowKind
from gcom_chat.view.desktop.style import OutlinedStyle
from gcom_chat.view.window import ChatWindow
from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication


class Hands(QObject):
    """Carries commands out in the window's thread."""

    commanded = Signal(str)

    def __init__(self, window: ChatWindow) -> None:
        super().__init__()
        self._window = window
        self.commanded.connect(self._on_command, Qt.ConnectionType.QueuedConnection)

    def read(self) -> None:
        """Take commands until there are no more; then the window closes."""
        for line in sys.stdin:
            self.commanded.emit(line)
        self.commanded.emit('["close"]')

    @Slot(str)
    def _on_command(self, line: str) -> None:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(self, name)(*arguments)), flush=True)

    def say(self, group: str, text: str) -> None:
        """Type a line and press Enter."""
        box = self._window.tabs[group].input
        box.setFocus()
        QTest.keyClicks(box, text)
        QTest.keyClick(box, Qt.Key.Key_Return)

    def said(self, group: str) -> list[list[str]]:
        """Return the messages that the list shows, in its order."""
        rows = self._window.tabs[group].conversation.rows.rows if group in self._window.tabs else []
        return [[row.name, row.text] for row in rows if row.kind in (RowKind.MESSAGE, RowKind.ACTION)]

    def own(self, group: str) -> list[list[str]]:
        """Return the own lines that the list shows, each with its state."""
        model = self._window.tabs[group].conversation.rows
        rows = [model.row(at) for at in range(model.rowCount())]
        return [[row.text, row.delivery.name] for row in rows if row.own]

    def typed(self, group: str) -> str:
        """Return what stands in the input."""
        return self._window.tabs[group].input.toPlainText()

    def members(self, group: str) -> list[str]:
        """Return the lines of the member list."""
        shown = self._window.tabs[group].members if group in self._window.tabs else None
        return [shown.item(at).text() for at in range(shown.count())] if shown else []

    def banner(self, group: str) -> str:
        """Return what the banner says."""
        return self._window.tabs[group].banner.text

    def title(self, group: str) -> str:
        """Return the text of the tab."""
        return self._window.tabs[group].title

    def picture(self, path: str) -> bool:
        """Write what the window looks like to a file."""
        return self._window.grab().save(path)

    def close(self) -> None:
        """Close the window, which ends the process."""
        self._window.close()


def main() -> None:
    """Run until the standard input ends."""
    nick, registry, *groups = sys.argv[1:]
    qt = QApplication(["gcom-chat"])
    qt.setStyle(OutlinedStyle())
    window = ChatWindow(nick, registry, tuple(groups))
    window.show()
    hands = Hands(window)
    Thread(target=hands.read, daemon=True).start()
    sys.exit(qt.exec())


if __name__ == "__main__":
    main()
