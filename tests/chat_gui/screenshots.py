"""Take the pictures of the chat (`make screenshots`): python -m tests.chat_gui.screenshots [FOLDER]

Each window stands for a moment of a small story, with real members in a real group: light and dark, at 1x and 2x.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from gcom_chat.model.backlog import Backlog
from gcom_chat.model.insight.duel import DuelRun
from gcom_chat.model.rows import RowKind
from gcom_chat.model.updates import FoundOnDisk, SurroundingsCame
from gcom_chat.model.wire import decode
from gcom_chat.view.desktop.appearance import palette_of
from gcom_chat.view.desktop.style import OutlinedStyle
from gcom_chat.view.dialogs.found import FoundDialog
from gcom_chat.view.dialogs.groups import ConnectDialog, CreateDialog, JoinDialog
from gcom_chat.view.dialogs.preferences import PreferencesDialog
from gcom_chat.view.dock.duel_dialog import DuelDialog
from gcom_chat.view.dock.duel_picture import PANEL, render_pair
from gcom_chat.view.dock.tables_pages import HeldPage
from gcom_chat.view.group_tab import GroupTab
from gcom_chat.view.window import ChatWindow
from PIL import Image
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QWidget

import gcom

Take = Callable[[str, QWidget | QImage], None]

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

    def take(self, name: str, shown: QWidget | QImage) -> None:
        """Write what a widget looks like, or a picture that is painted already."""
        path = self._folder / f"chat-{name}-{self._suffix}.png"
        picture = shown if isinstance(shown, QImage) else shown.grab().toImage()
        picture.save(str(path))
        with Image.open(path) as image:  # a third of the size; text keeps its edges without dithering
            small = image.convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        small.save(path, optimize=True)
        print(path.name, path.stat().st_size // 1024, "KiB", flush=True)


def _wait(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not true() and time.monotonic() < deadline:
        QTest.qWait(5)  # whole, it would keep all other threads from running: Qt holds Python's lock meanwhile


def _pause(ms: int) -> None:
    deadline = time.monotonic() + ms / 1000
    _wait(lambda: time.monotonic() > deadline)


class Story:
    """A small story in a real group, and a picture of each window in it."""

    def __init__(self, take: Take, dark: bool) -> None:
        self._take = take
        self._qt = QApplication(["gcom-chat"])
        self._qt.setStyle(OutlinedStyle())
        self._look = palette_of(dark)
        self._qt.setPalette(self._look)

    def tell(self) -> None:
        """Go through the windows."""
        first = ChatWindow()
        self._show(first)
        self._take("first-run", first)
        first.close()
        with gcom.embedded() as registry, ExitStack() as stack:
            nodes = {name: stack.enter_context(gcom.connect(name, registry.address)) for name in ("bob", "carol")}
            nodes["bob"].create("builds", "CAUSALTOTAL")
            nodes["bob"].create("lunch", "FIFO")
            groups = {name: _join(node, "builds") for name, node in nodes.items()}
            lunch = _join(nodes["bob"], "lunch")
            window = ChatWindow("alice", registry.address, ("lunch", "builds"))
            self._show(window)
            _wait(lambda: len(groups["bob"].members) == 3 and len(lunch.members) == 2)
            _wait(lambda: all(state.members.view for state in window.chat.groups.values()))
            window.desk.go_to("builds")
            lunch.send("alice: soup or salad?")
            self._talk(window, groups)
            self._dialogs(window, nodes["bob"].groups())
            self._dock(window, nodes["bob"], groups)
            self._banner(window, nodes)
            self._duel(window)
            window.close()

    def _show(self, window: ChatWindow) -> None:
        window.show()
        self._qt.setPalette(self._look)  # a window takes its settings' look; these have none
        _pause(400)

    def _talk(self, window: ChatWindow, groups: dict[str, gcom.Group]) -> None:
        tab = window.tabs["builds"]
        for name, text in TALK:
            groups[name].send(text)
            _wait(partial(_shows, tab, text))
        for text in ("/topic Builds and releases", "Merging now.", "/me opens a bottle"):
            _type(tab, text)
        _wait(lambda: not tab.state.conversation.own.lines)
        _pause(300)
        self._take("main", window)

    def _dialogs(self, window: ChatWindow, known: tuple[gcom.GroupInfo, ...]) -> None:
        connect = ConnectDialog("alice", "127.0.0.1:7411", window)
        dialogs: tuple[tuple[str, QDialog], ...] = (
            ("connect", connect),
            ("create", CreateDialog("alice", certified=False, parent=window)),
            ("join", JoinDialog(known, ("builds",), window)),
            ("preferences", PreferencesDialog(window.keeper, "alice", window.desk.actions, window)),
        )
        window.asking.about_to_connect(connect)
        for name, dialog in dialogs:
            dialog.show()
            _pause(300)
            self._take(name, dialog)
            self._pages(window, name, dialog)
            dialog.close()
        self._search(window)
        QTimer.singleShot(300, self._take_modal)
        window.desk.show_shortcuts()

    def _search(self, window: ChatWindow) -> None:
        """Take the hits of a search in the scrollback on disk, with what was said around one."""
        said = tuple(row for row in window.tabs["builds"].state.conversation.rows if row.kind is not RowKind.NOTICE)
        found = tuple(("builds", row) for row in said if row.kind is RowKind.MESSAGE and "merg" in row.text.casefold())
        window.desk.show_found(FoundOnDisk("merg", found, False))
        window.desk.on_disk(SurroundingsCame("builds", found[-1][1].key, said))
        dialog = next(child for child in window.children() if isinstance(child, FoundDialog))
        _pause(300)
        self._take("search", dialog)
        dialog.close()

    def _pages(self, window: ChatWindow, name: str, dialog: QDialog) -> None:
        """Take the pages of the preferences that came last."""
        if isinstance(dialog, PreferencesDialog):
            window.desk.protection_told.connect(dialog.network.show_protection)
            dialog.network.protection_wanted.connect(window.client.ask_protection)
            dialog.network.registry.setText(window.chat.registry)
            for what, page in (("network", dialog.network), ("shortcuts", dialog.shortcuts)):
                dialog.pages.setCurrentWidget(page)
                _wait(lambda: bool(dialog.network.protection.text()))
                _pause(300)
                self._take(f"{name}-{what}", dialog)

    def _take_modal(self) -> None:
        if sheet := QApplication.activeModalWidget():
            self._take("shortcuts", sheet)
            sheet.close()

    def _dock(self, window: ChatWindow, bob: gcom.Node, groups: dict[str, gcom.Group]) -> None:
        window.activateWindow()  # behind the dialogs that were open it would mark what comes as unread
        _wait(lambda: window.in_sight)
        window.resize(1100, 860)
        window.dock.show()
        window.dock.audit.folder.setText("/var/tmp/gcom-logs")
        for name, text in TALK * 3:
            groups[name].send(text)
            _pause(60)
        for text in ("Tagged.", "Uploaded.", "Announced."):
            _type(window.tabs["builds"], text)
        _pause(900)
        for at, page in enumerate(window.dock.pages):
            window.dock.tabs.setCurrentIndex(at)
            if isinstance(page, HeldPage):
                self._hold_back(bob, groups)
            _pause(500)
            self._take(f"dock-{at + 1}-{type(page).__name__.removesuffix('Page').lower()}", window)
        window.dock.tabs.setCurrentWidget(window.dock.debug)
        window.dock.debug.switch.setChecked(True)
        for name, rest in (("delay", "bob pareto:60ms"), ("drop", "5%")):
            window.dock.debug.command(name, rest, ("alice", "bob", "carol", "dave"))
        _pause(600)
        self._take("debug", window)
        window.dock.debug.switch.setChecked(False)
        window.dock.debug.heal()
        window.dock.hide()

    def _hold_back(self, bob: gcom.Node, groups: dict[str, gcom.Group]) -> None:
        """Have carol answer what bob says, of which nothing has come to alice yet."""
        bob.inject("delay[bob>alice]=3000ms")
        groups["bob"].send("Shall we?")
        _pause(900)
        groups["carol"].send("Yes!")
        _pause(300)
        bob.inject("seed=1")

    def _banner(self, window: ChatWindow, nodes: dict[str, gcom.Node]) -> None:
        window.resize(980, 640)
        tab = window.tabs["builds"]
        for name, node in nodes.items():
            node.inject(f"cut={name}<>alice")
        _wait(lambda: bool(tab.banner.text))
        _type(tab, "Is anybody there?")
        _pause(400)
        self._take("banner", window)
        for node in nodes.values():
            node.inject("seed=1")

    def _duel(self, window: ChatWindow) -> None:
        duel = DuelDialog(window)
        finished: list[bool] = []
        duel.finished_run.connect(finished.append)
        duel.show()
        _wait(lambda: bool(finished))
        duel.resize(3 * PANEL.width() + 40, 2 * PANEL.height() + 116)
        _pause(200)
        self._take("duel", duel)
        self._take("duel-pair", render_pair(duel.runs, self._look, duel.font(), duel.devicePixelRatio()))
        for text in ("Lunch?", "At noon?", "See you"):
            duel.field.setText(text)
            duel.say()
        _wait(lambda: len(duel.runs) == 5 and all(_is_whole(run) for run in duel.runs.values()))
        _pause(200)
        self._take("duel-live", duel)
        duel.close()


def _join(node: gcom.Node, group: str) -> gcom.Group:
    """Join as a chat does, with what was said before for those who come later."""
    backlog = Backlog()
    joined = node.join(group, get_state=backlog.get_state, set_state=backlog.set_state)
    joined.listen(on_message=lambda message: backlog.add(message.name, decode(message.payload)))
    return joined


def _shows(tab: GroupTab, text: str) -> bool:
    return any(row.text == text for row in tab.state.conversation.rows)


def _is_whole(run: DuelRun) -> bool:
    return run.goes_on and all(len(screen.lines) == len(run.script) == 9 for screen in run.screens)


def _type(tab: GroupTab, text: str) -> None:
    tab.input.setPlainText(text)
    QTest.keyClick(tab.input, Qt.Key.Key_Return)


def main() -> None:
    """Take all variants, each in a process of its own: Qt reads its scale once."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        Story(Photographer(folder, f"{sys.argv[2]}-{sys.argv[3]}x").take, sys.argv[2] == "dark").tell()
        sys.stdout.flush()
        os._exit(0)
    for scheme, scale in VARIANTS:
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": str(scale)}
        command = [sys.executable, "-m", "tests.chat_gui.screenshots", str(folder), scheme, str(scale)]
        subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    main()
