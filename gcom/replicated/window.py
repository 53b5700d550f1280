"""The commands of one caller that have no answer yet, in their order. Pure."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from gcom.replicated.messages import CommandSent

WINDOW = 1_024  # commands of one caller without an answer; at the bound the next one waits


@dataclass(slots=True)
class PendingCommand:
    """A command that was sent, or is about to be."""

    message: CommandSent
    future: Future[Any] = field(default_factory=Future)


class CallerWindow:
    """Numbers commands, and keeps each until its answer is here.

    `previous` of a command is the last one before it that was not withdrawn: so a replica that has not applied that one
    passes the command over, and it is sent again in its place.
    """

    def __init__(self, caller: str) -> None:
        self.caller = caller
        self.opened = False
        self.pending: OrderedDict[int, PendingCommand] = OrderedDict()
        self._number = 0
        self._previous = 0

    @property
    def full(self) -> bool:
        """Tell whether the next command has to wait."""
        return len(self.pending) >= WINDOW

    @property
    def follows(self) -> int:
        """Return the number of the command that the first one without an answer follows; they were answered."""
        first = next(iter(self.pending.values()), None)
        return first.message.previous if first else self._previous

    def begin(self, name: str, arguments: bytes) -> PendingCommand:
        """Return a new command, as the last one."""
        done = next(iter(self.pending)) - 1 if self.pending else self._number
        self._number += 1
        message = CommandSent(self.caller, self._number, self._previous, done, name, arguments)
        self.pending[self._number] = found = PendingCommand(message)
        return found

    def sent(self, command: PendingCommand) -> None:
        """Note that a command was sent: the next one follows it."""
        self._previous = command.message.number

    def withdraw(self, command: PendingCommand) -> None:
        """Forget a command that was not sent."""
        self.pending.pop(command.message.number, None)
