"""Real processes, killed at every named point, and started again: each line of the source is in the topic once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gcom import topics
from gcom.topics.crash_points import POINTS, VARIABLE
from tests.running import LIMIT_S, ROOT, environment

COPY = ROOT / "docs" / "examples" / "move_a_cron_job.py"
LINES = [f"line {number}" for number in range(2000)]


def copy(folder: Path, crash: str = "") -> subprocess.CompletedProcess[str]:
    """Run the example, which dies at that point if one is given."""
    words = [sys.executable, str(COPY), str(folder / "lines.txt"), str(folder / "app.db")]
    env = environment(**{VARIABLE: crash} if crash else {})
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=LIMIT_S)


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("append.")])
def test_a_producer_that_is_killed_and_started_again(tmp_path: Path, point: str) -> None:
    """The source's position is the sequence, so no counter file can be lost: `last_seq` comes from the store."""
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\n")
    killed = 0
    for times in (1, 2, 3, 5):
        done = copy(tmp_path, f"{point}:{times}")
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert killed >= 2
    done = copy(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    with topics.open(tmp_path / "app.db") as store:
        found = list(store.topic("lines").read())
    assert [message.text for message in found] == LINES
    assert [message.seq for message in found] == list(range(len(LINES)))
    assert copy(tmp_path).stdout == "0 new lines\n"


PAUSED = """
import sys
from gcom import topics
with topics.open(sys.argv[1]) as store:
    producer = store.topic("lines").producer("one")
    producer.send("a", seq=1)
    print("sent", flush=True)
    sys.stdin.readline()
    try:
        producer.send("zombie", seq=2)
    except topics.Fenced:
        print("fenced", flush=True)
"""


def test_a_paused_producer_is_fenced_by_its_successor(tmp_path: Path) -> None:
    place = str(tmp_path / "app.db")
    words = [sys.executable, "-c", PAUSED, place]
    with subprocess.Popen(words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "sent\n"
        child.send_signal(signal.SIGSTOP)
        with topics.open(place) as store:
            successor = store.topic("lines").producer("one")
            assert successor.last_seq == 1
            child.send_signal(signal.SIGCONT)
            assert child.communicate("go\n", timeout=LIMIT_S)[0] == "fenced\n"
            assert not successor.send("b", seq=2).duplicate
            assert [it.text for it in store.topic("lines").read()] == ["a", "b"]
