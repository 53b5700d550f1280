"""The application's state, as the session of a joiner awaits it.

A joiner is in the view before it has the state, and what is delivered meanwhile waits for that in the delivery queue.
It has the state once the application's `set_state` has returned, and does without where no member can give it any more.
"""

from __future__ import annotations

from typing import Protocol, assert_never

from gcom.core.delivery_queue import DeliveryQueue
from gcom.core.messages.effects import (
    AwaitState,
    Deliver,
    KeepState,
    MergeState,
    OfState,
    SetState,
    Skip,
    StateUnavailable,
    TakeState,
)
from gcom.core.state_transfer.reconciliation import StateReconciliation
from gcom.runtime.queue_items import Own
from gcom.values.names import Process


class StateOwner(Protocol):
    """The part of a membership that outlives the sessions which await a state."""

    queue: DeliveryQueue[Own]
    reconciliation: StateReconciliation


class AwaitedState:
    """Whether a session awaits the application's state, and since when. Guarded by the host's lock."""

    def __init__(self, process: Process, owner: StateOwner) -> None:
        self.awaited = False  # until `set_state` has returned, or the state is lost
        self.since_ms = 0
        self.lost = False
        self._process = process
        self._owner = owner

    def on_effect(self, effect: OfState, now_ms: int) -> list[Deliver | Skip]:
        """Carry out an effect of state transfer; return what is not handed over any more, since the state covers it."""
        match effect:
            case AwaitState():
                self.awaited, self.since_ms = True, self.since_ms or now_ms
            case StateUnavailable():
                self.awaited, self.lost = False, True
            case KeepState():
                self.awaited = False
            case MergeState(_, sender, data):
                # Asked before the effect is put: a SetState opens the queue, and what was merged before it is in doubt.
                awaiting = not self._owner.queue.is_open
                self._owner.reconciliation.merged(self._process, sender, data, awaiting=awaiting)
            case SetState():
                self._owner.reconciliation.given()
            case TakeState():
                pass
            case _:
                assert_never(effect)
        return self._owner.queue.put(effect)
