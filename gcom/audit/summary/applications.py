"""The records of one process about one thing that stands on groups, as a task of the scan hands them on."""

from __future__ import annotations

from dataclasses import dataclass, field

from gcom.audit.input.applications import Record

ApplicationKey = tuple[str, str]  # what it is, as a replicated state, and its name


@dataclass(slots=True)
class ApplicationSummary:
    """Records in the log's order, each with its `file` and `line`."""

    process: str
    key: ApplicationKey
    records: list[Record] = field(default_factory=list)
