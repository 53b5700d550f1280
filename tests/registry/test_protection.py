"""Who a process is at a registry, and how its calls are protected, as an application is told it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from gcom_registry.secure import secure_server

import gcom
from gcom.certificates import identity_files, keys
from gcom.certificates.authority import Authority, default_folder, now_utc
from gcom.certificates.identity_files import files_in
from gcom.certificates.invitation import Invitation
from gcom.runtime import pyro
from gcom.values import identity


@pytest.fixture
def invitation() -> Iterator[str]:
    server = secure_server(pyro.place("127.0.0.1"), None, default_folder(), (None, None, None), lambda _: None)
    server.start()
    with closing(server):
        authority = Authority(default_folder())
        secret = authority.invite(identity.member("bob"), now_utc(), timedelta(hours=1))
        yield str(Invitation(server.address, "bob", bytes.fromhex(authority.fingerprint), secret))


def test_an_application_takes_up_an_invitation(invitation: str, expect_log: Callable[[str], None]) -> None:
    expect_log("was used before")
    told = gcom.invitee(invitation)
    found = gcom.accept(invitation)
    assert (found.kind, found.name, found.registry) == ("tls", "bob", told.registry)
    assert "bob" in found.identity
    assert found.fingerprint == Authority(default_folder()).fingerprint
    assert found.valid_until_s is not None
    assert found.valid_until_s > now_utc().timestamp()
    files = files_in(identity_files.identities_folder() / "bob")
    with gcom.connect("bob", told.registry, certificates=files) as bob:
        assert bob.groups() == ()
    with pytest.raises(gcom.BadValue, match="used"):
        gcom.accept(invitation)


def test_what_is_no_invitation_is_said_in_words() -> None:
    with pytest.raises(gcom.BadValue, match="no invitation"):
        gcom.invitee("hello")
    with pytest.raises(gcom.BadValue, match="no invitation"):
        gcom.accept("hello")


def test_on_loopback_nothing_leaves_the_machine() -> None:
    assert gcom.protection("alice", "127.0.0.1:7411") == gcom.Protection("local", "alice", "127.0.0.1:7411")


def test_a_certificate_that_is_missing_or_of_another_or_out_of_date_is_named(invitation: str) -> None:
    with pytest.raises(gcom.BadValue, match="not an identity 'alice'"):
        gcom.protection("alice", "192.0.2.1:7411")
    gcom.accept(invitation)
    folder = identity_files.identities_folder() / "bob"
    with pytest.raises(gcom.BadValue, match="may not be its member's name"):
        gcom.protection("alice", "192.0.2.1:7411", files_in(folder))
    key = keys.load_key((folder / identity_files.KEY).read_bytes(), "key")
    old = Authority(default_folder()).issue(key.public_key(), identity.member("bob"), now_utc() - timedelta(40), 1)
    (folder / identity_files.CERTIFICATE).write_bytes(old)
    with pytest.raises(gcom.BadValue, match="expired"):
        gcom.protection("bob", "192.0.2.1:7411")
