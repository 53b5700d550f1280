"""Measures sessions on a store of three replicas: this process, and two others. Nothing else uses the store.

Rates of reads and writes are measured under each guarantee, in turns with none: the ratio is the guarantee's price.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Annotated, Any

import gcom
import gcom.sessions
from gcom.bank import branches, customers, orders
from gcom.bank.accounts import Bank
from gcom.bench.benchmark import Between, Bounded, BoundedSetup, Tell, figure_fields, rate, times_ms
from gcom.bench.processes.children import START_S, Children
from gcom.bench.sessions.replica import OPEN_S
from gcom.bench.throughput.load import percentile
from gcom.sessions import GUARANTEES, ClientSession, SessionStore
from gcom.values.names import Address

NAMES = ("m0", "m1", "m2")
CHOICES: dict[str, tuple[str, ...]] = {"none": (), **{it: (it,) for it in GUARANTEES}, "all": GUARANTEES}
TURNS = 5
SESSIONS = 32
CUSTOMERS, BRANCHES, ORDERS = 50, 5, 10


@dataclass(frozen=True, slots=True)
class SessionBenchSetup(BoundedSetup):
    """The number of reads for each figure; a twentieth of them are writes."""

    reads: Annotated[int, Between(200, 10_000_000)] = 20_000

    @property
    def writes(self) -> int:
        """The number of writes for each figure."""
        return self.reads // 20


@dataclass(frozen=True, slots=True)
class GuaranteePrice:
    """Reads and writes per second of one session under a guarantee, and their shares of those under none."""

    guarantee: str
    reads_per_s: float
    reads_share: float
    writes_per_s: float
    writes_share: float

    def row(self) -> dict[str, object]:
        """Return plain values."""
        return {it: getattr(self, it) if it == "guarantee" else round(getattr(self, it), 3) for it in self.__slots__}


@dataclass(frozen=True, slots=True)
class SessionBenchResult:
    """The figures, and the price of each guarantee."""

    setup: SessionBenchSetup
    prices: tuple[GuaranteePrice, ...]
    figures: tuple[Bounded, ...]

    def row(self) -> dict[str, object]:
        """Return the result as one JSON object."""
        prices = [it.row() for it in self.prices]
        return {"type": "sessions", "reads": self.setup.reads, "prices": prices, **figure_fields(self.figures)}


def measure(setup: SessionBenchSetup, tell: Tell) -> SessionBenchResult:
    """Measure all; the durable store is in the temporary folder. Raises Unavailable, GComTimeout."""
    with TemporaryDirectory(prefix="gcom-bench-") as folder, Children() as children:
        registry = children.start_registry()
        tell("reads and writes under each guarantee")
        with _opened(children, registry, "memory", None) as store:
            prices = tuple(_prices(setup, store))
            tell("reads with RYW")
            reads_ms = _reads_ms(setup, store)
            tell("moves")
            moves, waiting_ms = _moves(setup, store, registry)
        tell(f"durable writes of {SESSIONS} sessions")
        with _opened(children, registry, "durable", Path(folder)) as store:
            durable_per_s = _writes_per_s(setup, store)
    tell(f"a bank of {CUSTOMERS} customers and {BRANCHES} branches")
    ryw = next(it for it in prices if it.guarantee == "RYW")
    return SessionBenchResult(
        setup,
        prices,
        (
            Bounded("reads", "reads with RYW, per s", ryw.reads_per_s, 20_000, least=True, digits=0),
            Bounded("reads_p99_ms", "their p99, ms", percentile(reads_ms, 0.99), 2),
            Bounded(
                "writes", f"durable writes of {SESSIONS} sessions, per s", durable_per_s, 2_000, least=True, digits=0
            ),
            Bounded("move", "a read after a move, × round trip", moves, 2),
            Bounded("wait_p99_ms", "a read that waits for a write on its way, p99 ms", waiting_ms, 10),
            Bounded("bank_s", f"a bank, {CUSTOMERS} customers and {BRANCHES} branches, s", _bank_s(), 5),
        ),
    )


@contextmanager
def _opened(children: Children, registry: Address, group: str, data: Path | None) -> Iterator[SessionStore[Bank]]:
    others = {f"{group} {name}": name for name in NAMES[1:]}
    for child, name in others.items():
        durable = [str(data / name), ",".join(NAMES)] if data else []
        children.start(child, "gcom.bench.sessions.replica", registry, name, group, *durable)
    options: dict[str, Any] = {"data": data / NAMES[0], "replicas": NAMES} if data else {}
    with (
        gcom.connect(NAMES[0], registry) as node,
        gcom.sessions.open(node, group, Bank, timeout_s=OPEN_S, **options) as store,
    ):
        children.gather("ready", others, START_S * 2)
        yield store
    for child in others:
        children.kill_one(child)


def _prices(setup: SessionBenchSetup, store: SessionStore[Bank]) -> Iterator[GuaranteePrice]:
    reads: dict[str, list[float]] = {name: [] for name in CHOICES}
    writes: dict[str, list[float]] = {name: [] for name in CHOICES}
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(store.session(named)) for name, named in CHOICES.items()}
        for _ in range(TURNS):
            for name, session in sessions.items():
                writes[name].append(rate(setup.writes // TURNS, lambda s=session: s.state.deposit(1, 1)))  # type: ignore[misc]
                reads[name].append(rate(setup.reads // TURNS, lambda s=session: s.state.balance(1)))  # type: ignore[misc]
    for name in CHOICES:
        yield GuaranteePrice(
            name,
            median(reads[name]),
            median(it / none for it, none in zip(reads[name], reads["none"], strict=True)),
            median(writes[name]),
            median(it / none for it, none in zip(writes[name], writes["none"], strict=True)),
        )


def _reads_ms(setup: SessionBenchSetup, store: SessionStore[Bank]) -> list[float]:
    with store.session({"RYW"}) as session:
        session.state.deposit(1, 1)
        return times_ms(setup.reads, lambda: session.state.balance(1))


def _moves(setup: SessionBenchSetup, store: SessionStore[Bank], registry: Address) -> tuple[float, float]:
    """Move sessions to another replica; return the cost of a read there, and the p99 of one that may have to wait.

    The cost is of a read with a token whose write is there, over one without any guarantee. A wait is for a write that
    this replica has confirmed, and that is still on its way to the other one.
    """
    with gcom.sessions.open(f"gcom://{registry}", store.replicas.group.name, Bank) as remote:
        plain_ms, moved_ms, waiting_ms = [], [], list[float]()
        with store.session() as session, remote.session(()) as plain:
            for _ in range(setup.writes // 4):
                session.state.deposit(1, 1)
                moved = remote.session(token=session.token)
                waiting_ms += times_ms(1, lambda: moved.state.balance(1))  # noqa: B023 - called at once
                moved_ms += times_ms(1, lambda: moved.state.balance(1))  # noqa: B023 - called at once
                plain_ms += times_ms(1, lambda: plain.state.balance(1))
    return median(moved_ms) / median(plain_ms), percentile(sorted(waiting_ms), 0.99)


def _writes_per_s(setup: SessionBenchSetup, store: SessionStore[Bank]) -> float:
    each = max(1, setup.writes * 4 // SESSIONS)

    def write(session: ClientSession[Bank]) -> None:
        for _ in range(each):
            session.state.deposit(1, 1)

    with ThreadPoolExecutor(SESSIONS) as pool:
        sessions = [store.session() for _ in range(SESSIONS)]
        began = perf_counter()
        list(pool.map(write, sessions))
        return each * SESSIONS / (perf_counter() - began)


def _bank_s() -> float:
    """Return the seconds of `gcom bank run` for a bank, without the start of Python."""
    rows: list[object] = [{"id": it, "type": "bank", "balance": 100} for it in range(1, BRANCHES + 1)]
    for number in range(1, CUSTOMERS + 1):
        events = [
            {"interface": ("deposit", "withdraw", "query")[it % 3], "money": it, "dest": (number + it) % BRANCHES + 1}
            for it in range(ORDERS)
        ]
        rows.append({"id": number, "type": "customer", "events": events})
    asked = orders.orders_of(rows)
    began = perf_counter()
    with branches.opened(asked.branches, {it.id: 100 for it in asked.customers}, overdraft=False) as bank:
        customers.carry_out(asked.customers, bank)
    return perf_counter() - began
