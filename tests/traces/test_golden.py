"""Each trace comes out as it stands, whatever the hash seed, and opens with what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gcom.values import limits
from tests.tidy.source import ROOT
from tests.traces.player import difference, play, traces
from tests.traces.tracer import TOPICS

TRACES = traces()
LINES_MAX = 90  # of a file, what a reader follows in one go
COLUMNS_MAX = 140


def commands(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line[:1] not in ("", "#", " ")]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_comes_out_as_it_stands(path: Path) -> None:
    _, diff = difference(path)
    assert not diff, f"if this is wanted, `make traces` writes it:\n{diff}"


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_order_of_no_set_shows(hash_seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.traces", "--check"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_trace_says_what_it_shows_and_is_read_in_one_go(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert all(line.startswith("# ") for line in lines[:2])
    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= COLUMNS_MAX


def test_each_topic_is_shown_somewhere() -> None:
    shown = {word for path in TRACES for line in commands(path) if line.startswith("show") for word in line.split()[1:]}
    assert shown == set(TOPICS)


def test_what_stood_below_a_command_does_not_matter() -> None:
    script = "group\nform alice bob\nsend alice hello\nrun 100ms\n"
    assert play(play(script) + "  t=1   nobody   says anything\n") == play(script)


def test_a_trace_puts_back_the_limits_that_it_changes() -> None:
    before = limits.WINDOW_MESSAGES_MAX
    play("group\nlimit WINDOW_MESSAGES_MAX 4\n")
    assert before == limits.WINDOW_MESSAGES_MAX


def test_a_command_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError, match="sned"):
        play("group\nsned alice hello\n")
