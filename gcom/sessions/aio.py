"""Sessions for programs on asyncio: the same stores and sessions, awaited.

async with gcom.sessions.aio.open("gcom://127.0.0.1:7411", "bank", Bank) as store:
    async with store.session() as s:
        await s.state.deposit(1, 400)

Calls wait in threads, at most `THREADS` at a time for each store; more wait for their turn. A call whose task is
cancelled goes on in its thread: its session waits for it before the next one, and the token counts it. `retry` then
returns what the write returned. A store or session whose opening is cancelled is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import gcom
from gcom.replicated.machine import Machine
from gcom.sessions import store as stores
from gcom.sessions.remote import RemoteSessionStore
from gcom.sessions.session import ClientSession
from gcom.sessions.tokens import GUARANTEES

THREADS = 64
T = TypeVar("T")


class AsyncClosable(Protocol):
    """A resource that an `async with` block closes."""

    async def close(self) -> None: ...


C = TypeVar("C", bound=AsyncClosable)


class OpeningThread(Generic[C]):
    """A store or session that is being opened: await it, or use it in an `async with` block, which closes it."""

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin
        self._opened: C | None = None

    def __await__(self) -> Generator[Any, None, C]:
        return self._open().__await__()

    async def _open(self) -> C:
        found: C = await self._begin()
        self._opened = found
        return found

    async def __aenter__(self) -> C:
        return await self._open()

    async def __aexit__(self, *_: object) -> None:
        assert self._opened is not None, "it was entered"
        await self._opened.close()


class AsyncSession:
    """A session; `state` has the machine's commands and queries, each to be awaited."""

    def __init__(self, pool: ThreadPoolExecutor, session: ClientSession[Any]) -> None:
        self._pool = pool
        self._session = session
        self._cancelled: Future[Any] | None = None  # the last write, if nobody had its result
        self.state: Any = _AsyncState(self)

    @property
    def token(self) -> str:
        """The session's place, for a process that goes on with it."""
        return self._session.token

    async def retry(self) -> Any:
        """Return the result of a write whose call was cancelled, or whose outcome is unknown: applied once in all."""
        if (begun := self._cancelled) is None:
            return await self._carried_out(self._session.retry)
        try:
            return await asyncio.shield(asyncio.wrap_future(begun))
        finally:
            if begun.done():
                self._cancelled = None

    async def call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Carry out a command or a query of the machine in this session."""
        method = partial(getattr(self._session.state, name), *arguments, **keywords)
        if not self._session.is_write(name):
            return await _in_thread(self._pool, method)
        self._cancelled = None
        return await self._carried_out(method)

    async def _carried_out(self, write: Callable[[], Any]) -> Any:
        begun = self._pool.submit(write)
        try:
            return await asyncio.wrap_future(begun)
        except asyncio.CancelledError:
            if not begun.cancelled():
                self._cancelled = begun
            raise

    async def close(self) -> None:
        """End the session. May be called again."""
        await _in_thread(self._pool, self._session.close)


class _AsyncState:
    def __init__(self, session: AsyncSession) -> None:
        self._async_session = session

    def __getattr__(self, name: str) -> Callable[..., Any]:
        getattr(self._async_session._session.state, name)
        return lambda *arguments, **keywords: self._async_session.call(name, arguments, keywords)


class AsyncStore:
    """A store of sessions: a replica of this process, or others' replicas."""

    def __init__(self, pool: ThreadPoolExecutor, store: stores.SessionStore[Any] | RemoteSessionStore[Any]) -> None:
        self._pool = pool
        self._store = store

    def session(
        self, guarantees: Iterable[str] = GUARANTEES, *, token: str | None = None, timeout_s: float | None = None
    ) -> OpeningThread[AsyncSession]:
        """Open a session, or go on with that of a token, as `SessionStore.session` does."""

        async def begin() -> AsyncSession:
            opening = partial(self._store.session, guarantees, token=token, timeout_s=timeout_s)
            close = None if token else ClientSession.close  # a token's session is not this call's
            return AsyncSession(self._pool, await _in_thread(self._pool, opening, close))

        return OpeningThread(begin)

    async def close(self) -> None:
        """Close the store; calls in progress end first. May be called again."""
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    def _close(self) -> None:
        self._store.close()
        self._pool.shutdown()


def open(
    node: gcom.Node | str, name: str, machine: type[Machine] | Callable[[], Machine], **options: Any
) -> OpeningThread[AsyncStore]:
    """Open a store, with a node or with `gcom://HOST:PORT`: arguments and errors as `gcom.sessions.open` has them."""

    async def begin() -> AsyncStore:
        pool = ThreadPoolExecutor(THREADS, "gcom sessions")
        opening: Callable[[], Any] = partial(stores.open, node, name, machine, **options)
        done = False
        try:
            store = AsyncStore(pool, await _in_thread(pool, opening, lambda opened: opened.close()))
            done = True
        finally:
            if not done:
                pool.shutdown(wait=False)
        return store

    return OpeningThread(begin)


async def _in_thread(pool: ThreadPoolExecutor, call: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """Return what a call returns; if its task is cancelled, what it returns is undone."""
    begun = pool.submit(call)
    try:
        return await asyncio.wrap_future(begun)
    except asyncio.CancelledError:
        if undo is not None:
            begun.add_done_callback(lambda done: None if done.cancelled() or done.exception() else undo(done.result()))
        raise
