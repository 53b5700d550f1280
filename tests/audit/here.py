"""The audit without Spark: in the chains that Spark would have, and always with the same fingerprints."""

from __future__ import annotations

from pathlib import Path

from gcom.audit.input.catalogue import catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.run import PlanResult, run
from gcom.audit.spark.job import CHAIN_BYTES

SEEDS = (0x1234567, 0xABCDEF)


def audit(folder: Path, chain_bytes: int = CHAIN_BYTES) -> PlanResult:
    """Return the audit's verdicts on the logs under a folder."""
    return run(catalogue(list_segments([str(folder)])), chain_bytes, SEEDS, all_rules=True)
