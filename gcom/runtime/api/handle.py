"""The base that the parts of a `Group` share: the membership, and the lock that guards it."""

from __future__ import annotations

from threading import get_ident

from gcom.errors import GComTimeout, WouldBlock
from gcom.runtime.api import guards
from gcom.runtime.host import Host
from gcom.runtime.membership import Membership
from gcom.runtime.session import Session


class GroupHandle:
    """A membership in the hands of an application."""

    def __init__(self, host: Host, membership: Membership) -> None:
        self._host = host
        self._membership = membership

    @property
    def _session(self) -> Session:
        return self._membership.session

    @property
    def _in_callback(self) -> bool:
        """Tell whether this thread calls back for events: it must not wait for what only it can read."""
        return get_ident() == self._membership.listened_by

    def _session_to_send_in(self) -> Session:
        return guards.session_to_send_in(self._membership)

    async def _await(self, session: Session, deadline: float | None, what: str) -> None:
        """Wait for a change; raises GComTimeout, and WouldBlock in a callback. Holds the lock."""
        if self._in_callback:
            raise WouldBlock(f"group {session.machine.group!r} waits for {what}, and a callback must not wait for it")
        with session.awaiting_acks(), self._membership.call_server.stepping_aside():
            if not await session.wait_for_change(deadline):
                raise GComTimeout(f"group {session.machine.group!r} still waits for {what}")
