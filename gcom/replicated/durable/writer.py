"""The thread that writes a replica's log: what waits goes in one transaction, with one sync."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread, get_ident

from loguru import logger

from gcom.replicated.durable.agreement import AppendEntry, SayHello, Write, WriteLog, WritePromise, WriteSnapshot
from gcom.replicated.durable.rounds import DiskFacts
from gcom.replicated.durable.storage import LogStorage
from gcom.replicated.errors import StorageFailed
from gcom.runtime.user_process.entry import interruptible

BATCH_MAX = 1_024  # writes in one transaction
Written = Callable[[list[Write], DiskFacts], None]


class LogWriter:
    """Writes in order; `written` is called in this thread after each sync, `failed` when the disk takes no more."""

    def __init__(self, storage: LogStorage, written: Written, failed: Callable[[StorageFailed], None]) -> None:
        self._storage = storage
        self._written = written
        self._failed = failed
        self._queue: SimpleQueue[tuple[Write, int] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=f"gcom log {storage.folder.name}", daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Tell whether this thread is the writer's."""
        return get_ident() == self._thread.ident

    def put(self, write: Write, committed: int) -> None:
        """Have something written."""
        self._queue.put((write, committed))

    def close(self) -> None:
        """Write what waits, and end."""
        self._queue.put(None)
        if not self.is_here:
            interruptible(self._thread.join)

    def _run(self) -> None:
        open_ = True
        try:
            while open_:
                batch, open_ = self._batch()
                orders = [
                    it for it, _ in batch if isinstance(it, AppendEntry | WritePromise | WriteLog | WriteSnapshot)
                ]
                if orders:
                    self._storage.write(orders, batch[-1][1])
                if batch:
                    self._written([it for it, _ in batch], self._storage.facts)
        except StorageFailed as error:
            logger.error("{}", error)
            self._failed(error)
        finally:
            self._storage.close()

    def _batch(self) -> tuple[list[tuple[Write, int]], bool]:
        """Return what waits, one write at least, and whether more may come."""
        found: list[tuple[Write, int]] = []
        item = self._queue.get()
        while item is not None:
            found.append(item)
            if isinstance(item[0], SayHello) or len(found) >= BATCH_MAX:
                return found, True
            try:
                item = self._queue.get_nowait()
            except Empty:
                return found, True
        return found, False
