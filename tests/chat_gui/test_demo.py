"""The demonstration, as a user starts it, but for the screen; and the example of a bot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gcom

RUN_S = 20
LIMIT_S = 180
ENVIRONMENT = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
CHAT = (sys.executable, "-c", "from chat_gui.cli import main; main()")


@pytest.mark.slow
def test_the_demo_needs_nothing_and_ends_by_itself(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "HOME": str(tmp_path)}
    done = subprocess.run(
        [*CHAT, "--demo", "--exit-after", str(RUN_S)], env=environment, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    group, messages, *_ = done.stdout.split()
    assert group == "lounge:"
    assert int(messages) >= 3, done.stdout
    assert done.stderr.replace("This plugin does not support propagateSizeHints()\n", "") == ""
    assert not list(tmp_path.rglob("*.toml")), "a demonstration keeps nothing"


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
        command = [sys.executable, "-m", "chat_gui.demo.echo_bot", "news", registry.address]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as bot:
            group.wait_for_members(2, LIMIT_S)
            for other in ("hello", "{", "[1]", '{"text": 7}', b"\xff", "null"):  # which it hears, and survives
                group.send(other)
            group.send('{"gcom-chat":1,"kind":"text","text":"echo: hello there"}')
            texts = (message.text for message in group if message.name == "echo")
            assert '"alice: hello there"' in next(texts)
            bot.send_signal(signal.SIGINT)
            bot.wait(LIMIT_S)
