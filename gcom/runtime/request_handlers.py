"""Serves the requests of group calls with the application's handler, in threads of their own.

One handler is at work at a time, so it needs no lock of its own; but while one waits for a group call that it made
itself, the next request is served. Without that two members whose handlers call each other would wait for ever: each
one's only thread for the other's. What a handler changed before such a call it may find changed after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Thread, get_ident
from typing import TYPE_CHECKING

from loguru import logger

from gcom.core.messages import events
from gcom.core.messages.effects import Serve
from gcom.errors import BadValue
from gcom.runtime import payloads
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Payload

if TYPE_CHECKING:
    from gcom.runtime.node import Node
    from gcom.runtime.session import Session

Handler = Callable[[Payload, Process], Payload]

NESTED_MAX = 16  # handlers at once, all but one waiting for calls of their own; more wait until one of those is through
NO_HANDLER = "no handler"


class Answering:
    """The handler of one group and the requests to it, which credit bounds. Guarded by the node's lock."""

    def __init__(self, node: Node) -> None:
        self.handler: Handler | None = None
        self._node = node
        self._requests: deque[tuple[Session, Serve]] = deque()
        self._ready = Condition(node.lock)
        self._threads: set[int] = set()
        self._idle = 0  # threads that wait for a request
        self._returning = 0  # handlers whose own call is over, and that wait for their turn to go on
        self._at_work = False
        self._closed = False

    def take(self, session: Session, request: Serve) -> None:
        """A request came; there is a handler."""
        self._requests.append((session, request))
        self._pass_on()

    def close(self) -> None:
        """Serve no more."""
        self._closed = True
        self._requests.clear()
        self._ready.notify_all()

    @contextmanager
    def stepping_aside(self) -> Iterator[None]:
        """The calling thread is about to wait for a call: if it serves, another serves meanwhile."""
        if get_ident() not in self._threads:
            yield
            return
        self._at_work = False
        self._pass_on()
        try:
            yield
        finally:
            self._returning += 1
            while self._at_work and not self._closed:
                self._ready.wait()
            self._returning -= 1
            self._at_work = True

    def _pass_on(self) -> None:
        """The turn is free, or there is a request more."""
        self._ready.notify_all()
        unserved = self._requests and not (self._at_work or self._returning or self._idle)
        if unserved and len(self._threads) < NESTED_MAX:
            thread = Thread(target=self._run, name="gcom answering", daemon=True)
            thread.start()
            assert thread.ident is not None
            self._threads.add(thread.ident)

    def _run(self) -> None:
        try:
            with self._ready:
                while not self._closed and not (self._idle and not self._requests):
                    if self._requests and not (self._at_work or self._returning):
                        self._serve(*self._requests.popleft())
                    else:
                        self._idle += 1
                        self._ready.wait()
                        self._idle -= 1
                self._threads.discard(get_ident())
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._node.on_defect()
            raise

    def _serve(self, session: Session, request: Serve) -> None:
        """Call the handler, without the lock."""
        handler, self._at_work = self.handler, True
        self._ready.release()
        try:
            payload, failed = _answer(handler, request)
        finally:
            self._ready.acquire()
            self._at_work = False
        session.step(events.Served(request.caller, request.call, payload, failed))
        self._pass_on()


def _answer(handler: Handler | None, request: Serve) -> tuple[Payload, bool]:
    """What the handler says, or in words why it says nothing, and whether that is so."""
    if handler is None:
        return NO_HANDLER, True
    try:
        payload = handler(request.payload, request.caller)
        payloads.check(payload, limits.LETTER_BYTES_MAX, "a handler's answer")
    except BadValue as error:
        return words(error), True
    except BaseException as error:  # outermost: of the application's handler; the caller is told, whatever it was
        logger.opt(exception=True).info("a handler could not answer {}", request.caller)
        return words(error), True
    return payload, False


def words(error: BaseException) -> str:
    """What the application's code raised, fit to be sent: of bounded length, without what UTF-8 cannot say."""
    text = f"{type(error).__name__}: {error}".encode(errors="replace").decode()
    return text[: limits.ERROR_CHARACTERS_MAX]
