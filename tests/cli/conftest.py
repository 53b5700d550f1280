"""A registry for the commands under test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gcom.runtime.registry.embedded import embedded


@pytest.fixture
def registry() -> Iterator[str]:
    """Its address."""
    with embedded() as running:
        yield running.address
