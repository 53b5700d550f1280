"""A session of a simulated process in the group: it drives a GroupMachine exactly as the runtime does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from random import Random
from typing import Protocol

from gcom.core.codec import frames as codec
from gcom.core.machine import RETURNS, GroupMachine, Stage
from gcom.core.messages import events
from gcom.core.messages.effects import (
    AskRegistry,
    AskSequencer,
    Deliver,
    DoubtSettled,
    Effect,
    Ended,
    EntryFailed,
    Installed,
    OfState,
    OfUnicast,
    Quorum,
    Sent,
    SetState,
    Skip,
    Suspected,
)
from gcom.core.messages.frames import Frame, Reply, Status, supersedes
from gcom.core.messages.registry import Answer, Request
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest
from gcom.errors import GComError
from gcom.sim.application import Application
from gcom.sim.checkers import Checker, Violation
from gcom.sim.network import Network, NetworkNode, ReplyTo, SimConnection
from gcom.sim.plan.events import Fault, TroubleEvent
from gcom.sim.registries import Registries
from gcom.sim.run_keys import SimRunKey
from gcom.sim.simulation import Simulation
from gcom.trace.writer import DeliveryLog
from gcom.values import limits
from gcom.values.names import Address, Process

OTHER_GROUP = "other"  # another group of the same processes, in which nothing is sent
# A member that has heard no quorum for so long has given up (SILENCE_MAX_MS, 1 s, and slack); scaled as detection is.
QUORUM_LOST_MS = 6_000
_WALL_NS = 1_700_000_000_000_000_000


class SessionFailpoints(Protocol):
    """The places at which a session's process may crash or pause; the session asks at each."""

    def arrived(self, session: SimSession, frame: Frame) -> None: ...

    def last_effect(self, session: SimSession, effects: list[Effect]) -> int | None: ...

    def at_call(self, session: SimSession, frame: Frame) -> TroubleEvent | None: ...

    def echo(self, session: SimSession, frame: Frame, again: Callable[[], None]) -> None: ...


class SessionWorld(Protocol):
    """The parts of the world that a session reaches."""

    simulation: Simulation
    network: Network
    registries: Registries

    @property
    def failpoints(self) -> SessionFailpoints: ...


class SessionNode(NetworkNode, Protocol):
    """The process of a session, which hears how the session goes and may begin another."""

    paused: bool
    reads_slowly: str
    run_key: SimRunKey

    @property
    def world(self) -> SessionWorld: ...

    def crash(self) -> None: ...

    def pause_for(self, for_ms: int) -> None: ...

    def resume(self) -> None: ...

    def answer_for_ended(self, frame: Frame, reply: Reply) -> Reply: ...

    def ask_registry(self, session: SimSession, request: Request) -> None: ...

    def on_entered(self) -> None: ...

    def on_failed(self) -> None: ...

    def on_ended(self, reason: str) -> None: ...


class SimSession:
    """A machine, its timer, its calls, its application and its log."""

    def __init__(self, node: SessionNode, process: Process, rng: Random, former: SimSession | None = None) -> None:
        self.node = node
        self.process = process
        self.world = node.world
        self.simulation = node.world.simulation
        self.failure: GComError | None = None
        definition = self.simulation.plan.definition
        keeps = node.name in self.simulation.plan.keepers
        self.machine = GroupMachine(
            *(definition.group, process, node.address, definition),
            gives_state=keeps,
            takes_state=keeps,
            signer=node.run_key if definition.signed else None,
        )
        self.application = Application(self, rng)
        self.leaving = False  # its application asked to leave
        self.lost = False  # it was in the group, or on its way back, and did not want to be out
        self._log: DeliveryLog | None = None
        if former:
            # With what the former one knows of the group: its last view, its state, whom to ask.
            self.machine = former.machine.again(process)
            self.application.go_on_from(former.application)
            # One process writes one log; another incarnation has a folder of its own.
            self._log = former._log if former.process == process else None
        self._connections: dict[Process, SimConnection] = {}
        self._in_hand: set[Process] = set()  # peers for which a frame was taken and is not yet put
        self._heard_ms: dict[Process, int] = {}  # when something last came from a peer
        self._since_ms = 0  # it runs, or is in its view, since then
        self._armed_ms: int | None = None  # when the timer fires, by the node's clock
        self._timer = 0

    @property
    def checker(self) -> Checker:
        return self.simulation.checker(self.machine.instance)

    @property
    def is_member(self) -> bool:
        return self.machine.stage is Stage.MEMBER and not self.node.crashed

    @property
    def is_over(self) -> bool:
        """Tell whether the application has nothing more to do here."""
        return self.node.crashed or self.machine.stage in (Stage.TIME_WAIT, Stage.ENDED)

    def describe(self) -> str:
        if self.failure:
            return f"{self.process} failed: {self.failure}"
        view = self.machine.view
        where = f"view {view.number} {view.members} of {self.machine.instance}" if view else "no view"
        return f"{self.process} {self.machine.stage.value} ({self.machine.waits_for}) in {where}"

    # steps

    def start(self) -> None:
        self.handle(events.Start())
        self.application.start()

    def leave(self) -> None:
        if self.is_member:
            self.leaving = True
            self.checker.calls.leave(self.process)
            self.handle(events.Leave(reads_on=True))

    def handle(self, event: events.Event) -> None:
        if not self.node.crashed:
            self._carry_out(self.machine.handle(event, self.node.clock.now_ms))

    def receive(self, frame: Frame, answer: ReplyTo) -> None:
        """Answer a frame, as the exposed endpoint does; None if the node crashes over the call."""
        self.world.failpoints.arrived(self, frame)
        self._heard(frame.source)
        reply, effects = self.machine.receive(frame, self.node.clock.now_ms)
        self._carry_out(effects)
        self._log_before_frame()
        reply = self.node.answer_for_ended(frame, reply)
        data = None if self.node.crashed else codec.encode(reply)
        # A reply with an item of a view change is a place to crash at, as a call is: Promise and CutOk go in replies.
        if data and isinstance(reply, Frame) and reply.control:
            self._say(reply, lambda: answer(data), lambda: answer(None))
        else:
            answer(data)

    def _carry_out(self, effects: list[Effect]) -> None:
        # 1. A step has several effects, a delivery and a view, say. 2. The process dies between two of them. 3. The
        #    application saw the first and nobody else ever saw the second. The real process can die there, too.
        last = self.world.failpoints.last_effect(self, effects) if effects else None
        for index, effect in enumerate(effects):
            if index == last:
                break
            self._record(effect)
            self._perform(effect)
        if last is not None:
            self.node.crash()
            return
        # After all effects, as in the runtime: lock, step, take effects, unlock, act.
        for peer in self.machine.woken():
            self._call(peer)
        self._arm()

    def _perform(self, effect: Effect) -> None:
        # A view is what the quorum is of: who hears nobody of the new one must have its full time for it.
        if isinstance(effect, Installed):
            self.forget_silence()
            self.node.on_entered()
        match effect:
            case AskRegistry(request):
                self.node.ask_registry(self, request)
            case AskSequencer(question):
                self._ask_sequencer(question)
            case _ if isinstance(effect, OfUnicast):
                self.application.posted(effect)
            case _ if isinstance(effect, Deliver | Skip | Installed | OfState):
                self.application.arrived(effect)
            case EntryFailed(error, final):
                self.failure = error
                self.lost = self.machine.returns and not final  # else its application begins anew
                self.node.on_failed()
            case Ended(_, reason):
                # A real process comes back from these by itself, with the state that it had. It does not if it was
                # asked to leave meanwhile, whatever became of it: if it comes again, it begins anew.
                self.lost = reason == "succession" or (reason in RETURNS and not self.leaving)
                self.application.posted(effect)
                self.node.on_ended(reason)
            case _:
                pass

    def _ask_sequencer(self, request: SequencerRequest) -> None:
        def on_answer(answer: SequencerAnswer | None) -> None:
            self.node.run(lambda: self.handle(events.SequencerAnswered(request, answer)))

        home = self.world.registries.home_of(self.machine.definition)
        home.ask_sequencer(self.node, request, on_answer)

    def on_registry(self, request: Request, answer: Answer | None) -> None:
        self.handle(events.RegistryAnswered(request, answer))

    # silence and quorum

    def _heard(self, peer: Process) -> None:
        self._heard_ms[peer] = self.node.clock.now_ms

    def forget_silence(self) -> None:
        """Forget the silence of all peers: the process was paused, or has come to another view."""
        self._since_ms = self.node.clock.now_ms

    def _must_have_quorum(self) -> None:
        """QUORUM: a member that has heard less than half of its view for too long may not go on in it."""
        view = self.machine.view
        # In a large view most links rest: then those count that would be heard, whatever the machine believes of them.
        if view and len(view.members) > limits.WATCH_ALL_MAX:
            for peer, address in zip(view.members, view.addresses, strict=True):
                if peer != self.process and self.world.network.connects(self.node, address):
                    self._heard(peer)
        # Of the time since it runs, or is in its view: a process that was stopped heard nobody, and must first have
        # its chance to hear.
        detection = self.simulation.plan.definition.detection
        lost_ms = detection.extended_ms(QUORUM_LOST_MS)
        # So long the other group stands for this one.
        lost_ms += limits.OWN_EXCHANGE_MS + 2 * limits.HEARTBEAT_MS if self.simulation.plan.two_groups else 0
        since_ms = self.node.clock.now_ms - lost_ms
        if not self.is_member or self.machine.detached or view is None or self._since_ms > since_ms:
            return
        heard = [peer for peer in view.members if self._heard_ms.get(peer, self._since_ms) > since_ms]
        # Half is enough: with the tie-breaker half of a view is a quorum.
        if 2 * (len(heard) + 1) < len(view.members):
            # Broken where a process without a quorum stays as if it were in the group.
            raise Violation(f"QUORUM: {self.process} goes on in view {view.number} and hears only {heard}")

    # its timer

    def _arm(self) -> None:
        """Set the timer for the machine's next deadline, a tick or a peer's turn."""
        machine, due_ms = self.machine, self.machine.deadline_ms
        if due_ms is None:
            return
        # A peer with a call in flight cannot be called, so its turn is no reason to wake up.
        for peer in machine.peers:
            if peer not in self._connections or self._connections[peer].idle:
                peer_ms = machine.due_ms(peer)
                if peer_ms is not None and peer_ms < due_ms:
                    due_ms = peer_ms
        # Only earlier: a timer that fires too soon finds nothing due, and is armed anew.
        if self._armed_ms is None or due_ms < self._armed_ms:
            self._armed_ms = due_ms
            self._timer += 1
            this = self._timer
            self.simulation.at(self.node.clock.true_until(due_ms), lambda: self.node.run(lambda: self._wake(this)))

    def _wake(self, timer: int) -> None:
        # An earlier deadline was armed since: the later timer is stale, and events cannot be taken out of the heap.
        if timer != self._timer:
            return
        self._armed_ms = None
        now_ms = self.node.clock.now_ms
        deadline_ms = self.machine.deadline_ms
        if deadline_ms is not None and deadline_ms <= now_ms:
            # The tick before the calls: it may change what the peers are told.
            self.handle(events.Tick())
            self._must_have_quorum()
        for peer in self.machine.peers:
            due_ms = self.machine.due_ms(peer)
            if due_ms is None or due_ms > now_ms:
                continue
            beats = self.machine.heartbeats if self.simulation.plan.two_groups else None
            if beats and beats.put_off(peer, now_ms):
                self._beat_in_other_group(peer)
            else:
                self._call(peer)
        if not self.node.crashed:
            self._arm()

    # the other group that its process and each peer's have in common

    def _beat_in_other_group(self, peer: Process) -> None:
        if address := self.machine.address_of(peer):
            data = codec.encode(Frame(OTHER_GROUP, OTHER_GROUP, self.process, peer, Status(1)))
            self.world.network.call(
                self.node, address, data, lambda *end: self._on_other_end(peer, *end), SimConnection()
            )

    def _on_other_end(self, peer: Process, data: bytes | None, refused: bool, dead: bool) -> None:
        if data is None:
            # As a link does whose connection breaks: it is the one of both groups.
            self.machine.bring_forward(peer, self.node.clock.now_ms, limits.REST_MS)
            self._arm()
        elif isinstance(codec.decode_reply(data), Frame):
            self.heard_in_other_group(peer)

    def heard_in_other_group(self, peer: Process) -> None:
        """Take a call or an answer of another group: the peer's process lives, whether or not it is in this one."""
        if beats := self.machine.heartbeats:
            beats.heard(peer, self.node.clock.now_ms)

    # its calls

    def _call(self, peer: Process) -> None:
        """Put to a peer what there is for it, one frame after the other."""
        if self.node.paused:
            self.node.run(lambda: self._call(peer))
            return
        address = self.machine.address_of(peer)
        while not (self.node.crashed or self.node.paused or peer in self._in_hand or address is None):
            # Taking a frame numbers own messages and delivers them here. These effects happen before the frame leaves,
            # and the process may die between them.
            frame, effects = self.machine.take(peer, self.node.clock.now_ms)
            if frame is not None:
                self._in_hand.add(peer)
            if effects:
                self._carry_out(effects)
            if frame is None or self.node.crashed:
                return
            self._put_or_stall(frame, address)

    def _put_or_stall(self, frame: Frame, address: Address) -> None:
        if self.node.paused:  # over an effect's call: the frame is in its hands
            self.node.run(lambda: self._put(frame, address))
        else:
            self._say(frame, lambda: self._put(frame, address))

    def _say(self, frame: Frame, put: Callable[[], None], broken: Callable[[], None] = lambda: None) -> None:
        """Send a call or a reply, unless a failpoint makes the process crash or pause over it."""
        event = self.world.failpoints.at_call(self, frame)
        # `last`: the frame goes out, and then the process dies: the peer knows what the process never
        # hears an answer to.
        if event is None or event.last:
            put()
        if event is None:
            return
        if event.kind is Fault.STALL:
            self.node.pause_for(event.for_ms)
            if not event.last:
                self.node.run(put)
        else:
            self.node.crash()
            if not event.last:
                broken()

    def _put(self, frame: Frame, address: Address) -> None:
        network, data, peer = self.world.network, codec.encode(frame), frame.target
        self._log_before_frame()
        connection = self._connections.get(peer)
        if connection is None:
            connection = self._connections[peer] = SimConnection()
        network.call(self.node, address, data, lambda *end: self._on_end(peer, connection, *end), connection)
        self.world.failpoints.echo(self, frame, lambda: network.echo(self.node, address, data))
        self._in_hand.discard(peer)

    def _on_end(self, peer: Process, connection: SimConnection, data: bytes | None, refused: bool, dead: bool) -> None:
        if data is not None:
            connection.replies.append(reply := codec.decode_reply(data))
            if isinstance(reply, Frame):
                self._heard(peer)
            if connection.has_next:
                return  # as a node's reader takes what came together
        superseded, replies, connection.replies = 0, connection.replies, []
        for reply, later in zip_longest(replies, replies[1:]):
            if later is not None and supersedes(later, reply):
                superseded += 1
                continue
            self.handle(events.Replied(peer, reply, superseded + 1))
            superseded = 0
        if data is None:
            self._connections.pop(peer, None)
            self.handle(events.CallFailed(peer, refused, dead))

    # its log

    def _record(self, effect: Effect) -> None:
        self.simulation.note(self.process, effect)
        if isinstance(effect, OfUnicast):
            self.checker.envelopes.see(self.process, effect, self.node.clock.now_ms)
        elif isinstance(effect, DoubtSettled):
            self.checker.see(self.process, effect)
        elif isinstance(effect, Sent | Deliver | Skip | Installed | Quorum | SetState | Suspected | Ended):
            self.checker.see(self.process, effect)
            self.simulation.continuity.see(self.machine.instance, self.process, effect)
            definition = self.machine.definition
            if self.simulation.log_dir and definition:
                # Not before the first record: who never got in has no log, as in the runtime.
                if self._log is None:
                    self._log = DeliveryLog(
                        self.simulation.log_dir,
                        self.process,
                        wall_ns=_WALL_NS,
                        clock_us=lambda: self.node.clock.now_ms * 1000,
                        on_trouble=self.simulation.on_trouble,
                    )
                self._log.record(definition, self.machine.instance, effect)

    def confirm(self, number: int) -> None:
        """Log that the application was told that a majority holds its message, as `send(held_by=...)` does."""
        definition, view = self.machine.definition, self.machine.view
        if view:
            others = {*self.machine.lacking(number), *self.machine.newcomers(number)}
            holders = [member for member in view.members if member not in others]
            self.simulation.continuity.on_confirmed(self.machine.instance, self.process, number, holders)
        if self._log and definition and view:
            self._log.confirm(definition, self.machine.instance, view.number, number, "majority")

    def _log_before_frame(self) -> None:
        if self._log:
            self._log.flush_before_frame()

    def lose_log(self, whole: bool) -> None:
        """Crash the log: it ends here, or where it last had to be written."""
        if self._log:
            if whole:
                # The kernel had it all; else only what had to be written before a frame left is there, as
                # after a real crash.
                self._log.flush()
            self._log.abandon()
            self._log = None

    def exit(self) -> None:
        """End the process, and seal its log."""
        self.handle(events.Exit())
        if self._log:
            self._log.close()
