"""The commands that only ask the registry."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import cast

import pytest

import gcom
from gcom.cli import app
from gcom.cli.directory import fork
from gcom.core.requests import Entry
from gcom.shell.directory import DirectoryClient


def run(registry: str, words: str) -> int:
    return app.run([*words.split(), "--registry", registry])


def test_a_group_is_created_listed_and_removed(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(registry, "create news --ordering nonORDERED --multicast basic --static bob,alice") == 0
    assert run(registry, "create abc") == 0
    capfd.readouterr()
    assert run(registry, "groups") == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["abc", "FIFO", "RELIABLE", "0"],
        ["news", "NONORDERED", "BASIC", "0"],
    ]
    assert run(registry, "remove news") == 0
    assert run(registry, "remove news") == 1
    assert "'news'" in capfd.readouterr().err


def test_json_is_one_object_a_line(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(registry, "create news --static bob,alice --json") == 0
    created = json.loads(capfd.readouterr().out)
    assert created["type"] == "group"
    assert created["static"] == ["alice", "bob"]
    assert run(registry, "groups --json") == 0
    assert json.loads(capfd.readouterr().out) == created


def test_an_equal_definition_is_the_same_group_and_another_is_refused(
    registry: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(registry, "create news --ordering fifo") == 0
    assert run(registry, "create news --ordering FIFO --multicast Reliable") == 0
    capfd.readouterr()
    assert run(registry, "create news --ordering nonordered") == 1
    shown = capfd.readouterr().err
    assert "ordering is FIFO, not NONORDERED" in shown
    assert shown.count("\n") == 1


def test_an_empty_list_is_no_output_and_a_hint(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(registry, "groups") == 0
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "gcom create" in shown.err


def test_a_group_that_is_not_there_is_named(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    for words in ("members nope", "remove nope"):
        assert run(registry, words) == 1
        assert "'nope'" in capfd.readouterr().err


def test_an_empty_group_has_no_members(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(registry, "create news") == 0
    capfd.readouterr()
    assert run(registry, "members news") == 0
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "empty" in shown.err


def test_a_fork_is_ordered_only_by_who_means_it(
    registry: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with gcom.connect("alice", registry) as node, node.join("news", create=gcom.Definition.parse("news")) as group:
        for typed, status in (("", 1), ("yes\n", 1), ("news\n", 0)):
            monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
            assert run(registry, "fork news --force") == status
            assert ("nothing was changed" in capfd.readouterr().err) is (status == 1)
            assert node.info("news").forked is (status == 0)
        assert run(registry, "fork news --yes --force") == 0
        assert "alice" in capfd.readouterr().err
        assert group.instance == node.info("news").instance
    assert run(registry, "create abc") == 0
    assert run(registry, "fork abc --yes") == 1
    assert run(registry, "fork nope --yes") == 1


def test_a_group_whose_leader_registers_is_not_forked(
    registry: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with gcom.connect("alice", registry) as node, node.join("news", create=gcom.Definition.parse("news")):
        for words in ("fork news --yes", "fork news"):
            monkeypatch.setattr(sys, "stdin", io.StringIO("news\n"))
            assert run(registry, words) == 1
            told = capfd.readouterr().err
            assert "only a leader with a quorum registers, so the group is not stuck" in told
            assert "ask again in 4 s; --force orders it all the same" in told
            assert not node.info("news").forked


class _InDoubt:
    """A directory whose group has lost its quorum: nobody has registered it for longer than its lease."""

    def __init__(self) -> None:
        self.forked: list[str] = []

    def lookup(self, group: str) -> Entry:
        members = ("alice#1", "bob#1", "carol#1")
        return Entry(gcom.Definition.parse(group), "k1", 3, members, ("127.0.0.1:7500",) * 3, alive=False)

    def fork(self, entry: Entry) -> None:
        self.forked.append(entry.instance)


def test_a_group_that_is_stuck_is_forked_without_force(capfd: pytest.CaptureFixture[str]) -> None:
    directory = _InDoubt()
    assert fork(cast(DirectoryClient, directory), "news", yes=True, force=False) == 0
    assert directory.forked == ["k1"]
    assert "it is in doubt" in capfd.readouterr().err


def test_a_registry_without_a_folder_is_no_tie_breaker(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(registry, "create news --tie-breaker registry") == 1
    assert "--data FOLDER" in capfd.readouterr().err
    assert run(registry, "create news --tie-breaker bob") == 2
    assert "LEADER, REGISTRY" in capfd.readouterr().err


def test_a_registry_with_a_folder_is_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with gcom.embedded(data=tmp_path) as it:
        assert run(it.address, "create news --tie-breaker registry") == 0
        assert "tie-breaker REGISTRY" in capfd.readouterr().err
        assert run(it.address, "create news") == 1
        assert "tie-breaker is REGISTRY, not LEADER" in capfd.readouterr().err
