"""The programs of docs/examples that use blocks, each with a process killed."""

from __future__ import annotations

import signal
import sys
from contextlib import ExitStack

import pytest

import gcom
from tests.running import ROOT, Child, environment

EXAMPLES = ROOT / "docs" / "examples"


@pytest.mark.parametrize("program", ["scheduler", "aio_scheduler"])
def test_another_schedules_when_the_leader_is_killed(program: str) -> None:
    with gcom.embedded() as registry, ExitStack() as stack:
        env = environment(GCOM_REGISTRY=registry.address)
        words = [sys.executable, str(EXAMPLES / f"{program}.py")]
        first = stack.enter_context(Child([*words, "alice"], env))
        first.until(lambda: len(first.out) > 3, "some runs")
        second = stack.enter_context(Child([*words, "bob"], env))
        second.until(lambda: second.out == ["ready"], "the second")
        first.signal(signal.SIGKILL)
        second.until(lambda: len(second.out) > 3, "its runs")
        runs = [line.split()[1] for child in (first, second) for line in child.out if line.startswith("run")]
        assert len(runs) == len(set(runs))
        tokens = [int(line.split()[-1]) for child in (first, second) for line in child.out if line.startswith("run")]
        assert tokens == sorted(tokens)
        second.signal(signal.SIGKILL)


def test_all_tasks_are_done_though_a_worker_is_killed() -> None:
    with gcom.embedded() as registry, ExitStack() as stack:
        env = environment(GCOM_REGISTRY=registry.address)
        words = [sys.executable, str(EXAMPLES / "thumbnails.py")]
        workers = [stack.enter_context(Child([*words, f"worker{place}"], env)) for place in (1, 2)]
        for worker in workers:
            worker.until(lambda worker=worker: worker.out[:1] == ["ready"], "a worker")  # type: ignore[misc]
        asks = stack.enter_context(Child([*words, "ask", "60"], env))
        workers[0].until(lambda: len(workers[0].out) > 5, "some tasks")
        workers[0].signal(signal.SIGKILL)
        assert asks.end() == 0
        assert asks.out == ["60 of 60 are done"]
        workers[1].signal(signal.SIGKILL)
