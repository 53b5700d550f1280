"""`gcom doctor`: set-ups that are broken in one way each, and whether it names that way."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from gcom_registry.enrolment import Enrolment
from gcom_registry.secure import secure_server
from gcom_registry.server import RegistryServer

import gcom
from gcom.certificates.authority import now_utc
from gcom.certificates.identity_files import CertificateFiles
from gcom.cli.commands.doctor import examine
from gcom.cli.findings import Finding, show
from gcom.cli.output import Output
from gcom.runtime import pyro
from gcom.runtime.security.process import ADVERTISE_VARIABLE, TLS_VARIABLES
from gcom.values import identity, limits, names
from tests.runtime.authorities import TestAuthority
from tests.runtime.nodes import until

ExpectLog = Callable[[str], None]
Use = Callable[[CertificateFiles], None]
BOB = identity.member("bob")


@pytest.fixture
def authority(tmp_path: Path) -> TestAuthority:
    return TestAuthority(tmp_path / "ours")


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Have the doctor's process use these files."""

    def used(files: CertificateFiles) -> None:
        for variable, value in zip(TLS_VARIABLES, (files.cert, files.key, files.ca), strict=True):
            monkeypatch.setenv(variable, value)

    return used


@pytest.fixture
def registry(authority: TestAuthority) -> Iterator[RegistryServer]:
    folder = authority.authority.folder
    server = secure_server(pyro.place("127.0.0.1"), None, folder, (None, None, None), lambda text: None)
    server.start()
    with closing(server):
        yield server


def wrong(registry: str, name: str | None = None) -> Finding:
    """Return the finding that ends an examination."""
    *before, last = examine(registry, name)
    assert all(found.good for found in before)
    assert not last.good, last
    return last


def telling(authority: TestAuthority, **instead: object) -> RegistryServer:
    """A registry that tells something else about itself."""
    own = authority.credentials(identity.registry())
    real = Enrolment(authority.authority, own).receive

    def told(data: bytes) -> bytes:
        return pyro.pack({**pyro.unpack(real(data)), **instead})

    server = RegistryServer(credentials=own, enrol=told)
    server.start()
    return server


def test_a_set_up_that_is_sound(authority: TestAuthority, registry: RegistryServer, use: Use) -> None:
    use(authority.files(BOB))
    found = list(examine(registry.address, "bob"))
    assert [it.code for it in found] == ["identity", "listens", "authority", "clock", "directory", "reachable"]
    assert all(it.good for it in found)


def test_loopback_without_set_up_is_sound() -> None:
    server = RegistryServer()
    server.start()
    with closing(server):
        assert [it.code for it in examine(server.address) if it.good] == ["identity", "listens", "directory"]


def test_a_member_that_this_machine_does_not_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry hears both members; between the second one and here a firewall drops what is sent."""
    server = RegistryServer()
    server.start()
    with closing(server), gcom.connect("alice", server.address) as alice, gcom.connect("bob", server.address) as bob:
        alice.join("news", create=gcom.Definition("news"))
        bob.join("news").wait_for_members(2, 30)
        until(lambda: len(alice.info("news").members) == 2)
        assert [it.text for it in examine(server.address)][-1] == "2 of 2 members of groups answer a dial from here"
        dial = pyro.dial

        def cut(host: str, port: int, deadline: float) -> socket.socket:
            if (host, port) == names.split_address(bob.address):
                raise TimeoutError
            return dial(host, port, deadline)

        monkeypatch.setattr(pyro, "dial", cut)
        *_, ill, last = examine(server.address)
    assert (ill.code, ill.good) == ("member", False)
    assert (
        f"of 'news' is not reached at {names.place_of(bob.address)} (no answer), though the registry hears it"
        in ill.text
    )
    assert last.text == "1 of 2 members of groups answer a dial from here"


def test_each_registry_of_the_list_is_looked_at(
    authority: TestAuthority, registry: RegistryServer, use: Use, tmp_path: Path
) -> None:
    use(authority.files(BOB))
    elsewhere = TestAuthority(tmp_path / "theirs")
    with closing(telling(elsewhere)) as stranger:
        found = list(examine(f"127.0.0.1:1,{stranger.address},{registry.address}", "bob"))
    ill = [
        (it.code, address in it.text)
        for it, address in zip([it for it in found if not it.good], ("127.0.0.1:1", stranger.address), strict=True)
    ]
    assert ill == [("nobody", True), ("authority", True)]
    # The one that is sound is looked at all the same, and it says whether others reach us.
    well = [it.code for it in found if it.good]
    assert well == ["identity", "listens", "listens", "authority", "clock", "directory", "reachable"]


def test_nobody_listens() -> None:
    found = wrong("127.0.0.1:1")
    assert (found.code, "start gcom-registry --port 1 there" in found.text) == ("nobody", True)


def test_a_name_that_no_machine_has(authority: TestAuthority, use: Use) -> None:
    use(authority.files(BOB))
    found = wrong("a..b:7411")  # not asked of any name server
    assert (found.code, "no machine is known here as 'a..b'" in found.text) == ("unknown host", True), found


@pytest.mark.parametrize("secure", [False, True])
def test_what_answers_is_no_gcom(authority: TestAuthority, use: Use, secure: bool) -> None:
    if secure:
        use(authority.files(BOB))
    with socket.create_server(("127.0.0.1", 0)) as web:
        threading.Thread(target=_serve_web, args=(web,), daemon=True).start()
        found = wrong("{}:{}".format(*web.getsockname()))
    assert (found.code, "is no gcom-registry" in found.text) == ("stranger", True), found


def _serve_web(web: socket.socket) -> None:
    while True:
        try:
            sock, _ = web.accept()
        except OSError:
            return
        with sock:
            sock.recv(4096)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def test_an_expired_certificate(authority: TestAuthority, registry: RegistryServer, use: Use) -> None:
    use(authority.files(BOB, now_utc() - timedelta(days=40)))
    found = wrong(registry.address)
    assert (found.code, "expired at" in found.text) == ("identity", True)


@pytest.mark.parametrize(("days_ago", "words"), [(25, "ends in 5 days"), (29.5, "ends in 12 hours"), (15, None)])
def test_a_certificate_near_its_end_is_a_warning(
    authority: TestAuthority, registry: RegistryServer, use: Use, days_ago: float, words: str | None
) -> None:
    use(authority.files(BOB, now_utc() - timedelta(days=days_ago)))
    found = list(examine(registry.address, "bob"))
    assert all(it.good for it in found)
    assert [words is not None and words in it.text for it in found if it.warning] == [True] * (words is not None)


def test_a_warning_is_shown_and_is_no_failure(capfd: pytest.CaptureFixture[str]) -> None:
    found = [Finding("a", True, "well"), Finding("b", True, "soon", warning=True)]
    assert show(found, Output(), as_json=False)
    assert capfd.readouterr().out == "ok     well\nwarn   soon\n"
    assert not show([*found, Finding("c", False, "ill")], Output(), as_json=False)
    assert capfd.readouterr().out.endswith("WRONG  ill\n")


def test_another_authority(registry: RegistryServer, use: Use, tmp_path: Path) -> None:
    use(TestAuthority(tmp_path / "theirs").files(BOB))
    found = wrong(registry.address)
    assert (found.code, "accept an invitation of that registry" in found.text) == ("authority", True)


@pytest.mark.parametrize(("ahead_s", "word"), [(3600.0, "slow"), (-3600.0, "fast")])
def test_a_clock_that_is_off(authority: TestAuthority, use: Use, ahead_s: float, word: str) -> None:
    use(authority.files(BOB))
    with closing(telling(authority, time=time.time() + ahead_s)) as server:
        found = wrong(server.address)
    assert (found.code, f"s {word} by the registry's" in found.text) == ("clock", True)


def test_an_advertised_address_that_others_cannot_reach(
    authority: TestAuthority, registry: RegistryServer, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(authority.files(BOB))
    monkeypatch.setenv(ADVERTISE_VARIABLE, "127.0.0.1:1")
    found = wrong(registry.address)
    assert (found.code, "cannot reach us at 127.0.0.1:1" in found.text) == ("advertised", True)


def test_versions_that_differ(authority: TestAuthority, use: Use) -> None:
    use(authority.files(BOB))
    with closing(telling(authority, protocol=limits.PROTOCOL_VERSION + 1)) as server:
        found = wrong(server.address)
    assert (found.code, "ours is the older GCom" in found.text) == ("version", True)


def test_no_identity() -> None:
    found = wrong("192.0.2.1:7411", "bob")
    assert (found.code, "gcom accept" in found.text) == ("identity", True)


def test_another_members_certificate(authority: TestAuthority, registry: RegistryServer, use: Use) -> None:
    use(authority.files(BOB))
    found = wrong(registry.address, "alice")
    assert (found.code, "is of member/bob" in found.text) == ("identity", True)


def test_a_revoked_certificate(
    authority: TestAuthority, registry: RegistryServer, use: Use, expect_log: ExpectLog
) -> None:
    expect_log("revoked")
    use(authority.files(BOB))
    authority.authority.revoke("bob", now_utc())
    while not (found := list(examine(registry.address))[-1]).text.count("is revoked"):
        assert found.good, found
    assert found.code == "trust"


def test_another_users_registry() -> None:
    server = RegistryServer(credentials=pyro.UserSecret(b"o" * 32))
    server.start()
    with closing(server):
        found = wrong(server.address)
    assert (found.code, "another user" in found.text) == ("trust", True)
