"""`gcom-registry` as a user meets it: real processes, signals, ports and streams."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gcom import __version__
from gcom.errors import RegistryUnavailable
from gcom.shell.directory import DirectoryClient

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts the command; what still runs at the end of the test is killed."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "registry", *arguments],
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


def answers(client: DirectoryClient) -> bool:
    try:
        return client.groups() == ()
    except RegistryUnavailable:
        return False


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_serves_until_a_signal(start: Start, number: signal.Signals, status: int) -> None:
    process = start("--port", "0")
    client = DirectoryClient(ready(process))
    assert client.groups() == ()
    client.close()
    process.send_signal(number)
    out, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, out, err) == (status, "", "")


def test_a_restart_takes_its_port_again_at_once(start: Start) -> None:
    process = start("--port", "0")
    address = ready(process)
    client = DirectoryClient(address)
    client.groups()  # leaves a connection behind
    process.terminate()
    process.communicate(timeout=LIMIT_S)
    assert ready(start("--port", address.rpartition(":")[2])) == address
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
        (["--host", "0.0.0.0"], "mutual TLS"),
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


def test_a_closed_output_does_not_stop_it(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = start("--port", address.rpartition(":")[2])
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    client = DirectoryClient(address)
    while not answers(client):  # the test's own limit ends a wait in vain
        assert process.poll() is None
    client.close()
    process.terminate()
    _, err = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, err) == (0, "")


def test_votes_are_kept_in_the_folder_of_data(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "votes"
    first = start("--port", "0", "--data", str(folder))
    ready(first)
    second = start("--port", "0", "--data", str(folder))
    assert second.wait(LIMIT_S) == 2
    assert second.stderr is not None
    assert "another registry" in second.stderr.read()
    first.kill()
    first.wait(LIMIT_S)
    ready(start("--port", "0", "--data", str(folder)))
    assert (folder / "witness.db").exists()
