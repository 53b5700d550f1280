"""`gcom.testing`: its fixtures in a run of pytest of their own, as a user of the library has it."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.running import Child, environment

TESTS = """
import gcom

def test_bob_gets_what_alice_sends(gcom_nodes, gcom_faults):
    alice, bob = gcom_nodes("alice", "bob")
    definition = gcom.Definition("news", "TOTAL")
    with alice.join("news", create=definition) as sender, bob.join("news") as receiver:
        faults = gcom_faults("drop=0.1,delay=1ms")
        assert faults.seed == alice.faults.seed == 48
        sender.send("hello", held_by="all", timeout_s=60)
        assert next(iter(receiver)).text == "hello"
        gcom_faults("")

def test_that_fails(gcom_seed, gcom_registry):
    assert gcom_registry == gcom_seed
"""


def test_a_run_of_pytest_with_the_fixtures(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["gcom.testing"]\n', "utf-8")
    (tmp_path / "test_mine.py").write_text(TESTS, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", f"--rootdir={tmp_path}", str(tmp_path), "--gcom-seed", "48"]
    with Child(command, environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")) as it:
        assert it.end() == 1, it.errors
    assert it.out[-1].startswith("1 failed, 1 passed"), it.out
    assert "gcom seed 48: the same again with pytest --gcom-seed 48" in it.out
