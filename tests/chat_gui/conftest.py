"""Windows without a display, that keep their files in a folder of the test's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

import pytest
from gcom_chat.storage.places import Places
from gcom_chat.view.window import ChatWindow

import gcom
from tests.chat_gui.windows import wait_until

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

Opener = Callable[..., ChatWindow]


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


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Where a chat of this test keeps its files."""
    return Places(tmp_path / "config" / "settings.toml", tmp_path / "state" / "session.toml", tmp_path / "history.db")


@pytest.fixture
def registry() -> Iterator[str]:
    """The address of a registry."""
    with gcom.embedded() as embedded:
        yield embedded.address


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Open windows, which are closed when the test ends."""
    request.getfixturevalue("qapp")
    if "registry" in request.fixturenames:
        request.getfixturevalue("registry")  # ends after the windows: each would wait 5 s for one that has ended
    windows: list[ChatWindow] = []

    def open_window(nick: str = "", registry: str = "", *groups: str, places: Places | None = None) -> ChatWindow:
        window = ChatWindow(nick, registry, groups, places)
        windows.append(window)
        window.show()
        return window

    yield open_window
    for window in windows:
        window.close()
        window.deleteLater()
    wait_until(lambda: True)
