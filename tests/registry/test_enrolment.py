"""Enrolment: an invitation becomes a certificate, and a newcomer without one may do nothing else."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from gcom_registry import invitations
from gcom_registry.enrolment import Enrolment, noted_address
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer

import gcom
from gcom.certificates import identity_files, keys
from gcom.certificates.authority import Authority, default_folder, make_authority, now_utc
from gcom.certificates.identity_files import files_in
from gcom.certificates.invitation import Invitation
from gcom.cli import app
from gcom.errors import BadValue, PeerError, RegistryUnavailable, Untrusted
from gcom.runtime import pyro
from gcom.runtime.security import enrolment
from gcom.values import identity
from tests.cli.commands import environment, gcom_command

LIMIT_S = 60.0
ExpectLog = Callable[[str], None]


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    told: list[str] = []
    server = secure_server(pyro.place("127.0.0.1"), None, default_folder(), (None, None, None), told.append)
    assert "made an authority" in told[0]
    server.start()
    with closing(server):
        yield server


@pytest.fixture
def authority(registry: RegistryServer) -> Authority:
    assert noted_address(Authority(default_folder())) == registry.address
    return Authority(default_folder())


def invitation(authority: Authority, registry: RegistryServer, name: str = "bob") -> Invitation:
    secret = authority.invite(identity.member(name), now_utc(), timedelta(hours=1))
    return Invitation(registry.address, name, bytes.fromhex(authority.fingerprint), secret)


def test_an_invitation_is_all_that_a_member_needs(authority: Authority, registry: RegistryServer) -> None:
    folder = enrolment.accept(invitation(authority, registry))
    assert identity_files.registry_of(folder) == registry.address
    found = keys.read_certificate((folder / identity_files.CERTIFICATE).read_bytes())
    assert found.identity == identity.member("bob")
    # Though it is on loopback: a member that was invited speaks TLS to the registry that invited it.
    with gcom.connect("bob") as bob:
        assert bob.groups() == ()


@pytest.mark.parametrize(("name", "like"), [("b0b", "bob"), ("bob", ""), ("carol", "")])
def test_an_operator_is_warned_of_a_name_that_looks_like_a_members(
    authority: Authority, registry: RegistryServer, name: str, like: str
) -> None:
    enrolment.accept(invitation(authority, registry))
    assert invitations.invitation(authority.folder, name, False, "1h")[2] == like


def test_a_second_guest_is_refused(authority: Authority, registry: RegistryServer, expect_log: ExpectLog) -> None:
    expect_log("an enrolment was refused")
    one = invitation(authority, registry)
    enrolment.accept(one)
    with pytest.raises(BadValue, match=r"used before: ask for a new one"):
        enrolment.accept(one)


def of_bob(authority: Authority) -> int:
    """How many certificates were issued to bob."""
    return sum("gcom://member/bob" in it.uris for it in authority.records.issued())


@pytest.mark.parametrize("trouble", ["bob/certificate.pem", "bob/registry", ".default"])
def test_what_fails_after_the_answer_is_repeated_with_the_same_invitation(
    authority: Authority, registry: RegistryServer, trouble: str
) -> None:
    one = invitation(authority, registry)
    in_the_way = identity_files.identities_folder() / trouble
    in_the_way.mkdir(parents=True)
    with pytest.raises(BadValue, match=r"cannot be written: .*accept the same invitation here again"):
        enrolment.accept(one)
    # As after a kill: whatever was written, the key is kept, and the invitation is its.
    assert of_bob(authority) == 1
    in_the_way.rmdir()
    folder = enrolment.accept(one)
    assert of_bob(authority) == 1
    assert not (folder / identity_files.NEW_KEY).exists()
    with gcom.connect("bob", registry.address, certificates=files_in(folder)) as bob:
        assert bob.groups() == ()


def test_what_cannot_be_stored_is_not_asked_for(authority: Authority, registry: RegistryServer) -> None:
    one = invitation(authority, registry)
    in_the_way = identity_files.identities_folder() / "bob"
    in_the_way.parent.mkdir(parents=True)
    in_the_way.write_text("a file, where a folder is to be")
    with pytest.raises(BadValue, match="cannot be made"):
        enrolment.accept(one)
    used = authority.records.invitation(one.secret)
    assert used is not None
    assert used.key is None
    in_the_way.unlink()
    assert enrolment.accept(one).is_dir()


def test_an_identity_of_another_authority_is_not_replaced(
    authority: Authority, registry: RegistryServer, tmp_path: Path
) -> None:
    other, key = make_authority(tmp_path / "other", now_utc()), keys.new_key()
    certificate = other.issue(key.public_key(), identity.member("bob"), now_utc())
    folder = identity_files.store("bob", keys.key_pem(key), certificate, other.pem)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    one = invitation(authority, registry)
    with pytest.raises(BadValue, match=r"of another authority in .*: move that folder away"):
        enrolment.accept(one)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    folder.rename(tmp_path / "away")
    assert enrolment.accept(one) == folder


def test_an_invitation_of_the_same_authority_replaces_an_identity(
    authority: Authority, registry: RegistryServer
) -> None:
    first = (enrolment.accept(invitation(authority, registry)) / identity_files.CERTIFICATE).read_bytes()
    second = (enrolment.accept(invitation(authority, registry)) / identity_files.CERTIFICATE).read_bytes()
    assert first != second


def test_a_registry_that_is_another_is_told_no_secret(
    authority: Authority, registry: RegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    answer = enrolment.ask

    def ask(registry: str, question: Any, *more: Any) -> Any:
        asked.append(question)
        return answer(registry, question, *more)

    monkeypatch.setattr(enrolment, "ask", ask)
    with pytest.raises(Untrusted, match="is not the registry that invited: its authority has another fingerprint"):
        enrolment.accept(replace(invitation(authority, registry), fingerprint=bytes(32)))
    assert asked == [{"ask": "authority"}]


def test_an_authority_that_is_told_but_not_held_is_not_believed(
    authority: Authority, tmp_path: Path, expect_log: ExpectLog
) -> None:
    """A machine between could show the right authority's certificate; it cannot speak with one of its own."""
    expect_log("refused from the network")
    impostor = make_authority(tmp_path / "impostor", now_utc())
    impostor_files = impostor.folder / "files"
    key = keys.new_key()
    certificate = impostor.issue(key.public_key(), identity.registry(), now_utc())
    identity_files.save(impostor_files, keys.key_pem(key), certificate, impostor.pem)
    credentials = pyro.Credentials(files_in(impostor_files))
    server = RegistryServer(credentials=credentials, enrol=Enrolment(authority, credentials).receive)
    server.start()
    with closing(server), pytest.raises(Untrusted, match="not of our authority"):
        enrolment.accept(invitation(authority, server))
    secret_was_used = [it for it in authority.records.issued() if "gcom://member/bob" in it.uris]
    assert not secret_was_used


@pytest.mark.parametrize("served", [pyro.DIRECTORY, pyro.SEQUENCER, "Pyro.NameServer"])
def test_a_newcomer_may_call_nothing_else(
    authority: Authority, registry: RegistryServer, served: str, expect_log: ExpectLog
) -> None:
    expect_log("unknown object")
    with (
        closing(pyro.Caller(registry.address, served, pyro.Newcomer(authority.pem.decode()))) as caller,
        pytest.raises(PeerError, match="no such object here"),
    ):
        caller.call(b"", LIMIT_S)


@pytest.mark.parametrize("question", [{"ask": "secret"}, [], b"", {"ask": "enrol", "secret": "text", "request": b""}])
def test_a_question_that_is_none_is_refused(registry: RegistryServer, question: object) -> None:
    with closing(pyro.Caller(registry.address, pyro.ENROLMENT, pyro.Newcomer(None))) as caller:
        assert "does not know that question" in pyro.unpack(caller.call(pyro.pack(question), LIMIT_S))["refused"]


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x91" * 5000, b"\xdd\xff\xff\xff\xff"])
def test_garbage_is_refused(registry: RegistryServer, data: bytes, expect_log: ExpectLog) -> None:
    expect_log("PeerError")
    with (
        closing(pyro.Caller(registry.address, pyro.ENROLMENT, pyro.Newcomer(None))) as caller,
        pytest.raises(PeerError, match="not msgpack"),
    ):
        caller.call(data, LIMIT_S)


def test_an_invitation_is_accepted_where_the_registry_has_moved_to(
    authority: Authority, registry: RegistryServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = str(replace(invitation(authority, registry), registry="127.0.0.1:1"))
    monkeypatch.setattr("sys.stdin", StringIO(f"{one}\n"))
    assert app.run(["accept"]) == 69
    assert "If it has moved, say --registry" in capfd.readouterr().err
    monkeypatch.setattr("sys.stdin", StringIO(f"{one}\n"))
    assert app.run(["accept", "--registry", registry.address]) == 0
    assert identity_files.registry_of(identity_files.identities_folder() / "bob") == registry.address


def test_an_invitation_on_the_command_line_is_not_used(
    authority: Authority, registry: RegistryServer, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every user of the machine reads it in the list of processes, and may be served first."""
    one = invitation(authority, registry)
    assert app.run(["accept", str(one)]) == 2
    said = capfd.readouterr().err
    assert ("can be read by every user of this machine" in said, str(one) in said) == (True, False)
    assert unused(authority, one)


def test_a_terminal_is_asked_for_the_invitation_and_shows_nothing_of_it(
    authority: Authority, registry: RegistryServer
) -> None:
    one = str(invitation(authority, registry))
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        gcom_command("accept"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(None),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        shown = read_until(ours, "invitation (it is not shown): ")
        os.write(ours, f"{one}\n".encode())
        shown += read_until(ours, "you are bob")
    finally:
        assert child.wait(LIMIT_S) == 0
        os.close(ours)
    assert one not in shown


def read_until(terminal: int, text: str) -> str:
    """Return what a terminal shows until a text is there; the test's own limit ends a wait in vain."""
    shown = ""
    while text not in shown:
        shown += os.read(terminal, 4096).decode()
    return shown


def unused(authority: Authority, one: Invitation) -> bool:
    found = authority.records.invitation(one.secret)
    return found is not None and found.key is None


@pytest.mark.parametrize("trouble", ["unknown", "expired", "another registry", "nobody"])
def test_an_accept_that_is_refused_leaves_no_key(
    authority: Authority, registry: RegistryServer, trouble: str, expect_log: ExpectLog
) -> None:
    if trouble in ("unknown", "expired"):
        expect_log("an enrolment was refused")
    one = invitation(authority, registry)
    if trouble == "unknown":
        one = replace(one, secret=bytes(18))
    elif trouble == "expired":
        secret = authority.invite(identity.member("bob"), now_utc() - timedelta(hours=2), timedelta(hours=1))
        one = replace(one, secret=secret)
    elif trouble == "another registry":
        one = replace(one, fingerprint=bytes(32))
    else:
        one = replace(one, registry="127.0.0.1:1")
    with pytest.raises((BadValue, Untrusted, RegistryUnavailable)):
        enrolment.accept(one)
    assert not (identity_files.identities_folder() / "bob").exists()


def test_where_nobody_listens_it_says_so() -> None:
    nowhere = Invitation("127.0.0.1:1", "bob", bytes(32), bytes(18))
    with pytest.raises(RegistryUnavailable, match=r"nobody listens at 127\.0\.0\.1:1"):
        enrolment.accept(nowhere)


def test_own_certificates_must_be_a_registrys(tmp_path: Path) -> None:
    made = make_authority(tmp_path / "own", now_utc())
    for who, refused in ((identity.member("alice"), True), (identity.registry("main"), False)):
        key, folder = keys.new_key(), tmp_path / who.uris[0].rpartition("/")[2]
        identity_files.save(folder, keys.key_pem(key), made.issue(key.public_key(), who, now_utc()), made.pem)
        files = files_in(folder)
        given = (files.cert, files.key, files.ca)
        if refused:
            with pytest.raises(BadValue, match="not of a registry"):
                secure_server(pyro.place("127.0.0.1"), None, made.folder, given, print)
        else:
            secure_server(pyro.place("127.0.0.1"), None, made.folder, given, print).close()
    with pytest.raises(BadValue, match="give all three"):
        secure_server(pyro.place("127.0.0.1"), None, made.folder, (files.cert, None, None), print)
