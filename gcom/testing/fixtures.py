"""Fixtures for pytest: a registry, nodes, and faults from a seed.

Your conftest.py names them: pytest_plugins = ["gcom.testing"]

    def test_bob_gets_what_alice_sends(gcom_nodes, gcom_faults):
        alice, bob = gcom_nodes("alice", "bob")
        definition = gcom.Definition("news", "TOTAL")
        with alice.join("news", create=definition) as sender, bob.join("news") as receiver:
            gcom_faults("drop=0.1,delay=5ms")
            sender.send("hello", held_by="all")
            assert next(iter(receiver)).text == "hello"

Every test has a registry of its own on loopback, and its nodes are closed when it ends. The seed of the faults is drawn
anew for each run, and printed with what fails: `pytest --gcom-seed N` draws the same faults again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from random import SystemRandom
from typing import Any

import pytest

import gcom

SEED_MAX = 2**31

NodeMaker = Callable[..., list[gcom.Node]]
FaultSetter = Callable[[str | gcom.Faults], gcom.Faults]


@dataclass(frozen=True, slots=True)
class OpenNodes:
    """The nodes of one test, and what closes them."""

    registry: str
    stack: ExitStack
    nodes: list[gcom.Node] = field(default_factory=list)

    def connect(self, *names: str, **options: Any) -> list[gcom.Node]:
        """Connect a node of each name."""
        made = [self.stack.enter_context(gcom.connect(name, self.registry, **options)) for name in names]
        self.nodes.extend(made)
        return made


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--gcom-seed`."""
    text = "the seed of gcom_faults and gcom_seed; drawn if it is not given"
    parser.getgroup("gcom").addoption("--gcom-seed", type=int, metavar="N", help=text)


@pytest.fixture
def gcom_registry() -> Iterator[str]:
    """Return the address of a registry that serves this test alone."""
    with gcom.embedded() as registry:
        yield registry.address


@pytest.fixture
def gcom_seed(request: pytest.FixtureRequest) -> int:
    """Return a seed for all that a test draws, and print it for the report of a failure."""
    given: int | None = request.config.getoption("--gcom-seed")
    seed = SystemRandom().randrange(SEED_MAX) if given is None else given
    print(f"gcom seed {seed}: the same again with pytest --gcom-seed {seed}")
    return seed


@pytest.fixture
def _gcom_open(gcom_registry: str) -> Iterator[OpenNodes]:
    with ExitStack() as stack:
        opened = OpenNodes(gcom_registry, stack)
        yield opened
        for node in opened.nodes:
            if node.faults != gcom.Faults():
                node.inject("")  # a node that is cut off could not leave


@pytest.fixture
def gcom_nodes(_gcom_open: OpenNodes) -> NodeMaker:
    """Return a function that connects a node of each name, with the options of `gcom.connect`."""
    return _gcom_open.connect


@pytest.fixture
def gcom_faults(gcom_seed: int, _gcom_open: OpenNodes) -> FaultSetter:
    """Return a function that gives all nodes faults, with the test's seed; `""` ends them."""

    def set_faults(wanted: str | gcom.Faults) -> gcom.Faults:
        faults = gcom.Faults.parse(wanted) if isinstance(wanted, str) else wanted
        seeded = replace(faults, seed=gcom_seed) if faults != gcom.Faults() else faults
        for node in _gcom_open.nodes:
            node.inject(seeded)
        return seeded

    return set_faults
