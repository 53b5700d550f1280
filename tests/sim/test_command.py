"""`gcom sim` as people and scripts use it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gcom.cli import app

CLEAN = 2  # a seed of two members, quickly run
SHORT = 12  # so are this seed and those after it, which the pool has taken already when it is ended
ROOT = Path(__file__).parents[2]


def test_a_seed_is_told_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert app.run(["sim", "--seed", str(CLEAN)]) == 0
    out = capfd.readouterr().out
    assert re.fullmatch(r"seed 2: ok, .*2 members, [0-9]+ messages, .* views, .*, digest [0-9a-f]{12}\n", out)


@pytest.mark.slow
def test_rows_say_members_messages_views_and_faults(capfd: pytest.CaptureFixture[str]) -> None:
    assert app.run(["sim", "--seeds", "1..3", "--jobs", "2", "--json"]) == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["seed"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert row["ok"] is True
        assert 2 <= row["members"] <= 9
        assert row["messages"] >= 500
        assert row["views"] >= 1
        assert len(row["faults"]) >= 3
        assert all(count > 0 for count in row["faults"].values())


def test_logs_of_one_seed_go_straight_into_the_folder(tmp_path: Path) -> None:
    assert app.run(["sim", "--seed", str(CLEAN), "--log-dir", str(tmp_path / "logs")]) == 0
    assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == ["m0", "m1"]


def test_logs_of_several_seeds_go_into_a_folder_each(tmp_path: Path) -> None:
    assert app.run(["sim", "--seeds", f"{CLEAN}..{CLEAN}", "--log-dir", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [str(CLEAN)]
    assert sorted(path.name for path in (tmp_path / str(CLEAN)).iterdir()) == ["m0", "m1"]


def test_a_broken_promise_is_told_with_how_to_replay_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gcom.sim.world.KINDS_MIN", 99)
    assert app.run(["sim", "--seed", str(CLEAN)]) == 1
    shown = capfd.readouterr()
    assert shown.out.startswith("seed 2: BROKEN, ")
    assert "gcom: seed 2: VACUOUS: only " in shown.err
    assert re.search(r"to replay, at commit \S+: gcom sim --seed 2 --log-dir FOLDER", shown.err)
    assert app.run(["sim", "--seed", str(CLEAN), "--json"]) == 1
    row = json.loads(capfd.readouterr().out)
    assert (row["ok"], row["seed"]) == (False, CLEAN)
    assert row["commit"]
    assert row["violation"].startswith("VACUOUS: ")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("sim", "--seeds"),
        ("sim --seed 1 --seeds 1..2", "either"),
        ("sim --seeds 3..1", "3..1"),
        ("sim --seeds 1-3", "1-3"),
        ("sim --seeds 1..9999999", "1..300"),
        ("sim --seed x", "--seed"),
        ("sim --seed 1 --jobs 0", "--jobs"),
    ],
)
def test_bad_usage_is_named(words: str, named: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert app.run(words.split()) == 2
    shown = capfd.readouterr()
    assert shown.out == ""
    assert named in shown.err


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").mkdir()
    assert app.run(["sim", "--seed", "1", "--log-dir", str(tmp_path)]) == 2
    assert "not empty" in capfd.readouterr().err


@pytest.mark.slow
def test_ctrl_c_ends_many_seeds_at_once_and_cleanly() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gcom.cli", "sim", "--seeds", f"{SHORT}..100000", "--jobs", "2"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # as a terminal does, the signal goes to all of them
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(f"seed {SHORT}: ")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert err == ""
    assert all(line.startswith("seed ") for line in out.splitlines())
