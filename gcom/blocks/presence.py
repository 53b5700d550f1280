"""`Presence`: which processes are there, and what each says of itself."""

from __future__ import annotations

from typing import Any

from gcom.blocks.block import Block, BlockView
from gcom.replicated.machine import Machine, command, query


class PresenceTable(Machine):
    """The processes of the view, and a value that each says of itself."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.members: list[str] = []

    @command
    def say(self, value: Any) -> None:
        """Note what the caller says of itself."""
        self.said[self.context.process] = value

    def on_members(self, members: tuple[str, ...]) -> None:
        """Forget processes that are gone."""
        self.members = list(members)
        self.said = {process: value for process, value in self.said.items() if process in members}

    @query
    def present(self) -> dict[str, Any]:
        """Return each process of the view, oldest first, with what it said."""
        return {process: self.said.get(process) for process in self.members}


class PresenceView(BlockView[PresenceTable]):
    """Presence as it is read."""

    kind = PresenceTable
    prefix = "presence"

    def present(self) -> dict[str, Any]:
        """Return each process, oldest first, with what it said last; None: nothing yet."""
        found: dict[str, Any] = self._machine.present()
        return found


class Presence(PresenceView, Block[PresenceTable]):
    """The processes that have this block open, and a value of each, such as an address or a load.

    Consistency: all see the same joins, leaves and values in one order. A killed process is gone within 0.1 s, a paused
    one within some seconds.
    """

    def say(self, value: Any) -> None:
        """Say something of this process: all see it."""
        self._machine.say(value)
