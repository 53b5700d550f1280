"""A registry whose disk is full: who wants to join or create hears so at once, and comes in when there is room."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import pytest

import gcom
from gcom.errors import StorageUnavailable
from tests.running import Child, environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="no other process's files can be limited here"),
]
PATIENCE_S = 300.0  # of a join: an error of the disk comes long before it


def test_a_joiner_hears_of_the_disk_and_comes_in_when_there_is_room(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gcom_registry", "--port", "0", "--data", str(tmp_path / "names")]
    with Child(command, environment(PYTHONPATH=f"{Path.cwd()}:{Path.cwd() / 'registry'}")) as registry:
        address = registry.until(lambda: " ".join(registry.out), "registry").split()[2]
        create = gcom.Definition("news")
        with gcom.connect("alice", address) as alice, gcom.connect("bob", address, timeout_s=PATIENCE_S) as bob:
            group = alice.join("news", create=create)
            # Of its database, the journal beside it, and the probe: no file may grow, as on a disk without room.
            resource.prlimit(registry.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            said = "the registry's disk does not take what it must keep: "
            with pytest.raises(StorageUnavailable, match=f"nobody can join group 'news' now: {said}"):
                bob.join("news")
            with pytest.raises(StorageUnavailable, match=said):
                bob.join("other", create=gcom.Definition("other"))
            group.send("the group goes on")
            assert group.flush(60) is None
            resource.prlimit(
                registry.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )
            bob.join("news")
            assert group.wait_for_members(2, 60).names == ("alice", "bob")
