"""Measures a store of topics. Each figure is a ratio to c0, or stands beside it: disks differ by factors.

c0 is the time of one bare commit of a row of the same size, on the same database, without anything of topics.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter, time_ns
from typing import Annotated, Any, get_type_hints

from gcom import topics
from gcom.bench.benchmark import Between, Bounded, Tell
from gcom.bench.throughput.load import percentile
from gcom.bench.topics.duplicates import check_cost
from gcom.bench.topics.serving import served_ratio
from gcom.bench.topics.ways import WayCost, way_costs
from gcom.errors import BadValue
from gcom.topics.storage.sqlite import SqliteDatabase

PRODUCERS = 32
BATCH = 256
STEADY_PER_S = 1000


@dataclass(frozen=True, slots=True)
class TopicsBenchSetup:
    """The choices of a run: bodies of `size` bytes, about `commits` commits for each figure."""

    size: Annotated[int, Between(1, 1_000_000)] = 1024
    commits: Annotated[int, Between(10, 1_000_000)] = 1000

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            (bounds,) = hint.__metadata__
            if not bounds.least <= getattr(self, name) <= bounds.most:
                raise BadValue(f"{name} must be {bounds.least} to {bounds.most}; got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class TopicsBenchResult:
    """The figures, in order; `c0_ms` is the bare commit. `ways` are the costs of processing a message."""

    setup: TopicsBenchSetup
    c0_ms: float
    figures: tuple[Bounded, ...]
    ways: tuple[WayCost, ...]

    def row(self) -> dict[str, object]:
        """Return the result as one JSON object."""
        values = {it.key: round(it.value, it.digits) for it in self.figures}
        bounds = {it.key: it.bound for it in self.figures}
        met = all(it.met for it in self.figures)
        return {
            "type": "topics",
            "size": self.setup.size,
            "c0_ms": self.c0_ms,
            **values,
            "to_reach": bounds,
            "met": met,
            "ways": [it.row() for it in self.ways],
        }


def measure(setup: TopicsBenchSetup, tell: Tell) -> TopicsBenchResult:
    """Measure on a new file in the temporary folder."""
    body = os.urandom(setup.size)
    with TemporaryDirectory(prefix="gcom-bench-") as folder:
        tell("bare commits")
        c0 = bare_commit_s(Path(folder) / "bare.db", body, setup.commits)
        with topics.open(Path(folder) / "app.db") as store:
            figures = tuple(_figures(store, Path(folder), setup, body, c0, tell))
            ways = tuple(_ways(store, Path(folder), setup, body, tell))
    return TopicsBenchResult(setup, round(c0 * 1000, 3), figures, ways)


def _ways(
    store: topics.TopicStore, folder: Path, setup: TopicsBenchSetup, body: bytes, tell: Tell
) -> Iterator[WayCost]:
    for batch, count in ((1, max(2, setup.commits // 10)), (BATCH, BATCH * max(2, setup.commits // 100))):
        tell(f"ways of processing, batches of {batch}")
        yield from way_costs(store, folder, body, count, batch)


def _figures(
    store: topics.TopicStore, folder: Path, setup: TopicsBenchSetup, body: bytes, c0: float, tell: Tell
) -> list[Bounded]:
    n, orders = setup.commits, store.topic("orders")
    tell("one producer")
    producer = orders.producer("one")
    producer.send(body)
    one = _rate(n, lambda: [producer.send(body) for _ in range(n)])
    tell(f"{PRODUCERS} producers")
    each = max(1, 4 * n // PRODUCERS)
    with ThreadPoolExecutor(PRODUCERS) as pool:
        opened = [orders.producer(f"p{number}") for number in range(PRODUCERS)]
        many = _rate(each * PRODUCERS, lambda: list(pool.map(lambda it: [it.send(body) for _ in range(each)], opened)))
    tell(f"batches of {BATCH}")
    batches = max(1, n // 10)
    together = _rate(BATCH * batches, lambda: [producer.send_many([body] * BATCH) for _ in range(batches)])
    tell("duplicates")
    check = check_cost(store, body, batches, BATCH)
    tell(f"batches of {BATCH} to a server")
    served = served_ratio(folder, body, batches, BATCH)
    tell("effects once")
    orders.subscribe("effects", after=orders.info.next - BATCH * batches - 1)
    effects = _rate(BATCH * batches, lambda: _effects(orders, folder / "own.db"))
    tell(f"{STEADY_PER_S} per second, end to end")
    late_ms = _late_ms(store.topic("steady"), n)
    return [
        Bounded("one", "one producer, × 1/c0", one * c0, 0.5, least=True),
        Bounded("producers", f"{PRODUCERS} producers, × 1/c0", many * c0, 4, least=True),
        Bounded("batches", f"batches of {BATCH}, per s", together, 25_000, least=True, digits=0),
        Bounded(
            "check", f"looking for duplicates, batches of {BATCH}, % of processor time", check.percent, 5, digits=1
        ),
        Bounded("served", f"batches of {BATCH} to a server, × in-process", served, 0.6, least=True),
        Bounded("effects", f"effects once, batches of {BATCH}, per s", effects, 15_000, least=True, digits=0),
        Bounded("p99_ms", f"end to end at {STEADY_PER_S} per s, p99 ms", percentile(late_ms, 0.99), 15),
    ]


def _rate(count: int, work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return count / (perf_counter() - began)


def bare_commit_s(path: Path, body: bytes, count: int) -> float:
    """Return the seconds of one commit of one row."""
    database = SqliteDatabase(path)
    try:
        database.begin()
        database.writer.change("CREATE TABLE bare (id INTEGER PRIMARY KEY, body BLOB)")
        database.commit()
        began = perf_counter()
        for _ in range(count):
            database.begin()
            database.writer.change("INSERT INTO bare (body) VALUES (?)", body)
            database.commit()
        return (perf_counter() - began) / count
    finally:
        database.close()


def _effects(orders: topics.Topic, path: Path) -> int:
    return orders.subscribe("effects").run(_write, str(path), batch=BATCH, follow=False)


def _write(tx: Any, messages: Sequence[topics.TopicMessage], _out: topics.OutboxSender) -> None:
    tx.execute("CREATE TABLE IF NOT EXISTS entry (body BLOB)")
    tx.executemany("INSERT INTO entry VALUES (?)", [(it.body,) for it in messages])


def _late_ms(steady: topics.Topic, count: int) -> list[float]:
    """Send at a steady rate, and return the sorted milliseconds from each send to its reader."""
    reader, late = steady.read("latest", follow=True), list[float]()

    def read() -> None:
        for _ in range(count):
            message = next(reader)
            late.append((time_ns() - int(message.body)) / 1e6)

    follower = Thread(target=read, daemon=True)
    follower.start()
    producer, began = steady.producer("steady"), perf_counter()
    for number in range(count):
        reader_waits = began + number / STEADY_PER_S - perf_counter()
        if reader_waits > 0:
            follower.join(reader_waits)
        producer.submit(b"%d" % time_ns())
    producer.close()
    follower.join(60)
    return sorted(late)
