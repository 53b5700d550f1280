"""The end of a replicated state in an event loop."""

from __future__ import annotations

from asyncio import Future, shield, wait
from typing import Any
from weakref import WeakSet

from gcom.aio.node import AsyncNode
from gcom.aio.replicated.watching import WatchedChanges
from gcom.aio.tasks import Worker


class StateEnding:
    """The end of a state that is open, or is being opened: in a thread, since the other one may wait for room."""

    def __init__(self, node: AsyncNode, name: str, worker: Worker, opening: Future[Any]) -> None:
        self.name = name
        self.given_up = False  # as it was opened: nobody holds it
        self._node = node
        self._worker = worker
        self._opening = opening
        self._closer = Worker(f"end of {worker.name}")
        self._closing: Future[Any] | None = None
        self._watches: WeakSet[WatchedChanges[Any]] = WeakSet()
        node.kept.append(self)

    def end_too(self, watch: WatchedChanges[Any]) -> None:
        """End an iterator once the state is closed."""
        self._watches.add(watch)

    @property
    def begun(self) -> bool:
        """Tell whether the state is being closed."""
        return self._closing is not None

    async def __call__(self) -> None:
        """Close the state, once. Cancelled, it goes on in its thread."""
        if self._node.forked:
            return
        if not self._opening.done():
            await wait([self._opening])
        if self._closing is None:
            failed = self._opening.exception()
            self._closing = self._closer.post(lambda: None if failed else self._opening.result().close())
            self._closer.close()
        await shield(self._closing)
        for watch in list(self._watches):
            watch.close()
        self._worker.close()
        for worker in (self._worker, self._closer):
            worker.join()
        if self in self._node.kept:
            self._node.kept.remove(self)


async def end_given_up(node: AsyncNode, name: str) -> None:
    """End a state of that name whose opening or closing was cancelled, so that it can be opened again."""
    for ending in list(node.kept):
        if isinstance(ending, StateEnding) and ending.name == name and (ending.given_up or ending.begun):
            await ending()
