"""Progress of a Spark job while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

POLL_S = 0.2  # soon enough for a line that moves, and seldom enough to cost nothing


@contextmanager
def followed(spark: Any, tell: Callable[[int, int], None]) -> Iterator[None]:
    """Report now and then the done and total tasks of the running stage; never after the end."""
    # Spark Connect sends progress by itself; a session of this process has to be asked, by a thread, since the main
    # one waits in Java's call.
    if hasattr(spark, "clearProgressHandlers") and "connect" in type(spark).__module__:
        yield from _by_server(spark, tell)
    else:
        yield from _by_polling(spark, tell)


def _by_server(spark: Any, tell: Callable[[int, int], None]) -> Iterator[None]:
    def handle(stages: Iterable[Any] | None, **_: Any) -> None:
        running = [each for each in stages or () if each.num_completed_tasks < each.num_tasks]
        if running:
            tell(running[0].num_completed_tasks, running[0].num_tasks)

    spark.registerProgressHandler(handle)
    try:
        yield
    finally:
        spark.removeProgressHandler(handle)


def _by_polling(spark: Any, tell: Callable[[int, int], None]) -> Iterator[None]:
    from py4j.protocol import Py4JError

    tracker, ended = spark.sparkContext.statusTracker(), Event()

    def poll() -> None:
        with suppress(Py4JError, ConnectionError):  # Java is gone: the thread that works with it says so
            while not ended.wait(POLL_S):
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                # One line of progress has room for one stage.
                for stage in [each for each in stages if each is not None][:1]:
                    tell(stage.numCompletedTasks, stage.numTasks)

    watcher = Thread(target=poll, name="gcom-audit-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
