"""Looks at a session for the application: a snapshot of it, and the receipt of a message. They hold the lock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from gcom.core.hold_back import STATE
from gcom.core.inspection import Inspection
from gcom.errors import BadValue
from gcom.runtime.membership import Membership
from gcom.runtime.session import Session
from gcom.values import limits
from gcom.values.definition import Multicast, Netsplit
from gcom.values.names import Process
from gcom.values.snapshot import HELD_BACK_MAX, HeldBack, Receipt, Snapshot

_State = Literal["waiting", "sent", "ordered", "held", "doubt", "lost"]


def snapshot_of(membership: Membership, now_ms: int, round_trip_s: Callable[[Process], float | None]) -> Snapshot:
    """Return one look at the session that is in the group, or was last."""
    session = membership.session
    machine = session.machine
    seen, definition = machine.inspect(now_ms), machine.definition
    assert seen is not None, "a Group is made for a member"
    assert definition is not None, "a member knows it"
    # First, as it is the oldest: the core has delivered it, and
    # the application has no state yet to which it could apply it.
    waited_s = (now_ms - session.state.since_ms) / 1000
    runs = [it.run for it in session.awaiting_state]
    waiting = [HeldBack(run.sender, run.first, run.last, (STATE,), waited_s) for run in runs]
    held_back = (*waiting, *seen.held_back)
    return Snapshot(
        group=machine.group,
        process=machine.process,
        instance=machine.instance,
        definition=definition,
        view=seen.view,
        detached=session.detached,
        waits_for=_waits_for(membership, seen),
        clocks=seen.clocks,
        held_back=held_back[:HELD_BACK_MAX],
        held_back_rest=seen.held_back_rest + max(0, len(held_back) - HELD_BACK_MAX),
        sequencer=seen.sequencer,
        window=replace(seen.window, unnumbered=session.unnumbered),
        suspected=seen.suspected,
        heard_s=seen.heard_s,
        round_trip_s={it: seconds for it in seen.view.members if (seconds := round_trip_s(it)) is not None},
    )


def _waits_for(membership: Membership, seen: Inspection) -> str:
    session, following = membership.session, membership.following
    # On its way back the question is why it is not in, not why the last view stood still.
    if following is not None:
        return following.machine.waits_for or "its way back into the group"
    if session.ended is not None:
        return "" if session.leaving else "nothing: it is out of the group for good"
    if not session.detached:
        return session.machine.waits_for
    survivors, silence_s = session.machine.survivors, limits.SILENCE_MS / 1000
    silent = [peer for peer, heard_s in seen.heard_s.items() if peer in seen.suspected or heard_s >= silence_s]
    if survivors is not None:
        silent = [peer for peer in silent if peer in survivors]
        first = f"{', '.join(silent)} to be heard, and " if silent else ""
        return f"{first}{_home(session)} to let a successor begin{_left(survivors)}{or_fork(session)}"
    names_it = f" (silent: {', '.join(silent)})" if silent else ""
    return f"a quorum of the view to be heard{names_it}{or_fork(session)}"


def by_registry(session: Session) -> str:
    """Say that a detached member needs the registry to go on, behind the words about the quorum; else empty."""
    survivors = session.machine.survivors
    return f", which takes {_home(session)}{_left(survivors)}" if survivors is not None else ""


def _home(session: Session) -> str:
    """Name the registry that alone decides for the group; where there are several, by its address."""
    definition = session.machine.definition
    return f"the group's home registry at {definition.home}" if definition and definition.home else "the registry"


def _left(survivors: frozenset[Process]) -> str:
    return f" (too few of the view are left: {', '.join(sorted(survivors))})"


def or_fork(session: Session) -> str:
    """Say that a detached member may wait for an operator, behind the words about the quorum; else empty."""
    listed, instance = session.listed, session.machine.instance
    if listed is None or listed.instance != instance or not listed.forgot or listed.forked:
        return ""
    if listed.definition.netsplit is Netsplit.PARTITIONABLE:
        return ""  # its sides go on by themselves
    why = "the registry does not know this instance from before, and takes no proof that the others are dead"
    return f", or for 'gcom fork {session.machine.group}' ({why})"


def receipt_of(session: Session, number: int) -> Receipt:
    """Return the state of one of the session's messages; raises BadValue for one that was never sent."""
    machine = session.machine
    if type(number) is not int or not 1 <= number <= session.last_number:
        sent = f"1 to {session.last_number}" if session.last_number else "no message"
        raise BadValue(f"{machine.process} sent no message {number!r} in group {machine.group!r}, but {sent}")
    members = session.members
    lacking = {*machine.lacking(number)}
    # Over BASIC an acknowledgement promises nothing: of others nobody knows more than that it was put to them.
    definition = machine.definition
    if definition is not None and definition.multicast is Multicast.BASIC and number <= machine.number:
        lacking = {*members} - {machine.process}
    late = machine.newcomers(number)
    held_by = tuple(it for it in members if it not in lacking and it not in late)
    others = tuple(it for it in members if it in lacking)
    state = _state(session, number, bool(others))
    if session.ended is not None and state == "held":
        # It is in the cut of the view that goes on without this process: who did not say that it holds it, fetches it.
        held_by, others = tuple(it for it in held_by if it != machine.process), ()
    # What is lost has no place that counts, though the log may show the one that it would have had.
    log = machine.order_log if state not in ("waiting", "lost") else None
    serial = log.serial_of(machine.process, number) if log is not None else None
    if log is not None and serial is None:  # all hold it, so the order's log has let it go
        serial = session.own.serial_of(number)
    return Receipt(number, state, serial, held_by, others, machine.process, machine.instance)


def _state(session: Session, number: int, lacks: bool) -> _State:
    machine, ended = session.machine, session.ended
    definition = machine.definition
    # First: an event has told the application so, and no later look may say otherwise.
    if session.own.is_lost(number):
        return "lost"
    if number > machine.number:
        # Of a process that goes on in a successor it waits there, as one of that session's messages.
        return "lost" if ended is not None and not session.carried_on else "waiting"
    if ended is not None and _within(number, ended.unconfirmed):
        return "doubt"
    if ended is not None and not (definition is not None and definition.multicast is Multicast.BASIC):
        return "held"
    # While this process is detached nobody can say whether the rest will
    # ever hold it; what was in doubt stays so until an event settles it.
    if (session.detached and lacks) or _within(number, machine.in_doubt):
        return "doubt"
    if not lacks and machine.placed(number):
        return "held"
    return "ordered" if definition is not None and definition.total and machine.placed(number) else "sent"


def _within(number: int, span: tuple[int, int] | None) -> bool:
    return span is not None and span[0] <= number <= span[1]
