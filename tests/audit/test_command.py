"""`gcom audit` as a user meets it: a process, its first line, its exit status, its JSON."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.audit.damage import read, write
from tests.oracle.build import life
from tests.oracle.build import write as write_life

pytestmark = pytest.mark.slow
GCOM = (sys.executable, "-m", "gcom.cli")


def _audit(*words: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GCOM, "audit", *map(str, words)], capture_output=True, text=True, check=False, cwd=folder)


def _broken(folder: Path) -> Path:
    """A life in which c delivered two messages in the wrong order, and says that their serials are right."""
    write_life(folder, life())
    path = folder / "c" / "1" / "000000.jsonl"
    records = read(path)
    places = [index for index, record in enumerate(records) if record["type"] == "deliver"]
    one, other = (records[index] for index in places)
    one["serial"], other["serial"] = other["serial"], one["serial"]
    records[places[0]], records[places[1]] = other, one
    write(path, records)
    return folder


def test_a_kept_promise(tmp_path: Path) -> None:
    done = _audit(write_life(tmp_path / "logs", life()), "--json", tmp_path / "audit.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("PASS: every promise held")
    assert done.stderr.endswith(" bytes to read: judged in this process: less than 128 MB to read\n")
    assert done.stderr.count("\n") == 1
    told = json.loads((tmp_path / "audit.json").read_text())
    assert (told["version"], told["verdict"], told["incidents"]) == (1, "PASS", [])
    assert {each["state"] for each in told["coverage"]} == {"closed"}


def test_small_logs_are_judged_without_what_takes_long_to_start(tmp_path: Path) -> None:
    """Neither Java nor what only Spark or the report needs."""
    folder = write_life(tmp_path / "logs", life())
    code = (
        "import sys; from gcom.cli.app import run; assert run(sys.argv[1:]) == 0; print(*sys.modules, file=sys.stderr)"
    )
    words = [sys.executable, "-c", code, "audit", str(folder)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "JAVA_HOME": str(tmp_path)}
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "pyarrow" in loaded
    assert not loaded & {"pyspark", "py4j", "pandas", "matplotlib", "jinja2"}


def test_a_broken_promise(tmp_path: Path) -> None:
    done = _audit(_broken(tmp_path / "logs"), "--json", tmp_path / "audit.json")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0].startswith("FAIL: ")
    told = json.loads((tmp_path / "audit.json").read_text())
    (group,) = told["groups"]
    failed = {rule["rule"] for rule in group["rules"] if rule["verdict"] == "FAIL" and rule["expected"]}
    assert {"TOTAL", "TOTAL_GAP_FREE", "SERIAL_UNIQUE"} <= failed
    for incident in told["incidents"]:
        _check_incident(incident)


@pytest.mark.parametrize(
    ("where", "plan"),
    [(("--master", "local-cluster[2,1,1024]"), ()), (("--remote", "local[2]"), ("--spark",))],
    ids=["cluster", "connect"],
)
@pytest.mark.soak
def test_it_is_the_same_elsewhere(where: tuple[str, ...], plan: tuple[str, ...], tmp_path: Path) -> None:
    """With workers as processes and in folders of their own, and by a Spark Connect server."""
    _broken(tmp_path / "logs")
    told = []
    for name, words in (("here.json", plan), ("there.json", (*plan, *where))):
        done = _audit("logs", "--json", tmp_path / name, *words, folder=tmp_path)
        assert done.returncode == 1, done.stderr
        told.append(json.loads((tmp_path / name).read_text()))
    assert told[0] == told[1]


def _check_incident(incident: dict[str, Any]) -> None:
    assert incident["sentence"].endswith(".")
    assert incident["processes"]
    assert incident["messages"]
    for place in incident["files"]:
        line = Path(place["file"]).read_text().splitlines()[place["line"] - 1]
        assert json.loads(line)["type"] in ("deliver", "send", "view", "skip")


def test_what_cannot_be_judged(tmp_path: Path) -> None:
    folder = write_life(tmp_path / "logs", life())
    (folder / "b" / "1" / "000000.jsonl").unlink()
    done = _audit(folder)
    assert done.returncode == 2
    assert done.stdout.splitlines()[0].startswith("UNKNOWN: ")
    first, second = done.stdout.splitlines()[:2]
    assert "there is no readable log of b#1" in first
    assert "No log of b#1 is here: name the folder that has it" in second
    assert _audit(folder, "--allow-unknown").returncode == 0


def test_what_is_no_log(tmp_path: Path) -> None:
    done = _audit(tmp_path)
    assert done.returncode == 3
    assert "no delivery logs in" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_can_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    """Neither control characters nor what Rich takes for markup; and the verdict is one line."""
    name = "g[/red]\n\x1b[31m:smile:"
    logs = {who: [{**record, "group": name} for record in records] for who, records in life().items()}
    logs["a#1"].pop(2)
    done = _audit(write_life(tmp_path / "logs", logs))
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0].endswith(" deliveries)")
    assert "g[/red] [31m:smile:" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_job_ends_it_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    folder = write_life(tmp_path / "logs", life())
    words = [*GCOM, "audit", str(folder), "--spark"]
    java, pipe = _telling_java(tmp_path)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "JAVA_HOME": str(java)}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as child:
        pipe.read_text()
        os.killpg(child.pid, number)
        _, said = child.communicate()
    assert child.returncode == 128 + number
    assert "Traceback" not in said


def test_ctrl_c_while_spark_starts_leaves_no_java(tmp_path: Path) -> None:
    """It comes when Java runs and has not yet said where it listens."""
    import psutil

    folder = write_life(tmp_path / "logs", life())
    words = [*GCOM, "audit", str(folder), "--spark"]
    home, pipe = _telling_java(tmp_path)
    environment = {**os.environ, "JAVA_HOME": str(home)}
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as child:
        java = psutil.Process(int(pipe.read_text()))
        child.send_signal(signal.SIGINT)
        assert child.wait() == 130
    _, alive = psutil.wait_procs([java], timeout=300)
    for each in alive:
        each.kill()
    assert alive == []


def _telling_java(folder: Path) -> tuple[Path, Path]:
    """A Java home, and a pipe into which its Java writes its process id when Spark begins.

    It is not what is asked for its version, or for Spark's command line: only Spark itself is given so much memory.
    """
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "")
    pipe, told = folder / "pipe", folder / "home" / "bin" / "java"
    os.mkfifo(pipe)
    told.parent.mkdir(parents=True)
    told.write_text(f'#!/bin/sh\ncase "$*" in *-Xmx3g*) echo $$ >"{pipe}" ;; esac\nexec "{java}" "$@"\n')
    told.chmod(0o755)
    return folder / "home", pipe
