"""`gcom-registry` as a user meets it: real processes, signals, ports and streams."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gcom_registry.operation.settings import KEYS

from gcom import __version__
from gcom.core.messages.registry import Create, Refusal
from gcom.errors import RegistryUnavailable
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values.definition import Definition

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the command; what still runs at the end of the test is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "gcom_registry", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate(timeout=LIMIT_S)


def ready(process: subprocess.Popen[str]) -> str:
    """The address in the line that the command prints when it is ready."""
    assert process.stdout is not None
    found = re.fullmatch(
        rf"gcom-registry {re.escape(__version__)} (127\.0\.0\.1:\d+) ready\n", process.stdout.readline()
    )
    assert found, process.communicate(timeout=LIMIT_S)
    return found[1]


def port_of(address: str) -> str:
    return address.rpartition(":")[2]


def answers(client: DirectoryClient) -> bool:
    try:
        return client.groups() == ()
    except RegistryUnavailable:
        return False


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_serves_until_a_signal(start: Start, number: signal.Signals, status: int) -> None:
    process = start("--port", "0")
    client = DirectoryClient(ready(process), LIMIT_S)
    assert client.groups() == ()
    client.close()
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err) == (status, "", "")


def test_a_signal_that_comes_while_it_is_stopped_ends_it(start: Start) -> None:
    """As by `kill %1` after Ctrl-Z: whichever thread takes the signal as the process goes on, the main one acts."""
    for _ in range(4):  # which thread that is, is the kernel's choice
        process = start("--port", "0")
        ready(process)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        process.terminate()
        process.send_signal(signal.SIGCONT)
        assert (process.communicate(timeout=LIMIT_S), process.returncode) == (("", ""), 0)


@pytest.mark.slow
def test_a_restart_takes_its_port_again_at_once(start: Start) -> None:
    process = start("--port", "0")
    address = ready(process)
    client = DirectoryClient(address, LIMIT_S)
    client.groups()  # leaves a connection behind
    process.terminate()
    process.communicate(timeout=LIMIT_S)
    assert ready(start("--port", port_of(address))) == address
    assert client.groups() == ()
    client.close()


def test_a_taken_port_is_named_and_what_to_do(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start("--port", str(port))
        out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (1, "")
    assert f"127.0.0.1:{port}" in err
    assert "--port 0" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "to serve other machines, with TLS, use --listen 0.0.0.0"),
        pytest.param(["--listen", "203.0.113.77"], "is none of this machine's", marks=pytest.mark.slow),
        pytest.param(["--listen", "127.0.0.1:x"], "ports 'x'", marks=pytest.mark.slow),
        pytest.param(["--advertise", "x"], "--advertise is for --listen", marks=pytest.mark.slow),
        pytest.param(["--cert", "x"], "--cert, --key and --ca belong together", marks=pytest.mark.slow),
        pytest.param(["invite", "bob"], "gcom-registry --listen ADDRESS", marks=pytest.mark.slow),
        pytest.param(["--host", "nowhere"], "not an IP address", marks=pytest.mark.slow),
        pytest.param(["--port", "70000"], "70000", marks=pytest.mark.slow),
        pytest.param(["--port", "x"], "port 'x'", marks=pytest.mark.slow),
        pytest.param(["--port", "-1"], "port '-1'", marks=pytest.mark.slow),
        pytest.param(["--prot", "1"], "--prot", marks=pytest.mark.slow),
    ],
)
def test_a_bad_value_is_named(start: Start, arguments: list[str], said: str) -> None:
    process = start(*arguments)
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_help_has_examples_and_version_is_one_line(start: Start) -> None:
    helped, versioned = start("-h"), start("--version")
    assert "gcom-registry --port 0" in helped.communicate(timeout=LIMIT_S)[0]
    assert versioned.communicate(timeout=LIMIT_S)[0] == f"gcom-registry {__version__}\n"
    assert (helped.returncode, versioned.returncode) == (0, 0)


@pytest.mark.slow
def test_a_closed_output_does_not_stop_it(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = start("--port", port_of(address))
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    client = DirectoryClient(address, LIMIT_S)
    while not answers(client):  # the test's own limit ends a wait in vain
        assert process.poll() is None
    client.close()
    process.terminate()
    _, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, [line for line in err.splitlines() if "starting:" not in line]) == (0, [])


@pytest.mark.slow
def test_it_keeps_what_it_knows_in_the_folder_of_data(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "votes"
    first = start("--port", "0", "--data", str(folder))
    ready(first)
    second = start("--port", "0", "--data", str(folder))
    assert second.wait(LIMIT_S) == 1  # which a unit starts again: it may pass
    assert second.stderr is not None
    assert "such as a registry that runs already. Nothing was lost" in second.stderr.read()
    first.kill()
    first.wait(LIMIT_S)
    ready(start("--port", "0", "--data", str(folder)))
    assert (folder / "registry.db").exists()


def ended(process: subprocess.Popen[str]) -> str:
    """Return its words on standard error, once it has stopped as it was told to."""
    process.terminate()
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    return err


@pytest.mark.slow
def test_at_a_fixed_port_it_keeps_what_it_knows_in_a_folder_of_the_user(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    free = start("--port", "0")
    address = ready(free)
    assert ended(free) == ""
    assert list(tmp_path.iterdir()) == []
    ready(kept := start("--port", port_of(address)))
    assert (tmp_path / "gcom" / f"registry-{port_of(address)}" / "registry.db").exists()
    client = DirectoryClient(address, LIMIT_S)
    client.create(Definition.parse("news"))
    client.close()
    assert "starting: it waits 5 s" in ended(kept)  # its folder is new, and another registry may have been there
    ready(again := start("--port", port_of(address)))
    client = DirectoryClient(address, LIMIT_S)
    assert [entry.definition.group for entry in client.groups()] == ["news"]
    client.close()
    assert "starting: it waits 5 s for groups that are there" in ended(again)


@pytest.mark.slow
def test_one_that_keeps_nothing_says_what_that_risks_and_waits_longer(start: Start) -> None:
    free = start("--port", "0", "--data", "none")
    address = ready(free)
    assert ended(free) == ""  # nobody knows its port from before
    ready(process := start("--port", port_of(address), "--data", "none"))
    client = DirectoryClient(address, LIMIT_S)
    refusal = client.ask(Create(Definition.parse("news")))
    client.close()
    assert isinstance(refusal, Refusal)
    assert refusal.code == "RegistryStarting"
    said = ended(process)
    assert "it keeps nothing: after its end nobody can tell who has a name" in said
    assert "starting: it waits 8 s" in said


def test_its_settings_come_from_a_file_and_its_lines_are_json_where_that_is_asked(start: Start, tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text('port = 0\nmetrics = 0\nlog_format = "json"\n')
    process = start("--config", str(tmp_path / "registry.toml"))
    assert process.stdout is not None
    line = json.loads(process.stdout.readline())
    assert re.fullmatch(r"gcom-registry \S+ 127\.0\.0\.1:\d+ ready", line["message"])
    process.terminate()
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (0, "")
    assert [(row["level"], row["message"][:15]) for row in map(json.loads, err.splitlines())] == [
        ("INFO", "metrics at http")
    ]


def test_wrong_settings_are_named_and_end_it_with_78(start: Start, tmp_path: Path) -> None:
    (tmp_path / "registry.toml").write_text("prot = 0\n")
    process = start("--config", str(tmp_path / "registry.toml"))
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (78, "")
    assert "unknown key 'prot': do you mean 'port'?" in err


def test_config_shows_each_value_and_where_it_came_from(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCOM_SERVE_DATA", "none")
    (tmp_path / "registry.toml").write_text('port = 7500\ndata = "names"\n')
    process = start("--config", str(tmp_path / "registry.toml"), "--metrics", "9100", "config", "--json")
    rows = {row["key"]: row for row in map(json.loads, process.communicate(timeout=LIMIT_S)[0].splitlines())}
    assert process.returncode == 0
    assert list(rows) == list(KEYS)
    assert (rows["port"]["value"], rows["port"]["source"]) == ("7500", str(tmp_path / "registry.toml"))
    assert (rows["data"]["value"], rows["data"]["source"]) == ("none", "GCOM_SERVE_DATA")
    assert (rows["metrics"]["source"], rows["host"]["source"]) == ("flag", "default")


def test_a_data_folder_that_cannot_be_is_named(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    process = start("--port", "0", "--data", str(tmp_path / "file" / "names"))
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out) == (2, "")
    assert "cannot be made: Not a directory" in err
    assert str(tmp_path) in err


@pytest.mark.slow
def test_status_tells_how_the_one_that_runs_stands(start: Start) -> None:
    process = start("--port", "0", "--data", "none")
    port = port_of(ready(process))
    client = DirectoryClient(f"127.0.0.1:{port}", LIMIT_S)
    client.create(Definition.parse("news"))
    client.close()
    page, row = start("--port", port, "status"), start("--port", port, "status", "--json")
    text, told = page.communicate(timeout=LIMIT_S)[0], json.loads(row.communicate(timeout=LIMIT_S)[0])
    assert (page.returncode, row.returncode) == (0, 0)
    assert text.splitlines()[1:4] == [
        "state        ready",
        "transport    loopback, this user alone",
        "data         none: it keeps nothing",
    ]
    assert (told["groups"]["empty"], told["requests"]["Create"]) == (1, {"ok": 1})
    ended(process)
    gone = start("--port", port, "status")
    assert "nobody listens" in gone.communicate(timeout=LIMIT_S)[1]
    assert gone.returncode == 69


@pytest.mark.slow
def test_status_asks_a_registry_for_other_machines_as_itself(start: Start, tmp_path: Path) -> None:
    where = ("--listen", "127.0.0.1:0", "--data", str(tmp_path))
    ready(start(*where))
    asking = start(*where, "status")
    text, err = asking.communicate(timeout=LIMIT_S)
    assert "TLS, certificates on both sides" in text, err
    assert f"data         {tmp_path}" in text


@pytest.mark.slow
def test_flags_may_stand_before_and_behind_the_command(start: Start) -> None:
    behind = start("config", "--json", "--port", "7500", "--data=none")
    before = start("--port", "7500", "--data=none", "config", "--json")
    assert behind.communicate(timeout=LIMIT_S)[0] == before.communicate(timeout=LIMIT_S)[0] != ""
    wrong = start("run", "--port", "x")
    assert "port 'x'" in wrong.communicate(timeout=LIMIT_S)[1]
    assert wrong.returncode == 2


@pytest.mark.slow
def test_groups_and_members_are_those_of_the_one_that_runs(start: Start) -> None:
    process = start("run", "--port", "0", "--data", "none")
    port = port_of(ready(process))
    client = DirectoryClient(f"127.0.0.1:{port}", LIMIT_S)
    client.create(Definition.parse("news"))
    client.close()
    listed, told, unknown = (
        start("groups", "--port", port, "--json"),
        start("members", "news", "--port", port),
        start("members", "nix", "--port", port),
    )
    rows = [json.loads(line) for line in listed.communicate(timeout=LIMIT_S)[0].splitlines()]
    assert [(row["group"], row["state"]) for row in rows] == [("news", "empty")]
    assert "group 'news' is empty" in told.communicate(timeout=LIMIT_S)[1]
    assert "there is no group 'nix'" in unknown.communicate(timeout=LIMIT_S)[1]
    assert (listed.returncode, told.returncode, unknown.returncode) == (0, 0, 1)
    ended(process)
    gone = start("groups", "--port", port)
    assert f"no registry at 127.0.0.1:{port}" in gone.communicate(timeout=LIMIT_S)[1]
    assert gone.returncode == 69


@pytest.mark.slow
def test_groups_are_asked_of_a_registry_for_other_machines_as_itself(start: Start, tmp_path: Path) -> None:
    where = ("--listen", "127.0.0.1:0", "--data", str(tmp_path))
    ready(start("run", *where))
    asking = start("groups", *where)
    assert "the registry knows no groups" in asking.communicate(timeout=LIMIT_S)[1]
    assert asking.returncode == 0


@pytest.mark.slow
def test_its_first_line_is_that_it_serves_also_where_nobody_hears_its_notices() -> None:
    command = f"exec {sys.executable} -m gcom_registry --port 0 --metrics 0 2>&-"
    with subprocess.Popen(["sh", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        ready(process)
        process.terminate()
        assert process.wait(LIMIT_S) == 0
