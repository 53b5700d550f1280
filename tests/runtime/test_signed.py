"""Signed groups of real nodes: certificates vouch for the keys, and a process without one is told so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from gcom_registry.server import RegistryServer

import gcom
from gcom.errors import BadValue
from gcom.values import identity
from tests.runtime.authorities import TestAuthority

NO_CERTIFICATE = "is signed, and this process has no certificate"


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path / "ours")


@pytest.fixture
def secure(authority: TestAuthority) -> Iterator[RegistryServer]:
    server = RegistryServer(credentials=authority.credentials(identity.registry()))
    server.start()
    with closing(server):
        yield server


def test_a_signed_group_carries_small_and_large_messages(authority: TestAuthority, secure: RegistryServer) -> None:
    definition = gcom.Definition("news", "CAUSALTOTAL", signed=True)
    sent = ["first", "x" * 600_000, *map(str, range(200))]
    with (
        gcom.connect("alice", secure.address, certificates=authority.member("alice")) as alice,
        gcom.connect("bob", secure.address, certificates=authority.member("bob")) as bob,
        alice.join("news", create=definition) as sends,
        bob.join("news") as reads,
    ):
        for text in sent:
            sends.send(text)
        read = (message.text for message in reads)
        assert [next(read) for _ in sent] == sent
        assert alice.info("news").definition.signed
        # One that joins later learns the key in the view that it enters.
        with gcom.connect("carol", secure.address, certificates=authority.member("carol")) as carol:
            late = carol.join("news")
            sends.send("late")
            assert next(iter(late)).text == "late"


def test_without_a_certificate_nobody_makes_a_signed_group() -> None:
    with gcom.embedded() as here, gcom.connect("alice", here.address) as alice:
        with pytest.raises(BadValue, match=NO_CERTIFICATE):
            alice.create("news", signed=True)
        with pytest.raises(BadValue, match=NO_CERTIFICATE):
            alice.join("news", create=gcom.Definition("news", signed=True))
        assert alice.groups() == ()
