"""The member list: who leads, who is here, suspected or gone, and since when."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QEvent, QLocale, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QFont, QFontMetrics, QPalette, QResizeEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QMenu, QWidget

import gcom
from gcom_chat.model.members import SILENT_S, MemberLine, MemberPresence
from gcom_chat.model.texts.isolates import apart
from gcom_chat.view import colours

SIGNS = {MemberPresence.HERE: "●", MemberPresence.SUSPECTED: "◐", MemberPresence.GONE: "○"}
MARGIN = 12  # of an item's text, both sides together
NAME_WIDTH_MIN = 40
_NAME = Qt.ItemDataRole.UserRole


_SHOWN_ANEW = QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.LanguageChange


class MembersView(QListWidget):
    """A line per member; a double click begins a private conversation, and the right button offers more."""

    private_wanted = Signal(str)
    ignore_wanted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: list[MemberLine] = []
        self.ignored: frozenset[str] = frozenset()
        self.setAccessibleName(self.tr("Members"))
        self.setMinimumWidth(120)
        self.itemActivated.connect(self._on_activated)

    def show_members(self, members: list[MemberLine]) -> None:
        """Show these, where they are not shown already."""
        # Asked 25 times a second: a list that is filled anew
        # loses its selection, and a tooltip that is being read.
        if members == self._shown:
            return
        before, self._shown = self._shown, members
        if [member.process for member in members] != [member.process for member in before]:
            self.clear()
            self.addItems([""] * len(members))
        for row, member in enumerate(members):
            self._fill(self.item(row), member)

    def show_ignored(self, names: frozenset[str]) -> None:
        """Mark these as ignored."""
        if names != self.ignored:
            self.ignored = names
            self._show_anew()

    def _show_anew(self) -> None:
        shown, self._shown = self._shown, []
        self.show_members(shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show more or less of long names."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._show_anew()

    def changeEvent(self, event: QEvent) -> None:
        """Take new colours and fonts over."""
        super().changeEvent(event)
        # Qt sends these while the list is still being made, before it has any fields.
        if event.type() in _SHOWN_ANEW and hasattr(self, "_shown"):
            self._show_anew()

    def _fill(self, item: QListWidgetItem, member: MemberLine) -> None:
        crown = " ♛" if member.leads else ""
        marks = f"{' ⚠' if member.looks_like else ''}{' ⊘' if member.name in self.ignored else ''}"
        after = f"{crown}{marks}{self._pulse(member)}"
        font = QFont(self.font())
        font.setBold(member.own)
        item.setFont(font)
        metrics = QFontMetrics(font)
        room = self.viewport().width() - metrics.horizontalAdvance(f"{SIGNS[member.presence]} {after}") - MARGIN
        # In its middle: names that differ at their ends stay apart.
        name = metrics.elidedText(apart(member.name), Qt.TextElideMode.ElideMiddle, max(room, NAME_WIDTH_MIN))
        item.setText(f"{SIGNS[member.presence]} {name}{after}")
        # Empty for whom nothing can be whispered to: oneself, and one that is gone.
        item.setData(_NAME, "" if member.own or member.presence is MemberPresence.GONE else member.name)
        since = datetime.fromtimestamp(member.since_ms / 1000).strftime("%H:%M:%S")
        states = {
            MemberPresence.HERE: self.tr("here since {}"),
            MemberPresence.SUSPECTED: self.tr("suspected since {}"),
            MemberPresence.GONE: self.tr("gone since {}"),
        }
        words = [gcom.isolated(member.process), states[member.presence].format(since), member.why]
        words += [self.tr("the leader: the oldest member")] if member.leads else []
        words += [self.tr("this chat")] if member.own else []
        words += [self.tr("ignored: nothing of what it says is shown")] if member.name in self.ignored else []
        if member.heard_s is not None:
            words.append(self.tr("last heard %n second(s) ago", "", member.heard_s))
        if member.round_trip_ms is not None:
            words.append(self.tr("a call there and back takes {} ms").format(_short(member.round_trip_ms)))
        if member.looks_like:
            words.append(self.tr("careful: this name looks like {}").format(apart(member.looks_like)))
        text = "\n".join(word for word in words if word)
        item.setToolTip(text)
        # Without the signs, which a screen reader would read out as circles and crowns.
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{member.name}, {text}")
        colour = {
            MemberPresence.HERE: self.palette().color(QPalette.ColorRole.Text),
            MemberPresence.SUSPECTED: colours.warning(self.palette()),
            MemberPresence.GONE: colours.faint(self.palette()),
        }
        item.setForeground(colour[member.presence])

    def _pulse(self, member: MemberLine) -> str:
        """Return how a member's calls are, behind its name: for how long it is silent, else how far away it is."""
        if member.presence is MemberPresence.GONE:
            return ""
        if member.heard_s is not None and member.heard_s >= SILENT_S:
            return self.tr(" · silent {} s").format(member.heard_s)
        return "" if member.round_trip_ms is None else f" · {_short(member.round_trip_ms)} ms"

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer what can be done with a member."""
        item = self.itemAt(event.pos()) if event.reason() is QContextMenuEvent.Reason.Mouse else self.currentItem()
        if item is not None and (menu := self.menu_for(item)):
            menu.exec(event.globalPos())

    def menu_for(self, item: QListWidgetItem) -> QMenu | None:
        """Return the menu of a member; None for this chat, and for one that is gone."""
        if not (name := item.data(_NAME)):
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self.tr("&Private conversation"), lambda: self.private_wanted.emit(name))
        ignored = name in self.ignored
        text = self.tr("&Ignore no more") if ignored else self.tr("&Ignore")
        menu.addAction(text, lambda: self.ignore_wanted.emit(name))
        return menu

    def _on_activated(self, item: QListWidgetItem) -> None:
        if name := item.data(_NAME):
            self.private_wanted.emit(name)


def _short(number: float) -> str:
    return QLocale().toString(number, "f", 0 if number >= 10 else 1)
