"""Windows without a screen; a Qt warning fails the test that caused it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from shutil import which

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

collect_ignore_glob = [] if find_spec("PySide6") else ["test_*.py"]

# The offscreen platform says of every window that it cannot tell a window manager its least size.
KNOWN = r".*does not support propagateSizeHints.*"


@pytest.fixture(scope="session")
def screen() -> Iterator[str]:
    """The name of a display that nobody sees."""
    if which("Xvfb") is None:
        pytest.skip("Xvfb is not installed: make setup says how")
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    number = server.stdout.readline().strip()
    yield f":{number}"
    server.terminate()
    server.wait()
    server.stdout.close()
