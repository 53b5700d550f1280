"""The report: one HTML file that opens offline, and stays small whatever the logs hold."""

from __future__ import annotations

from gcom.audit.report.page import render

__all__ = ["render"]
