"""A whole group in one process, one loop and one seed (TigerBeetle's VOPR: a phase with faults, then a healed one).

The machines are the ones that run on Pyro5; frames and requests pass through the same codecs. One heap of (time,
sequence) decides what happens next, so a seed is a run. Safety is checked at every step; after the heal the group must
make progress (gcom/sim/faults/healing.py).
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from gcom.core.messages.effects import Deliver, Effect, Installed, Sent, Skip
from gcom.errors import Unavailable
from gcom.sim.checkers import Checker, Violation
from gcom.sim.checks.continuity import Continuity
from gcom.sim.clock import Clock
from gcom.sim.faults.driver import FaultDriver
from gcom.sim.faults.failpoints import Failpoints
from gcom.sim.faults.healing import Healing
from gcom.sim.faults.trouble import Fault, Move
from gcom.sim.network import Network
from gcom.sim.node import SimNode
from gcom.sim.plan import KINDS_MIN, MESSAGES_MIN, Plan
from gcom.sim.registry import Registry
from gcom.values import limits
from gcom.values.names import Address, Process

CATCH_UP = 40  # messages to send as soon as possible, where faults let too few through
EXTRA_MS = 10_000  # so much longer faults may last, until three kinds have happened
LOOK_MS = 5  # so often it is looked whether what is waited for has come
STATE_CHUNK_BYTES = 12
MESSAGE_BYTES = 60  # of a window's bytes for each of its messages; where they are long, the bytes fill first
UNICASTS_UNREAD, REQUESTS_UNSERVED = 4, 2
SILENT_MS = 1_000  # so long before the heal applications fall silent, where they do
FORMED_MS = 10_000  # without faults the first members are in one view by then


class World:
    """One run of a plan. `run` returns nothing and raises Violation with what went wrong."""

    def __init__(self, plan: Plan, log_dir: Path | None = None) -> None:
        self.plan = plan
        self.log_dir = log_dir
        self.now_ms = 0
        self.submitted = 0  # messages handed over by all applications
        self.silent = False  # no application sends
        self.happened: dict[str, int] = {}  # faults, by kind
        self.moves: dict[str, int] = {}
        self.checkers: dict[str, Checker] = {}  # by instance
        self.continuity = Continuity(plan.definition)  # the one promise that spans instances
        self.nodes: dict[Address, SimNode] = {}  # who has a port now
        self._lives: dict[Address, SimNode] = {}  # who had it when its life was named
        self.network = Network(self, plan, Random(f"network {plan.seed}"))
        self.failpoints = Failpoints(self)
        self.faults = FaultDriver(self)
        self._rng = Random(f"world {plan.seed}")
        self._by_name: dict[str, SimNode] = {}
        self._everybody: list[SimNode] = []
        self._incarnations: dict[str, int] = {}
        self._once: set[tuple[Fault, str]] = set()
        self._faulty_since: int | None = None
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self.registry = Registry(self)
        self._digest = hashlib.sha256()

    # the loop

    def at(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Do something later; equal times happen in the order in which they were asked for."""
        self._sequence += 1
        heapq.heappush(self._heap, (self.now_ms + delay_ms, self._sequence, action))

    def until(self, end_ms: int, done: Callable[[], bool] | None = None) -> bool:
        """Let things happen until a time, or until something is the case; returns whether it is."""
        heap = self._heap
        look_ms = 0
        while heap and heap[0][0] <= end_ms:
            if done is not None and self.now_ms >= look_ms:
                if done():
                    return True
                look_ms = self.now_ms + LOOK_MS
            self.now_ms, _, action = heapq.heappop(heap)
            action()
        if done is not None and done():
            return True
        self.now_ms = max(self.now_ms, end_ms)
        return False

    def note(self, who: Process, effect: Effect) -> None:
        """Put something that happened into the digest that identifies the run."""
        match effect:
            case Sent(run) | Deliver(run):
                what: object = (run.sender, run.view, run.first, run.last)
            case Skip(sender, first, count):
                what = (sender, first, count)
            case Installed(view):
                what = (view.number, view.members)
            case _:
                what = effect
        self._digest.update(f"{self.now_ms} {who} {type(effect).__name__} {what}\n".encode())

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def count(self, fault: Fault) -> None:
        """A fault happened."""
        self.happened[fault.value] = self.happened.get(fault.value, 0) + 1

    def count_once(self, fault: Fault, what: str) -> None:
        """A fault that lasts did harm; counts the first time."""
        if (fault, what) not in self._once:
            self._once.add((fault, what))
            self.count(fault)

    def count_move(self, move: Move) -> None:
        self.moves[move.value] = self.moves.get(move.value, 0) + 1

    def checker(self, instance: str) -> Checker:
        known = self.checkers.get(instance)
        if known is None:
            known = self.checkers[instance] = Checker(self.plan.definition, calls=True)
        return known

    def on_trouble(self, text: str) -> None:
        """A log could not be written: a simulated run without its logs proves nothing."""
        raise Unavailable(text)

    @property
    def messages(self) -> int:
        """How many messages were sent."""
        return sum(checker.messages for checker in self.checkers.values())

    @property
    def deliveries(self) -> int:
        return sum(checker.deliveries for checker in self.checkers.values())

    @property
    def views(self) -> int:
        return sum(checker.views for checker in self.checkers.values())

    @property
    def behind(self) -> int:
        """How many messages should have been sent by now and were not."""
        if self._faulty_since is None:
            return 0
        if self.faults.over:
            return 0 if self.has_enough else CATCH_UP
        passed_ms = min(self.plan.fault_ms, self.now_ms - self._faulty_since)
        return self.plan.messages * passed_ms // self.plan.fault_ms - self.submitted

    @property
    def has_enough(self) -> bool:
        """Whether so much was sent and delivered that the run shows something."""
        return self.messages >= MESSAGES_MIN and self.deliveries >= MESSAGES_MIN

    # nodes

    @property
    def everybody(self) -> list[SimNode]:
        """All nodes there ever were, dead ones too."""
        return self._everybody

    @property
    def living(self) -> list[SimNode]:
        """The nodes that have not crashed, one a name."""
        return [node for node in self._by_name.values() if not node.crashed]

    def at_address(self, address: Address) -> SimNode:
        """Who listens at an address now, whichever life it names."""
        return self.nodes[address.partition("@")[0]]

    def is_proven_dead(self, address: Address) -> bool:
        """What the kernel says of the life that an address names; one whose whole machine is gone says nothing."""
        node = self._lives[address]
        return node.crashed and node.refuses

    def node(self, name: str) -> SimNode | None:
        """Who has a name now, dead or alive; None: it has not started."""
        return self._by_name.get(name)

    def next_process(self, name: str) -> Process:
        self._incarnations[name] = self._incarnations.get(name, 0) + 1
        return f"{name}#{self._incarnations[name]}"

    def start(self, name: str, address: Address | None = None) -> None:
        """Start a process under a name."""
        node = self._by_name[name] = self._new(name, address)
        self.network.let_go(name)
        node.enter()

    def _new(self, name: str, address: Address | None = None) -> SimNode:
        rate, offset_ms = self.plan.drift[self.plan.names.index(name)]
        if rate != 1000:
            self.count_once(Fault.DRIFT, name)
        count = len(self._everybody)
        place = address.partition("@")[0] if address else f"{name}-{count}:1"
        clock = Clock(lambda: self.now_ms, rate, offset_ms)
        node = SimNode(self, name, f"{place}@sim.{count}", clock, Random(f"{self._rng.random()}"))
        self.nodes[place] = self._lives[node.address] = node
        self._everybody.append(node)
        return node

    def join(self, name: str, before: str = "") -> None:
        """Start somebody who was not there from the beginning; at the port of the one `before`, if that is dead."""
        if self.node(name) is None:
            self.count_move(Move.JOIN)
            dead = self.node(before)
            self.start(name, dead.address if dead and dead.crashed else None)

    def intrude(self, name: str) -> None:
        """Start a second process under the name of a member: it gets in only if that one is found to be gone."""
        holder = self.node(name)
        if holder and holder.is_member:
            node = self._new(name)
            node.intrudes = True
            self.count_move(Move.INTRUDE)
            node.enter()

    def replace(self, node: SimNode) -> None:
        """A second process under a name is in: the first one is started no more."""
        holder = self._by_name[node.name]
        self._by_name[node.name] = node
        if not holder.crashed:
            holder.crash()

    def restart(self, node: SimNode, same_port: bool = False) -> None:
        """Start a crashed process again, unless somebody did; at its port only where no other listens there."""
        if self._by_name[node.name] is node:
            self.count(Fault.RESTART)
            free = self.at_address(node.address) is node
            self.start(node.name, node.address if same_port and free else None)

    def come_back(self, node: SimNode) -> None:
        """Somebody who left enters again."""
        if self._by_name[node.name] is node and node.away and not node.crashed:
            self.count_move(Move.JOIN)
            node.come_back()

    def gather(self) -> None:
        """All who crashed, or left, come back."""
        self.count_move(Move.GATHER)
        for node in list(self._by_name.values()):
            if node.crashed:
                self.restart(node)
            else:
                self.come_back(node)

    @property
    def may_crash(self) -> bool:
        """Whether one more may crash: as many as the plan allows are dead at a time, and one lives."""
        dead = sum(node.crashed for node in self._by_name.values())
        return dead < self.plan.crashed_max and sum(not n.away for n in self.living) > 1

    @property
    def may_leave(self) -> bool:
        return sum(not node.away for node in self._by_name.values()) > 2

    def on_crash(self, node: SimNode) -> None:
        """For the digest."""
        self._digest.update(f"{self.now_ms} {node.name} crashes\n".encode())

    # the run

    def run(self) -> None:
        """Everything that the plan says, then the healed phase."""
        with _bounds(self.plan):
            try:
                self._form()
                self._suffer()
                Healing(self, self._rng).run()
                self._must_have_happened()
            except Violation as violation:
                raise Violation(f"{violation} (at {self.now_ms} ms)") from None
            self.close_logs()

    def close_logs(self) -> None:
        """Every process that did not crash ends, and its log with it."""
        for node in self._everybody:
            if not node.crashed:
                node.paused = False
                for session in node.sessions.values():
                    session.exit()

    def _form(self) -> None:
        names = self.plan.names
        early = names[: len(names) - self.plan.late]
        for name in early:
            self.at(self._rng.randint(0, 40), lambda name=name: self.start(name))  # type: ignore[misc]
        if not self.plan.cold:
            formed = self.until(self.now_ms + FORMED_MS, lambda: self._have_formed(len(early)))
            if not formed:
                raise Violation(f"STUCK: without any fault there is no group: {self.describe()}")

    def _have_formed(self, count: int) -> bool:
        views = [node.session.machine.view for node in self.living if node.is_member]
        return len(views) == count and len({view.members for view in views if view}) == 1

    def _suffer(self) -> None:
        self._faulty_since = self.now_ms
        self.network.healed = False
        self.faults.schedule()
        self.until(self.now_ms + self.plan.fault_ms)
        self.until(self.now_ms + EXTRA_MS, lambda: len(self.happened) >= KINDS_MIN)  # where there was little traffic
        if self.plan.silent:
            self.silent = True
            self.until(self.now_ms + SILENT_MS)
        self.faults.over = True
        self.failpoints.disarm()
        self.registry.disarm()

    def describe(self) -> str:
        return "; ".join(node.describe() for node in self._by_name.values())

    def _must_have_happened(self) -> None:
        """A run that shows nothing is a failure of its own."""
        if not self.has_enough:
            raise Violation(f"VACUOUS: {self.messages} messages sent, {self.deliveries} delivered")
        if len(self.happened) < KINDS_MIN:
            raise Violation(f"VACUOUS: only {', '.join(sorted(self.happened)) or 'nothing'} went wrong")


@contextmanager
def _bounds(plan: Plan) -> Iterator[None]:
    """Smaller windows, so that they fill, smaller chunks, so that a state has many, and smaller frames, so that
    messages go in pieces: all are put back.
    """
    load_bytes = min(plan.load_bytes, limits.LOAD_BYTES_MAX)
    small = {
        "WINDOW_MESSAGES_MAX": plan.window,
        "WINDOW_BYTES_MAX": plan.window * MESSAGE_BYTES,
        "UNICASTS_UNREAD_MAX": UNICASTS_UNREAD,
        "REQUESTS_UNSERVED_MAX": REQUESTS_UNSERVED,
        "STATE_CHUNK_BYTES": STATE_CHUNK_BYTES,
        "LOAD_BYTES_MAX": load_bytes,
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
