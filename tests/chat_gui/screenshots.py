"""Take the pictures of the chat (`make screenshots`): python -m tests.chat_gui.screenshots [FOLDER]

Each window stands for a moment of a small story, with real members in a real group: light and dark, at 1x and 2x.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import gcom

ROOT = Path(__file__).resolve().parent.parent.parent
VARIANTS = (("light", 1), ("dark", 1), ("light", 2), ("dark", 2))
LIMIT_S = 40.0
TALK = (
    ("bob", "Did the new build pass?"),
    ("carol", "All 4,226 tests, in 9 minutes. The report is at https://example.org/builds/812"),
    ("bob", "alice: you can merge then"),
    (
        "carol",
        "And the demo runs on the small machine as well, which it did not yesterday, so I would not wait.",
    ),
)


class Photographer:
    """Takes the pictures of one variant."""

    def __init__(self, folder: Path, suffix: str) -> None:
        self._folder, self._suffix = folder, suffix

    def take(self, name: str, widget: object) -> None:
        """Write what a widget looks like."""
        path = self._folder / f"chat-{name}-{self._suffix}.png"
        widget.grab().save(str(path), quality=0)  # type: ignore[attr-defined] # of a PNG: the smallest
        print(path.name, path.stat().st_size // 1024, "KiB", flush=True)


def _wait(true: Callable[[], bool]) -> None:
    from PySide6.QtTest import QTest

    deadline = time.monotonic() + LIMIT_S
    while not true() and time.monotonic() < deadline:
        QTest.qWait(40)


def _take_modal(take: Callable[[str, object], None]) -> None:
    from PySide6.QtWidgets import QApplication

    if sheet := QApplication.activeModalWidget():
        take("shortcuts", sheet)
        sheet.close()


def _story(take: Callable[[str, object], None], dark: bool) -> None:
    """Go through the windows."""
    from PySide6.QtCore import Qt, QTimer
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from chat_gui.view.desktop.appearance import palette_of
    from chat_gui.view.dialogs.groups import ConnectDialog, CreateDialog, JoinDialog
    from chat_gui.view.dialogs.preferences import PreferencesDialog
    from chat_gui.view.dock.duel_dialog import DuelDialog
    from chat_gui.view.window import ChatWindow

    qt = QApplication(["gcom-chat"])
    qt.setStyle("Fusion")
    qt.setPalette(palette_of(dark))
    with gcom.embedded() as registry, gcom.connect("bob", registry.address) as bob:
        first = ChatWindow()
        first.show()
        QTest.qWait(400)
        take("first-run", first)
        first.close()
        bob.create("builds", "CAUSALTOTAL")
        bob.create("lunch", "FIFO")
        groups = {"bob": bob.join("builds")}
        lunch = bob.join("lunch")
        carol = gcom.connect("carol", registry.address)
        groups["carol"] = carol.join("builds")
        window = ChatWindow("alice", registry.address, ("lunch", "builds"))
        qt.setPalette(palette_of(dark))
        window.show()
        _wait(lambda: len(groups["bob"].members) == 3 and "builds" in window.tabs and len(lunch.members) == 2)
        tab = window.tabs["builds"]
        window.desk.go_to("builds")
        for name, text in TALK:
            groups[name].send(text)
            QTest.qWait(150)
        lunch.send("alice: soup or salad?")
        for text in ("/topic Builds and releases", "Merging now.", "/me opens a bottle"):
            tab.input.setPlainText(text)
            QTest.keyClick(tab.input, Qt.Key.Key_Return)
        _wait(lambda: not tab.state.conversation.outbox and not tab.state.conversation.awaited)
        QTest.qWait(300)
        take("main", window)
        for name, dialog in (
            ("connect", ConnectDialog("alice", registry.address, window)),
            ("create", CreateDialog(window)),
            ("join", JoinDialog(bob.groups(), window)),
            ("preferences", PreferencesDialog(window.keeper, "alice", window)),
        ):
            dialog.show()
            QTest.qWait(150)
            take(name, dialog)
            dialog.close()
        QTimer.singleShot(300, lambda: _take_modal(take))
        window.desk.show_shortcuts()
        window.resize(1100, 860)
        window.dock.show()
        for name, text in TALK * 3:
            groups[name].send(text)
            QTest.qWait(60)
        bob.inject("delay[bob>alice]=400ms")
        groups["bob"].send("a slow one")
        QTest.qWait(900)
        for at, page in enumerate(window.dock.pages):
            window.dock.tabs.setCurrentIndex(at)
            QTest.qWait(500)
            take(f"dock-{at + 1}-{type(page).__name__.removesuffix('Page').lower()}", window)
        window.dock.debug.switch.setChecked(True)
        QTest.qWait(600)
        take("debug", window)
        window.dock.debug.switch.setChecked(False)
        window.dock.hide()
        window.resize(980, 640)
        bob.inject("cut=bob<>alice")
        carol.inject("cut=carol<>alice")
        _wait(lambda: bool(tab.banner.text))
        tab.input.setPlainText("Is anybody there?")
        QTest.keyClick(tab.input, Qt.Key.Key_Return)
        QTest.qWait(400)
        take("banner", window)
        for node in (bob, carol):
            node.inject("seed=1")
        duel = DuelDialog(window)
        duel.show()
        finished: list[bool] = []
        duel.finished_run.connect(finished.append)
        _wait(lambda: bool(finished))
        QTest.qWait(200)
        take("duel", duel)
        duel.close()
        window.close()
        carol.close()


def main() -> None:
    """Take all variants, each in a process of its own: Qt reads its scale once."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        _story(Photographer(folder, f"{sys.argv[2]}-{sys.argv[3]}x").take, sys.argv[2] == "dark")
        sys.stdout.flush()
        os._exit(0)
    for scheme, scale in VARIANTS:
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(scale)}
        command = [sys.executable, "-m", "tests.chat_gui.screenshots", str(folder), scheme, str(scale)]
        subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    main()
