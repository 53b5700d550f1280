"""Proof of death between hosts: no kernel can be asked, so only another GCom life at the very address is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.network import TestHost, network
from tests.hosts.test_invitations import accept, invite, member, registry, until_members, until_received
from tests.running import Row

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[list[TestHost]]:
    with network(2, tmp_path) as made:
        yield made


def test_only_another_life_at_its_address_proves_that_a_member_of_another_host_is_dead(hosts: list[TestHost]) -> None:
    """1. Bob, who leads, is killed. 2. His host refuses calls; it may be a restart of the network: Alice waits. 3.
    Carol's life at his address is none of his. 4. Another life of Bob's is: Alice goes on alone, with all she has."""
    here, there = hosts
    there.variables["GCOM_LISTEN"] = f"{there.address}:7600"
    with registry(here, here.address):
        accept(here, invite(here, "alice"))
        for name in ("bob", "carol"):
            accept(there, invite(here, name))
        with member(there, "bob", "--create") as bob:
            until_members(bob, 1)
            with member(here, "alice") as alice:
                until_members(alice, 2)
                bob.write(b"before\n")
                until_received(alice, "before")
                bob.process.kill()
                bob.end()
                alice.until(lambda: [row for row in alice.rows("quorum") if not row["has"]], "detachment")
                in_group = ("gcom.cli", "join", "other", "--json", "--create", "--name")
                with there.start(*in_group, "carol") as carol:
                    carol.until(lambda: carol.rows("ready"), "a group of her own")
                    assert not [row for row in alice.rows("quorum") if row["has"]]
                with there.start(*in_group, "bob") as again:
                    alice.until(lambda: _is_alone(alice.rows("view")), "succession")
                    assert again.rows("quorum") == []
                alice.write(b"alone\n")
                until_received(alice, "alone")


def _is_alone(views: list[Row]) -> bool:
    return bool(views) and [str(who).partition("#")[0] for who in views[-1]["members"]] == ["alice"]
