"""A naive judge of delivery logs, for tests: written from DELIVERY_LOG.md alone, message by message."""

from tests.oracle.judge import GroupReport, Report, judge

__all__ = ["GroupReport", "Report", "judge"]
