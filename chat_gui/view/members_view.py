"""The member list: who leads, who is here, suspected or gone, and since when."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from chat_gui.model.members import MemberLine, Presence
from chat_gui.view import colours

SIGNS = {Presence.HERE: "●", Presence.SUSPECTED: "◐", Presence.GONE: "○"}
_NAME = Qt.ItemDataRole.UserRole


_SHOWN_ANEW = QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.LanguageChange


class MembersView(QListWidget):
    """A line per member; a double click begins a private message."""

    whisper = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: list[MemberLine] = []
        self.setAccessibleName(self.tr("Members"))
        self.setMinimumWidth(120)
        self.itemActivated.connect(self._on_activated)

    def show_members(self, members: list[MemberLine]) -> None:
        """Show these, where they are not shown already."""
        if members == self._shown:
            return
        self._shown = members
        self.clear()
        for member in members:
            self.addItem(self._item(member))

    def changeEvent(self, event: QEvent) -> None:
        """Take new colours and fonts over."""
        super().changeEvent(event)
        if event.type() in _SHOWN_ANEW and hasattr(self, "_shown"):
            shown, self._shown = self._shown, []
            self.show_members(shown)

    def _item(self, member: MemberLine) -> QListWidgetItem:
        crown = " ♛" if member.leads else ""
        item = QListWidgetItem(f"{SIGNS[member.presence]} {member.name}{crown}{' ⚠' if member.looks_like else ''}")
        item.setData(_NAME, "" if member.own or member.presence is Presence.GONE else member.name)
        since = datetime.fromtimestamp(member.since_ms / 1000).strftime("%H:%M:%S")
        states = {
            Presence.HERE: self.tr("here since {}"),
            Presence.SUSPECTED: self.tr("suspected since {}"),
            Presence.GONE: self.tr("gone since {}"),
        }
        words = [member.process, states[member.presence].format(since), member.why]
        words += [self.tr("the leader: the oldest member")] if member.leads else []
        words += [self.tr("this chat")] if member.own else []
        if member.looks_like:
            words.append(self.tr("careful: this name looks like {}").format(member.looks_like))
        text = "\n".join(word for word in words if word)
        item.setToolTip(text)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{member.name}, {text}")
        if member.presence is Presence.GONE:
            item.setForeground(colours.faint(self.palette()))
        elif member.presence is Presence.SUSPECTED:
            item.setForeground(colours.warning(self.palette()))
        if member.own:
            font = QFont(self.font())
            font.setBold(True)
            item.setFont(font)
        return item

    def _on_activated(self, item: QListWidgetItem) -> None:
        if name := item.data(_NAME):
            self.whisper.emit(name)
