"""The callbacks for the application's state, with sessions that only note what they are told."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from gcom.core.messages.effects import SetState
from gcom.runtime.api.state_callbacks import StateCallbacks
from gcom.runtime.step_lock import StepLock


class NotingSession:
    """A session of a process, which counts how often it is told that the state is set."""

    def __init__(self, process: str) -> None:
        self.machine = SimpleNamespace(process=process)
        self.told = 0

    def on_state_set(self) -> None:
        self.told += 1


@pytest.mark.parametrize(("process", "told"), [("b#1", 1), ("b#2", 0)])
def test_a_state_that_is_read_late_frees_the_requests_that_wait_in_the_successor(process: str, told: int) -> None:
    """1. The state comes. 2. Before it is read, the process goes on in a successor, or comes back as another one."""
    state: list[bytes] = []
    source, later = NotingSession("b#1"), NotingSession(process)
    host: Any = SimpleNamespace(lock=StepLock())
    membership: Any = SimpleNamespace(
        uses=SimpleNamespace(set_state=state.append), queued=deque(), session=later, following=None
    )
    of_source: Any = source
    StateCallbacks(host, membership).set(of_source, SetState(3, b"all", "a#1"))
    assert (state, source.told, later.told) == ([b"all"], 1, told)
