"""`Joins`: the joins that are under way, at most one per group, each in a thread of its own.

A join may wait for a silent member for as long as it may wait at all. What is wished for meanwhile follows it, the last
wish alone: a create, or a leave. So no wish fails since another one is not over, and none waits behind another group's.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread

Job = Callable[[], None]


class Joins:
    """Runs a group's jobs one after another; a node has one of these."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._closed = False
        self._next: dict[str, Job | None] = {}  # by group with a job under way: the one that follows it

    def join(self, group: str, job: Job) -> None:
        """Run a join; where one is under way it is what is wished for, and nothing follows it any more."""
        with self._lock:
            if group in self._next:
                self._next[group] = None
                return
            self._next[group] = None
        Thread(target=self._run, args=(group, job), name=f"chat joins {group}", daemon=True).start()

    def follow(self, group: str, job: Job) -> bool:
        """Have a job follow the one that is under way, in place of what was to follow; return whether one is."""
        with self._lock:
            if group not in self._next:
                return False
            self._next[group] = job
            return True

    def is_wanted(self, group: str) -> bool:
        """Return whether the job that is under way is still wished for: nothing follows it, and its node is in use."""
        with self._lock:
            return not self._closed and self._next.get(group) is None

    def close(self) -> None:
        """Begin nothing more."""
        with self._lock:
            self._closed = True

    def _run(self, group: str, job: Job | None) -> None:
        while job is not None:
            job()
            with self._lock:
                # Under one lock: a wish finds the group here and follows, or does not, and begins a thread of its own.
                job = None if self._closed else self._next[group]
                self._next[group] = None
                if job is None:
                    del self._next[group]
