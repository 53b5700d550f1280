"""Three windows as processes of their own, on a screen that nobody sees: they talk, lose the leader, split and heal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import gcom

pytestmark = pytest.mark.slow
LIMIT_S = 120.0
_pause = Event()


class Window:
    """One window, held by its process's standard input and output."""

    def __init__(self, name: str, registry: str, screen: str, faults: Path) -> None:
        self.name = name
        environment = {
            **os.environ,
            "DISPLAY": screen,
            "QT_QPA_PLATFORM": "xcb",
            "GCOM_FAULTS": f"@{faults}",
            "XDG_CONFIG_HOME": str(faults.parent / name),
            "XDG_DATA_HOME": str(faults.parent / name),
        }
        command = [sys.executable, "-m", "tests.chat_gui.window_driver", name, registry, "news"]
        self.errors = faults.parent / f"{name}.err"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )

    def ask(self, *command: str) -> Any:
        """Carry out one command in the window."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        """Close the window, if it is there."""
        if self.process.poll() is None:
            self.ask("close")
        self.process.wait(LIMIT_S)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


def until(true: Callable[[], bool], what: Callable[[], object]) -> None:
    """Wait for something; a window draws 25 times a second."""
    deadline = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < deadline, what()
        _pause.wait(0.1)


@pytest.fixture
def windows(screen: str, tmp_path: Path) -> Iterator[list[Window]]:
    """Three windows in the group news, the first of which leads."""
    faults = tmp_path / "faults"
    faults.write_text("seed=1")
    with gcom.embedded() as registry:
        directory = gcom.Directory(registry.address)
        directory.create(gcom.Definition("news", "TOTAL"))
        directory.close()
        made: list[Window] = []
        for count, name in enumerate(("alice", "bob", "carol"), 1):
            made.append(Window(name, registry.address, screen, faults))
            until(lambda: len(made[-1].ask("members", "news")) == count, lambda: made[-1].ask("members", "news"))  # noqa: B023
        try:
            yield made
        finally:
            for window in made:
                window.end()
        for window in made:
            assert "Qt" not in window.errors.read_text().replace("QT_", ""), window.errors.read_text()


def _texts(window: Window) -> list[str]:
    return [text for _, text in window.ask("said", "news")]


def test_three_windows_talk_lose_their_leader_split_and_heal(windows: list[Window], tmp_path: Path) -> None:
    alice, bob, carol = windows
    for number in range(5):
        for window in windows:
            window.ask("say", "news", f"{window.name} says {number}")
    until(lambda: all(len(_texts(window)) == 15 for window in windows), lambda: [*map(_texts, windows)])
    assert _texts(alice) == _texts(bob) == _texts(carol)
    # A side without a majority may not send, says so, and keeps what is typed.
    (tmp_path / "faults").write_text("seed=1,cut=carol<>alice+bob")
    for number in range(3):  # before anybody knows of the cut
        carol.ask("say", "news", f"carol says {number} more")
    until(lambda: "waits here" in carol.ask("banner", "news"), lambda: carol.ask("banner", "news"))
    carol.ask("say", "news", "carol alone")
    assert [state for _, state in carol.ask("own", "news")[-4:]] == ["DOUBT", "WAITING", "WAITING", "WAITING"]
    assert all(f"carol says {number} more" in carol.ask("banner", "news") for number in range(3))
    alice.ask("say", "news", "while carol is away")
    until(lambda: "while carol is away" in _texts(bob), lambda: _texts(bob))
    assert "carol alone" not in _texts(bob)
    (tmp_path / "faults").write_text("seed=1")
    until(lambda: "carol alone" in _texts(alice), lambda: carol.ask("banner", "news"))
    until(lambda: {state for _, state in carol.ask("own", "news")} == {"HELD"}, lambda: carol.ask("own", "news"))
    assert _texts(alice)[-4:] == [*(f"carol says {number} more" for number in range(3)), "carol alone"]
    until(lambda: carol.ask("banner", "news") == "", lambda: carol.ask("banner", "news"))
    # The leader is killed: the others go on at once.
    assert "♛" in alice.ask("title", "news")
    alice.process.kill()
    until(lambda: any("♛" in window.ask("title", "news") for window in (bob, carol)), lambda: bob.ask("title", "news"))
    bob.ask("say", "news", "alice is gone")
    until(lambda: "alice is gone" in _texts(carol), lambda: carol.ask("banner", "news"))
    until(lambda: _texts(bob)[-3:] == _texts(carol)[-3:], lambda: (_texts(bob), _texts(carol)))
    said = _texts(bob)
    assert len(said) == len(set(said)) == 21
    assert [text for text in said if text in set(_texts(carol))] == _texts(carol)
