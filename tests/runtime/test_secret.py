"""Loopback: a process that does not know the user's secret stays out, and one that only pretends to serve is left."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import msgpack
import Pyro5.api
import pytest
from Pyro5 import protocol

import gcom
from gcom.certificates import user_secret
from gcom.errors import BadValue, PeerError, Untrusted
from gcom.runtime import pyro
from gcom.runtime.pyro.wire import read, write
from gcom.values import names
from tests.running import environment

LIMIT_S = 60.0
MINE, OTHER = pyro.UserSecret(b"m" * 32), pyro.UserSecret(b"o" * 32)
ExpectLog = Callable[[str], None]


@pytest.fixture
def server() -> Iterator[pyro.Server]:
    objects: dict[str, object] = {pyro.NODE: pyro.Endpoint(bytes), "open": pyro.Endpoint(bytes)}
    it = pyro.Server("127.0.0.1", 0, objects, credentials=MINE, openly=frozenset(["open"]))
    it.start()
    with closing(it):
        yield it


def called(address: str, secret: pyro.UserSecret | None, served: str = pyro.NODE) -> bytes:
    with closing(pyro.Caller(address, served, secret)) as caller:
        return caller.call(b"hi", LIMIT_S)


def test_processes_of_one_user_know_each_other(server: pyro.Server) -> None:
    assert called(server.address, MINE) == b"hi"


def test_another_user_calls_nothing(server: pyro.Server, expect_log: ExpectLog) -> None:
    expect_log("no secret")
    with pytest.raises(PeerError, match="for processes of its own user alone"):
        called(server.address, None)
    with pytest.raises(Untrusted, match="does not know this user's secret"):
        called(server.address, OTHER)
    with socket.create_connection(names.split_address(server.address), LIMIT_S) as sock:  # one that does not look
        write(sock, protocol.MSG_CONNECT, 0, 0, msgpack.packb({"handshake": {"nonce": bytes(32)}, "object": pyro.NODE}))
        assert read(sock).kind == protocol.MSG_CONNECTOK
        write(sock, protocol.MSG_CONNECT, 0, 0, msgpack.packb({"proof": bytes(32)}))
        refused = read(sock)
    assert (refused.kind, b"another user" in bytes(refused.body)) == (protocol.MSG_CONNECTFAIL, True)
    assert server.refused == {"no secret": 1, "wrong secret": 1}


def test_who_was_let_in_to_an_open_object_calls_no_other(server: pyro.Server, expect_log: ExpectLog) -> None:
    expect_log("unknown object")
    assert called(server.address, None, "open") == b"hi"
    with socket.create_connection(names.split_address(server.address), LIMIT_S) as sock:
        write(sock, protocol.MSG_CONNECT, 0, 0, msgpack.packb({"handshake": "hello", "object": "open"}))
        assert read(sock).kind == protocol.MSG_CONNECTOK
        write(sock, protocol.MSG_INVOKE, 0, 1, msgpack.packb((pyro.NODE, "receive", (b"hi",), {})))
        answer = read(sock)
    assert (answer.flags & protocol.FLAGS_EXCEPTION, b"no such object" in bytes(answer.body)) == (1, True)


def test_a_port_that_another_user_took_is_not_believed() -> None:
    """It welcomes everybody, as a stock daemon does."""
    server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(bytes)})
    server.start()
    with closing(server), pytest.raises(Untrusted, match="another user listens there"):
        called(server.address, MINE)


def test_what_both_say_cannot_be_passed_on(server: pyro.Server) -> None:
    """Another user sits at a port between the two, and hands each what the other says: its ports are others."""
    with socket.create_server(("127.0.0.1", 0)) as between:
        passing = threading.Thread(target=pass_on, args=(between, server.address), daemon=True)
        passing.start()
        host, port = between.getsockname()
        with pytest.raises(Untrusted, match="does not know this user's secret"):
            called(f"{host}:{port}", MINE)
        passing.join(LIMIT_S)
    assert not passing.is_alive()


def pass_on(between: socket.socket, address: str) -> None:
    caller, _ = between.accept()
    with caller, socket.create_connection(names.split_address(address), LIMIT_S) as server:
        server.sendall(caller.recv(4096))
        caller.sendall(server.recv(4096))
        assert caller.recv(4096) == b""  # it has left


def test_the_secret_is_never_sent(monkeypatch: pytest.MonkeyPatch, server: pyro.Server) -> None:
    sent: list[bytes] = []
    send = socket.socket.sendall

    def watched(sock: socket.socket, data: bytes) -> None:
        sent.append(data)
        send(sock, data)

    monkeypatch.setattr(socket.socket, "sendall", watched)
    called(server.address, MINE)
    assert sent
    assert not any(b"m" * 8 in data for data in sent)


def test_a_group_on_loopback_needs_no_set_up() -> None:
    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as alice:
        with alice.join("news", create=gcom.Definition("news")) as news:
            news.send("hello")
            assert next(iter(news)).text == "hello"
        host, port = names.split_address(registry.address)
        with Pyro5.api.locate_ns(host, port, broadcast=False) as stock:
            assert "gcom.directory" in stock.list()


def test_on_loopback_nothing_of_certificates_is_loaded() -> None:
    """It takes a tenth of a second, which each command would pay for."""
    program = (
        "import sys, gcom\n"
        "with gcom.embedded() as registry, gcom.connect('alice', registry.address) as alice:\n"
        "    alice.join('news', create=gcom.Definition('news')).leave()\n"
        "print([name for name in sys.modules if name.startswith('cryptography')])\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=LIMIT_S)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_the_secret_is_made_once_for_its_user_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: user_secret.read(), range(32)))
    assert len(found) == 1
    place = user_secret.path()
    assert [path.name for path in place.parent.iterdir()] == ["secret"]
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    place.chmod(0o644)
    with pytest.raises(BadValue, match="chmod 600"):
        user_secret.read()
    place.chmod(0o600)
    place.write_bytes(b"short")
    with pytest.raises(BadValue, match="is damaged"):
        user_secret.read()
