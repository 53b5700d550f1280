"""One window per user and profile: a second start hands its wishes to the first one, and ends."""

from __future__ import annotations

import getpass
import json
from hashlib import sha256
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

CONNECT_MS, WRITE_MS = 500, 1_000  # of a start, which the user sees as nothing happening
BYTES_MAX = 64 * 1024  # a wish names groups: a few hundred bytes


class SingleInstance(QObject):
    """Listens on a local socket that belongs to the user alone; `asked` brings the groups that a later start wants."""

    asked = Signal(list)

    def __init__(self, session: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # A digest, since names of sockets are short on some systems, and paths of sessions are not.
        self._name = f"gcom-chat-{sha256(f'{getpass.getuser()} {session}'.encode()).hexdigest()[:16]}"
        self._server = QLocalServer(self)
        # Set before it listens: it counts only for a socket that is made afterwards.
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)

    def claim(self, groups: tuple[str, ...]) -> bool:
        """Become the first; False: there is one, it was told, and this start has nothing left to do.

        A socket that a killed chat left behind answers nobody, and is taken away.
        """
        # Asked first, not claimed first: a socket that is there
        # may be of a chat that lives, or of one that was killed.
        if self._tell(groups):
            return False
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)  # where even that fails, there may be two windows: better than none
        return True

    def close(self) -> None:
        """Listen no more."""
        self._server.close()

    def _tell(self, groups: tuple[str, ...]) -> bool:
        socket = QLocalSocket(self)
        socket.connectToServer(self._name)
        if not socket.waitForConnected(CONNECT_MS):
            return False
        socket.write(json.dumps(groups).encode() + b"\n")
        # This process ends without an event loop, which else would write it.
        socket.waitForBytesWritten(WRITE_MS)
        socket.disconnectFromServer()
        return True

    @Slot()
    def _on_connection(self) -> None:
        while self._server.hasPendingConnections():
            socket = self._server.nextPendingConnection()
            # Only this user's processes reach the socket, but one of them may be wrong: it fills no memory.
            socket.setReadBufferSize(BYTES_MAX)
            socket.readyRead.connect(self._on_ready)
            socket.disconnected.connect(socket.deleteLater)
            # Its line may be here already: then no signal tells of it.
            self._read(socket)

    @Slot()
    def _on_ready(self) -> None:
        socket = self.sender()
        if isinstance(socket, QLocalSocket):
            self._read(socket)

    def _read(self, socket: QLocalSocket) -> None:
        if not socket.canReadLine():
            return
        try:
            groups = json.loads(bytes(socket.readLine().data()))
        except ValueError:
            groups = []
        # Whatever it said, somebody started the chat again: the window comes to the front.
        known = isinstance(groups, list)
        self.asked.emit([group for group in groups if isinstance(group, str)] if known else [])
