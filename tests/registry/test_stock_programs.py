"""Stock Pyro5 programs as they are installed, with their default serializer, against our registry."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer
from Pyro5 import client, core, errors, protocol, serializers

from gcom.certificates import identity_files, keys
from gcom.certificates.authority import Authority, now_utc
from gcom.runtime import pyro
from gcom.values import identity, names
from tests.running import LIMIT_S
from tests.runtime.authorities import TestAuthority

SERPENT = "serpent"
PRINTER = "PYRO:printer@127.0.0.1:9"
ExpectLog = Callable[[str], None]


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with closing(RegistryServer()) as server:
        server.start()
        yield server


def control(registry: RegistryServer, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run `pyro5-nsc`, with settings of Pyro5 in its environment."""
    host, port = names.split_address(registry.address)
    command = [sys.executable, "-m", "Pyro5.nsc", "-n", host, "-p", str(port), *words]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYRO")} | settings
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=env)


@pytest.mark.slow
def test_the_name_servers_own_tool_works_as_installed(registry: RegistryServer) -> None:
    assert control(registry, "ping").stdout == "Name server ping ok.\n"
    assert control(registry, "register", "printer", PRINTER).stdout == "Registered printer\n"
    assert control(registry, "setmeta", "printer", "colour", "fast").stdout == "Metadata updated\n"
    listed = control(registry, "list").stdout
    assert f"gcom.directory --> PYRO:gcom.directory@{registry.address}\n" in listed
    assert f"printer --> {PRINTER}\n" in listed
    assert "colour" in control(registry, "lookup", "printer").stdout
    assert "regular expressions are not served: use a prefix" in control(registry, "listmatching", ".*").stderr
    assert "belong to the registry" in control(registry, "remove", "gcom.directory").stderr
    assert not registry.refused


@pytest.mark.slow
def test_the_name_servers_own_tool_works_over_tls_and_checks_the_registrys_host(tmp_path: Path) -> None:
    place = pyro.Place("127.0.0.1")
    server = secure_server(place, None, tmp_path / "authority", (None, None, None), lambda told: None)
    server.start()
    authority, key = Authority(tmp_path / "authority"), keys.new_key()
    identity_files.save(
        tmp_path / "alice",
        keys.key_pem(key),
        authority.issue(key.public_key(), identity.member("alice"), now_utc()),
        authority.pem,
    )
    files = identity_files.files_in(tmp_path / "alice")
    settings = {
        "PYRO_SSL": "1",
        "PYRO_SSL_CACERTS": files.ca,
        "PYRO_SSL_CLIENTCERT": files.cert,
        "PYRO_SSL_CLIENTKEY": files.key,
        "PYRO_SERIALIZER": "msgpack",
    }
    with closing(server):
        assert (
            f"gcom.directory --> PYRO:gcom.directory@{server.address}\n" in control(server, "list", **settings).stdout
        )


def as_stock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the serializer that a stock program has; our servers set another in their process."""
    monkeypatch.setattr("Pyro5.config.SERIALIZER", SERPENT)


def test_a_stock_proxy_finds_the_name_server_and_uses_it(
    registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_stock(monkeypatch)
    host, port = names.split_address(registry.address)
    with core.locate_ns(host, port, broadcast=False) as found:
        found.register("printer", core.URI(PRINTER), metadata={"colour"})
        assert found.lookup("printer", return_metadata=True) == (core.URI(PRINTER), {"colour"})
        with pytest.raises(errors.NamingError, match="unknown name"):
            found.lookup("scanner")


def test_a_stock_proxy_calls_nothing_else(
    registry: RegistryServer, expect_log: ExpectLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    expect_log("no secret")
    as_stock(monkeypatch)
    with (
        client.Proxy(f"PYRO:{pyro.DIRECTORY}@{registry.address}") as proxy,
        pytest.raises(errors.CommunicationError, match="processes of its own user alone"),
    ):
        proxy.receive(b"x")
    host, port = names.split_address(registry.address)
    with core.locate_ns(host, port, broadcast=False) as found:
        body = serializers.serializers[SERPENT].dumpsCall(pyro.DIRECTORY, "receive", (b"x",), {})
        serializer = serializers.SerpentSerializer.serializer_id
        request = protocol.SendingMessage(protocol.MSG_INVOKE, 0, 1, serializer, body)
        found._pyroConnection.send(request.data)
        answer = protocol.recv_stub(found._pyroConnection, [protocol.MSG_RESULT])
        assert answer.flags & protocol.FLAGS_EXCEPTION
        assert b"no such object here" in bytes(answer.data)


def test_off_loopback_only_msgpack_is_read(
    tmp_path: Path, expect_log: ExpectLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are certificates, nothing reads serpent, not even for who has one."""
    expect_log("serializer")
    authority = TestAuthority(tmp_path)
    monkeypatch.setattr("gcom.runtime.pyro.stock.read_serpent", None)  # must not be called
    with closing(RegistryServer(credentials=authority.credentials(identity.registry()))) as server:
        server.start()
        with socket.create_connection(names.split_address(server.address), LIMIT_S) as raw:
            credentials = authority.credentials(identity.member("alice"))
            with credentials.client.wrap_socket(raw) as secure:
                body = serializers.serializers[SERPENT].dumps({"handshake": "hello", "object": "Pyro.NameServer"})
                serializer = serializers.SerpentSerializer.serializer_id
                hello = protocol.SendingMessage(protocol.MSG_CONNECT, 0, 0, serializer, body)
                secure.sendall(hello.data)
                assert b'set Pyro5.config.SERIALIZER = "msgpack"' in secure.recv(4096)
