"""The transport against peers that are silent, garbled, greedy or hostile; every wait has a limit."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from time import monotonic
from typing import Any

import msgpack
import pytest
from Pyro5 import client, errors, protocol, serializers
from Pyro5.server import Daemon

from gcom.errors import BadValue, MalformedFrame, PeerError, Unavailable
from gcom.runtime import pyro
from gcom.values import limits, names

LIMIT_S = 60.0  # for what should take milliseconds
MSGPACK, MARSHAL = 4, 2
HELLO = {"handshake": "hello", "object": pyro.NODE}
CALL: Any = (pyro.NODE, "receive", (b"hi",), {})
ExpectLog = Callable[[str], None]


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread is about to do."""
    deadline, pause = monotonic() + LIMIT_S, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.002)


def message(
    kind: int, value: Any, *, flags: int = 0, seq: int = 1, serializer: int = MSGPACK, body: bytes | None = None
) -> bytes:
    data = msgpack.packb(value) if body is None else body
    head = (b"PYRO", protocol.PROTOCOL_VERSION, kind, serializer, flags, seq, len(data), 0, bytes(16), 0, 0x4DC5)
    return struct.pack("!4sHBBHHII16sHH", *head) + data


def dial(address: str) -> socket.socket:
    return socket.create_connection(names.split_address(address), LIMIT_S)


def connected(address: str) -> socket.socket:
    """A raw connection that has introduced itself."""
    sock = dial(address)
    sock.sendall(message(protocol.MSG_CONNECT, HELLO))
    assert receive(sock)[0] == protocol.MSG_CONNECTOK
    return sock


def receive(sock: socket.socket) -> tuple[int, int, Any]:
    """Kind, flags and value of the next message."""
    header = struct.unpack("!4sHBBHHII16sHH", exactly(sock, 40))
    return header[2], header[4], msgpack.unpackb(exactly(sock, header[6]))


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = sock.recv(size - len(data))
        assert part, "closed"
        data += part
    return data


def ended(sock: socket.socket) -> bool:
    """Wait until the other side has closed; what it said before does not matter."""
    try:
        while sock.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


class Served:
    """A server of one endpoint that answers a frame with itself, and what it needs to be watched."""

    def __init__(self, handler: Callable[[bytes], bytes] = bytes, **options: Any) -> None:
        self.frames: list[bytes] = []
        self._handler = handler
        self.server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(self._take)}, **options)
        self.address = self.server.address
        self.server.start()

    def _take(self, frame: bytes) -> bytes:
        self.frames.append(frame)
        return self._handler(frame)

    def still_serves(self) -> bool:
        with closing(pyro.Caller(self.address, pyro.NODE)) as caller:
            return caller.call(b"still there?", LIMIT_S) == b"still there?"


@pytest.fixture
def served() -> Iterator[Served]:
    it = Served()
    yield it
    it.server.close()


class Peer:
    """A listener that follows a script with each connection."""

    def __init__(self, script: Callable[[socket.socket], None]) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "{}:{}".format(*self._listener.getsockname())
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with sock:
                sock.settimeout(LIMIT_S)
                try:
                    self._script(sock)
                except (AssertionError, OSError):
                    continue  # the caller has heard enough

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(LIMIT_S)


def answering(reply: bytes) -> Callable[[socket.socket], None]:
    """A script: introduce properly, then answer every call with `reply`."""

    def script(sock: socket.socket) -> None:
        receive(sock)
        sock.sendall(message(protocol.MSG_CONNECTOK, {"handshake": "hello", "meta": {}}))
        while True:
            receive(sock)
            sock.sendall(reply)

    return script


# --- what works -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 1000, limits.FRAME_BYTES_MAX])
def test_a_frame_comes_back(served: Served, size: int) -> None:
    with closing(pyro.Caller(served.address, pyro.NODE)) as caller:
        for _ in range(3):
            assert caller.call(bytes(size), LIMIT_S) == bytes(size)


def test_a_stock_proxy_can_call(served: Served) -> None:
    with client.Proxy(f"PYRO:{pyro.NODE}@{served.address}") as proxy:
        assert proxy.receive(b"hello") == b"hello"
        assert proxy._pyroMethods == {"receive"}


def test_a_stock_daemon_can_be_called() -> None:
    pyro.settings()
    with Daemon("127.0.0.1", 0) as daemon:
        daemon.register(pyro.Endpoint(bytes.upper), pyro.NODE)
        thread = threading.Thread(target=daemon.requestLoop)
        thread.start()
        with closing(pyro.Caller(daemon.locationStr, pyro.NODE)) as caller:
            assert caller.call(b"hello", LIMIT_S) == b"HELLO"
        daemon.shutdown()
        thread.join(LIMIT_S)


def test_many_callers_at_once(served: Served) -> None:
    def call(number: int) -> None:
        with closing(pyro.Caller(served.address, pyro.NODE)) as caller:
            for turn in range(20):
                frame = b"%d %d" % (number, turn)
                assert caller.call(frame, LIMIT_S) == frame
        finished.append(number)

    finished: list[int] = []
    threads = [threading.Thread(target=call, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert sorted(finished) == list(range(16))


# --- the server against its clients -----------------------------------------------------------------------------


def test_silent_clients_do_not_stall_others(served: Served) -> None:
    with ExitStack() as stack:
        for _ in range(50):
            stack.enter_context(dial(served.address))
        half = stack.enter_context(dial(served.address))
        half.sendall(message(protocol.MSG_CONNECT, HELLO)[:20])
        assert served.still_serves()  # while they are still there


def test_a_client_that_trickles_its_introduction_is_cut_off(expect_log: ExpectLog) -> None:
    expect_log("silent")
    served = Served(handshake_s=0.2)
    with closing(served.server), dial(served.address) as sock:
        trickle, pause = iter(message(protocol.MSG_CONNECT, HELLO)), threading.Event()
        while not served.server.refused:
            sock.sendall(bytes([next(trickle)]))  # runs dry long after the limit
            pause.wait(0.05)
        assert ended(sock)
    assert served.server.refused["silent"] == 1


def test_silent_clients_beyond_the_bound_give_way_to_each_other(expect_log: ExpectLog) -> None:
    expect_log("pool full")
    served = Served(connections=4, handshake_s=0.3)
    with closing(served.server), ExitStack() as stack:
        silent = [stack.enter_context(dial(served.address)) for _ in range(12)]
        assert all(ended(sock) for sock in silent)
        until(lambda: served.server.refused.total() == len(silent))
        assert served.still_serves()
    assert set(served.server.refused) == {"pool full", "silent"}


def test_the_longest_idle_connection_gives_way_to_a_new_one(expect_log: ExpectLog) -> None:
    expect_log("pool full")
    served = Served(connections=3)
    with closing(served.server), ExitStack() as stack:
        first, second, third = (stack.enter_context(connected(served.address)) for _ in range(3))
        first.sendall(message(protocol.MSG_INVOKE, CALL))
        assert receive(first) == (protocol.MSG_RESULT, 0, b"hi")  # so the second is the longest idle one
        assert served.still_serves()
        assert ended(second)
        for sock in (first, third):
            sock.sendall(message(protocol.MSG_INVOKE, CALL))
            assert receive(sock) == (protocol.MSG_RESULT, 0, b"hi")
    assert served.server.refused == {"pool full": 1}


def test_a_connection_that_is_being_served_gives_way_to_nobody(expect_log: ExpectLog) -> None:
    expect_log("pool full")
    entered, leave = threading.Semaphore(0), threading.Event()

    def handler(frame: bytes) -> bytes:
        entered.release()
        leave.wait(LIMIT_S)
        return frame

    served = Served(handler, connections=2)
    with closing(served.server), ExitStack() as stack:
        busy = [stack.enter_context(connected(served.address)) for _ in range(2)]
        for sock in busy:
            sock.sendall(message(protocol.MSG_INVOKE, CALL))
        assert all(entered.acquire(timeout=LIMIT_S) for _ in busy)
        with (
            closing(pyro.Caller(served.address, pyro.NODE)) as caller,
            pytest.raises(pyro.ConnectionLost, match="no free worker"),
        ):
            caller.call(b"", LIMIT_S)
        leave.set()
        assert [receive(sock) for sock in busy] == [(protocol.MSG_RESULT, 0, b"hi")] * 2
        assert served.still_serves()


def test_an_idle_connection_is_ended_and_its_caller_dials_anew() -> None:
    served = Served(idle_s=0.1)
    with closing(served.server), closing(pyro.Caller(served.address, pyro.NODE)) as caller:
        with connected(served.address) as idle:
            assert caller.call(b"first", LIMIT_S) == b"first"
            assert ended(idle)
        until(lambda: not served.server.connections)
        assert caller.connected
        assert caller.call(b"second", LIMIT_S) == b"second"
    assert served.frames == [b"first", b"second"], "the ended connection cost a failure, or a request put twice"
    assert not served.server.refused


@pytest.mark.parametrize(
    ("reason", "sent"),
    [
        ("not Pyro5", b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"),
        ("not Pyro5", b"PYRO" + bytes(36)),
        ("too large", message(protocol.MSG_CONNECT, None, body=bytes(pyro.CALL_BYTES_MAX + 1))[:40]),
        ("annotations", message(1, HELLO)[:16] + struct.pack("!I", 2000) + message(1, HELLO)[20:40]),
        (
            "compressed",
            message(
                protocol.MSG_CONNECT, None, flags=protocol.FLAGS_COMPRESSED, body=zlib.compress(bytes(50_000_000), 9)
            ),
        ),
        ("blob", message(protocol.MSG_CONNECT, HELLO, flags=protocol.FLAGS_KEEPSERIALIZED)),
        ("no introduction", message(protocol.MSG_INVOKE, CALL)),
        ("not msgpack", message(protocol.MSG_CONNECT, None, body=b"\xdd\xff\xff\xff\xff" * 1000)),
        ("not msgpack", message(protocol.MSG_CONNECT, None, body=b"\x91" * 5000)),
        ("unknown object", message(protocol.MSG_CONNECT, {"handshake": "hello", "object": "Pyro.Daemon"})),
        ("unknown object", message(protocol.MSG_CONNECT, ["hello"])),
        (
            "unknown object",  # Pyro5 would build the proxy, index it, and thereby dial the address it was given
            message(
                protocol.MSG_CONNECT,
                {"__class__": "Pyro5.client.Proxy", "state": ["PYRO:x@127.0.0.1:1", [], [], [], "hello", None]},
            ),
        ),
        ("serializer", message(protocol.MSG_CONNECT, None, serializer=77, body=b"?")),
    ],
)
def test_a_bad_introduction_is_refused(served: Served, expect_log: ExpectLog, reason: str, sent: bytes) -> None:
    expect_log(reason)
    with dial(served.address) as sock:
        sock.sendall(sent)
        assert ended(sock)
    assert served.server.refused == {reason: 1}
    assert served.still_serves()


@pytest.mark.parametrize("name", ["serpent", "json", "marshal"])
def test_other_serializers_are_refused_with_words(
    served: Served, expect_log: ExpectLog, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    expect_log("serializer")
    proxy = client.Proxy(f"PYRO:{pyro.NODE}@{served.address}")
    proxy._pyroSerializer = name
    with pytest.raises(errors.CommunicationError, match=r'SERIALIZER = "msgpack"'):
        proxy._pyroBind()
    for kind in (serializers.MarshalSerializer, serializers.SerpentSerializer, serializers.JsonSerializer):
        monkeypatch.setattr(kind, "loadsCall", None)  # must not be called
    with connected(served.address) as sock:
        body = serializers.serializers[name].dumpsCall(pyro.NODE, "receive", ("hi",), {})
        sock.sendall(
            message(protocol.MSG_INVOKE, None, serializer=serializers.serializers[name].serializer_id, body=body)
        )
        assert ended(sock)
    assert served.server.refused == {"serializer": 2}
    assert served.frames == []


@pytest.mark.parametrize(
    ("reason", "sent"),
    [
        ("not Pyro5", bytes(100)),
        ("too large", message(protocol.MSG_INVOKE, None, body=bytes(pyro.CALL_BYTES_MAX + 1))[:40]),
        ("compressed", message(protocol.MSG_INVOKE, CALL, flags=protocol.FLAGS_COMPRESSED)),
        ("blob", message(protocol.MSG_INVOKE, CALL, flags=protocol.FLAGS_KEEPSERIALIZED)),
        ("oneway", message(protocol.MSG_INVOKE, CALL, flags=protocol.FLAGS_ONEWAY)),
        ("message type", message(protocol.MSG_RESULT, b"")),
    ],
)
def test_a_message_that_breaks_the_protocol_ends_its_connection(
    served: Served, expect_log: ExpectLog, reason: str, sent: bytes
) -> None:
    expect_log(reason)
    with connected(served.address) as sock:
        sock.sendall(sent)
        assert ended(sock)
    assert served.server.refused == {reason: 1}
    assert served.frames == []
    assert served.still_serves()


@pytest.mark.parametrize(
    ("reason", "call", "flags"),
    [
        ("batch", (pyro.NODE, "<batch>", [["receive", [b"x"], {}]], {}), protocol.FLAGS_BATCH),
        ("unknown object", ("Pyro.Daemon", "registered", (), {}), 0),
        ("unknown method", (pyro.NODE, "_handler", (b"",), {}), 0),
        ("unknown method", (pyro.NODE, "__init__", (b"",), {}), 0),
        ("unknown method", (pyro.NODE, "send", (b"",), {}), 0),
        ("unknown method", (pyro.NODE, "__setattr__", ("_handler", 1), {}), 0),
        ("malformed call", {"object": pyro.NODE}, 0),
        ("malformed call", (pyro.NODE, ["receive"], (b"",), {}), 0),
        ("argument", (pyro.NODE, "receive", ("text",), {}), 0),
        ("argument", (pyro.NODE, "receive", (bytes(limits.FRAME_BYTES_MAX + 1),), {}), 0),
        ("failed call", (pyro.NODE, "receive", (), {}), 0),
        ("failed call", (pyro.NODE, "receive", (b"", b""), {}), 0),
    ],
)
def test_a_bad_call_is_answered_and_the_connection_goes_on(
    served: Served, expect_log: ExpectLog, reason: str, call: Any, flags: int
) -> None:
    expect_log(reason)
    with connected(served.address) as sock:
        sock.sendall(message(protocol.MSG_INVOKE, call, flags=flags))
        kind, flags, answer = receive(sock)
        assert (kind, flags) == (protocol.MSG_RESULT, protocol.FLAGS_EXCEPTION)
        assert answer["__class__"].startswith("Pyro5.errors.")
        assert served.frames == []
        sock.sendall(message(protocol.MSG_INVOKE, CALL))
        assert receive(sock) == (protocol.MSG_RESULT, 0, b"hi")
    assert served.server.refused == {reason: 1}


def test_a_ping_is_answered(served: Served) -> None:
    with connected(served.address) as sock:
        sock.sendall(message(protocol.MSG_PING, b"?"))
        assert exactly(sock, 44)[-4:] == b"pong"


@pytest.mark.parametrize(
    ("error", "reason", "told", "logged"),
    [
        (MalformedFrame("no frame"), "MalformedFrame", "MalformedFrame: no frame", "1 MalformedFrame"),
        (KeyError("a secret of ours"), "failed call", "the call failed: KeyError", "fault of this process"),
    ],
)
def test_a_handler_that_raises_is_an_answer(
    expect_log: ExpectLog, error: Exception, reason: str, told: str, logged: str
) -> None:
    expect_log(reason)
    expect_log(logged)

    def handler(_: bytes) -> bytes:
        raise error

    served = Served(handler)
    with closing(served.server), closing(pyro.Caller(served.address, pyro.NODE)) as caller:
        with pytest.raises(PeerError) as caught:
            caller.call(b"", LIMIT_S)
        assert told in str(caught.value)
        assert "secret" not in str(caught.value)
    assert served.server.refused == {reason: 1}


def test_refusals_are_told_once_in_a_while(served: Served, expect_log: ExpectLog, log_watch: Any) -> None:
    expect_log("1 not Pyro5")
    for _ in range(5):
        with dial(served.address) as sock:
            sock.sendall(bytes(40))
            assert ended(sock)
    assert served.server.refused == {"not Pyro5": 5}
    assert len(log_watch.records) == 1


# --- closing ----------------------------------------------------------------------------------------------------


def test_closing_ends_calls_in_progress_at_once() -> None:
    entered, leave = threading.Semaphore(0), threading.Event()

    def handler(frame: bytes) -> bytes:
        entered.release()
        leave.wait(LIMIT_S)
        return frame

    served = Served(handler)
    outcomes: list[str] = []

    def call() -> None:
        with closing(pyro.Caller(served.address, pyro.NODE)) as caller:
            try:
                caller.call(b"", LIMIT_S)
            except pyro.ConnectionLost:
                outcomes.append("lost")

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    assert all(entered.acquire(timeout=LIMIT_S) for _ in threads)
    idle = connected(served.address)
    served.server.close()
    served.server.close()
    for thread in threads:
        thread.join(LIMIT_S)
    leave.set()
    assert outcomes == ["lost"] * 20
    with idle:
        assert ended(idle)
    with closing(pyro.Caller(served.address, pyro.NODE)) as caller, pytest.raises(pyro.ConnectionRefused):
        caller.call(b"", LIMIT_S)


def test_a_handler_may_close_its_server() -> None:
    def handler(frame: bytes) -> bytes:
        it.server.close()
        return frame

    it = Served(handler)
    with closing(pyro.Caller(it.address, pyro.NODE)) as caller, pytest.raises(pyro.ConnectionLost):
        caller.call(b"", LIMIT_S)


def test_a_server_that_never_started_can_be_closed() -> None:
    server = pyro.Server("127.0.0.1", 0, {})
    server.close()
    again = pyro.Server("127.0.0.1", names.split_address(server.address)[1], {})
    again.close()


# --- addresses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_an_address_that_others_reach_is_refused(host: str) -> None:
    with pytest.raises(BadValue, match=r"mutual TLS.*use 127\.0\.0\.1"):
        pyro.Server(host, 0, {})


@pytest.mark.parametrize(("host", "port"), [("", 0), ("nohost", 0), ("127.0.0.1", -1), ("127.0.0.1", 65536)])
def test_an_address_that_is_none_is_refused(host: str, port: int) -> None:
    with pytest.raises(BadValue):
        pyro.Server(host, port, {})


def test_localhost_is_given_out_as_an_address() -> None:
    with closing(pyro.Server("localhost", 0, {})) as server:
        assert server.address.startswith("127.0.0.1:")


def test_the_loopback_of_ipv6_is_one_too() -> None:
    try:
        server = pyro.Server("::1", 0, {pyro.NODE: pyro.Endpoint(bytes)})
    except Unavailable:
        pytest.skip("this machine has no IPv6")
    server.start()
    assert server.address.startswith("[::1]:")
    with closing(server), closing(pyro.Caller(server.address, pyro.NODE)) as caller:
        assert caller.call(b"six", LIMIT_S) == b"six"


def test_a_taken_port_is_named(served: Served) -> None:
    with pytest.raises(Unavailable, match=rf"{served.address} cannot be used.*in use"):
        pyro.Server("127.0.0.1", names.split_address(served.address)[1], {})


def test_an_environment_that_pyro5_refuses_does_no_harm() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import os, gcom; print(os.environ['PYRO_SERVICE_HOST'])"],
        env={**os.environ, "PYRO_SERVICE_HOST": "10.0.0.1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S * 5,
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "10.0.0.1\n", "")


# --- the client against its peers -------------------------------------------------------------------------------


def test_a_port_where_nobody_listens_is_refused() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))  # ours, but not listening
        caller = pyro.Caller("{}:{}".format(*sock.getsockname()), pyro.NODE)
        with closing(caller), pytest.raises(pyro.ConnectionRefused):
            caller.call(b"", LIMIT_S)


def exception(name: str) -> bytes:
    value = {"__class__": name, "__exception__": True, "args": ["go\naway"], "attributes": {}}
    return message(protocol.MSG_RESULT, value, flags=protocol.FLAGS_EXCEPTION)


@pytest.mark.parametrize(
    "reply",
    [
        exception("builtins.SystemExit"),
        exception("builtins.KeyboardInterrupt"),
        exception("Pyro5.errors.SecurityError"),
        message(protocol.MSG_RESULT, {"__class__": "builtins.SystemExit", "__exception__": True, "args": []}),
        message(protocol.MSG_RESULT, "text, not bytes"),
        message(protocol.MSG_RESULT, b"late", seq=7),
        message(protocol.MSG_PING, b"pong"),
        message(protocol.MSG_RESULT, None, serializer=MARSHAL, body=serializers.serializers["marshal"].dumps(b"x")),
        message(protocol.MSG_RESULT, None, flags=protocol.FLAGS_COMPRESSED, body=zlib.compress(bytes(10_000_000))),
        message(protocol.MSG_RESULT, None, body=bytes(pyro.CALL_BYTES_MAX + 1))[:40],
        b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n",
    ],
)
def test_any_other_answer_is_the_peers_error(reply: bytes) -> None:
    with closing(Peer(answering(reply))) as peer, closing(pyro.Caller(peer.address, pyro.NODE)) as caller:
        with pytest.raises(PeerError) as caught:
            caller.call(b"", LIMIT_S)
        assert str(caught.value).isprintable()
        assert not caller.connected


@pytest.mark.parametrize(
    "welcome",
    [
        message(protocol.MSG_CONNECTFAIL, "go away"),
        message(protocol.MSG_CONNECTOK, None, flags=protocol.FLAGS_COMPRESSED, body=zlib.compress(bytes(10_000_000))),
        message(protocol.MSG_RESULT, b""),
        bytes(100),
    ],
)
def test_a_bad_welcome_is_the_peers_error(welcome: bytes) -> None:
    def script(sock: socket.socket) -> None:
        receive(sock)
        sock.sendall(welcome)
        ended(sock)

    with closing(Peer(script)) as peer, pytest.raises(PeerError):
        pyro.Caller(peer.address, pyro.NODE).call(b"", LIMIT_S)


def test_a_peer_that_never_answers_runs_into_the_timeout() -> None:
    with closing(Peer(answering(b""))) as peer, closing(pyro.Caller(peer.address, pyro.NODE)) as caller:
        with pytest.raises(pyro.TimedOut, match=peer.address):
            caller.call(b"", 0.2)
        assert not caller.connected


def test_a_peer_that_trickles_its_answer_runs_into_the_timeout() -> None:
    def script(sock: socket.socket) -> None:
        receive(sock)
        sock.sendall(message(protocol.MSG_CONNECTOK, {}))
        receive(sock)
        for byte in message(protocol.MSG_RESULT, bytes(1000)):
            sock.sendall(bytes([byte]))
            pause.wait(0.02)

    pause = threading.Event()
    with (
        closing(Peer(script)) as peer,
        closing(pyro.Caller(peer.address, pyro.NODE)) as caller,
        pytest.raises(pyro.TimedOut),  # its answer would take 20 s
    ):
        caller.call(b"", 0.2)


def test_a_broken_connection_is_lost_and_the_next_call_dials_anew() -> None:
    def script(sock: socket.socket) -> None:
        receive(sock)
        sock.sendall(message(protocol.MSG_CONNECTOK, {}))
        receive(sock)
        calls.append(1)
        if len(calls) > 1:
            sock.sendall(message(protocol.MSG_RESULT, b"here", seq=2))

    calls: list[int] = []
    with closing(Peer(script)) as peer, closing(pyro.Caller(peer.address, pyro.NODE)) as caller:
        with pytest.raises(pyro.ConnectionLost):
            caller.call(b"", LIMIT_S)
        assert caller.call(b"", LIMIT_S) == b"here"


def test_another_thread_may_end_a_call_by_closing() -> None:
    entered = threading.Event()

    def script(sock: socket.socket) -> None:
        receive(sock)
        sock.sendall(message(protocol.MSG_CONNECTOK, {}))
        receive(sock)
        entered.set()
        ended(sock)

    def close() -> None:
        entered.wait(LIMIT_S)
        caller.close()

    with closing(Peer(script)) as peer:
        caller = pyro.Caller(peer.address, pyro.NODE)
        closer = threading.Thread(target=close)
        closer.start()
        with pytest.raises(pyro.ConnectionLost):
            caller.call(b"", LIMIT_S)
        closer.join(LIMIT_S)
        with pytest.raises(pyro.ConnectionLost, match="closed by this side"):
            caller.call(b"", LIMIT_S)
