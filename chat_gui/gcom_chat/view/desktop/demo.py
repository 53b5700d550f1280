"""`DemoEntry`: brings the window of a demonstration into the companions' group once they are in it.

The oldest member leads. If that were the window, no companion's crash would show an election.
"""

from __future__ import annotations

from time import monotonic
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Slot

import gcom
from gcom_chat.client.client import ChatClient
from gcom_chat.demo.script import DEFINITION
from gcom_chat.model.chat import Chat

LOOK_MS = 250  # the companions need a second or two to form their group
WAIT_S = 10.0  # then it founds the group itself


class DemoHost(Protocol):
    """The part of the window that enters the group."""

    chat: Chat
    client: ChatClient

    def join(self, group: str, create: gcom.Definition | None = None) -> None: ...


class DemoEntry(QObject):
    """Looks for the group until it is there, and joins it; lives as long as `owner`."""

    def __init__(self, window: DemoHost, owner: QObject) -> None:
        super().__init__(owner)
        self._window, self._began = window, monotonic()
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._timer.start()

    @Slot()
    def _look(self) -> None:
        if not self._window.chat.registry:
            return
        # A group that all have left is listed as well: whoever joins it alone is its oldest member, and leads.
        there = any(info.definition.group == DEFINITION.group and info.members for info in self._window.chat.listed)
        if there or monotonic() - self._began > WAIT_S:
            self._timer.stop()
            self._window.join(DEFINITION.group, DEFINITION)
        else:
            self._window.client.list_groups()
