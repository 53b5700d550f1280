"""Stores for tests, on the databases that `--store` names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gcom import topics
from gcom.topics import TopicStore


@pytest.fixture
def place(tmp_path: Path) -> str:
    """The place of a new store."""
    return str(tmp_path / "app.db")


@pytest.fixture
def store(place: str) -> Iterator[TopicStore]:
    with topics.open(place) as opened:
        yield opened
