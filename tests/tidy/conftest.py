"""One worker runs all tests of the source: they share its syntax trees, which take seconds to parse."""

from __future__ import annotations

import pytest

from tests import sharing


@pytest.fixture(scope="session", autouse=True)
def _one_worker(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> None:
    sharing.claim("tidy", tmp_path_factory, pytestconfig)
