"""One Spark session for all tests that judge with Spark: starting Java costs as much as most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gcom.audit.spark.session import open_session
from tests import sharing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that takes the session and is not of the group that one worker runs."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and sharing.group(item.nodeid) != "spark":
            raise pytest.UsageError(f"{item.nodeid} takes the Spark session: name it in GROUPS of tests/sharing.py")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[Any]:
    """Start a session with few partitions, since what the tests judge is small; stop it when the last test is over."""
    sharing.claim("spark", tmp_path_factory, pytestconfig)
    session = open_session("local[2]", None)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()
