"""All of three durable replicas are killed, at every point that matters, and a disk is lost: nothing answered is."""

from __future__ import annotations

import shutil
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import gcom
from tests.replicated.durable_worker import NAMES, POINTS
from tests.running import Child, environment


class Trio:
    """Three replicas, killed together again and again, and all that any of them was answered."""

    def __init__(self, folder: Path, registry: str) -> None:
        self.folder = folder
        self._registry = registry
        self.answered: dict[str, int] = {}

    def round(self, point: str, count: int, victim: str) -> None:
        """Start all three, one of which dies at a point; then kill the others, and note what was answered."""
        with ExitStack() as stack:
            children = {name: stack.enter_context(self._start(name, point, count, name == victim)) for name in NAMES}
            children[victim].process.wait(60)
            others = [child for name, child in children.items() if name != victim]
            for child in others:  # the two that are left go on; and they had what was answered before
                child.until(lambda child=child: len(child.rows("answered")) >= 3, "answers")  # type: ignore[misc]
                self.check(child.rows("ready")[0]["tokens"])
            for child in others:
                child.signal(signal.SIGKILL)
            for name, child in children.items():
                child.end()
                assert child.errors == [], (name, point)
                for row in child.rows("answered"):
                    self.answered[row["token"]] = row["place"]

    def check(self, tokens: list[str]) -> None:
        """Compare a later state with all that was answered: each is there once, where its answer said."""
        assert len(tokens) == len(set(tokens))
        lost = {token: place for token, place in self.answered.items() if tokens[place - 1 : place] != [token]}
        assert lost == {}

    def _start(self, name: str, point: str, count: int, dies: bool) -> Child:
        words = [sys.executable, "-m", "tests.replicated.durable_worker", name, self._registry, str(self.folder)]
        return Child([*words, point, str(count)] if dies else words, environment())


def run(folder: Path, rounds: int) -> None:
    with gcom.embedded() as registry:
        trio = Trio(folder, registry.address)
        for number in range(rounds):
            point = POINTS[number % len(POINTS)]
            many = 3 + number % 11 if point.startswith("append") else 1
            trio.round(point, many, NAMES[number % 3])
            if number % 5 == 2:
                shutil.rmtree(folder / NAMES[(number + 1) % 3])
        assert len(trio.answered) > 6 * rounds


@pytest.mark.slow
def test_nothing_answered_is_lost_when_all_are_killed_and_a_disk_with_them(tmp_path: Path) -> None:
    run(tmp_path, len(POINTS))


@pytest.mark.soak
def test_nor_in_thirty_rounds(tmp_path: Path) -> None:
    run(tmp_path, 30)
