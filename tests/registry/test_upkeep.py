"""Certificates of running processes: revoked ones are put out, old ones are renewed, and nothing is restarted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest
from gcom_registry.enrolment import Enrolment, Upkeep, own_files
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer
from loguru import logger

import gcom
from gcom.certificates import identity_files, keys
from gcom.certificates.authority import Authority, default_folder, make_authority, now_utc
from gcom.certificates.identity_files import CertificateFiles, files_in
from gcom.errors import GComError, Untrusted
from gcom.runtime import pyro
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.security.certificate_watch import CertificateWatch
from gcom.runtime.security.upkeep import CertificateUpkeep, certificate_works
from gcom.values import identity
from gcom.values.identity import Identity

LIMIT_S = 60.0
ExpectLog = Callable[[str], None]


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    server = secure_server(pyro.place("127.0.0.1"), None, default_folder(), (None, None, None), lambda text: None)
    server.start()
    with closing(server):
        yield server


@pytest.fixture
def authority(registry: RegistryServer) -> Authority:
    assert registry.address
    return Authority(default_folder())


def issued(authority: Authority, name: str, folder: Path, age: timedelta = timedelta(0)) -> CertificateFiles:
    """Write the certificate of a member, issued so long ago."""
    who: Identity = identity.member(name)
    key = keys.new_key()
    certificate = authority.issue(key.public_key(), who, now_utc() - age)
    identity_files.save(folder / name, keys.key_pem(key), certificate, authority.pem)
    return files_in(folder / name)


def until(condition: Callable[[], bool]) -> None:
    deadline, pause = monotonic() + LIMIT_S, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.01)


def serial(files: CertificateFiles) -> int:
    return keys.read_certificate(Path(files.cert).read_bytes()).serial


def refused(address: str, credentials: pyro.Credentials) -> bool:
    client = DirectoryClient(address, LIMIT_S, credentials=credentials)
    with closing(client):
        try:
            client.groups()
        except GComError as error:
            return "your certificate is revoked: ask the operator" in str(error)
    return False


@pytest.mark.slow
def test_a_revoked_member_is_put_out_while_the_group_goes_on(
    authority: Authority, registry: RegistryServer, tmp_path: Path, expect_log: ExpectLog
) -> None:
    expect_log("revoked")
    connected = {
        name: gcom.connect(name, registry.address, certificates=issued(authority, name, tmp_path))
        for name in ("alice", "bob", "mallory")
    }
    try:
        groups = {name: node.join("news", create=gcom.Definition("news")) for name, node in connected.items()}
        groups["alice"].wait_for_members(3)
        authority.revoke("mallory", now_utc())
        until(lambda: {it.partition("#")[0] for it in groups["alice"].members} == {"alice", "bob"})
        groups["bob"].send("without mallory")
        assert next(iter(groups["alice"])).text == "without mallory"
        with pytest.raises(GComError):  # it comes back nowhere
            connected["mallory"].join("other", create=gcom.Definition("other"), timeout_s=1.0)
        # Another certificate in the place of the revoked one: the same process comes back by itself.
        issued(authority, "mallory", tmp_path)
        until(lambda: {it.partition("#")[0] for it in groups["alice"].members} == {"alice", "bob", "mallory"})
    finally:
        for node in connected.values():
            node._host.close(0.5)


def test_a_revoked_certificate_is_told_so(
    authority: Authority, registry: RegistryServer, tmp_path: Path, expect_log: ExpectLog
) -> None:
    expect_log("revoked")
    credentials = pyro.Credentials(issued(authority, "mallory", tmp_path))
    with closing(DirectoryClient(registry.address, LIMIT_S, credentials=credentials)) as client:
        assert client.groups() == ()
        authority.revoke("mallory", now_utc())
        until(lambda: refused(registry.address, credentials))
        with pytest.raises(GComError):  # over the connection that it had as well
            client.groups()
    assert not refused(registry.address, pyro.Credentials(issued(authority, "mallory", tmp_path)))  # a new one is good


def test_at_two_thirds_of_its_life_a_certificate_is_renewed(
    authority: Authority, registry: RegistryServer, tmp_path: Path
) -> None:
    young, old = issued(authority, "alice", tmp_path), issued(authority, "bob", tmp_path, timedelta(days=21))
    before = serial(young), serial(old)
    key = Path(old.key).read_bytes()
    with (
        gcom.connect("alice", registry.address, certificates=young) as alice,
        gcom.connect("bob", registry.address, certificates=old) as bob,
        alice.join("news", create=gcom.Definition("news")) as reads,
        bob.join("news") as sends,
    ):
        sends.send("before")
        until(lambda: serial(old) != before[1])
        sends.send("after")
        read = iter(reads)
        assert [next(read).text, next(read).text] == ["before", "after"]
    assert serial(young) == before[0]
    assert Path(old.key).read_bytes() == key
    assert keys.read_certificate(Path(old.cert).read_bytes()).identity == identity.member("bob")


def test_a_registry_that_moved_is_followed(
    authority: Authority, registry: RegistryServer, tmp_path: Path, expect_log: ExpectLog
) -> None:
    """The identity's files say where it was; whoever finds it once at its new address finds it there from then on."""
    expect_log("the registry has moved from 192.0.2.1:7411 to")
    files = issued(authority, "bob", tmp_path)
    folder = Path(files.cert).parent
    identity_files.note_registry(folder, "192.0.2.1:7411")
    with gcom.connect("bob", registry.address, certificates=files):
        until(lambda: identity_files.registry_of(folder) == registry.address)


@pytest.mark.parametrize("how", ["revoked", "of another authority"])
def test_a_node_whose_certificate_is_refused_says_so_once_and_what_to_do(
    authority: Authority, registry: RegistryServer, tmp_path: Path, expect_log: ExpectLog, how: str
) -> None:
    expect_log("refused from the network")
    expect_log("Get another one (there: gcom-registry invite bob; here: gcom accept)")
    expect_log("took up")
    files = issued(authority, "bob", tmp_path)
    if how == "revoked":
        authority.revoke("bob", now_utc())
    else:
        files = issued(make_authority(tmp_path / "left", now_utc()), "bob", tmp_path)
    credentials, closed = pyro.Credentials(files), threading.Event()
    told: list[str] = []
    taken_up = threading.Event()
    (run,) = certificate_works([registry.address], credentials, closed, "bob", taken_up.set)
    sink = logger.add(lambda message: told.append(str(message)), level="WARNING", filter="gcom.runtime.security")
    thread = threading.Thread(target=run)
    thread.start()
    try:
        until(lambda: any("Get another one" in it for it in told))
        issued(authority, "bob", tmp_path)
        assert taken_up.wait(LIMIT_S)
        until(lambda: not refused(registry.address, credentials))
    finally:
        closed.set()
        thread.join(LIMIT_S)
        logger.remove(sink)
    assert sum("Get another one" in it for it in told) == 1


def test_a_certificate_of_another_name_is_not_taken_up(
    authority: Authority, tmp_path: Path, expect_log: ExpectLog
) -> None:
    expect_log("is not taken up: it is of member/carol, and not of member/bob")
    files = issued(authority, "bob", tmp_path)
    credentials = pyro.Credentials(files)
    watch = CertificateWatch(credentials, "bob", lambda: None)
    issued(authority, "carol", tmp_path)
    for name in (identity_files.KEY, identity_files.CERTIFICATE):
        (tmp_path / "bob" / name).write_bytes((tmp_path / "carol" / name).read_bytes())
    assert not any(watch.look() for _ in range(3))
    assert credentials.identity == identity.member("bob")


@pytest.mark.parametrize("stored", [None, "192.0.2.1:7411"])
def test_an_address_that_is_told_and_does_not_answer_is_not_followed(
    authority: Authority, tmp_path: Path, stored: str | None
) -> None:
    """A second registry of the authority, without its records, listens there: no member could renew by it."""
    second = RegistryServer(credentials=_own(authority))
    own = _own(authority)
    server = RegistryServer(credentials=own, enrol=Enrolment(authority, own, second.address).receive)
    files = issued(authority, "bob", tmp_path)
    folder = Path(files.cert).parent
    if stored:
        identity_files.note_registry(folder, stored)
    second.start()
    server.start()
    with closing(second), closing(server):
        credentials = pyro.Credentials(files)
        watch = CertificateWatch(credentials, "bob", lambda: None)
        upkeep = CertificateUpkeep(server.address, credentials, threading.Event(), watch)
        with closing(pyro.Caller(server.address, pyro.ENROLMENT, pyro.Credentials(files))) as caller:
            assert upkeep._learn_revoked(caller)
        assert identity_files.registry_of(folder) == stored


def test_nobody_renews_the_certificate_of_another(authority: Authority, registry: RegistryServer) -> None:
    asked = pyro.pack({"ask": "renew", "request": keys.request(keys.new_key())})
    with closing(pyro.Caller(registry.address, pyro.ENROLMENT, pyro.Newcomer(authority.pem.decode()))) as caller:
        assert "must show the certificate" in pyro.unpack(caller.call(asked, LIMIT_S))["refused"]


def test_a_certificate_that_was_revoked_just_now_is_not_renewed(authority: Authority, tmp_path: Path) -> None:
    """Before the registry has read its list anew: the renewal looks at the records themselves."""
    own = _own(authority)
    server = RegistryServer(credentials=own, enrol=Enrolment(authority, own).receive)  # and no upkeep at all
    server.start()
    credentials = pyro.Credentials(issued(authority, "mallory", tmp_path))
    asked = pyro.pack({"ask": "renew", "request": keys.request(keys.new_key())})
    with closing(server), closing(pyro.Caller(server.address, pyro.ENROLMENT, credentials)) as caller:
        assert "certificate" in pyro.unpack(caller.call(asked, LIMIT_S))
        authority.revoke("mallory", now_utc())
        assert "is revoked" in pyro.unpack(caller.call(asked, LIMIT_S))["refused"]


def test_whoever_is_told_of_a_revoked_certificate_finds_it_refused(
    authority: Authority, tmp_path: Path, expect_log: ExpectLog
) -> None:
    """A member that was told puts the revoked one out at once; that one must not come in at the registry meanwhile."""
    expect_log("refused from the network")
    own = _own(authority)
    server = RegistryServer(credentials=own, enrol=Enrolment(authority, own).receive)  # and no upkeep at all
    server.start()
    alice, mallory = (pyro.Credentials(issued(authority, name, tmp_path)) for name in ("alice", "mallory"))
    asked = pyro.pack({"ask": "revoked"})
    with closing(server), closing(pyro.Caller(server.address, pyro.ENROLMENT, alice)) as caller:
        authority.revoke("mallory", now_utc())
        assert pyro.unpack(caller.call(asked, LIMIT_S))["revoked"]
        with (
            pytest.raises(Untrusted, match="certificate is revoked"),
            closing(pyro.Caller(server.address, pyro.ENROLMENT, mallory)) as refused,
        ):
            refused.call(asked, LIMIT_S)


def _own(authority: Authority) -> pyro.Credentials:
    return pyro.Credentials(own_files(authority))


def test_a_registry_renews_its_own(authority: Authority) -> None:
    """Here with a certificate that is old from the start."""
    folder = authority.folder / "registry"
    key = keys.new_key()
    old = authority.issue(key.public_key(), identity.registry(), now_utc() - timedelta(days=25))
    identity_files.save(folder, keys.key_pem(key), old, authority.pem)
    credentials = pyro.Credentials(files_in(folder))
    assert credentials.needs_renewal()
    Upkeep(authority, credentials)()
    assert not credentials.needs_renewal()
    assert credentials.identity == identity.registry()
