"""`Connector`: where this chat is connected, and as whom; it asks again while nobody answers, and now and then else."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from time import monotonic
from typing import IO, Protocol

from PySide6.QtCore import QObject, QTimer, Signal, Slot

import gcom
from gcom_chat.client.client import ChatClient
from gcom_chat.client.membership import wall_ms
from gcom_chat.model.chat import Chat
from gcom_chat.model.settings import REGISTRY
from gcom_chat.model.text import normal

POLL_MS = 3_000  # how often the registry is asked while a list of groups is open, or while it is away
QUIET_POLLS = 4  # in between it is asked every fourth time: a registry that died is noticed within 12 s
START_S = 20.0  # for a registry that is started here; it takes up to 8 s on a slow machine
LOOK_MS = 300


class ConnectorHost(Protocol):
    """The part of the window that is connected."""

    chat: Chat
    client: ChatClient


def usual_registry(nick: str) -> str:
    """Return the registry where none was chosen: GCOM_REGISTRY, the one that invited this name, or one here."""
    try:
        return gcom.protection(nick).registry
    except gcom.GComError:  # of its certificate: connecting says what is wrong with it
        return REGISTRY


class Connector(QObject):
    """Connects, and comes to the groups that are open; `list_wanted` tells whether a list of groups is open."""

    polled = Signal()
    started = Signal(str, str)  # a registry that was started here, and why it does not answer; empty: it does

    def __init__(self, host: ConnectorHost, owner: QObject, nick: str, registry: str, groups: tuple[str, ...]) -> None:
        super().__init__(owner)
        self.nick, self.registry = normal(nick), registry
        self.wanted = tuple(map(normal, groups))  # that are joined once there is a connection
        self.wants_list = False
        self._host, self._polls, self._under_way = host, 0, False
        self._starting: tuple[str, float, IO[str]] | None = None  # where, until when, and what the registry writes
        self.begun: subprocess.Popen[bytes] | None = None  # the registry that was started here last
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(self._on_poll)
        self._looking = QTimer(self, interval=LOOK_MS)
        self._looking.timeout.connect(self._look)

    def begin(self) -> None:
        """Connect as the last time; without a registry look whether the usual one is there."""
        self._timer.start()
        if self.nick and self.registry:
            self._connect()
        elif not self.registry:
            self._host.client.find_registry(REGISTRY)

    def stop(self) -> None:
        """Ask nothing more: the window closes."""
        self._timer.stop()
        self._looking.stop()

    def connect_to(self, nick: str, registry: str) -> None:
        """Take a name at a registry, and come to all groups that are open."""
        self.nick, self.registry = normal(nick), registry
        self.wanted = tuple(self._host.chat.groups)
        self._connect()

    def again(self) -> None:
        """Leave all groups and come back to them, with what was chosen since."""
        if self._host.chat.registry:
            self.connect_to(self._host.chat.nick, self._host.chat.registry)

    def _connect(self) -> None:
        self._under_way = True
        self._host.client.connect(self.nick, self.registry)

    def on_answer(self) -> None:
        """Take note that a connect is over, whatever came of it."""
        self._under_way = False

    def taken(self) -> tuple[str, ...]:
        """Return the groups that are to be joined, once: after a later connect only those that are open then are."""
        wanted, self.wanted = self.wanted, ()
        return wanted

    @Slot()
    def _on_poll(self) -> None:
        chat, self._polls = self._host.chat, self._polls + 1
        chat.asks_again_ms = wall_ms() + POLL_MS
        if self.nick and self.registry and not chat.registry:
            # One at a time: each waits for its own answer, for longer than this clock.
            if not self._under_way:
                self._connect()
        elif self.wants_list or chat.registry_away or (chat.registry and self._polls % QUIET_POLLS == 0):
            self._host.client.ask_registry()
        self.polled.emit()

    # a registry here

    def start_registry(self, address: str) -> None:
        """Start a registry on this machine, which goes on when the chat ends, and tell once it answers."""
        host, _, port = address.rpartition(":")
        said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - until it answers
        command = [sys.executable, "-m", "gcom_registry", "--host", host, "--port", port]
        nowhere = subprocess.DEVNULL
        # A session of its own: Ctrl-C at this chat's terminal is not meant for it.
        self.begun = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=said, start_new_session=True)
        self._starting = address, monotonic() + START_S, said
        self._looking.start()

    @Slot()
    def _look(self) -> None:
        if self._starting is None:
            return
        address, until_s, said = self._starting
        over = self.begun is None or self.begun.poll() is not None
        if over or monotonic() > until_s:
            said.seek(0)
            lines = said.read().strip().splitlines()
            self._end_start(lines[-1] if lines else self.tr("it does not answer"))
        else:
            self._host.client.find_registry(address)

    def on_found(self, address: str, answers: bool) -> None:
        """Take note of whether a registry answers."""
        if answers and self._starting and self._starting[0] == address:
            self._end_start("")

    def _end_start(self, why: str) -> None:
        assert self._starting is not None, "a registry was started"
        address, _, said = self._starting
        self._looking.stop()
        self._starting = None
        said.close()
        self.started.emit(address, why)
