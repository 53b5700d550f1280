"""Imports point down only (docs/ARCHITECTURE.md): the table below is that page's picture, and every file obeys it.

A core that cannot reach a clock, a socket or a random number is what makes one seed give one run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.tidy.source import NAMES as PACKAGE_NAMES
from tests.tidy.source import PACKAGES, Import, Source, sources


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PURE = _words("__future__ abc bisect collections dataclasses enum functools heapq itertools operator re typing zlib")
STDLIB = frozenset(sys.stdlib_module_names)
CLOCKS_AND_CHANCE = _words("time datetime random secrets uuid")
AUDIT = _words("pyspark py4j pyarrow pandas numpy msgpack jinja2 markupsafe matplotlib")
THREADS = _words("threading queue asyncio concurrent multiprocessing subprocess signal")
SOCKETS = _words("socket socketserver select selectors ssl")
SIMULATED = PURE | _words("contextlib hashlib json pathlib random string")
REGISTRY_INSIDE = ("gcom", "gcom.runtime.registry.embedded")  # `gcom.embedded()` starts one in-process


@dataclass(frozen=True)
class Layer:
    """The imports that one layer may have: our own modules by name, outside ones by their first name."""

    name: str
    ours: tuple[str, ...]
    outside: frozenset[str] = field(default=STDLIB)

    def holds(self, module: str) -> bool:
        """Tell whether a module is of this layer; the root's own file is no prefix of the rest."""
        return module == self.name or (self.name != "gcom" and module.startswith(f"{self.name}."))


VALUES = ("gcom.errors", "gcom.values")
BELOW_RUNTIME = (*VALUES, "gcom.core", "gcom.trace")
SECURE = (*BELOW_RUNTIME, "gcom.certificates")  # the simulator knows no certificates
AIO = (*SECURE, "gcom.runtime", "gcom.aio")
CALLBACKS = "gcom.runtime.user_process.callbacks"
UNINTERRUPTED = ("gcom.runtime.user_process.entry", "gcom.runtime.user_process.uninterrupted")
BANK = ("gcom.replicated", "gcom.sessions", "gcom.runtime", "gcom.bank")
PROGRAMS = (
    *SECURE,
    "gcom",
    "gcom.audit",
    "gcom.replicated",
    "gcom.runtime",
    "gcom.sim",
    "gcom.demo",
    "gcom.bench",
    "gcom.metrics",
    "gcom.bank",
    "gcom.topics",
)
LAYERS = (
    Layer("gcom.errors", (), PURE),
    Layer("gcom.values", VALUES, PURE | {"contextlib", "unicodedata", "urllib"}),
    Layer("gcom.certificates", (*VALUES, "gcom.certificates"), STDLIB | {"cryptography", "platformdirs"}),
    Layer("gcom.core.codec", (*VALUES, "gcom.core"), PURE | {"msgpack"}),
    Layer("gcom.core", (*VALUES, "gcom.core"), PURE),
    Layer(
        "gcom.trace", (*VALUES, "gcom.core.messages.effects", "gcom.trace"), STDLIB - SOCKETS - THREADS | {"threading"}
    ),
    Layer("gcom.sim.runs", (*BELOW_RUNTIME, "gcom.sim"), SIMULATED | {"concurrent", "multiprocessing", "traceback"}),
    Layer("gcom.sim", (*BELOW_RUNTIME, "gcom.sim"), SIMULATED),
    Layer("gcom.runtime.pyro", (*SECURE, "gcom.runtime"), STDLIB | {"Pyro5", "serpent", "msgpack", "loguru"}),
    Layer("gcom.runtime", (*SECURE, "gcom.runtime"), STDLIB | {"Pyro5", "loguru"}),
    Layer(
        "gcom.metrics.server",
        ("gcom.errors", "gcom.runtime", "gcom.runtime.pyro"),
        STDLIB | {"prometheus_client", "loguru"},
    ),
    Layer("gcom.metrics.topics", (*VALUES, "gcom.metrics", "gcom.topics"), STDLIB | {"prometheus_client"}),
    Layer("gcom.metrics", (*VALUES, "gcom", "gcom.metrics"), STDLIB | {"prometheus_client"}),
    Layer(
        "gcom.replicated.replica",
        (*VALUES, "gcom.replicated.errors", "gcom.replicated.machine", "gcom.replicated.messages"),
        PURE | {"hashlib", "traceback"},
    ),
    Layer("gcom.replicated.durable.rounds", ("gcom.replicated.durable.rounds",), PURE),
    Layer(
        "gcom.replicated.durable.entries",
        ("gcom.replicated.durable.rounds", "gcom.replicated.messages", "gcom.replicated.replica"),
        PURE,
    ),
    Layer(
        "gcom.replicated.durable.agreement",
        (
            *VALUES,
            "gcom.replicated.durable.entries",
            "gcom.replicated.durable.rounds",
            "gcom.replicated.messages",
            "gcom.replicated.replica",
        ),
        PURE,
    ),
    Layer(
        "gcom.replicated.evidence",
        (*VALUES, "gcom", "gcom.replicated", "gcom.runtime.api.records", "gcom.trace.writer"),
        STDLIB,
    ),
    Layer(
        "gcom.replicated",
        (*VALUES, "gcom", "gcom.replicated", CALLBACKS, *UNINTERRUPTED),
        STDLIB | {"loguru", "msgpack"},
    ),
    Layer("gcom.blocks", (*VALUES, "gcom", "gcom.replicated", "gcom.blocks", CALLBACKS, *UNINTERRUPTED), STDLIB),
    Layer(
        "gcom.sessions",
        (*SECURE, "gcom", "gcom.replicated", "gcom.runtime", "gcom.sessions"),
        STDLIB | {"msgpack"},
    ),
    Layer("gcom.bank", (*VALUES, "gcom", *BANK), STDLIB),
    Layer(
        "gcom.demo",
        (*BELOW_RUNTIME, "gcom", "gcom.bench", "gcom.topics", "gcom.demo", *BANK),
        STDLIB | {"loguru", "rich"},
    ),
    Layer("gcom.bench.throughput.frames", ("gcom.bench",), STDLIB | {"Pyro5", "msgpack"}),  # the baseline is bare Pyro5
    Layer("gcom.bench.throughput.pysyncobj", ("gcom.bench", "gcom.errors"), STDLIB | {"pysyncobj"}),
    Layer("gcom.bench.performance.plots", (*VALUES, "gcom.bench"), STDLIB | {"matplotlib"}),
    Layer("gcom.bench.latency.echo", ("gcom.bench",), STDLIB | {"Pyro5"}),  # the baseline is bare Pyro5
    Layer("gcom.bench.sessions", (*VALUES, "gcom", "gcom.bank", "gcom.sessions", "gcom.bench"), STDLIB),
    Layer("gcom.bench.replicated", (*VALUES, "gcom", "gcom.blocks", "gcom.replicated", "gcom.bench"), STDLIB),
    Layer(
        "gcom.bench",
        (*SECURE, "gcom", "gcom.runtime", "gcom.topics", "gcom.bench"),
        STDLIB | {"loguru", "rich", "psutil"},
    ),
    Layer("gcom.topics.judge", ("gcom.errors", "gcom.topics.errors", "gcom.topics.values"), PURE),
    Layer("gcom.topics.storage.postgres", (*VALUES, "gcom.topics", *UNINTERRUPTED), STDLIB - SOCKETS | {"psycopg"}),
    Layer(
        "gcom.topics.storage.postgres_effects", (*VALUES, "gcom.topics", *UNINTERRUPTED), STDLIB - SOCKETS | {"psycopg"}
    ),
    Layer(
        "gcom.topics.served",
        (*VALUES, "gcom", "gcom.runtime", "gcom.replicated", "gcom.topics"),
        STDLIB - SOCKETS | {"loguru", "msgpack"},
    ),
    Layer("gcom.topics.aio", (*VALUES, "gcom.topics", "gcom.aio.node", "gcom.aio.tasks"), STDLIB - SOCKETS),
    Layer("gcom.topics.gateway.messages", (*VALUES, "gcom.topics.values"), PURE),
    Layer(
        "gcom.topics.gateway",
        (*VALUES, "gcom.runtime", "gcom.topics"),
        STDLIB | {"loguru", "zmq"},
    ),
    Layer("gcom.topics.evidence", (*VALUES, "gcom.topics", "gcom.trace.writer"), STDLIB - SOCKETS | {"loguru"}),
    Layer("gcom.topics", (*VALUES, *UNINTERRUPTED, "gcom.topics"), STDLIB - SOCKETS | {"loguru"}),
    Layer("gcom.aio.replicated", (*AIO, "gcom", "gcom.replicated"), STDLIB),
    Layer("gcom.aio.blocks", (*AIO, "gcom", "gcom.blocks", "gcom.replicated"), STDLIB),
    Layer("gcom.aio", AIO, STDLIB | {"loguru"}),
    Layer("gcom.testing", ("gcom", "gcom.replicated", "gcom.testing"), STDLIB | {"pytest"}),
    Layer("gcom.cli", (*PROGRAMS, "gcom.cli"), STDLIB | {"loguru", "rich", "typer"}),
    Layer("gcom.audit", (*VALUES, "gcom.trace", "gcom.audit"), STDLIB | AUDIT),
    Layer("gcom", (*VALUES, "gcom.certificates", "gcom.core.messages.registry", "gcom.runtime"), STDLIB | {"loguru"}),
    Layer(
        "gcom_registry",
        (*SECURE, "gcom", "gcom.runtime", "gcom.metrics", "gcom.cli", "gcom_registry"),
        STDLIB | {"Pyro5", "loguru", "rich", "typer", "platformdirs", "prometheus_client"},
    ),
    Layer("gcom_chat.model", ("gcom", "gcom_chat.model"), PURE | {"datetime", "json", "unicodedata"}),
    Layer("gcom_chat.storage", ("gcom", "gcom_chat.model", "gcom_chat.storage"), STDLIB | {"platformdirs"}),
    Layer("gcom_chat.client", ("gcom", "gcom_chat.model", "gcom_chat.client"), STDLIB),
    Layer("gcom_chat", ("gcom", "gcom_chat"), STDLIB | {"PySide6", "typer"}),
)
MODULES = sources(*PACKAGES)
NAMES = {source.module for source in MODULES}


def layer_of(module: str) -> Layer:
    """Return the first layer that holds a module; there must be one."""
    found = next((layer for layer in LAYERS if layer.holds(module)), None)
    assert found is not None, f"{module} is of no layer: give it one in {__file__} and in docs/ARCHITECTURE.md"
    return found


def allowed(source: Source, found: Import) -> bool:
    """Tell whether a file may have that import."""
    module = found.module.removesuffix(".*")
    first = module.partition(".")[0]
    if first == "sqlite3":
        return "storage" in source.module.split(".")
    if first == "gcom_registry" and source.module in REGISTRY_INSIDE:
        return found.inside
    layer = layer_of(source.module)
    return ours(layer, module) if first in PACKAGE_NAMES else first in layer.outside


def ours(layer: Layer, module: str) -> bool:
    """Tell whether the layer may import our module; `from gcom import connect` is an import of `gcom` itself."""
    target = module if module in NAMES else module.rpartition(".")[0]
    return any(target == name or (name != "gcom" and target.startswith(f"{name}.")) for name in layer.ours)


def test_imports_point_down() -> None:
    found = [(source, found) for source in MODULES for found in source.imports if not allowed(source, found)]
    assert not found, "\n".join(f"{source.path}:{wrong.line} may not import {wrong.module}" for source, wrong in found)


def test_the_packages_are_there() -> None:
    assert (
        set(PACKAGE_NAMES) | {"gcom.values", "gcom.core", "gcom.runtime", "gcom.sim", "gcom.trace", "gcom.cli"} <= NAMES
    )


@pytest.mark.parametrize("module", ["gcom.values.x", "gcom.core.x", "gcom.core.codec.frames", "gcom.sim.x"])
def test_the_table_keeps_the_core_pure(module: str) -> None:
    banned = CLOCKS_AND_CHANCE - {"random"} | THREADS | SOCKETS | {"os", "logging"}
    assert banned.isdisjoint(layer_of(module).outside)


@pytest.mark.parametrize(
    ("module", "statement", "verdict"),
    [
        ("gcom/core/multicast/window.py", "import time", False),
        ("gcom/core/multicast/window.py", "def f() -> None:\n    import random", False),
        ("gcom/core/multicast/window.py", "import msgpack", False),
        ("gcom/core/codec/frames.py", "import msgpack", True),
        ("gcom/core/multicast/window.py", "from gcom.values import limits", True),
        ("gcom/core/multicast/window.py", "from gcom.trace import writer", False),
        ("gcom/core/multicast/window.py", "from gcom import errors", True),
        ("gcom/core/multicast/window.py", "import gcom", False),
        ("gcom/core/multicast/window.py", "from . import effects", False),
        ("gcom/values/view.py", "from gcom.core.messages.effects import Sent", False),
        ("gcom/trace/writer.py", "from gcom.core.messages.effects import Sent", True),
        ("gcom/trace/writer.py", "from gcom.core.directory.table import Request", False),
        ("gcom/sim/world.py", "import random", True),
        ("gcom/sim/world.py", "import Pyro5.api", False),
        ("gcom/runtime/api/node.py", "import Pyro5.api", True),
        ("gcom/runtime/registry/embedded.py", "import gcom_registry", False),
        ("gcom/runtime/registry/embedded.py", "def f() -> None:\n    from gcom_registry import server", True),
        ("gcom/runtime/api/node.py", "def f() -> None:\n    from gcom_registry import server", False),
        ("gcom/cli/app.py", "import Pyro5.api", False),
        ("gcom/cli/app.py", "from gcom import connect", True),
        ("gcom/bench/run.py", "import sqlite3", False),
        ("chat_gui/gcom_chat/view/window.py", "from gcom.runtime import node", False),
        ("chat_gui/gcom_chat/view/window.py", "from PySide6 import QtWidgets", True),
    ],
)
def test_the_check_itself(module: str, statement: str, verdict: bool) -> None:
    source = Source(Path(module), statement)
    assert all(allowed(source, found) for found in source.imports) is verdict
