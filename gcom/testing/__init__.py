"""Tests of your program: fixtures for pytest (`fixtures`), and `simulate` for a replicated machine (`simulation`)."""

from __future__ import annotations

from gcom.testing.fixtures import (
    FaultSetter,
    NodeMaker,
    _gcom_open,
    gcom_faults,
    gcom_nodes,
    gcom_registry,
    gcom_seed,
    pytest_addoption,
)
from gcom.testing.simulation import SeedFailed, SimulationSummary, simulate

__all__ = [
    "FaultSetter",
    "NodeMaker",
    "SeedFailed",
    "SimulationSummary",
    "_gcom_open",
    "gcom_faults",
    "gcom_nodes",
    "gcom_registry",
    "gcom_seed",
    "pytest_addoption",
    "simulate",
]
