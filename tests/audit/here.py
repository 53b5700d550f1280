"""The quick plan without Spark: in the chains that Spark would have, and always with the same fingerprints."""

from __future__ import annotations

from pathlib import Path

from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.local import run_locally
from gcom.audit.plan.stages import CHAIN_BYTES, PlanResult

SEEDS = (0x1234567, 0xABCDEF)


def audit(folder: Path, chain_bytes: int = CHAIN_BYTES) -> PlanResult:
    """What the quick plan says of the logs under a folder."""
    return run_locally(catalogue(list_segments([str(folder)])), chain_bytes, SEEDS, all_rules=True)
