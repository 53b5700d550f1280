"""Two computers: a registry with an authority, an invitation each, and groups between them; as network namespaces."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gcom.certificates.invitation import parse
from tests.cases import daily_and_rest
from tests.hosts.network import TestHost, network
from tests.running import Child

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[TestHost]]:
    with network(2, tmp_path) as made:
        yield made


@contextmanager
def registry(host: TestHost, listen: str) -> Iterator[Child]:
    with host.start("gcom_registry", "--listen", listen) as child:
        child.until(lambda: child.out, "ready line")
        yield child


def invite(host: TestHost, name: str, *more: str) -> str:
    done = host.run("gcom_registry", "invite", name, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def accept(host: TestHost, invitation: str) -> str:
    done = host.run("gcom.cli", "accept", stdin=invitation)
    assert done.returncode == 0, done.stderr
    return done.stderr


def member(host: TestHost, name: str, *more: str) -> Child:
    return host.start("gcom.cli", "join", "news", "--name", name, "--json", *more)


def received(child: Child) -> list[str]:
    return [row["text"] for row in child.rows("delivery")]


def until_received(child: Child, text: str) -> None:
    child.until(lambda: text in received(child), f"message {text!r}")


def _repeat(child: Child, enough: threading.Event) -> None:
    while not enough.wait(0.5):
        child.write(b"after\n")


def until_members(child: Child, count: int) -> None:
    child.until(lambda: any(len(row.get("members", ())) == count for row in child.rows()), f"view of {count}")


@pytest.mark.parametrize("form", daily_and_rest(["[fd13::1]:7500", "0.0.0.0", "10.213.0.1", "::"], 1))
def test_two_computers_two_commands_each(hosts: list[TestHost], form: str) -> None:
    first, second = hosts
    with registry(first, form) as running:
        running.until(lambda: any("made an authority" in line for line in running.errors), "its word")
        accept(first, invite(first, "alice"))
        invitation = invite(first, "bob")
        assert "you are bob" in accept(second, invitation)
        with member(first, "alice", "--create") as alice, member(second, "bob", "--create") as bob:
            until_members(alice, 2)
            alice.write(b"from alice\n")
            bob.write(b"from bob\n")
            for child in (alice, bob):
                until_received(child, "from alice")
                until_received(child, "from bob")
            listed = second.run("gcom.cli", "members", "news")
            assert ("alice" in listed.stdout, "bob" in listed.stdout) == (True, True), listed.stderr
        key = second.home / "data" / "gcom" / "identities" / "bob" / "key.pem"
        assert key.stat().st_mode & 0o777 == 0o600
        again = second.run("gcom.cli", "accept", stdin=invitation)
        assert (again.returncode, "used before" in again.stderr) == (2, True)


def test_an_invitation_to_another_registry_is_not_believed(hosts: list[TestHost]) -> None:
    first, second = hosts
    with registry(first, first.address), registry(second, second.address):
        moved = replace(parse(invite(first, "bob")), registry=f"{second.address}:7411")
        done = second.run("gcom.cli", "accept", stdin=str(moved))
        assert (done.returncode, "is not the registry that invited" in done.stderr) == (1, True), done.stderr


def test_without_an_invitation_it_says_what_to_do(hosts: list[TestHost]) -> None:
    first, second = hosts
    with registry(first, first.address):
        done = second.run("gcom.cli", "groups", "--registry", f"{first.address}:7411")
        assert (done.returncode, "gcom accept" in done.stderr) == (2, True), done.stderr
        done = second.run("gcom.cli", "join", "news", "--name", "bob", "--registry", f"{first.address}:7411")
        assert (done.returncode, "gcom accept" in done.stderr) == (2, True), done.stderr


def test_a_cable_out_and_in_again(hosts: list[TestHost]) -> None:
    """The member without the registry is detached, and the same group goes on when the cable is back."""
    first, second = hosts
    with registry(first, first.address):
        accept(first, invite(first, "alice"))
        accept(second, invite(first, "bob"))
        with member(first, "alice", "--create") as alice:
            until_members(alice, 1)
            with member(second, "bob") as bob:
                until_members(alice, 2)
                until_members(bob, 2)
                second.link("down")
                bob.until(lambda: [row for row in bob.rows("quorum") if not row["has"]], "detachment")
                second.link("up")
                bob.until(lambda: bob.rows("returned") or [row for row in bob.rows("quorum") if row["has"]], "return")
                # Again and again: a member that hears a quorum may still be put out by a change that was under way,
                # and what is sent while it is out is not its own when it comes back.
                told = threading.Event()
                says = threading.Thread(target=_repeat, args=(alice, told), daemon=True)
                says.start()
                until_received(bob, "after")
                told.set()
                says.join()


def test_a_revoked_member_is_put_out_on_the_other_host(hosts: list[TestHost]) -> None:
    first, second = hosts
    with registry(first, first.address):
        for host, name in ((first, "alice"), (first, "carol"), (second, "mallory")):
            accept(host, invite(first, name))
        with member(first, "alice", "--create") as alice:
            until_members(alice, 1)
            with member(first, "carol") as carol, member(second, "mallory"):
                until_members(alice, 3)
                sound = second.run("gcom.cli", "doctor")
                assert (sound.returncode, "3 of 3 members" in sound.stdout) == (0, True), sound.stdout
                done = first.run("gcom.cli", "certs", "revoke", "mallory")
                assert done.returncode == 0, done.stderr
                alice.until(lambda: len(alice.rows("view")[-1]["members"]) == 2, "a view without it")
                carol.write(b"without mallory\n")
                until_received(alice, "without mallory")
                told = second.run("gcom.cli", "doctor")
                assert (told.returncode, "your certificate is revoked" in told.stdout) == (1, True), told.stdout
