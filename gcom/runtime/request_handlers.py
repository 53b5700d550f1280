"""The server of group calls: it answers requests with the application's handler, in threads of its own.

One handler is at work at a time, so it needs no lock of its own; but while one waits for a group call that it made
itself, the next request is served. Without that two members would wait for ever:

1. A's handler calls B, and B's handler calls A.
2. A's only thread waits for B's answer, B's only thread for A's.

So state that a handler changed before such a call may be changed by another request when the call returns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread, get_ident
from typing import Protocol

from loguru import logger

from gcom.core.messages import events
from gcom.core.messages.effects import Serve
from gcom.errors import BadValue
from gcom.runtime.step_lock import StepLock
from gcom.runtime.waiting import change
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Payload, check_payload

Handler = Callable[[Payload, Process], Payload]

NESTED_MAX = 16  # handlers at once, all but one waiting for calls of their own; more wait until one of those is through
NO_HANDLER = "no handler"


class Stepped(Protocol):
    """The part of a request's session that the server uses."""

    def step(self, event: events.Event) -> None: ...


class CallServer:
    """The handler of one group and the requests to it, which credit bounds. Guarded by `lock`, the host's.

    `on_defect` is called without the lock when a thread ends by a defect of GCom.
    """

    def __init__(self, lock: StepLock, on_defect: Callable[[], None]) -> None:
        self._handler: Handler | None = None
        self._early: deque[tuple[Stepped, Serve]] | None = deque()  # until the application has had time for a handler
        self._early_until_ms: int | None = None
        self._in_loop = False  # an event loop takes the requests, and no thread serves them
        self._on_defect = on_defect
        self._requests: deque[tuple[Stepped, Serve]] = deque()
        self._ready = lock.condition()
        self._threads: set[int] = set()
        self._idle = 0  # threads that wait for a request
        self._returning = 0  # handlers whose own call is over, and that wait for their turn to go on
        self._at_work = False
        self._closed = False

    @property
    def handler(self) -> Handler | None:
        return self._handler

    @handler.setter
    def handler(self, handler: Handler | None) -> None:
        self._handler = handler
        self._serve_early()

    def serve_in_loop(self, handler: Handler | None) -> None:
        """Serve requests with a handler that an event loop calls, which asks for them by `next_request`."""
        self._in_loop = True
        self.handler = handler

    async def next_request(self) -> tuple[Stepped, Serve]:
        """Wait for a request that an event loop is to serve. Holds the lock."""
        while not self._requests:
            await change(self._ready, None)
        return self._requests.popleft()

    def take(self, session: Stepped, request: Serve) -> bool:
        """Serve a request, now or once there is a handler; return whether there may be one."""
        if self._handler is None and self._early is None:
            return False
        (self._requests if self._handler or self._early is None else self._early).append((session, request))
        self._pass_on()
        return True

    def serve_waiting(self, now_ms: int) -> None:
        """Try again to serve requests for which no thread could be started, or that waited for a first handler.

        1. Alice sees Bob in a view, and calls him. 2. Bob's `join` returns. 3. Bob's program calls `on_call`.
        """
        if self._early_until_ms is None:
            self._early_until_ms = now_ms + limits.HANDLER_GRACE_MS
        elif now_ms >= self._early_until_ms:
            self._serve_early()
        if self._requests and not self._threads:
            self._pass_on()

    def _serve_early(self) -> None:
        """Have the requests served that waited for a first handler; without any they are told so."""
        early, self._early = self._early, None
        if early:
            self._requests.extend(early)
            self._pass_on()

    def close(self) -> None:
        """Serve no more."""
        self._closed = True
        # Callers are not answered: their own view change tells them that this member is gone.
        self._requests.clear()
        self._early = None
        self._ready.notify_all()

    @contextmanager
    def stepping_aside(self) -> Iterator[None]:
        """Let another thread serve while the calling thread, if it serves, waits for a call."""
        # Any other thread, the application's own, holds up no handler by its waiting.
        if get_ident() not in self._threads:
            yield
            return
        self._at_work = False
        self._pass_on()
        try:
            yield
        finally:
            self._returning += 1  # and no new request begins before it: requests that keep coming must not starve it
            while self._at_work and not self._closed:
                self._ready.wait()
            self._returning -= 1
            self._at_work = True

    def _pass_on(self) -> None:
        """Wake or start a thread: the turn is free, or there is one request more."""
        self._ready.notify_all()
        unserved = self._requests and not (self._in_loop or self._at_work or self._returning or self._idle)
        if unserved and len(self._threads) < NESTED_MAX:
            thread = Thread(target=self._run, name="gcom answering", daemon=True)
            # Where there is no thread to be had now, `serve_waiting` tries again at the next tick.
            with suppress(RuntimeError):
                thread.start()
                assert thread.ident is not None
                self._threads.add(thread.ident)

    def _run(self) -> None:
        try:
            with self._ready:
                # One thread that waits for work is enough; another one without any ends.
                while not (self._closed or self._in_loop or (self._idle and not self._requests)):
                    if self._requests and not (self._at_work or self._returning):
                        self._serve(*self._requests.popleft())
                    else:
                        self._idle += 1
                        self._ready.wait()
                        self._idle -= 1
                self._threads.discard(get_ident())
        except Exception:  # outermost: of this thread; without it a defect would only show as silence
            self._on_defect()
            raise

    def _serve(self, session: Stepped, request: Serve) -> None:
        """Call the handler, without the lock."""
        # The handler as it is now: the application may set another one while this request is served.
        handler, self._at_work = self._handler, True
        self._ready.release()
        try:
            payload, failed = _answer(handler, request)
        finally:
            self._ready.acquire()
            self._at_work = False
        session.step(events.Served(request.caller, request.call, payload, failed))
        self._pass_on()


def _answer(handler: Handler | None, request: Serve) -> tuple[Payload, bool]:
    """Return the handler's answer and False, or in words why there is none and True."""
    if handler is None:
        return NO_HANDLER, True
    try:
        payload = handler(request.payload, request.caller)
        # Here, where the handler's caller is told: in the codec
        # an answer that is too large would end the whole frame.
        check_payload(payload, limits.ENVELOPE_BYTES_MAX, "a handler's answer")
    except BadValue as error:
        return words(error), True
    except BaseException as error:  # outermost: of the application's handler; the caller is told, whatever it was
        logger.opt(exception=True).info("a handler could not answer {}", request.caller)
        return words(error), True
    return payload, False


def words(error: BaseException) -> str:
    """Return an exception of the application's code as text fit to be sent: bounded, and encodable as UTF-8."""
    text = f"{type(error).__name__}: {error}".encode(errors="replace").decode()
    return text[: limits.ERROR_CHARACTERS_MAX]
