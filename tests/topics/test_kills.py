"""Real processes, killed at every named point, and started again: each line of the source is in the topic once."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gcom import topics
from gcom.topics.crash_points import POINTS, VARIABLE
from tests.running import LIMIT_S, ROOT, environment
from tests.topics.conftest import Server
from tests.topics.ledgers import Ledger

COPY = ROOT / "docs" / "examples" / "move_a_cron_job.py"
LINES = [f"line {number}" for number in range(2000)]


def copy(folder: Path, crash: str = "") -> subprocess.CompletedProcess[str]:
    """Run the example, which dies at that point if one is given."""
    words = [sys.executable, str(COPY), *(str(folder / name) for name in ("lines.txt", "app.db", "counter"))]
    env = environment(**{VARIABLE: crash} if crash else {})
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=LIMIT_S)


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("append.")])
def test_a_producer_that_is_killed_and_started_again(tmp_path: Path, point: str) -> None:
    """The source's position is the sequence, so no counter file can be lost: `last_seq` comes from the store.

    The counter of the job of before is for the first time alone. A line that is not whole yet does not count.
    """
    (tmp_path / "lines.txt").write_text("\n".join(LINES) + "\nhalf a li")
    (tmp_path / "counter").write_text("200")
    killed = 0
    for times in (1, 4):
        done = copy(tmp_path, f"{point}:{times}")
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
    assert killed
    done = copy(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    with topics.open(tmp_path / "app.db") as store:
        found = list(store.topic("lines").read())
    assert [message.text for message in found] == LINES[200:]
    assert [message.seq for message in found] == list(range(200, len(LINES)))
    (tmp_path / "counter").write_text("0")
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


def until_done(crash_at: list[str], *words: str) -> int:
    """Run a program once for each crash, then to its end; return how often it was killed."""
    killed = 0
    for crash in [*crash_at, ""]:
        env = environment(**{VARIABLE: crash} if crash else {})
        done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += done.returncode != 0
    assert done.returncode == 0
    return killed


def fill(place: Path | str) -> None:
    with topics.open(place) as store:
        store.topic("lines").send_many(LINES)


def table(path: Path, sql: str) -> list[object]:
    with closing(sqlite3.connect(path)) as file:
        return [row[0] for row in file.execute(sql)]


@pytest.mark.parametrize(
    "point",
    ["append.written", "append.committed", "effect.begun", "effect.committed", "outbox.sent", "outbox.receipted"],
)
def test_a_consumer_that_is_killed_has_each_effect_once(tmp_path: Path, point: str) -> None:
    """The table, the copies that it sends and the outbox: nothing twice, nothing lost, nothing left over."""
    store, ledger = tmp_path / "app.db", tmp_path / "ledger.db"
    fill(store)
    program = ROOT / "docs" / "examples" / "keep_a_ledger.py"
    crashes = [f"{point}:{times}" for times in (1, 3)]
    assert until_done(crashes, str(program), str(store), str(ledger)) >= (1 if point == "outbox.receipted" else 2)
    assert table(ledger, "SELECT text FROM entry ORDER BY rowid") == LINES
    assert table(ledger, "SELECT count(*) FROM gcom_outbox") == [0]
    with topics.open(store) as opened:
        assert [it.text for it in opened.topic("copies").read()] == LINES


LEDGER = """
import sys
from gcom import topics
place, ledger, mark = sys.argv[1:]
def handle(tx, messages, out):
    for message in messages:
        tx.execute(f"INSERT INTO entry VALUES ({mark})", (message.text,))
        out.send("copies", message.body)
with topics.open(place) as store:
    lines = store.topic("lines").subscribe("ledger", after="earliest")
    lines.run(handle, ledger or store, batch=100, follow=False)
"""


@pytest.mark.parametrize(
    ("kind", "point"),
    [
        ("postgres", "effect.begun"),
        ("postgres", "effect.committed"),
        ("postgres", "outbox.sent"),
        ("store in a file", "effect.begun"),
        ("store in a file", "effect.committed"),
        ("store in postgres", "effect.begun"),
        ("store in postgres", "effect.committed"),
    ],
)
def test_effects_in_other_databases(file_place: str, server: Server, kind: str, point: str) -> None:
    place = server.new_place() if kind == "store in postgres" else file_place
    with topics.open(place) as store:
        store.topic("lines").send_many(LINES[:600])
        ledger = Ledger(kind, server.new_place() if kind == "postgres" else place, store)
    words = [place, ledger.place if kind == "postgres" else "", "?" if ledger.is_file else "%s"]
    assert until_done([f"{point}:{times}" for times in (1, 3)], "-c", LEDGER, *words) == 2
    assert ledger.rows() == LINES[:600]
    with topics.open(place) as store:
        assert [it.text for it in store.topic("copies").read()] == LINES[:600]
    if kind == "postgres":
        assert ledger.rows("SELECT count(*) FROM gcom_outbox") == [0]
        assert ledger.rows("SELECT count(*) FROM gcom_handler") == [0]


FUNCTION = """
import sys
from gcom import topics
with topics.open(sys.argv[1]) as store:
    store.function(lambda x: [x + "!", x + "?"], "lines", to="out", name="double").run(follow=False)
"""
LINK = """
import sys
from gcom import topics
with topics.open(sys.argv[1]) as store, topics.open(sys.argv[2]) as far:
    store.topic("lines").link(far.topic("out"), "mirror").run(follow=False)
"""


@pytest.mark.parametrize("point", ["effect.begun", "append.committed"])
def test_a_function_that_is_killed_has_each_output_once(place: str, point: str) -> None:
    if place.startswith("gcom://"):
        pytest.skip("the points of a function are at its server, which test_served kills")
    fill(place)
    crashes = [f"{point}:{times}" for times in (1, 4)]
    assert until_done(crashes, "-c", FUNCTION, place) == 2
    with topics.open(place) as store:
        found = [it.text for it in store.topic("out").read()]
    assert found == [f"{line}{mark}" for line in LINES for mark in "!?"]


@pytest.mark.parametrize("point", ["append.committed", "link.sent"])
def test_a_link_that_is_killed_brings_each_message_once(tmp_path: Path, point: str) -> None:
    fill(tmp_path / "app.db")
    crashes = [f"{point}:{times}" for times in (1, 3)]
    assert until_done(crashes, "-c", LINK, str(tmp_path / "app.db"), str(tmp_path / "far.db")) >= 1
    with topics.open(tmp_path / "far.db") as far:
        assert [it.text for it in far.topic("out").read()] == LINES


ITERATE = """
import os, signal, sys
from gcom import topics
with topics.open(sys.argv[1]) as store:
    print("ready", flush=True)
    for place, delivery in enumerate(store.topic("lines").subscribe("s")):
        print(delivery.offset, flush=True)
        delivery.ack()
        if place == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_consumer_that_iterates_and_is_killed_goes_on_at_once(tmp_path: Path) -> None:
    """Its lease has half a minute to go; the kernel says that it is dead, and the next one need not wait."""
    place = tmp_path / "app.db"
    with topics.open(place) as store:
        store.topic("lines").subscribe("s")
        store.topic("lines").send_many(LINES[:100])
        offsets = list[int]()
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", ITERATE, str(place), "9"],
                env=environment(), capture_output=True, text=True, timeout=LIMIT_S,
            )  # fmt: skip
            offsets += map(int, done.stdout.split()[1:])
        assert offsets == list(range(20))
        with store.topic("lines").subscribe("s") as last:
            found = last.receive_many(100, timeout_s=LIMIT_S)
    assert sorted(it.offset for it in found) == list(range(20, 100))


@pytest.mark.parametrize("point", ["effect.begun", "effect.committed", "outbox.sent"])
def test_orders_and_shipping(tmp_path: Path, point: str) -> None:
    """Sent twice, and killed: every order is accepted once, and shipped once."""
    program = str(ROOT / "docs" / "examples" / "orders_and_shipping.py")
    assert until_done([f"{point}:{times}" for times in (1, 3)], program, str(tmp_path)) == 2
    assert table(tmp_path / "shipping.db", "SELECT id FROM shipped ORDER BY id") == list(range(20))
    assert table(tmp_path / "orders.db", "SELECT count(*) FROM ordered WHERE items = 2") == [20]
    with topics.open(tmp_path / "app.db") as store:
        assert store.topic("events").info.count == 60
        assert store.topic("accepted").info.count == 20
