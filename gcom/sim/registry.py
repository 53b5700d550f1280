"""The registry's process: the directory behind its codec. It may be out of reach, and when it starts again it knows
only what is on its disk: the rows of its table, and its votes as a witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gcom.core.codec import sequencer as sequencer_codec
from gcom.core.codec.registry import (
    decode_answer,
    decode_request,
    decode_row,
    encode_answer,
    encode_request,
    encode_row,
)
from gcom.core.directory.rows import DissolvedInstance, Row, Store
from gcom.core.directory.table import Directory
from gcom.core.directory.witness import Witness, WitnessRecord
from gcom.core.messages.orders import Orders
from gcom.core.messages.registry import Answer, Done, Fork, GroupInfo, Lookup, Note, Request
from gcom.core.messages.sequencer import SequencerAnswer, SequencerRequest
from gcom.core.messages.witness import WitnessAccept, WitnessDecided
from gcom.core.ordering.sequencer import Sequencer
from gcom.sim.network import LATE_MS_MAX, Network, NetworkNode
from gcom.sim.plan.events import FORGETS, NOTED, ORDER, REGISTRY, STOPPED, VOTE, Fault, Move, TroubleEvent
from gcom.sim.simulation import Simulation
from gcom.values import limits
from gcom.values.names import Address

ASK_TIMEOUT_MS = 2_500  # of the asker's clock, as gcom/runtime/registry/directory_client.py


class _Disk(Store):
    """The disk of a registry, which survives its restart."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._gone: dict[str, DissolvedInstance] = {}

    def rows(self) -> Iterable[Row]:
        return map(decode_row, self._rows.values())

    def dissolved(self) -> Iterable[DissolvedInstance]:
        return self._gone.values()

    def save(self, row: Row) -> None:
        self._rows[row.definition.group] = encode_row(row)

    def drop(self, group: str) -> None:
        del self._rows[group]

    def bury(self, gone: DissolvedInstance) -> None:
        self._gone[gone.group] = gone

    def forget(self, group: str) -> None:
        del self._gone[group]


class _Ids:
    """The ids of one registry, which outlive its disk as a sealed id does (registry/gcom_registry/minting.py)."""

    def __init__(self, registry: int) -> None:
        # Of two registries none gives an id that the other has given.
        self._prefix = "i" if registry == 1 else f"i{registry}"
        self._given: set[str] = set()

    def new(self, group: str) -> str:
        minted = f"{self._prefix}{len(self._given) + 1:04d}"
        self._given.add(minted)
        return minted

    def is_own(self, group: str, origin: str) -> bool:
        return origin in self._given


class Registry:
    """The registry's process. `on_accepted` is called with the proposer of a succession, before that one knows."""

    def __init__(
        self,
        simulation: Simulation,
        network: Network,
        is_proven_dead: Callable[[Address], bool],
        on_accepted: Callable[[Address], None],
        number: int = 1,
    ) -> None:
        # No member has these names.
        self.name = REGISTRY if number == 1 else f"{REGISTRY} {number}"
        self.address: Address = f"registry{number}:7411"
        self._number = number
        self._simulation = simulation
        self._network = network
        self._is_proven_dead = is_proven_dead
        self._on_accepted = on_accepted
        self._ids = _Ids(number)
        self._ticks = 0
        self._down = ""  # how it is out of reach; empty while it is not
        self._downs = 0
        self._outage = False
        self._disk: dict[str, WitnessRecord] = {}
        self._store = _Disk()
        self._armed: list[TroubleEvent] = []  # restarts and outages that happen after the next answer of a kind
        self._queued: list[Callable[[], None]] = []  # requests to a stopped registry, carried out when it runs again
        # The first one of a run waits for nobody: there was no registry before it.
        self._begin_life(grace_ms=0)
        self._tick()

    def _begin_life(self, grace_ms: int) -> None:
        """Make the objects of a new process; it grants no claim for `grace_ms`."""

        def save(record: WitnessRecord) -> None:
            self._disk[record.instance] = record

        # From the disk: its votes outlive the process, and so do its rows (`_store`); nothing else of its memory does.
        witness = Witness(self._disk.values(), save)
        self.directory = Directory(self._ids, witness, self._store, grace_ms=grace_ms)
        # A new one knows nothing: it is soft state, which the leader opens anew (ARCHITECTURE 7).
        self.sequencer = Sequencer()

    def _tick(self) -> None:
        self._ticks += 1
        # A stopped process does not tick. When it runs again its own pause shows it that time passed
        # without it (ARCHITECTURE 11).
        if self._down != STOPPED:
            self.directory.tick(self._simulation.now_ms)
            if self._ticks % limits.REAP_TICKS == 0:
                self._bury()
        self._simulation.at(limits.TICK_MS, self._tick)

    def _bury(self) -> None:
        """Remove groups whose members are all dead, as their kernels say (registry/gcom_registry/server.py)."""
        for entry in self.directory.doubted:
            seats = [*zip(entry.members, entry.addresses, strict=True), *entry.others]
            dead = [who for who, address in seats if self._is_proven_dead(address)]
            self.directory.bury(entry.definition.group, entry.instance, entry.view, dead)

    # faults

    def fail(self, event: TroubleEvent) -> None:
        """Be out of reach for a while: at once, or right after the answer that the event names."""
        if event.until == NOTED:
            self._armed.append(event)
        else:
            self._fail(event)

    def _fail(self, event: TroubleEvent) -> None:
        self._outage = True
        self._go_down(event.detail, event.for_ms)

    def arm(self, event: TroubleEvent) -> None:
        """Restart at once, or right after an answer of the kind that the event names."""
        if event.detail == VOTE or (event.detail == ORDER and self._simulation.plan.definition.total):
            self._armed.append(event)
        else:
            self.restart(event)

    def fork(self) -> None:
        """Take an operator's order for the instance that is in the table."""
        group, now_ms = self._simulation.plan.definition.group, self._simulation.now_ms
        entry = self.directory.ask(Lookup(group), now_ms)
        answer = self.directory.ask(Fork(group, entry.instance), now_ms) if isinstance(entry, GroupInfo) else entry
        if isinstance(answer, GroupInfo):
            self._simulation.count_move(Move.FORK)
            self._simulation.continuity.on_fork()

    def disarm(self) -> None:
        self._armed.clear()

    def _answered(self, kind: str) -> None:
        event = next((event for event in self._armed if kind in (event.detail, event.until)), None)
        if event:
            self._armed.remove(event)
            happens = self._fail if event.kind is Fault.OUTAGE else self.restart
            self._simulation.at(0, lambda event=event: happens(event))  # type: ignore[misc]

    def restart(self, event: TroubleEvent) -> None:
        """Be gone for a while, then come back with what is on the disk, if that is still there."""
        self._simulation.count(Fault.AMNESIA)
        # Requests in its sockets die with the process; those of a stopped one do not (queue()).
        self._queued.clear()
        self._outage = False
        if event.detail == FORGETS:
            self._disk, self._store = {}, _Disk()
        # Without its disk it must wait longer before it grants a claim: it does not even know which
        # groups may come back.
        self._begin_life(limits.FORGOTTEN_GRACE_MS if event.detail == FORGETS else limits.START_GRACE_MS)
        if event.for_ms:
            self._go_down("unreachable", event.for_ms)

    def _go_down(self, how: str, for_ms: int) -> None:
        self._down = how
        self._downs += 1
        # A second outage may begin before the first one's end: then that end is not the end.
        this = self._downs
        self._simulation.at(for_ms, lambda: self.heal() if this == self._downs else None)

    def heal(self) -> None:
        self._down = ""
        # The queue is emptied before its requests are carried out: an answer may lead to another outage.
        queued, self._queued = self._queued, []
        for arrive in queued:
            arrive()

    def queue(self, arrive: Callable[[], None]) -> None:
        """Queue a request in the socket of a stopped process."""
        self._queued.append(arrive)

    # requests

    def ask(self, node: NetworkNode, request: Request, done: Callable[[Answer | None], None]) -> None:
        """Put a request; its answer, or the lack of one, comes once. A failed request may be carried out later."""

        def finish(answer: bytes | None) -> None:
            done(decode_answer(answer) if answer else None)

        data = encode_request(request)
        _RegistryCall(
            self._simulation, self._network, self, node, data, lambda data: self._answer(node, data), finish
        ).begin(again=True)

    def _answer(self, node: NetworkNode, data: bytes) -> bytes:
        request = decode_request(data)
        answer = self.directory.ask(request, self._simulation.now_ms)
        # The events that wait for an answer fire behind it: a registry that dies between its disk and its answer is
        # the hardest moment for those who asked.
        if isinstance(answer, WitnessDecided):
            self._answered(VOTE)
            if isinstance(request, WitnessAccept) and answer.decision.succession:
                self._on_accepted(node.address)
        elif isinstance(request, Note) and isinstance(answer, Done):
            self._answered(NOTED)
        return encode_answer(answer)

    def ask_sequencer(
        self, node: NetworkNode, request: SequencerRequest, done: Callable[[SequencerAnswer | None], None]
    ) -> None:
        """Put a request to the sequencer of this life, at most once: a connection does not outlive the process."""
        sequencer = self.sequencer

        def answer(data: bytes) -> bytes | None:
            # A question that comes late meets another life, which knows nothing of its view, and must
            # not answer for it.
            if self.sequencer is not sequencer:
                return None
            answer = sequencer.ask(sequencer_codec.decode_request(data))
            if isinstance(answer, Orders) and answer.spans:
                self._answered(ORDER)
            return sequencer_codec.encode_answer(answer)

        def finish(answer: bytes | None) -> None:
            done(sequencer_codec.decode_answer(answer) if answer else None)

        data = sequencer_codec.encode_request(request)
        _RegistryCall(self._simulation, self._network, self, node, data, answer, finish).begin(again=False)

    @property
    def down(self) -> str:
        """Return how it is out of reach: "silent", "unreachable", STOPPED; empty if it is not."""
        if self._down and self._outage:
            self._simulation.count_once(Fault.OUTAGE, str(self._downs))
        return self._down


class _RegistryCall:
    """A request on its way there, and its answer on the way back."""

    def __init__(
        self,
        simulation: Simulation,
        network: Network,
        registry: Registry,
        node: NetworkNode,
        data: bytes,
        answer: Callable[[bytes], bytes | None],
        done: Callable[[bytes | None], None],
    ) -> None:
        self._simulation, self._network, self._registry = simulation, network, registry
        self._node, self._data = node, data
        self._answer, self._done = answer, done
        self._over = False

    def begin(self, again: bool) -> None:
        """Send the request. With `again` the client repeats it when its connection breaks, so it may come twice."""
        simulation, network, node = self._simulation, self._network, self._node
        simulation.at(node.clock.true_ms(ASK_TIMEOUT_MS), self._break)
        if network.happens(Fault.LOSS):
            simulation.at(network.leg_ms(), self._break)
            # Half of the losses are of the request and half of the answer: the asker cannot tell them apart.
            if network.between(0, 1):
                return
        network.carry(node.name, self._registry.name, self._arrive, self._break)
        if again and network.happens(Fault.DUPLICATION):
            simulation.at(network.late_ms(LATE_MS_MAX), self._arrive_late)

    def _arrive_late(self) -> None:
        if self._network.blocked(self._node.name, self._registry.name) is None:
            self._arrive()

    def _arrive(self) -> None:
        down = self._registry.down
        # Stopped: the request waits in the socket. Silent: nothing comes back, and only the asker's time-out ends it.
        # Unreachable: the failure comes back at once.
        if down == STOPPED:
            self._registry.queue(self._arrive)
        elif down != "silent":
            answer = None if down else self._answer(self._data)
            self._network.carry(self._registry.name, self._node.name, lambda: self._finish(answer), self._break)

    def _break(self) -> None:
        self._finish(None)

    def _finish(self, answer: bytes | None) -> None:
        if not self._over:
            self._over = True
            self._done(answer)
