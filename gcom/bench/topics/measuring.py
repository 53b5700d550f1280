"""Measures a store of topics. Each figure is a ratio to c0, or stands beside it: disks differ by factors.

c0 is the time of one bare commit of a row of the same size, on the same database, without anything of topics.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import perf_counter, process_time, time_ns
from typing import Any

from gcom import topics
from gcom.bench.frame import BenchResult, BenchTable, Figure, Tell, figures_result, in_turns, median_ratio, rate
from gcom.bench.processes.children import START_S, Children
from gcom.bench.settings import TopicsBenchSetup
from gcom.bench.throughput.load import percentile
from gcom.bench.topics.ways import way_costs
from gcom.topics.storage.sqlite import SqliteDatabase

PRODUCERS = 32
BATCH = 256
STEADY_PER_S = 1000
CHECK_TURNS = 40  # at most
SERVED_TURNS = 4


def measure(setup: TopicsBenchSetup, tell: Tell) -> Iterator[BenchResult]:
    """Measure on a new file in the temporary folder."""
    body = os.urandom(setup.size)
    with TemporaryDirectory(prefix="gcom-bench-") as name:
        folder = Path(name)
        tell("bare commits")
        c0_ms = bare_commit_ms(folder / "bare.db", body, setup.commits)
        with topics.open(folder / "app.db") as store:
            figures = _figures(store, folder, setup, body, c0_ms, tell)
            batches = {1: max(2, setup.commits // 10), BATCH: BATCH * max(2, setup.commits // 100)}
            ways = []
            for batch, count in batches.items():
                tell(f"ways of processing, batches of {batch}")
                ways.append(way_costs(store, folder, body, count, batch))
    title = f"Topics in a file: bodies of {setup.size:,} bytes; c0, a bare commit, is {c0_ms:.2f} ms"
    columns = ("for each message", "commits", "processor µs", f"commits, by {BATCH}", f"processor µs, by {BATCH}")
    cells = [
        (one.way, f"{one.commits:.2f}", f"{one.cpu_us:,.0f}", f"{many.commits:.4f}", f"{many.cpu_us:,.0f}")
        for one, many in zip(*ways, strict=True)
    ]
    table = BenchTable("Ways of processing: one by one, and in batches", columns, cells)
    fields = {"c0_ms": round(c0_ms, 3), "ways": [it.row() for costs in ways for it in costs]}
    yield figures_result(setup, title, figures, fields, [table])


def _figures(
    store: topics.TopicStore, folder: Path, setup: TopicsBenchSetup, body: bytes, c0_ms: float, tell: Tell
) -> list[Figure]:
    n, orders = setup.commits, store.topic("orders")
    tell("one producer")
    producer = orders.producer("one")
    producer.send(body)
    one = rate(n, lambda: producer.send(body))
    tell(f"{PRODUCERS} producers")
    each = max(1, 4 * n // PRODUCERS)
    with ThreadPoolExecutor(PRODUCERS) as pool:
        opened = [orders.producer(f"p{number}") for number in range(PRODUCERS)]
        send_all = partial(pool.map, lambda it: [it.send(body) for _ in range(each)], opened)
        many = rate(1, lambda: list(send_all()), each * PRODUCERS)
    tell(f"batches of {BATCH}")
    batches = max(1, n // 10)
    together = rate(batches, lambda: producer.send_many([body] * BATCH), BATCH)
    tell("duplicates")
    checked_us, plain_us = check_cost(store, body, batches, BATCH)
    tell(f"batches of {BATCH} to a server")
    served = served_ratio(folder, body, batches, BATCH)
    tell("effects once")
    orders.subscribe("effects", after=orders.info.next - BATCH * batches - 1)
    effects = rate(1, lambda: _effects(orders, folder / "own.db"), BATCH * batches)
    tell(f"{STEADY_PER_S} per second, end to end")
    late_ms = _late_ms(store.topic("steady"), n)
    return [
        Figure("one", "one producer, × 1/c0", one * c0_ms / 1000, 0.5, least=True),
        Figure("producers", f"{PRODUCERS} producers, × 1/c0", many * c0_ms / 1000, 4, least=True),
        Figure("batches", f"batches of {BATCH}, per s", together, 25_000, least=True, digits=0),
        Figure(
            "check",
            f"looking for duplicates, batches of {BATCH}, % of processor time",
            100 * (checked_us / plain_us - 1),
            5,
            digits=1,
        ),
        Figure("served", f"batches of {BATCH} to a server, × in-process", served, 0.6, least=True),
        Figure("effects", f"effects once, batches of {BATCH}, per s", effects, 15_000, least=True, digits=0),
        Figure("p99_ms", f"end to end at {STEADY_PER_S} per s, p99 ms", percentile(late_ms, 0.99), 15),
    ]


def bare_commit_ms(path: Path, body: bytes, count: int) -> float:
    """Return the milliseconds of one commit of one row, in the mean."""
    database = SqliteDatabase(path)

    def commit() -> None:
        database.begin()
        database.writer.change("INSERT INTO bare (body) VALUES (?)", body)
        database.commit()

    with closing(database):
        database.begin()
        database.writer.change("CREATE TABLE bare (id INTEGER PRIMARY KEY, body BLOB)")
        database.commit()
        return 1000 / rate(count, commit)


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


def check_cost(store: topics.TopicStore, body: bytes, batches: int, size: int) -> tuple[float, float]:
    """Return the microseconds of processor time of a message, with the check for duplicates and without it.

    `batches` batches are sent in turns with a producer and without one. Of all turns the least counts: other work can
    only add to a turn.
    """
    turns = min(CHECK_TURNS, max(2, batches))
    sends = {"checked": store.topic("checked").producer("one").send_many, "plain": store.topic("plain").send_many}
    bodies, each = [body] * size, max(1, batches // turns)
    sides = {way: partial(_message_us, send, bodies, each) for way, send in sends.items()}
    in_turns(1, sides)  # not counted: it opens the producer, and fills caches
    taken = in_turns(turns, sides)
    return min(taken["checked"]), min(taken["plain"])


def _message_us(send: Callable[[list[bytes]], object], bodies: list[bytes], times: int) -> float:
    gc.collect()  # else it falls into one of both
    began = process_time()
    for _ in range(times):
        send(bodies)
    return (process_time() - began) / times / len(bodies) * 1e6


def served_ratio(folder: Path, body: bytes, batches: int, size: int) -> float:
    """Return the rate of a producer at a server, as a share of its rate in this process."""
    words = "--store", str(folder / "served.db"), "--listen", "127.0.0.1:0", "--json"
    with Children() as children:
        children.start("server", "gcom.cli", "topics", "serve", *words)
        line = children.gather("line", ["server"], START_S)["server"]["text"]
        place = f"gcom://{json.loads(line)['address']}"
        with topics.open(place) as there, topics.open(folder / "here.db") as here:
            producers = {side: it.topic("batches").producer("one") for side, it in (("here", here), ("served", there))}
            for producer in producers.values():
                producer.send(body)
            send = {side: partial(it.send_many, [body] * size) for side, it in producers.items()}
            rates = in_turns(
                SERVED_TURNS, {side: partial(rate, max(1, batches // SERVED_TURNS), it) for side, it in send.items()}
            )
        children.kill_one("server")
    return median_ratio(rates["served"], rates["here"])
