"""The gateway of protocol Z: its bytes, its sessions by TCP, what is hostile, and what is killed."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom import topics
from gcom.errors import BadValue, MalformedFrame, Unavailable
from gcom.topics.crash_points import VARIABLE
from gcom.topics.gateway import tcp
from gcom.topics.gateway.asking import ask, tcp_exchange
from gcom.topics.gateway.messages import ZGet, ZPut, ZRequest, ZStatus, ZTransfer, decode, encode
from gcom.topics.gateway.serving import GatewayPlaces, GatewayServer
from tests.cases import daily_and_rest
from tests.running import LIMIT_S, Child, environment
from tests.topics.golden_z import GOLDEN, SESSION

SERVER = "127.0.0.1:5002"
ERRORS = (b"NOT_SUBSCRIBED", b"INTERNAL_ERROR")


@pytest.fixture
def gateway(place: str) -> Iterator[GatewayServer]:
    with GatewayServer(place, GatewayPlaces(tcp="127.0.0.1:0"), servers=[SERVER]) as server:
        yield server


def asked(place: str, data: bytes) -> bytes:
    """Ask as a client does: one message, and its answer."""
    host, _, port = place.rpartition(":")
    return tcp_exchange(host, int(port))(data, LIMIT_S)


def without_why(answer: bytes) -> bytes:
    """Return an answer; of an error, without its sentence."""
    header, end, body = answer.partition(b"\r\n\r\n")
    return header + end if header.endswith(ERRORS) and body else answer


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes(name: str) -> None:
    data, message = GOLDEN[name]
    assert encode(message) == data
    assert decode(data) == message


FIELDS = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="*"), min_size=1, max_size=20)
PAIRS = st.tuples(FIELDS, st.binary(max_size=50) | st.text("*/s\r\n").map(str.encode))


@given(FIELDS, FIELDS, st.lists(st.tuples(FIELDS, st.lists(FIELDS, max_size=4).map(tuple))), st.lists(PAIRS))
def test_what_is_written_is_read(
    sender: str, topic: str, pending: list[tuple[str, tuple[str, ...]]], messages: list[tuple[str, bytes]]
) -> None:
    whole = ZTransfer(sender, topic, tuple(dict(pending).items()), tuple(dict(messages).items()))
    puts = [ZPut(sender, topic, number, body) for number, (_, body) in enumerate(messages)]
    several: list[ZRequest] = [whole, *puts]
    for message in several:
        assert decode(encode(message)) == message


MALFORMED = [
    (b"", "no header"),
    (b"GET alice news -1\n\n", "no header"),
    (b"\xff\r\n\r\n", "expected UTF-8"),
    (b"HELLO\r\n\r\n", "is no message"),
    (b"SUBSCRIBE alice a topic\r\n\r\n", "names have no spaces"),
    (b"SUBSCRIBE  news\r\n\r\n", "is no name here"),
    (b"SUBSCRIBE alice \x00\r\n\r\n", "is no name here"),
    (b"SUBSCRIBE alice " + b"x" * 201 + b"\r\n\r\n", "is no name here"),
    (b"SUBSCRIBE alice news\r\n\r\nbody", "and a body"),
    (b"GET alice " + b"x" * 5000 + b" -1\r\n\r\n", "no header"),
    (b"PUT bob news -1\r\n\r\nx", "is no counter"),
    (b"PUT bob news 4611686018427387904\r\n\r\nx", "is no counter"),
    ("PUT bob news ١\r\n\r\nx".encode(), "is no counter"),
    (b"PERIODIC s\r\n\r\n\xff", "expected names in UTF-8"),
    (b"TRANSFER s t\r\n\r\na 1\r\n*1\r\nx", "an id, CR LF"),
    (b"TRANSFER s t\r\n\r\na 1\r\n*1\r\n/x\r\n", "is followed by"),
    (b"TRANSFER s t\r\n\r\na\r\na\r\n", "once"),
    (b"TRANSFER s t\r\n\r\n*1\r\n\r\n*1\r\n\r\n", "once"),
    (b"TRANSFER s t\r\n\r\n" + b"a\r\n" * 100_001, "at most 100000"),
    (b"MERGE s t 127.0.0.1:1\r\n\r\n", "merges nothing"),
    (b"STATUS s OK\r\n\r\n", "nothing was asked"),
    (b"TRANSFER 127.0.0.1:9 t\r\n\r\n", "is no server"),
]


def test_malformed_messages_get_an_error(file_place: str) -> None:
    """Each has a connection of its own, and the gateway goes on."""
    with GatewayServer(file_place, GatewayPlaces(tcp="127.0.0.1:0")) as gateway:
        for data, why in MALFORMED:
            answer = decode(asked(gateway.tcp, data))
            assert isinstance(answer, ZStatus)
            assert (answer.status in ("INTERNAL_ERROR", "TRANSFER_TOPIC_ERROR"), why in answer.body.decode()) == (
                True,
                True,
            ), (data[:60], answer)


def test_a_session_is_replayed_byte_for_byte(gateway: GatewayServer) -> None:
    for question, answer in SESSION:
        assert without_why(asked(gateway.tcp, question)) == answer, question


def test_a_client_that_sends_no_end_holds_up_nobody(tmp_path: Path) -> None:
    """Each has its own connection: one that says nothing, one that is too long, one that resets, and one that asks."""
    with GatewayServer(str(tmp_path / "app.db"), GatewayPlaces(tcp="127.0.0.1:0")) as gateway:
        host, _, port = gateway.tcp.rpartition(":")
        with socket.create_connection((host, int(port))) as silent, socket.create_connection((host, int(port))) as long:
            silent.sendall(b"GET alice")
            long.sendall(b"PUT bob news 0 " + b"x" * 8000)
            long.settimeout(LIMIT_S)
            assert b"STATUS gcom INTERNAL_ERROR\r\n\r\nno header" in long.recv(1000)
            assert asked(gateway.tcp, b"SUBSCRIBE alice news\r\n\r\n") == b"STATUS gcom OK\r\n\r\n"
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert asked(gateway.tcp, b"GET alice news -1\r\n\r\n") == b"STATUS gcom NO_MESSAGES\r\n\r\n"


def test_bounds_of_time_and_count(file_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client without an end is told so; one too many is told so at once, and the next one is served."""
    monkeypatch.setattr(tcp, "READ_S", 0.3)
    monkeypatch.setattr(tcp, "CONNECTIONS_MAX", 1)
    with GatewayServer(file_place, GatewayPlaces(tcp="127.0.0.1:0")) as gateway:
        host, _, port = gateway.tcp.rpartition(":")
        with socket.create_connection((host, int(port))) as silent:
            silent.settimeout(LIMIT_S)
            silent.sendall(b"GET alice")
            while b"has 1 connections already" not in asked(gateway.tcp, b"SUBSCRIBE alice news\r\n\r\n"):
                pass
            assert b"had no end in 0.3 s" in silent.recv(1000)
        while asked(gateway.tcp, b"SUBSCRIBE alice news\r\n\r\n") != b"STATUS gcom OK\r\n\r\n":
            pass
        monkeypatch.setattr(tcp, "WAITING_BYTES_MAX", 1000)
        assert b"too many bytes of others" in asked(gateway.tcp, b"PUT bob news 0\r\n\r\n" + b"x" * 2000)


def test_many_clients_that_try_again_at_once(gateway: GatewayServer) -> None:
    """Each PUT is sent four times, by several connections at a time; each is there once, in its sender's order."""

    def put(name: str) -> None:
        for counter in range(8):
            data = encode(ZPut(name, "news", counter, b"%d" % counter))
            tries = [Thread(target=asked, args=(gateway.tcp, data)) for _ in range(4)]
            for it in tries:
                it.start()
            for it in tries:
                it.join(LIMIT_S)

    asked(gateway.tcp, b"SUBSCRIBE alice news\r\n\r\n")
    senders = [Thread(target=put, args=(f"s{number}",)) for number in range(3)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(LIMIT_S)
    got = list(received(gateway.tcp, "alice", "news"))
    assert sorted(got) == sorted([b"%d" % counter for counter in range(8)] * 3)


def received(place: str, client: str, topic: str, last: str = "-1") -> Iterator[bytes]:
    """Yield what a client gets until there is no more, asking twice each time."""
    while True:
        question = encode(ZGet(client, topic, last))
        answer = decode(asked(place, question))
        assert decode(asked(place, question)) == answer
        assert isinstance(answer, ZStatus)
        if answer.status == "NO_MESSAGES":
            return
        last = answer.id
        yield answer.body


POINTS = ["append.committed", "append.written", "append.judged", "append.replied"]


@pytest.mark.parametrize("point", daily_and_rest(POINTS, 2))
def test_a_gateway_is_killed_between_append_and_answer(tmp_path: Path, point: str) -> None:
    """The client hears nothing, asks again, and its message is there once."""
    words = [sys.executable, "-m", "gcom.cli", "topics", "gateway", "--store", str(tmp_path / "app.db"), "--json"]
    asked_for = b"PUT bob news 5\r\n\r\nonce"
    times = 1 if point == "append.judged" else 3  # commits: the tables, the topic, and the message
    env = environment(**{VARIABLE: f"{point}:{times}"})
    with Child([*words, "--listen", "127.0.0.1:0"], env, DEVNULL) as child:
        (row,) = child.until(lambda: child.rows("serving"), "address")
        lost = False
        while not lost:
            try:
                lost = not asked(row["tcp"], asked_for)
            except ConnectionError:
                lost = True
        assert child.end() == -signal.SIGKILL
    with topics.open(tmp_path / "app.db") as store:
        assert store.topic("news").info.count == (point in ("append.committed", "append.replied"))
    with GatewayServer(str(tmp_path / "app.db"), GatewayPlaces(tcp="127.0.0.1:0")) as gateway:
        for _ in range(2):
            assert asked(gateway.tcp, asked_for) == b"STATUS gcom OK\r\n\r\n"
    with topics.open(tmp_path / "app.db") as store:
        assert [(it.producer, it.seq, it.text) for it in store.topic("news").read()] == [("bob", 5, "once")]


# --- questions of the gateway's own ----------------------------------------------------------------------------------


class Peer(Thread):
    """A server of protocol Z that answers what `answers` has, in turn; None is silence."""

    def __init__(self, *answers: bytes | None) -> None:
        super().__init__(daemon=True)
        self.answers, self.heard = list(answers), list[bytes]()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.all_heard = Event()
        self.start()

    def run(self) -> None:
        silent = []
        for answer in self.answers:
            line, _ = self.socket.accept()
            got = b""
            while part := line.recv(1000):
                got += part
            self.heard.append(got)
            if answer is None:
                silent.append(line)
            else:
                line.sendall(answer)
                line.close()
        self.all_heard.set()
        for line in silent:
            line.close()
        self.socket.close()


def question(peer: Peer) -> ZRequest | ZStatus:
    host, _, port = peer.address.rpartition(":")
    return ask(tcp_exchange(host, int(port)), ZGet("a", "b"), Event())


def test_a_peer_that_answers_the_last_time() -> None:
    """100 ms, and three retries: the fourth try is answered."""
    peer = Peer(None, None, None, b"STATUS s OK\r\n\r\n")
    assert question(peer) == ZStatus("s", "OK")
    assert peer.heard == [b"GET a b -1\r\n\r\n"] * 4


def test_a_peer_that_never_answers() -> None:
    peer = Peer(None, None, None, None, None)
    with pytest.raises(Unavailable, match="no answer in 4 tries of 100 ms"):
        question(peer)
    assert len(peer.heard) <= 4


def test_a_peer_that_answers_something_else() -> None:
    with pytest.raises(MalformedFrame, match="expected a STATUS"):
        question(Peer(b"GET a b -1\r\n\r\n"))


def test_a_server_s_topics_are_taken_over(tmp_path: Path) -> None:
    """It says what it has (PERIODIC), is asked for it (MERGE), and hands it over (TRANSFER), twice; once it counts."""
    peer = Peer(None, b"STATUS s OK\r\n\r\n")
    data = (
        f"TRANSFER {peer.address} news\r\n\r\nalice 8 10\r\nbob\r\n*10\r\nten\r\n*8\r\na/sb//c\r\n*9\r\nnobody's\r\n"
    ).encode()
    store = str(tmp_path / "app.db")
    with GatewayServer(store, GatewayPlaces(tcp="127.0.0.1:0"), servers=[peer.address]) as gateway:
        assert asked(gateway.tcp, f"PERIODIC {peer.address}\r\n\r\nnews".encode()) == b"STATUS gcom OK\r\n\r\n"
        assert peer.all_heard.wait(LIMIT_S)
        assert peer.heard == [f"MERGE gcom news {gateway.tcp}\r\n\r\n".encode()] * 2
        for _ in range(2):
            assert asked(gateway.tcp, data) == b"STATUS gcom OK\r\n\r\n"
        assert asked(gateway.tcp, b"PUT bob news 0\r\n\r\nnew") == b"STATUS gcom OK\r\n\r\n"
        # Alice received message 8 before: its name of then says so, and it does not come again.
        assert list(received(gateway.tcp, "alice", "news", "8")) == [b"ten", b"new"]
        assert list(received(gateway.tcp, "bob", "news", "9")) == [b"new"]
        asked(gateway.tcp, b"UNSUBSCRIBE bob news\r\n\r\n")
        assert asked(gateway.tcp, data) == b"STATUS gcom OK\r\n\r\n"  # late, and again
        assert b"NOT_SUBSCRIBED" in asked(gateway.tcp, b"GET bob news 9\r\n\r\n")
        assert b"handed over before, with another body" in asked(gateway.tcp, data.replace(b"ten", b"TEN"))
        assert b"has a name as this store gives them" in asked(gateway.tcp, data.replace(b"*10\r", b"*1.10\r"))
    with topics.open(store) as opened:
        found = list(opened.topic("news").read())
        assert [it.text for it in found] == ["a*b/c", "nobody's", "ten", "new"]
        assert found[0].headers == {"z-id": "8", "z-server": peer.address}


def test_a_topic_that_is_here_already_takes_messages_over(gateway: GatewayServer) -> None:
    """A subscriber of both gets what is unread here, then what it has to receive from there, and not the rest."""
    for data in (b"SUBSCRIBE alice news\r\n\r\n", b"PUT bob news 0\r\n\r\nhere", b"SUBSCRIBE late news\r\n\r\n"):
        assert asked(gateway.tcp, data) == b"STATUS gcom OK\r\n\r\n"
    transfer = ZTransfer(SERVER, "news", (("alice", ("2",)),), (("1", b"had"), ("2", b"there")))
    assert asked(gateway.tcp, encode(transfer)) == b"STATUS gcom OK\r\n\r\n"
    assert asked(gateway.tcp, b"PUT bob news 1\r\n\r\nafter") == b"STATUS gcom OK\r\n\r\n"
    assert list(received(gateway.tcp, "alice", "news")) == [b"here", b"there", b"after"]
    assert list(received(gateway.tcp, "late", "news")) == [b"had", b"there", b"after"]


@pytest.mark.parametrize(
    ("places", "servers", "why"),
    [
        (GatewayPlaces(), [], "needs a place to listen"),
        (GatewayPlaces(tcp="0.0.0.0:0"), [], "listens on this machine alone"),
        (GatewayPlaces(tcp="127.0.0.1"), [], "is not HOST:PORT"),
        (GatewayPlaces(tcp="127.0.0.1:0"), ["s"], "is not HOST:PORT"),
    ],
)
def test_places_that_are_none(file_place: str, places: GatewayPlaces, servers: list[str], why: str) -> None:
    with pytest.raises(BadValue, match=why):
        GatewayServer(file_place, places, servers=servers)
