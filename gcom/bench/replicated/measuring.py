"""Measures a replicated state of three replicas, one of them in this process, beside the group that carries it.

What is compared takes turns within one run. c0 is the time of one bare SQLite commit, without anything of GCom.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Event, Semaphore, Thread
from time import perf_counter
from typing import Any

import gcom
import gcom.blocks
import gcom.replicated
from gcom.bench.frame import BenchResult, Figure, Tell, figures_result, in_turns, median_ratio, rate, times_ms
from gcom.bench.processes.children import START_S, Children
from gcom.bench.replicated.baselines import BASELINES, BaselineFigures, refuse_etcd
from gcom.bench.settings import ReplicatedBenchSetup
from gcom.bench.topics.measuring import bare_commit_ms
from gcom.errors import GComTimeout
from gcom.replicated.durable.agreement import AppendEntry
from gcom.replicated.durable.log import restored
from gcom.replicated.durable.rounds import Configuration, LogEntry
from gcom.replicated.durable.storage import LogStorage
from gcom.replicated.machine import Machine, MachineKind, command, query
from gcom.replicated.messages import CallerOpened, CommandSent, encode
from gcom.values.names import Address

NAMES = ("m0", "m1", "m2")
OPEN_S = 60.0
TURNS = 5
SIZE = 100  # bytes of a value
KEYS = 1_000
UNDER_WAY = 64
FLOOD = 10  # times as many messages where nothing but the window bounds them
CHUNK = 200  # messages that a flood sends at once
STALL_S = 60.0
MILLION = 1_000_000


BESIDE = {
    "c0_ms": "c0, a bare commit, ms",
    "command_ms": "a command in memory, ms",
    "many_in_memory": f"commands in memory per s, {UNDER_WAY} under way",
    "lock_ms": "a lock acquired and released, ms",
    "sends_failover_ms": "a killed leader stops confirmed sends, ms",
}


def measure(setup: ReplicatedBenchSetup, tell: Tell) -> Iterator[BenchResult]:
    """Measure all; disks are in the temporary folder. Raises Unavailable, GComTimeout, ExtraMissing."""
    if setup.baseline == "etcd":
        refuse_etcd()
    with TemporaryDirectory(prefix="gcom-bench-") as folder, Children() as children:
        found = _Measuring(setup, tell, Path(folder), children, children.start_registry())
        found.in_memory()
        found.durable()
        found.replay()
        found.killed_leader()
        if setup.baseline:
            tell(setup.baseline)
            found.compare(setup.baseline, BASELINES[setup.baseline](children, Path(folder), setup.commands))
    fields = {key: round(it, 3) for key, it in found.beside.items()}
    beside = {BESIDE.get(key, key.replace("_", " ")): f"{it:,.2f}" for key, it in found.beside.items()}
    title = "A replicated state of three replicas, one of them in this process; values of 100 bytes"
    yield figures_result(setup, title, found.figures, fields, beside=beside)


class _Measuring:
    """A run: each method adds figures, and what they stand beside."""

    def __init__(
        self, setup: ReplicatedBenchSetup, tell: Tell, folder: Path, children: Children, registry: Address
    ) -> None:
        self._setup, self._tell, self._folder = setup, tell, folder
        self._children, self._registry = children, registry
        self._value = os.urandom(SIZE)
        self.figures: list[Figure] = []
        self.beside: dict[str, float] = {}

    def in_memory(self) -> None:
        """Measure commands beside sends of a TOTAL SAFE group, in turns; then a lock, and queries."""
        count = self._setup.commands
        with self._opened("group:plain", "state:memory", "lock:bench") as (group, table, lock):
            flow = _OwnDeliveries(group)
            sides: dict[str, Callable[[], float]] = {
                "confirmed sends": lambda: _median_ms(
                    count // TURNS, lambda: group.send(self._value, held_by="majority")
                ),
                "commands": lambda: _median_ms(count // TURNS, lambda: table.put(1, self._value)),
                "commands under way": lambda: self._commands_per_s(table),
                "messages under way": lambda: flow.rate(count, self._value),
                "a flood": lambda: flow.flood(count * FLOOD, self._value),
            }
            found = in_turns(TURNS, sides, self._tell)
            self._tell("a lock, and queries")
            lock_ms = _median_ms(count // TURNS, lambda: lock.acquire() and lock.release())
            query_us = min(_median_ms(count, lambda: table.size(1)) for _ in range(TURNS)) * 1000
        rates = found["commands under way"]
        single = median_ratio(found["commands"], found["confirmed sends"])
        many = median_ratio(rates, found["messages under way"])
        whole = median_ratio(rates, found["a flood"])
        self.beside |= {
            "command_ms": median(found["commands"]),
            "lock_ms": lock_ms,
            "many_in_memory": median(rates),
        }
        self.figures += [
            Figure("single", "a command, × a confirmed send", single, 1.3),
            Figure("many_ratio", f"{UNDER_WAY} under way, × so many messages under way", many, 0.4, least=True),
            Figure("flood_ratio", f"{UNDER_WAY} under way, × a flood of the group", whole, 0.4, least=True),
            Figure("query_us", "a local query, µs", query_us, 5),
        ]

    def durable(self) -> None:
        """Measure commands that are confirmed once two of three disks have synced them."""
        count = self._setup.commands
        self._tell("bare commits")
        c0_ms = bare_commit_ms(self._folder / "bare.db", self._value, count)
        self._tell("durable")
        with self._opened("durable:disk") as (table,):
            single_ms = _median_ms(count // TURNS, lambda: table.put(1, self._value))
            rates = [self._commands_per_s(table) for _ in range(TURNS)]
        bound = 3 * c0_ms + self.beside["command_ms"]
        self.beside |= {"c0_ms": c0_ms}
        self.figures += [
            Figure("durable_ms", "a durable command, ms, beside 3 × c0 + one in memory", single_ms, round(bound, 3)),
            Figure("durable_many", f"durable, {UNDER_WAY} under way, per s", median(rates), 5_000, True, 0),
        ]

    def replay(self) -> None:
        """Measure how long a log is read from its disk and applied, for a million commands."""
        count, kind = self._setup.replay, MachineKind.of(MeasuredTable)
        self._tell(f"{count:,} commands to replay")
        where = self._folder / "replay", "replay", "m0", ("m0",)
        storage = LogStorage(*where)
        entries = [LogEntry(1, 1, "m0#1", encode(CallerOpened("caller")))]
        for number in range(1, count + 1):
            packed = kind.codec.pack([[number % KEYS, self._value], {}])
            message = CommandSent("caller", number, number - 1, number - 1, "put", packed)
            entries.append(LogEntry(1, number + 1, "m0#1", encode(message)))
        for at in range(0, len(entries), KEYS):
            storage.write([AppendEntry(it, Configuration(0, ("m0",))) for it in entries[at : at + KEYS]], len(entries))
        storage.close()
        began = perf_counter()
        storage = LogStorage(*where)
        replica = restored(kind, "m0", storage.log).replica
        taken_s = (perf_counter() - began) * MILLION / count
        storage.close()
        assert replica.index == len(entries), replica.index
        self.figures.append(Figure("replay_s", "1,000,000 commands replayed, s", taken_s, 60, digits=1))

    def killed_leader(self) -> None:
        """Measure the longest pause when the oldest member is killed, of commands and of confirmed sends, in turns."""
        numbers = itertools.count(1)  # for a fresh group in each turn
        pauses = in_turns(
            self._setup.kills,
            {
                "a killed leader of sends": lambda: self._pause_ms(f"group:killed-{next(numbers)}"),
                "a killed leader of commands": lambda: self._pause_ms(f"state:stopped-{next(numbers)}"),
            },
            self._tell,
        )
        sends, commands = (median(it) for it in pauses.values())
        self.beside |= {"sends_failover_ms": sends}
        bound = round(sends + 50, 3)
        self.figures.append(
            Figure("failover_ms", "a killed leader stops commands, ms, beside sends + 50", commands, bound)
        )

    def compare(self, name: str, other: BaselineFigures) -> None:
        """Compare with another system."""
        self.beside |= {f"{name}_single_ms": other.single_ms, f"{name}_many_per_s": other.many_per_s}
        durable = next(it.value for it in self.figures if it.key == "durable_many")
        mine = durable if other.durable else self.beside["many_in_memory"]
        assert mine is not None, "durable commands were measured"
        words = f"{UNDER_WAY} under way, × {name}"
        self.figures.append(Figure("baseline_ratio", words, mine / other.many_per_s, other.times, least=True))

    def _commands_per_s(self, table: MeasuredTable) -> float:
        """Return the rate of commands with a number of them under way."""
        free, put = Semaphore(UNDER_WAY), table.submit.put
        failed: list[BaseException] = []

        def answered(future: Future[int]) -> None:
            if error := future.exception():
                failed.append(error)
            free.release()

        def put_all() -> None:
            for number in range(self._setup.commands):
                _take(free)
                put(number % KEYS, self._value).add_done_callback(answered)
            for _ in range(UNDER_WAY):
                _take(free)

        found = rate(1, put_all, self._setup.commands)
        if failed:
            raise failed[0]
        return found

    def _pause_ms(self, word: str) -> float:
        with self._opened(word, led=True) as (opened,):
            if isinstance(opened, gcom.Group):
                _OwnDeliveries(opened)
                return self._longest_ms(opened, lambda: opened.send(self._value, held_by="majority"))
            return self._longest_ms(opened.replicas.group, lambda: opened.put(1, self._value))

    def _longest_ms(self, group: gcom.Group, act: Callable[[], object]) -> float:
        """Kill the leader while one act follows another; return the longest of them."""
        leader = group.view.members[0]
        for _ in range(self._setup.commands // 20):
            act()
        killer = Thread(target=self._children.kill_one, args=(NAMES[1],))
        killer.start()
        longest, after = 0.0, 0
        while after < 100:
            began = perf_counter()
            act()
            longest = max(longest, perf_counter() - began)
            after += leader not in group.view.members
        killer.join()
        return longest * 1000

    @contextmanager
    def _opened(self, *words: str, led: bool = False) -> Iterator[list[Any]]:
        """Open what the words name in three processes, this one included; with `led` another one is the oldest."""
        with ExitStack() as stack:
            stack.callback(self._end_others)
            for name in NAMES[1:]:
                asked = [self._placed(it, name) for it in words]
                replica = {"name": name, "registry": self._registry, "words": asked}
                self._children.run(name, "gcom.bench.replicated.measuring:replica", **replica)
                if led:
                    self._children.gather("ready", [name], START_S)
            node = stack.enter_context(gcom.connect(NAMES[0], self._registry))
            opened = [stack.enter_context(open_one(node, self._placed(it, NAMES[0]))) for it in words]
            if not led:
                self._children.gather("ready", NAMES[1:], START_S)
            yield opened

    def _placed(self, word: str, name: str) -> str:
        return f"{word}:{self._folder / name}" if word.startswith("durable:") else word

    def _end_others(self) -> None:
        for name in NAMES[1:]:
            if name in self._children:
                self._children.kill_one(name)


class _OwnDeliveries:
    """The deliveries of this process's own messages in a group, which tell that they are confirmed."""

    def __init__(self, group: gcom.Group) -> None:
        self._group = group
        self._mine = group.process
        self._taken, self._done = Semaphore(0), Event()
        self._counted_from = self._last = 1 << 62
        group.listen(on_event=self._on_event, direct=True)

    def _on_event(self, event: gcom.Event) -> None:
        if type(event) is gcom.Message and event.sender == self._mine:
            if event.number > self._counted_from:
                self._taken.release()
            elif event.number == self._last:
                self._done.set()

    def rate(self, count: int, value: bytes) -> float:
        """Return the messages per second with so many under way as there are commands."""
        self._counted_from = self._group.send(value, wait="delivered")
        began = perf_counter()
        for number in range(count):
            if number >= UNDER_WAY:
                _take(self._taken)
            self._group.send(value)
        for _ in range(min(count, UNDER_WAY)):
            _take(self._taken)
        self._counted_from = 1 << 62
        return count / (perf_counter() - began)

    def flood(self, count: int, value: bytes) -> float:
        """Return the messages per second with as many under way as the group takes."""
        self._done.clear()
        self._last = self._group.send(value, wait="delivered") + count
        began = perf_counter()
        for _ in range(count // CHUNK):
            self._group.send_many([value] * CHUNK)
        self._group.send_many([value] * (count % CHUNK))
        if not self._done.wait(STALL_S):
            raise GComTimeout(f"a flood of {count:,} messages is not delivered after {STALL_S:g} s")
        return count / (perf_counter() - began)


def _take(free: Semaphore) -> None:
    if not free.acquire(timeout=STALL_S):
        raise GComTimeout(f"nothing was confirmed for {STALL_S:g} s: is the machine overloaded?")


def _median_ms(count: int, act: Callable[[], object]) -> float:
    return median(times_ms(count, act))


class MeasuredTable(Machine):
    """The last value of each key."""

    def __init__(self) -> None:
        self.values: dict[int, bytes] = {}

    @command
    def put(self, key: int, value: bytes) -> int:
        """Set a value; return how many keys there are."""
        self.values[key] = value
        return len(self.values)

    @query
    def size(self, key: int) -> int:
        """Return the length of a value."""
        return len(self.values.get(key, b""))


def open_one(node: gcom.Node, word: str) -> Any:
    """Open what a word names as WHAT:GROUP.

    WHAT is `group`, a TOTAL SAFE group; `state`; `durable`, whose third part is its folder; or `lock`.
    """
    what, name, *folder = word.split(":", 2)
    if what == "group":
        definition = gcom.Definition(name, "TOTAL", "RELIABLE", safe=True)
        return node.join(name, create=definition, timeout_s=OPEN_S)
    if what == "lock":
        return gcom.blocks.Lock(node, name, timeout_s=OPEN_S)
    options: dict[str, Any] = {"data": folder[0], "replicas": NAMES} if what == "durable" else {}
    return gcom.replicated.open(node, name, MeasuredTable, timeout_s=OPEN_S, **options)


@contextmanager
def replica(name: str, registry: str, words: list[str]) -> Iterator[None]:
    """Be one more member of what the words name."""
    with gcom.connect(name, registry) as node, ExitStack() as stack:
        for word in words:
            opened = stack.enter_context(open_one(node, word))
            if isinstance(opened, gcom.Group):
                opened.listen(on_event=lambda _: None, direct=True)
        yield
