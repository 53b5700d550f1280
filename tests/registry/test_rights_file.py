"""The rules about rights: what they decide, their file, and the commands that change it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest
from gcom_registry.rights_file import RightsFile, put_first, read

from gcom.errors import BadValue
from gcom.values.rights import Right, RightsTable, matches, rule_of, table_of

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0
RULES = """\
# the board's own
[[rule]]
allow = ["join", "send"]   # both
members = ["alice", "team-*"]
groups = ["board"]

[[rule]]
deny = ["join"]
members = ["*"]
groups = ["board"]
"""


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("news", "news", True),
        ("news", "newsy", False),
        ("*", "", True),
        ("team-*", "team-", True),
        ("team-*", "a-team-x", False),
        ("*-ops", "x-ops", True),
        ("a*a", "a", False),
        ("a*b*c", "axxbxxc", True),
        ("a*b*c", "axxcxxb", False),
        ("a*bc*c", "abc", False),
        ("*" * 20 + "b", "a" * 62, False),
    ],
)
def test_patterns(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) is fits


def test_the_first_rule_about_a_question_decides(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(RULES)
    table = read(tmp_path / "r.toml")
    said = [table.verdict(Right.JOIN, name, "board") for name in ("alice", "team-a", "bob")]
    assert said == [True, True, False]
    assert table.verdict(Right.SEND, "bob", "board") is None
    assert table.may(Right.SEND, "bob", "board")
    assert not table.may(Right.REMOVE, "bob", "news")
    assert table_of(table.as_rows()) == table


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[rule]\n", "is not TOML"),
        ("allow = 1\n", "unknown key 'allow'"),
        ("rule = 1\n", "the rules must be a list"),
        ("[[rule]]\nalow = ['join']\n", "rule 1 has an unknown key 'alow'; known are allow, deny"),
        ("[[rule]]\nmembers = ['a']\ngroups = ['a']\n", "rule 1 must have one of allow and deny"),
        (f"{RULES}[[rule]]\nallow = ['joyn']\nmembers = ['a']\ngroups = ['a']\n", "rule 3: 'joyn' is no right"),
        ("[[rule]]\nallow = ['join']\nmembers = 'a'\ngroups = ['a']\n", "rule 1 must have members, a list"),
        ("[[rule]]\nallow = ['join']\nmembers = ['a/b']\ngroups = ['a']\n", "rule 1: 'a/b' in members is no name"),
        ("[[rule]]\nallow = [1]\nmembers = ['a']\ngroups = ['a']\n", "rule 1: allow must be texts"),
        ("#" * 300_000, "has 300000 bytes: at most 262144"),
    ],
)
def test_a_file_that_is_wrong_changes_nothing(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "rights.toml"
    path.write_text(RULES)
    file = RightsFile(path)
    before, digest = file.table, file.digest
    assert len(before.rules) == 2
    path.write_text(text)
    trouble = file.reread()
    assert said in trouble
    assert str(path) in trouble
    assert "the rules that were in force before stay so" in trouble
    assert (file.table, file.digest) == (before, digest)
    with pytest.raises(BadValue, match="rights file"):
        RightsFile(path)
    path.write_text("")
    assert file.reread() == file.trouble == ""
    assert file.table == RightsTable()


def test_a_file_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rights.toml"
    path.write_text(RULES)
    file = RightsFile(path)
    path.unlink()
    assert "cannot be read" in file.reread()
    assert len(file.table.rules) == 2
    with pytest.raises(BadValue, match="cannot be read"):
        RightsFile(path, wanted=True)
    assert RightsFile(path).table == RightsTable()  # where no file was named, there need not be one


def test_a_command_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "rights.toml"
    path.write_text(RULES)
    first = rule_of(False, ["send"], ["mallory"], ["*"])
    put_first(path, first)
    assert read(path).rules == (first, *table_of([*_rows()]).rules)
    assert all(line in path.read_text() for line in RULES.splitlines())


def _rows() -> list[object]:
    return [
        {"allow": ["join", "send"], "members": ["alice", "team-*"], "groups": ["board"]},
        {"deny": ["join"], "members": ["*"], "groups": ["board"]},
    ]


def test_a_wrong_file_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "rights.toml"
    for text in ("[[rule]\n", 'rule = [{allow = ["join"], members = ["a"], groups = ["b"]}]\n'):
        path.write_text(text)
        with pytest.raises(BadValue):
            put_first(path, rule_of(True, ["join"], ["alice"], ["*"]))
        assert path.read_text() == text


def test_rules_that_are_put_at_once_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "rights.toml"
    rules = [rule_of(True, ["join"], [f"m{number}"], ["*"]) for number in range(12)]
    threads = [threading.Thread(target=put_first, args=(path, rule)) for rule in rules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert set(read(path).rules) == set(rules)


class Service:
    """A registry that speaks TLS, as a process, and its commands."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.path = self.data / "authority" / "rights.toml"
        self._told = folder / "stderr"
        self._errors = self._told.open("w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gcom_registry", "--listen", "127.0.0.1:0", "--data", str(self.data)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        assert self.process.stdout is not None
        assert "ready" in self.process.stdout.readline()

    def command(self, *words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "gcom_registry", *words, "--data", str(self.data)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        return done.returncode, done.stdout, done.stderr

    def hang_up(self) -> None:
        os.kill(self.process.pid, signal.SIGHUP)

    def has_told(self, text: str) -> bool:
        return text in self._told.read_text()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=LIMIT_S)
        self._errors.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    it = Service(tmp_path)
    yield it
    it.close()


def until(condition: Callable[[], bool]) -> None:
    deadline, pause = monotonic() + LIMIT_S, threading.Event()
    while not condition():
        assert monotonic() < deadline, "it never happened"
        pause.wait(0.02)


@pytest.mark.slow
def test_commands_and_a_signal_change_the_rules_that_are_in_force(service: Service) -> None:
    status, out, told = service.command("rights")
    assert (status, out) == (0, "")
    assert "holders of a certificate may create, join and send" in told
    assert service.command("deny", "join", "*", "--group", "board")[0] == 0
    status, out, told = service.command("allow", "join,send", "alice", "team-*", "--group", "board", "--group", "b2")
    assert (status, out) == (0, "")
    assert "allow join, send to alice, team-* in board, b2" in told
    _, out, _ = service.command("rights", "--json")
    assert [json.loads(line) for line in out.splitlines()] == [
        {"allow": ["join", "send"], "members": ["alice", "team-*"], "groups": ["board", "b2"]},
        {"deny": ["join"], "members": ["*"], "groups": ["board"]},
    ]
    service.path.write_text("[[rule]\n")
    service.hang_up()
    until(lambda: service.has_told("the rules that were in force before stay so"))
    status, out, told = service.command("rights")
    assert (status, out.splitlines()) == (
        1,
        ["allow join, send to alice, team-* in board, b2", "deny join to * in board"],
    )
    assert "is not TOML" in told
    status, _, told = service.command("allow", "send", "bob")
    assert (status, "is not TOML" in told) == (2, True)
    service.path.write_text("")
    service.hang_up()
    until(lambda: service.has_told("rights: 0 rules of"))
    assert service.command("rights")[:2] == (0, "")


@pytest.mark.slow
def test_words_that_are_none_are_refused(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "gcom_registry"]
    done = subprocess.run(
        [*words, "allow", "join", "bob", "--data", str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, "no registry has run here with --listen ADDRESS" in done.stderr) == (2, True)
    done = subprocess.run(
        [*words, "--port", "0", "--rights", str(tmp_path / "r")], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, "--rights is for --listen" in done.stderr) == (2, True)
    done = subprocess.run(
        [*words, "--listen", "127.0.0.1:0", "--data", str(tmp_path), "--rights", str(tmp_path / "r")],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, "cannot be read" in done.stderr) == (78, True)
