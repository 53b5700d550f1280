"""Several registries on hosts of their own, and members that start while the first of the list is away."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import daily_and_rest
from tests.hosts.network import TestHost, network
from tests.hosts.test_invitations import accept, invite, member, registry, until_members, until_received

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[TestHost]]:
    with network(4, tmp_path) as made:
        yield made


@pytest.mark.parametrize("off", daily_and_rest(["the machine", "the process", "its name"], 1))
def test_members_start_while_the_first_registry_is_away(hosts: list[TestHost], tmp_path: Path, off: str) -> None:
    first, second, *others = hosts
    # A name that no name server tells: these hosts reach none, so the system searches long.
    named = "registry.invalid" if off == "its name" else first.address
    both = f"{named}:7411,{second.address}:7411"
    with registry(first, first.address) as leaving:
        for host, name in zip(others, ("alice", "bob"), strict=True):
            accept(host, invite(first, name))
        folder = tmp_path / "second"
        done = first.run("gcom.cli", "certs", "issue", "second", "--registry", "--out", str(folder))
        assert done.returncode == 0, done.stderr
        files = ("--cert", f"{folder}/certificate.pem", "--key", f"{folder}/key.pem", "--ca", f"{folder}/authority.pem")
        with second.start("gcom_registry", "--listen", second.address, *files) as staying:
            staying.until(lambda: staying.out, "ready line")
            if off == "the machine":
                first.link("down")
            elif off == "the process":
                leaving.signal(signal.SIGKILL)
                leaving.end()
            with (
                member(others[0], "alice", "--create", "--registry", both) as alice,
                member(others[1], "bob", "--create", "--registry", both) as bob,
            ):
                until_members(alice, 2)
                until_members(bob, 2)
                alice.write(b"without the first\n")
                until_received(bob, "without the first")
                told = others[0].run("gcom.cli", "doctor", "--registry", both)
                wrong = [line for line in told.stdout.splitlines() if line.startswith("WRONG")]
                assert (told.returncode, len(wrong), named in wrong[0]) == (1, 1, True), told.stdout
                assert f"the directory at {second.address}:7411 answers us" in told.stdout
