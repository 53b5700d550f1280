"""Stock Pyro5 programs as they are installed: their default serializer, their commands, and no word of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from gcom.runtime import pyro
from gcom.values import names
from registry.server import RegistryServer

LIMIT_S = 120.0
PRINTER = "PYRO:printer@127.0.0.1:9"


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    it = RegistryServer()
    it.start()
    yield it
    it.close()


def stock(registry: RegistryServer, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these words; {host} and {port} are the registry's."""
    host, port = names.split_address(registry.address)
    filled = [word.replace("{host}", host).replace("{port}", str(port)) for word in words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYRO_")}
    command = [sys.executable, *filled]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=LIMIT_S)


def nsc(registry: RegistryServer, *words: str) -> subprocess.CompletedProcess[str]:
    return stock(registry, "-m", "Pyro5.nsc", "-n", "{host}", "-p", "{port}", *words)


def test_pyro5_nsc_lists(registry: RegistryServer) -> None:
    done = nsc(registry, "list")
    assert done.returncode == 0, done.stderr
    for name in ("Pyro.NameServer", pyro.DIRECTORY, pyro.SEQUENCER):
        assert f"{name} --> PYRO:{name}@{registry.address}" in done.stdout


def test_pyro5_nsc_registers_and_says_what_is_refused(registry: RegistryServer) -> None:
    assert nsc(registry, "register", "printer", PRINTER).returncode == 0
    assert nsc(registry, "setmeta", "printer", "room:7").returncode == 0
    assert "room:7" in nsc(registry, "lookup", "printer").stdout
    refused = nsc(registry, "register", "gcom.directory", PRINTER)
    assert refused.returncode != 0
    assert "belong to the registry" in refused.stdout
    assert "regular expressions are not served" in nsc(registry, "listmatching", ".*").stdout
    assert nsc(registry, "ping").stdout.endswith("Name server ping ok.\n")


def test_locate_ns_works_as_it_is(registry: RegistryServer) -> None:
    program = (
        "import Pyro5.api\n"
        "with Pyro5.api.locate_ns('{host}', {port}) as ns:\n"
        f"    ns.register('printer', Pyro5.api.URI('{PRINTER}'), metadata={{'room:7', 'it\\'s'}})\n"
        "    print(ns.lookup('printer'), sorted(ns.yplookup(meta_any={'room:7'})))\n"
    )
    done = stock(registry, "-c", program)
    assert (done.returncode, done.stdout) == (0, f"{PRINTER} ['printer']\n"), done.stderr


def test_what_is_ours_alone_says_what_to_set(registry: RegistryServer, expect_log: Callable[[str], None]) -> None:
    expect_log("refused from the network")
    program = f"import Pyro5.api; Pyro5.api.Proxy('PYRO:{pyro.DIRECTORY}@{registry.address}').receive(b'')"
    done = stock(registry, "-c", program)
    assert done.returncode == 1
    assert "this object is for processes of its own user alone" in done.stderr
