"""Chats with several registries, and chats on two hosts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gcom_chat.view.dialogs.groups import ConnectDialog
from gcom_chat.view.window import ChatWindow

import gcom
from tests.chat_gui.windows import is_in, say, texts, wait_until
from tests.hosts.network import TestHost, network
from tests.hosts.test_invitations import accept, invite, registry
from tests.running import Child

pytestmark = pytest.mark.slow
Opener = Callable[..., ChatWindow]


def test_a_chat_goes_on_with_the_second_registry(opened: Opener, expect_log: Callable[[str], None]) -> None:
    """Groups go on while their home is down, and new ones are founded at the other registry."""
    expect_log("does not answer")
    with gcom.embedded() as other, gcom.embedded() as first:
        both = f"{first.address},{other.address}"
        window = opened()
        dialog = ConnectDialog("alice", f" {first.address}, {other.address} ", window)
        assert dialog.problem() == ""
        assert dialog.wish() == ("alice", both)
        dialog.registry.setText(f"{first.address},")
        assert "with commas" in dialog.problem()
        window.connect_to("alice", both)
        wait_until(lambda: window.chat.registry == both)
        window.join("news", gcom.Definition.parse("news", "TOTAL"))
        wait_until(lambda: is_in(window, "news"))
        first.close()
        window.join("work", gcom.Definition.parse("work", "FIFO"))
        wait_until(lambda: is_in(window, "work"))
        for group in ("news", "work"):
            say(window, group, "still here")
            wait_until(lambda: "still here" in texts(window, group))  # noqa: B023
            assert not any("could not" in text for text in texts(window, group))
        assert not window.chat.registry_away


class RemoteWindow:
    """A window on a host of its own, without a screen."""

    def __init__(self, host: TestHost, name: str, at: str) -> None:
        host.variables["QT_QPA_PLATFORM"] = "offscreen"
        self.child: Child = host.start("tests.chat_gui.window_driver", name, at, "news")
        self._asked = 0

    def ask(self, *command: str) -> Any:
        """Carry out one command in the window."""
        self._asked += 1
        self.child.write(json.dumps(command).encode() + b"\n")
        self.child.until(lambda: len(self.child.out) >= self._asked)
        return json.loads(self.child.out[self._asked - 1])


@pytest.mark.usefixtures("qapp")
def test_chats_on_two_hosts_talk(tmp_path: Path) -> None:
    with network(2, tmp_path) as (here, there), registry(here, here.address):
        accept(here, invite(here, "alice"))
        accept(there, invite(here, "bob"))
        at = f"{here.address}:7411"
        made = here.run("gcom.cli", "create", "news", "--ordering", "TOTAL", "--registry", at)
        assert made.returncode == 0, made.stderr
        alice, bob = RemoteWindow(here, "alice", at), RemoteWindow(there, "bob", at)
        with alice.child, bob.child:
            for window in (alice, bob):
                wait_until(lambda: len(window.ask("members", "news")) == 2)  # noqa: B023
            alice.ask("say", "news", "from here")
            bob.ask("say", "news", "from there")
            for window in (alice, bob):
                wait_until(lambda: len(window.ask("said", "news")) == 2)  # noqa: B023
            assert alice.ask("said", "news") == bob.ask("said", "news")
            for window in (alice, bob):
                window.ask("close")
                assert window.child.end() == 0
