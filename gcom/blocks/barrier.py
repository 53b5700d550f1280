"""`Barrier`: processes wait for each other, and go on together."""

from __future__ import annotations

from gcom.blocks.block import Block
from gcom.errors import BadValue, GComTimeout
from gcom.replicated.machine import Machine, command, query
from gcom.runtime.user_process.entry import uninterrupted


class BarrierTable(Machine):
    """The arrivals of this round, and how many rounds are over."""

    def __init__(self) -> None:
        self.rounds = 0
        self.arrived: list[str] = []

    @command
    def arrive(self, parties: int) -> int:
        """Arrive; return the round that is waited for."""
        number = self.rounds
        if self.context.process not in self.arrived:
            self.arrived.append(self.context.process)
        if len(self.arrived) >= parties:
            self.rounds, self.arrived = self.rounds + 1, []
        return number

    @command
    def turn_back(self, number: int | None) -> bool:
        """Wait no more, in that round or in whichever it is; return whether it is not over."""
        here = number is None or self.rounds == number
        if here and self.context.process in self.arrived:
            self.arrived.remove(self.context.process)
        return here

    def on_members(self, members: tuple[str, ...]) -> None:
        """Forget the arrivals of processes that are gone."""
        self.arrived = [process for process in self.arrived if process in members]

    @query
    def over(self) -> int:
        """Return how many rounds are over."""
        return self.rounds


def check_parties(parties: int) -> None:
    """Raise BadValue for a barrier of no processes."""
    if parties < 1:
        raise BadValue(f"a barrier is for 1 process or more; got {parties}")


class Barrier(Block[BarrierTable]):
    """A point that so many processes must have come to before any of them goes on; then it begins anew.

    Consistency: all see the same rounds. A process that dies while it waits has not arrived.
    """

    kind = BarrierTable
    prefix = "barrier"

    @uninterrupted()
    def wait(self, parties: int, timeout_s: float | None = None) -> int:
        """Arrive, and wait for the others; return the round's number. Raises GComTimeout, and has not arrived then."""
        check_parties(parties)
        number: int | None = None
        settled = False
        try:
            found: int = self._machine.arrive(parties)
            number = found
            self._await(lambda: self._machine.over() > found, timeout_s, f"meeting of {parties}")
            settled = True
            return found
        except GComTimeout:
            if number is None or self._machine.turn_back(number):
                settled = True
                raise
            settled = True
            return number
        finally:
            if not settled:
                self._surely("turn_back", number)
