"""Which worker runs which test: some share what is dear to make, and some wait while others compute.

One worker runs all tests of a group: Java for Spark, the syntax trees of all files. Groups go by the paths of node ids.
The marks that pytest-xdist has for this need ids that can be changed, which pytest 9.2 ended without a word: every
worker then parsed all files and started a Java of its own.

A test of real processes mostly waits: for silence, for a process to start, for a screen. In the order of their paths
all of these would come at one time, and the processors would idle. So half of the workers begin with tests that wait,
the others with those that compute, and they meet in the middle.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

WAITING = (
    "tests/aio/",
    "tests/bench/",
    "tests/blocks/",
    "tests/chat_gui/",
    "tests/cli/",
    "tests/hosts/",
    "tests/registry/",
    "tests/replicated/",
    "tests/runtime/",
    "tests/sessions/",
    "tests/topics/",
)
GROUPS = {
    "tests/tidy/": "tidy",
    "tests/audit/test_local.py": "spark",
    "tests/audit/test_python.py::test_spark_": "spark",
    "tests/audit/test_watching.py::test_spark_": "spark",
    "tests/audit/test_oracle.py::test_spark_": "spark",
    "tests/audit/test_continuity.py::test_spark_": "spark",
    "tests/audit/test_applications.py::test_spark_": "spark",
}


def group(node_id: str) -> str:
    """Return the group of a test; one that shares nothing is a group of its own."""
    return next((name for start, name in GROUPS.items() if node_id.startswith(start)), node_id)


def claim(name: str, factory: pytest.TempPathFactory, config: pytest.Config) -> None:
    """Fail if another worker has tests of the group too: the run would only be slow, and nobody would know why."""
    if not getattr(config.option, "loadgroup", False):
        return
    try:
        (factory.getbasetemp().parent / f"{name}.claimed").touch(exist_ok=False)
    except FileExistsError:
        pytest.fail(f"{os.environ['PYTEST_XDIST_WORKER']} is not the only worker with tests of the group '{name}'")


def waits(item: pytest.Item) -> bool:
    return item.nodeid.startswith(WAITING)


def place(item: pytest.Item) -> tuple[bool, bool]:
    """Return a test's place in the queue: what computes, then what waits; short ones in the middle, where all end."""
    return waits(item), waits(item) == (item.get_closest_marker("slow") is not None)


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Return what hands out tests that were put in their places."""
    from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]  # only where it runs tests

    class BothEnds(LoadGroupScheduling):  # type: ignore[misc]
        """The first worker, and every second, takes tests from the end of the queue."""

        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            if self.nodes.index(node) % 2 == 0:
                self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
            super()._assign_work_unit(node)

    return BothEnds(config, log)
