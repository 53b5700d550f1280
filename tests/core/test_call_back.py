"""A process that nobody can call: it costs its group two views, not two each four seconds, and it is told why."""

from __future__ import annotations

import pytest

from gcom.core.machine import Stage
from gcom.core.messages import events
from gcom.errors import Unavailable
from gcom.values.names import Process, name_of
from tests.core.network import Network

LONG_MS = 40_000


class Guarded(Network):
    """A network in which a firewall drops, or refuses, all calls to one name; that one can call others."""

    def __init__(self, refuses: bool = False) -> None:
        super().__init__()
        self.closed = True
        self.refuses = refuses
        self.lose = lambda frame: self.closed and name_of(frame.target) == "z"

    def _failed(self, peer: Process, refused: bool) -> events.CallFailed:
        return super()._failed(peer, refused or (self.closed and self.refuses and name_of(peer) == "z"))

    def ask_again_for(self, name: str, duration_ms: int) -> list[Process]:
        """Start a process again each time that it is not let in, as an operator does; return all that came."""
        tries = [self.start(name)]
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self.step()
            if self.machines[tries[-1]].stage is Stage.ENDED:
                tries.append(self.start(name, str(len(tries) + 1)))
        return tries


@pytest.mark.parametrize("refuses", [False, True])
def test_a_process_that_nobody_can_call_costs_two_views_however_often_it_asks(refuses: bool) -> None:
    net = Guarded(refuses)
    members = net.form("a", "b", "c")
    number = net.number(members[0])
    tries = net.ask_again_for("z", LONG_MS)
    assert net.number(members[0]) <= number + 2
    errors = [error for error in map(net.error, tries) if error]
    assert errors
    assert all(isinstance(error, Unavailable) for error in errors)
    assert "a#1 cannot call z#1 back at z-1:1" in str(errors[0])
    net.closed = False  # its port is let through
    net.until_view(*members, tries[-1])


def test_a_process_that_sleeps_as_it_is_let_in_comes_in_once_it_answers() -> None:
    net = Guarded()
    net.closed = False
    members = net.form("a", "b", "c")
    asleep = net.start("z")
    net.until(lambda: any(frame.source == asleep for frame in net.carried))
    net.pause(asleep)
    net.until(lambda: asleep in net.members(members[0]))
    net.until_view(*members)
    net.resume(asleep)
    net.until_view(*members, asleep)


def test_who_comes_with_a_process_that_nobody_can_call_does_not_wait_for_it() -> None:
    net = Guarded()
    members = net.form("a", "b", "c")
    net.start("z")
    net.until(lambda: net.number(members[0]) == 5)  # it was in, and is out
    late = net.start("d")
    net.start("z", "2")
    net.until(lambda: net.members(late) == {*members, late}, 1_000)
