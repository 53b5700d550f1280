"""Bad words on a command line get one line that names them and what is allowed, status 2, and no registry is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import gcom
from gcom.cli import app

COMMANDS = ("groups", "members", "create", "remove", "join", "send", "tail", "demo", "sim", "fork", "audit", "bench")
BENCHES = (
    "bench throughput",
    "bench latency",
    "bench scale",
    "bench all",
    "bench failover",
    "bench memory",
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
        ("bench scale --members 3,1", "'3,1'"),
        ("bench all", "--out"),
        ("bench all --out page.html", "NAME.md"),
        ("bench failover --trials 0", "trials"),
        ("bench failover --members 2", "members"),
        ("bench failover --kill everybody", "leader, member, registry, sequencer, all"),
        ("bench failover --kill sequencer --ordering fifo", "total order"),
        ("bench memory --messages 1", "messages"),
        ("bench memory --members 0", "members"),
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
