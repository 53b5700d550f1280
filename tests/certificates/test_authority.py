"""The authority: what it signs, whom it invites, what it remembers; and the files that nobody else may read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gcom.certificates import identity_files, keys, private_files
from gcom.certificates.authority import KEY, Authority, make_authority
from gcom.errors import BadValue
from gcom.values import identity
from gcom.values.identity import Identity

NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
ALICE = identity.member("alice")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path / "authority", NOW)


def issued(authority: Authority, who: Identity = ALICE, now: datetime = NOW) -> bytes:
    return authority.issue(keys.new_key().public_key(), who, now)


def test_a_certificate_names_its_holder_for_thirty_days(authority: Authority) -> None:
    found = keys.read_certificate(issued(authority))
    assert found.identity == ALICE
    assert found.ends == NOW + timedelta(days=30)
    assert (found.begins < NOW, found.is_authority) == (True, False)


@pytest.mark.parametrize("who", [ALICE, identity.member("bob", admin=True), identity.registry("main")], ids=str)
def test_an_identity_survives_its_certificate(authority: Authority, who: Identity) -> None:
    assert keys.read_certificate(issued(authority, who)).identity == who


def test_only_the_authority_that_signed_is_recognised(authority: Authority, tmp_path: Path) -> None:
    other = make_authority(tmp_path / "other", NOW)
    pem = issued(authority)
    assert keys.is_signed_by(pem, authority.pem)
    assert not keys.is_signed_by(pem, other.pem)
    assert other.fingerprint != authority.fingerprint


def test_a_folder_has_one_authority(authority: Authority) -> None:
    with pytest.raises(BadValue, match="already: gcom certs list"):
        make_authority(authority.folder, NOW)
    assert Authority(authority.folder).fingerprint == authority.fingerprint


def test_a_folder_without_one_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="gcom certs init"):
        Authority(tmp_path)


def test_a_key_that_others_may_read_is_refused(authority: Authority) -> None:
    key = authority.folder / KEY
    assert key.stat().st_mode & 0o777 == 0o600
    key.chmod(0o640)
    with pytest.raises(BadValue, match="may be read by others: chmod 600"):
        Authority(authority.folder)


def test_an_invitation_works_once(authority: Authority) -> None:
    secret = authority.invite(ALICE, NOW, HOUR)
    first, second = keys.new_key(), keys.new_key()
    certificate = authority.enrol(secret, keys.request(first), NOW)
    assert keys.read_certificate(certificate).identity == ALICE
    assert keys.belong_together(certificate, first)
    with pytest.raises(BadValue, match="used before"):
        authority.enrol(secret, keys.request(second), NOW)


def test_a_lost_answer_is_given_again_to_the_same_key(authority: Authority) -> None:
    secret, key = authority.invite(ALICE, NOW, HOUR), keys.new_key()
    first = authority.enrol(secret, keys.request(key), NOW)
    assert authority.enrol(secret, keys.request(key), NOW) == first
    # Also later: whoever could not store it had its invitation used.
    assert authority.enrol(secret, keys.request(key), NOW + 2 * HOUR) == first
    assert len(authority.records.issued()) == 1


def test_an_invitation_expires(authority: Authority) -> None:
    secret = authority.invite(ALICE, NOW, HOUR)
    with pytest.raises(BadValue, match="expired"):
        authority.enrol(secret, keys.request(keys.new_key()), NOW + 2 * HOUR)


@pytest.mark.parametrize("request_pem", [b"", b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n", b"\0" * 10_000])
def test_a_request_that_is_none_is_refused_and_uses_nothing(authority: Authority, request_pem: bytes) -> None:
    secret = authority.invite(ALICE, NOW, HOUR)
    with pytest.raises(BadValue, match="request"):
        authority.enrol(secret, request_pem, NOW)
    assert authority.enrol(secret, keys.request(keys.new_key()), NOW)


def test_a_guessed_secret_is_no_invitation(authority: Authority) -> None:
    with pytest.raises(BadValue, match="knows no such invitation"):
        authority.enrol(b"guess", keys.request(keys.new_key()), NOW)


def test_revoking_a_name_revokes_all_its_certificates(authority: Authority) -> None:
    for who in (ALICE, identity.member("bob"), ALICE):
        issued(authority, who)
    assert len(authority.revoke("alice", NOW)) == 2
    assert [it.revoked is None for it in authority.records.issued()] == [False, True, False]
    with pytest.raises(BadValue, match="no valid certificate is of 'alice'"):
        authority.revoke("alice", NOW)


def test_revoking_a_name_voids_its_open_invitations(authority: Authority) -> None:
    alice, bob = (authority.invite(identity.member(name), NOW, HOUR) for name in ("alice", "bob"))
    issued(authority)
    authority.revoke("alice", NOW)
    with pytest.raises(BadValue, match="knows no such invitation"):
        authority.enrol(alice, keys.request(keys.new_key()), NOW)
    assert authority.enrol(bob, keys.request(keys.new_key()), NOW)


def test_the_records_hold_no_secret(authority: Authority) -> None:
    secret = authority.invite(ALICE, NOW, HOUR)
    assert all(secret not in path.read_bytes() for path in authority.folder.iterdir())


def test_an_identity_is_stored_for_its_user_alone() -> None:
    folder = identity_files.store("alice", b"key", b"certificate", b"authority", "10.0.0.1:7411")
    assert identity_files.stored() == ["alice"]
    assert identity_files.folder_of(None) == identity_files.folder_of("alice") == folder
    assert identity_files.registry_of(folder) == "10.0.0.1:7411"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert identity_files.folder_of("bob") is None


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    private_files.write(tmp_path / "file", b"old")
    private_files.write(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert private_files.read_private(tmp_path / "file") == b"new"


def test_foreign_names_in_a_certificate_mean_nothing() -> None:
    uris = ["gcom://member/alice", "gcom://member/not a name", "gcom://king/bob", "https://member/carol"]
    assert identity.from_uris(uris) == ALICE
