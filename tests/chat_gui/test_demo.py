"""The demonstration, as a user starts it, but for the screen; and the example of a bot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TypeVar

import pytest

import gcom

T = TypeVar("T")
_pause = Event()
RUN_S = 20
LIMIT_S = 180
ENVIRONMENT = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
CHAT = (sys.executable, "-c", "from gcom_chat.cli import main; main()")


@pytest.mark.slow
def test_the_demo_needs_nothing_survives_its_own_faults_and_ends_by_itself(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = [*CHAT, "--demo", "--exit-after", str(RUN_S)]
    with subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True) as demo:
        folder = _until(lambda: next(tmp_path.glob("gcom-chat-*/logs/visitor"), None)).parents[1]
        (folder / "faults").write_text("seed=1,drop=0.1")
        _until(lambda: {path.name for path in (folder / "logs").iterdir()} >= {"bob", "carol", "dave"})
        out, errors = demo.communicate(timeout=LIMIT_S)
    assert demo.returncode == 0, errors
    group, messages, *_ = out.split()
    assert group == "lounge:"
    assert int(messages) >= 2, out
    assert errors.replace("This plugin does not support propagateSizeHints()\n", "") == ""
    assert not list(tmp_path.rglob("*.toml")), "a demonstration keeps nothing"


def _until(found: Callable[[], T | None]) -> T:
    """Return what `found` returns once there is something."""
    deadline = time.monotonic() + LIMIT_S
    while not (it := found()):
        assert time.monotonic() < deadline
        _pause.wait(0.1)
    return it


def test_without_a_display_it_says_what_to_do() -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment["QT_QPA_PLATFORM"] = "xcb"
    done = subprocess.run([*CHAT], env=environment, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 1
    assert done.stderr.startswith("gcom-chat: ")
    assert "display" in done.stderr


@pytest.mark.slow
def test_a_bot_of_ten_lines_talks_to_a_chat() -> None:
    with gcom.embedded() as registry, gcom.connect("alice", registry.address) as alice:
        group = alice.join("news", create=gcom.Definition("news", "TOTAL"))
        command = [sys.executable, "-m", "gcom_chat.demo.echo_bot", "news", registry.address]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as bot:
            group.wait_for_members(2, LIMIT_S)
            for other in ("hello", "{", "[1]", '{"text": 7}', b"\xff", "null"):  # which it hears, and survives
                group.send(other)
            group.send('{"gcom-chat":1,"kind":"text","text":"echo: hello there"}')
            texts = (message.text for message in group if message.name == "echo")
            assert '"alice: hello there"' in next(texts)
            bot.send_signal(signal.SIGINT)
            bot.wait(LIMIT_S)
