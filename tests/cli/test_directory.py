"""The commands that only ask the registry."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import gcom
from gcom.cli import app
from gcom.cli.commands.directory import fork, show_groups, show_members
from gcom.cli.output import Output
from gcom.core.messages.registry import GroupInfo, Register
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.runtime.user_process.life import Life


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


def test_a_registry_of_the_list_that_is_dead_is_a_notice_and_no_error(
    registry: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for words in ("create news", "groups", "members news", "remove news"):
        assert run(f"127.0.0.1:1,{registry}", words) == 0
        shown = [line for line in capfd.readouterr().err.splitlines() if "does not answer" in line]
        assert [f"registry 127.0.0.1:1 does not answer, {registry} did" in line for line in shown] == [True], words


def test_json_is_one_object_a_line(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(registry, "create news --static bob,alice --json") == 0
    created = json.loads(capfd.readouterr().out)
    assert created["type"] == "group"
    assert created["static"] == ["alice", "bob"]
    assert run(registry, "groups --json") == 0
    assert json.loads(capfd.readouterr().out) == {**created, "starting": False}


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


def test_a_group_that_hears_a_quorum_is_not_forked(
    registry: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with gcom.connect("alice", registry) as node, node.join("news", create=gcom.Definition.parse("news")):
        for words in ("fork news --yes", "fork news"):
            monkeypatch.setattr(sys, "stdin", io.StringIO("news\n"))
            assert run(registry, words) == 1
            told = capfd.readouterr().err
            assert "a member that hears a quorum registers, so the group is not stuck" in told
            assert "ask again in 4 s; --force orders it all the same" in told
            assert not node.info("news").forked


@pytest.fixture
def dead() -> str:
    """An address of a life on this machine that is over."""
    life = Life()
    life.end()
    return f"127.0.0.1:7502@{life.name}"


ALICE, BOB = "127.0.0.1:7500", "127.0.0.1:7501@0123456789ab01234567.a1b2"  # one names no life, one another machine's


class _Told:
    """A directory that knows these entries."""

    def __init__(self, *entries: GroupInfo, starting: bool = False) -> None:
        self._entries = entries
        self._starting = starting
        self.forked: list[str] = []

    def groups(self) -> tuple[GroupInfo, ...]:
        return self._entries

    def lookup(self, group: str) -> GroupInfo:
        return next(entry for entry in self._entries if entry.definition.group == group)

    def starting(self) -> bool:
        return self._starting

    def fork(self, entry: GroupInfo) -> None:
        self.forked.append(entry.instance)


def entry(group: str = "news", *addresses: str, **more: Any) -> GroupInfo:
    """A group of alice, bob and carol, as far as there are addresses."""
    members = ("alice#1", "bob#1", "carol#1")[: len(addresses)]
    fields = {"alive": False, **more}
    return GroupInfo(gcom.Definition.parse(group), "k1", 3 if members else 0, members, addresses, **fields)


def told(show: Callable[[DirectoryClient, Output], object], directory: _Told) -> list[str]:
    """Return the lines that are printed."""
    with tempfile.TemporaryFile() as file:
        show(cast(DirectoryClient, directory), Output(file.fileno()))
        file.seek(0)
        return file.read().decode().splitlines()


def test_a_fork_says_whom_it_gives_up_and_that_others_are_proven_dead(
    dead: str, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = _Told(entry("news", ALICE, BOB, dead))
    assert fork(cast(DirectoryClient, directory), "news", yes=True, force=False) == 0
    assert directory.forked == ["k1"]
    shown = capfd.readouterr().err
    assert "it is in doubt" in shown
    assert "proven dead: carol\n" in shown
    assert "not proven dead: alice, bob; a detached one of these begins a successor" in shown
    assert "is lost" in shown
    assert "whoever asks first may begin the group anew:\n" in shown
    assert "a newcomer without its state, or one that was put out with what it had" in shown
    assert "if none has in 10 s the first that asks begins 'news'" in shown
    assert "for 60 s: a member of view 3 that runs and hears no quorum takes it up" in shown
    assert "a newcomer, or one put out that is on its way back" in shown


def test_a_fork_names_by_process_who_is_given_up_beside_the_members(capfd: pytest.CaptureFixture[str]) -> None:
    """One that was put out, and another process that took its name, are two."""
    directory = _Told(entry("news", ALICE, others=(("dave#1", BOB), ("dave#2", ALICE))))
    assert fork(cast(DirectoryClient, directory), "news", yes=True, force=False) == 0
    assert "dave#1, dave#2 may be in service, or have what the group had: given up as well" in capfd.readouterr().err


def test_a_fork_without_a_member_to_take_it_up_says_so(dead: str, capfd: pytest.CaptureFixture[str]) -> None:
    directory = _Told(entry("news", dead, others=(("dave#1", BOB),)))
    assert fork(cast(DirectoryClient, directory), "news", yes=True, force=False) == 0
    shown = capfd.readouterr().err
    assert "nobody of view 3 is left to take it up: in 10 s the first that asks begins 'news'" in shown
    assert "by itself" not in shown


def test_a_group_of_the_dead_alone_needs_no_fork(dead: str, capfd: pytest.CaptureFixture[str]) -> None:
    directory = _Told(entry("news", dead, dead))
    assert fork(cast(DirectoryClient, directory), "news", yes=True, force=True) == 1
    assert directory.forked == []
    assert "all of them are proven dead" in capfd.readouterr().err


@pytest.mark.parametrize("more", [{}, {"detached": True}, {"detached": True, "forgot": True}, {"alive": True}])
def test_members_of_a_group_of_the_dead_alone_are_told_what_a_fork_would_say(
    more: dict[str, bool], dead: str, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = _Told(entry("news", dead, others=(("dave#1", dead),), **more))
    told(lambda client, output: show_groups(client, output, as_json=False), directory)
    told(lambda client, output: show_members(client, output, "news", as_json=False), directory)
    shown = capfd.readouterr().err
    assert "there is nobody who could go on, and the registry frees the name by itself\n" in shown
    assert "fork" not in shown
    assert "goes on when" not in shown


def test_members_of_a_group_of_which_one_lives_beside_the_view_may_be_forked(
    dead: str, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = _Told(entry("news", dead, others=(("dave#1", BOB),)))
    told(lambda client, output: show_members(client, output, "news", as_json=False), directory)
    assert "what is left goes on after: gcom fork news" in capfd.readouterr().err


def test_a_list_says_how_each_group_is(capfd: pytest.CaptureFixture[str]) -> None:
    entries = [
        entry("a"),
        entry("b", ALICE, alive=True),
        entry("c", ALICE, detached=True),
        entry("d", ALICE),
        entry("e", ALICE, detached=True, forked=True),
    ]
    states = ["empty", "alive", "detached", "in doubt", "to fork"]
    lines = told(lambda client, output: show_groups(client, output, as_json=False), _Told(*entries))
    assert [line.split("  ")[-1].strip() for line in lines] == ["STATE", *states]
    assert "starting" not in capfd.readouterr().err
    later = [replace(it, others=(("dave#1", BOB),), after=("k0", 7)) for it in entries]
    shown = told(lambda client, output: show_groups(client, output, as_json=True), _Told(*later, starting=True))
    rows = [json.loads(line) for line in shown]
    assert [row["state"] for row in rows] == states
    assert [row["detached"] for row in rows] == [False, False, True, False, True]
    assert [row["forked"] for row in rows] == [False] * 4 + [True]
    assert all(row["others"] == ["dave#1"] and row["after"] == {"instance": "k0", "view": 7} for row in rows)
    assert all(row["starting"] for row in rows)
    assert "the registry is starting" in capfd.readouterr().err


def test_members_are_listed_at_their_addresses_and_the_dead_are_named(
    dead: str, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = _Told(entry("news", ALICE, BOB, dead, detached=True, others=(("dave#1", BOB), ("erin#1", dead))))
    lines = told(lambda client, output: show_members(client, output, "news", as_json=False), directory)
    places = ["127.0.0.1:7500", "127.0.0.1:7501", "127.0.0.1:7502"]
    assert [line.split()[2] for line in lines[1:]] == places
    shown = capfd.readouterr().err
    assert "'news' is detached: its members register, but none of them hears a quorum" in shown
    assert "it goes on when one does, or when all others are proven dead\n" in shown
    assert "proven dead: carol\n" in shown
    assert "not in this view, but known to the registry: dave#1, erin#1 (proven dead)\n" in shown
    assert "was put out or missed a view, and may have what the group had" in shown
    rows = told(lambda client, output: show_members(client, output, "news", as_json=True), directory)
    assert [json.loads(row)["address"] for row in rows] == places
    assert [json.loads(row)["dead"] for row in rows] == [False, False, True]


@pytest.mark.parametrize(
    ("waits", "more"),
    [(True, {}), (False, {"alive": True}), (False, {"forked": True}), (False, {"forgot": False})],
)
def test_a_group_that_the_registry_forgot_waits_for_an_operator(
    waits: bool, more: dict[str, bool], capfd: pytest.CaptureFixture[str]
) -> None:
    directory = _Told(entry("news", ALICE, BOB, **{"detached": True, "forgot": True, **more}))
    told(lambda client, output: show_groups(client, output, as_json=False), directory)
    assert ("takes no proof that the others are dead" in capfd.readouterr().err) == waits
    told(lambda client, output: show_members(client, output, "news", as_json=False), directory)
    shown = capfd.readouterr().err
    assert ("takes no proof that the others are dead" in shown) == waits
    assert not (waits and "when all others are proven dead" in shown)


def test_members_of_a_group_that_nobody_registers_are_in_doubt(capfd: pytest.CaptureFixture[str]) -> None:
    told(lambda client, output: show_members(client, output, "news", as_json=False), _Told(entry("news", ALICE)))
    shown = capfd.readouterr().err
    assert "'news' is in doubt: nobody of it has registered for 4 s" in shown
    assert "dead" not in shown


def test_a_registry_that_starts_is_said_to(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with gcom.embedded(data=tmp_path) as first:
        assert run(first.address, "create news") == 0
        capfd.readouterr()
        assert run(first.address, "groups") == 0
        assert "starting" not in capfd.readouterr().err
    with gcom.embedded(data=tmp_path) as second:
        assert run(second.address, "groups") == 0
        shown = capfd.readouterr()
    assert shown.out.splitlines()[1].split()[0] == "news"
    assert "the registry is starting" in shown.err


def test_a_group_whose_members_are_doubted_is_not_removed(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    client = DirectoryClient(registry, 120.0)
    definition = gcom.Definition.parse("news")
    view = gcom.View(3, ("alice#1", "bob#1"), (ALICE, BOB))
    client.ask(Register(definition, "k1", view, "alice#1", detached=True))
    assert run(registry, "remove news") == 1
    shown = capfd.readouterr().err
    assert "'news' has 2 members (alice, bob): a group can be removed when all have left it" in shown
    assert "no member hears a quorum: to give up those who never come back: gcom fork news" in shown
    assert [it.definition.group for it in client.groups()] == ["news"]
    client.close()


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


def test_a_group_is_made_with_its_failure_detection(registry: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(registry, "create news --detection wan") == 0
    assert "detection wan" in capfd.readouterr().err
    assert run(registry, "create news") == 1
    assert "detection is wan, not lan" in capfd.readouterr().err
    assert run(registry, "groups --json") == 0
    assert json.loads(capfd.readouterr().out)["detection"] == "wan"
    assert run(registry, "create slow --detection 1") == 2
    assert "nor 2 to 120 seconds" in capfd.readouterr().err
    assert run(registry, "join news --name bob --detection wan") == 2
    assert "--detection is for --create" in capfd.readouterr().err


def test_many_groups_are_removed_by_one_command(
    registry: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def remove(*words: str, typed: str = "") -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        status = app.run(["remove", *words, "--registry", registry])
        return status, capfd.readouterr().err

    for group in ("test-1", "test-2", "test-3", "news", "letters"):
        assert app.run(["create", group, "--registry", registry]) == 0
    capfd.readouterr()
    status, shown = remove("test-*", "news", typed="\n")
    assert (status, "3 empty groups fit test-*; 0 that fit have members" in shown) == (1, True)
    assert "nothing was changed" in shown
    status, shown = remove("test-*", "news", "nope", typed="3\n")
    assert (status, shown.count("is removed")) == (1, 4)
    assert "there is no group 'nope' here" in shown
    assert remove("*", "--yes") == (
        0,
        "gcom: 1 empty groups fit *; 0 that fit have members\ngcom: group 'letters' is removed\n",
    )
