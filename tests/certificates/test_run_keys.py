"""Keys that sign runs: whose they are is for a certificate to say, and for nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom.certificates.run_keys import RunKeys
from tests.runtime.authorities import TestAuthority

ALICE, OTHER_LIFE, BOB = "alice#1", "alice#2", "bob#1"


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path / "ours")


@pytest.fixture
def alice(authority: TestAuthority) -> RunKeys:
    return RunKeys(authority.member("alice"))


@pytest.fixture
def bob(authority: TestAuthority) -> RunKeys:
    return RunKeys(authority.member("bob"))


def test_others_check_what_was_signed(alice: RunKeys, bob: RunKeys) -> None:
    check = bob.verifier(ALICE, alice.credential(ALICE))
    assert check is not None
    assert check(alice.sign(b"run"), b"run")
    assert not check(alice.sign(b"run"), b"another")
    assert not check(bob.sign(b"run"), b"run")
    assert not check(b"", b"run")


def test_a_credential_is_of_one_process(alice: RunKeys, bob: RunKeys) -> None:
    assert bob.verifier(OTHER_LIFE, alice.credential(ALICE)) is None
    assert bob.verifier(BOB, alice.credential(ALICE)) is None
    # Its own signature over another's name does not help: the certificate does not name that one.
    assert bob.verifier(ALICE, bob.credential(ALICE)) is None


def test_another_authority_is_not_believed(alice: RunKeys, tmp_path: Path) -> None:
    stranger = RunKeys(TestAuthority(tmp_path / "theirs").member("alice"))
    assert alice.verifier(ALICE, stranger.credential(ALICE)) is None


def test_a_key_that_was_put_in_place_of_another_is_not_believed(alice: RunKeys, bob: RunKeys) -> None:
    ours, theirs = alice.credential(ALICE), bob.credential(BOB)
    assert bob.verifier(ALICE, ours[:2] + theirs[2:34] + ours[34:]) is None


def test_a_credential_that_is_cut_short_or_nonsense_gives_no_key(alice: RunKeys) -> None:
    whole = alice.credential(ALICE)
    for end in (0, 1, 33, 40, 200, len(whole) - 1):
        assert alice.verifier(ALICE, whole[:end]) is None
    assert alice.verifier(ALICE, b"\xff" * len(whole)) is None


def test_a_certificate_of_an_unknown_version_gives_no_key(alice: RunKeys) -> None:
    whole = alice.credential(ALICE)
    odd = whole.replace(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x09")  # X.509 version 10
    assert odd != whole
    assert alice.verifier(ALICE, odd) is None
