"""What a message costs in frames, where nobody fails and little is sent: O(N), in every order (DESIGN 5, 6)."""

from __future__ import annotations

import pytest

from gcom.values.definition import Definition
from tests.core.network import Network

MESSAGES = 20
APART_MS = 20  # time enough for each to be delivered before the next: nothing shares a frame
HEARTBEATS = 3  # of each link in that time


@pytest.mark.parametrize("count", [2, 3, 4, 9])
@pytest.mark.parametrize(
    ("ordering", "safe", "rounds"),
    [
        ("NONORDERED", False, 1),  # the message, to each of the others
        ("FIFO", False, 1),
        ("CAUSAL", False, 1),
        ("FIFO", True, 2),  # and that a majority holds it
        ("TOTAL", False, 3),  # and its serial, and that a majority holds that
        ("CAUSALTOTAL", False, 3),
        ("CAUSALTOTAL", True, 3),  # the frames of the order say what is held, too
    ],
)
def test_a_message_costs_so_many_frames_to_each_member(ordering: str, safe: bool, rounds: int, count: int) -> None:
    network = Network(Definition.parse("g", ordering, "RELIABLE", safe=safe))
    members = network.form(*[f"m{place:02}" for place in range(count)])
    network.pass_ms(500)
    before = len(network.carried)
    for number in range(MESSAGES):
        network.send(members[number % count], b"x")
        network.pass_ms(APART_MS)
    assert all(len(network.delivered(who)) == MESSAGES for who in members)
    links = count * (count - 1)
    assert len(network.carried) - before <= MESSAGES * rounds * (count - 1) + HEARTBEATS * links
