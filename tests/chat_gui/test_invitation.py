"""The connect dialog: who one is, how the connection is protected, and an invitation to a registry elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from gcom_chat.client.client import ChatClient
from gcom_chat.model.updates import InvitationAccepted, ProtectionTold, Update, WishFailed
from gcom_chat.view.dialogs.groups import ConnectDialog
from gcom_chat.view.window import ChatWindow
from PySide6.QtWidgets import QDialogButtonBox

from tests.chat_gui.windows import wait_until
from tests.registry.test_protection import invitation as invitation

Opener = Callable[..., ChatWindow]


def _ok(dialog: ConnectDialog) -> str:
    button = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    return button.text() if button.isEnabled() else ""


def test_an_invitation_fills_the_dialog_in(qapp: object, invitation: str) -> None:
    assert qapp
    dialog = ConnectDialog("", "")
    assert _ok(dialog) == ""
    dialog.invitation.setText("gcom1/somewhere")
    assert "no invitation" in dialog.problem()
    assert _ok(dialog) == ""
    dialog.invitation.setText(invitation)
    assert dialog.wish() == ("bob", invitation.split("/")[1])
    assert not dialog.nick.isEnabled()
    assert _ok(dialog) == "Accept and connect"
    dialog.invitation.clear()
    assert dialog.nick.isEnabled()
    assert _ok(dialog) == "Connect"
    dialog.close()


def test_an_invitation_is_taken_up_once(invitation: str, expect_log: Callable[[str], None]) -> None:
    expect_log("was used before")
    told: list[Update] = []
    client = ChatClient(told.append)
    client.accept(invitation)
    wait_until(lambda: told)
    assert told == [InvitationAccepted("bob", invitation.split("/")[1])]
    client.accept(invitation)
    wait_until(lambda: len(told) == 2)
    failed = told[1]
    assert isinstance(failed, WishFailed)
    assert "used" in failed.why
    client.close()


@pytest.mark.parametrize(
    ("registry", "said", "trouble"),
    [("127.0.0.1:7411", "nothing leaves it", False), ("192.0.2.1:7411", "not an identity 'alice'", True)],
)
def test_the_dialog_says_how_a_connection_is_protected(opened: Opener, registry: str, said: str, trouble: bool) -> None:
    window = opened()
    dialog = ConnectDialog("alice", registry, window)
    window.asking.about_to_connect(dialog)
    dialog.show()
    wait_until(dialog.protection.text)
    assert said in dialog.protection.text()
    assert dialog.protection.text().startswith("⚠") is trouble
    dialog.close()
    window.asking._connecting = None


def test_the_status_bar_tells_the_protection_of_the_connection(opened: Opener, registry: str) -> None:
    window = opened("alice", registry)
    wait_until(window._connection.toolTip)
    assert "this machine" in window._connection.toolTip()
    window.on_updates([ProtectionTold("another", registry, "of somebody else")])
    assert "this machine" in window._connection.toolTip()
