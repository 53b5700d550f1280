"""Measures sessions on a store of three replicas: this process, and two others. Nothing else uses the store.

Rates of reads and writes are measured under each guarantee, in turns with none: the ratio is the guarantee's price.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import gcom
import gcom.sessions
from gcom.bank import branches, customers, orders
from gcom.bank.accounts import Bank
from gcom.bench.frame import (
    BenchResult,
    Figure,
    Tell,
    figures_result,
    filled,
    in_turns,
    median_ratio,
    rate,
    times_ms,
)
from gcom.bench.processes.children import START_S, Children
from gcom.bench.settings import SessionBenchSetup
from gcom.bench.throughput.load import percentile
from gcom.sessions import GUARANTEES, ClientSession, SessionStore
from gcom.values.names import Address

NAMES = ("m0", "m1", "m2")
CHOICES: dict[str, tuple[str, ...]] = {"none": (), **{it: (it,) for it in GUARANTEES}, "all": GUARANTEES}
OPEN_S = 60.0
TURNS = 5
SESSIONS = 32
COLUMNS = {
    "guarantee": "{guarantee}",
    "reads/s": "{reads_per_s:,.0f}",
    "reads, of none": "{reads_share:.2f}",
    "writes/s": "{writes_per_s:,.0f}",
    "writes, of none": "{writes_share:.2f}",
}
CUSTOMERS, BRANCHES, ORDERS = 50, 5, 10


def measure(setup: SessionBenchSetup, tell: Tell) -> Iterator[BenchResult]:
    """Measure all; the durable store is in the temporary folder. Raises Unavailable, GComTimeout."""
    with TemporaryDirectory(prefix="gcom-bench-") as folder, Children() as children:
        registry = children.start_registry()
        with _opened(children, registry, "memory", None) as store:
            prices = _prices(setup, store, tell)
            tell("reads with RYW")
            reads_ms = _reads_ms(setup, store)
            tell("moves")
            moves, waiting_ms = _moves(setup, store, registry)
        tell(f"durable writes of {SESSIONS} sessions")
        with _opened(children, registry, "durable", Path(folder)) as store:
            durable_per_s = _writes_per_s(setup, store)
    tell(f"a bank of {CUSTOMERS} customers and {BRANCHES} branches")
    reads, durable = prices["RYW"]["reads_per_s"], f"durable writes of {SESSIONS} sessions, per s"
    figures = [
        Figure("reads", "reads with RYW, per s", reads, 20_000, least=True, digits=0),
        Figure("reads_p99_ms", "their p99, ms", percentile(reads_ms, 0.99), 2),
        Figure("writes", durable, durable_per_s, 2_000, least=True, digits=0),
        Figure("move", "a read after a move, × round trip", moves, 2),
        Figure("wait_p99_ms", "a read that waits for a write on its way, p99 ms", waiting_ms, 10),
        Figure("bank_s", f"a bank, {CUSTOMERS} customers and {BRANCHES} branches, s", _bank_s(), 5),
    ]
    rows = [{"guarantee": name, **{key: round(it, 3) for key, it in price.items()}} for name, price in prices.items()]
    table = filled("The price of each guarantee, beside none", COLUMNS, rows)
    title = "Sessions: a store of three replicas, one of them in this process"
    yield figures_result(setup, title, figures, {"prices": rows}, [table])


@contextmanager
def _opened(children: Children, registry: Address, group: str, data: Path | None) -> Iterator[SessionStore[Bank]]:
    others = {f"{group} {name}": name for name in NAMES[1:]}
    durable = {it: {"data": str(data / it), "replicas": NAMES} if data else {} for it in NAMES}
    for child, name in others.items():
        replica = {"name": name, "registry": registry, "group": group, "durable": durable[name]}
        children.run(child, "gcom.bench.sessions.measuring:replica", **replica)
    options: dict[str, Any] = durable[NAMES[0]]
    with (
        gcom.connect(NAMES[0], registry) as node,
        gcom.sessions.open(node, group, Bank, timeout_s=OPEN_S, **options) as store,
    ):
        children.gather("ready", others, START_S * 2)
        yield store
    for child in others:
        children.kill_one(child)


def _prices(setup: SessionBenchSetup, store: SessionStore[Bank], tell: Tell) -> dict[str, dict[str, float]]:
    """Return reads and writes per second of one session under each guarantee, and their shares of those under none."""
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(store.session(named)) for name, named in CHOICES.items()}
        rates = in_turns(TURNS, {name: partial(_rates, setup, it) for name, it in sessions.items()}, tell)
    reads = {name: [it[0] for it in turns] for name, turns in rates.items()}
    writes = {name: [it[1] for it in turns] for name, turns in rates.items()}
    return {
        name: {
            "reads_per_s": median(reads[name]),
            "reads_share": median_ratio(reads[name], reads["none"]),
            "writes_per_s": median(writes[name]),
            "writes_share": median_ratio(writes[name], writes["none"]),
        }
        for name in CHOICES
    }


def _rates(setup: SessionBenchSetup, session: ClientSession[Bank]) -> tuple[float, float]:
    writes = rate(setup.writes // TURNS, lambda: session.state.deposit(1, 1))
    return rate(setup.reads // TURNS, lambda: session.state.balance(1)), writes


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
        return rate(1, lambda: list(pool.map(write, sessions)), each * SESSIONS)


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


@contextmanager
def replica(name: str, registry: str, group: str, durable: dict[str, Any]) -> Iterator[None]:
    """Serve; `durable` are the options of a store with a disk."""
    with gcom.connect(name, registry) as node, gcom.sessions.open(node, group, Bank, timeout_s=OPEN_S, **durable):
        yield
