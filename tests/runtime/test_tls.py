"""TLS between processes: who is let in, whose name a frame may have, and what a wrong certificate is told."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest
from gcom_registry.server import RegistryServer

import gcom
from gcom.certificates.authority import now_utc
from gcom.core.codec import frames as codec
from gcom.core.codec.sequencer import encode_request as encode_sequencer
from gcom.core.messages.frames import Frame, Status
from gcom.core.messages.registry import Claim, Note, Refusal, Register, Unregister
from gcom.core.messages.sequencer import Close, Open, Want
from gcom.core.messages.witness import WitnessPrepare
from gcom.errors import BadValue, NotPermitted, PeerError, Untrusted
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security.process import TLS_VARIABLES, registry_address
from gcom.values import identity, names
from tests.runtime.authorities import TestAuthority

LIMIT_S = 60.0
ExpectLog = Callable[[str], None]
ALICE, BOB, REGISTRY = identity.member("alice"), identity.member("bob"), identity.registry()


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path / "ours")


@pytest.fixture
def registry(authority: TestAuthority) -> Iterator[RegistryServer]:
    server = RegistryServer(credentials=authority.credentials(REGISTRY))
    server.start()
    with closing(server):
        yield server


@pytest.fixture
def echo(authority: TestAuthority) -> Iterator[pyro.Server]:
    """A node of alice's that answers with who asked."""
    handler = pyro.Endpoint(lambda frame: f"{pyro.peer()}: ".encode() + frame)
    server = pyro.Server("127.0.0.1", 0, {pyro.NODE: handler}, credentials=authority.credentials(ALICE))
    server.start()
    with closing(server):
        yield server


def test_a_group_over_tls(authority: TestAuthority, registry: RegistryServer) -> None:
    with (
        gcom.connect("alice", registry.address, certificates=authority.member("alice")) as alice,
        gcom.connect("bob", registry.address, certificates=authority.member("bob")) as bob,
        alice.join("news", create=gcom.Definition("news", "TOTAL")) as sends,
        bob.join("news") as reads,
    ):
        for number in range(100):
            sends.send(f"message {number}")
        read = (message.text for message in reads)
        assert [next(read) for _ in range(100)] == [f"message {number}" for number in range(100)]
        assert not alice.refused + bob.refused + registry.refused


def test_both_sides_know_each_other(authority: TestAuthority, echo: pyro.Server) -> None:
    with closing(pyro.Caller(echo.address, pyro.NODE, authority.credentials(BOB), "alice")) as caller:
        assert caller.call(b"hi", LIMIT_S) == b"member/bob: hi"
        assert caller.call(b"x" * 200_000, LIMIT_S) == b"member/bob: " + b"x" * 200_000


def test_many_callers_at_once(authority: TestAuthority, echo: pyro.Server) -> None:
    callers = [pyro.Caller(echo.address, pyro.NODE, authority.credentials(BOB), "alice") for _ in range(8)]
    answers: list[bytes] = []
    threads = [
        threading.Thread(target=lambda it=it: answers.append(it.call(b"y" * 100_000, LIMIT_S))) for it in callers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    for caller in callers:
        caller.close()
    assert answers == [b"member/bob: " + b"y" * 100_000] * 8


def test_a_call_on_a_connection_whose_end_was_read_is_no_error(authority: TestAuthority, echo: pyro.Server) -> None:
    """OpenSSL encrypts nothing more after an end without a goodbye; who puts a call may be the application."""
    caller = pyro.Caller(echo.address, pyro.NODE, authority.credentials(BOB), "alice")
    pipeline = pyro.Pipeline(caller.connect(LIMIT_S), pyro.NODE)
    pipeline.close()
    with pytest.raises(pyro.ConnectionLost):
        pipeline.answers()
    assert pipeline.put(b"late"), "nothing waits for a connection that is over"
    with pytest.raises(pyro.ConnectionLost):
        pipeline.answers()
    pipeline.release()


def test_a_node_is_not_taken_for_another(authority: TestAuthority, echo: pyro.Server) -> None:
    with (
        closing(pyro.Caller(echo.address, pyro.NODE, authority.credentials(BOB), "carol")) as caller,
        pytest.raises(Untrusted, match=r"is of member/alice, and not of member/carol: another listens"),
    ):
        caller.call(b"hi", LIMIT_S)


def test_a_member_is_not_taken_for_a_registry(authority: TestAuthority, echo: pyro.Server) -> None:
    with pytest.raises(Untrusted, match="not of a registry"):
        DirectoryClient(echo.address, LIMIT_S, credentials=authority.credentials(BOB)).groups()


@pytest.mark.parametrize("claimed", ["alice", "bobby"])
def test_a_frame_of_another_source_is_refused(
    authority: TestAuthority, registry: RegistryServer, claimed: str, expect_log: ExpectLog
) -> None:
    expect_log("Untrusted")
    with (
        gcom.connect("alice", registry.address, certificates=authority.member("alice")) as alice,
        alice.join("news", create=gcom.Definition("news")) as group,
        closing(pyro.Caller(alice.address, pyro.NODE, authority.credentials(BOB), "alice")) as caller,
    ):
        frame = Frame("news", group.instance, f"{claimed}#1", group.process, Status(1))
        with pytest.raises(PeerError, match=f"is of member/bob, and not of {claimed}#1"):
            caller.call(codec.encode(frame), LIMIT_S)
        caller.call(codec.encode(frame._replace(source="bob#1")), LIMIT_S)  # which is for the core to judge
        until(lambda: alice.refused["Untrusted"] == 1)


def test_another_authority_is_refused_in_words(
    authority: TestAuthority, echo: pyro.Server, tmp_path: Path, expect_log: ExpectLog
) -> None:
    expect_log("refused from the network")
    other = TestAuthority(tmp_path / "theirs")
    with (
        closing(pyro.Caller(echo.address, pyro.NODE, other.credentials(BOB), "alice")) as caller,
        pytest.raises(Untrusted, match="its certificate is not of our authority"),
    ):
        caller.call(b"hi", LIMIT_S)
    mixed = replace(other.member("bob"), ca=authority.member("bob").ca)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(mixed.ca)
    context.load_cert_chain(mixed.cert, mixed.key)
    assert refused_in_handshake(echo.address, context)
    until(lambda: echo.refused["certificate"] == 1)


def until(condition: Callable[[], bool]) -> None:
    """Wait for what a server counts after it has told the peer."""
    deadline, pause = monotonic() + LIMIT_S, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.002)


def refused_in_handshake(address: str, context: ssl.SSLContext) -> bool:
    """Dial with a context of any kind; tell whether the server ends it. In TLS 1.3 that shows at the first read."""
    with socket.create_connection(names.split_address(address), LIMIT_S) as sock:
        try:
            with context.wrap_socket(sock) as secure:
                return not secure.recv(1)
        except OSError:
            return True


def anonymous(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = version
    return context


def test_nobody_speaks_without_a_certificate(echo: pyro.Server, expect_log: ExpectLog) -> None:
    expect_log("refused from the network")
    assert refused_in_handshake(echo.address, anonymous())
    until(lambda: echo.refused["no certificate"] == 1)


def test_an_older_tls_is_refused(echo: pyro.Server, expect_log: ExpectLog) -> None:
    expect_log("refused from the network")
    assert refused_in_handshake(echo.address, anonymous(ssl.TLSVersion.TLSv1_2))
    until(lambda: echo.refused["handshake"] == 1)


def test_who_speaks_without_tls_is_told_what_to_do(echo: pyro.Server, expect_log: ExpectLog) -> None:
    expect_log("1 no TLS")
    with (
        closing(pyro.Caller(echo.address, pyro.NODE)) as caller,
        pytest.raises(PeerError, match="speaks TLS alone: accept an invitation"),
    ):
        caller.call(b"hi", LIMIT_S)


def test_who_speaks_tls_to_a_local_server_is_told(authority: TestAuthority, expect_log: ExpectLog) -> None:
    expect_log("not Pyro5")
    server = pyro.Server("127.0.0.1", 0, {pyro.NODE: pyro.Endpoint(bytes)})
    server.start()
    with (
        closing(server),
        closing(pyro.Caller(server.address, pyro.NODE, authority.credentials(BOB), "alice")) as caller,
        pytest.raises(pyro.ConnectionLost, match=r"broke"),
    ):
        caller.call(b"hi", LIMIT_S)


def test_an_expired_certificate_is_named_before_it_is_used(authority: TestAuthority) -> None:
    files = authority.files(BOB, now_utc() - timedelta(hours=2), days=1 / 24)
    with pytest.raises(BadValue, match=r"expired at .* or this clock is wrong: gcom certs renew"):
        pyro.Credentials(files)


def test_a_certificate_of_tomorrow_points_at_the_clock(authority: TestAuthority) -> None:
    with pytest.raises(BadValue, match="clock is slow"):
        pyro.Credentials(authority.files(BOB, now_utc() + timedelta(days=1)))


def test_files_that_do_not_belong_together_are_named(authority: TestAuthority, tmp_path: Path) -> None:
    mine, other = authority.member("bob"), TestAuthority(tmp_path / "theirs").member("bob")
    with pytest.raises(BadValue, match="is not of key"):
        pyro.Credentials(replace(mine, key=other.key))
    with pytest.raises(BadValue, match="is not of the authority in"):
        pyro.Credentials(replace(mine, ca=other.ca))
    Path(mine.key).chmod(0o644)
    with pytest.raises(BadValue, match="chmod 600"):
        pyro.Credentials(mine)


def test_a_node_may_have_its_own_name_alone(authority: TestAuthority, registry: RegistryServer) -> None:
    with pytest.raises(BadValue, match=r"is of member/bob, so 'alice' may not be its member's name"):
        gcom.connect("alice", registry.address, certificates=authority.member("bob"))


def test_off_loopback_certificates_are_a_must(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadValue, match=r"mutual TLS, and this user has not an identity 'alice': accept an invitation"):
        gcom.connect("alice", "192.0.2.1:7411")
    with pytest.raises(BadValue, match="mutual TLS"):
        gcom.Directory("192.0.2.1:7411")
    monkeypatch.setenv(TLS_VARIABLES[0], "somewhere.pem")
    with pytest.raises(BadValue, match="GCOM_TLS_KEY and GCOM_TLS_CA must be set as well"):
        gcom.connect("alice", "127.0.0.1:1")


def test_the_environment_names_the_files(
    monkeypatch: pytest.MonkeyPatch, authority: TestAuthority, registry: RegistryServer
) -> None:
    files = authority.member("alice")
    for variable, value in zip(TLS_VARIABLES, (files.cert, files.key, files.ca), strict=True):
        monkeypatch.setenv(variable, value)
    with gcom.connect("alice", registry.address) as alice:
        assert alice.groups() == ()
    assert registry_address() == "127.0.0.1:7411"


# --- rights ------------------------------------------------------------------------------------------------------


Ask = Callable[..., DirectoryClient]


@pytest.fixture
def ask(authority: TestAuthority) -> Iterator[Ask]:
    """Return a client of a registry, with the certificate of a name."""
    clients: list[DirectoryClient] = []

    def made(registry: RegistryServer, name: str, *, admin: bool = False) -> DirectoryClient:
        credentials = authority.credentials(identity.member(name, admin=admin))
        clients.append(DirectoryClient(registry.address, LIMIT_S, credentials=credentials))
        return clients[-1]

    yield made
    for client in clients:
        client.close()


def test_only_creator_and_administrators_remove_a_group(ask: Ask, registry: RegistryServer) -> None:
    for name in ("first", "second"):
        ask(registry, "alice").create(gcom.Definition(name))
    ask(registry, "bob").create(gcom.Definition("first"))  # an equal one: it is alice's still
    with pytest.raises(NotPermitted, match=r"member/bob may not ask this \(Remove\): its creator \(alice\) may"):
        ask(registry, "bob").remove("first")
    ask(registry, "alice").remove("first")
    ask(registry, "carol", admin=True).remove("second")
    assert ask(registry, "bob").groups() == ()


def test_a_creator_is_known_after_a_restart(ask: Ask, authority: TestAuthority, tmp_path: Path) -> None:
    credentials = authority.credentials(REGISTRY)
    for turn in range(2):
        server = RegistryServer(data=tmp_path / "data", credentials=credentials)
        server.start()
        with closing(server):
            if turn == 0:
                ask(server, "alice").create(gcom.Definition("news"))
            else:
                with pytest.raises(NotPermitted, match="alice"):
                    ask(server, "bob").remove("news")
                ask(server, "alice").remove("news")


def test_nobody_asks_the_registry_for_others(ask: Ask, authority: TestAuthority, registry: RegistryServer) -> None:
    """Registration, claim, unregistration, note and vote, each as it should be, but by another."""
    with (
        gcom.connect("alice", registry.address, certificates=authority.member("alice")) as alice,
        alice.join("news", create=gcom.Definition("news")) as news,
    ):
        mallory, who, instance = ask(registry, "mallory"), news.process, news.instance
        view = news.view
        mine = names.process("mallory", "1")
        for request in (
            Register(news.definition, instance, view, who),
            Claim("news", instance, 1, who, alice.address, (who,)),
            Unregister("news", instance, 1, who),
            Unregister("unknown", instance, 1, who),
            Note("news", instance, 1, ((mine, "127.0.0.1:1"),)),
            WitnessPrepare(instance, 1, (1, 0)),
        ):
            answer = mallory.ask(request)
            assert isinstance(answer, Refusal), request
            assert (answer.code, "member/mallory may not ask this" in answer.text) == ("NotPermitted", True), answer
        assert [entry.members for entry in mallory.groups()] == [(who,)]


def test_nobody_asks_the_sequencer_for_others(
    authority: TestAuthority, registry: RegistryServer, expect_log: ExpectLog
) -> None:
    expect_log("NotPermitted")
    with (
        gcom.connect("alice", registry.address, certificates=authority.member("alice")) as alice,
        alice.join("votes", create=gcom.Definition("votes", "TOTAL")) as votes,
        closing(pyro.Caller(registry.address, pyro.SEQUENCER, authority.credentials(BOB))) as caller,
    ):
        for request in (
            Want("votes", votes.instance, 1, votes.process, 9, 0, 0),
            Open("votes", votes.instance, 2, 0, {}),
            Close("votes", votes.instance),
        ):
            with pytest.raises(PeerError, match="member/bob may not ask this"):
                caller.call(encode_sequencer(request), LIMIT_S)
        votes.send("counted")
        assert next(iter(votes)).text == "counted"


def test_strangers_speak_for_no_group(ask: Ask, authority: TestAuthority, registry: RegistryServer) -> None:
    with (
        gcom.connect("alice", registry.address, certificates=authority.member("alice")) as alice,
        alice.join("news", create=gcom.Definition("news")),
    ):
        with pytest.raises(
            NotPermitted, match=r"member/bob may not ask this \(Fork\): alice may, and an administrator"
        ):
            ask(registry, "bob").fork(alice.info("news"))
        with pytest.raises(NotPermitted, match="Remove"):
            ask(registry, "bob").remove("news")
