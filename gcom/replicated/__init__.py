"""Replicated state: a deterministic machine of the user's, the same at every member of a group (docs/replicated.md).

import gcom.replicated

class Stock(gcom.replicated.Machine):
    def __init__(self) -> None:
        self.pieces: dict[str, int] = {}

    @gcom.replicated.command
    def take(self, item: str, count: int) -> int: ...

    @gcom.replicated.query
    def of(self, item: str) -> int: ...

with gcom.connect("alice") as node, gcom.replicated.open(node, "stock", Stock) as stock:
    left = stock.take("nails", 3)
"""

from __future__ import annotations

from gcom.replicated.changes import Change, CommandApplied, ContactLost, MembersChanged, StateReplaced
from gcom.replicated.errors import CommandRefused as Refused
from gcom.replicated.errors import Diverged, Forgotten, MachineFailed, OutcomeUnknown, StorageFailed
from gcom.replicated.handle import open
from gcom.replicated.machine import CommandContext, Machine, command, query
from gcom.replicated.state import ReplicatedState
from gcom.replicated.submission import Submission

__all__ = [
    "Change",
    "CommandApplied",
    "CommandContext",
    "ContactLost",
    "Diverged",
    "Forgotten",
    "Machine",
    "MachineFailed",
    "MembersChanged",
    "OutcomeUnknown",
    "Refused",
    "ReplicatedState",
    "StateReplaced",
    "StorageFailed",
    "Submission",
    "command",
    "open",
    "query",
]
