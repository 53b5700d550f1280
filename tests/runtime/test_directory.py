"""The directory's client: what it raises, how soon, and what it survives."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from gcom.core.codec.registry import encode_answer
from gcom.core.messages.registry import Refusal, Register
from gcom.errors import (
    BadValue,
    GroupExists,
    GroupInUse,
    PeerError,
    RegistryUnavailable,
    UnknownGroup,
    VersionMismatch,
)
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.registry.embedded import Embedded, embedded
from gcom.runtime.security.process import registry_address, registry_addresses
from gcom.values import names
from gcom.values.definition import Definition
from gcom.values.view import View

NEWS = Definition.parse("news")
LIMIT_S = 120.0  # for what takes a second at most, also where others use the machine


@pytest.fixture
def registry() -> Iterator[Embedded]:
    with embedded() as it:
        yield it


@pytest.fixture
def client(registry: Embedded) -> Iterator[DirectoryClient]:
    it = DirectoryClient(registry.address, LIMIT_S)
    yield it
    it.close()


def test_refusals_are_raised_by_name(client: DirectoryClient) -> None:
    with pytest.raises(UnknownGroup, match="'news'"):
        client.lookup("news")
    client.create(NEWS)
    with pytest.raises(GroupExists, match="ordering is FIFO, not NONORDERED"):
        client.create(Definition.parse("news", ordering="NONORDERED"))
    client.ask(Register(NEWS, client.lookup("news").instance, View(1, ("alice#1",), ("127.0.0.1:1",)), "alice#1"))
    with pytest.raises(GroupInUse, match="alice"):
        client.remove("news")
    with pytest.raises(BadValue, match="no good"):
        client.lookup("no good")


def test_it_lists_and_removes(client: DirectoryClient) -> None:
    for name in "cab":
        client.create(Definition.parse(name))
    assert [entry.definition.group for entry in client.groups()] == ["a", "b", "c"]
    client.remove("b")
    assert [entry.definition.group for entry in client.groups()] == ["a", "c"]


def test_threads_share_a_client(client: DirectoryClient) -> None:
    def work(number: int) -> None:
        for turn in range(20):
            client.create(Definition.parse(f"g{number}.{turn}"))
        finished.append(number)

    finished: list[int] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert sorted(finished) == list(range(8))
    assert len(client.groups()) == 160


@pytest.mark.slow
def test_it_survives_a_restart_of_the_registry() -> None:
    with embedded() as first:
        client = DirectoryClient(first.address, LIMIT_S)
        client.create(NEWS)
    with pytest.raises(RegistryUnavailable):
        client.lookup("news")
    with embedded(port=names.split_address(first.address)[1]), pytest.raises(UnknownGroup):
        client.lookup("news")
    client.close()


def test_no_registry_is_said_with_how_to_start_one() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        with pytest.raises(RegistryUnavailable, match=rf"127\.0\.0\.1:{port}: start.*gcom-registry --port {port}$"):
            DirectoryClient(f"127.0.0.1:{port}").groups()


def test_a_registry_that_is_silent_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "{}:{}".format(*silent.getsockname())
        with pytest.raises(RegistryUnavailable, match=f"{address} did not answer within 0.3 s"):
            DirectoryClient(address, timeout_s=0.3).groups()


def test_something_else_at_the_address_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            sock, _ = listener.accept()
            with sock:
                sock.recv(4096)
                sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(RegistryUnavailable, match="is no gcom-registry"):
            DirectoryClient("{}:{}".format(*listener.getsockname()), LIMIT_S).groups()
        thread.join(LIMIT_S)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"\x92\x63\xa4done", VersionMismatch),
        (encode_answer(Refusal("VersionMismatch", "both")), VersionMismatch),
        (encode_answer(Refusal("SystemExit", "ha")), PeerError),
        (encode_answer(Refusal("annotations", "ha")), PeerError),
        (b"\x92\x01\xa4done", PeerError),
        (b"nonsense", RegistryUnavailable),
    ],
)
def test_an_odd_answer_is_named(answer: bytes, error: type[Exception]) -> None:
    server = pyro.Server(
        "127.0.0.1", 0, {pyro.DIRECTORY: pyro.Endpoint(lambda _: answer)}, credentials=pyro.UserSecret()
    )
    server.start()
    client = DirectoryClient(server.address, LIMIT_S)
    with pytest.raises(error):
        client.create(NEWS)
    with pytest.raises(error):
        client.groups()
    client.close()
    server.close()


def test_the_address_comes_from_the_argument_the_environment_or_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GCOM_REGISTRY", raising=False)
    assert registry_address() == registry_address("") == "127.0.0.1:7411"
    monkeypatch.setenv("GCOM_REGISTRY", "127.0.0.1:7500")
    assert registry_address() == "127.0.0.1:7500"
    assert registry_address("127.0.0.1:7600") == "127.0.0.1:7600"
    assert registry_addresses("127.0.0.1") == ("127.0.0.1:7411",)
    for wrong in ("7411", "127.0.0.1:0", "127.0.0.1:x", "192.0.2.1:7411", "registry.example:7411"):
        with pytest.raises(BadValue):
            DirectoryClient(registry_address(wrong))
