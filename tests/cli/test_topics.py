"""`gcom topics`: its tables, its JSON, and what it says of what is not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gcom import topics
from gcom.cli import app
from tests.cli.commands import no_traceback, run_gcom, run_here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a store: two topics, three messages."""
    with topics.open(tmp_path / "app.db") as store:
        orders = store.topic("orders")
        orders.producer("import").send_many([(7, "a bicycle"), (9, b"\xff\n")])
        orders.send("third", key="k", headers={"kind": "x"})
        store.topic("empty")
    return tmp_path


def shown(folder: Path, *words: str) -> list[str]:
    done = run_here("topics", *words, "--store", "app.db", cwd=folder)
    assert (done.returncode, no_traceback(done.stderr.decode())) == (0, True), done.stderr.decode()
    return done.stdout.decode().splitlines()


def test_list_and_show(folder: Path) -> None:
    titles, *rows = [line.split() for line in shown(folder, "list")]
    assert titles == ["TOPIC", "MESSAGES", "BYTES", "FIRST", "NEXT", "KEEPS"]
    assert rows == [["empty", "0", "0", "0", "0", "all"], ["orders", "3", "16", "0", "3", "all"]]
    assert json.loads(shown(folder, "list", "--json")[1])["messages"] == 3
    first, _, producer = shown(folder, "show", "orders")
    assert first == "orders: 3 messages, offsets 0 to 2, 16 bytes; keeps all"
    assert producer.split() == ["import", "9"]
    assert shown(folder, "show", "empty") == ["empty: 0 messages, the next offset is 0; keeps all"]
    (row,) = shown(folder, "show", "orders", "--json")
    assert json.loads(row)["producers"] == {"import": 9}


def test_peek(folder: Path) -> None:
    assert shown(folder, "peek", "orders") == ["0: a bicycle", "1: \ufffd\\n", "2: third"]
    assert shown(folder, "peek", "orders", "--after", "0", "--count", "1") == ["1: \ufffd\\n"]
    rows = [json.loads(line) for line in shown(folder, "peek", "orders", "--json")]
    assert [(row["offset"], row["producer"], row["seq"]) for row in rows] == [
        (0, "import", 7),
        (1, "import", 9),
        (2, None, None),
    ]
    assert rows[1]["base64"] == "/wo="
    assert (rows[2]["key"], rows[2]["headers"]) == ("k", {"kind": "x"})


def test_create_and_delete(folder: Path) -> None:
    assert shown(folder, "create", "new") == []
    refused = run_here("topics", "delete", "orders", "--store", "app.db", stdin=b"n\n", cwd=folder)
    assert (refused.returncode, "gcom: nothing was changed" in refused.stderr.decode()) == (1, True)
    assert shown(folder, "delete", "orders", "--yes") == []
    assert [line.split()[0] for line in shown(folder, "list")] == ["TOPIC", "empty", "new"]


def test_a_function(folder: Path) -> None:
    (folder / "f.py").write_text("def process(x):\n    return x + '!'\n")
    # In a process of its own, which also shows a command as a shell runs it.
    words = ["function", "deploy", "f.py:process", "--in", "orders", "--out", "out", "--drain"]
    done = run_gcom("topics", *words, "--store", "app.db", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    assert "3 messages processed" in done.stderr.decode()
    assert shown(folder, "peek", "out", "--count", "1") == ["0: a bicycle!"]
    lines = [line.split() for line in shown(folder, "show", "orders")]
    assert lines[-2] == ["SUBSCRIPTION", "LAG", "HANDED", "OUT", "OLDEST", "WAITS"]
    assert lines[-1] == ["function:process", "0", "0", "-", "-"]


def test_retire_and_replay(folder: Path) -> None:
    assert shown(folder, "retire", "orders", "import") == []
    assert json.loads(shown(folder, "show", "orders", "--json")[0])["producers"] == {}
    with topics.open(folder / "app.db") as store:
        billing = store.topic("orders").subscribe("billing", after="earliest", tries=1)
        next(billing).nack(why="no money")
        billing.close()
    assert shown(folder, "peek", "orders/billing/dead") == ["0: a bicycle"]
    done = run_here("topics", "replay", "orders", "billing", "--store", "app.db", cwd=folder)
    assert done.stderr.decode() == "gcom: 1 message will be handed out again\n"


def test_trim_and_backup(folder: Path) -> None:
    assert shown(folder, "check") == []
    assert shown(folder, "trim", "orders", "--count", "1") == []
    assert shown(folder, "peek", "orders") == ["2: third"]
    assert shown(folder, "backup", "copy.db") == []
    with topics.open(folder / "copy.db") as copy:
        assert [it.text for it in copy.topic("orders").read()] == ["third"]


def test_bounds_and_folders(folder: Path) -> None:
    limits = ["--most-size", "1GB", "--most-rate", "9"]
    words = ["--keep-for", "1.5h", "--keep-count", "100", "--keep-size", "2MiB", *limits]
    assert shown(folder, "create", "orders", *words) == []
    (row,) = shown(folder, "show", "orders", "--json")
    told = json.loads(row)
    assert told["keep"] == {"count": 100, "age_ms": 5_400_000, "size_bytes": 2_097_152}
    assert (told["bytes_most"], told["rate_most"], told["bytes"]) == (1_000_000_000, 9, 16)
    assert shown(folder, "create", "orders") == []
    assert "keeps 100 messages, 90m, 2,097,152 bytes, takes" in shown(folder, "show", "orders")[0]
    assert shown(folder, "export", "kept", "--topic", "orders") == []
    done = run_here("topics", "import", "kept", "--store", "new.db", cwd=folder)
    assert done.stderr.decode() == "gcom: 3 messages imported into 'new.db'\n"
    peeked = run_here("topics", "peek", "orders", "--store", "new.db", cwd=folder).stdout.decode()
    assert peeked.splitlines() == shown(folder, "peek", "orders")


def test_a_demo_that_is_refused_leaves_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["topics", "demo", "--kill", "nobody"]) == 2
    assert capsys.readouterr().err == "gcom: cannot kill 'nobody': expected producer, consumer or owner\n"


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_the_demo(tmp_path: Path, role: str) -> None:
    done = run_gcom("topics", "demo", "--kill", role, "--times", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()
    told, verdict = done.stdout.decode().splitlines()
    assert told == f"{role} killed 3 times: 720 lines, lost 0, doubled 0, left over 0, in order"
    topics = "1 topic" if role == "producer" else "2 topics"
    assert verdict == f"PASS: every promise held (5 processes, {topics})"


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["show", "orders", "--store", "other.db"], 2, "there is no store 'other.db'"),
        (["show", "other", "--store", "app.db"], 1, "the store has no topic 'other'"),
        (["create", " x", "--store", "app.db"], 2, "topic name ' x' is not allowed"),
        (["list", "--store", "notes.txt"], 1, "no SQLite file"),
        (["list"], 2, "--store"),
        (["create", "a", "--keep-for", "7", "--store", "app.db"], 2, "expected a number with s, m, h, d or w"),
        (["create", "a", "--keep-size", "x", "--store", "app.db"], 2, "'x' is not a size"),
        (["import", "nowhere", "--store", "app.db"], 2, "has no topics"),
        (["gateway", "--store", "app.db"], 2, "needs a place to listen"),
        (["retire", "orders", "nobody", "--store", "app.db"], 1, "has no producer 'nobody'"),
        (["replay", "orders", "nobody", "--store", "app.db"], 1, "has no subscription 'nobody'"),
        (["function", "deploy", "f", "--in", "orders", "--store", "app.db"], 2, "expected FILE:NAME"),
        (["function", "deploy", "notes.py:g", "--in", "orders", "--store", "app.db"], 2, "has no function 'g'"),
    ],
)
def test_what_is_not_there(folder: Path, words: list[str], status: int, text: str) -> None:
    (folder / "notes.py").write_text("x = 1")
    (folder / "notes.txt").write_text("no database\n" * 500)
    done = run_here("topics", *words, cwd=folder)
    assert done.returncode == status, done.stderr.decode()
    (line,) = done.stderr.decode().splitlines()
    assert text in line
    assert not (folder / "other.db").exists()
