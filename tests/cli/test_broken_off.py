"""SIGTERM while a member is being let in: it leaves in good order, or was never in."""

from __future__ import annotations

import signal
from random import Random

import pytest

import gcom
from tests.cli.commands import Command

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("times", [1, 2])
def test_a_member_that_is_stopped_as_it_comes_in_is_not_taken_for_dead(times: int, registry: str) -> None:
    rng = Random(times)
    with gcom.connect("alice", registry) as node, node.join("news", create=gcom.Definition("news")) as group:
        with Command("join", "news", "--name", "bob", registry=registry) as bob:
            group.wait_for_members(2, 120)
            # As soon as the others have the view, which the newcomer hears of about now.
            for _ in range(rng.randint(0, 20_000)):
                pass
            for _ in range(times):
                bob.signal(signal.SIGTERM)
            assert bob.end() in (0, 128 + signal.SIGTERM)
        while not isinstance(event := group.receive(120), gcom.ViewChange) or not event.left:
            assert event is not None
        assert list(event.left.values()) == ["request"]
