"""Hostile peers of a server that speaks TLS: none of them stops it, and each is counted by what it did."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic

import msgpack
import pytest
from Pyro5 import protocol

from gcom.certificates.identity_files import CertificateFiles
from gcom.runtime import pyro
from gcom.runtime.pyro.connections import ConnectionAdmission, Connections
from gcom.runtime.pyro.wire import Stream
from gcom.values import identity, limits, names
from tests.runtime.authorities import TestAuthority

LIMIT_S = 60.0
SHORT_S = 0.5  # for a stranger's handshake
ALICE, BOB = identity.member("alice"), identity.member("bob")
ExpectLog = Callable[[str], None]


class Target:
    """Alice's server, and bob, who is honest."""

    def __init__(self, folder: Path, handshake_s: float) -> None:
        authority = TestAuthority(folder)
        self.files: CertificateFiles = authority.files(BOB)
        credentials = authority.credentials(ALICE)
        served: dict[str, object] = {pyro.NODE: pyro.Endpoint(bytes)}
        self.server = pyro.Server("127.0.0.1", 0, served, 8, handshake_s=handshake_s, credentials=credentials)
        self.server.start()
        self.bob = pyro.Caller(self.server.address, pyro.NODE, pyro.Credentials(self.files), "alice")

    def still_serves(self) -> bool:
        return self.bob.call(b"hi", LIMIT_S) == b"hi"

    def dial(self) -> socket.socket:
        return socket.create_connection(names.split_address(self.server.address), LIMIT_S)

    def dial_as_bob(self) -> ssl.SSLSocket:
        """A connection of a member that has introduced itself."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(self.files.ca)
        context.load_cert_chain(self.files.cert, self.files.key)
        secure = context.wrap_socket(self.dial())
        secure.sendall(message(protocol.MSG_CONNECT, {"handshake": "hello", "object": pyro.NODE}))
        assert kind(secure) == protocol.MSG_CONNECTOK
        return secure


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    it = Target(tmp_path / "authority", SHORT_S)
    with closing(it.server), closing(it.bob):
        assert it.still_serves()
        yield it


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Target]:
    """A server for honest handshakes, which a busy machine may stretch."""
    it = Target(tmp_path / "authority", LIMIT_S)
    with closing(it.server), closing(it.bob):
        yield it


def message(of: int, value: object, *, flags: int = 0, serializer: int = 4, body: bytes | None = None) -> bytes:
    data = msgpack.packb(value) if body is None else body
    head = (b"PYRO", protocol.PROTOCOL_VERSION, of, serializer, flags, 1, len(data), 0, bytes(16), 0, 0x4DC5)
    return struct.pack("!4sHBBHHII16sHH", *head) + data


def kind(sock: socket.socket) -> int:
    data = sock.recv(40)
    sock.recv(4096)
    return data[6]


def ended(sock: socket.socket) -> bool:
    """Wait until the server has ended a connection; what it said before does not matter."""
    try:
        while sock.recv(4096):
            pass
    except OSError:
        pass
    return True


def until(condition: Callable[[], bool]) -> None:
    deadline, pause = monotonic() + LIMIT_S, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.002)


def client_hello() -> bytes:
    """The first bytes of a TLS handshake, which everybody may send."""
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(received, sent).do_handshake()
    return sent.read()


def test_silent_connections_are_ended(target: Target, expect_log: ExpectLog) -> None:
    expect_log("silent")
    with ExitStack() as stack:
        silent = [stack.enter_context(target.dial()) for _ in range(4)]
        assert target.still_serves()
        assert all(map(ended, silent))
    until(lambda: target.server.refused["silent"] == 4)


@pytest.mark.parametrize("part", [1, 5, 50, 10_000])
def test_half_a_handshake_is_ended(target: Target, part: int, expect_log: ExpectLog) -> None:
    expect_log("silent")
    with target.dial() as sock:
        sock.sendall(client_hello()[:part])
        assert target.still_serves()
        assert ended(sock)


def test_a_handshake_that_trickles_is_ended(target: Target, expect_log: ExpectLog) -> None:
    """A byte now and then keeps no worker: the limit is for the whole."""
    expect_log("silent")
    pause = threading.Event()
    with target.dial() as sock:
        for byte in client_hello() * 50:
            try:
                sock.sendall(bytes([byte]))
            except OSError:
                break
            pause.wait(0.02)
        else:
            pytest.fail("it may trickle for as long as it likes")
    assert target.still_serves()


def test_floods_displace_strangers_and_not_members(target: Target, expect_log: ExpectLog) -> None:
    """Five times as many connections as are served: the member that came first keeps its own."""
    expect_log("pool full")
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(target.dial())
        until(lambda: target.server.refused["pool full"] > 20)
        assert target.bob.connected
        assert target.still_serves()
        assert target.server.connections <= 8


@pytest.mark.parametrize("garbage", [b"\0" * 500, b"\x16\x03\x01\xff\xff" + b"\xaa" * 500, b"GET / HTTP/1.1\r\n\r\n"])
def test_garbage_instead_of_a_handshake(target: Target, garbage: bytes, expect_log: ExpectLog) -> None:
    expect_log("handshake")
    with target.dial() as sock:
        sock.sendall(garbage)
        assert ended(sock)
    assert target.still_serves()


def test_a_recorded_connection_played_again_is_refused(target: Target, expect_log: ExpectLog) -> None:
    """TLS mixes randomness of both sides into the keys: what was sent before means nothing."""
    expect_log("refused from the network")
    recorded = recording(target)
    with target.dial() as sock:
        sock.sendall(recorded)
        assert ended(sock)
    until(lambda: target.server.refused["handshake"] + target.server.refused["no certificate"] == 1)
    assert target.still_serves()


def recording(target: Target) -> bytes:
    """All bytes that an honest caller sent, from its dial to its request."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as between:
        address = "{}:{}".format(*between.getsockname())
        passing = threading.Thread(target=pass_on, args=(between, target, sent), daemon=True)
        passing.start()
        with closing(pyro.Caller(address, pyro.NODE, pyro.Credentials(target.files), "alice")) as caller:
            assert caller.call(b"hi", LIMIT_S) == b"hi"
        passing.join(LIMIT_S)
    return b"".join(sent)


def pass_on(between: socket.socket, target: Target, sent: list[bytes]) -> None:
    caller, _ = between.accept()
    with caller, target.dial() as server:
        back = threading.Thread(target=_copy, args=(server, caller, []), daemon=True)
        back.start()
        _copy(caller, server, sent)
        server.shutdown(socket.SHUT_RDWR)
        back.join(LIMIT_S)


def _copy(source: socket.socket, sink: socket.socket, seen: list[bytes]) -> None:
    while data := source.recv(65536):
        seen.append(data)
        sink.sendall(data)


EMPTY = message(protocol.MSG_INVOKE, None, body=b"")
TOO_LARGE = EMPTY[:12] + b"\x7f\xff\xff\xff" + EMPTY[16:]


@pytest.mark.parametrize(
    ("reason", "sent"),
    [
        ("too large", TOO_LARGE),
        ("compressed", message(protocol.MSG_INVOKE, None, flags=2, body=zlib.compress(bytes(10_000_000)))),
        ("serializer", message(protocol.MSG_INVOKE, None, serializer=2, body=b"\xe9\0\0\0\0")),
        ("oneway", message(protocol.MSG_INVOKE, (pyro.NODE, "receive", (b"hi",), {}), flags=4)),
        ("not Pyro5", b"\0" * 100),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_member_that_breaks_the_form_loses_its_connection(
    patient: Target, reason: str, sent: bytes, expect_log: ExpectLog
) -> None:
    expect_log(reason)
    with patient.dial_as_bob() as sock:
        sock.sendall(sent)
        assert ended(sock)
    assert patient.server.refused[reason] == 1
    assert patient.still_serves()


def test_deep_nesting_is_an_answer(patient: Target, expect_log: ExpectLog) -> None:
    expect_log("not msgpack")
    with patient.dial_as_bob() as sock:
        sock.sendall(message(protocol.MSG_INVOKE, None, body=b"\x91" * 500_000))
        assert kind(sock) == protocol.MSG_RESULT
    assert patient.still_serves()


def test_half_a_frame_gives_way(patient: Target, expect_log: ExpectLog) -> None:
    """A member that says the half holds one connection; when others need it, it is the longest idle one."""
    expect_log("pool full")
    with patient.dial_as_bob() as half, ExitStack() as stack:
        half.sendall(message(protocol.MSG_INVOKE, (pyro.NODE, "receive", (b"hi",), {}))[:30])
        assert patient.still_serves()
        for _ in range(8):
            stack.enter_context(patient.dial_as_bob())
        assert ended(half)


class Idle:
    """A connection that does nothing."""

    def __init__(self) -> None:
        self.sock: Stream = socket.socket()


@pytest.fixture
def idle() -> Iterator[Callable[[], Idle]]:
    with ExitStack() as stack:

        def made() -> Idle:
            it = Idle()
            stack.callback(it.sock.close)  # type: ignore[attr-defined]
            return it

        yield made


def test_one_machine_has_so_many_newcomers(idle: Callable[[], Idle]) -> None:
    connections = Connections(1000, LIMIT_S)
    first = idle()
    assert connections.admit(first, "192.0.2.1") is ConnectionAdmission.ADMITTED
    for _ in range(limits.NEWCOMERS_PER_HOST_MAX - 1):
        assert connections.admit(idle(), "192.0.2.1") is ConnectionAdmission.ADMITTED
    assert connections.admit(idle(), "192.0.2.2") is ConnectionAdmission.ADMITTED
    assert connections.admit(idle(), "192.0.2.1") is ConnectionAdmission.REPLACES
    assert len(connections) == limits.NEWCOMERS_PER_HOST_MAX + 1
    with pytest.raises(EOFError):
        connections.introduced(first)


def test_who_has_shown_who_it_is_counts_no_more(idle: Callable[[], Idle]) -> None:
    connections = Connections(1000, LIMIT_S)
    for _ in range(2 * limits.NEWCOMERS_PER_HOST_MAX):
        conn = idle()
        assert connections.admit(conn, "192.0.2.1") is ConnectionAdmission.ADMITTED
        connections.introduced(conn)
    assert len(connections) == 2 * limits.NEWCOMERS_PER_HOST_MAX


def test_at_the_bound_strangers_give_way_before_members(idle: Callable[[], Idle]) -> None:
    connections = Connections(2, LIMIT_S)
    member, stranger = idle(), idle()
    connections.admit(member)
    connections.introduced(member)
    connections.admit(stranger)
    assert connections.admit(idle()) is ConnectionAdmission.REPLACES
    connections.end(member, connections.begin(member))
    with pytest.raises(EOFError):
        connections.begin(stranger)
