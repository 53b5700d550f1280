"""Looks at the group in front for the dock, four times a second, in a thread that is there while the dock is open."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

import gcom
from gcom_chat.model.insight.group_insight import Probed

EVERY_S = 0.25
STOP_S = 1.0  # it waits for nothing but the node's lock
TRACES_MAX = 5_000  # between two looks; more are counted by the watch, and not shown


class GroupProbe:
    """A thread that tells a sink of one group, until it is stopped; its watch is open as long."""

    def __init__(self, find: Callable[[], gcom.Group | None], tell: Callable[[Probed], None]) -> None:
        self._find, self._tell = find, tell
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="chat probe", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which tells nothing more."""
        self._stopped.set()
        # Waited for: a look that has begun would else be told after this.
        self._thread.join(STOP_S)

    def _run(self) -> None:
        group: gcom.Group | None = None
        watch: gcom.Watch | None = None
        while not self._stopped.is_set():
            found = self._find()
            # Another tab, or the same group joined anew, which is another object: the watch of the one before sees
            # nothing of it.
            if found is not group:
                if watch is not None:
                    watch.close()
                group, watch = found, None if found is None else found.watch(TRACES_MAX)
            if group is not None and watch is not None:
                self._tell(Probed(group.name, group.snapshot(), tuple(watch.take())))
            # Four looks a second: more the eye does not follow, and each takes the node's lock.
            self._stopped.wait(EVERY_S)
        if watch is not None:
            watch.close()
