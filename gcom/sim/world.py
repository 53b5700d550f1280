"""A whole group in one process, one loop and one seed (TigerBeetle's VOPR: a phase with faults, then a healed one).

The machines are the ones that run on Pyro5; frames and requests pass through the same codecs. Safety is checked at
every step; after the heal the group must make progress (gcom/sim/faults/healing.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from gcom.sim.checkers import Violation
from gcom.sim.clock import Clock
from gcom.sim.faults.driver import FaultDriver
from gcom.sim.faults.failpoints import Failpoints
from gcom.sim.faults.healing import Healing
from gcom.sim.faults.stranger import Stranger
from gcom.sim.network import Network, NetworkNode
from gcom.sim.node import SimNode
from gcom.sim.plan.events import Fault, Move, TroubleEvent
from gcom.sim.plan.plan import KINDS_MIN, Plan
from gcom.sim.registries import Registries
from gcom.sim.registry import Registry
from gcom.sim.simulation import Simulation
from gcom.values import limits
from gcom.values.names import Address, Process

EXTRA_MS = 10_000  # so much longer faults may last, until three kinds have happened
STATE_CHUNK_BYTES = 12  # so that even a small state takes several chunks, and something may happen between them
MESSAGE_BYTES = 60  # of a window's bytes for each of its messages; where they are long, the bytes fill first
UNICASTS_UNREAD, REQUESTS_UNSERVED = 4, 2  # small, so that both bounds are met in every run that posts
SILENT_MS = 1_000  # so long before the heal applications fall silent, where they do
FORMED_MS = 10_000  # without faults the first members are in one view by then


class World:
    """The parts of one run put together, and the processes in it, by name, port and life."""

    def __init__(self, plan: Plan, log_dir: Path | None = None) -> None:
        self.simulation = Simulation(plan, log_dir)
        self.nodes: dict[Address, NetworkNode] = {}  # by port, the node that listens now
        self._lives: dict[Address, SimNode] = {}  # the node that had it when its life was named
        self.network = Network(self.simulation, self, Random(f"network {plan.seed}"))
        self.failpoints = Failpoints(self.simulation, self.network, self)
        around = (self.simulation, self.network, self.is_proven_dead, self._on_accepted)
        self.registries = Registries([Registry(*around, number) for number in range(1, plan.registries + 1)])
        self._stranger = Stranger(self.simulation, self.registries.each, Random(f"lies {plan.seed}"))
        self.nodes[self._stranger.address.partition("@")[0]] = self._stranger
        # A stream per part: a change in how one draws leaves the others' draws as they were.
        self._rng = Random(f"world {plan.seed}")
        self._by_name: dict[str, SimNode] = {}
        self._everybody: list[SimNode] = []
        self._incarnations: dict[str, int] = {}

    @property
    def plan(self) -> Plan:
        return self.simulation.plan

    @property
    def registry(self) -> Registry:
        """The first registry, which is the only one in most runs."""
        return self.registries.first

    @property
    def now_ms(self) -> int:
        return self.simulation.now_ms

    @property
    def digest(self) -> str:
        return self.simulation.digest

    def until(self, end_ms: int, done: Callable[[], bool] | None = None) -> bool:
        """Run events until a time, or until `done`; return whether it is."""
        return self.simulation.until(end_ms, done)

    # nodes

    @property
    def everybody(self) -> list[SimNode]:
        """Return all nodes there ever were, dead ones too."""
        return self._everybody

    @property
    def living(self) -> list[SimNode]:
        """Return the nodes that have not crashed, one per name."""
        return [node for node in self._by_name.values() if not node.crashed]

    def at_address(self, address: Address) -> NetworkNode:
        """Return the node that listens at an address now, whichever life it names."""
        return self.nodes[address.partition("@")[0]]

    def is_proven_dead(self, address: Address) -> bool:
        """Tell whether the kernel proves a life to be over; that of a machine that is gone says nothing."""
        node = self._lives.get(address, self._stranger)
        return node.crashed and node.refuses

    def node(self, name: str) -> SimNode | None:
        """Return the node that has a name now, dead or alive; None if it has not started."""
        return self._by_name.get(name)

    def next_process(self, name: str) -> Process:
        self._incarnations[name] = self._incarnations.get(name, 0) + 1
        # As in reality no two processes have one incarnation, of which the ids of instances are made, where a name may
        # be begun at two registries: the two would be taken for one.
        return f"{name}#{self._incarnations[name]}{name if self.plan.registries > 1 else ''}"

    def start(self, name: str, address: Address | None = None) -> None:
        node = self._by_name[name] = self._new(name, address)
        self.network.stop_delaying(name)
        node.enter()

    def _new(self, name: str, address: Address | None = None) -> SimNode:
        rate, offset_ms = self.plan.drift[self.plan.names.index(name)]
        if rate != 1000:
            self.simulation.count_once(Fault.DRIFT, name)
        # Never used twice: a life names one process of the whole run.
        count = len(self._everybody)
        # The address names a life, `port@host.life`: a second process at the same port has another one.
        place = address.partition("@")[0] if address else f"{name}-{count}:1"
        clock = Clock(lambda: self.now_ms, rate, offset_ms)
        node = SimNode(self, name, f"{place}@sim.{count}", clock, Random(f"{self._rng.random()}"))
        self.nodes[place] = self._lives[node.address] = node
        self._everybody.append(node)
        return node

    def join(self, name: str, before: str = "") -> None:
        """Start a process that was not there from the beginning; at the port of `before`, if that one is dead."""
        if self.node(name) is None:
            self.simulation.count_move(Move.JOIN)
            dead = self.node(before)
            self.start(name, dead.address if dead and dead.crashed else None)

    def intrude(self, name: str) -> None:
        """Start a second process under the name of a member: it gets in only if the first is found to be gone."""
        holder = self.node(name)
        if holder and holder.is_member:
            node = self._new(name)
            node.intrudes = True
            self.simulation.count_move(Move.INTRUDE)
            node.enter()

    def replace(self, node: SimNode) -> None:
        """Note that a second process under a name is in: the first one is started no more."""
        holder = self._by_name[node.name]
        self._by_name[node.name] = node
        # Two processes under one name: the group took the second one because the first was silent. It is killed, so
        # that one program goes on.
        if not holder.crashed:
            holder.crash()

    def restart_later(self, node: NetworkNode, event: TroubleEvent) -> None:
        """Start a node again that crashed, or crashes now, after the event's `for_ms`; 0: not before all is healed."""
        if event.for_ms:
            self.simulation.at(event.for_ms, lambda: self.restart(node, same_port=event.detail == "same port"))

    def restart(self, node: NetworkNode, same_port: bool = False) -> None:
        """Restart a crashed process unless that was done; at its old port only where no other listens there."""
        if self._by_name[node.name] is node:
            self.simulation.count(Fault.RESTART)
            # A newcomer may have got the port meanwhile (plan/boundaries.py, another listens at a dead port).
            free = self.at_address(node.address) is node
            self.start(node.name, node.address if same_port and free else None)

    def come_back(self, node: SimNode) -> None:
        """Have a member that left enter again."""
        if self._by_name[node.name] is node and node.away and not node.crashed:
            self.simulation.count_move(Move.JOIN)
            node.come_back()

    def gather(self) -> None:
        """Bring back all that crashed or left."""
        self.simulation.count_move(Move.GATHER)
        for node in list(self._by_name.values()):
            if node.crashed:
                self.restart(node)
            else:
                self.come_back(node)

    @property
    def may_crash(self) -> bool:
        """Tell whether one more may crash: the plan bounds how many are dead at a time, and one lives."""
        dead = sum(node.crashed for node in self._by_name.values())
        return dead < self.plan.crashed_max and sum(not n.away for n in self.living) > 1

    @property
    def may_leave(self) -> bool:
        return sum(not node.away for node in self._by_name.values()) > 2

    def _on_accepted(self, address: Address) -> None:
        self.failpoints.accepted(self._lives[address])

    # the run

    def run(self) -> None:
        """Carry out the plan, then the healed phase; raise Violation with what went wrong."""
        with _bounds(self.plan):
            try:
                self._form()
                self._run_faulty_phase()
                Healing(self.simulation, self.network, self.registries, self, self._rng).run()
                self._must_have_happened()
                self.close_logs()
            except Violation as violation:
                # With the time: there a reader of the run's logs begins to look.
                raise Violation(f"{violation} (at {self.now_ms} ms)") from None

    def close_logs(self) -> None:
        """End every process that did not crash, and its log with it."""
        for node in self._everybody:
            if not node.crashed:
                node.paused = False
                for session in node.sessions.values():
                    session.exit()

    def _form(self) -> None:
        names = self.plan.names
        early = names[: len(names) - self.plan.late]
        for name in early:
            self.simulation.at(self._rng.randint(0, 40), lambda name=name: self.start(name))  # type: ignore[misc]
        # Cold: faults begin while the founders still look for each other.
        if not self.plan.cold:
            formed = self.until(self.now_ms + FORMED_MS, lambda: self._have_formed(len(early)))
            if not formed:
                raise Violation(f"STUCK: without any fault there is no group: {self.describe()}")

    def _have_formed(self, count: int) -> bool:
        views = [node.session.machine.view for node in self.living if node.is_member]
        return len(views) == count and len({view.members for view in views if view}) == 1

    def _run_faulty_phase(self) -> None:
        self.simulation.begin_faults()
        self.network.healed = False
        FaultDriver(self.simulation, self.network, self.registries, self.failpoints, self).schedule()
        self.until(self.now_ms + self.plan.fault_ms)
        if self.plan.stranger:
            self._stranger.begin()
        happened = self.simulation.happened
        self.until(self.now_ms + EXTRA_MS, lambda: len(happened) >= KINDS_MIN)  # where there was little traffic
        if self.plan.silent:
            self.simulation.silent = True
            self.until(self.now_ms + SILENT_MS)
        self.simulation.faults_over = True
        self.failpoints.disarm()
        for registry in self.registries.each:
            registry.disarm()

    def describe(self) -> str:
        return "; ".join(node.describe() for node in self._by_name.values())

    def _must_have_happened(self) -> None:
        """Raise Violation for a run that shows nothing: too few faults or messages."""
        shown = self.simulation
        if not shown.has_enough:
            # A run in which nothing happened would pass every rule: it is a defect of the plan, and fails.
            raise Violation(f"VACUOUS: {shown.messages} messages sent, {shown.deliveries} delivered")
        if len(shown.happened) < KINDS_MIN:
            raise Violation(f"VACUOUS: only {', '.join(sorted(shown.happened)) or 'nothing'} went wrong")


@contextmanager
def _bounds(plan: Plan) -> Iterator[None]:
    """Smaller windows, so that they fill, smaller chunks, so that a state has many, and smaller frames, so that
    messages go in fragments: all are put back.
    """
    load_bytes = min(plan.load_bytes, limits.LOAD_BYTES_MAX)
    small = {
        # A run has some 500 messages in 10 s: with the real bounds no window, state or frame would ever be full.
        "WINDOW_MESSAGES_MAX": plan.window,
        "WINDOW_BYTES_MAX": plan.window * MESSAGE_BYTES,
        "UNICASTS_UNREAD_MAX": UNICASTS_UNREAD,
        "REQUESTS_UNSERVED_MAX": REQUESTS_UNSERVED,
        "STATE_CHUNK_BYTES": STATE_CHUNK_BYTES,
        "LOAD_BYTES_MAX": load_bytes,
        # A run must fit into a frame with its header; else every run would be cut into fragments.
        "RUN_BYTES_MAX": min(load_bytes - 64, limits.RUN_BYTES_MAX),
    }
    usual = {name: getattr(limits, name) for name in small}
    _set(small)
    try:
        yield
    finally:
        _set(usual)


def _set(bounds: dict[str, int]) -> None:
    for name, bound in bounds.items():
        setattr(limits, name, bound)
