"""Tests that one worker runs, since they share what is dear to make: Java for Spark, the syntax trees of all files.

Groups go by the paths of node ids. The marks that pytest-xdist has for this need ids that can be changed, which pytest
9.2 ended without a word: every worker then parsed all files and started a Java of its own.
"""

from __future__ import annotations

import os

import pytest

GROUPS = {
    "tests/tidy/": "tidy",
    "tests/audit/test_local.py": "spark",
    "tests/audit/test_oracle.py::test_spark_": "spark",
    "tests/audit/test_continuity.py::test_spark_": "spark",
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
