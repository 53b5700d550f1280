"""Several servers and proxies: one owner for each topic, and nothing lost or doubled while owners die and move."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from zlib import crc32

import pytest

import gcom
from gcom import topics
from gcom.demo.kills.racing import run_race
from gcom.errors import BadValue, Unavailable
from gcom.topics.errors import ReceiptUnknown
from gcom.topics.served import fence
from gcom.topics.served.client import LANES, RemoteStore
from gcom.topics.served.serving import TopicsCluster, TopicsServer
from gcom.topics.storage.transaction import job
from tests.running import LIMIT_S, Child
from tests.topics.conftest import Server


class Servers:
    """`gcom topics serve` and `gcom topics proxy` as processes, by name."""

    def __init__(self, made: ExitStack, registry: str, store: str) -> None:
        self._made, self._registry, self.store = made, registry, store
        self.children: dict[str, Child] = {}
        self.addresses: dict[str, str] = {}

    def start(self, name: str, *, proxy: bool = False, store: str | None = None) -> None:
        what = ["proxy"] if proxy else ["serve", "--store", store or self.store]
        at = self.addresses.get(name, "127.0.0.1:0")
        words = ["topics", *what, "--name", name, "--registry", self._registry, "--listen", at, "--json"]
        child = self._made.enter_context(Child([sys.executable, "-m", "gcom.cli", *words]))
        (row,) = child.until(lambda: child.rows("serving"), "address")
        self.children[name], self.addresses[name] = child, str(row["address"])

    def place(self, *names: str) -> str:
        return "gcom://" + ",".join(self.addresses[name] for name in names)


@pytest.fixture
def start(server: Server) -> Iterator[Callable[[], Servers]]:
    """Makes the servers of one PostgreSQL database."""
    with ExitStack() as made, gcom.embedded() as registry:
        yield lambda: Servers(made, registry.address, server.new_place())


def owners(servers: Servers) -> dict[str, str]:
    """Return the names of the servers that last wrote topics, as the database has it."""
    with topics.open(servers.store) as store:
        return {topic: it.partition("#")[0] for topic, it in store.access.ask(job(fence.owners)).items()}


class Sending(Thread):
    """A producer that sends numbers until it is told to end."""

    def __init__(self, place: str) -> None:
        super().__init__(daemon=True)
        self.place, self.sent, self.ending = place, 0, Event()
        self.start()

    def run(self) -> None:
        with topics.open(self.place) as store:
            producer = store.topic("lines").producer("file")
            while not self.ending.is_set():
                with suppress(ReceiptUnknown):  # on a slow machine: it is sent again with its sequence
                    assert producer.send(str(self.sent), seq=self.sent).offset == self.sent
                    self.sent += 1

    def some_more(self) -> None:
        """Wait until it has sent some more."""
        count, deadline = self.sent + 50, monotonic() + LIMIT_S
        while self.sent < count:
            assert self.is_alive(), f"it ended after {self.sent}"
            assert monotonic() < deadline
            self.join(0.01)

    def end(self) -> list[str]:
        """End it; return what must be in the topic."""
        self.ending.set()
        self.join(LIMIT_S)
        assert not self.is_alive()
        return [str(number) for number in range(self.sent)]


def read(servers: Servers, topic: str = "lines") -> list[str]:
    with topics.open(servers.store) as store:
        return [it.text for it in store.topic(topic).read()]


def test_owners_that_are_killed_paused_and_asked_to_end(start: Callable[[], Servers], server: Server) -> None:
    """Through proxies, one of which dies: a kill, an orderly end, and a pause have others own the topics.

    Then the database is killed, and started again: all go on.
    """
    servers = start()
    for name in "abc":
        servers.start(name)
    for name in "pq":
        servers.start(name, proxy=True)
    sending = Sending(servers.place("p", "q"))
    sending.some_more()
    servers.children["p"].signal(signal.SIGKILL)
    for what in (signal.SIGKILL, signal.SIGTERM):
        owner = owners(servers)["lines"]
        servers.children[owner].signal(what)
        servers.children[owner].end()
        sending.some_more()
        assert owners(servers)["lines"] != owner
        servers.start(owner)
    owner = owners(servers)["lines"]
    servers.children[owner].signal(signal.SIGSTOP)
    sending.some_more()
    assert owners(servers)["lines"] != owner
    servers.children[owner].signal(signal.SIGCONT)
    sending.some_more()
    server.stop("immediate")
    server.start()
    sending.some_more()
    assert sending.end() == read(servers)


def test_new_topics_at_two_proxies_at_once_have_one_owner_each(server: Server, tmp_path: Path) -> None:
    result = run_race(60, 2, tmp_path, server.new_place(), lambda _: None)
    assert (result.owned_once, result.lost, result.doubled) == (60, 0, 0)
    assert result.by_owner == {"a": 30, "b": 30}


def test_the_demonstration_kills_the_owner_of_a_file(tmp_path: Path) -> None:
    words = ["topics", "demo", "--kill", "owner", "--times", "1", "--folder", str(tmp_path / "kept"), "--json"]
    with Child([sys.executable, "-m", "gcom.cli", *words]) as child:
        assert child.end() == 0, child.errors
        (row,), (judged,) = child.rows("kills"), child.rows("audit")
    assert row["kills"] == 1
    assert judged["verdict"] == "PASS"
    assert (row["lost"], row["doubled"], row["left_over"], row["in_order"]) == (0, 0, 0, True)


def test_files_keep_their_topics_and_say_so(tmp_path: Path) -> None:
    """Two files: new topics are shared out, each file is one store, and its topics end and return with its server."""
    with gcom.embedded() as registry, ExitStack() as made:

        def start(name: str) -> TopicsServer:
            return TopicsServer(str(tmp_path / name), cluster=TopicsCluster(name, registry.address))

        a, b = start("a"), made.enter_context(start("b"))
        store = made.enter_context(topics.TopicStore(RemoteStore(f"gcom://{b.address}", timeout_s=1.0)))
        for number in range(4):
            store.topic(f"t{number}").send("x")
        assert [it.name for it in store.topics()] == ["t0", "t1", "t2", "t3"]
        with store.transaction() as tx:
            tx.send(store.topic("t0"), "x")
            with pytest.raises(BadValue, match="another store"):
                tx.send(store.topic("t1"), "x")
        a.close()
        with pytest.raises(Unavailable, match="in the store of server 'a', which does not run"):
            store.topic("t0").info  # noqa: B018 - a property
        assert store.topic("t1").info.count == 1
        made.enter_context(start("a"))
        assert store.topic("t0").info.count == 2


def test_a_topic_that_is_held_up_holds_up_no_other(tmp_path: Path) -> None:
    """A server with a file is down, and so are its topics. A client's calls to others' topics go on meanwhile."""
    with ExitStack() as made:
        registry = made.enter_context(gcom.embedded()).address
        servers = [
            made.enter_context(TopicsServer(str(tmp_path / f"{name}.db"), cluster=TopicsCluster(name, registry)))
            for name in ("a", "b")
        ]
        store = made.enter_context(topics.open(f"gcom://{servers[0].address},{servers[1].address}"))
        names = [f"t{number}" for number in range(8)]
        producers = {name: store.topic(name).producer("p") for name in names}
        for producer in producers.values():
            producer.send("first")
        owned = servers[0].routing.catalog.owners()
        servers[1].close()
        held = {name: it.submit("second") for name, it in producers.items() if owned[name] == "b"}
        lanes = {crc32(name.encode()) % LANES for name in held}
        free = [name for name in names if owned[name] == "a" and crc32(name.encode()) % LANES not in lanes]
        assert (len(held), bool(free)) == (4, True)
        assert [producers[name].send("second").offset for name in free] == [1] * len(free)
        assert not [name for name, it in held.items() if it.done()]
        made.enter_context(TopicsServer(str(tmp_path / "b.db"), cluster=TopicsCluster("b", registry)))
        assert {it.result(LIMIT_S).offset for it in held.values()} == {1}
