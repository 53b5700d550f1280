"""A strip above a conversation that says what is wrong, what still works, and what is being tried."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from chat_gui.model.chat import GroupStanding, GroupState
from chat_gui.model.texts.words import translate
from chat_gui.view import colours


class Banner(QFrame):
    """Shows a text, and perhaps a button."""

    pressed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        self._button = QPushButton(self)
        self._button.clicked.connect(self.pressed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.addWidget(self._label, 1)
        layout.addWidget(self._button)
        self.setAutoFillBackground(True)
        self.hide()

    @property
    def text(self) -> str:
        """The text that is shown; empty while it is hidden."""
        return self._label.text() if not self.isHidden() else ""

    def say(self, text: str, button: str = "") -> None:
        """Show a text, or hide where there is none."""
        if text != self._label.text():
            self._label.setText(text)
            self._label.setAccessibleName(text)
        self._button.setText(button)
        self._button.setVisible(bool(button))
        palette = self.window().palette()
        palette.setColor(self.backgroundRole(), colours.tint(palette, colours.accent(palette), 0.22))
        self.setPalette(palette)
        self.setVisible(bool(text))


def words(state: GroupState, registry_away: str) -> tuple[str, str]:
    """Return what a group's banner says, and the word on its button."""
    match state.standing:
        case GroupStanding.JOINING:
            return translate(
                "banner", "Joining {}: waiting for the registry and for the members to let this chat in."
            ).format(state.name), ""
        case GroupStanding.DETACHED:
            doubt = ""
            if state.doubt:
                first, last = state.doubt
                doubt = " " + translate(
                    "banner", "Messages {} to {} of yours may not have arrived; they are marked with a ?."
                ).format(first, last)
            text = translate(
                "banner",
                "This side of a netsplit hears too few members to go on. You can read, and what you write waits here. "
                "It goes on by itself when a majority of the group is heard again.",
            )
            return text + doubt, ""
        case GroupStanding.RETURNING:
            return translate(
                "banner", "Out of the group: {}. This chat is on its way back; what you write waits here."
            ).format(state.why), ""
        case GroupStanding.LEFT:
            return translate("banner", "Not in this group: {}.").format(state.why), translate("banner", "Join again")
        case GroupStanding.IN if registry_away:
            text = translate(
                "banner",
                "The registry does not answer. This group goes on without it; new groups and new members have to wait, "
                "and so may a total order until a member serves it. The chat keeps asking.",
            )
            return text, translate("banner", "Ask now")
    return "", ""
