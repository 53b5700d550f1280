"""Without the packages of its extra a command is one sentence and status 3, before it does any work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gcom

ROOT = Path(gcom.__file__).parents[1]
WHERE = Path(pytest.__file__).parents[1]  # the site-packages of this environment
# By extra: what it brings, as the folders of site-packages are called.
BROUGHT = {
    "audit": ("numpy", "pyarrow", "pyspark", "pandas", "jinja2", "matplotlib"),
    "bench": ("psutil", "matplotlib", "pysyncobj"),
    "gui": ("PySide6",),
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all packages but those of the extras."""
    folder = tmp_path_factory.mktemp("packages")
    left_out = {name.lower() for names in BROUGHT.values() for name in names}
    for path in WHERE.iterdir():
        if path.name.partition("-")[0].partition(".")[0].lower() not in left_out:
            (folder / path.name).symlink_to(path)
    return folder


def _run(packages: Path, folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with these packages alone; `-S` leaves out those of the environment."""
    path = os.pathsep.join([str(packages), str(ROOT), str(ROOT / "registry"), str(ROOT / "chat_gui")])
    return subprocess.run(
        [sys.executable, "-S", "-c", f"from {script} import main; main()", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "line", "missing", "extra"),
    [
        ("gcom.cli.app", "audit logs --json out.json", "numpy and pyarrow are", "audit"),
        ("gcom.cli.app", "audit logs --report out.html", "numpy, pyarrow, jinja2 and matplotlib are", "audit"),
        ("gcom.cli.app", "audit compact logs --into out", "numpy and pyarrow are", "audit"),
        ("gcom.cli.app", "audit import shiviz log --into out", "numpy and pyarrow are", "audit"),
        ("gcom.cli.app", "bench throughput --log-dir out", "psutil is", "bench"),
        ("gcom.cli.app", "bench all --out out.md", "psutil and matplotlib are", "bench"),
        ("gcom.cli.app", "bench audit", "psutil is", "bench"),
        ("gcom_chat.cli", "--demo", "PySide6 is", "gui"),
    ],
)
def test_without_its_extra_a_command_says_what_to_install(
    script: str, line: str, missing: str, extra: str, bare: Path, tmp_path: Path
) -> None:
    done = _run(bare, tmp_path, script, *line.split())
    name = "gcom-chat" if extra == "gui" else "gcom"
    assert (done.stderr, done.stdout) == (f"{name}: {missing} not installed: pip install 'gcom[{extra}]'\n", "")
    assert done.returncode == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_any_extra_a_command_that_needs_none_works(bare: Path, tmp_path: Path) -> None:
    for line in ("--version", "audit --help", "bench throughput --help", "sim --seed 1"):
        done = _run(bare, tmp_path, "gcom.cli.app", *line.split())
        assert (done.returncode, done.stderr) == (0, ""), line
