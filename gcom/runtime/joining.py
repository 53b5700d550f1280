"""Waits of a join: until this process is out of the group that it was in, and until it is in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Protocol

from loguru import logger

from gcom.core.machine import Stage
from gcom.core.messages import events
from gcom.errors import GComTimeout, LocalError
from gcom.runtime.session import Session

POLL_S = 0.1  # how late an end that wakes nobody is seen
TOLD_AFTER_S = 1.0  # a join that takes longer says once what it waits for


class JoiningTable(Protocol):
    """The sessions of a node, as a join sees them."""

    def in_group(self, group: str) -> Sequence[Session]: ...


class JoiningHost(Protocol):
    """The part of the host that a join uses, with the lock held."""

    name: str

    @property
    def sessions(self) -> JoiningTable: ...

    def raise_if_leaving(self) -> None: ...


async def await_exit(host: JoiningHost, group: str, deadline: float) -> None:
    """Wait until the process is out of a group that it is leaving; raise LocalError if it is in, and stays."""
    host.raise_if_leaving()
    while inside := host.sessions.in_group(group):
        # One whose application could not take the state leaves by itself: it is told so at once, and out of the
        # group only with the next view.
        if not inside[0].leaving:
            raise LocalError(f"{host.name!r} is in group {group!r} already: leave it first")
        if not await inside[0].wait_for_change(deadline):
            waits_for = inside[0].machine.waits_for or "the view without it"
            raise LocalError(f"{host.name!r} is on its way out of group {group!r}: it waits for {waits_for}")
        host.raise_if_leaving()


def withdraw(session: Session) -> None:
    """Break a join off; a process that is let in meanwhile leaves in good order."""
    session.leaving = True
    session.step(events.Leave())


async def await_withdrawn(sessions: Iterable[Session], deadline: float) -> None:
    """Wait until each join that was broken off has ended, or is in, so that it can leave."""
    for session in tuple(sessions):
        # One on its way back is given up by its membership.
        while session.machine.stage is Stage.ENTERING and session.membership.session is session:
            if not await session.wait_for_change(min(deadline, monotonic() + POLL_S)) and monotonic() >= deadline:
                return


async def await_entry(host: JoiningHost, session: Session, timeout_s: float, deadline: float) -> None:
    """Wait for the first view; raises what the session failed by, NotAMember, GComTimeout."""
    told_at = monotonic() + TOLD_AFTER_S
    while session.machine.view is None:
        host.raise_if_leaving()
        if session.failure is not None:
            raise session.failure
        passed = not await session.wait_for_change(min(deadline, told_at)) and monotonic() >= deadline
        if session.machine.view is None and monotonic() >= told_at:
            told_at = deadline
            # Commands show it: a registry that has just started keeps its first user waiting for some seconds.
            logger.bind(progress=True).info(
                "{} is not in group {!r} yet, and waits for {}",
                host.name,
                session.machine.group,
                session.machine.waits_for,
            )
        if passed and session.machine.view is None:  # it may have come in meanwhile
            raise GComTimeout(
                f"{host.name!r} is not in group {session.machine.group!r} after {timeout_s:.3g} s: it waited for "
                f"{session.machine.waits_for}; try again, or give it more time"
            )
