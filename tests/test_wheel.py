"""The wheel, as a stranger gets it: what is in it, and that it works where no checkout is near."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import version as version_of
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PACKAGES = {"gcom": ".", "gcom_registry": "registry", "gcom_chat": "chat_gui"}  # and the folder that each is in
ROOT = Path(__file__).resolve().parent.parent
VERSION = version_of("gcom")
LIMIT_S = 600


def run(*command: object, cwd: Path) -> str:
    """Run a command away from the checkout and return what it printed; its status must be 0."""
    words = [str(word) for word in command]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it may name the checkout
    done = subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with what `.venv` holds: no network."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def stranger(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a new environment that sees our dependencies but not the checkout; return its `bin`."""
    folder = tmp_path_factory.mktemp("stranger")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    python = folder / "env" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # A folder named in a .pth file joins the path, but its own .pth files, the editable checkout's, are not read.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def test_it_holds_our_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert tops == {*PACKAGES, f"gcom-{VERSION}.dist-info"}
    assert "gcom/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name or "/test_" in name]


def test_every_module_of_the_checkout_is_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {
        str(path.relative_to(ROOT / folder))
        for package, folder in PACKAGES.items()
        for path in (ROOT / folder / package).rglob("*.py")
    }
    assert modules <= names


def test_it_imports_away_from_the_checkout(stranger: Path, tmp_path: Path) -> None:
    where, version = run(
        stranger / "python", "-c", "import gcom; print(gcom.__file__); print(gcom.__version__)", cwd=tmp_path
    ).split()
    assert Path(where).is_relative_to(stranger.parent)
    assert version == VERSION


@pytest.mark.parametrize("command", ["gcom", "gcom-registry"])
def test_its_commands_explain_themselves(stranger: Path, tmp_path: Path, command: str) -> None:
    assert command in run(stranger / command, "--help", cwd=tmp_path)


def test_a_users_own_module_hides_nothing_of_ours(stranger: Path, tmp_path: Path) -> None:
    for name in ("registry", "chat_gui", "tests", "docs"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    program = "import gcom\nwith gcom.embedded() as it: print(it.address.partition(':')[0])"
    (tmp_path / "program.py").write_text(program)
    assert run(stranger / "python", "program.py", cwd=tmp_path) == "127.0.0.1\n"
