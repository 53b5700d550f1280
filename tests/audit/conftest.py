"""One Spark session for all tests of a process that judge with Spark: starting Java costs as much as most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gcom.audit.spark.session import open_session


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one worker run all tests that share the session."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Start a session with few partitions, since what the tests judge is small; stop it when the last test is over."""
    session = open_session("local[2]", None)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()
