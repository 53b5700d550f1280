"""Backup and restore: a copy that is taken while the registry runs serves in its place."""

from __future__ import annotations

import stat
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from gcom_registry.operation.asking import status_of
from gcom_registry.operation.backup import back_up
from gcom_registry.operation.settings import ServiceSettings, settings
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer
from gcom_registry.storage import COPY, FILE

import gcom
from gcom.certificates.authority import Authority, now_utc
from gcom.certificates.identity_files import CertificateFiles, files_in
from gcom.certificates.invitation import Invitation
from gcom.errors import BadValue, StorageUnavailable
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security import enrolment
from gcom.values import identity, names
from gcom.values.definition import Definition
from tests.runtime.nodes import until

LIMIT_S = 60.0


def secure(folder: Path, port: int = 0) -> RegistryServer:
    files = (None, None, None)
    place = pyro.place(f"127.0.0.1:{port}" if port else "127.0.0.1")
    server = secure_server(place, folder, folder / "authority", files, lambda text: None)
    server.start()
    return server


def member(registry: RegistryServer, folder: Path, name: str) -> CertificateFiles:
    authority = Authority(folder / "authority")
    secret = authority.invite(identity.member(name), now_utc(), timedelta(hours=1))
    return files_in(enrolment.accept(Invitation(registry.address, name, bytes.fromhex(authority.fingerprint), secret)))


def of(folder: Path, **flags: str) -> ServiceSettings:
    return settings({"data": str(folder), **flags}, {})


@pytest.mark.slow
def test_a_copy_of_a_running_registry_serves_in_its_place(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "backups" / "monday"
    registry = secure(data)
    port = names.split_address(registry.address)[1]
    alice_files = member(registry, data, "alice")
    alice = gcom.connect("alice", registry.address, certificates=alice_files)
    bob_files = member(registry, data, "bob")
    with closing(alice), closing(registry):
        group = alice.join("news", create=Definition.parse("news"))
        files = back_up(of(data), copy)
        assert files == [
            *(f"authority/{it}" for it in ("address", "authority.db", "authority.key", "authority.pem")),
            *(f"authority/registry/{it}" for it in ("authority.pem", "certificate.pem", "key.pem")),
            FILE,
        ]
        assert not (data / COPY).exists()
        for path in (copy, *copy.rglob("*")):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
        assert '"event": "backup"' in (data / "trail.jsonl").read_text()
        registry.close()
        # The disk of the first is lost, and the group went on meanwhile.
        with closing(secure(copy, port)) as restored:
            until(lambda: restored.look().groups["alive"] == 1)
            with gcom.connect("bob", restored.address, certificates=bob_files) as bob:
                bob.join("news", timeout_s=LIMIT_S).wait_for_members(2)
                group.send("served by the copy")
            with closing(
                DirectoryClient(restored.address, LIMIT_S, credentials=pyro.Credentials(alice_files))
            ) as client:
                assert client.lookup("news").forgot
            carol = member(restored, copy, "carol")
            assert carol.cert


def test_a_registry_of_one_user_is_copied_while_it_runs_and_when_it_does_not(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with closing(RegistryServer(data=data)) as registry:
        registry.start()
        with closing(DirectoryClient(registry.address, LIMIT_S)) as client:
            client.create(Definition.parse("news"))
        port = registry.address.rpartition(":")[2]
        assert back_up(of(data, port=port), tmp_path / "running") == [FILE]
        with pytest.raises(StorageUnavailable, match="locked by another process"):
            back_up(of(data, port="1"), tmp_path / "elsewhere")
        assert status_of(registry.address, pyro.UserSecret())["address"] == registry.address
    assert back_up(of(data, port=port), tmp_path / "stopped") == [FILE]
    for copy in ("running", "stopped"):
        with closing(RegistryServer(data=tmp_path / copy)) as restored:
            restored.start()
            with closing(DirectoryClient(restored.address, LIMIT_S)) as client:
                assert not client.lookup("news").forgot  # nobody is in it


def test_a_member_gets_no_copy(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with closing(secure(data)) as registry:
        credentials = pyro.Credentials(member(registry, data, "mallory"))
        with closing(pyro.Caller(registry.address, pyro.STATUS, credentials)) as caller:
            told = pyro.unpack(caller.call(pyro.pack({"ask": "backup"}), LIMIT_S))
    assert told == {"refused": "a copy is for the registry's own commands alone"}
    assert not (data / COPY).exists()


def test_what_cannot_be_copied_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="nothing to back up: no registry has kept anything in"):
        back_up(of(tmp_path / "nowhere"), tmp_path / "copy")
    RegistryServer(data=tmp_path / "data").close()
    with pytest.raises(BadValue, match="is there already: name a new folder for each backup"):
        back_up(of(tmp_path / "data"), tmp_path)
