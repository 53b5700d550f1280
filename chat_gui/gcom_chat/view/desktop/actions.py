"""The actions of the window, by names that stay: what a menu offers, and the keys that the user may choose for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QKeyCombination, QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from gcom_chat.model.texts.words import translate

_TYPED = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Backspace)
_MOVES = (Qt.Key.Key_Delete, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home)
_NEEDED = {*_TYPED, *_MOVES, Qt.Key.Key_End}
_STRONG = (Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.MetaModifier)


class Actions(QObject):
    """Makes actions, and gives them their keys: those that were chosen, else those of the beginning."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.all: dict[str, QAction] = {}
        self._defaults: dict[str, list[QKeySequence]] = {}

    def make(
        self, name: str, text: str, keys: str | Sequence[str] | QKeySequence.StandardKey, run: Callable[[], object]
    ) -> QAction:
        """Return a new action of the window; `name` is what settings call it."""
        action = QAction(text, self.parent())
        # `triggered` brings a bool, which would become the first argument of `run`.
        action.triggered.connect(lambda: run())
        if isinstance(keys, QKeySequence.StandardKey):
            action.setShortcut(QKeySequence(keys))
        else:
            action.setShortcuts([QKeySequence(key) for key in ([keys] if isinstance(keys, str) else keys) if key])
        self.adopt(name, action)
        return action

    def adopt(self, name: str, action: QAction) -> None:
        """Take an action that has its keys already."""
        self.all[name] = action
        self._defaults[name] = action.shortcuts()

    def apply(self, chosen: Iterable[str]) -> None:
        """Give all actions their keys; `chosen` are lines such as "find=Ctrl+G", the others have their first ones."""
        keys = dict(line.split("=", 1) for line in chosen if "=" in line)
        for name, action in self.all.items():
            wanted = [QKeySequence(keys[name])] if name in keys else self._defaults[name]
            action.setShortcuts([key for key in wanted if not key.isEmpty()])

    def is_default(self, name: str) -> bool:
        """Return whether an action has the keys of the beginning."""
        return self.all[name].shortcuts() == self._defaults[name]

    def first_keys(self, name: str) -> list[QKeySequence]:
        """Return the keys that an action has while none are chosen."""
        return self._defaults[name]

    def problem(self, name: str, keys: QKeySequence) -> str:
        """Return why an action cannot have these keys: they write, or another action has them; empty: it can."""
        if not keys.isEmpty() and _writes(keys[0]):  # type: ignore[index]
            text = translate("shortcuts", "{} is for writing: choose keys with Ctrl or Alt, or a function key.")
            return text.format(shown_keys([keys]))
        for other, action in self.all.items():
            if other != name and keys in action.shortcuts():
                text = translate("shortcuts", "{} is for “{}” already: choose others, or change those first.")
                return text.format(shown_keys([keys]), plain_text(action))
        return ""


def _writes(keys: QKeyCombination) -> bool:
    key, modifiers = keys.key(), keys.keyboardModifiers()
    if any(modifiers & strong for strong in _STRONG):
        return False
    # Qt's keys below Escape are the characters of Unicode.
    return key.value < Qt.Key.Key_Escape.value or key in _NEEDED


def shown_keys(keys: Iterable[QKeySequence]) -> str:
    """Return keys as the system writes them."""
    return ", ".join(key.toString(QKeySequence.SequenceFormat.NativeText) for key in keys)


def plain_text(action: QAction) -> str:
    """Return what an action does, without the marks of its menu."""
    return action.text().replace("&", "").rstrip("…")
