"""The application's state, given to those who join and taken from those who have it (docs/protocols/state.md).

All callbacks run in the thread that receives, between two events: the place in the queue makes the state right. Two
states become one by `merge_states`; docs/protocols/netsplit.md says why it is the same one everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from loguru import logger

from gcom.core.machine import RETURNS
from gcom.core.messages import events
from gcom.core.messages.effects import Ended, SetState
from gcom.errors import StateFailed
from gcom.runtime.api import guards
from gcom.runtime.host import Host
from gcom.runtime.membership import Membership
from gcom.runtime.queue_items import Gone, SetAside
from gcom.runtime.request_handlers import words
from gcom.runtime.session import Session
from gcom.values import limits, lineage
from gcom.values.definition import Definition, Netsplit
from gcom.values.run import StateToMerge


class StateCallbacks:
    """The callbacks of one membership. Used by the thread that receives, without the lock.

    `source` is the session of what that thread reads now.
    """

    def __init__(self, host: Host, membership: Membership) -> None:
        self._host = host
        self._membership = membership
        self._told: Session | None = None  # whose state the application was handed last (StateUnmerged)
        self._has_its_own = False  # it was handed that, and nothing has come since

    def take(self, source: Session, view: int) -> None:
        """Give the state at the barrier of a view: everything before it has been dealt with by this thread."""
        get_state = self._membership.uses.get_state
        # Only the question is put under the lock; the callback runs without it, so it may send.
        with self._host.lock:
            asked = source.machine.transfer.asks(view)
        if asked and get_state is not None:
            source.handle(events.StateTaken(view, *_taken(get_state)))

    def set(self, source: Session, state: SetState) -> None:
        """Replace what the application has; raises StateFailed if it does not take it."""
        set_state = self._membership.uses.set_state
        assert set_state is not None, "state comes for an application that takes it"
        # Before `set_state`, which replaces what is to be kept.
        aside = self.uncovered(source) if state.uncovered else None
        with self._leaving_at_failure(source, "set_state"):
            set_state(state.data)
        self._has_its_own = False
        with self._host.lock:
            if aside:
                self._membership.queued.appendleft(aside)
            source.on_state_set()
            # Read late: the same process has gone on in a successor by now, and its requests waited for this there.
            for later in (self._membership.session, self._membership.following):
                if later and later.machine.process == source.machine.process:
                    later.on_state_set()

    def enter(self, former: Session) -> None:
        """Go over to the session that follows `former`."""
        # The application was handed that session's state, and has changed nothing since: no second copy.
        self._has_its_own = former is self._told

    def uncovered(self, source: Session) -> SetAside | None:
        """Return the application's own state, where the group's does not cover it; None: it was handed that before."""
        if self._has_its_own:
            return None
        get_state = self._membership.uses.get_state
        assert get_state is not None, "its state is known, so it gives it"
        # Now: the next thing that the application is handed takes its place.
        with self._leaving_at_failure(source, "get_state"):
            data = _checked(get_state())
        instance, group = source.machine.instance, source.machine.group
        return SetAside(
            data, f"group {group!r} went on without what this process has: the state of {instance} began later"
        )

    def merge(self, source: Session, data: bytes) -> None:
        """Merge a state that was brought, at the barrier of a view: all members do it there."""
        uses = self._membership.uses
        if uses.merge_states is None or uses.get_state is None or uses.set_state is None:
            return
        with self._leaving_at_failure(source, "merge_states"):
            uses.set_state(_checked(uses.merge_states(_checked(uses.get_state()), data)))

    # between two sessions

    def keep(self, source: Session) -> None:
        """Keep the state for the instance that is entered next: the session is over, and all of it is dealt with."""
        uses, machine = self._membership.uses, source.machine
        merge_states, definition = uses.merge_states, machine.definition
        if merge_states is None or definition is None or not self._merges(definition):
            return
        assert uses.get_state is not None, "who merges gives state, too"
        with self._leaving_at_failure(source, "get_state"):  # it would be lost in the instance that is entered next
            data = _checked(uses.get_state())
        with self._leaving_at_failure(source, "merge_states"):
            self._membership.reconciliation.leave(
                machine.instance, data, lambda mine, theirs: _checked(merge_states(mine, theirs))
            )

    def _merges(self, definition: Definition) -> bool:
        return definition.netsplit is Netsplit.PARTITIONABLE and self._membership.uses.merge_states is not None

    def set_aside(self, former: Session, instance: str = "") -> SetAside | None:
        """Return the application's state where that of another instance is about to take its place, and has none of it.

        Without an `instance` it gives way to one that it has not entered yet.
        """
        machine = former.machine
        # It was told; or what takes the place of its state has come of that.
        if former is self._told or (instance and lineage.carries_on(instance, machine.instance)):
            return None
        uses, definition = self._membership.uses, machine.definition
        replaced = uses.get_state is not None and uses.set_state is not None
        if not replaced or definition is None or self._merges(definition):
            return None
        assert uses.get_state is not None, "it is replaced"
        with self._leaving_at_failure(former, "get_state"):
            data = _checked(uses.get_state())
        self._told, self._has_its_own = former, bool(instance)
        return SetAside(data, f"instance {machine.instance} {_became(former, instance)} ({definition.group!r})")

    def give_up(self, source: Session, ended: Ended) -> SetAside | None:
        """Return the state that was never merged; the Departure is queued again, to be read after it."""
        queued = self._membership.queued
        queued.appendleft(Gone(ended, returning=False, told=True))  # first: it is read where `keep` raises, too
        # It lost its instance and does not come back, so nothing is kept yet: it was leaving, or left before it read of
        # the loss.
        if ended.reason in RETURNS:
            self.keep(source)
        with self._host.lock:
            data = self._membership.reconciliation.give_up()
        if data is not None:
            return SetAside(data, "the process ended before it had brought this state; others may have merged it")
        if ended.reason == "taken" and (aside := self.set_aside(source)):
            return aside
        if aside := self._of_side(source, ended):
            return aside
        queued.popleft()
        return None

    def _of_side(self, source: Session, ended: Ended) -> SetAside | None:
        """Return the application's state where its side of the group ended before it had met the others."""
        get_state, definition = self._membership.uses.get_state, source.machine.definition
        dissolved = ended.reason == "dissolved"
        ends_a_side = dissolved or (ended.reason in ("request", "exit") and source.machine.ends_a_side)
        if not ends_a_side or get_state is None or definition is None or not self._merges(definition):
            return None
        with self._leaving_at_failure(source, "get_state"):
            data = _checked(get_state())
        how = "all others have left" if dissolved else "it left before it had met the others"
        return SetAside(data, f"its side of the group ended: {how}, who may lack some of this state")

    def bring(self, source: Session, first: bool) -> None:
        """Multicast what the process had in its last instance, unless that goes on in this one."""
        with self._host.lock:
            brought = self._membership.reconciliation.enter(source.machine.instance, first)
        self._multicast(source, brought)

    def bring_again(self, source: Session) -> None:
        """Multicast it again when the application is given no state: the members that merged it may be dead."""
        with self._host.lock:
            brought = self._membership.reconciliation.lost()
        self._multicast(source, brought)

    def _multicast(self, source: Session, brought: StateToMerge | None) -> None:
        if brought is None:
            return
        with self._host.lock:
            # As a message it would be refused, and the state with it: the application gets it back, to keep it aside.
            if len(brought) > limits.MESSAGE_BYTES_MAX:
                self._membership.queued.appendleft(_too_large(self._membership.reconciliation.give_up()))
                return
            # A session that is over, or leaves, sends no more. The state is not lost with it: `give_up` hands it back.
            if source.ended is None and not source.leaving:
                source.put(brought)

    @contextmanager
    def _leaving_at_failure(self, source: Session, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # outermost: of the application's callback; whoever reads sees StateFailed
            text = f"{what} failed in group {source.machine.group!r}, which is left: {words(error)}"
            with self._host.lock:
                self._membership.fail_state(text)
            raise StateFailed(text) from error


def _became(former: Session, instance: str) -> str:
    """Return in words why a session's state goes no further; `instance` is the one entered, if it is known."""
    if not instance and former.ended and former.ended.reason == "taken":
        return "goes on without this process, whose name or group's name is another's; it may have this state or not"
    if not instance:
        return "gave way to another one"
    if lineage.descends(instance, former.machine.instance):
        return f"was given up by an operator, and {instance} begun without it: that may lack some of this state, or all"
    return f"was forgotten by its registry, and {instance} founded by others"


def _too_large(data: bytes | None) -> SetAside:
    assert data is not None, "what is brought is kept until it is merged"
    return SetAside(data, f"a state of {len(data):,} bytes is too large: at most {limits.MESSAGE_BYTES_MAX:,}")


def _taken(get_state: Callable[[], bytes]) -> tuple[bytes | None, str]:
    """Return the application's state, or why there is none, in words for those who wait for it."""
    try:
        data = _checked(get_state())
    except Exception as error:  # outermost: of the application's callback
        guards.print_error()  # an application's mistake must be seen where it was made
        return None, f"its get_state raised {words(error)}"
    if len(data) > limits.STATE_BYTES_MAX:
        logger.error("get_state returned {:,} bytes, more than {:,}", len(data), limits.STATE_BYTES_MAX)
    return data, ""


def _checked(state: object) -> bytes:
    """Return a state as bytes; raises TypeError for anything else."""
    if not isinstance(state, bytes | bytearray | memoryview):
        raise TypeError(f"a state must be bytes; got {type(state).__name__}")
    return bytes(state)
