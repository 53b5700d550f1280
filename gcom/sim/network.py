"""Calls between nodes: each is a request on its way there and a reply on its way back, and either may be lost.

The ends of a call (docs/protocols/link.md): calls of one connection arrive in order, and so do their replies. A broken
connection, a refusal, or the caller's timeout ends all that are unanswered, and the caller learns it once. A call that
ended so may still arrive, a bounded time later and after calls that were made since, from the buffers of the broken
connection; but none that was put behind one that was lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Protocol

from gcom.core.messages.frames import Reply
from gcom.sim.clock import Clock
from gcom.sim.plan.events import REFUSED, Fault, TroubleEvent
from gcom.sim.simulation import Simulation
from gcom.values.names import Address

CALL_TIMEOUT_MS = 2_500  # of the caller's clock, as gcom/runtime/links/link.py
LATE_MS_MAX = 4_000  # no call arrives later than this after it was made, a pause of the callee not counted
STORM_RATE = 0.4  # nearly every exchange needs a second try, and none so many that it is given up
DELAYED_MS = (10, 400)  # from, to
RESENT_MS = (200, 600, 1_400, 3_000)  # a packet that is not acknowledged is sent again so long after the first time

ReplyTo = Callable[[bytes | None], None]  # the callee's reply; None: it broke off
# The end of a call: its reply, or None if it failed; then whether nobody listened there, and whether the callee's life
# is proven to be over.
End = Callable[[bytes | None, bool, bool], None]


class NetworkNode(Protocol):
    """A process, as the network sees it. After a crash it `refuses` calls, unless its whole machine is gone."""

    name: str
    address: Address
    clock: Clock
    crashed: bool
    paused: bool
    refuses: bool

    def run(self, action: Callable[[], None]) -> None: ...

    def receive(self, data: bytes, answer: ReplyTo) -> None: ...


class AddressBook(Protocol):
    """The map from addresses to the nodes that listen there, and to proof that the life they name is over."""

    def at_address(self, address: Address) -> NetworkNode: ...

    def is_proven_dead(self, address: Address) -> bool: ...


@dataclass(slots=True)
class _NetworkCut:
    """A break in the network. `blocks` are the pairs (from, to) whose packets are lost.

    `fast`: the caller learns of it at once. `refuses`: what it learns is that nobody listens there.
    """

    blocks: set[tuple[str, str]]
    fast: bool
    refuses: bool = False
    counted: bool = False


class Network:
    """The network: it decides the fate of each packet from a random stream of its own."""

    def __init__(self, simulation: Simulation, addresses: AddressBook, rng: Random) -> None:
        self.healed = True  # until faults begin, and after they end
        self.stormy = False  # while this is true, calls break far more often
        self._simulation = simulation
        self._plan = simulation.plan
        self._addresses = addresses
        self._rng = rng
        self._cuts: list[tuple[Fault, _NetworkCut]] = []
        self._delayed: set[str] = set()
        self._slow: dict[str, int] = {}  # by name: the largest delay added to its packets, in ms
        self._latest: dict[tuple[Address, Address], int] = {}  # by caller and callee: the latest-made call that arrived
        self._made = 0

    # faults

    def cut(self, event: TroubleEvent, one: str, other: str) -> None:
        """Break the link between two nodes: both ways, or only for packets from the first to the other."""
        blocks = {(one, other), (other, one)} if event.detail == "both ways" else {(one, other)}
        self._break(event, _NetworkCut(blocks, fast=False))

    def split(self, event: TroubleEvent) -> None:
        """Split the network into sides that do not reach each other; a node on no side still reaches all."""
        sides = event.sides
        # Of different sides, both ways; who is on no side is in no pair.
        blocks = {(a, b) for mine in sides for side in sides if side is not mine for a in mine for b in side}
        refuses = event.detail == REFUSED
        self._break(event, _NetworkCut(blocks, refuses or event.detail == "unreachable", refuses))

    def _break(self, event: TroubleEvent, cut: _NetworkCut) -> None:
        assert isinstance(event.kind, Fault), "members do not break the network"
        self._cuts.append((event.kind, cut))

        def mend() -> None:
            self._cuts = [entry for entry in self._cuts if entry[1] is not cut]

        self._simulation.at(event.for_ms, mend)

    def slow(self, name: str, event: TroubleEvent) -> None:
        """Slow down all calls from and to a member."""
        self._slow[name] = event.count

        def recover() -> None:
            self._slow.pop(name, None)

        self._simulation.at(event.for_ms, recover)

    def delay_packets_of(self, name: str) -> None:
        """Delay every packet that the node of this name sends from now on."""
        self._delayed.add(name)

    def stop_delaying(self, name: str) -> None:
        """Stop delaying the packets of a name: another process begins under it."""
        self._delayed.discard(name)

    def heal(self) -> None:
        self.healed = True
        self._delayed.clear()
        self._cuts.clear()
        self._slow.clear()

    def blocked(self, one: str, other: str) -> _NetworkCut | None:
        """Return the break that blocks packets from one name to another, if there is one."""
        for kind, cut in self._cuts:
            if (one, other) in cut.blocks:
                # A cut counts as a fault when it has stopped a packet, not when it is drawn: a run must show
                # what it was for.
                if not cut.counted:
                    cut.counted = True
                    self._simulation.count(kind)
                return cut
        return None

    def connects(self, one: NetworkNode, address: Address) -> bool:
        """Return whether a node and the one at an address, which runs, could call each other now."""
        other = self._addresses.at_address(address)
        pairs = {(one.name, other.name), (other.name, one.name)}
        return not (other.crashed or other.paused) and not any(pairs & cut.blocks for _, cut in self._cuts)

    # calls

    def call(self, caller: NetworkNode, address: Address, data: bytes, end: End, connection: SimConnection) -> None:
        """Put a frame to the node that listens at an address, behind what was put over the connection before."""
        self._made += 1
        self._new_call(caller, address, data, end, connection).begin()

    def echo(self, caller: NetworkNode, address: Address, data: bytes) -> None:
        """Repeat a call that was made before."""
        call = self._new_call(caller, address, data, lambda reply, refused, dead: None, SimConnection())
        self._simulation.at(self.leg_ms(), call.arrive_late)

    def _new_call(
        self, caller: NetworkNode, address: Address, data: bytes, end: End, connection: SimConnection
    ) -> _SimCall:
        return _SimCall(self._simulation, self._addresses, self, caller, address, data, end, self._made, connection)

    def draws(self, kind: Fault) -> bool:
        """Draw whether a fault that has a rate hits the call at hand."""
        # A rate of 0 draws no number, so plans without a fault are not disturbed by the question.
        rate = 0.0 if self.healed else self._plan.rates.get(kind, 0.0)
        if self.stormy and kind is Fault.LOSS:
            rate = STORM_RATE
        return rate > 0 and self._rng.random() < rate

    def carry(self, one: str, other: str, action: Callable[[], None], on_broken: Callable[[], None]) -> None:
        """Carry a packet from one node to another. Across a break that is not `fast`, TCP tries again."""
        cut = self.blocked(one, other)
        # 1. Without a cut the packet arrives, a little later. 2. Across a `fast` one the caller is told, as by a
        #    router. 3. Across a silent one TCP sends again at growing intervals, and succeeds if the cut heals
        #    meanwhile; the call's own time-out runs beside it.
        if cut is None:
            late_ms = self.between(*DELAYED_MS) if one in self._delayed else 0
            self._simulation.at(self.leg_ms(one, other) + late_ms, action)
        elif cut.fast:
            self._simulation.at(self.leg_ms(), on_broken)
        else:
            self._carry_again(one, other, action, 0)

    def _carry_again(self, one: str, other: str, action: Callable[[], None], tries: int) -> None:
        # RESENT_MS counts from the first time, `at` from now.
        waited_ms = RESENT_MS[tries - 1] if tries else 0

        def again() -> None:
            if self.blocked(one, other) is None:
                action()
            elif tries + 1 < len(RESENT_MS):
                self._carry_again(one, other, action, tries + 1)

        self._simulation.at(RESENT_MS[tries] - waited_ms, again)

    def happens(self, kind: Fault) -> bool:
        """Draw whether a fault hits the call, and count it if so."""
        drawn = self.draws(kind)
        if drawn:
            self._simulation.count(kind)
        return drawn

    def leg_ms(self, *names: str) -> int:
        """Return the milliseconds of one packet, longer where a slow member is among `names`."""
        delay_ms = self._rng.randint(1, self._plan.delay_ms)
        # Of either end: a slow member is late with what it sends, and with what it receives.
        for name in names:
            if name in self._slow:
                self._simulation.count_once(Fault.SLOW_MEMBER, name)
                delay_ms += self._rng.randint(self._slow[name] // 2, self._slow[name])
        if self.happens(Fault.DELAY):
            delay_ms += self.late_ms(2_000)
        return delay_ms

    def late_ms(self, most_ms: int) -> int:
        """Return a delay, in most cases a short one, so that the packet is late among those sent soon after."""
        return self._rng.randint(10, 300) if self._rng.random() < 0.6 else self._rng.randint(300, most_ms)

    def between(self, low: int, high: int) -> int:
        return self._rng.randint(low, high)

    def arrived(self, caller: Address, callee: Address, made: int) -> None:
        """Record the arrival of a call; one made before another that has arrived counts as reordered."""
        # Only what really came behind a later call counts: most late calls have none to be late for.
        if made < self._latest.get((caller, callee), 0):
            self._simulation.count(Fault.REORDERING)
        else:
            self._latest[caller, callee] = made


class SimConnection:
    """A caller's calls to one address, until the first of them fails: in order there, and their replies back."""

    def __init__(self) -> None:
        self.broken = False
        self.replies: list[Reply] = []  # that the caller takes together with the next end
        self._under_way: deque[_SimCall] = deque()  # to the callee
        self._here: deque[_SimCall] = deque()  # at the callee, which takes one after the other
        self._unanswered: deque[_SimCall] = deque()
        self._ends: deque[Callable[[], None]] = deque()  # at the caller, which takes one after the other

    @property
    def idle(self) -> bool:
        """Return whether every call was answered."""
        return not self._unanswered

    @property
    def has_next(self) -> bool:
        """Return whether more ends are at the caller, which takes them now."""
        return bool(self._ends)

    def put(self, call: _SimCall) -> None:
        self._under_way.append(call)
        self._unanswered.append(call)

    def arrived(self, call: _SimCall) -> None:
        """Take a call's packet. The callee takes calls in their order, so it takes none behind one that was lost."""
        call.arrived = True
        while self._under_way and self._under_way[0].arrived:
            self._under_way[0].arrive(self._here.append, self._next_request)
            self._under_way.popleft()

    def _next_request(self, callee: NetworkNode) -> None:
        self._here.popleft().take(callee)

    def replied(self, call: _SimCall, end: Callable[[], None]) -> int:
        """Take a reply's packet; return how many calls, the oldest first, are answered now that it is here."""
        call.end_here = end
        count = 0
        while self._unanswered and (ready := self._unanswered[0].end_here):
            self._ends.append(ready)
            self._unanswered.popleft().close()
            count += 1
        return count

    def fail(self, end: Callable[[], None]) -> None:
        """End all calls that are unanswered."""
        self.broken = True
        while self._unanswered:
            self._unanswered.popleft().close()
        self._ends.append(end)

    def next_end(self) -> None:
        self._ends.popleft()()


class _SimCall:
    """A call; its caller learns its end once."""

    def __init__(
        self,
        simulation: Simulation,
        addresses: AddressBook,
        network: Network,
        caller: NetworkNode,
        address: Address,
        data: bytes,
        end: End,
        made: int,
        connection: SimConnection,
    ) -> None:
        self._simulation, self._addresses, self._network = simulation, addresses, network
        self._caller, self._address = caller, address
        self._data, self._end, self._made = data, end, made
        self._connection = connection
        self._over = False
        self.arrived = False  # its packet
        self.end_here: Callable[[], None] | None = None  # its reply's packet is at the caller

    def close(self) -> None:
        """Tell the caller nothing more."""
        self._over = True

    def begin(self) -> None:
        simulation, network, caller = self._simulation, self._network, self._caller
        self._connection.put(self)
        callee = self._addresses.at_address(self._address)
        # By the caller's clock, which may drift: a time-out of 2.5 s is one of its own seconds.
        simulation.at(caller.clock.true_ms(CALL_TIMEOUT_MS), self._break)
        if network.happens(Fault.LOSS):
            simulation.at(network.leg_ms(), self._break)
            # In half of the cases the call is lost on its way there, in half the answer on its way back: the caller
            # cannot tell, and the callee has done it.
            if network.between(0, 1):
                return
        elif network.draws(Fault.REORDERING):  # counted if it is overtaken
            simulation.at(network.leg_ms(), self._break)
            simulation.at(network.late_ms(LATE_MS_MAX), self.arrive_late)
            return
        cut = network.blocked(caller.name, callee.name)
        broken = self._refuse if cut and cut.refuses else self._break
        network.carry(caller.name, callee.name, lambda: self._connection.arrived(self), broken)
        if network.happens(Fault.DUPLICATION):
            simulation.at(network.late_ms(LATE_MS_MAX), self.arrive_late)

    def arrive_late(self) -> None:
        """Arrive late: from the buffers of a broken connection, or as a second copy."""
        callee = self._addresses.at_address(self._address)
        if self._network.blocked(self._caller.name, callee.name) is None:
            self.arrive(lambda call: None, self.take)

    def arrive(self, here: Callable[[_SimCall], None], serve: Callable[[NetworkNode], None]) -> None:
        """Hand the call to the node at the address; it may be another node than when the call was made."""
        callee = self._addresses.at_address(self._address)
        # A crashed process on a living machine has a kernel that refuses. A machine that is gone says nothing, and
        # only the caller's time-out ends the call.
        if not callee.crashed:
            here(self)
            callee.run(lambda: serve(callee))
        elif callee.refuses:
            self._reply(callee, None, refused=True)

    def take(self, callee: NetworkNode) -> None:
        self._network.arrived(self._caller.address, self._address, self._made)
        callee.receive(self._data, lambda reply: self._reply(callee, reply, refused=False))

    def _reply(self, callee: NetworkNode, reply: bytes | None, refused: bool) -> None:
        if not self._over:
            self._network.carry(callee.name, self._caller.name, lambda: self._finish(reply, refused), self._break)

    def _refuse(self) -> None:
        """Refuse the call: the caller is told that nobody listens there."""
        self._finish(None, True)

    def _break(self) -> None:
        """Break the connection, or let the caller time out."""
        self._finish(None, False)

    def _finish(self, reply: bytes | None, refused: bool) -> None:
        if self._over:
            return
        connection, dead = self._connection, reply is None and self._addresses.is_proven_dead(self._address)

        # As the caller's own action: a paused caller learns the end when it goes on, and a dead one never.
        def end() -> None:
            self._caller.run(connection.next_end)

        if reply is None:
            connection.fail(lambda: self._end(None, refused, dead))
            end()
        else:
            for _ in range(connection.replied(self, lambda: self._end(reply, False, False))):
                end()
