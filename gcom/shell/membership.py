"""What outlives one stay in a group: the queue to the application, and the way back in.

A process that is put out of its group, or loses its quorum, comes back as another process (DESIGN 4): another machine,
another stay, another log. The application keeps its `Group`, and reads the end of the one stay and the beginning of the
next from the same queue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Condition
from typing import TYPE_CHECKING

from gcom.core.delivery_queue import DeliveryQueue, Handed
from gcom.core.machine import RETURNS, GroupMachine
from gcom.core.messages import events
from gcom.core.messages.effects import Ended
from gcom.core.state_transfer.reconciliation import StateReconciliation
from gcom.errors import Dissolved
from gcom.shell.answering import Answering
from gcom.shell.happenings import LogEnded, StateUnmerged
from gcom.shell.state import Uses

if TYPE_CHECKING:
    from gcom.shell.node import Node
    from gcom.shell.stay import Stay
NOTICES_MAX = 100_000  # views, suspicions and losses that wait to be read; at the bound the process leaves


@dataclass(frozen=True, slots=True)
class Gone:
    """The stay is over; `returning`: another one follows."""

    ended: Ended
    returning: bool


@dataclass(frozen=True, slots=True)
class Entered:
    """The process is in again: what follows in the queue is of this stay; `first`: it began the instance."""

    stay: Stay
    first: bool


Notice = StateUnmerged | LogEnded  # of the shell's own, as the application reads it
Arrival = Handed | Gone | Entered | Notice


class Membership:
    """Guarded by the node's lock; `arrivals` may be popped without it.

    `stay` is the one that is in the group, or was last; `following` is on its way in after it.
    """

    stay: Stay
    following: Stay | None

    def __init__(self, node: Node, uses: Uses) -> None:
        self.queue: DeliveryQueue[Gone | Entered | Notice] = DeliveryQueue()
        self.arrivals = self.queue.arrivals
        self.changed = Condition(node.lock)  # an arrival, room to send, a view, the end
        self.uses = uses
        self.state_failure = ""  # how the application's set_state failed
        self.unread = False  # it left since the application read none of very many events
        self.reconciliation = StateReconciliation()  # of the stay before, until it is merged where the process is now
        self.listened_by: int | None = None  # the listener's thread
        self.following = None
        self.answering = Answering(node)  # the application's handler of group calls stays what it is
        self._node = node

    def begin(self, machine: GroupMachine) -> Stay:
        """Enter for the first time."""
        self.stay = self._node.add_stay(self, machine)
        self._start(self.stay)
        return self.stay

    def _start(self, stay: Stay) -> None:
        stay.step(events.Start())
        self._node.hurry(stay)

    @property
    def over(self) -> Ended | None:
        """How it ended for good; None while in the group, or on the way back."""
        return self.following.ended if self.following else self.stay.ended

    def on_ended(self, stay: Stay, ended: Ended) -> None:
        """A stay that was in the group is over."""
        asked_for = ended.reason not in RETURNS or stay.leaving
        returning = self.uses.rejoin and not asked_for and len(self.arrivals) < NOTICES_MAX
        returning |= ended.reason == "succession"  # it did not lose the group, and may have to leave it there
        if self.uses.receive or not returning:
            self.queue.end(Gone(ended, returning))
        if returning:
            self._enter_again(stay)
        else:
            self.answering.close()

    def on_failed(self, stay: Stay, final: bool) -> None:
        """A stay did not get in: one on its way back tries under yet another identity, unless that is in vain."""
        if stay is not self.following:
            return
        if not final:
            self._enter_again(stay)
            return
        self.following = None
        ended = Ended(self.stay.ended.view if self.stay.ended else 0, "dissolved" if _is_over(stay) else "taken")
        self.stay.ended = ended
        self.arrivals.append(Gone(ended, returning=False))
        self.answering.close()
        self.changed.notify_all()

    def _enter_again(self, former: Stay) -> None:
        """As another process; or as the same, in the instance that succeeds the one that it was in."""
        succeeded = former.machine.succeeded is not None
        process = former.machine.process if succeeded else self._node.renew_process()
        self.following = following = self._node.add_stay(self, former.machine.again(process))
        self._start(following)
        if succeeded:
            for payload in former.take_unsent():
                following.put(payload)

    def on_entered(self, stay: Stay) -> None:
        """A stay has its first view."""
        if stay is self.following:
            self.stay, self.following = stay, None
            if self.uses.receive:
                view = stay.machine.view
                self.queue.tell(Entered(stay, view is not None and view.members == (stay.machine.process,)))

    def give_up(self) -> bool:
        """Leave while on the way back; whether it was."""
        following, self.following = self.following, None
        if following is None:
            return False
        following.step(events.Exit())
        assert self.stay.ended is not None, "only who is out is on its way back"
        if self.arrivals and isinstance(last := self.arrivals[-1], Gone):  # not read yet: it says all
            self.arrivals[-1] = Gone(last.ended, returning=False)
        else:
            self.arrivals.append(Gone(Ended(self.stay.ended.view, "request"), returning=False))
        self.stay.ended = replace(self.stay.ended, reason="request")
        self.stay.leaving = True
        self.answering.close()
        self.changed.notify_all()
        return True

    def fail_state(self, text: str) -> None:
        """The application could not take its state: it leaves, and is handed nothing more but the end."""
        self.state_failure = text
        if self.give_up() or self.stay.ended is not None:
            last = self.arrivals.pop()
            self.arrivals.clear()
            self.arrivals.append(last)
            return
        self.queue.shut()
        self.stay.leaving = True
        self.stay.step(events.Leave())
        self.changed.notify_all()


def _is_over(stay: Stay) -> bool:
    """Whether a stay could not begin since there is no group any more; else its name is taken."""
    return isinstance(stay.failure, Dissolved)
