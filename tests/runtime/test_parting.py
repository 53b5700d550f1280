"""Refusals that carry words: the peer hears them, though it has sent bytes that nobody read."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from Pyro5 import protocol

from gcom.errors import PeerError, Untrusted
from gcom.runtime import pyro
from gcom.runtime.pyro import wire
from gcom.values import identity, names
from tests.runtime.authorities import TestAuthority

LIMIT_S = 60.0
MUCH = bytes(600_000)  # more than a server reads at once, less than it reads before it gives up
ALICE, BOB = identity.member("alice"), identity.member("bob")
ExpectLog = Callable[[str], None]


class Target:
    """Alice's server, and bob's certificate."""

    def __init__(self, folder: Path) -> None:
        self.authority = TestAuthority(folder)
        self.alice = self.authority.credentials(ALICE)
        self.files = self.authority.files(BOB)
        self.bob = pyro.Credentials(self.files)
        served: dict[str, object] = {pyro.NODE: pyro.Endpoint(bytes)}
        self.server = pyro.Server("127.0.0.1", 0, served, handshake_s=LIMIT_S, credentials=self.alice)
        self.server.start()

    def revoke(self) -> None:
        serial = ssl._ssl._test_decode_cert(self.files.cert)["serialNumber"]  # type: ignore[attr-defined]
        self.alice.revoked = frozenset([int(serial, 16)])

    def caller(self) -> pyro.Caller:
        return pyro.Caller(self.server.address, pyro.NODE, self.bob, "alice")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    it = Target(tmp_path / "authority")
    with closing(it.server):
        yield it


def handshake_with(target: Target, more: bytes) -> bytes:
    """Send the end of a TLS handshake and more in one fragment; return what the server said, up to its end."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = target.bob.client.wrap_bio(received, sent)
    with socket.create_connection(names.split_address(target.server.address), LIMIT_S) as sock:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                sock.sendall(sent.read())
                received.write(sock.recv(65536))
        tls.write(more)
        sock.sendall(sent.read())
        received.write(said_to(sock))
        return tls.read(65536)


def said_to(sock: socket.socket) -> bytes:
    """Return what a server says that refuses us, having shown that it still reads: else it would have reset us.

    A reset after the words may overtake them, on a network; on loopback it shows at the second write after it.
    """
    said = b"".join(iter(lambda: sock.recv(65536), b""))
    for _ in range(3):
        sock.sendall(bytes(1000))
    return said


def test_a_refusal_after_the_handshake_is_heard(target: Target, expect_log: ExpectLog) -> None:
    expect_log("1 revoked")
    target.revoke()
    said = handshake_with(target, MUCH)
    assert said[6] == protocol.MSG_CONNECTFAIL
    assert b"your certificate is revoked" in said


def test_a_certificate_that_is_revoked_between_two_calls(target: Target, expect_log: ExpectLog) -> None:
    expect_log("1 revoked")
    with closing(target.caller()) as caller:
        assert caller.call(b"hi", LIMIT_S) == b"hi"
        target.revoke()
        with pytest.raises(Untrusted, match="your certificate is revoked: ask the operator"):
            caller.call(b"hi", LIMIT_S)


def test_an_alert_is_heard(target: Target, tmp_path: Path, expect_log: ExpectLog) -> None:
    """A certificate of another authority is refused by TLS itself, whose words are an alert."""
    expect_log("1 certificate")
    files = TestAuthority(tmp_path / "theirs").files(BOB)
    target.bob.client.load_cert_chain(files.cert, files.key)
    with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
        handshake_with(target, MUCH)


def test_another_users_refusal_is_heard(expect_log: ExpectLog) -> None:
    expect_log("no secret")
    served: dict[str, object] = {pyro.NODE: pyro.Endpoint(bytes)}
    server = pyro.Server("127.0.0.1", 0, served, handshake_s=LIMIT_S, credentials=pyro.UserSecret(b"o" * 32))
    server.start()
    with closing(server), socket.create_connection(names.split_address(server.address), LIMIT_S) as sock:
        hello = wire.pack({"handshake": "hello", "object": pyro.NODE})
        sock.sendall(_message(protocol.MSG_CONNECT, hello) + MUCH)
        said = said_to(sock)
    assert b"for processes of its own user alone" in said


@pytest.mark.parametrize(("words", "error"), [(f"{wire.NOT_TRUSTED}go away", Untrusted), ("no room", PeerError)])
def test_who_can_no_longer_write_reads_why(words: str, error: type[Exception]) -> None:
    """The server refuses a request that it has not read, and resets the connection while the caller writes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so the caller cannot put all of it
        refusing = threading.Thread(target=_refuse_one, args=(listening, words), daemon=True)
        refusing.start()
        caller = pyro.Caller("{}:{}".format(*listening.getsockname()), pyro.NODE)
        with closing(caller), pytest.raises(error, match=words.removeprefix(wire.NOT_TRUSTED)):
            caller.call(bytes(64 * 1024 * 1024), LIMIT_S)
        refusing.join(LIMIT_S)


def _refuse_one(listening: socket.socket, words: str) -> None:
    sock, _ = listening.accept()
    with sock:
        wire.read(sock)
        wire.write(sock, protocol.MSG_CONNECTOK, 0, 0, wire.pack("welcome"))
        sock.recv(40)
        wire.write(sock, protocol.MSG_CONNECTFAIL, 0, 0, wire.pack(words))


def _message(kind: int, body: bytes) -> bytes:
    head = (b"PYRO", protocol.PROTOCOL_VERSION, kind, wire.MSGPACK, 0, 0, len(body), 0, bytes(16), 0, 0x4DC5)
    return struct.pack("!4sHBBHHII16sHH", *head) + body
