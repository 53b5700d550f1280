"""docs/operations: unit, container file and dashboard, run or checked as far as a machine without them allows."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gcom_registry.operation.notify import watchdog
from gcom_registry.operation.serving import EXIT_FAILED, EXIT_SETTINGS, EXIT_USAGE
from gcom_registry.operation.settings import SETTINGS, settings

from tests.running import Child, environment

ROOT = Path(__file__).parents[2]
OPERATIONS = ROOT / "docs" / "operations"
UNIT = OPERATIONS / "gcom-registry.service"
LIMIT_S = 120.0
RESULT = re.compile(r"\b((?:gcom|process)_\w+)\b")


def listed() -> set[str]:
    """The metrics that docs/operating.md lists, which a test of its own holds to the code."""
    return set(re.findall(r"^\| `(gcom_\w+)` \|", (ROOT / "docs" / "operating.md").read_text("utf-8"), re.MULTILINE))


def panels() -> list[dict[str, Any]]:
    board: dict[str, Any] = json.loads((OPERATIONS / "grafana.json").read_text("utf-8"))
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def test_the_dashboard_asks_only_for_what_there_is() -> None:
    known = listed() | {"process_cpu_seconds_total", "process_resident_memory_bytes"}
    asked = {name for text in expressions() for name in RESULT.findall(text)}
    alerts = re.findall("expr: .*", (OPERATIONS / "alerts.yml").read_text("utf-8"))
    asked |= {name for text in alerts for name in RESULT.findall(text.replace('"gcom"', ""))}
    assert len(asked) > 20
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked} <= known


def test_the_dashboard_shows_all_there_is() -> None:
    assert listed() <= {re.sub(r"_bucket$", "", name) for text in expressions() for name in RESULT.findall(text)}


def test_the_dashboards_panels_are_whole_and_do_not_overlap() -> None:
    found = panels()
    assert len({panel["id"] for panel in found}) == len(found)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in found)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    for text in expressions():
        assert (text.count("("), text.count("{"), text.count("[")) == (
            text.count(")"),
            text.count("}"),
            text.count("]"),
        )


def unit() -> dict[str, list[str]]:
    """The unit's settings, each with all its values."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_is_one(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze here: install systemd")
    (command,) = unit()["ExecStart"]
    here = tmp_path / UNIT.name
    here.write_text(UNIT.read_text().replace(command.split()[0], sys.executable))
    done = subprocess.run([analyze, "verify", str(here)], capture_output=True, text=True, timeout=LIMIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_settings_of_the_unit_are_settings() -> None:
    file = OPERATIONS / "registry.toml"
    found = settings({"config": str(file)}, {})
    assert {key for key, value in found.values.items() if value.source == str(file)} == set(
        tomllib.loads(file.read_text())
    )
    assert found["data"] == "/var/lib/gcom"
    assert unit()["StateDirectory"] == ["gcom"]


def test_it_tells_systemd_that_it_is_ready_and_that_it_ends(tmp_path: Path) -> None:
    """As systemd runs it: the command of the unit, with a socket to tell, and SIGTERM."""
    (command,) = unit()["ExecStart"]
    words = [
        word.replace("/etc/gcom/registry.toml", str(tmp_path / "registry.toml")) for word in shlex.split(command)[1:]
    ]
    (tmp_path / "registry.toml").write_text(f'port = 0\ndata = "{tmp_path}/data"\nmetrics = 0\n')
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(LIMIT_S)
        env = environment(
            NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="200000", XDG_STATE_HOME=os.environ["XDG_STATE_HOME"]
        )
        with Child([sys.executable, "-m", "gcom_registry", *words], env) as service:
            assert systemd.recv(1000).startswith(b"READY=1\nSTATUS=at 127.0.0.1:")
            assert systemd.recv(1000) == b"WATCHDOG=1"
            service.process.terminate()
            while (told := systemd.recv(1000)) == b"WATCHDOG=1":
                pass
            assert told == b"STOPPING=1"
            assert service.end() == 0
    assert all("message" in json.loads(line) for line in service.out + service.errors)


def test_one_that_is_stuck_tells_systemd_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["its clock has stood", "its clock has stood", ""])
    asked: list[str] = []

    def stuck() -> str:
        asked.append(next(answers, ""))
        return asked[-1]

    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "20000")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(LIMIT_S)
        with watchdog(stuck):
            assert systemd.recv(1000) == b"WATCHDOG=1"
        assert asked[:3] == ["its clock has stood", "its clock has stood", ""]


def test_the_unit_starts_it_again_for_all_but_wrong_settings() -> None:
    assert unit()["RestartPreventExitStatus"] == [f"{EXIT_USAGE} {EXIT_SETTINGS}"]
    assert (unit()["Restart"], unit()["StartLimitIntervalSec"]) == (["on-failure"], ["0"])
    assert EXIT_FAILED not in (0, EXIT_USAGE, EXIT_SETTINGS)


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the container file, each with its words."""
    text = (OPERATIONS / "Containerfile").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, words = line.partition(" ")
            yield name, words.strip()


def test_no_key_and_nothing_that_was_made_here_goes_into_the_image() -> None:
    ignored = set((ROOT / ".dockerignore").read_text().splitlines())
    assert {"*.key", "*.pem", "*.db", ".git", ".venv"} <= ignored
    made = [line for line in (ROOT / ".gitignore").read_text().splitlines() if line.startswith("/")]
    assert {line.strip("/").removesuffix(".html") for line in made} <= {it.rstrip("*") for it in ignored}


@pytest.mark.slow
def test_the_container_runs_as_it_says(tmp_path: Path) -> None:
    """Its environment, command and health check, with a folder and ports of the test's."""
    found = list(instructions())
    given = dict(words.split("=", 1) for name, words in found if name == "ENV")
    ours = {key: value for key, value in given.items() if key.startswith("GCOM_")}
    assert set(ours) <= {setting.variable for setting in SETTINGS}
    assert ours["GCOM_SERVE_DATA"] == given["HOME"] == dict(found)["VOLUME"]
    (entry,) = json.loads(dict(found)["ENTRYPOINT"])
    assert entry in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert dict(found)["EXPOSE"].split() == [
        ours[f"GCOM_SERVE_{it}"].rpartition(":")[2] for it in ("LISTEN", "METRICS")
    ]
    ours |= {"GCOM_SERVE_DATA": str(tmp_path), "GCOM_SERVE_LISTEN": "127.0.0.1:0", "GCOM_SERVE_METRICS": "127.0.0.1:0"}
    with Child([sys.executable, "-m", "gcom_registry"], environment(**ours, HOME=str(tmp_path))) as container:
        container.until(lambda: any("metrics at" in line for line in container.errors), "its figures")
        container.until(lambda: container.out, "ready")
        url = next(line for line in container.errors if "metrics at" in line).split("http://")[1].split("/")[0]
        check = json.loads(dict(found)["HEALTHCHECK"].partition("CMD ")[2])
        healthy = [sys.executable, *(word.replace("127.0.0.1:9100", url) for word in check[1:])]
        assert subprocess.run(healthy, timeout=LIMIT_S).returncode == 0
        container.process.terminate()
        assert container.end() == 0
    assert subprocess.run(healthy, timeout=LIMIT_S, stderr=subprocess.DEVNULL).returncode != 0
