"""The queue of effects for one application, in the order in which they are handed over; pure, the same in every driver.

It is closed while the application's state is on its way: what the core delivers in the meantime is held, and goes along
into a successor.
"""

from __future__ import annotations

from collections import deque
from itertools import chain
from typing import Generic, TypeVar

from gcom.core.messages.effects import (
    AwaitState,
    Deliver,
    DeliverUnicast,
    DoubtSettled,
    HeldUncovered,
    Installed,
    KeepState,
    MergeState,
    Quorum,
    SetState,
    Skip,
    StateUnavailable,
    Suspected,
    TakeState,
    UnicastLost,
)

Handed = (
    Deliver
    | Skip
    | Installed
    | Quorum
    | DoubtSettled
    | Suspected
    | DeliverUnicast
    | UnicastLost
    | TakeState
    | SetState
    | HeldUncovered
    | KeepState
    | StateUnavailable
    | MergeState
)
_COVERED = Deliver | Skip | Installed | Suspected | MergeState  # by a state of a later barrier
# About this process, so no state covers it; handed over even where the session ends before the state has come. (An
# application that was told of a doubt is told how it was settled.)
_Told = Quorum | DoubtSettled | DeliverUnicast | UnicastLost
_Own = TypeVar("_Own")  # what a driver adds


class DeliveryQueue(Generic[_Own]):
    """The application reads `queued` from the left. New effects go to `tail`, which is `queued` while the
    queue is open.

    It has no bound of its own: credit bounds the deliveries, the driver counts the rest.
    """

    def __init__(self) -> None:
        self.queued: deque[Handed | _Own] = deque()
        self.tail = self.queued
        # Held in each former session of this process, which has awaited its state since.
        self._carried: list[list[Handed | _Own]] = []

    @property
    def is_open(self) -> bool:
        return self.tail is self.queued

    @property
    def waiting(self) -> list[Handed | _Own]:
        """The items that wait for the application's state, oldest first."""
        return [] if self.is_open else [*chain(*self._carried), *self.tail]

    def put(self, effect: Handed | AwaitState) -> list[Deliver | Skip]:
        """Queue an effect; return the deliveries and skips that a SetState covers: the caller counts them as read."""
        covered: list[Deliver | Skip] = []
        match effect:
            case AwaitState():
                if self.is_open:  # else it has waited since a former session
                    self.tail = deque()
            case KeepState() | StateUnavailable():
                waiting = self.waiting
                self._open()
                # In front: an application begins anew at a loss, so it must not have read what it is to keep.
                self.queued.extend((effect, *waiting))
            case SetState(view, donor=donor):
                held = list(self.tail) if not self.is_open else []
                # The state is a donor's at the barrier of `view`, so it has all messages before that
                # (docs/protocols/state.md). What the joiner held back of them was handed to nobody, and is dropped.
                covered, kept = _split_at_barrier(held, view)
                # What is carried from former sessions is covered, too: a WHOLE donor has all of the predecessor (one
                # that is LATER may lack what came before it entered: LIMITS). It is not returned: no sender waits for
                # credit of a session that is over.
                former = [it for it in chain(*self._carried) if not isinstance(it, _COVERED)]
                # 1. D is put out; B joins, and awaits A's state. 2. D is back, and A dies. 3. D goes on with its own,
                # which lacks what B alone holds: B's application may have sent some of that, and is told.
                told = [HeldUncovered(view, donor)] if self._holds_from_before(*effect.since) else []
                self._open()
                # The state in front of what was held: the application's own order is that of the donor.
                self.queued.extend((*former, effect, *told, *kept))
            case _:
                self.tail.append(effect)
        return covered

    def tell(self, own: _Own) -> None:
        """Append an item of the driver's own, which waits for no state."""
        self.queued.append(own)

    def begin(self, own: _Own) -> None:
        """Append the driver's first item of a session, behind what is held of the session before."""
        (self._carried[-1] if self._carried else self.queued).append(own)

    def end(self, own: _Own, *, goes_on: bool = False) -> None:
        """Append the driver's last item of a session; `goes_on`: its process begins the next one, in a successor."""
        # 1. B waits for A's state. 2. m is confirmed: A and B hold it. 3. A dies, and B alone goes on as a successor.
        # If what it holds ended here, m would be lost, though B lives. So B goes on waiting, and the successor names
        # its donor.
        if goes_on and not self.is_open:
            self._carried.append([*self.tail, own])
            self.tail = deque()
            return
        # Opened without its state: the application could make nothing of the messages that are held, but must learn of
        # the end, and of what became of its own.
        held = self.waiting
        told = [it for it in held if isinstance(it, _Told) or not isinstance(it, Handed)]
        self._open()
        self.queued.extend((*told, own))

    def shut(self) -> None:
        """Drop all that waits; what is put from now on is held, and `end` alone hands over more."""
        self.queued.clear()
        self._carried.clear()
        self.tail = deque()

    def _holds_from_before(self, ago: int, view: int) -> bool:
        """Return whether a message waits of before a view (0: of none), of the session so many successions ago."""
        sessions = [*self._carried, self.tail]
        if self.is_open or not view or ago >= len(sessions):
            return False
        began = len(sessions) - 1 - ago
        earlier = any(isinstance(it, Deliver | Skip) for it in chain(*sessions[:began]))
        return earlier or any(isinstance(it, Deliver | Skip) and it.view < view for it in sessions[began])

    def _open(self) -> None:
        self.tail = self.queued
        self._carried.clear()


def _split_at_barrier(held: list[Handed | _Own], view: int) -> tuple[list[Deliver | Skip], list[Handed | _Own]]:
    """Split what is held: deliveries and skips before the barrier of a view, and what is still handed over."""
    barriers = [place for place, it in enumerate(held) if isinstance(it, Installed) and it.view.number >= view]
    barrier = barriers[0] if barriers else len(held)
    covered = [it for it in held[:barrier] if isinstance(it, Deliver | Skip)]
    kept = [it for it in held[:barrier] if not isinstance(it, _COVERED)]
    return covered, [*held[barrier : barrier + 1], *kept, *held[barrier + 1 :]]
