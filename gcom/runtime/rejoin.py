"""What outlives one stay in a group: the queue to the application, and the way back in.

A process that is put out of its group, or loses its quorum, comes back as another process (DESIGN 4): another machine,
another session, another log. The application keeps its `Group`, and reads the end of one session and the beginning of
the next from the same queue.
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
from gcom.runtime.events import LogEnded, StateUnmerged
from gcom.runtime.request_handlers import Answering
from gcom.runtime.state_callbacks import Uses

if TYPE_CHECKING:
    from gcom.runtime.node import Node
    from gcom.runtime.session import Session
NOTICES_MAX = 100_000  # views, suspicions and losses that wait to be read; at the bound the process leaves


@dataclass(frozen=True, slots=True)
class Gone:
    """The session is over; `returning`: another one follows."""

    ended: Ended
    returning: bool


@dataclass(frozen=True, slots=True)
class Entered:
    """The process is in again: what follows in the queue is of this session; `first`: it began the instance."""

    session: Session
    first: bool


Notice = StateUnmerged | LogEnded  # of the shell's own, as the application reads it
Arrival = Handed | Gone | Entered | Notice


class Membership:
    """Guarded by the node's lock; `arrivals` may be popped without it.

    `session` is the one that is in the group, or was last; `following` is on its way in after it.
    """

    session: Session
    following: Session | None

    def __init__(self, node: Node, uses: Uses) -> None:
        self.queue: DeliveryQueue[Gone | Entered | Notice] = DeliveryQueue()
        self.arrivals = self.queue.arrivals
        self.changed = Condition(node.lock)  # an arrival, room to send, a view, the end
        self.uses = uses
        self.state_failure = ""  # how the application's set_state failed
        self.unread = False  # it left since the application read none of very many events
        self.reconciliation = (
            StateReconciliation()
        )  # of the session before, until it is merged where the process is now
        self.listened_by: int | None = None  # the listener's thread
        self.following = None
        self.answering = Answering(node)  # the application's handler of group calls stays what it is
        self._node = node

    def begin(self, machine: GroupMachine) -> Session:
        """Enter for the first time."""
        self.session = self._node.add_session(self, machine)
        self._start(self.session)
        return self.session

    def _start(self, session: Session) -> None:
        session.step(events.Start())
        self._node.hurry(session)

    @property
    def over(self) -> Ended | None:
        """How it ended for good; None while in the group, or on the way back."""
        return self.following.ended if self.following else self.session.ended

    def on_ended(self, session: Session, ended: Ended) -> None:
        """A session that was in the group is over."""
        asked_for = ended.reason not in RETURNS or session.leaving
        returning = self.uses.rejoin and not asked_for and len(self.arrivals) < NOTICES_MAX
        returning |= ended.reason == "succession"  # it did not lose the group, and may have to leave it there
        if self.uses.receive or not returning:
            self.queue.end(Gone(ended, returning))
        if returning:
            self._enter_again(session)
        else:
            self.answering.close()

    def on_failed(self, session: Session, final: bool) -> None:
        """A session did not get in: one on its way back tries under yet another identity, unless that is in vain."""
        if session is not self.following:
            return
        if not final:
            self._enter_again(session)
            return
        self.following = None
        ended = Ended(
            self.session.ended.view if self.session.ended else 0, "dissolved" if _is_over(session) else "taken"
        )
        self.session.ended = ended
        self.arrivals.append(Gone(ended, returning=False))
        self.answering.close()
        self.changed.notify_all()

    def _enter_again(self, former: Session) -> None:
        """As another process; or as the same, in the instance that succeeds the one that it was in."""
        succeeded = former.machine.succeeded is not None
        process = former.machine.process if succeeded else self._node.renew_process()
        self.following = following = self._node.add_session(self, former.machine.again(process))
        self._start(following)
        if succeeded:
            for payload in former.take_unsent():
                following.put(payload)

    def on_entered(self, session: Session) -> None:
        """A session has its first view."""
        if session is self.following:
            self.session, self.following = session, None
            if self.uses.receive:
                view = session.machine.view
                self.queue.tell(Entered(session, view is not None and view.members == (session.machine.process,)))

    def give_up(self) -> bool:
        """Leave while on the way back; whether it was."""
        following, self.following = self.following, None
        if following is None:
            return False
        following.step(events.Exit())
        assert self.session.ended is not None, "only who is out is on its way back"
        if self.arrivals and isinstance(last := self.arrivals[-1], Gone):  # not read yet: it says all
            self.arrivals[-1] = Gone(last.ended, returning=False)
        else:
            self.arrivals.append(Gone(Ended(self.session.ended.view, "request"), returning=False))
        self.session.ended = replace(self.session.ended, reason="request")
        self.session.leaving = True
        self.answering.close()
        self.changed.notify_all()
        return True

    def fail_state(self, text: str) -> None:
        """The application could not take its state: it leaves, and is handed nothing more but the end."""
        self.state_failure = text
        if self.give_up() or self.session.ended is not None:
            last = self.arrivals.pop()
            self.arrivals.clear()
            self.arrivals.append(last)
            return
        self.queue.shut()
        self.session.leaving = True
        self.session.step(events.Leave())
        self.changed.notify_all()


def _is_over(session: Session) -> bool:
    """Whether a session could not begin since there is no group any more; else its name is taken."""
    return isinstance(session.failure, Dissolved)
