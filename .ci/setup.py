"""Everything that the make targets need: Java, `.venv`, the locked packages, Qt's system libraries, the project itself.

Whatever can stop the set-up is looked at first, so that it stops at once and not after a long download. The stamp in
`.venv` is written last and removed first. Its absence therefore means an interrupted run, whose half-unpacked packages
pip would take for installed, so that `.venv` is made anew; a stamp of other inputs only brings `.venv` up to date.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / ".ci" / "requirements.lock"
INPUTS = (ROOT / "pyproject.toml", LOCK, ROOT / ".ci" / "setup.sh", Path(__file__).resolve())
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
STAMP = VENV / "gcom-setup.stamp"
EXTRAS = "audit,bench,gui,postgres,zmq,docs,dev"
BUILDERS = ("setuptools", "hatchling", "editables")  # without build isolation, so that these are the locked ones too
JAVA_MAJOR_MIN = 17  # what PySpark 4 asks for
JAVA_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "openjdk-25-jre-headless")
# What Qt links to for X and for offscreen windows, and the X server without a screen that tests of windows use.
QT_PACKAGES = (
    *(
        "libegl1",
        "libgl1",
        "libdbus-1-3",
        "libfontconfig1",
        "fonts-dejavu-core",
        "libxkbcommon-x11-0",
        "libxcb-cursor0",
    ),
    *("libxcb-icccm4", "libxcb-image0", "libxcb-keysyms1", "libxcb-randr0", "libxcb-render-util0", "libxcb-shape0"),
    *("libxcb-xinerama0", "libxcb-xkb1", "xvfb"),
)
QT_PROBE = """
import shutil
from PySide6.QtWidgets import QApplication
QApplication([])
raise SystemExit(shutil.which("Xvfb") is None)
"""
PROBE = """
import os, sys, sysconfig
print(sys.prefix)
print(sys.version.split()[0])
for path in "purelib", "scripts":
    print(*sorted(os.listdir(sysconfig.get_path(path))), sep="\\n")
"""


class Stop(Exception):
    """The set-up cannot go on; the text says what to do."""


def say(text: str) -> None:
    """Print one line of progress, at once."""
    print(f"setup: {text}", flush=True)


def apt(*packages: str) -> str:
    """Return the command that installs `packages` on Debian and its kin."""
    return f"apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"


def may_apt() -> bool:
    """Tell whether this process may install system packages by itself."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(*packages: str) -> bool:
    """Install system packages; false when that failed, with apt-get's own words on standard error."""
    say(f"apt-get install {' '.join(packages)}")
    quiet = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(quiet + command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return done.returncode == 0


# --- Java -------------------------------------------------------------------------------------------------------------


def java_command() -> str:
    """Return the Java that PySpark would start: JAVA_HOME's, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def java_major() -> int:
    """Return the major version of that Java, 0 if there is none."""
    try:
        told = subprocess.run([java_command(), "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found and told.returncode == 0 else 0


def java_advice(major: int) -> str:
    """Return the words for a machine whose Java will not do."""
    have = f"{java_command()} is Java {major}" if major else f"{java_command()} does not run"
    if os.environ.get("JAVA_HOME"):
        return f"the audit needs Java {JAVA_MAJOR_MIN} or newer, but {have}: unset JAVA_HOME, or point it at one"
    how = f"sudo sh -c '{apt(java_packages()[0])}'" if shutil.which("apt-get") else "install OpenJDK 17, on the path"
    how = "brew install openjdk@17, and set JAVA_HOME" if sys.platform == "darwin" else how
    return f"the audit needs Java {JAVA_MAJOR_MIN} or newer, but {have}. Run:\n    {how}\nand make setup again"


def java_packages() -> list[str]:
    """Return the packages to try, those that this release of the system has first."""
    known = subprocess.run(["apt-cache", "pkgnames", "openjdk-"], capture_output=True, text=True).stdout.split()
    return sorted(JAVA_PACKAGES, key=lambda package: package not in known)


def need_java() -> None:
    """Make sure of Java, by apt-get where that is allowed."""
    major = java_major()
    if major < JAVA_MAJOR_MIN and may_apt() and not os.environ.get("JAVA_HOME"):
        Path("/usr/share/man/man1").mkdir(parents=True, exist_ok=True)  # slim images lack it, and the package stumbles
        any(apt_install(package) for package in java_packages())
        major = java_major()
    if major < JAVA_MAJOR_MIN:
        raise Stop(java_advice(major))


# --- the virtual environment ------------------------------------------------------------------------------------------


def need_venv_module() -> None:
    """Make sure that this Python can make an environment with pip: Debian keeps that in a package of its own."""
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    if find_spec("ensurepip") is None and not (may_apt() and apt_install(package)):
        raise Stop(f"{sys.executable} cannot make virtual environments. Run:\n    sudo sh -c '{apt(package)}'")


def probe() -> list[str]:
    """Return what `.venv` is and holds, as its own Python sees it; nothing when that does not run, or not from here."""
    try:
        told = subprocess.run([VENV_PYTHON, "-I", "-c", PROBE], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = told.stdout.splitlines()
    return found if told.returncode == 0 and found[:1] == [str(VENV)] else []


def inputs() -> str:
    """Return the digest of the files that decide what `.venv` has to hold."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in INPUTS)).hexdigest()


def stamped() -> tuple[str, list[str]]:
    """Return the inputs of the last set-up that came to its end, and what it left in `.venv`; empty if none did."""
    lines = STAMP.read_text().splitlines() if STAMP.is_file() else []
    return (lines[0], lines[1:]) if lines else ("", [])


def whole() -> bool:
    """Tell whether all that the last set-up left is still there; what was added since does no harm."""
    left = stamped()[1]
    return bool(left) and set(left) <= set(probe())


def ready() -> bool:
    """Tell whether there is nothing to do."""
    return stamped()[0] == inputs() and whole()


def pip(*arguments: str) -> None:
    """Run `.venv`'s pip under the lock; to a terminal it shows its progress bars."""
    options = ["--disable-pip-version-check", "--no-input", *([] if sys.stdout.isatty() else ["--quiet"])]
    command = [str(VENV_PYTHON), "-m", "pip", "install", *options, "--constraint", str(LOCK), *arguments]
    if subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode:
        raise Stop("pip failed, for the reason above; once that is mended (the network?), run make setup again")


def make_venv() -> None:
    """Make `.venv` anew, whatever is in its place."""
    say(f"making .venv with Python {sys.version.split()[0]}; its packages are about 600 MB to fetch, 1.3 GB on disk")
    if VENV.is_file():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)
    if subprocess.run([sys.executable, "-m", "venv", VENV], stdin=subprocess.DEVNULL).returncode:
        raise Stop(f"{sys.executable} -m venv {VENV} failed, for the reason above")


def qt_runs() -> bool:
    """Tell whether Qt can open a window, and whether tests have a screen for it."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    try:
        tried = subprocess.run([VENV_PYTHON, "-c", QT_PROBE], env=environment, capture_output=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def need_qt() -> None:
    """Make sure of what Qt links to, by apt-get where that is allowed; without it all but the chat works."""
    if qt_runs() or (may_apt() and apt_install(*QT_PACKAGES) and qt_runs()):
        return
    how = (
        f"    sudo sh -c '{apt(*QT_PACKAGES)}'"
        if shutil.which("apt-get")
        else "    the libraries that Qt 6 for X11 needs"
    )
    say(f"the chat, and the tests of its windows, need system libraries:\n{how}")


def install() -> None:
    """Bring `.venv` to what the inputs say, and stamp it."""
    if VENV.is_symlink():
        VENV.unlink()  # it leads to another checkout's, which has to stay as that one's own set-up left it
    keep = whole()
    STAMP.unlink(missing_ok=True)
    if not keep:
        make_venv()
    say(f"installing the packages of {LOCK.relative_to(ROOT)}")
    pip(*BUILDERS)
    pip("--no-build-isolation", "--editable", f".[{EXTRAS}]")
    found = probe()
    if not found:
        raise Stop(".venv does not run after the installation; remove it and run make setup again")
    need_qt()
    STAMP.write_text("\n".join([inputs(), *found]))


def main() -> None:
    """Do what is left to do."""
    began = time.monotonic()
    need_java()
    if ready():
        say("up to date")
        return
    need_venv_module()
    with LOCK.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # a second make waits here, then finds everything done
        if not ready():
            install()
    say(f"ready, in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except Stop as stop:
        sys.exit(f"setup: {stop}")
    except KeyboardInterrupt:
        print("setup: interrupted; make setup starts again", file=sys.stderr)
        sys.exit(130)
