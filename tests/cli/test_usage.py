"""Bad words on a command line get one line that names them and what is allowed, status 2, and no registry is asked."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from gcom_registry import cli as registry_cli
from typer.testing import CliRunner

import gcom
from gcom.cli import app

COMMANDS = ("groups", "members", "create", "remove", "join", "send", "tail", "demo", "sim", "fork", "audit", "bench")
BENCHES = (
    "bench throughput",
    "bench latency",
    "bench all",
    "bench failover",
    "bench idle",
    "bench audit",
)
NOBODY = "127.0.0.1:1"


@pytest.mark.parametrize(
    "command",
    [
        *COMMANDS[:-1],
        *BENCHES,
        "audit compact",
        "audit import",
        "replicated status",
        "replicated members",
        "replicated recover",
    ],
)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(app.app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert f"  gcom {command}" in result.stdout.partition("Example")[2]


@pytest.mark.parametrize("what", ["bank", "topics"])
def test_a_demo_may_be_named_first(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["demo", what, "--help"]) == app.run([what, "demo", "--help"]) == 0
    usages = capsys.readouterr().out.count(f"Usage: gcom {what} demo")
    assert usages == 2


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--version"]) == 0
    assert capsys.readouterr().out == f"gcom {gcom.__version__}\n"


def test_no_command_is_bad_usage_and_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert all(f"  {command}" in shown.err for command in COMMANDS)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("nonsense", "nonsense"),
        ("bench", "command"),
        ("groups --registry nowhere", "nowhere"),
        ("groups --registry 127.0.0.1:0", "port"),
        ("groups --frobnicate", "--frobnicate"),
        ("members", "group"),
        ("create a/b", "a/b"),
        ("create news --ordering sideways", "NONORDERED, FIFO"),
        ("create news --multicast maybe", "BASIC, RELIABLE"),
        ("create news --netsplit both", "PRIMARY"),
        ("create news --static a,,b", "''"),
        ("create news --static a,b/c", "b/c"),
        ("create news --safe --multicast basic", "safe"),
        ("join news", "--name"),
        ("join news --name bob --ordering fifo", "--create"),
        ("join news --name bob --static a,b", "--create"),
        ("join news --name bob --wait 0", "--wait"),
        ("join news --name bob --wait many", "--wait"),
        ("join news --name bob --linger -1", "linger"),
        ("join news --name bob --linger nan", "linger"),
        ("tail news --name bob --linger inf", "linger"),
        ("send news --name bob", "text"),
        ("demo no-such-file", "no-such-file"),
        ("bench throughput --members 0", "members"),
        ("bench throughput --members 2 --senders 3", "senders"),
        ("bench throughput --size 5", "size"),
        ("bench throughput --seconds nan", "seconds"),
        ("bench throughput --ordering sideways", "NONORDERED, FIFO"),
        ("bench throughput --baseline wishes", "frames"),
        ("bench latency --senders 4", "senders"),
        ("bench latency --rate 0", "rate"),
        ("bench latency --size 3", "size"),
        ("bench latency --baseline wishes", "pyro"),
        ("bench throughput --log-dir /dev/null", "/dev/null"),
        ("bench all", "--out"),
        ("bench all --out page.html", "NAME.md"),
        ("bench failover --trials 0", "trials"),
        ("bench failover --members 2", "members"),
        ("bench failover --kill everybody", "leader, member, registry, sequencer, all"),
        ("bench failover --kill sequencer --ordering fifo", "total order"),
        ("bench idle --groups 0", "groups"),
    ],
)
def test_bad_usage_is_named_in_one_line(words: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("gcom: ")
    assert shown.err.count("\n") == 1
    assert named.lower() in shown.err.lower()


@pytest.mark.parametrize(
    ("words", "command", "status"),
    [
        ("nonsense", "gcom", 2),
        ("join news", "gcom join", 2),
        ("audit", "gcom audit", 3),  # whose 2 says that something is unknown
        ("audit logs --json", "gcom", 3),
        ("audit compact", "gcom audit compact", 3),
    ],
)
def test_bad_usage_names_the_command_whose_help_tells_more(
    words: str, command: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(words.split()) == status
    assert capsys.readouterr().err.endswith(f"({command} --help)\n")


def test_the_audit_takes_logs_as_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert app.run(["audit", "logs"]) == 3
    assert capsys.readouterr().err.startswith(f"gcom: {tmp_path}/logs does not exist: expected a folder")


def test_an_option_that_lacks_its_file_is_told_before_anything_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["audit", str(tmp_path), "--json", "--incremental"]) == 3
    assert capsys.readouterr().err == (
        "gcom: expected a file or folder, got --incremental: the option before it needs one\n"
    )


def test_a_defect_of_the_audit_is_no_verdict_on_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's own status for it would be 1: a promise is broken."""

    def fail(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr("gcom.cli.audits.verdicts.list_segments", fail)
    assert app.run(["audit", str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert "RecursionError: too deep" in said
    assert said.endswith("gcom: a defect of the audit, not of the logs: please report it with what stands above\n")


@pytest.mark.parametrize(
    "words", ["groups", "members news", "create news", "remove news", "join news --name a", "send news --name a hello"]
)
def test_without_a_registry_there_is_a_status_of_its_own(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run([*words.split(), "--registry", NOBODY]) == 69
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert NOBODY in shown.err
    assert "gcom-registry" in shown.err


def _leaves(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each command that has no commands of its own, with the words that call it."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from _leaves(inner, f"{path} {name}")
    if not getattr(command, "commands", {}):
        yield path, command


LEAVES = {
    path: any(it.required for it in command.params)
    for name, top in (("gcom", app.app), ("gcom-registry", registry_cli.app))
    for path, command in _leaves(typer.main.get_command(top), name)
}


# `gcom audit logs` is an audit of the folder `logs`.
@pytest.mark.parametrize("path", [path for path, needs in LEAVES.items() if needs and path != "gcom audit logs"])
def test_what_is_missing_is_said_in_a_sentence_with_an_example(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *words = path.split()
    if command == "gcom":
        status: object = app.run(words)
    else:
        monkeypatch.setattr(sys, "argv", path.split())
        with pytest.raises(SystemExit) as ended:
            registry_cli.main()
        status = ended.value.code
    assert status == (3 if words[0] == "audit" else 2)
    said = capsys.readouterr().err
    found = re.fullmatch(rf"{command}: {' '.join(words)} needs \S+, as in: (.*) \({path} --help\)\n", said)
    assert found, said
    assert found[1].startswith(f"{path} ")
    assert len(shlex.split(found[1])) > len(path.split())


@pytest.mark.parametrize("path", sorted({path.rpartition(" ")[0] for path in LEAVES if path.count(" ") > 1}))
def test_a_command_that_is_missing_is_one_of_a_list(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = path.split()[1:]
    assert app.run(words) in (2, 3)
    said = capsys.readouterr().err
    assert f"{' '.join(words)} needs " in said
