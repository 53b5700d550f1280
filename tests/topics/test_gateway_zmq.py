"""The gateway over ZeroMQ: REQ sockets send what the protocol's document prints."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from gcom.errors import ExtraMissing, Unavailable
from gcom.topics.gateway.asking import ask
from gcom.topics.gateway.messages import ZGet, ZStatus
from gcom.topics.gateway.serving import GatewayPlaces, GatewayServer
from tests.running import LIMIT_S
from tests.topics.golden_z import SESSION
from tests.topics.test_gateway import without_why

zmq = pytest.importorskip("zmq", reason="pyzmq is not installed: the gateway over ZeroMQ is not tested")


class Lines:
    """Sockets of clients and servers, closed at the end."""

    def __init__(self) -> None:
        self._context, self._made = zmq.Context(), list[Any]()

    def new(self, kind: int) -> Any:
        line = self._context.socket(kind)
        line.setsockopt(zmq.LINGER, 0)
        line.setsockopt(zmq.RCVTIMEO, int(LIMIT_S * 1000))
        self._made.append(line)
        return line

    def to(self, place: str, kind: int = zmq.REQ) -> Any:
        line = self.new(kind)
        line.connect(f"tcp://{place}")
        return line

    def close(self) -> None:
        for line in self._made:
            line.close()
        self._context.term()


@pytest.fixture
def lines() -> Iterator[Lines]:
    made = Lines()
    yield made
    made.close()


def test_a_session_of_req_clients(lines: Lines, place: str) -> None:
    """Each client has a REQ socket; one asks by TCP at the same time."""
    with GatewayServer(place, GatewayPlaces(tcp="127.0.0.1:0", zmq="127.0.0.1:0")) as gateway:
        clients = {name: lines.to(gateway.zmq) for name in (b"alice", b"bob", b"carol")}
        for question, answer in SESSION:
            line = clients[question.split(b" ")[1]]
            line.send(question)
            assert without_why(line.recv()) == answer, question


def test_what_is_hostile_closes_its_own_connection(lines: Lines, file_place: str) -> None:
    """Noise, a message of several frames, a DEALER without an envelope, and one that asks a hundred times at once."""
    with GatewayServer(file_place, GatewayPlaces(zmq="127.0.0.1:0")) as gateway:
        host, _, port = gateway.zmq.rpartition(":")
        with socket.create_connection((host, int(port))) as noise:
            noise.sendall(b"GET alice news -1\r\n\r\n" * 1000)
        req = lines.to(gateway.zmq)
        req.send_multipart([b"SUBSCRIBE alice", b" news\r\n", b"\r\n"])
        assert req.recv() == b"STATUS gcom OK\r\n\r\n"
        req.send(b"\xff" * 10_000)
        assert req.recv().startswith(b"STATUS gcom INTERNAL_ERROR\r\n\r\n")
        dealer = lines.to(gateway.zmq, zmq.DEALER)
        for _ in range(100):
            dealer.send(b"GET alice news -1\r\n\r\n")
        assert {dealer.recv() for _ in range(10)} == {b"STATUS gcom NO_MESSAGES\r\n\r\n"}


def test_questions_to_a_server(lines: Lines) -> None:
    """It is asked four times, each by a new socket, for it may have died with the question."""
    server = lines.new(zmq.ROUTER)
    port = server.bind_to_random_port("tcp://127.0.0.1")
    heard = list[bytes]()

    def serve() -> None:
        for _ in range(4):
            name, empty, question = server.recv_multipart()
            heard.append(question)
        server.send_multipart([name, empty, b"STATUS s OK\r\n\r\n"])

    thread = Thread(target=serve, daemon=True)
    thread.start()
    from gcom.topics.gateway.router import zmq_exchange

    exchange = zmq_exchange("127.0.0.1", port)
    assert ask(exchange, ZGet("a", "b"), Event()) == ZStatus("s", "OK")
    thread.join(LIMIT_S)
    assert heard == [b"GET a b -1\r\n\r\n"] * 4
    with pytest.raises(Unavailable, match="no answer in 4 tries"):
        ask(exchange, ZGet("a", "b"), Event())


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcom.topics.gateway.router", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'gcom\[zmq\]'"):
        GatewayServer(str(tmp_path / "app.db"), GatewayPlaces(zmq="127.0.0.1:0"))
