"""The calls of this process that have no answer yet: its own commands, others' that are retried here, and reads.

Each method returns what callers are to be told, as functions: Futures call the application back, so they are called
without a lock.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from secrets import token_hex
from typing import Any

from gcom.errors import GComError
from gcom.replicated.answers import complete, fail, settle
from gcom.replicated.errors import Forgotten, OutcomeUnknown
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CallerOpened, CommandSent, ReadMarked, encode
from gcom.replicated.replica import Applied, CallerRecord
from gcom.replicated.window import CallerWindow, PendingCommand
from gcom.runtime.user_process.uninterrupted import WholeFuture

Settlement = Callable[[], None]
Retry = Callable[[Any, float | None], Any]


def _drawn() -> str:
    return token_hex(8)


class OpenCalls:
    """All that waits for an answer here. Guarded by the state's lock."""

    def __init__(
        self,
        kind: MachineKind,
        retry_of: Callable[[PendingCommand], Retry],
        identify: Callable[[], str] = _drawn,
    ) -> None:
        self._kind = kind
        self._retry_of = retry_of
        self._identify = identify  # returns the name of a new caller, which no other has
        self.window = CallerWindow(identify())
        self._adopted: dict[tuple[str, int], PendingCommand] = {}  # other callers' commands, retried here
        self._marks: dict[int, Future[None]] = {}
        self._mark = 0
        self._reader = identify()  # in whose name this process marks
        self._came_with = 0  # the last index of the log that came last: its tail repeats what was applied here before
        self._again = False  # all is about to be sent again

    def adopt(self, message: CommandSent) -> PendingCommand:
        """Wait for the answer to a command, whoever sent it first."""
        key = message.caller, message.number
        # Two retries of one command wait for one answer.
        return self._adopted.setdefault(key, PendingCommand(message))

    def disown(self, message: CommandSent) -> None:
        """Wait no more for a command that was not sent again."""
        self._adopted.pop((message.caller, message.number), None)

    def mark(self) -> tuple[ReadMarked, Future[None]]:
        """Return a new mark, and the Future that is done once all before it is here."""
        self._mark += 1
        found: Future[None] = WholeFuture()
        self._marks[self._mark] = found
        return ReadMarked(self._reader, self._mark), found

    def unmark(self, mark: ReadMarked) -> None:
        """Forget a mark that was not sent."""
        self._marks.pop(mark.number, None)

    def unanswered(self) -> list[bytes]:
        """Return all that has no answer, to be sent again, in its order."""
        window, self._again = self.window, False
        window.take_gathered()
        found = [encode(it.message) for it in (*self._adopted.values(), *window.pending.values())]
        found += [encode(ReadMarked(self._reader, number)) for number in self._marks]
        return found if window.opened else [encode(CallerOpened(window.caller)), *found]

    def must_send_again(self, applied: Applied) -> bool:
        """Tell whether an applied message shows that commands of this process have to be sent again.

        A total order need not keep the order of one sender. A command that came before the one that it follows was
        passed over everywhere; nobody else sends it again.
        """
        match applied:
            case Applied(fate="forgotten"):
                return not self.window.opened
            case Applied(fate="early", message=CommandSent(caller)) if caller == self.window.caller and not self._again:
                self._again = True
                return True
        return False

    # answers

    def on_applied(self, applied: Applied) -> list[Settlement]:
        """Deal with a message that was applied here."""
        match applied.message:
            case CallerOpened(caller) if caller == self.window.caller:
                self.window.opened = True
            case CommandSent(caller, number):
                mine = caller == self.window.caller
                if mine and (why := self._why_forgotten(number, applied.fate)):
                    # Judged behind the log that came: all without an answer was sent again, and is there.
                    return self.forget(why) if applied.index > self._came_with else []
                found = [self._adopted.pop((caller, number), None)] if applied.fate != "early" or not mine else []
                if mine and applied.fate != "early":  # an early one is sent again, behind the one that it follows
                    found.append(self.window.pending.pop(number, None))
                return [self._settlement(it, applied) for it in found if it is not None]
        return []

    def _why_forgotten(self, number: int, fate: str) -> str:
        """Return why an own command cannot be applied in the state as it is; empty: it can, or was."""
        if fate == "forgotten":
            return "no replica remembers this caller"
        if fate == "early" and number == next(iter(self.window.pending), 0):
            return "the state lacks earlier commands of this caller"  # they had their answers
        return ""

    def _settlement(self, found: PendingCommand, applied: Applied) -> Settlement:
        name = found.message.name
        if applied.fate == "forgotten":
            return partial(fail, found.future, Forgotten(f"no replica remembers the caller of {name}"))
        if applied.fate == "early":
            text = f"{name} was not applied: an earlier command of its caller is unknown, too; retry that first"
            return partial(fail, found.future, OutcomeUnknown(text, self._retry_of(found)))
        if not applied.answer:
            return partial(fail, found.future, Forgotten(f"{name} is applied, but its answer is kept no more"))
        return partial(settle, self._kind, found.future, applied.answer)

    def on_read(self, caller: str, number: int) -> list[Settlement]:
        """Deal with a mark, before which all is applied here."""
        future = self._marks.pop(number, None) if caller == self._reader else None
        return [partial(complete, future, None)] if future else []

    def on_state(self, record: CallerRecord | None, index: int, last: int) -> list[Settlement]:
        """Compare what waits with a state that came, and with its record of this caller: it has the answers.

        1. This process has the answer to a command. 2. A durable log comes, whose sender has not applied that command
        yet: it is in the tail, up to `last`. So only behind `last` a command is missing.
        """
        self._came_with = last
        window = self.window
        if not window.opened:
            return []
        if index >= last:
            if record is None:
                return self.forget("the state that came knows nothing of this caller")
            if window.follows > record.last:  # what had its answer is not in that state: no command could follow it
                return self.forget("the state that came lacks earlier commands of this caller")
        if record is None:
            return []
        settled = []
        for number in [it for it in window.pending if it <= record.last]:
            found = window.pending.pop(number)
            answer = record.answers.get(number, b"")
            settled.append(self._settlement(found, Applied(index, "", found.message, "repeated", answer)))
        return settled

    def forget(self, why: str) -> list[Settlement]:
        """Give up all own commands without an answer, and go on as another caller, which is to be opened."""
        lost = [*self.window.pending.values()]
        self.window = CallerWindow(self._identify())
        return [partial(fail, it.future, Forgotten(f"{it.message.name}: {why}; it may be applied")) for it in lost]

    def end(self, failure: GComError) -> list[Settlement]:
        """Give up everything."""
        settled: list[Settlement] = []
        for it in (*self.window.pending.values(), *self._adopted.values()):
            text = f"{failure}, before {it.message.name} had an answer: it may be applied; retry(via=...) finds out"
            settled.append(partial(fail, it.future, OutcomeUnknown(text, self._retry_of(it))))
        settled += [partial(fail, it, failure) for it in self._marks.values()]
        self.window.pending.clear()
        self._adopted.clear()
        self._marks.clear()
        return settled
