"""The calls of one process: what it was answered, and what a state that comes says of the rest."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gcom.replicated.calls import OpenCalls
from gcom.replicated.errors import Forgotten
from gcom.replicated.machine import MachineKind
from gcom.replicated.messages import CallerOpened, CommandSent
from gcom.replicated.replica import CallerRecord, Replica
from gcom.replicated.window import CommandRetry, PendingCommand, Resubmitter
from tests.replicated.machines import Stock

STOCK = MachineKind.of(Stock)


class Caller:
    """A caller beside one replica, which applies what it sends."""

    def __init__(self) -> None:
        self.calls = OpenCalls(STOCK, lambda it: CommandRetry(cast(Resubmitter, None), it))
        self.replica = Replica(STOCK)
        self.apply(CallerOpened(self.calls.window.caller))

    def apply(self, message: CallerOpened | CommandSent) -> None:
        for settle in self.calls.on_applied(self.replica.apply("a#1", message)):
            settle()

    def send(self, count: int = 1) -> PendingCommand:
        found = self.calls.window.begin_surely("put", STOCK.codec.pack([["nails", count], {}]))
        self.calls.window.take_gathered()
        return found

    def take(self, replica: Replica, last: int) -> None:
        """Take the place of the replica, as of a log that ends at `last`."""
        self.replica = replica
        record: CallerRecord | None = replica.callers.get(self.calls.window.caller)
        for settle in self.calls.on_state(record, replica.index, last):
            settle()


@pytest.mark.parametrize("applied", [0, 1, 2])
def test_a_log_whose_tail_has_the_answered_commands_forgets_nobody(applied: int) -> None:
    mine = Caller()
    answered, waits = mine.send(), mine.send()
    mine.apply(waits.message)  # too early
    mine.apply(answered.message)
    assert answered.future.result() == 1
    tail: list[Any] = [CallerOpened(mine.calls.window.caller), waits.message, answered.message]
    other = Replica(STOCK)
    for message in tail[:applied]:
        other.apply("a#1", message)
    mine.take(other, len(tail))
    for message in [*tail[applied:], waits.message]:
        mine.apply(message)
    assert waits.future.result(0) == 2


@pytest.mark.parametrize("known", [False, True])
def test_a_caller_is_told_where_the_log_lacks_what_it_was_answered(known: bool) -> None:
    mine = Caller()
    answered, waits = mine.send(), mine.send()
    mine.apply(answered.message)
    other = Replica(STOCK)
    if known:
        other.apply("a#1", CallerOpened(mine.calls.window.caller))
    mine.take(other, other.index + 1)  # the tail has an entry that is no command
    other.index += 1
    assert not waits.future.done()
    mine.apply(waits.message)
    with pytest.raises(Forgotten):
        waits.future.result(0)


def test_a_retry_has_the_answer_that_came_late() -> None:
    mine = Caller()
    late = mine.send()
    mine.apply(late.message)
    mine.apply(mine.send().message)  # by now no replica keeps the first answer
    retry = CommandRetry(cast(Resubmitter, None), late)
    assert retry.begin(cast(Resubmitter, mine), 0.0).future.result(0) == 1
