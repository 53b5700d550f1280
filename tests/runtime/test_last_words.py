"""The last member of a group leaves while no registry runs: its word is kept, and handed in later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from gcom_registry.server import RegistryServer

import gcom
from gcom.core.messages.registry import Done, Refusal, Unregister
from gcom.runtime.registry import last_words
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security.process import run_keys
from gcom.values import identity
from tests.runtime.authorities import TestAuthority
from tests.runtime.nodes import until


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "registry"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "last-words"
    monkeypatch.setattr(last_words, "folder", lambda: folder)
    return folder


def left_alone(data: Path) -> tuple[int, str]:
    """Have a group left by its only member after its registry ended; return the registry's port, and the instance."""
    registry = gcom.embedded(data=data)
    with gcom.connect("alice", registry.address) as alice:
        news = alice.join("news", create=gcom.Definition("news"))
        instance = news.instance
        registry.close()
        news.leave(5)
        alice.close(timeout_s=0.2)  # by itself it would wait 5 s for a registry that is gone
    assert alice.unregistered == ("news",)
    return int(registry.address.rpartition(":")[2]), instance


def test_the_next_node_of_the_user_tells_the_registry(data: Path, kept: Path) -> None:
    port, _ = left_alone(data)
    assert len(list(kept.iterdir())) == 1
    with gcom.embedded(port=port, data=data) as registry:
        with closing(gcom.Directory(registry.address)) as directory:
            assert [entry.members for entry in directory.groups()] != []
            with gcom.connect("bob", registry.address) as bob:
                until(lambda: directory.groups() == (), "the end of the group")
                until(lambda: not list(kept.iterdir()), "the end of the word")
                with bob.join("news", create=gcom.Definition("news"), timeout_s=30) as news:
                    assert news.members == ("bob",)
        assert bob.unregistered == ()


def test_a_registry_that_moved_is_told_as_well(data: Path, kept: Path) -> None:
    left_alone(data)
    with (
        gcom.embedded(data=data) as registry,
        gcom.connect("bob", registry.address),
        closing(gcom.Directory(registry.address)) as directory,
    ):
        until(lambda: directory.groups() == (), "the end of the group")
        until(lambda: not list(kept.iterdir()), "the end of the word")


def test_a_registry_that_is_a_stranger_to_the_group_ends_no_word(data: Path, kept: Path) -> None:
    left_alone(data)
    with (
        gcom.embedded() as other,
        gcom.connect("bob", other.address) as bob,
        bob.join("x", create=gcom.Definition("x")),
    ):
        assert len(list(kept.iterdir())) == 1


def test_what_is_no_last_word_is_removed(data: Path, kept: Path) -> None:
    left_alone(data)
    (path,) = kept.iterdir()
    for damage in (b"", b"{}", b'{"registries": [], "request": "c0"}', b"\xff\xfe"):
        path.write_bytes(damage)
        assert list(last_words.kept()) == [], damage
        assert list(kept.iterdir()) == [], damage


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path / "ours")


@pytest.fixture
def registry(authority: TestAuthority) -> Iterator[RegistryServer]:
    server = RegistryServer(credentials=authority.credentials(identity.registry()))
    server.start()
    with closing(server):
        yield server


def test_a_signed_word_counts_whoever_brings_it_and_no_other(
    authority: TestAuthority, registry: RegistryServer
) -> None:
    alices = authority.credentials(identity.member("alice"))
    mallorys = authority.credentials(identity.member("mallory"))
    with (
        gcom.connect("alice", registry.address, certificates=authority.member("alice")) as alice,
        alice.join("news", create=gcom.Definition("news")) as news,
        closing(DirectoryClient(registry.address, credentials=mallorys)) as mallory,
    ):
        word = Unregister("news", news.instance, news.view.number, news.process)
        forged = [
            word,
            last_words.signed(word, run_keys(mallorys)),
            replace(last_words.signed(word, run_keys(alices)), view=99),
            replace(word, proof=b"x" * 700),
        ]
        for request in forged:
            answer = mallory.ask(request)
            assert isinstance(answer, Refusal)
            assert answer.code == "NotPermitted"
        assert mallory.ask(last_words.signed(word, run_keys(alices))) == Done()
