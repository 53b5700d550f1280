"""Objects that a server serves, of one method, which takes a frame and returns the answer."""

from __future__ import annotations

from collections.abc import Callable

from loguru import logger
from Pyro5 import server as pyro_server

from gcom.errors import GComError
from gcom.runtime.pyro.wire import RefusedMessage
from gcom.values import limits


class Endpoint:
    """The object behind an id: one method, `receive(bytes) -> bytes`, two-way. A node's takes a view of bytes, too."""

    def __init__(self, handler: Callable[[bytes], bytes]) -> None:
        self._handler = handler

    @pyro_server.expose  # type: ignore[untyped-decorator]
    def receive(self, frame: bytes) -> bytes:
        if type(frame) not in (bytes, memoryview):
            raise RefusedMessage("argument", "receive takes one bytes frame")
        if len(frame) > limits.FRAME_BYTES_MAX:
            text = f"a frame of {len(frame)} bytes is too large: at most {limits.FRAME_BYTES_MAX}"
            raise RefusedMessage("argument", text)
        try:
            return self._handler(frame)
        except GComError:
            raise  # the frame is refused
        except Exception:  # outermost: of a peer's call. The peer is told; that we have a fault is told here
            logger.exception("a frame from a peer met a fault of this process")
            raise
