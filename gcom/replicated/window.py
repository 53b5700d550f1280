"""The commands of one caller that have no answer yet, in their order."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from gcom.replicated.errors import OutcomeUnknown
from gcom.replicated.messages import CommandSent, encode
from gcom.runtime.user_process.uninterrupted import WholeFuture

WINDOW = 1_024  # commands of one caller without an answer; at the bound the next one waits
AT_ONCE = 8  # commands under way; the next ones gather, and go together: alone each would cost four times as much


@dataclass(slots=True)
class PendingCommand:
    """A command that was sent, or is about to be."""

    message: CommandSent
    future: Future[Any] = field(default_factory=WholeFuture)


class Resubmitter(Protocol):
    """The part of a replicated state that finds out what became of a command."""

    timeout_s: float

    def resubmit(self, message: CommandSent, deadline: float) -> PendingCommand: ...

    def wait(self, pending: PendingCommand, deadline: float, timeout_s: float) -> Any: ...


@dataclass(frozen=True, slots=True)
class CommandRetry:
    """The way to the result of a command whose outcome is unknown; `via`: an opened machine, if not the first one."""

    state: Resubmitter
    pending: PendingCommand

    def __call__(self, via: Any, timeout_s: float | None) -> Any:
        there: Resubmitter = self.state if via is None else via.replicas
        limit_s = there.timeout_s if timeout_s is None else timeout_s
        deadline = monotonic() + limit_s
        return there.wait(self.begin(there, deadline), deadline, limit_s)

    def begin(self, there: Resubmitter, deadline: float) -> PendingCommand:
        """Return the command as it waits for its answer, sent again unless it waits there already, or has it."""
        future = self.pending.future
        # Of what has its answer here, replicas may keep the answer no more.
        waits = there is self.state if not future.done() else not future.cancelled() and not _is_unknown(future)
        return self.pending if waits else there.resubmit(self.pending.message, deadline)


def _is_unknown(future: Future[Any]) -> bool:
    return isinstance(future.exception(), OutcomeUnknown)


class CallerWindow:
    """Numbers commands, and keeps each until its answer is here.

    `previous` of a command is the last one before it that was not withdrawn: so a replica that has not applied that one
    passes the command over, and it is sent again in its place.
    """

    def __init__(self, caller: str) -> None:
        self.caller = caller
        self.opened = False
        self.pending: OrderedDict[int, PendingCommand] = OrderedDict()
        self._gathered: list[bytes] = []  # of these, the last ones
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

    def begin_surely(self, name: str, arguments: bytes) -> PendingCommand:
        """Return a new command, to be sent with all that has no answer: also beyond the bound, since such are few."""
        found = self.begin(name, arguments)
        self.sent(found)
        return found

    def sent(self, command: PendingCommand) -> None:
        """Note that a command was sent: the next one follows it."""
        self._previous = max(self._previous, command.message.number)

    def gather(self, command: PendingCommand) -> bool:
        """Keep a command back, to go with others, if enough are under way; return whether it is."""
        if not self._gathered and len(self.pending) <= AT_ONCE:
            return False
        self._gathered.append(encode(command.message))
        self.sent(command)
        return True

    @property
    def due(self) -> bool:
        """Tell whether commands have gathered, and few are under way."""
        return bool(self._gathered) and len(self.pending) - len(self._gathered) < AT_ONCE

    def take_gathered(self) -> list[bytes]:
        """Return the commands that have gathered, which are to be sent now, in their order."""
        found, self._gathered = self._gathered, []
        return found

    def withdraw(self, command: PendingCommand) -> None:
        """Forget a command that was not sent."""
        self.pending.pop(command.message.number, None)
