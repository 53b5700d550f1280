"""The set-up script: what it takes for done, and what it says where it cannot go on. Nothing here installs anything."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.tidy.source import ROOT

SCRIPT = ROOT / ".ci" / "setup.sh"


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load the script's Python half, and point it at an empty folder."""
    spec = importlib.util.spec_from_file_location("gcom_setup", ROOT / ".ci" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    venv = tmp_path / ".venv"
    monkeypatch.setattr(module, "VENV", venv)
    monkeypatch.setattr(module, "VENV_PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(module, "STAMP", venv / "stamp")
    return module


def program(path: Path, *lines: str) -> Path:
    """Write a program that prints the lines on standard error and output, as `java -version` and the probe do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'; echo '{line}' >&2\n" for line in lines))
    path.chmod(0o755)
    return path


def finish(setup: ModuleType, *holds: str) -> None:
    """Leave what a set-up that came to its end leaves."""
    program(setup.VENV_PYTHON, str(setup.VENV), "3.11.0", *holds)
    setup.STAMP.write_text("\n".join([setup.inputs(), *setup.probe()]))


def test_nothing_there_is_not_ready(setup: ModuleType) -> None:
    assert not setup.ready()


def test_a_finished_setup_is_ready(setup: ModuleType) -> None:
    finish(setup, "rich", "gcom")
    assert setup.ready()


def test_an_interrupted_setup_is_not_whole(setup: ModuleType) -> None:
    program(setup.VENV_PYTHON, str(setup.VENV), "3.11.0", "rich")
    assert not setup.whole()


def test_a_lost_package_is_noticed_and_an_added_one_does_no_harm(setup: ModuleType) -> None:
    finish(setup, "rich", "gcom")
    program(setup.VENV_PYTHON, str(setup.VENV), "3.11.0", "rich", "gcom", "ipython")
    assert setup.ready()
    program(setup.VENV_PYTHON, str(setup.VENV), "3.11.0", "gcom")
    assert not setup.whole()


def test_a_moved_checkout_is_noticed(setup: ModuleType) -> None:
    finish(setup, "gcom")
    program(setup.VENV_PYTHON, "/elsewhere/.venv", "3.11.0", "gcom")
    assert not setup.whole()


def test_another_checkouts_venv_is_left_alone(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    program(theirs / "bin" / "python", "theirs")
    (theirs / "stamp").write_text("theirs")
    setup.VENV.symlink_to(theirs)
    monkeypatch.setattr(setup, "pip", lambda *_: None)
    monkeypatch.setattr(setup, "make_venv", lambda: finish(setup, "gcom"))
    monkeypatch.setattr(setup, "need_qt", lambda: None)
    setup.install()
    assert ((theirs / "stamp").read_text(), setup.ready()) == ("theirs", True)


def test_another_python_is_noticed(setup: ModuleType) -> None:
    finish(setup, "gcom")
    program(setup.VENV_PYTHON, str(setup.VENV), "3.12.0", "gcom")
    assert not setup.whole()


def test_other_inputs_need_an_update_only(setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(setup, "gcom")
    monkeypatch.setattr(setup, "INPUTS", (*setup.INPUTS, program(tmp_path / "more")))
    assert not setup.ready()
    assert setup.whole()


@pytest.mark.parametrize(
    ("line", "major"),
    [
        ('java version "1.8.0_392"', 8),
        ('openjdk version "11.0.21" 2023-10-17', 11),
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ("something else", 0),
    ],
)
def test_java_versions(
    setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, major: int
) -> None:
    program(tmp_path / "jdk" / "bin" / "java", line)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert setup.java_major() == major


def test_an_old_java_home_stops_at_once(setup: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "jdk" / "bin" / "java", 'openjdk version "11.0.21"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    with pytest.raises(setup.Stop, match=r"Java 17 or newer, but .* is Java 11: unset JAVA_HOME"):
        setup.need_java()


def test_without_root_the_command_to_run_is_given(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(setup, "java_major", lambda: 0)
    monkeypatch.setattr(setup, "may_apt", lambda: False)
    monkeypatch.setattr(setup, "java_packages", lambda: ["openjdk-17-jre-headless"])
    monkeypatch.setattr(setup.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(setup.sys, "platform", "linux")
    with pytest.raises(
        setup.Stop, match=r"sudo sh -c 'apt-get update && apt-get install -y .*openjdk-17-jre-headless'"
    ):
        setup.need_java()


def test_without_a_python_it_says_which(tmp_path: Path) -> None:
    program(tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")  # one that is too old
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    environment = {**os.environ, "PATH": str(tmp_path), "PYTHON": ""}
    done = subprocess.run(["/bin/sh", SCRIPT], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "no Python 3.11 or newer" in done.stderr
