"""The user's process as hostile ground: signals, interrupts, finalizers, forks and ends in the middle of calls."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

import gcom
from tests.running import Child
from tests.runtime.nodes import LIMIT_S, until


class Ground:
    """A group of bob's, in which a program runs as another member."""

    def __init__(self, registry: str, bob: gcom.Node) -> None:
        self.registry = registry
        self.texts: list[str] = []
        bob.create("g")
        self.group = bob.join("g")

    def listen(self) -> None:
        self.group.listen(on_message=lambda message: self.texts.append(message.text))

    def program(self, word: str) -> Child:
        return Child([sys.executable, "-m", "tests.runtime.ground", word, self.registry])


@pytest.fixture
def ground() -> Iterator[Ground]:
    with gcom.embedded() as registry, gcom.connect("bob", registry.address) as bob:
        yield Ground(registry.address, bob)


@pytest.mark.parametrize("turn", range(4))
def test_a_handler_leaves_and_closes_in_the_middle_of_a_send(ground: Ground, turn: int) -> None:
    ground.listen()
    with ground.program("handler") as child:
        child.until(lambda: child.out, "its start")
        until(lambda: len(ground.texts) > Random(turn).randint(10, 2_000), "some messages")
        child.signal(signal.SIGTERM)
        assert child.end() == 0, child.errors
        assert child.out[-1] == "left"
    until(lambda: ground.group.members == ("bob",), "its leave")


@pytest.mark.parametrize("turn", range(4))
def test_an_interrupt_out_of_send_leaves_nothing_half_done(ground: Ground, turn: int) -> None:
    ground.listen()
    with ground.program("interrupt") as child:
        child.until(lambda: child.out, "its start")
        until(lambda: len(ground.texts) > Random(turn).randint(10, 2_000), "some messages")
        child.signal(signal.SIGINT)
        assert child.end() == 0, child.errors
        count = int(child.out[-1].partition("sent ")[2])
    until(lambda: bool(ground.texts) and ground.texts[-1] == "after", "the last one")
    # The one in whose send it was interrupted may have gone.
    assert ground.texts[:-1] in ([f"{it}" for it in range(count)], [f"{it}" for it in range(count + 1)])


def test_an_interrupted_reader_loses_no_message(ground: Ground) -> None:
    ground.listen()
    with ground.program("interrupted_reader") as child:
        child.until(lambda: child.out, "its start")
        for _way in range(3):
            for number in range(3_000):
                ground.group.send(f"{number}")
            ground.group.send("-1")
        assert child.end() == 0, child.errors
        assert child.out[-3:] == ["missing [] doubled 0"] * 3


def test_a_timer_sends_within_sends(ground: Ground) -> None:
    ground.listen()
    with ground.program("alarm") as child:
        sent = int(child.until(lambda: [line for line in child.out if line.startswith("sent")], "its end")[0][5:])
        until(lambda: len(ground.texts) == sent, "all of them")


def test_a_finalizer_sends_in_the_middle_of_steps(ground: Ground) -> None:
    ground.listen()
    with ground.program("finalizer") as child:
        child.until(lambda: [line for line in child.out if line.startswith("made")], "its end")
        until(lambda: Counter(ground.texts) == {"work": 5_000, "released": 5_000}, "all of them")


def test_a_forked_child_says_nothing_and_is_told_so(ground: Ground) -> None:
    ground.listen()
    with ground.program("fork") as child:
        child.until(lambda: "confirmed" in child.out, "the parent's message")
        assert child.out == ["forked"] * 4 + ["sockets 0", "confirmed"]
        until(lambda: ground.texts == ["parent's"], "it")


def test_a_child_that_lives_on_is_no_sign_of_its_parents_life(ground: Ground) -> None:
    """The kernel says at once that the parent is dead: nobody waits for its silence."""
    reasons: list[str] = []
    ground.group.listen(
        on_event=lambda event: reasons.append(event.reason) if isinstance(event, gcom.Suspicion) else None
    )
    with ground.program("fork_and_die") as child:
        left = int(child.until(lambda: [line for line in child.out if line.startswith("forked")], "the fork")[0][7:])
        try:
            child.signal(signal.SIGKILL)
            until(lambda: ground.group.members == ("bob",), "the view without it")
        finally:
            os.kill(left, signal.SIGKILL)
    assert "silence" not in reasons


def test_a_program_that_ends_without_a_close_has_sent_all(ground: Ground) -> None:
    ground.listen()
    with ground.program("exits") as child:
        assert child.end() == 0, child.errors
        assert child.errors == []
    until(lambda: len(ground.texts) == 5_000, "all of them")
    assert ground.group.wait_for_members(1, LIMIT_S).names == ("bob",)


def test_a_program_says_what_it_could_not_send(ground: Ground) -> None:
    """Nobody reads: the window is full, and the program ends by an exception."""
    with ground.program("exits_stuck") as child:
        assert child.end() == 1
        said = [line for line in child.errors if line.startswith("gcom:")]
        assert len(said) == 1
        assert said[0].startswith("gcom: not sent before the program ended: ")
        assert "of 'worker' in group 'g'" in said[0]
        assert "RuntimeError: the program has failed" in child.errors
