"""The quick plan without Spark: in the chains that Spark would have, and always with the same fingerprints."""

from __future__ import annotations

from pathlib import Path

from gcom.audit.catalogue import catalogue
from gcom.audit.here import run_here
from gcom.audit.judging import MOST
from gcom.audit.reading import list_segments
from gcom.audit.stages import CHAIN_BYTES, PlanResult

SEEDS = (0x1234567, 0xABCDEF)


def audit(folder: Path, chain_bytes: int = CHAIN_BYTES, most: int = MOST) -> PlanResult:
    """What the quick plan says of the logs under a folder."""
    return run_here(catalogue(list_segments([str(folder)])), chain_bytes, most, SEEDS, all_rules=True)
