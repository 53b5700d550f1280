"""The application's state, given to those who join and taken from those who have it (docs/protocols/state.md).

Both callbacks run in the thread that receives, between two events: the place in the queue makes the state right.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, get_ident
from typing import TYPE_CHECKING

from loguru import logger

from gcom.core.messages import events
from gcom.core.messages.effects import SetState
from gcom.errors import BadValue, GComTimeout, StateFailed
from gcom.runtime.deadlines import deadline_of
from gcom.runtime.events import StateUnmerged
from gcom.runtime.request_handlers import words
from gcom.values import limits
from gcom.values.definition import Netsplit
from gcom.values.run import Brought

if TYPE_CHECKING:
    from gcom.runtime.node import Node
    from gcom.runtime.rejoin import Membership
    from gcom.runtime.session import Session

GetState = Callable[[], bytes]
SetStateCallback = Callable[[bytes], object]
MergeStates = Callable[[bytes, bytes], bytes]


@dataclass(frozen=True, slots=True)
class Uses:
    """What the application does with a group: whether it reads, whether it comes back, its callbacks for the state."""

    receive: bool = True
    rejoin: bool = True
    get_state: GetState | None = None
    set_state: SetStateCallback | None = None
    merge_states: MergeStates | None = None

    def __post_init__(self) -> None:
        """Raises BadValue for callbacks that nobody would call."""
        for name in ("get_state", "set_state", "merge_states"):
            callback = getattr(self, name)
            if callback is not None and not callable(callback):
                raise BadValue(f"{name} {callback!r} cannot be called: it is a function, or left out")
        if self.merge_states and not (self.get_state and self.set_state):
            raise BadValue(
                "merge_states is given what get_state returns, and set_state what it returns: give all three"
            )
        if not self.receive and (self.get_state or self.set_state):
            raise BadValue("get_state and set_state are called by the thread that receives: leave out receive=False")

    @property
    def gives_state(self) -> bool:
        return self.get_state is not None

    @property
    def takes_state(self) -> bool:
        return self.set_state is not None


class Stateful(ABC):
    """What a group can do with the application's state."""

    _node: Node
    _membership: Membership
    _source: Session  # of what is read now
    _receiving: Lock

    @property
    @abstractmethod
    def _session(self) -> Session: ...

    @abstractmethod
    def _raise_if_over(self) -> None: ...

    def wait_for_state(self, timeout_s: float | None = 10.0) -> bool:
        """Wait until `set_state` has been called, by this thread unless another one receives.

        False: the state is lost, and a StateLost event says so. True, at once, for the first of a group and for a
        member that asked for no state. Raises GComTimeout, StateFailed, NotAMember, Detached.
        """
        deadline = deadline_of(timeout_s)
        while (arrived := self._await_state(timeout_s, deadline)) is not None:
            try:
                self._set_state(arrived.data)
            finally:
                self._receiving.release()
        return not self._session.state_lost

    def _await_state(self, timeout_s: float | None, deadline: float | None) -> SetState | None:
        """The state, to be set by this thread, which is the receiver until it has done so; None: it was, or is lost."""
        arrivals = self._membership.arrivals
        with self._node.lock:
            while (session := self._session).state_awaited or session.ended is not None:
                first = arrivals[0] if arrivals else None
                if isinstance(first, SetState) and self._receiving.acquire(blocking=False):
                    arrivals.popleft()
                    return first
                if self._membership.state_failure:
                    raise StateFailed(self._membership.state_failure)
                self._raise_if_over()
                if not session.wait(deadline):
                    donor = session.machine.transfer.donor or "its own reader"
                    text = f"no state in group {session.machine.group!r} after {timeout_s} s: it waits for {donor}"
                    raise GComTimeout(text)
        return None

    @property
    def _owes_state(self) -> bool:
        """Whether a joiner is being given this member's state, or will be once the listener gets to the barrier."""
        transfer, listener = self._session.machine.transfer, self._membership.listened_by
        return transfer.giving or (transfer.owes and listener not in (None, get_ident()))

    def _take_state(self, view: int) -> None:
        """The barrier of a view: everything before it has been dealt with by the thread that reads on."""
        source, get_state = self._source, self._membership.uses.get_state
        with self._node.lock:
            asked = source.machine.transfer.asks(view)
        if asked and get_state is not None:
            source.handle(events.StateTaken(view, *_taken(get_state)))

    def _set_state(self, data: bytes) -> None:
        set_state = self._membership.uses.set_state
        assert set_state is not None, "state comes for an application that takes it"
        with self._leaving_at_failure("set_state"):
            set_state(data)
        with self._node.lock:
            self._source.on_state_set()

    @contextmanager
    def _leaving_at_failure(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # outermost: of the application's callback; whoever reads sees StateFailed
            text = f"{what} failed in group {self._source.machine.group!r}, which is left: {words(error)}"
            with self._node.lock:
                self._membership.fail_state(text)
            raise StateFailed(text) from error

    # two states become one: docs/protocols/netsplit.md says why everywhere the same

    def _merge_state(self, data: bytes) -> None:
        """The barrier of a view before which a state was brought: all members merge it here."""
        uses = self._membership.uses
        if uses.merge_states is None or uses.get_state is None or uses.set_state is None:
            return
        with self._leaving_at_failure("merge_states"):
            uses.set_state(_checked(uses.merge_states(_checked(uses.get_state()), data)))

    def _keep_state(self) -> None:
        """A session is over: all that it had is dealt with. Keep the state for the instance that is entered next."""
        uses, machine = self._membership.uses, self._source.machine
        definition = machine.definition
        if uses.merge_states is None or definition is None or definition.netsplit is not Netsplit.PARTITIONABLE:
            return
        assert uses.get_state is not None, "who merges gives state, too"
        merge_states = uses.merge_states
        with self._leaving_at_failure("get_state"):  # what it has would be lost in the instance that is entered next
            data = _checked(uses.get_state())
        with self._leaving_at_failure("merge_states"):
            self._membership.reconciliation.leave(
                machine.instance, data, lambda mine, theirs: _checked(merge_states(mine, theirs))
            )

    def _set_aside_state(self, reason: str) -> None:
        """This PRIMARY instance gives way to another, whose state takes the place of what the application has."""
        uses, definition = self._membership.uses, self._source.machine.definition
        replaced = reason == "merge" and uses.get_state is not None and uses.set_state is not None
        if not replaced or definition is None or definition.netsplit is Netsplit.PARTITIONABLE:
            return
        assert uses.get_state is not None, "it is replaced"
        with self._leaving_at_failure("get_state"):
            data = _checked(uses.get_state())
        text = f"instance {self._source.machine.instance} gave way to another one of group {definition.group!r}"
        self._membership.arrivals.appendleft(StateUnmerged(data, text))

    def _give_up_state(self) -> StateUnmerged | None:
        """A session is over, and none follows: what is still to be merged is told before the end."""
        with self._node.lock:
            data = self._membership.reconciliation.give_up()
        return None if data is None else StateUnmerged(data, "its process left; others may have merged it")

    def _bring_state(self, first: bool) -> None:
        """The process is in an instance: bring what it had, unless that goes on here."""
        with self._node.lock:
            brought = self._membership.reconciliation.enter(self._source.machine.instance, first)
        self._bring(brought)

    def _bring_again(self) -> None:
        """The application is given no state: who has merged what this process brought may be dead."""
        with self._node.lock:
            brought = self._membership.reconciliation.lost()
        self._bring(brought)

    def _bring(self, brought: Brought | None) -> None:
        session = self._source
        if brought is None:
            return
        with self._node.lock:
            if len(brought) > limits.MESSAGE_BYTES_MAX:
                self._membership.arrivals.appendleft(_too_large(self._membership.reconciliation.give_up()))
                return
            if session.ended is None and not session.leaving:
                session.put(brought)


def _too_large(data: bytes | None) -> StateUnmerged:
    assert data is not None, "what is brought is kept until it is merged"
    return StateUnmerged(data, f"a state of {len(data):,} bytes is too large: at most {limits.MESSAGE_BYTES_MAX:,}")


def _taken(get_state: GetState) -> tuple[bytes | None, str]:
    """The application's state, or why there is none, in words for those who wait for it."""
    try:
        data = _checked(get_state())
    except Exception as error:  # outermost: of the application's callback
        traceback.print_exc()  # an application's mistake must be seen where it was made
        return None, f"its get_state raised {words(error)}"
    if len(data) > limits.STATE_BYTES_MAX:
        logger.error("get_state returned {:,} bytes, more than {:,}", len(data), limits.STATE_BYTES_MAX)
    return data, ""


def _checked(state: object) -> bytes:
    """Raises TypeError for what is no state."""
    if not isinstance(state, bytes | bytearray | memoryview):
        raise TypeError(f"a state is bytes, not {type(state).__name__}")
    return bytes(state)
