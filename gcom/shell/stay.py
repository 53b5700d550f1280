"""A machine and what the shell keeps for it: the rhythm lock, step, carry out, unlock for one group at one node.

Carrying out an effect never blocks and never calls the application: deliveries go to a queue that the application's own
thread empties, registry requests go to the node's registry thread, frames are taken by the links.
"""

from __future__ import annotations

from collections import deque
from threading import Condition
from time import monotonic
from typing import TYPE_CHECKING, assert_never

from loguru import logger

from gcom.core import events
from gcom.core.directory import Answer, Refusal, Request
from gcom.core.effects import (
    AskRegistry,
    Deliver,
    Effect,
    Ended,
    EntryFailed,
    Installed,
    Sent,
    Skip,
    Suspected,
)
from gcom.core.frames import Frame, Reply
from gcom.core.group import GroupMachine
from gcom.errors import GComError, RegistryUnavailable, VersionMismatch
from gcom.trace.writer import DeliveryLog
from gcom.values import limits
from gcom.values.names import Process
from gcom.values.run import Payload

if TYPE_CHECKING:
    from gcom.shell.node import Node

NOTICES_MAX = 100_000  # views, suspicions and losses that wait to be read; at the bound the process leaves

Arrival = Deliver | Installed | Skip | Suspected | Ended


class Stay:
    """One process in one group. Every field is guarded by the node's lock; `arrivals` may be popped without it."""

    def __init__(self, node: Node, machine: GroupMachine, log: DeliveryLog | None, receive: bool) -> None:
        self.machine = machine
        self.arrivals: deque[Arrival] = deque()
        self.ended: Ended | None = None
        self.leaving = False  # the application asked to leave: it sends no more
        self.failure: GComError | None = None
        self.registry_failure: GComError | None = None
        self.changed = Condition(node.lock)  # an arrival, room to send, a view, the end
        self._node = node
        self._log = log
        self._receive = receive
        self._buffer: list[Payload] = []  # sent by the application, not yet handed to the machine
        self._notices = 0  # at most so many arrivals are no deliveries
        self._waiting_size = 0  # characters or bytes of messages that have no number yet

    # steps; each takes the lock

    def handle(self, event: events.Event) -> None:
        """Step the machine with an event and carry out what follows."""
        with self._node.lock:
            self.step(event)
            self._node.hurry(self)

    def step(self, event: events.Event) -> None:
        """As `handle`, for a caller that holds the lock."""
        self._carry_out(self.machine.handle(event, self._node.now_ms()))

    def tick(self) -> None:
        """The machine's deadline has come. Holds the lock."""
        self._hand_over()
        self.step(events.Tick())

    def receive(self, frame: Frame) -> Reply:
        """A peer put a frame to this process."""
        with self._node.lock:
            self._hand_over()
            reply, effects = self.machine.receive(frame, self._node.now_ms())
            self._carry_out(effects)
            self._node.hurry(self)
        self.log_before_frame()
        return reply

    def take(self, peer: Process) -> Frame | None:
        """The next frame for a peer. Holds the lock."""
        self._hand_over()
        frame, effects = self.machine.take(peer, self._node.now_ms())
        if effects:
            self._carry_out(effects)
        return frame

    def end_by_defect(self) -> None:
        """The node has failed: whoever waits here is told, the log ends where it is. Holds the lock."""
        self.failure = self.failure or GComError("a defect in GCom ended this node; its traceback was printed")
        if self.ended is None:
            view = self.machine.view
            self.ended = Ended(view.number if view else 0, "defect")
            self.arrivals.append(self.ended)
        self.changed.notify_all()

    def log_before_frame(self) -> None:
        """What a frame or reply tells must be in the log of this process first."""
        if self._log:
            self._log.flush_before_frame()

    # sending

    @property
    def room(self) -> bool:
        """Whether the application may send now."""
        few = len(self._buffer) + self.machine.pending < limits.PENDING_MESSAGES_MAX
        return few and self._waiting_size < limits.PENDING_BYTES_MAX

    @property
    def unnumbered(self) -> int:
        """Messages sent by the application that have no number yet."""
        return len(self._buffer) + self.machine.pending

    def put(self, payload: Payload) -> None:
        """Queue a message, and hand it over at once when a link has nothing else to do. Holds the lock."""
        self._buffer.append(payload)
        self._waiting_size += len(payload)
        if self._node.idle or self.machine.alone:
            self._hand_over()
            self._pump()

    def _hand_over(self) -> None:
        if self._buffer:
            payloads, self._buffer = self._buffer, []
            self._carry_out(self.machine.handle(events.Submit(payloads), self._node.now_ms()))

    def begin_leaving(self) -> None:
        """No more is sent; what was sent does not wait for its own sender to read it. Holds the lock."""
        self.leaving = True
        mine = [it for it in self.arrivals if isinstance(it, Deliver) and it.run.sender == self.machine.process]
        for delivery in mine[-1:]:
            self.consumed(delivery)
        self.changed.notify_all()

    def wait(self, deadline: float | None) -> bool:
        """Wait for a change; False when the deadline, in monotonic seconds, has passed. Holds the lock."""
        if deadline is None:
            return self.changed.wait(3600.0) or True
        left = deadline - monotonic()
        return left > 0 and (self.changed.wait(left) or monotonic() < deadline)

    # effects

    def _carry_out(self, effects: list[Effect]) -> None:
        done: list[Deliver | Skip] = []
        for effect in effects:
            self._record(effect)
            match effect:
                case Sent(run):
                    self._waiting_size -= sum(map(len, run.payloads))
                case Deliver():
                    if self._receive:
                        self.arrivals.append(effect)
                    if not self._receive or (self.leaving and effect.run.sender == self.machine.process):
                        done.append(effect)
                case Installed() | Suspected():
                    self._notice(effect)
                case Skip() if self._receive:
                    self._notice(effect)
                case Skip():
                    done.append(effect)
                case Ended():
                    self.ended = effect
                    self.arrivals.append(effect)
                case EntryFailed(error):
                    self.failure = self._said(error)
                case AskRegistry(request):
                    self._node.ask_registry(self, request)
                case _:
                    assert_never(effect)
        if self._notices >= NOTICES_MAX and not self.ended:
            logger.warning("{} reads nothing: it leaves group {}", self.machine.process, self.machine.group)
            self.step(events.Exit())
        for delivery in done:  # a step of its own: its effects come after these
            self.consumed(delivery)
        if effects:
            self.changed.notify_all()
        if self._buffer and self.machine.alone:  # the link that would have taken it went with its peer
            self._hand_over()
        self._pump()

    def _record(self, effect: Effect) -> None:
        definition = self.machine.definition
        if self._log and definition:
            self._log.record(definition, self.machine.instance, effect)

    def _notice(self, notice: Installed | Suspected | Skip) -> None:
        """What the application is told beside messages; who reads none of very many cannot stay."""
        if not self._receive:
            return
        self._notices = self._notices + 1 if self.arrivals else 1
        self.arrivals.append(notice)

    def consumed(self, done: Deliver | Skip) -> None:
        """The application is done with a run, or knows of a loss. Holds the lock."""
        if self.ended:
            return
        if isinstance(done, Deliver):
            self.step(events.Consumed(done.run.sender, done.run.last, len(done.run.encoded)))
        else:
            self.step(events.Consumed(done.sender, done.first + done.count - 1, 0))

    def _said(self, error: GComError) -> GComError:
        """The registry client's own words are better than the machine's."""
        return self.registry_failure if isinstance(error, RegistryUnavailable) and self.registry_failure else error

    def _pump(self) -> None:
        for peer in self.machine.woken():
            if self.machine.due_ms(peer) is not None:
                self._node.link(self.machine.address_of(peer)).serve(self, peer)

    def on_registry(self, request: Request, answer: Answer | None, failure: GComError | None) -> None:
        """The registry's answer, or why there is none."""
        if isinstance(failure, VersionMismatch):
            answer = Refusal("VersionMismatch", str(failure))
        with self._node.lock:
            self.registry_failure = failure
            self.step(events.RegistryAnswered(request, answer))
