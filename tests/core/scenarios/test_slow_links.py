"""A view change over a link that carries few calls: it is slow, or many groups share it."""

from __future__ import annotations

import pytest

from gcom.core.machine import GroupMachine
from gcom.values import limits
from gcom.values.definition import Definition
from gcom.values.names import Process
from tests.core.making import A, B, C
from tests.core.network import STEP_MS, Network


class SlowLink(Network):
    """A network whose link from B to C carries one call per turn."""

    turn_ms = STEP_MS

    def _call(self, who: Process, peer: Process, machine: GroupMachine) -> None:
        if (who, peer) != (B, C) or not self.now_ms % self.turn_ms:
            super()._call(who, peer, machine)


@pytest.mark.parametrize("ordering", ["FIFO", "TOTAL"])
@pytest.mark.parametrize("turn_ms", [100, limits.RESEND_MS, limits.FETCH_RETRY_MS, 700, 1_500])
def test_a_member_gets_what_it_fetches_from_the_proposer_however_seldom_that_calls(turn_ms: int, ordering: str) -> None:
    """1. B's message reaches A, and A dies. 2. B proposes; C lacks the message, and fetches it from B. 3. What B asks
    again meanwhile must not take the place of the message in each of its frames.
    """
    net = SlowLink(Definition.parse("g", ordering))
    net.form("a", "b", "c")
    net.turn_ms = turn_ms
    net.until(lambda: not net.now_ms % turn_ms)
    net.send(B, "last words")
    net.until(lambda: net.machines[B].lacking(1) == [C])
    net.kill(A)
    net.until_view(B, C)
    assert net.delivered(B) == net.delivered(C) == ["last words"]
