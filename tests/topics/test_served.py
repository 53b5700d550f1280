"""Servers: a client's calls are carried out once, whatever is lost on the way, and however often the server is killed.

What topics do is tested in the other files, for stores at a server as well (`--store served`).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import DEVNULL
from threading import Thread

import msgpack
import pytest

from gcom import topics
from gcom.certificates.identity_files import CertificateFiles
from gcom.errors import BadValue, MalformedFrame, Unavailable, Untrusted
from gcom.runtime import pyro
from gcom.runtime.security.process import TLS_VARIABLES
from gcom.topics.crash_points import VARIABLE
from gcom.topics.served import codec, operations, requests
from gcom.topics.served.client import RemoteStore
from gcom.topics.served.serving import TopicsServer
from gcom.topics.storage import appends
from gcom.topics.storage.transaction import job
from gcom.topics.values import Entry
from tests.running import LIMIT_S, Child, environment
from tests.runtime.authorities import TestAuthority

LINES = [f"line {number}" for number in range(400)]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[TopicsServer]:
    with TopicsServer(str(tmp_path / "app.db")) as server:
        yield server


class Restarted(Thread):
    """A server that dies at one crash point after the other, and is started again at once at the same address."""

    def __init__(self, place: Path, crashes: list[str]) -> None:
        super().__init__(daemon=True)
        self.place, self.crashes, self.killed = place, crashes, 0
        self.child, self.address = self._start("127.0.0.1:0")
        self.start()

    def _start(self, listen: str) -> tuple[Child, str]:
        words = ["gcom.cli", "topics", "serve", "--store", str(self.place), "--listen", listen, "--json"]
        crash = self.crashes.pop(0) if self.crashes else ""
        child = Child([sys.executable, "-m", *words], environment(**{VARIABLE: crash} if crash else {}), DEVNULL)
        (row,) = child.until(lambda: child.rows("serving"), "address")
        return child, str(row["address"])

    def run(self) -> None:
        while self.child.end() == -signal.SIGKILL and self.crashes is not None:
            self.killed += 1
            self.child, _ = self._start(self.address)

    def stop(self) -> None:
        self.child.signal(signal.SIGTERM)
        self.join(LIMIT_S)
        assert not self.is_alive()


def receive(place: str, received: list[str]) -> None:
    with topics.open(place) as store:
        for delivery in store.topic("lines").subscribe("s", after="earliest"):
            received.append(delivery.text)
            delivery.ack()
            if len(received) >= len(LINES):
                return


def test_a_server_that_is_killed_and_started_again(tmp_path: Path) -> None:
    """A producer, a consumer and plain sends go on: nothing is lost, and nothing is there twice."""
    points = ("append.judged", "append.written", "append.committed", "append.replied")
    server = Restarted(tmp_path / "app.db", [f"{point}:{times}" for times in (20, 45) for point in points])
    place, received = f"gcom://{server.address}", list[str]()
    consumer = Thread(target=receive, args=(place, received), daemon=True)
    consumer.start()
    with topics.open(place) as store:
        lines, plain = store.topic("lines").producer("file"), store.topic("plain")
        for number, line in enumerate(LINES):
            assert lines.send(line, seq=number).offset == number
            if number % 4 == 0:
                plain.send(line)
        consumer.join(LIMIT_S)
        assert server.killed == 8
        assert received == LINES
        assert [it.text for it in store.topic("lines").read()] == LINES
        assert [it.text for it in plain.read()] == LINES[::4]
    server.stop()


def test_a_mirror_at_a_server_is_exact_though_that_is_killed_again_and_again(tmp_path: Path) -> None:
    points = ("append.judged", "append.written", "append.committed", "append.replied")
    server = Restarted(tmp_path / "far.db", [f"{point}:7" for point in points])
    with topics.open(tmp_path / "near.db") as near, topics.open(f"gcom://{server.address}") as far:
        orders = near.topic("orders")
        mirror = orders.link(far.topic("orders"), "mirror")
        for number in range(40):
            orders.send(f"order {number}", key=f"customer {number % 3}", headers={"at": str(number)})
            mirror.run(follow=False)
        ours, theirs = [*orders.read()], [*far.topic("orders").read()]
    server.stop()
    assert server.killed == 4
    assert [(it.text, it.key, it.headers) for it in theirs] == [(it.text, it.key, it.headers) for it in ours]
    assert len(theirs) == 40


def test_a_client_whose_server_is_gone(served: TopicsServer) -> None:
    """A message that was never sent is Unavailable; one that may have arrived is ReceiptUnknown."""
    store = topics.TopicStore(RemoteStore(f"gcom://{served.address}", timeout_s=0.5))
    orders = store.topic("orders")
    orders.send("a")
    served.close()
    with pytest.raises((Unavailable, topics.ReceiptUnknown)):
        orders.send("b")
    with pytest.raises(Unavailable, match="nobody listens"):
        orders.message(0)
    store.close()


def test_a_numbered_call_is_carried_out_once(served: TopicsServer) -> None:
    """Sent again, now or after its answer was had: it changes nothing more."""
    with topics.open(f"gcom://{served.address}") as store, closing(caller(served)) as peer:
        orders = store.topic("orders")
        words = operations.written(job(appends.add, orders.target, [Entry(0, b"plain")]))
        ask(peer, requests.request(requests.GREET, "a client", "", False))

        def add(number: int, upto: int) -> object:
            call = requests.WrittenCall(number, "orders", str(words[0]), words[1])
            return ask(peer, requests.request(requests.CALL, "a client", upto, call))[2]

        assert add(1, 0) == add(1, 0)
        assert orders.info.count == 1
        assert add(2, 1) == add(2, 1)
        found = add(1, 1)
        assert isinstance(found, list)
        assert found[:2] == [requests.FAILED, "CallForgotten"]
        assert orders.info.count == 2
        ask(peer, requests.request(requests.LEAVE, "a client", ""))
        assert "CallForgotten" in str(add(3, 2))
        assert orders.info.count == 2


def caller(server: TopicsServer) -> pyro.Caller:
    return pyro.Caller(server.address, requests.OBJECT, pyro.UserSecret())


def ask(peer: pyro.Caller, request: bytes) -> list[object]:
    return requests.read_answer(peer.call(b"\0" + request, 10)[1:])


@pytest.mark.parametrize(
    "words",
    [
        (requests.ASK, "t", "read", [1, "t", 0, "many"]),
        (requests.ASK, "t", "add", []),
        (requests.ASK, "t"),
        (requests.CALL, "a client", 0, [1, "t", "add", [1, 2]]),
        (requests.CALL, "short", 0),
        (requests.CALL, "a client", "x"),
        ("else",),
    ],
)
def test_malformed_requests_are_refused_and_the_server_goes_on(served: TopicsServer, words: tuple[object, ...]) -> None:
    with closing(caller(served)) as peer:
        try:
            answer = ask(peer, requests.request(*words))  # type: ignore[arg-type]
        except MalformedFrame:
            pass
        else:
            assert [it[0] for it in answer[2:]] == [requests.FAILED] * (len(words) - 3)  # type: ignore[index]
        assert ask(peer, requests.request(requests.GREET, "a client", "", False))[2] == "file"


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\xc7\x01\x63a", b"\xd4\x00\x01", b"\x91" * 3000 + b"\x01"])
def test_bytes_that_are_no_value(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        codec.unpack(data)


def be(patch: pytest.MonkeyPatch, files: CertificateFiles) -> None:
    """Have what is opened next show this certificate."""
    for name, value in zip(TLS_VARIABLES, (files.cert, files.key, files.ca), strict=True):
        patch.setenv(name, str(value))


def test_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect_log: Callable[[str], None]) -> None:
    """A client names its server, and both are of one authority; others are refused, and nothing is stored."""
    for folder in ("ours", "theirs"):
        (tmp_path / folder).mkdir()
    ours, theirs = TestAuthority(tmp_path / "ours"), TestAuthority(tmp_path / "theirs")
    be(monkeypatch, ours.member("server"))
    with TopicsServer(str(tmp_path / "app.db")) as server:
        be(monkeypatch, ours.member("client"))
        with topics.open(f"gcom://server@{server.address}") as store:
            assert store.topic("orders").send("a").offset == 0
        with pytest.raises(Untrusted, match=r"and not of .*/other"):
            topics.open(f"gcom://other@{server.address}")
        with pytest.raises(BadValue, match="needs the name in the server's certificate"):
            topics.open(f"gcom://{server.address}")
        be(monkeypatch, theirs.member("server"))
        expect_log("refused from the network")
        with pytest.raises(Untrusted):
            topics.open(f"gcom://server@{server.address}")


@pytest.mark.parametrize("place", ["gcom://", "gcom://host", "gcom://a:b", "gcom://127.0.0.1:0,"])
def test_addresses_that_are_none(place: str) -> None:
    with pytest.raises(BadValue):
        topics.open(place)


def test_lists_of_nouns_travel_as_rows() -> None:
    """They arrive as they were; rows of other values than their noun has are refused."""
    entries = [Entry(1, b"a"), Entry(2, b"", b"key", b"{}")]
    data = codec.pack([codec.in_rows(entries), codec.in_rows([1, entries[0]]), codec.in_rows([])])
    assert codec.unpack(data) == [entries, [1, entries[0]], []]
    for number, rows in ((64, [[1, "text", None, b""]]), (64, [[1]]), (64, 1), (64, [1]), (127, []), (63, [])):
        with pytest.raises(MalformedFrame):
            codec.unpack(msgpack.packb(msgpack.ExtType(number, msgpack.packb(rows))))
