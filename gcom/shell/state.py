"""The application's state, given to those who join and taken from those who have it (docs/protocols/state.md).

Both callbacks run in the thread that receives, between two events: the place in the queue makes the state right.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, get_ident
from time import monotonic
from typing import TYPE_CHECKING

from loguru import logger

from gcom.core import events
from gcom.core.effects import SetState
from gcom.errors import BadValue, GComTimeout, StateFailed
from gcom.shell.answering import words
from gcom.values import limits

if TYPE_CHECKING:
    from gcom.shell.membership import Membership
    from gcom.shell.node import Node
    from gcom.shell.stay import Stay

GetState = Callable[[], bytes]
SetStateCallback = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Uses:
    """What the application does with a group: whether it reads, whether it comes back, its callbacks for the state."""

    receive: bool = True
    rejoin: bool = True
    get_state: GetState | None = None
    set_state: SetStateCallback | None = None

    def __post_init__(self) -> None:
        """Raises BadValue for callbacks that nobody would call."""
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
    _source: Stay  # of what is read now
    _receiving: Lock

    @property
    @abstractmethod
    def _stay(self) -> Stay: ...

    @abstractmethod
    def _raise_if_over(self) -> None: ...

    def wait_for_state(self, timeout_s: float | None = 10.0) -> bool:
        """Wait until `set_state` has been called, by this thread unless another one receives.

        False: the state is lost, and a StateLost event says so. True, at once, for the first of a group and for a
        member that asked for no state. Raises GComTimeout, StateFailed, NotAMember, Detached.
        """
        deadline = None if timeout_s is None else monotonic() + timeout_s
        while (arrived := self._await_state(timeout_s, deadline)) is not None:
            try:
                self._set_state(arrived.data)
            finally:
                self._receiving.release()
        return not self._stay.state_lost

    def _await_state(self, timeout_s: float | None, deadline: float | None) -> SetState | None:
        """The state, to be set by this thread, which is the receiver until it has done so; None: it was, or is lost."""
        arrivals = self._membership.arrivals
        with self._node.lock:
            while (stay := self._stay).state_awaited or stay.ended is not None:
                first = arrivals[0] if arrivals else None
                if isinstance(first, SetState) and self._receiving.acquire(blocking=False):
                    arrivals.popleft()
                    return first
                if self._membership.state_failure:
                    raise StateFailed(self._membership.state_failure)
                self._raise_if_over()
                if not stay.wait(deadline):
                    donor = stay.machine.transfer.donor or "its own reader"
                    text = f"no state in group {stay.machine.group!r} after {timeout_s} s: it waits for {donor}"
                    raise GComTimeout(text)
        return None

    @property
    def _owes_state(self) -> bool:
        """Whether a joiner is being given this member's state, or will be once the listener gets to the barrier."""
        transfer, listener = self._stay.machine.transfer, self._membership.listened_by
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
        try:
            set_state(data)
        except Exception as error:  # outermost: of the application's callback; whoever reads sees StateFailed
            text = f"set_state failed in group {self._source.machine.group!r}, which is left: {words(error)}"
            with self._node.lock:
                self._membership.fail_state(text)
            raise StateFailed(text) from error
        with self._node.lock:
            self._source.on_state_set()


def _taken(get_state: GetState) -> tuple[bytes | None, str]:
    """The application's state, or why there is none, in words for those who wait for it."""
    try:
        found = get_state()
    except Exception as error:  # outermost: of the application's callback
        traceback.print_exc()  # an application's mistake must be seen where it was made
        return None, f"its get_state raised {words(error)}"
    if not isinstance(found, bytes | bytearray | memoryview):
        logger.error("get_state returned {}, not bytes", type(found).__name__)
        return None, f"its get_state returned {type(found).__name__}, not bytes"
    data = bytes(found)
    if len(data) > limits.STATE_BYTES_MAX:
        logger.error("get_state returned {:,} bytes, more than {:,}", len(data), limits.STATE_BYTES_MAX)
    return data, ""
