"""Answers of a copy of a group: nothing that decides (docs/protocols/registries.md)."""

from __future__ import annotations

from collections.abc import Mapping

from gcom.core.directory.refusals import elsewhere
from gcom.core.directory.rows import Row
from gcom.core.messages.registry import Claim, Fork, Note, Refusal, Remove, Request
from gcom.core.messages.witness import WitnessAccept, WitnessPrepare


def refused(request: Request, rows: Mapping[str, Row]) -> Refusal | None:
    """Return the refusal of what a group's home alone may answer, where this registry is another one."""
    match request:
        case Claim() | Note() | Remove() | Fork():
            row = rows.get(request.group)
        # A tie names no group; and a copy may lack a view, and who was noted for it.
        case WitnessPrepare() | WitnessAccept():
            row = next((row for row in rows.values() if row.instance == request.instance), None)
        case _:
            return None
    return elsewhere(row.definition.home) if row and row.definition.home else None
