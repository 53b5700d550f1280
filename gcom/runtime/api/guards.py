"""Guards of a group's methods: how long they wait, and in words why nothing can be sent or read any more, or not now.

All but `seconds_of`, `deadline_of` and `print_error` hold the lock of the host.
"""

from __future__ import annotations

import traceback
from contextlib import suppress
from math import isnan
from threading import TIMEOUT_MAX
from time import monotonic

from gcom.errors import BadValue, Detached, NotAMember, StateFailed
from gcom.runtime import queue_items
from gcom.runtime.inspection.snapshots import by_registry, or_fork
from gcom.runtime.membership import Membership
from gcom.runtime.session import Session

_REASONS = {  # of an end that the application did not ask for
    "expelled": "the group went on without it",
    "succession": "too few members were left, and another instance succeeds it",
    "fork": "too few members are left to go on as before",
    "merge": "another instance goes on under the group's name",
    "dissolved": "all others have left the group, or are dead",
    "taken": "the name was another's when it came back",
    "defect": "a defect in GCom ended this node; its traceback was printed",
}


def seconds_of(timeout_s: float, or_none: str = "") -> float:
    """Return a time to wait, of which no wait raises OverflowError. Raises BadValue."""
    # To Python True is the number 1; and a deadline that is not a number would be neither before nor after any time, so
    # that a wait would never see it pass.
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or isnan(timeout_s) or timeout_s < 0:
        raise BadValue(f"timeout_s must be a number of seconds, 0 or more{or_none}; got {timeout_s!r}")
    return min(timeout_s, TIMEOUT_MAX / 2)


def deadline_of(timeout_s: float | None) -> float | None:
    """Return the deadline in monotonic seconds, None for no limit. Raises BadValue."""
    return None if timeout_s is None else monotonic() + seconds_of(timeout_s, ", or None for no limit")


def raise_if_ended(membership: Membership, session: Session, undone: str = "") -> None:
    """Raise NotAMember or Detached once the session is over, StateFailed if a state callback failed.

    `undone` says what came of what was asked for.
    """
    if membership.state_failure:
        raise StateFailed(membership.state_failure + (f"; {undone}" if undone else ""))
    ended, group = session.ended, session.machine.group
    if ended is None:
        return
    lost = ended.unconfirmed
    open_ones = f": {undone}" if undone else ""
    open_ones += f"; its messages {lost[0]} to {lost[1]} may not have arrived" if lost else ""
    if session.unnumbered:
        open_ones += f"; {session.unnumbered} more were never sent"
    # Before the reasons: it left by an exit that the application never asked for, and has to hear why.
    if membership.unread:
        raise Detached(
            f"{session.machine.process} left group {group!r}, since its application read none of "
            f"{queue_items.NOTICES_MAX:,} events{open_ones}; read on, or join with receive=False"
        )
    if ended.reason in ("request", "exit") or session.has_left:
        raise NotAMember(f"group {group!r} was left{open_ones}: join it again")
    advice = "join again"
    if not membership.over:
        following = membership.following
        waits = f", and waits for {following.machine.waits_for}" if following and following.machine.waits_for else ""
        advice = f"it is on its way back{waits}"
    raise Detached(
        f"{session.machine.process} is detached from group {group!r}: {_REASONS[ended.reason]}{open_ones}; {advice}"
    )


def raise_if_over(membership: Membership) -> None:
    """Raise what `raise_if_ended` does if nothing will ever follow; a process on its way back is not over."""
    if membership.over:
        raise_if_ended(membership, membership.session)


def raise_if_detached(session: Session, done: str = "nothing was sent") -> None:
    """Raise Detached while no quorum is heard; `done` says what came of what was asked for."""
    # An end says more than the silence that came before it.
    if not session.detached or session.ended is not None:
        return
    raise Detached(
        f"{session.machine.process} is detached from group {session.machine.group!r}, since it hears no quorum of its "
        f"view: {done}{_in_doubt(session)}; wait for QuorumRegained, or for wait_for_members(1)"
        f"{by_registry(session)}{or_fork(session)}, and go on"
    )


def session_to_send_in(membership: Membership) -> Session:
    """Return the session that may send; raises NotAMember, Detached, StateFailed, NotPermitted."""
    session = membership.session
    raise_if_ended(membership, session)
    raise_if_detached(session)
    if session.leaving:
        raise NotAMember(f"group {session.machine.group!r} is being left: nothing more is sent in it")
    membership.raise_if_silent()
    return session


def _in_doubt(session: Session) -> str:
    """Say which messages that were sent are not settled."""
    # As QuorumLost said it, not by missing acks: after a view change all that was before is held, though not yet acked,
    # and no Settled comes for it.
    span, waiting = session.machine.in_doubt, session.unnumbered
    doubt = f"; its messages {span[0]} to {span[1]} may not have arrived, and Settled will say" if span else ""
    return doubt + (f"; {waiting} more wait to be sent" if waiting else "")


def print_error() -> None:
    """Print what the application's callback raised: the library's log may be disabled, and a mistake must be seen."""
    with suppress(Exception):  # standard error may be a closed pipe, or a window that is gone
        traceback.print_exc()
