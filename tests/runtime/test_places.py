"""Places: what the words for them mean, which port of several is taken, and which address others are given."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from gcom.certificates import identity_files
from gcom.errors import BadValue, Unavailable
from gcom.runtime import pyro
from gcom.runtime.pyro.places import Place, is_loopback, listenable, place, public_address
from gcom.runtime.security.process import node_place, registry_address
from gcom.values import names


@pytest.mark.parametrize(
    ("listen", "expected"),
    [
        ("10.0.0.5", Place("10.0.0.5", (7,))),
        ("10.0.0.5:7500", Place("10.0.0.5", (7500,))),
        ("10.0.0.5:7500-7502", Place("10.0.0.5", (7500, 7501, 7502))),
        ("::", Place("::", (7,))),
        ("fd00::5", Place("fd00::5", (7,))),
        ("[fd00::5]:7500", Place("fd00::5", (7500,))),
        ("registry.example:7500", Place("registry.example", (7500,))),
    ],
)
def test_words_for_a_place(listen: str, expected: Place) -> None:
    assert place(listen, port=7) == expected


@pytest.mark.parametrize("listen", ["", ":7411", "10.0.0.5:x", "10.0.0.5:9-8", "10.0.0.5:65536", "[fd00::5]:-1"])
def test_words_for_no_place(listen: str) -> None:
    with pytest.raises(BadValue, match=r"names no host|are not PORT"):
        place(listen)


@pytest.mark.parametrize(
    ("at", "address"),
    [
        (Place("10.0.0.5"), "10.0.0.5:7500"),
        (Place("fd00::5"), "[fd00::5]:7500"),
        (Place("0.0.0.0", (0,), "registry.example"), "registry.example:7500"),
        (Place("10.0.0.5", (0,), "203.0.113.9:80"), "203.0.113.9:80"),
        (Place("::", (0,), "[fd00::9]:80"), "[fd00::9]:80"),
    ],
)
def test_the_address_for_others(at: Place, address: str) -> None:
    assert public_address(at, 7500) == address


def test_at_all_addresses_the_one_on_the_way_to_others_is_given() -> None:
    assert public_address(Place("0.0.0.0"), 7500, toward=["127.0.0.1:7411"]) == "127.0.0.1:7500"


def test_the_first_port_that_is_free_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        try:
            server = pyro.Server.at(Place("127.0.0.1", (port, port + 1)), {})
        except Unavailable:
            pytest.skip("the next port is taken as well")
        with closing(server):
            assert names.split_address(server.address)[1] == port + 1
        with pytest.raises(Unavailable, match="in use"):
            pyro.Server.at(Place("127.0.0.1", (port,)), {})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_this_machine_alone(host: str) -> None:
    assert is_loopback(host)
    assert listenable(host, secure=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "registry.example"])
def test_other_machines_too(host: str) -> None:
    assert not is_loopback(host)


def test_a_name_that_nobody_knows_is_named() -> None:
    with pytest.raises(BadValue, match="nor a name that this machine knows"):
        listenable("no-such-host.invalid", secure=True)


def test_a_node_listens_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = pyro.UserSecret(b"m" * 32)
    assert node_place(secret, "127.0.0.1:7411", None, None) == Place("127.0.0.1")
    monkeypatch.setenv("GCOM_LISTEN", "10.0.0.6:7420-7421")
    monkeypatch.setenv("GCOM_ADVERTISE", "203.0.113.9")
    assert node_place(secret, "127.0.0.1:7411", None, None) == Place("10.0.0.6", (7420, 7421), "203.0.113.9")
    assert node_place(secret, "127.0.0.1:7411", "10.0.0.7", "host.example").host == "10.0.0.7"


def test_the_registry_that_invited_is_the_default() -> None:
    assert registry_address(None, "bob") == "127.0.0.1:7411"
    identity_files.store("bob", b"key", b"certificate", b"authority", "10.0.0.5:7411")
    identity_files.store("carol", b"key", b"certificate", b"authority", "10.0.0.6:7411")
    assert registry_address(None, "bob") == "10.0.0.5:7411"
    assert registry_address() == "10.0.0.6:7411"  # the one stored last
    assert registry_address(None, "dave") == "127.0.0.1:7411"
    assert registry_address("127.0.0.1:7500", "bob") == "127.0.0.1:7500"
