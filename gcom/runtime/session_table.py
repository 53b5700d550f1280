"""The sessions of one host, by group and process: which of them a frame is for, and which are over.

A process enters an instance once. It has two sessions in a group only where its instance has been succeeded: then the
earlier one is kept for a while, to say to those who do not know it yet which instance goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from gcom.core.machine import Stage
from gcom.core.messages.frames import Frame
from gcom.runtime.session import Session
from gcom.values import limits, names
from gcom.values.names import Process

SUCCEEDED_MAX = 16  # sessions that are kept to say which instance succeeds theirs; the oldest are forgotten


class SessionTable:
    """The sessions that take part, or still have something to tell. Guarded by the host's lock."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, Process], Session] = {}
        self._succeeded: dict[tuple[str, Process, str], Session] = {}  # by instance, too
        self._ended: dict[tuple[str, Process], None] = {}  # in order; at most GONE_MAX: they never take part again

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def __reversed__(self) -> Iterator[Session]:
        return reversed(self._sessions.values())

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def all(self) -> list[Session]:
        """Return every session, those whose instance was succeeded first."""
        return [*self._succeeded.values(), *self._sessions.values()]

    @property
    def processes(self) -> set[Process]:
        """The identities in use."""
        return {process for _, process in self._sessions}

    def add(self, session: Session) -> None:
        """Take the place of the session that the process had in the group, if any."""
        key = session.machine.group, session.machine.process
        if before := self._sessions.get(key):
            self._succeeded[*key, before.machine.instance] = before
            for oldest in list(self._succeeded)[:-SUCCEEDED_MAX]:
                del self._succeeded[oldest]
        self._sessions[key] = session

    def drop(self, session: Session) -> None:
        """Forget a session that is over, and no other of whose process can follow; note that it was."""
        key = session.machine.group, session.machine.process
        # Not a session that has the place now: 1. An instance is succeeded.
        # 2. The same process is in the successor. 3. The old session ends.
        if self._sessions.get(key) is session:
            del self._sessions[key]
            self._ended[key] = None
        for oldest in list(self._ended)[: -limits.GONE_MAX]:
            del self._ended[oldest]

    def drop_all(self) -> None:
        """Forget all sessions, and note that they are over."""
        self._ended.update(dict.fromkeys(self._sessions))
        self._sessions.clear()

    def in_group(self, group: str) -> list[Session]:
        """Return the sessions that are in a group, or on their way into it or out of it."""
        found = [session for session in self if session.machine.group == group and not session.ended]
        return [session for session in found if session.machine.stage is not Stage.ENDED]

    def latest(self, group: str) -> Session | None:
        """Return the newest session in a group."""
        # Another incarnation is a new entry, and a dictionary has it behind the one before.
        return next((session for session in reversed(self) if session.machine.group == group), None)

    def target(self, frame: Frame, name: str) -> Session | None:
        """Return the session that a frame is for; `name` is the host's."""
        if frame.control and frame.discovery and names.name_of(frame.target) == name:
            return self.latest(frame.group)  # a discovery message is for the process that has the name now
        key = frame.group, frame.target
        session = self._sessions.get(key)
        if session is not None and session.machine.instance != frame.instance:
            # Without one the newest answers all the same: it says in which instance the process is.
            return self._succeeded.get((*key, frame.instance), session)
        return session

    def is_over(self, frame: Frame) -> bool:
        """Tell whether the process that a frame is for was in its group, and never will be again."""
        return (frame.group, frame.target) in self._ended
