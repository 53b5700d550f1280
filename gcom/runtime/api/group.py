"""`Group`: a membership as applications hold it. Its methods: sending, calling, receiving, inspecting."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from gcom.errors import GComTimeout
from gcom.runtime.api import guards
from gcom.runtime.api.calling import Calling
from gcom.runtime.api.guards import deadline_of, seconds_of
from gcom.runtime.api.handle import GroupHandle
from gcom.runtime.api.inspecting import Inspecting
from gcom.runtime.api.receiving import Receiving
from gcom.runtime.api.sending import Sending
from gcom.runtime.user_process.entry import application_call
from gcom.runtime.waiting import run
from gcom.values.definition import Definition
from gcom.values.view import View


class Membered(GroupHandle):
    """The identity of a group, and the wait for its members."""

    @property
    def name(self) -> str:
        """The group's name."""
        return self._session.machine.group

    @property
    def process(self) -> str:
        """This process's identity in the group: name#incarnation."""
        return self._session.machine.process

    @property
    def instance(self) -> str:
        """The id of this life of the group's name."""
        return self._session.machine.instance

    @property
    def definition(self) -> Definition:
        """The properties that the group's creator picked."""
        definition = self._session.machine.definition
        assert definition is not None, "a Group is made for a member"
        return definition

    @property
    def view(self) -> View:
        """The view in force; after the end, the last one."""
        view = self._session.machine.view
        assert view is not None, "a Group is made for a member"
        return view

    @property
    def members(self) -> tuple[str, ...]:
        """The names in the view, oldest first; the first leads."""
        return self.view.names

    async def _await_members(self, count: int, timeout_s: float | None) -> View:
        deadline = deadline_of(timeout_s)
        # By `_session` anew each time: a process that comes back meanwhile is in another one.
        while self._session.ended or self._session.detached or len(self.view.members) < count:
            guards.raise_if_over(self._membership)
            if not await self._session.wait_for_change(deadline):
                present = ", ".join(self.members)
                doubt = ", and hears too few of them to go on" if self._session.detached else ""
                raise GComTimeout(
                    f"timed out after {timeout_s} s: {len(self.members)} of {count} members in group {self.name!r} "
                    f"({present}){doubt}"
                )
        return self.view


class Group(Sending, Calling, Inspecting, Receiving, Membered):
    """A membership, from `Node.join` until `leave`. Safe to use from any thread.

    After a Departure it cannot send until Returned: `process` and `view` are others then, `instance` perhaps. While no
    quorum is heard (QuorumLost) it keeps them, and `send` raises Detached until QuorumRegained or a Departure.
    """

    @application_call()
    def wait_for_members(self, count: int, timeout_s: float | None = None) -> View:
        """Wait until the view has at least `count` members; raises GComTimeout, NotAMember, Detached, StateFailed.

        A process on its way back is in no view, and one that is detached has a view that may be over: so after Detached
        `wait_for_members(1)` waits until it may send again.
        """
        with self._host.lock:
            return run(self._await_members(count, timeout_s))

    @application_call()
    def leave(self, timeout_s: float = 10.0) -> None:
        """Leave: what was sent goes first, the others' view goes on without this process. May be called again.

        A detached member waits for a quorum, which alone can settle what it sent. After `timeout_s` seconds it goes
        without: then the Departure has the reason `exit`, or `request` if the others' view went on without it, and
        names what is unconfirmed. Messages for which the windows had no room are not sent; a WARNING counts them. Never
        raises for a group that is lost already. Raises BadValue.
        """
        self._membership.leave(seconds_of(timeout_s))

    def __repr__(self) -> str:
        return f"<gcom.Group {self.name!r} as {self.process}, view {self.view.number}: {', '.join(self.members)}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Of a fork's child: it holds no group, and what ends its block is told as it is.
        if not self._host.forked:
            self.leave()
