"""The audit's other plan, `--exact`: everything judged message by message, to check the quick one (plan.py)."""

from __future__ import annotations

from gcom.audit.exact.plan import run

__all__ = ["run"]
