"""The demo: what it sends, what it refuses, and that it sees what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gcom.audit import audit
from gcom.demo.checks import DemoResult, DemoStream, faults
from gcom.demo.folder import empty_log_folder
from gcom.demo.texts import chosen_texts
from gcom.errors import BadValue
from gcom.values import limits
from gcom.values.definition import Ordering
from tests.cli.commands import run_gcom


def test_by_default_the_project_in_the_current_folder_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("a\nb\n")
    (tmp_path / "docs" / "README.md").write_text("c")
    texts = chosen_texts([])
    assert [(text.name, text.lines) for text in texts] == [
        ("README", (b"a", b"b")),
        ("README-2", (b"c",)),
        ("listener", ()),
    ]


def test_of_a_large_project_the_first_files_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for number in range(20):
        (tmp_path / "docs" / f"page{number:02}.md").write_text("a line")
    assert [text.name for text in chosen_texts([])] == [f"page{number:02}" for number in range(14)]


def test_elsewhere_there_is_a_built_in_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = chosen_texts([])
    assert len(texts) == 3
    assert all(text.lines for text in texts)


def test_awkward_file_names_make_names_that_are_allowed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("å ä.txt", "-x", "." + "y" * 60, "z")]
    for path in paths:
        path.write_text("text")
    names = [text.name for text in chosen_texts(paths)]
    assert len(set(names)) == 4
    assert all(name[0].isalnum() and len(name) <= 32 for name in names)


def test_a_line_that_cannot_be_sent_is_refused_before_anything_starts(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"ok\n" + b"x" * (limits.MESSAGE_BYTES_MAX + 1))
    with pytest.raises(BadValue, match="line 2"):
        chosen_texts([path])


def test_a_folder_of_delivery_logs_is_emptied(tmp_path: Path) -> None:
    old = tmp_path / "logs" / "alice" / "7f3a"
    old.mkdir(parents=True)
    (old / "000000.jsonl").write_text("{}")
    (old / ".000001.jsonl").write_text("{}")
    empty_log_folder(tmp_path / "logs")
    assert list((tmp_path / "logs").iterdir()) == []
    empty_log_folder(tmp_path / "new")
    assert (tmp_path / "new").is_dir()


@pytest.mark.parametrize("strange", ["thesis.txt", "alice/thesis.txt", "alice/7f3a/thesis.txt", "a/b/c/000000.jsonl"])
def test_a_folder_of_anything_else_is_not_touched(strange: str, tmp_path: Path) -> None:
    path = tmp_path / "logs" / strange
    path.parent.mkdir(parents=True)
    path.write_text("precious")
    with pytest.raises(BadValue, match="not emptied"):
        empty_log_folder(tmp_path / "logs")
    assert path.read_text() == "precious"


def test_what_is_wrong_is_seen() -> None:
    sent = {"alice": DemoStream([b"1", b"2", b"2"]).report()}
    right = {"bob": sent}
    assert faults(sent, right, True) == ([], [])
    swapped = {"bob": {"alice": DemoStream([b"2", b"1", b"2"]).report()}}
    assert [len(found) for found in faults(sent, swapped, True)] == [0, 1]
    assert faults(sent, swapped, False) == ([], [])
    for lines in ([b"1", b"2"], [b"1", b"2", b"2", b"2"], [b"1", b"1", b"2"]):
        assert [len(found) for found in faults(sent, {"bob": {"alice": DemoStream(lines).report()}}, True)] == [1, 0]
    assert [len(found) for found in faults(sent, {"bob": {}}, True)] == [1, 0]
    stranger = {"bob": {**sent, "eve": replace(sent["alice"])}}
    assert [len(found) for found in faults(sent, stranger, True)] == [1, 0]


def test_a_result_is_one_line() -> None:
    right = DemoResult("CAUSAL", 3, 1200, 3600, 12345.6, 1.0, 2.0, same_set=True, in_order=True, wrong=())
    assert right.line() == (
        "CAUSAL        1,200 messages to 3 members,  12,346 a second: every line arrived once, each sender's in order"
    )
    assert replace(right, ordering="TOTAL").line().endswith("every line arrived once, in one order for all")
    assert replace(right, ordering="NONORDERED", in_order=None).line().endswith("every line arrived once")
    assert replace(right, wrong=("bob lost one", "and two")).line().endswith("a second: WRONG: bob lost one")


@pytest.mark.slow
def test_the_demo_shows_every_ordering_and_keeps_the_logs(tmp_path: Path) -> None:
    files = [tmp_path / f"text{i}" for i in range(4)]
    for i, path in enumerate(files):
        path.write_bytes(b"".join(b"line %d of %d\n" % (n, i) for n in range(300)) + b"\xff\n\nend")
    done = run_gcom("demo", *map(str, files), "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["ordering"] for row in rows] == list(Ordering)
    assert all((row["members"], row["messages"], row["deliveries"]) == (4, 1212, 4848) for row in rows)
    assert all(row["ok"] and row["same_set"] and row["messages_per_s"] > 0 for row in rows)
    assert {path.name for path in (tmp_path / "gcom-demo").iterdir()} == {path.name for path in files}
    groups = audit([tmp_path / "gcom-demo"]).groups
    judged = {rule.rule for group in groups for rule in group.rules if rule.expected and rule.evaluated}
    assert {rule.rule for group in groups for rule in group.rules if rule.expected} == judged
    assert {"INTEGRITY", "CONTINUITY", "CAUSAL"} <= judged
    again = run_gcom("demo", *map(str, files), cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    lines = again.stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == list(Ordering)
    assert all("every line arrived once" in line for line in lines)
    assert b" of 4848 deliveries" not in again.stderr
    assert b"gcom-demo/" in again.stderr
